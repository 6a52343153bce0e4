"""The results of the study of thesis 001 as a page of the documentation.

    python -m studies.reproduce 001 --page

The text is in ``studies/paper_001_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

import numpy as np

from studies import page
from studies.page import Pieces, table
from studies.paper_001 import EPSILONS, MIXING, THEIRS, VERSIONS
from studies.report import HIGH, LOW
from studies.verdicts import (
    LIMIT,
    Condition,
    Target,
    Verdict,
    figure_in_words,
    in_words,
    judge_figure,
    judge_sentence,
    with_the_error,
)
from studies.workers import read

PRINTED: Final = {
    1: {5.0: (0.0280, 0.0495), 2.5: (0.0403, 0.0565), 2.0: (0.0745, 0.0796), 1.5: (0.1379, 0.1072), 1.0: (0.1338, 0.0959),
        0.5: (0.8162, 0.2609), 0.25: (3.1700, 0.4698)},
    2: {5.0: (0.0366, 0.0566), 2.5: (0.0498, 0.0660), 2.0: (0.1041, 0.0958), 1.5: (0.1416, 0.1122), 1.0: (0.5135, 0.2125),
        0.5: (1.0955, 0.2846), 0.25: (6.1115, 0.7127)},
}
"""Tables 4.1 and 4.2: mean square error of both coefficients and relative error of the slope, for each number of copies and ε."""
MEASURES: Final = ("squares", "relative")
METHODS: Final = ("posterior", "simex", "naive")
RESULTS: Final = page.RESULTS / "paper_001"
ROUNDING: Final = 0.00005
CHAINS: Final = "Algorithm 6 from truth"
NAMES: Final = {"squares": "mean square error", "relative": "relative error of the slope"}
RELEASES: Final = {"thesis": "The thesis' noise", "declared": "[Declared bounds](#with-declared-bounds), noise of a valid ε",
                   "unknown": "[Nothing known beforehand](#nothing-known-beforehand), noise of a valid ε"}


Line = dict[str, str]
Key = tuple[str, int, float, str]


@cache
def cells_in(results: Path) -> dict[Key, Line]:
    """The line of every version, number of copies, ε and method."""
    names = ("posterior.csv", "comparators.csv", "plain.csv")
    lines = [line for name in names if (results / name).exists() for line in read(results / name)]
    return {(line["version"], int(line["copies"]), float(line["epsilon"]), line["method"]): line for line in lines}


def figure(value: float) -> str:
    return f"{value:.4f}" if value < 10 else f"{value:.1f}"


def with_error(line: Line, name: str) -> str:
    return f"{figure(float(line[name]))} ± {figure(float(line[f'{name}_sd']) / math.sqrt(int(line['repeats'])))}"


def away(printed: float, line: Line, name: str) -> float:
    """The distance of a printed figure from ours, in standard errors of a mean of 50 repeats."""
    return (printed - float(line[name])) / (float(line[f"{name}_sd"]) / math.sqrt(THEIRS))


def percent(line: Line) -> str:
    return f"{float(line['coverage']):.1%}"


def headings(first: str, others: Sequence[str]) -> list[str]:
    return [f"{first}: {others[0]}", *others[1:]]


def thesis_table(results: Path, copies: int) -> list[str]:
    """Printed and measured figures."""
    found, body = cells_in(results), []
    for epsilon in EPSILONS:
        line, printed = found["thesis", copies, epsilon, "posterior"], PRINTED[copies][epsilon]
        own = [f"{epsilon:g}"]
        for value, name in zip(printed, MEASURES, strict=True):
            first = figure(float(line[f"{name}_first"]))
            own += [f"{value:.4f}", first, with_error(line, name), f"{away(value, line, name):+.1f}"]
        body.append([*own, percent(line), f"{float(line['width']):.2f}"])
    count = found["thesis", copies, EPSILONS[0], "posterior"]["repeats"]
    head = ["printed", f"{THEIRS} repeats", f"{count} repeats", "off by"]
    return table(["ε", *headings("MSE", head), *headings("slope", head), "coverage", "width"], body)


def plain_table(results: Path) -> list[str]:
    """The thesis' sampler, from two starts."""
    found, body = cells_in(results), []
    for copies in (1, 2):
        for epsilon in EPSILONS:
            own = [found["thesis", copies, epsilon, method] for method in
                   ("posterior", "Algorithm 6 from truth", "Algorithm 6 from zero")]
            body.append([str(copies), f"{epsilon:g}", *(text for place, name in enumerate(MEASURES) for text in (
                f"{PRINTED[copies][epsilon][place]:.4f}", *(figure(float(line[name])) for line in own))),
                *(percent(line) for line in own[1:]), f"{float(own[1]['ess']):.0f}"])
    three = ["printed", "ours", "from the truth", "from 0"]
    return table(["copies", "ε", *headings("MSE", three), *headings("slope", three), "coverage: from the truth", "from 0",
                  "effective draws of 1000"], body)


def version_table(results: Path, version: str) -> list[str]:
    """The posterior, SIMEX and least squares."""
    found, body = cells_in(results), []
    for copies in (1, 2):
        for epsilon in sorted({key[2] for key in found if key[0] == version}, reverse=True):
            own = [found[version, copies, epsilon, method] for method in METHODS]
            body.append([str(copies), f"{epsilon:g}", *(figure(float(line[name])) for name in MEASURES for line in own),
                         *map(percent, own), f"{float(own[0]['width']):.2f}"])
    three = ["posterior", "SIMEX", "naive"]
    return table(["copies", "ε", *headings("MSE", three), *headings("slope", three), *headings("coverage", three),
                  "width of posterior's"], body)


def claims(results: Path) -> list[str]:
    """A summary of the tables, with counts."""
    found = cells_in(results)
    offs = {(epsilon, copies, name): away(PRINTED[copies][epsilon][place], found["thesis", copies, epsilon, "posterior"], name)
            for epsilon in EPSILONS for copies in (1, 2) for place, name in enumerate(MEASURES)}
    near = sum(abs(value) <= LIMIT for value in offs.values())
    far = sorted({epsilon for (epsilon, *_), value in offs.items() if abs(value) > LIMIT}, reverse=True)
    where = ", ".join(f"{epsilon:g}" for epsilon in far)
    lines = [f"- Of the {len(offs)} printed figures, {near} are within {LIMIT:g} standard errors of what 50 repeats give at the "
             f"thesis' noise. The others are at ε = {where}: see [below](#chains-that-do-not-mix)."]
    for version in VERSIONS:
        shown = {method: [float(line["coverage"]) for key, line in found.items() if key[0] == version and key[3] == method]
                 for method in METHODS}
        own, inside = shown["posterior"], sum(LOW <= value <= HIGH for value in shown["posterior"])
        less = sum(value < LOW for value in own)
        others = ", ".join(f"those of {name} in {min(shown[method]):.0%} to {max(shown[method]):.0%}"
                           for method, name in (("simex", "SIMEX"), ("naive", "least squares on noisy rows")))
        lines.append(f"- {RELEASES[version]} (`{version}`): the posterior's 95 % intervals hold the slope in "
                     f"{min(own):.1%} to {max(own):.1%} of "
                     f"repeats ({inside} of {len(own)} cells within 93–97 %, {less} below), {others}.")
    one, two = (np.array([float(found["thesis", copies, epsilon, "posterior"]["squares"]) for epsilon in EPSILONS])
                for copies in (1, 2))
    lines.append("- Mean square error of two copies, as a multiple of that of one copy at the same ε: "
                 + ", ".join(f"{ratio:.2f} (ε = {epsilon:g})" for epsilon, ratio in zip(EPSILONS, two / one, strict=True)) + ".")
    return lines


def mixing(results: Path) -> list[str]:
    """Effective draws of the slope, medians over repeats."""
    path = results / "mixing.csv"
    if not path.exists():
        return ["Not run yet."]
    lines, body = read(path), []
    for copies in (1, 2):
        for epsilon in MIXING:
            own = {name: [line for line in lines if (int(line["copies"]), float(line["epsilon"]), line["sampler"])
                          == (copies, epsilon, name)] for name in ("Algorithm 6", "ours")}
            if all(own.values()):
                sweep, second = ([float(np.median([float(line[what]) for line in part])) for part in own.values()]
                                 for what in ("per_sweep", "per_second"))
                body.append([str(copies), f"{epsilon:g}", *(f"{value:.4f}" for value in sweep),
                             *(f"{value:.1f}" for value in second), f"{second[1] / second[0]:.1f}"])
    return table(["copies", "ε", "per sweep: Algorithm 6", "ours", "per second: Algorithm 6", "ours", "ratio"], body)


def diagnostics(results: Path) -> list[str]:
    """Diagnostics of the posteriors in the tables."""
    body = []
    for version in VERSIONS:
        own = [line for key, line in cells_in(results).items() if key[0] == version and key[3] == "posterior"]
        worst = max(own, key=lambda line: float(line["unsettled"]))
        sizes = [float(line["ess"]) for line in own]
        body.append([f"`{version}`", f"{min(sizes):.0f} to {max(sizes):.0f}",
                     f"{min(float(line['low_ess']) for line in own):.0f}",
                     f"{float(worst['unsettled']):.1%}", f"ε = {float(worst['epsilon']):g}, {worst['copies']} copies"])
    return table(["version", "median effective draws of 1000", "worst percent, worst cell", "R̂ above 1.05, worst cell",
                  "which is"], body)


PIECES: Final[Pieces] = {
    "claims": claims,
    "one_copy": partial(thesis_table, copies=1),
    "two_copies": partial(thesis_table, copies=2),
    **{version: partial(version_table, version=version) for version in VERSIONS},
    "plain": plain_table,
    "mixing": mixing,
    "diagnostics": diagnostics,
}


def targets(results: Path) -> list[Target]:
    return [*(_figure(results, copies, epsilon, name) for copies in PRINTED for epsilon in EPSILONS for name in MEASURES),
            *_sentences(results)]


def _figure(results: Path, copies: int, epsilon: float, name: str) -> Target:
    """A printed figure against the posterior at valid noise, at the thesis' noise, and the thesis' sampler from the truth."""
    printed, found = PRINTED[copies][epsilon][MEASURES.index(name)], cells_in(results)
    ways = {"noise of ε": ("declared", "posterior"), "the thesis' noise": ("thesis", "posterior"),
            "its chains from the truth": ("thesis", CHAINS)}
    lines = {way: found[version, copies, epsilon, method] for way, (version, method) in ways.items()
             if (version, copies, epsilon, method) in found}
    numbers_of = {way: (printed, float(line[name]), error_of_difference(line, name), ROUNDING, int(line["repeats"]) - 1.0)
                  for way, line in lines.items()}
    verdicts = {way: judge_figure(*judged) for way, judged in numbers_of.items()}
    right, wrong, chains = (verdicts.get(way, Verdict.NOT_RUN) for way in ways)
    verdict = with_the_error(right, chains if wrong == Verdict.NOT and chains != Verdict.NOT_RUN else wrong)
    words = "; ".join(f"{way} {with_error(line, name)}" for way, line in lines.items())
    why = "; ".join(f"{way}: {verdicts[way]}, " + figure_in_words(*judged) for way, judged in numbers_of.items())
    shown = numbers_of.get("the thesis' noise")
    numbers = None if shown is None else shown[:3]
    return Target(f"Table 4.{copies}", f"ε = {epsilon:g}, {NAMES[name]}", f"{printed:.4f}", words or "–", verdict, why, "tables",
                  numbers)


def error_of_difference(line: Line, name: str) -> float:
    """The standard error of the difference between a mean of their 50 repeats, assumed to scatter like ours, and our mean."""
    return float(line[f"{name}_sd"]) * math.sqrt(1 / THEIRS + 1 / int(line["repeats"]))


def _sentences(results: Path) -> list[Target]:
    """Sentences as pairs of cells for every ε, the first of which has the larger error."""
    found, made = cells_in(results), []
    for text, where, study, pairs in (
            ("the posterior mean has a smaller error than SIMEX", "Abstract", "comparators",
             [((copies, epsilon, "simex"), (copies, epsilon, "posterior")) for copies in (1, 2) for epsilon in EPSILONS]),
            ("two copies, each with half of ε, have a larger error than one", "Section 4", "tables",
             [((2, epsilon, "posterior"), (1, epsilon, "posterior")) for epsilon in EPSILONS])):
        held = {version: [_larger(found[version, *one], found[version, *other]) for one, other in pairs
                          if (version, *one) in found and (version, *other) in found] for version in ("declared", "thesis")}
        names = {"declared": "noise of ε", "thesis": "the thesis' noise"}
        words = "; ".join(f"{names[version]}: so in {sum(one.margin > 0 for one in conditions)} of {len(conditions)} cells"
                          for version, conditions in held.items())
        why = "; ".join(f"{names[version]}: {judge_sentence(conditions)}, {in_words(conditions)}"
                        for version, conditions in held.items() if conditions)
        made.append(Target(where, text, text, words, with_the_error(*map(judge_sentence, held.values())), why, study))
    return made


def _larger(one: Line, other: Line) -> Condition:
    """The condition that the first has the larger mean square error. They share rows, so this overstates chance."""
    values = [float(line["squares"]) for line in (one, other)]
    errors = [float(line["squares_sd"]) / math.sqrt(int(line["repeats"])) for line in (one, other)]
    return Condition(values[0] - values[1], math.hypot(*errors), int(one["repeats"]) - 1.0)
