"""The results of the calibration studies as a page of the documentation.

    python -m studies.report coverage.csv sbc.csv -o docs/calibration-results.md

Takes any number of files as ``studies.coverage`` and ``studies.sbc`` write them, and tells them apart by their columns. Where two
files have the same setting, the later one counts.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from studies.page import table

Line = dict[str, str]

LOW, HIGH = 0.93, 0.97
NOMINAL = 0.95
SETTING = ("features", "mechanism", "d", "rows", "epsilon", "holders", "adjacency")
CASE = ("likelihood", "mechanism", "adjacency", "d", "epsilon")
LEVEL = 0.05
"""For the family of all tests in a table of simulation-based calibration, by Holm's rule."""


def read(paths: Iterable[Path]) -> tuple[list[Line], list[Line]]:
    """The lines of coverage and those of simulation-based calibration."""
    coverage: list[Line] = []
    sbc: list[Line] = []
    for path in paths:
        with path.open(newline="") as file:
            lines = list(csv.DictReader(file))
        if lines and {"coverage", "standard_error", "relative_width"} <= set(lines[0]):
            coverage += lines
        elif lines and {"quantity", "chi_square_p", "band_p"} <= set(lines[0]):
            sbc += lines
        else:
            sys.exit(f"{path} has neither results of coverage nor of simulation-based calibration, or no lines")
    return latest(coverage, SETTING), latest(sbc, (*CASE, "noise_share", "quantity"))


def latest(lines: Iterable[Line], names: Sequence[str]) -> list[Line]:
    return list({tuple(line[name] for name in names): line for line in lines}.values())


def verdict(cell: Line) -> str:
    """``overconfident`` only where chance does not explain it: below 93 %, and at least two standard errors below 95 %."""
    coverage, error = float(cell["coverage"]), standard_error(cell)
    if coverage > HIGH:
        return "wide"
    if coverage >= LOW:
        return "within"
    return "overconfident" if coverage + 2 * error < NOMINAL else "unclear"


def standard_error(cell: Line) -> float:
    """The error measured between replicates, but at least the binomial one of independent coefficients that cover 95 %."""
    covered = int(cell["replicates"]) * (int(cell["d"]) + 1)
    return max(float(cell["standard_error"]), math.sqrt(NOMINAL * (1 - NOMINAL) / covered))


def expected_by_chance(cells: Iterable[Line]) -> float:
    """The number of cells that would be called overconfident if all covered exactly 95 %."""
    normal = statistics.NormalDist()
    errors = [standard_error(cell) for cell in cells if verdict(cell) != "wide"]
    return sum(normal.cdf(min(-2.0, (LOW - NOMINAL) / error)) for error in errors)


def coverage_section(cells: Sequence[Line]) -> list[str]:
    return [
        "## Coverage of 95 % intervals", "",
        *headline(cells), "",
        "Coverage is in per cent, over all coefficients including the intercept. **Bold** is outside 93–97 %: ↑ wider than "
        "necessary, ↓ too narrow, ~ below 93 % but within two standard errors of 95 %.", "",
        *coverage_tables(cells),
        *sigma_summary(cells), "",
        *width_summary(cells), "",
    ]


def headline(cells: Sequence[Line]) -> list[str]:
    count = {name: sum(verdict(cell) == name for cell in cells) for name in ("within", "wide", "overconfident", "unclear")}
    result = [
        f"{len(cells)} settings, {span(cells, 'replicates')} replicates each, every time with a new table and new noise:", "",
        f"- {count['within']} within 93–97 %",
        f"- {count['wide']} above 97 % (wider than necessary)",
        f"- {count['unclear']} below 93 %, but within two standard errors of 95 %",
        f"- {count['overconfident']} overconfident (below 93 %, and more than two standard errors below 95 %). If all settings "
        f"that are not wide covered exactly 95 %, chance alone would make {expected_by_chance(cells):.1f} look overconfident",
    ]
    worst = sorted((cell for cell in cells if verdict(cell) == "overconfident"), key=lambda cell: float(cell["coverage"]))
    if worst:
        head = ["features", "noise", "adjacency", "d", "n", "ε", "J", "coverage", "standard errors below 95 %", "lowest"]
        result += ["", "The overconfident ones:", "", *table(head, map(overconfident_line, worst))]
    return result


def overconfident_line(cell: Line) -> list[str]:
    error = standard_error(cell)
    return [*(cell[name] for name in ("features", "mechanism", "adjacency", "d")), rows(cell), number(cell["epsilon"]),
            cell["holders"], f"{percent(cell['coverage'])} ± {100 * error:.1f}",
            f"{(NOMINAL - float(cell['coverage'])) / error:.1f}", percent(cell["lowest"])]


def coverage_tables(cells: Sequence[Line]) -> list[str]:
    """One table per kind of features and noise: n × ε × J down, d × adjacency across."""
    result = []
    for features, mechanism in distinct(cells, "features", "mechanism"):
        chosen = [cell for cell in cells if (cell["features"], cell["mechanism"]) == (features, mechanism)]
        across = sorted(distinct(chosen, "d", "adjacency"), key=lambda key: (int(key[0]), key[1] != "replace-one"))
        down = sorted(distinct(chosen, "rows", "epsilon", "holders"), key=lambda key: (int(key[0]), float(key[1]), int(key[2])))
        found = {tuple(cell[name] for name in ("rows", "epsilon", "holders", "d", "adjacency")): cell for cell in chosen}
        body = [[f"{int(key[0]):,}", number(key[1]), key[2], *(marked(found.get((*key, *column))) for column in across)]
                for key in down]
        result += [f"### {features.capitalize()} features, {mechanism.capitalize()} noise", ""]
        result += [*table(["n", "ε", "J", *(f"d={d}, {adjacency}" for d, adjacency in across)], body), ""]
    return result


def marked(cell: Line | None) -> str:
    if cell is None:
        return ""
    mark = {"within": "", "wide": " ↑", "overconfident": " ↓", "unclear": " ~"}[verdict(cell)]
    return f"**{percent(cell['coverage'])}**{mark}" if mark else percent(cell["coverage"])


def sigma_summary(cells: Sequence[Line]) -> list[str]:
    values = [float(cell["sigma"]) for cell in cells]
    lowest = min(cells, key=lambda cell: float(cell["sigma"]))
    return [
        "### Sigma", "",
        f"Coverage of the 95 % interval of sigma: {sum(LOW <= v <= HIGH for v in values)} settings within 93–97 %, "
        f"{sum(v > HIGH for v in values)} above, {sum(v < LOW for v in values)} below; "
        f"median {percent(statistics.median(values))} %, lowest {percent(lowest['sigma'])} % ({describe(lowest)}). "
        f"Each replicate gives one interval for sigma, so with the {lowest['replicates']} replicates of that setting the "
        f"standard error at 95 % is "
        f"{100 * math.sqrt(NOMINAL * (1 - NOMINAL) / int(lowest['replicates'])):.1f}.",
    ]


def width_summary(cells: Sequence[Line]) -> list[str]:
    """What privacy costs: by n and ε, the median and the range over everything else."""
    def cell_text(chosen: Sequence[Line]) -> str:
        widths = [float(cell["relative_width"]) for cell in chosen]
        return f"{statistics.median(widths):.3g} ({min(widths):.3g}–{max(widths):.3g})" if widths else ""

    epsilons = sorted({cell["epsilon"] for cell in cells}, key=float)
    body = [[f"{int(n):,}", *(cell_text([cell for cell in cells if (cell["rows"], cell["epsilon"]) == (n, e)]) for e in epsilons)]
            for n in sorted({cell["rows"] for cell in cells}, key=int)]
    return [
        "### Width", "",
        "Width of the slopes' intervals relative to those from the confidential rows: median over the settings "
        "(smallest–largest). Far above ten, the release says little and the interval is mostly the prior's.", "",
        *table(["n", *(f"ε={number(e)}" for e in epsilons)], body),
    ]


def sbc_section(lines: Sequence[Line]) -> list[str]:
    """The right densities, then the deliberately wrong ones if there are any."""
    right = [line for line in lines if float(line["noise_share"]) == 1.0]
    wrong = [line for line in lines if float(line["noise_share"]) != 1.0]
    result = [
        "## Simulation-based calibration", "",
        "Truths come from the prior and data from the likelihood's own model, so the rank of the truth among the draws should be "
        "uniform. For each case the table gives the smallest p-value over the coefficients and sigma, by a chi-square test on 20 "
        "bins and by the simultaneous band of the distribution function. For the log density, which depends on all parameters at "
        "once, it gives these two tests and one of its chi-square scores (distance²: the mean squared distance of the truth from "
        "the posterior, 1 if the posterior is as wide as it should be). Among this many p-values some are small. *Rejected*: a "
        f"p-value of the case is too small by Holm's rule at level {LEVEL:g} for the whole table.", "",
    ]
    if right:
        result += [f"{span(right, 'replicates')} replicates a case.", "", *sbc_table(right), ""]
    if wrong:
        share = 100 * (1 - float(wrong[0]["noise_share"]))
        result += [f"The same tests on deliberately wrong densities, which ignore {share:.0f} % of the noise's variance "
                   f"({span(wrong, 'replicates')} replicates a case). The tests should reject these:", "", *sbc_table(wrong), ""]
    return result


def sbc_table(lines: Sequence[Line]) -> list[str]:
    limit = holm_limit([p for line in lines for p in p_values(line)])
    body = []
    for key in distinct(lines, *CASE):
        own = [line for line in lines if tuple(line[name] for name in CASE) == key]
        parameters = [line for line in own if line["quantity"] != "density"]
        density = next(line for line in own if line["quantity"] == "density")
        rejected = any(p <= limit for line in own for p in p_values(line))
        body.append([
            *key[:4], number(key[4]),
            *(p_text(min(float(line[test]) for line in parameters)) for test in ("chi_square_p", "band_p")),
            *(p_text(float(density[test])) for test in ("chi_square_p", "band_p", "score_p")),
            f"{float(density['squared_distance']):.2f}", "**yes**" if rejected else "no",
        ])
    head = ["likelihood", "noise", "adjacency", "d", "ε", "smallest χ² of d + 2", "smallest band of d + 2", "density χ²",
            "density band", "density score", "distance²", "rejected"]
    return table(head, body)


def p_values(line: Line) -> list[float]:
    tests = ["chi_square_p", "band_p"] + (["score_p"] if line["quantity"] == "density" else [])
    return [float(line[test]) for test in tests]


def holm_limit(p: Sequence[float]) -> float:
    """The largest p-value that is rejected; −1 if none is."""
    limit = -1.0
    for index, value in enumerate(sorted(p)):
        if value > LEVEL / (len(p) - index):
            break
        limit = value
    return limit


def distinct(lines: Sequence[Line], *names: str) -> list[tuple[str, ...]]:
    """The distinct values, in order of appearance."""
    return list(dict.fromkeys(tuple(line[name] for name in names) for line in lines))


def span(lines: Sequence[Line], name: str) -> str:
    values = sorted({int(line[name]) for line in lines})
    return f"{values[0]:,}" if len(values) == 1 else f"{values[0]:,} to {values[-1]:,}"


def describe(cell: Line) -> str:
    return (f"{cell['features']} features, {cell['mechanism']} noise, {cell['adjacency']}, d={cell['d']}, n={rows(cell)}, "
            f"ε={number(cell['epsilon'])}, J={cell['holders']}")


def number(text: str) -> str:
    return f"{float(text):g}"


def percent(share: str | float) -> str:
    return f"{100 * float(share):.1f}"


def rows(cell: Line) -> str:
    return f"{int(cell['rows']):,}"


def p_text(p: float) -> str:
    return f"{p:.2f}" if p >= 0.01 else f"{p:.1g}"


def page(coverage: Sequence[Line], sbc: Sequence[Line]) -> str:
    result = [
        "# Calibration: measured results", "",
        "How often the 95 % intervals of a linear regression from `gram` releases hold the truth, setting by setting. "
        "[Calibration](calibration.md) explains the studies and what they leave out.", "",
    ]
    result += coverage_section(coverage) if coverage else []
    result += sbc_section(sbc) if sbc else []
    result += ["---", "", "Generated by `python -m studies.report` from the results of `python -m studies.coverage` and "
               "`python -m studies.sbc`. Do not edit."]
    return "\n".join(result).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.output.write_text(page(*read(arguments.files)), encoding="utf-8")


if __name__ == "__main__":
    main()
