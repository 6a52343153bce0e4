"""The same table at the same ε, published as rows or as a `gram` release: error and interval width of a slope.

    python -m studies.rows_or_gram                    # both parts, figure and guide: minutes on a GPU
    python -m studies.rows_or_gram --only figure      # docs/images/rows-or-gram.png and docs/publishing-rows.md from the results

10,000 rows of two correlated predictors and a response, all declared with bounds four standard deviations away; δ = 0, Laplace
noise of the library's own calibration for both kinds, from a seeded generator. In scaled units.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from noisewise.errors import NoisewiseWarning
from noisewise.literature.noisy_rows import naive
from noisewise.posterior.fit import fit
from noisewise.posterior.prior import COEFFICIENT_SCALE
from noisewise.run import QUIET
from noisewise.schema import Schema
from studies.page import filled, table
from studies.perturbed_rows import Cells, Table, make_cells, perturb
from studies.rows_many import AT_ONCE, Length, sample_many
from studies.simulated_release import simulated_release
from studies.workers import Line, read, write

RESULTS: Final = Path("studies/results/microdata")
IMAGE: Final = Path("docs/images/rows-or-gram.png")
ROWS: Final = 10_000
EPSILONS: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
TABLE: Final = Table(2)
SCHEMA: Final = Schema.from_dict({"adjacency": "replace-one",
                                  "columns": {name: {"bounds": [-1, 1]} for name in ("x1", "x2", "y")}})
SLOPE: Final = 1
"""The position of the slope that is compared."""
Z: Final = 1.959964
LENGTH: Final = Length()
LOOK: Final = {"rows": ("rows, this library", "#d55e00", "o-"), "naive": ("rows, noise ignored", "#cc79a7", "s--"),
               "gram": ("gram release", "#0072b2", "o-")}


def cells_of(replicate: int) -> Cells:
    return make_cells(TABLE, ROWS, np.random.default_rng([1, replicate]))


def line_of(epsilon: float, method: str, replicate: int, truth: float, mean: float, low: float, high: float) -> Line:
    return {"epsilon": epsilon, "method": method, "replicate": replicate, "error": mean - truth, "width": high - low,
            "covers": int(low <= truth <= high)}


def rows_part(replicates: int, epsilons: Sequence[float], at_once: int, length: Length = LENGTH) -> list[Line]:
    """The posterior from published rows, and least squares on them."""
    lines = []
    for epsilon in epsilons:
        made = [cells_of(replicate) for replicate in range(replicates)]
        problems = [perturb(TABLE, cells, epsilon, 1, np.random.default_rng([2, replicate, round(1000 * epsilon)]))
                    for replicate, cells in enumerate(made)]
        found = sample_many(problems, seed=1, length=length, at_once=at_once)
        for replicate, (cells, problem) in enumerate(zip(made, problems, strict=True)):
            truth = float(cells.truth[SLOPE])
            lines.append(line_of(epsilon, "rows", replicate, truth, *(part[replicate, SLOPE]
                                                                      for part in (found.mean, found.low, found.high))))
            plain = naive(problem)
            value, half = plain.values[SLOPE], Z * math.sqrt(plain.covariance[SLOPE, SLOPE])
            lines.append(line_of(epsilon, "naive", replicate, truth, value, value - half, value + half))
    return lines


def gram_part(replicates: int, epsilons: Sequence[float], draws: int) -> list[Line]:
    """The posterior from a gram release; and least squares on the rows themselves, as ε = ∞."""
    lines = []
    for replicate in range(replicates):
        cells = cells_of(replicate)
        truth = float(cells.truth[SLOPE])
        rows = {"x1": cells.x[:, 0], "x2": cells.x[:, 1], "y": cells.y}
        for epsilon in epsilons:
            noise = np.random.default_rng([3, replicate, round(1000 * epsilon)])
            release = simulated_release(rows, SCHEMA, noise, epsilon=epsilon)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoisewiseWarning)  # the warning that a release says little: the figure shows it
                found = fit("y ~ x1 + x2", release, draws=draws, chains=2, seed=replicate, run=QUIET).summary().loc["x1"]
            lines.append(line_of(epsilon, "gram", replicate, truth, *found[["mean", "2.5%", "97.5%"]].to_numpy(dtype=float)))
        design = np.column_stack([np.ones(ROWS), cells.x])
        inverse = np.linalg.inv(design.T @ design)
        beta = inverse @ design.T @ cells.y
        sd = math.sqrt(inverse[SLOPE, SLOPE] * float(np.mean((cells.y - design @ beta) ** 2)))
        lines.append(line_of(math.inf, "exact", replicate, truth, beta[SLOPE], beta[SLOPE] - Z * sd, beta[SLOPE] + Z * sd))
    return lines


def lines_in(results: Path) -> list[Line]:
    return [line for part in ("rows", "gram") if (path := results / f"rows_or_gram_{part}.csv").exists() for line in read(path)]


def summary(lines: Sequence[Line], method: str, epsilon: float) -> tuple[float, float, float]:
    """Root mean square error, median width, coverage."""
    own = [line for line in lines if line["method"] == method and float(line["epsilon"]) == epsilon]
    error, width, covers = (np.array([float(line[name]) for line in own]) for name in ("error", "width", "covers"))
    return math.sqrt(np.mean(error**2)), float(np.median(width)), float(np.mean(covers))


def as_table(results: Path) -> list[str]:
    """The numbers of the figure."""
    lines = lines_in(results)
    epsilons = sorted({float(line["epsilon"]) for line in lines if line["method"] == "rows"})
    body = []
    for epsilon in epsilons:
        rows, gram, plain = (summary(lines, method, epsilon) for method in ("rows", "gram", "naive"))
        body.append([f"{epsilon:g}", f"{rows[0]:.3g}", f"{gram[0]:.3g}", f"{plain[0]:.3g}", f"{rows[1]:.3g}", f"{gram[1]:.3g}",
                     f"{rows[1] / gram[1]:.0f}", f"{rows[2]:.0%}", f"{gram[2]:.0%}", f"{plain[2]:.0%}"])
    head = ["ε", "error: rows", "gram", "naive", "width: rows", "gram", "rows over gram", "coverage: rows", "gram", "naive"]
    return table(head, body)


def in_words(results: Path) -> list[str]:
    """The ε that rows need to be as good as a gram release."""
    lines = lines_in(results)
    epsilons = sorted({float(line["epsilon"]) for line in lines if line["method"] == "rows"})
    widths = {method: [summary(lines, method, epsilon)[1] for epsilon in epsilons] for method in ("rows", "gram")}
    best, least = epsilons[-1], widths["rows"][-1]
    same = float(np.exp(np.interp(-np.log(least), -np.log(widths["gram"]), np.log(epsilons))))
    ratios = [rows / gram for rows, gram in zip(widths["rows"], widths["gram"], strict=True)]
    return [f"Rows published at ε = {best:g} give an interval as wide as that of a `gram` release at about "
            f"ε = {same:.1g}. At the same ε the interval from rows is up to {max(ratios):.0f} times as wide."]


PIECES: Final = {"table": as_table, "in_words": in_words}


def draw(results: Path, image: Path) -> None:
    """Draw error and width against ε."""
    from matplotlib.figure import Figure

    lines = lines_in(results)
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, 2)
    exact = summary(lines, "exact", math.inf)
    for place, (axes, what) in enumerate(zip(panels, ("error of the slope (root mean square)", "width of the 95 % interval"),
                                             strict=True)):
        for method, (label, colour, style) in LOOK.items():
            epsilons = sorted({float(line["epsilon"]) for line in lines if line["method"] == method})
            shown = [summary(lines, method, epsilon)[place] for epsilon in epsilons]
            axes.plot(epsilons, shown, style, color=colour, label=label, markersize=5)
        axes.axhline(exact[place], color="#555555", linestyle=":", label="the rows themselves, no privacy")
        truth = abs(float(make_cells(TABLE, 2, np.random.default_rng(0)).truth[SLOPE]))
        reference, words = (truth, "as large as the slope") if place == 0 else (2 * Z * COEFFICIENT_SCALE, "prior")
        axes.axhline(reference, color="#777777", linewidth=5, alpha=0.3)
        axes.annotate(words, (EPSILONS[-1], reference), (0, 5), textcoords="offset points", ha="right", va="bottom",
                      color="#555555", fontsize=9)
        axes.set(xscale="log", yscale="log", xlabel="ε  (more privacy ←   → less privacy)", title=what)
        axes.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, fontsize=9, ncols=4, loc="outside lower center")
    figure.suptitle(f"{ROWS:,} rows of three columns: what can be learned about a slope", x=0.01, ha="left", fontweight="bold")
    image.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", choices=["rows", "gram", "figure"])
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--draws", type=int, default=500, help="of each of two chains, for gram releases")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=Path("docs/publishing-rows.md"))
    parser.add_argument("--image", type=Path, default=IMAGE)
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    if arguments.only in (None, "rows"):
        write(rows_part(arguments.replicates, EPSILONS, arguments.at_once), arguments.results / "rows_or_gram_rows.csv")
    if arguments.only in (None, "gram"):
        write(gram_part(arguments.replicates, EPSILONS, arguments.draws), arguments.results / "rows_or_gram_gram.csv")
    if arguments.only in (None, "figure"):
        draw(arguments.results, arguments.image)
        words = (Path(__file__).parent / "publishing_rows_page.md").read_text(encoding="utf-8")
        arguments.page.write_text(filled(words, PIECES, arguments.results), encoding="utf-8")


if __name__ == "__main__":
    main()
