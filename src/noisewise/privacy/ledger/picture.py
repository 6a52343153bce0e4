"""A small picture of how the budget was spent over time."""

from __future__ import annotations

import datetime
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from noisewise.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from noisewise.privacy.ledger.book import Ledger

BLUE: Final = "#0072B2"
RED: Final = "#D55E00"
FAINT: Final = "#777777"


def draw(ledger: Ledger, path: str | os.PathLike[str]) -> Path:
    """Write a picture: what all releases up to each day cost together, and the total."""
    import matplotlib

    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ResultError("a picture ends in .png, .svg or .pdf", found=str(target), remedy="for example spending.png")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"font.size": 8}):
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        FigureCanvasAgg(figure)
        _paint(figure.add_subplot(), ledger)
        try:
            figure.savefig(target, dpi=160)
        except OSError as error:
            raise ResultError("the picture could not be written", found=f"{target}: {error.strerror}") from error
    return target


def _paint(axes: Axes, ledger: Ledger) -> None:
    opened = datetime.datetime.fromisoformat(ledger.entries()[0].at)
    spent = [row for row in ledger.table() if not math.isnan(row["together"])]
    times = [opened, *(datetime.datetime.fromisoformat(row["at"]) for row in spent), datetime.datetime.now(datetime.UTC)]
    together = [0.0, *(row["together"] for row in spent)]
    axes.step(times, [*together, together[-1]], where="post", color=BLUE, linewidth=1.6)  # type: ignore[arg-type]
    lost = [row for row in spent if not row["file"]]
    if lost:
        axes.plot([datetime.datetime.fromisoformat(row["at"]) for row in lost],  # type: ignore[arg-type]
                  [row["together"] for row in lost], "x", color=RED, label="charged, never completed")
        axes.legend(frameon=False, loc="lower right")
    axes.axhline(ledger.epsilon, color=RED, linewidth=1, linestyle="--")
    axes.annotate("the whole budget", (0, ledger.epsilon), xycoords=("axes fraction", "data"), xytext=(4, -10),
                  textcoords="offset points", color=RED)
    axes.set_ylim(0, 1.08 * max(ledger.epsilon, *together))
    axes.set_ylabel(f"epsilon at delta {ledger.delta:g}")
    axes.set_title(f"{ledger.name or 'Budget'}: epsilon {together[-1]:.3g} of {ledger.epsilon:g} is spent", loc="left")
    axes.spines[["right", "top"]].set_visible(False)
    axes.tick_params(colors=FAINT, labelsize=7)
    axes.figure.autofmt_xdate(rotation=30)
