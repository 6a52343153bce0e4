"""The calibration of partition releases as a page of the documentation.

    python -m studies.partition_report [--results studies/results/partition] [-o docs/partition-calibration.md]

The text is in ``studies/partition_calibration_page.md``, where a line ``{{name}}`` is replaced by the output of the function of
that name.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from noisewise.schema.search_grid import centre_candidates
from studies.page import filled, table
from studies.partition_coverage import COMBINE, EPSILONS, LEVELS, RELEASES, RESULTS, TESTED
from studies.report import LOW, NOMINAL, percent
from studies.workers import read

Line = dict[str, str]

WORDS = Path(__file__).parent / "partition_calibration_page.md"
KINDS = {("k-norm", "1"): "one b, Laplace", ("k-norm", "5"): "five b, k-norm", ("gaussian", "1"): "one b, Gaussian"}
LOST, SAFE = 0.9, 0.99
ENORMOUS = 1e3
"""Widths and errors of more than this many standard deviations of the posterior show that nothing is known."""


def lines_of(results: Path, name: str, **wanted: object) -> list[Line]:
    path = results / f"{name}.csv"
    lines = read(path) if path.exists() else []
    return [line for line in lines if all(line[key] == str(value) for key, value in wanted.items())]


def values(lines: Sequence[Line], name: str) -> list[float]:
    return [float(line[name]) for line in lines]


def covered(lines: Sequence[Line]) -> str:
    """The mean over the points, in brackets the lowest."""
    if not lines:
        return ""
    found = values(lines, "coverage")
    shown = f"{percent(statistics.mean(found))} ({percent(min(found))})"
    return f"**{shown}**" if statistics.mean(found) < LOW else shown


def replicates(results: Path) -> list[str]:
    counts = {name: sorted({int(line["replicates"]) for line in lines_of(results, name)})
              for name in ("probabilities", "quantiles", "hypotheses", "tests")}
    said = [f"{name}: {counts[name][0]:,}" + (f" to {counts[name][-1]:,}" if len(counts[name]) > 1 else "")
            for name in counts if counts[name]]
    errors = [f"{100 * math.sqrt(NOMINAL * (1.0 - NOMINAL) / counts[name][0]):.1f} ({name})"
              for name in ("probabilities", "quantiles", "hypotheses") if counts[name]]
    return ["Made-up tables per cell: " + "; ".join(said) + ".", "Standard errors of a coverage of 95 %, in points: "
            + ", ".join(errors) + "."]


def headline(results: Path) -> list[str]:
    normal = lines_of(results, "probabilities", shape="normal")
    quantiles = lines_of(results, "quantiles", shape="normal")
    means = [statistics.mean(values(cell, "coverage")) for cell in _cells(normal)]
    silent = values(lines_of(results, "quantiles"), "missed_in_silence")
    said = []
    if means:
        said.append(f"- Posterior probabilities: 95 % intervals cover {percent(min(means))} to {percent(max(means))} % "
                    f"of the time ({len(means)} cells, means over five b).")
    if quantiles:
        cover = values(quantiles, "coverage")
        said.append(f"- Coefficients: {percent(min(cover))} to {percent(max(cover))} % ({len(cover)} cells). Limits missed "
                    f"the coefficient without warning in at most {percent(max(silent))} % of the releases of a cell.")
    tests = lines_of(results, "tests", shape="normal")
    for level in LEVELS:
        mine = [line for line in tests if float(line["level"]) == level]
        plain = [float(line["uncalibrated"]) for line in mine if line["uncalibrated"]]
        if mine:
            rates = values(mine, "rejected")
            said.append(f"- Tests at level {level:g} reject a true hypothesis in {min(rates):.2%} to {max(rates):.2%} of "
                        f"releases. Likelihood ratios that are not calibrated do so in {min(plain):.1%} to {max(plain):.1%}.")
    return said


def search(results: Path) -> list[str]:
    """The M ε from which on the limits found hold the coefficient."""
    held = [(float(line["parts"]) * float(line["epsilon"]), float(line["limits_hold"]))
            for line in lines_of(results, "quantiles", shape="normal", question="found", mechanism="k-norm")]
    lost = max((size for size, share in held if share < LOST), default=0.0)
    safe = min((size for size, _ in held if all(share >= SAFE for other, share in held if other >= size)), default=float("inf"))
    return ["- **Unknown limits, few parts, a small ε.** The search for the limits of a coefficient chooses among "
            f"{len(centre_candidates()):,} centres by counting parts. In the cells below it misses in more than "
            f"{percent(1.0 - LOST)} % of releases up to M ε = {lost:g}, and in at most {percent(1.0 - SAFE)} % from "
            f"M ε = {safe:g} on. The answer shows this: its interval then spans all magnitudes, and it warns that the limits",
            "  may have missed the coefficient. Declare bounds for such a release, or ask for a probability."]


def _cells(lines: Sequence[Line]) -> list[list[Line]]:
    keys = ("parts", "rows", "shape", "question_asked", "epsilon_asked", "mechanism_asked", "together")
    found: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        found.setdefault(tuple(line[key] for key in keys), []).append(line)
    return list(found.values())


def _probabilities(results: Path, text: Callable[[Sequence[Line]], str], shapes: Sequence[str], together: str = "1",
                   mechanism: str = "k-norm") -> list[str]:
    lines = [line for line in lines_of(results, "probabilities", together=together, mechanism_asked=mechanism)
             if line["shape"] in shapes]
    places = list(dict.fromkeys((line["shape"], line["parts"], line["rows"]) for line in lines))
    head = [*(["shape"] if len(shapes) > 1 else []), "M", "n/M",
            *(f"{name}, ε = {epsilon:g}" for name in COMBINE for epsilon in EPSILONS)]
    body = []
    for shape, parts, rows in places:
        mine = [line for line in lines if (line["shape"], line["parts"], line["rows"]) == (shape, parts, rows)]
        body.append([*([shape] if len(shapes) > 1 else []), parts, rows, *(
            text([line for line in mine if line["question_asked"] == name and float(line["epsilon_asked"]) == epsilon])
            for name in COMBINE for epsilon in EPSILONS)])
    return table(head, body)


def probability_coverage(results: Path) -> list[str]:
    return _probabilities(results, covered, ["normal"])


def probability_errors(results: Path) -> list[str]:
    return _probabilities(results, lambda lines: f"{statistics.mean(values(lines, 'error')):.3f}" if lines else "", ["normal"])


def probability_releases(results: Path) -> list[str]:
    """Means over all normal tables, by mechanism and by how many b are asked about."""
    body = []
    for mechanism, together in RELEASES:
        for epsilon in EPSILONS:
            mine = [line for line in lines_of(results, "probabilities", shape="normal", mechanism_asked=mechanism,
                                              together=together) if float(line["epsilon_asked"]) == epsilon]
            if mine:
                row = [KINDS[mechanism, str(together)], f"{epsilon:g}"]
                for name in COMBINE:
                    own = [line for line in mine if line["question_asked"] == name]
                    row += [covered(own), f"{statistics.mean(values(own, 'error')):.3f}"]
                body.append(row)
    return table(["release", "ε", *(text for name in COMBINE for text in (name, "error"))], body)


def probability_robustness(results: Path) -> list[str]:
    return _probabilities(results, covered, ["heavy", "skewed"])


def _large(value: str) -> str:
    return f"{float(value):.2f}" if float(value) < ENORMOUS else "nothing known"


def quantile_table(results: Path) -> list[str]:
    body = []
    for line in lines_of(results, "quantiles"):
        body.append([line["question"], line["parts"], line["rows"], line["shape"], line["mechanism"],
                     f"{float(line['epsilon']):g}", percent(float(line["coverage"])), _large(line["width"]),
                     _large(line["error"]),
                     percent(float(line["limits_hold"])), percent(float(line["says_missed"])),
                     percent(float(line["missed_in_silence"]))])
    return table(["limits", "M", "n/M", "shape", "noise", "ε", "coverage", "width", "error", "limits hold it",
                  "says they may not", "missed in silence"], body)


def hypothesis_table(results: Path) -> list[str]:
    return table(["slope", "M", "ε", "coverage", "width of the interval of P(not zero)"],
                 [["zero" if line["question"] == "null" else "not zero", line["parts"], f"{float(line['epsilon']):g}",
                   percent(float(line["coverage"])), f"{float(line['width']):.2f}"] for line in lines_of(results, "hypotheses")])


def rejection_table(results: Path) -> list[str]:
    lines = lines_of(results, "tests")
    body = []
    for shape, parts, epsilon in dict.fromkeys((line["shape"], line["parts"], line["epsilon"]) for line in lines):
        for level in LEVELS:
            mine = {line["test"]: line for line in lines if float(line["level"]) == level
                    and (line["shape"], line["parts"], line["epsilon"]) == (shape, parts, epsilon)}
            ratio = mine["likelihood-ratio"]
            body.append([shape, parts, f"{float(epsilon):g}", f"{level:g}",
                         *(f"{float(mine[name]['rejected']):.2%}" for name in TESTED),
                         f"{float(ratio['censored']):.2%}", f"{float(ratio['uncalibrated']):.1%}"])
    return table(["shape", "M", "ε", "level", *TESTED, "likelihood-ratio, censored", "not calibrated"], body)


PIECES = {function.__name__: function for function in (
    replicates, headline, search, probability_coverage, probability_errors, probability_releases, probability_robustness,
    quantile_table, hypothesis_table, rejection_table)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/partition-calibration.md"))
    arguments = parser.parse_args()
    arguments.output.write_text(filled(WORDS.read_text(encoding="utf-8"), PIECES, arguments.results), encoding="utf-8")


if __name__ == "__main__":
    main()
