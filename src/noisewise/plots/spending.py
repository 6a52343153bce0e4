"""A small plot of how the budget of a ledger was spent over time."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from noisewise.errors import ResultError
from noisewise.plots.sheet import FAINT, POSTERIOR, REFERENCE_STYLES, write_figure

RED: Final = REFERENCE_STYLES[0][0]


def draw_spending(charges: Sequence[Mapping[str, Any]], opened: str, epsilon: float, delta: float, name: str,
                  path: str | os.PathLike[str]) -> None:
    """Draw the joint cost of all charges up to each day, and the budget; ``charges`` are those of `Ledger.table`."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ResultError("the extension of a plot must be .png, .svg or .pdf", found=os.fspath(path),
                          remedy="for example spending.png")
    day = datetime.datetime.fromisoformat
    spent = [row for row in charges if not math.isnan(row["together"])]
    times: list[Any] = [day(opened), *(day(row["at"]) for row in spent), datetime.datetime.now(datetime.UTC)]
    together = [0.0, *(row["together"] for row in spent)]
    with matplotlib.rc_context({"font.size": 8}):
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.step(times, [*together, together[-1]], where="post", color=POSTERIOR, linewidth=1.6)
        lost: list[tuple[Any, float]] = [(day(row["at"]), row["together"]) for row in spent if not row["file"]]
        if lost:
            axes.plot(*zip(*lost, strict=True), "x", color=RED, label="charged, never completed")
            axes.legend(frameon=False, loc="lower right")
        axes.axhline(epsilon, color=RED, linewidth=1, linestyle="--")
        axes.annotate("the whole budget", (0, epsilon), xycoords=("axes fraction", "data"), xytext=(4, -10),
                      textcoords="offset points", color=RED)
        axes.set_ylim(0, 1.08 * max(epsilon, *together))
        axes.set_ylabel(f"epsilon at delta {delta:g}")
        axes.set_title(f"{name or 'Budget'}: epsilon {together[-1]:.3g} of {epsilon:g} is spent", loc="left")
        axes.spines[["right", "top"]].set_visible(False)
        axes.tick_params(colors=FAINT, labelsize=7)
        for label in axes.get_xticklabels():
            label.set(rotation=30, horizontalalignment="right")
        write_figure(figure, path)
