"""The results of ``studies.other_systems`` as a page of the documentation, and its picture.

The text is in ``studies/other_systems_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that name
below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from studies.other_systems import DATE_OF, EPSILONS, asked_of, figures, timed
from studies.other_systems_fits import (
    D3P,
    DAPPER,
    DIFFPRIVLIB,
    DIFFPRIVLIB_RIDGE,
    DP_STATSMODELS,
    EXACT,
    OURS,
    OURS_MODEL,
    OURS_PURE,
    SYSTEMS,
    THEIL_SEN,
    Where,
)
from studies.other_systems_problem import Problem
from studies.other_systems_r import ITERATIONS
from studies.page import filled, table
from studies.workers import read

Line = dict[str, str]

WORDS = Path(__file__).with_name("other_systems_page.md")
PICTURE = "other-systems.png"
ORDER = (OURS, OURS_PURE, OURS_MODEL, DIFFPRIVLIB, DIFFPRIVLIB_RIDGE, D3P, THEIL_SEN, DP_STATSMODELS, DAPPER, EXACT)
RAN = "ran"
NOMINAL = 0.95
LARGEST = 100_000
NO_TIME = "the run ended before this was done"


def write_report(results: Path, output: Path) -> None:
    output.write_text(filled(WORDS.read_text(encoding="utf-8"), PIECES, results), encoding="utf-8")
    images = output.parent / "images"
    images.mkdir(exist_ok=True)
    draw(read(results / "figures.csv"), images / PICTURE)


def lines_of(results: Path, name: str) -> list[Line]:
    """The lines of a file; none if that part of the study has not been run."""
    return read(results / name) if (results / name).exists() else []


def chosen(lines: Sequence[Line], family: str, rows: int, predictors: int) -> list[Line]:
    """The lines of one setting in the order of the page: by budget, then by system."""
    found = [line for line in lines if (line["family"], int(line["rows"]), int(line["predictors"])) == (family, rows, predictors)]
    return sorted(found, key=lambda line: (float(line["epsilon"]), ORDER.index(line["system"])))


def figure_table(results: Path, family: str, rows: int, predictors: int) -> list[str]:
    """One row per system and ε that ran; below, the systems that did not run and why."""
    lines = chosen(read(results / "figures.csv"), family, rows, predictors)
    body = [[f"{float(line['epsilon']):g}", line["system"], with_error(line["mse"], line["mse_error"]),
             f"{float(line['median']):.1e}", coverage(line), f"{float(line['width']):.2g}", line["replicates"]]
            for line in lines if line["status"] == RAN]
    head = ["ε", "system", "mean squared error", "median", "coverage, %", "width", "tables"]
    problems = [Problem(family, rows, predictors, epsilon) for epsilon in EPSILONS]
    return [*table(head, body), "", *not_run(lines), *unfinished(lines, problems)]


def not_run(lines: Sequence[Line]) -> list[str]:
    reasons = {line["system"]: line["status"].removeprefix("not run: ") for line in lines if line["status"] != RAN}
    return [f"- *{system}*: not run: {reason}." for system, reason in reasons.items()]


def unfinished(lines: Sequence[Line], problems: Sequence[Problem]) -> list[str]:
    """The cells of the study that are missing because the run ended early."""
    there = {(line["system"], float(line["epsilon"])) for line in lines}
    missing = {system: [f"{problem.epsilon:g}" for problem in problems
                        if asked_of(system, problem) and (system, problem.epsilon) not in there] for system in ORDER}
    return [f"- *{system}*: not run at ε = {', '.join(epsilons)}: {NO_TIME}." for system, epsilons in missing.items() if epsilons]


def with_error(value: str, error: str) -> str:
    return f"{float(value):.1e} ± {float(error):.0e}"


def coverage(line: Line) -> str:
    """Coverage with its Monte Carlo error; bold if more than two errors below 95 %."""
    value, error = float(line["coverage"]), float(line["coverage_error"])
    text = f"{100 * value:.1f} ± {100 * error:.1f}"
    text = f"**{text}**" if value + 2 * max(error, 0.001) < NOMINAL else text
    return f"{text} (naive)" if line["intervals"] == "naive" else text


def linear_large(results: Path) -> list[str]:
    return figure_table(results, "linear", 100_000, 5)


def least_noise(results: Path) -> list[str]:
    """Our coverage and that of the fit without privacy on the same tables, where there is hardly any noise."""
    found = {line["system"]: line for line in chosen(read(results / "figures.csv"), "linear", LARGEST, 5)
             if line["status"] == RAN and float(line["epsilon"]) == EPSILONS[-1]}
    if not {OURS, EXACT} <= found.keys():
        return []
    ours, exact = (100 * float(found[name]["coverage"]) for name in (OURS, EXACT))
    error = 100 * float(found[OURS]["coverage_error"])
    return [f"At ε = {EPSILONS[-1]:g} there is little noise, and noisewise covers {ours:.1f} ± {error:.1f} %. The fit without "
            f"privacy covers {exact:.1f} % of the same tables."
            + (_same_tables(found[OURS_MODEL]) if OURS_MODEL in found and found[OURS_MODEL]["status"] == RAN else "")]


def _same_tables(line: Line) -> str:
    """The fit without privacy on the tables of the model releases, which are the first of all."""
    problem = Problem(line["family"], int(line["rows"]), int(line["predictors"]), float(line["epsilon"]))
    tables = range(int(line["replicates"]))
    exact = figures([SYSTEMS[EXACT].one(problem, one, Where()) for one in tables], problem)
    return (f" Of the first {len(tables)} tables alone, it covers {100 * exact['coverage']:.1f} % with a mean squared error of "
            f"{exact['mse']:.1e}; model releases cover {100 * float(line['coverage']):.1f} % with {float(line['mse']):.1e}.")


def linear_small(results: Path) -> list[str]:
    return figure_table(results, "linear", 2_000, 5)


def logistic_large(results: Path) -> list[str]:
    return figure_table(results, "logistic", 100_000, 5)


def logistic_small(results: Path) -> list[str]:
    return figure_table(results, "logistic", 2_000, 5)


def one_predictor(results: Path) -> list[str]:
    return figure_table(results, "linear", 100_000, 1)


def verdict(results: Path) -> list[str]:
    """Each system compared with noisewise, in the settings with five predictors where noisewise has figures."""
    lines = [line for line in read(results / "figures.csv") if line["status"] == RAN and line["predictors"] == "5"]
    found = {(line["system"], *kind_of(line)): line for line in lines}
    kinds = sorted({kind_of(line) for line in lines if line["system"] == OURS},
                   key=lambda kind: (kind[0], -int(kind[1]), float(kind[2])))
    systems = [system for system in ORDER if any((system, *kind) in found for kind in kinds)]
    body = [[f"{family}, n = {int(rows):,}, ε = {float(epsilon):g}",
             *(beside(found.get((system, family, rows, epsilon)), found[OURS, family, rows, epsilon]) for system in systems)]
            for family, rows, epsilon in kinds]
    words = ("The median squared error of a slope, as a multiple of noisewise's (below 1 is better than noisewise). In "
             "brackets: the coverage of 95 % intervals, naive ones where there are no others.")
    return [words, "", *table(["setting", *systems], body)]


def kind_of(line: Line) -> tuple[str, str, str]:
    return line["family"], line["rows"], line["epsilon"]


def beside(line: Line | None, ours: Line) -> str:
    if line is None:
        return "–"
    return f"{float(line['median']) / float(ours['median']):.2g} ({100 * float(line['coverage']):.0f} %)"


def dapper_time(results: Path) -> list[str]:
    """A lower bound from the functions that its user writes, if R was available to time them."""
    line = next((line for line in lines_of(results, "claims.csv") if line["name"] == "dapper_row"), {"status": "not run"})
    words = ("dapper keeps a made-up row for each row of the table. Every iteration proposes a new one for each, which takes two "
             "calls to each of two functions of the user.")
    if line["status"] != RAN:
        return [words]
    microseconds = float(line["value"])
    hours = ITERATIONS * LARGEST * microseconds / 3.6e9
    return [f"{words} In R these functions alone, without dapper, took {microseconds:.0f} µs per row of this problem. With "
            f"{LARGEST:,} rows and {ITERATIONS:,} iterations that is at least {hours:.0f} hours for one fit, plus the time that "
            "dapper itself needs."]


def times(results: Path) -> list[str]:
    """The time of a fit as a multiple of noisewise's; smaller is faster."""
    lines = [line for line in lines_of(results, "times.csv") if line["status"] == RAN]
    kinds = list(dict.fromkeys((line["family"], int(line["predictors"]), int(line["rows"])) for line in lines))
    found = {(line["system"], line["family"], int(line["predictors"]), int(line["rows"])): line for line in lines}
    body = [[system, *(ratio(found.get((system, *kind))) for kind in kinds)]
            for system in ORDER if any((system, *kind) in found for kind in kinds)]
    head = ["system", *(f"{family}, d = {d}, n = {rows:,}" for family, d, rows in kinds)]
    missing = {system: [name for name, (family, d, rows) in zip(head[1:], kinds, strict=True)
                        if timed(system, Problem(family, rows, d, 1.0)) and (system, family, d, rows) not in found]
               for system in (DIFFPRIVLIB, D3P)}
    reasons = [f"- *{system}*: not run for {'; '.join(names)}: {NO_TIME}." for system, names in missing.items() if names]
    return [*table(head, body), *([""] if reasons else []), *reasons] if lines else [f"Not run: {NO_TIME}."]


def ratio(line: Line | None) -> str:
    return f"{float(line['ratio']):.2g} ({float(line['least']):.2g}–{float(line['most']):.2g})" if line else "–"


def selection(results: Path) -> list[str]:
    lines = lines_of(results, "selection.csv")
    body = [[f"{float(line['epsilon']):g}", line["system"], f"{line['false']} of {line['of']}",
             f"{line['all_found']} of {line['replicates']}"] for line in lines if line["status"] == RAN]
    missing = {line["system"]: line["status"] for line in lines if line["status"] != RAN}
    head = ["ε", "method", "no effect, probability above 0.95", "all four effects above 0.95"]
    reasons = [f"- *{name}*: {why}." for name, why in missing.items()]
    return [*table(head, sorted(body, key=lambda row: float(row[0]))), "", *reasons] if lines else [f"Not run: {NO_TIME}."]


def claims(results: Path) -> list[str]:
    body = [[WORDS_OF_CLAIMS[line["name"]], f"{float(line['value']):.4g}" if line["status"] == RAN else line["status"]]
            for line in lines_of(results, "claims.csv")]
    return table(["counted or computed", "found"], body)


WORDS_OF_CLAIMS = {
    "exact_sums_of_squares": "diffprivlib, linear, bounds (0, 100), no intercept: sums of squares without noise, of 5",
    "exact_sums_of_squares_symmetric": "the same with bounds (−1, 1)",
    "spent_with_intercept": "diffprivlib, linear, ε = 1, 5 predictors and an intercept: sum of the ε of its mechanisms",
    "spent_without_intercept": "the same without an intercept",
    "recorded": "what its accountant records of the fit with an intercept",
    "logistic_left_for_noise": "diffprivlib, logistic, ε = 1, C = 1, rows of norm √5, intercept: ε that is left for the noise",
    "logistic_loss_at_zero": "the same with one predictor, no intercept, `data_norm=100`: spent at least, computed",
    "logistic_spent": "the same, counted in 2 × 4000 fits: at least, with confidence 95 %",
    "logistic_excess_here": "diffprivlib, logistic, in this comparison: at most, as a multiple of ε, leaving the intercept aside",
    "theil_sen_loss": "OpenDP, Theil–Sen at scale 1: ε of a replaced row, as the library states it",
    "dapper_row": "dapper, functions of the user for one row in one iteration, µs",
    "our_delta": "noisewise, noise of a release at ε = 1: δ by dp-accounting, as a multiple of the δ it states",
}


def setting(results: Path) -> list[str]:
    facts = {line["name"]: line["value"] for line in read(results / "versions.csv")}
    later = {name.removeprefix(DATE_OF): value for name, value in facts.items() if name.startswith(DATE_OF)}
    packages = ", ".join(f"{name} {value}" for name, value in facts.items()
                         if name not in ("date", "cores") and not name.startswith(DATE_OF))
    ran = f"Run on {facts['date']}, {facts['cores']} cores shared with other work; {packages}."
    return [" ".join([ran, *(f"*{system}* was run on {date}." for system, date in later.items())])]


def draw(lines: Sequence[Line], path: Path) -> None:
    """Error and coverage against ε, large table and small, for linear and logistic regression."""
    from matplotlib.figure import Figure

    kinds = [(family, rows) for family in ("linear", "logistic") for rows in (100_000, 2_000)]
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, len(kinds), sharex=True)
    for column, (family, rows) in enumerate(kinds):
        for system, (colour, marker) in STYLES.items():
            own = [line for line in chosen(lines, family, rows, 5) if line["system"] == system and line["status"] == RAN]
            if not own:
                continue
            epsilons = [float(line["epsilon"]) for line in own]
            dashed = "--" if own[0]["intervals"] == "naive" else "-"
            label = f"{system} (naive intervals)" if dashed == "--" else system
            for axis, values in ((axes[0, column], [float(line["median"]) for line in own]),
                                 (axes[1, column], [100 * float(line["coverage"]) for line in own])):
                axis.plot(epsilons, values, dashed, color=colour, marker=marker, label=label)
        axes[0, column].set(xscale="log", yscale="log", title=f"{family}, n = {rows:,}")
        axes[1, column].axhline(100 * NOMINAL, color="#999999", linewidth=0.8, zorder=0)
        axes[1, column].set(xlabel="ε", ylim=(0, 103))
    axes[0, 0].set_ylabel("squared error of a slope\n(median over tables)")
    axes[1, 0].set_ylabel("coverage of 95 % intervals, %")
    handles = {label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)


STYLES = {OURS: ("#0072b2", "o"), OURS_PURE: ("#56b4e9", "s"), OURS_MODEL: ("#cc79a7", "P"), DIFFPRIVLIB: ("#d55e00", "^"),
          DIFFPRIVLIB_RIDGE: ("#e69f00", "D"), D3P: ("#009e73", "v"),
          EXACT: ("#000000", "x")}
"""Colours of Okabe and Ito, which colour-blind readers can tell apart; markers differ as well."""

PIECES: dict[str, Callable[[Path], list[str]]] = {
    piece.__name__: piece for piece in (
        verdict, linear_large, least_noise, linear_small, logistic_large, logistic_small, one_predictor, times, dapper_time,
        selection, claims, setting)}
