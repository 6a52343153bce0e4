"""The calibration of logistic and Poisson regression as a page of the documentation, with its figure.

    python -m studies.glm_report [--results studies/results/glm] [-o docs/glm-calibration.md]

The text is in ``studies/glm_calibration_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that
name. The figure goes into the folder ``images`` next to the page.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from studies.glm_coverage import NORMS, PRIOR, RESULTS
from studies.glm_tables import LARGEST_COUNT, Study
from studies.page import filled, table
from studies.report import HIGH, LOW, distinct, number, percent
from studies.workers import read

Line = dict[str, str]

LITTLE = 0.5
"""A cell says little if the posterior's standard deviation of a slope is more than this share of the prior's."""
UNIDENTIFIED = 100.0
"""A ratio of standard deviations that means so; see ``RIDGE`` in ``studies.moment_blocks``."""
FAMILIES = ("logistic", "poisson")
TRUTHS = (*NORMS, PRIOR)
COLOURS = dict(zip(TRUTHS, ("#56b4e9", "#009e73", "#e69f00", "#d55e00", "#000000"), strict=True))
WORDS = Path(__file__).parent / "glm_calibration_page.md"
FIGURE = "glm-coverage.png"


class Cell:
    """The lines of one setting: of its coefficients and of ‖θ‖."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.coefficients = [line for line in lines if line["term"] != "norm"]
        self.slopes = [line for line in self.coefficients if line["term"] != "Intercept"]
        self.norm = next((line for line in lines if line["term"] == "norm"), None)
        self.first = lines[0]

    def __getitem__(self, name: str) -> str:
        return self.first[name]

    @property
    def coverage(self) -> float:
        return statistics.mean(float(line["coverage"]) for line in self.coefficients)

    @property
    def lowest(self) -> float:
        return min(float(line["coverage"]) for line in self.coefficients)

    @property
    def information(self) -> float:
        return max(float(line["information"]) for line in self.slopes)

    @property
    def says_little(self) -> bool:
        return self.information > LITTLE

    def text(self) -> str:
        mark = " ↓" if self.coverage < LOW else " ↑" if self.coverage > HIGH else ""
        shown = f"{percent(self.coverage)} ({percent(self.lowest)}){' †' if self.says_little else ''}"
        return f"**{shown}**{mark}" if mark else shown


def cells(results: Path, name: str) -> list[Cell]:
    lines = read(results / name) if (results / name).exists() else []
    keys = [key for key in ("family", "truth", "slope_sd", "world", "model", "norm", "rows", "epsilon", "longer", "seed")
            if lines and key in lines[0]]
    groups: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(tuple(line[key] for key in keys), []).append(line)
    return sorted((Cell(group) for group in groups.values()), key=lambda cell: (int(cell["rows"]), float(cell["epsilon"])))


def headline(results: Path) -> list[str]:
    found = cells(results, "coverage.csv")
    fixed = [cell for cell in found if cell["truth"] != PRIOR]
    drawn = [cell for cell in found if cell["truth"] == PRIOR]
    result = []
    for words, chosen in (("a fixed truth", fixed), ("truths drawn from the prior", drawn)):
        clear = [cell for cell in chosen if not cell.says_little]
        within = sum(LOW <= cell.coverage <= HIGH for cell in clear)
        low = [cell for cell in clear if cell.coverage < LOW]
        wide = len(clear) - within - len(low)
        result.append(f"- With {words}: {len(chosen)} settings, {len(clear)} of which say something about the coefficients (the "
                      f"others are marked †). Of these, {within} cover within 93–97 %, {wide} cover more and {len(low)} less"
                      f"{'' if not low else ': ' + '; '.join(map(place, low))}.")
    return result


def place(cell: Cell) -> str:
    truth = "truths from the prior" if cell["truth"] == PRIOR else f"‖θ‖ = {cell['truth']}"
    return f"{cell['family']}, {truth}, n = {int(cell['rows']):,}, ε = {number(cell['epsilon'])} ({percent(cell.coverage)} %)"


def replicates(results: Path) -> list[str]:
    found = cells(results, "coverage.csv")
    count = int(found[0]["replicates"])
    return [f"Each cell has {count} replicates, so the Monte Carlo error of one coefficient's coverage is "
            f"{100 * np.sqrt(0.95 * 0.05 / count):.1f} points at 95 %. Entries are means over the intercept and the three "
            "slopes, in brackets the lowest of the four."]


def coverage_tables(results: Path) -> list[str]:
    found = cells(results, "coverage.csv")
    result: list[str] = []
    for family in FAMILIES:
        own = {(cell["rows"], cell["epsilon"], cell["truth"]): cell for cell in found if cell["family"] == family}
        body = [[f"{int(rows):,}", number(epsilon), *(own[rows, epsilon, truth].text() for truth in TRUTHS)]
                for rows, epsilon in dict.fromkeys(key[:2] for key in own)]
        result += [f"### {family.capitalize()}", "",
                   *table(["n", "ε", *(f"‖θ‖ = {truth}" for truth in NORMS), "truth from the prior"], body), ""]
    return result


def little(results: Path) -> list[str]:
    """Coverage with fixed truths and with truths from the prior, where a release says little."""
    found = cells(results, "coverage.csv")
    body = []
    settings = [(cell["family"], cell["rows"], cell["epsilon"]) for cell in found if cell.says_little]
    for family, rows, epsilon in dict.fromkeys(settings):
        same = [cell for cell in found if (cell["family"], cell["rows"], cell["epsilon"]) == (family, rows, epsilon)]
        fixed = [cell for cell in same if cell["truth"] != PRIOR and cell.says_little]
        drawn = [cell for cell in same if cell["truth"] == PRIOR]
        if fixed:
            body.append([family, f"{int(rows):,}", number(epsilon), span([cell.information for cell in fixed], 1.0),
                         span([cell.coverage for cell in fixed]), f"{percent(min(cell.lowest for cell in fixed))}",
                         span([cell.coverage for cell in drawn]), span([cell.lowest for cell in drawn]),
                         f"{percent(max(float(cell['unsettled']) for cell in same))}"])
    return table(["family", "n", "ε", "posterior sd / prior sd", "coverage, fixed truth", "lowest coefficient",
                  "coverage, truth from the prior", "lowest coefficient", "fits that did not settle"], body)


def span(values: Iterable[float], unit: float = 100.0) -> str:
    shown = sorted(f"{unit * value:.1f}" for value in values)
    low, high = min(shown, key=float), max(shown, key=float)
    return low if low == high else f"{low}–{high}"


def details(results: Path) -> list[str]:
    """The largest effect in every cell."""
    body = []
    for cell in cells(results, "coverage.csv"):
        line = cell.slopes[0]
        body.append([cell["family"], cell["truth"], f"{int(cell['rows']):,}", number(cell["epsilon"]),
                     f"{percent(line['coverage'])} ± {percent(line['coverage_error'])}",
                     *(f"{float(line[name]):.3g}" for name in ("bias", "rmse", "width", "information"))])
    body.sort(key=lambda entry: (entry[0], entry[1]))
    return table(["family", "‖θ‖", "n", "ε", "coverage of x1", "bias", "rmse", "mean width", "posterior sd / prior sd"], body)


def prior_widths(results: Path) -> list[str]:
    found = [cell for name in ("coverage.csv", "priors.csv") for cell in cells(results, name)]
    body = []
    for family in FAMILIES:
        for width in sorted({cell["slope_sd"] for cell in found if cell["family"] == family}, key=float):
            entries = []
            for truth in TRUTHS:
                own = [cell.coverage for cell in found if not cell.says_little
                       and (cell["family"], cell["slope_sd"], cell["truth"]) == (family, width, truth)]
                entries.append(f"{percent(statistics.mean(own))} ({percent(min(own))})" if own else "–")
            body.append([family, number(width), *entries])
    return table(["family", "prior sd of an effect", *(f"‖θ‖ = {truth}" for truth in NORMS), "truth from the prior"], body)


def scaled(results: Path) -> list[str]:
    body = []
    for cell in cells(results, "scaled.csv"):
        assert cell.norm is not None
        features = "correlated" if cell["world"] == "normal" else cell["world"]
        truth = "from the prior" if cell["truth"] == PRIOR else cell["truth"]
        body.append([features, truth, number(cell["slope_sd"]), f"{int(cell['rows']) * int(cell['longer']):,}", cell["longer"],
                     cell["replicates"], cell["seed"],
                     *(percent(line["coverage"]) for line in cell.coefficients), percent(cell.norm["coverage"]),
                     f"{float(cell.norm['bias']):+.2f}", f"{float(cell.norm['sd']):.2f}"])
    body.sort(key=lambda entry: (entry[0], entry[1], -float(entry[2])))
    return table(["features", "‖θ‖", "prior sd", "n", "noise ×", "replicates", "seed", "intercept", "x1", "x2", "x3",
                  "‖θ‖ covered", "bias of ‖θ‖", "its posterior sd"], body)


def cut_off(results: Path) -> list[str]:
    """The share of counts above the declared maximum, from a simulated table."""
    study, rng = Study.of("normal", "poisson"), np.random.default_rng(0)
    columns = study.world.draw(rng, 200_000)
    body = []
    for norm in NORMS:
        beta = study.coefficients(study.fixed_effects(float(norm)))
        counts = rng.poisson(np.exp(np.minimum(beta[0] + np.column_stack(list(columns.values())) @ beta[1:], 20.0)))
        body.append([norm, percent(float(np.mean(counts > LARGEST_COUNT))), percent(float(np.mean(counts == 0))),
                     percent(float(np.mean((counts > 0) & (counts <= LARGEST_COUNT))))])
    return table(["‖θ‖", f"counts above {LARGEST_COUNT}, cut off, %", "counts of 0, %", "in between, %"], body)


def features_tables(results: Path) -> list[str]:
    found = cells(results, "features.csv")
    settings = sorted({(cell["rows"], cell["epsilon"]) for cell in found}, key=lambda key: (int(key[0]), float(key[1])))
    result: list[str] = []
    for family in FAMILIES:
        own = [cell for cell in found if cell["family"] == family]
        body = []
        for world, model, norm in sorted({(cell["world"], cell["model"], cell["norm"]) for cell in own}):
            chosen = {(cell["rows"], cell["epsilon"]): cell for cell in own
                      if (cell["world"], cell["model"], cell["norm"]) == (world, model, norm)}
            worst = max(chosen[settings[-1]].slopes, key=lambda line: abs(float(line["bias"]) * float(line["deviation"])))
            lost = max(float(cell["unsettled"]) for cell in chosen.values())
            body.append([world, model, number(norm), *(feature_text(chosen[key]) for key in settings),
                         f"{float(worst['bias']) * float(worst['deviation']):+.2f}", percent(lost) if lost else ""])
        head = ["features", "columns as", "‖θ‖", *(f"n = {int(rows):,}, ε = {number(epsilon)}" for rows, epsilon in settings),
                "largest bias of a slope", "not settled, at most %"]
        result += [f"### {family.capitalize()}", "", *table(head, body), ""]
    return result


def feature_text(cell: Cell) -> str:
    shown = f"{percent(cell.coverage)} ({percent(cell.lowest)})"
    return f"**{shown}**" if cell.lowest < 0.9 else shown


def blocks(results: Path) -> list[str]:
    """Standard deviations relative to `gram`, geometric mean over the coefficients."""
    lines = read(results / "moment_blocks.csv")
    keys = ("choice", "centred", "family", "norm", "rows", "epsilon")
    value = {tuple(line[key] for key in keys): float(line["sd"]) for line in lines}
    settings = distinct(lines, "family", "norm", "rows", "epsilon")
    ratios = {choice: [value[*choice, *setting] / value["gram", "True", *setting] for setting in settings]
              for choice in distinct(lines, "choice", "centred") if choice[0] != "gram"}
    unidentified = [name for (name, _), found in ratios.items() if min(found) > UNIDENTIFIED]
    shown = {choice: found for choice, found in ratios.items() if choice[0] not in unidentified}
    head = ["family", "‖θ‖", "n", "ε", *(name if centred == "True" else f"{name}, response in [0, 1]" for name, centred in shown)]
    body = [[family, number(norm), f"{int(rows):,}", number(epsilon), *(f"{found[index]:.3f}" for found in shown.values())]
            for index, (family, norm, rows, epsilon) in enumerate(settings)]
    return [*table(head, body), "", f"In no setting are the coefficients identified {' or '.join(unidentified)}."]


def block_weights(results: Path) -> list[str]:
    lines = [line for line in read(results / "moment_blocks.csv") if line["choice"] == "with yxx, best weights"]
    names = [name for name in lines[0] if name.startswith("weight_")]
    body = [[line["family"], number(line["norm"]), f"{int(line['rows']):,}", number(line["epsilon"]),
             *(f"{float(line[name]):.2f}" for name in names)] for line in lines]
    return table(["family", "‖θ‖", "n", "ε", *(name.removeprefix("weight_") for name in names)], body)


def coverage_figure(results: Path, path: Path) -> None:
    """Draw coverage against how much a cell says."""
    figure = Figure(figsize=(9.5, 3.9), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for family, axis in zip(FAMILIES, axes, strict=True):
        axis.axhspan(100 * LOW, 100 * HIGH, color="#dddddd", zorder=0)
        for truth in TRUTHS:
            own = [cell for cell in cells(results, "coverage.csv") if (cell["family"], cell["truth"]) == (family, truth)]
            label = "truth from the prior" if truth == PRIOR else f"‖θ‖ = {truth}"
            axis.plot([cell.information for cell in own], [100 * cell.coverage for cell in own], linestyle="", label=label,
                      marker="*" if truth == PRIOR else "o", color=COLOURS[truth], alpha=0.85)
        axis.axvline(LITTLE, color="#888888", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xlabel("posterior sd / prior sd of the least known slope")
        axis.set_title(family.capitalize(), loc="left", fontweight="bold")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("coverage of 95 % intervals, %")
    axes[1].legend(fontsize=8, loc="lower left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


PIECES: dict[str, Callable[[Path], list[str]]] = {
    piece.__name__: piece
    for piece in (headline, replicates, coverage_tables, little, details, prior_widths, scaled, cut_off, features_tables, blocks,
                  block_weights)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/glm-calibration.md"))
    arguments = parser.parse_args()
    arguments.output.write_text(filled(WORDS.read_text(encoding="utf-8"), PIECES, arguments.results), encoding="utf-8")
    coverage_figure(arguments.results, arguments.output.parent / "images" / FIGURE)


if __name__ == "__main__":
    main()
