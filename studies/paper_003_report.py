"""The results of the studies of paper 003 as a page of the documentation.

    python -m studies.reproduce 003 --page

The text is in ``studies/paper_003_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from studies import page
from studies.doctor_visits import FORMULAS, file_of
from studies.dp_sgld import batch_size, noise_multiplier
from studies.page import table
from studies.verdicts import (
    Condition,
    Target,
    Verdict,
    figure_in_words,
    in_words,
    judge_figure,
    judge_sentence,
    mean_of,
    of_readings,
)
from studies.workers import read

Line = dict[str, str]

RESULTS: Final = page.RESULTS / "paper_003"
TARGETS: Final = {("Adult", 8000, 0.1): 68.4, ("Pima", 758, 0.1): 227.2, ("Pima", 758, 0.3): 83.0}
"""Noise multipliers of the paper's settings, computed by other means."""
OWN: Final = ("shortened", "divided")
GROWTH: Final = {"Taylor": "Taylor", "quadrature": "ours", "quadrature, mean not told": "ours, mean not told"}
DISCRETE: Final = 0.01
CLOSE: Final = 0.1
"""A KS distance below this is called nearly overlapping."""


def lines_of(results: Path, name: str) -> list[Line]:
    path = results / name
    return read(path) if path.exists() else []


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else math.nan


def with_error(values: Sequence[float]) -> str:
    centre = mean(values)
    if len(values) < 2:
        return f"{centre:.2f}"
    spread = math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1) / len(values))
    return f"{centre:.2f} ± {spread:.2f}"


def _ways(lines: Sequence[Line]) -> list[tuple[str, str, str]]:
    """(ε, method, scaling) in the order of the file, ε first; the two priors of the product are one."""
    found = dict.fromkeys((line["epsilon"], line["method"], line["scaling"]) for line in lines
                          if line["method"] != "prior, moments")
    return sorted(found, key=lambda way: float(way[0]))


def _chosen(lines: Sequence[Line], way: tuple[str, str, str], term: str | None = None) -> list[Line]:
    return [line for line in lines if (line["epsilon"], line["method"], line["scaling"]) == way and term in (None, line["term"])]


def distances(results: Path, name: str) -> list[str]:
    """Mean KS distance of each coefficient, and over all of them."""
    lines = lines_of(results, f"{name}.csv")
    if not lines:
        return ["This part has not been run yet."]
    terms = list(dict.fromkeys(line["term"] for line in lines))
    body = [[epsilon, f"{method}, {scaling}",
             *(with_error([float(line["ks"]) for line in _chosen(lines, (epsilon, method, scaling), term)]) for term in terms),
             f"**{mean(float(line['ks']) for line in _chosen(lines, (epsilon, method, scaling))):.2f}**"]
            for epsilon, method, scaling in _ways(lines)]
    return table(["ε", "posterior, scaling", *terms, "all"], body)


def widths(results: Path, name: str) -> list[str]:
    """How wide, how far off, and which signs."""
    lines = lines_of(results, f"{name}.csv")
    if not lines:
        return []
    body = []
    for way in _ways(lines):
        chosen = _chosen(lines, way)
        if way[1].startswith("prior"):
            continue
        off = mean(abs(float(line["mean"]) - float(line["exact_mean"])) / float(line["exact_sd"]) for line in chosen)
        clear = [line for line in chosen if not holds_zero(line, "exact_")]
        same = mean(_same_sign(line) for line in clear)
        wrong = mean(not holds_zero(line) and not _same_sign(line) for line in chosen)
        covered = mean(_held(line) for line in chosen)
        body.append([way[0], f"{way[1]}, {way[2]}", f"{mean(float(line['sd']) / float(line['exact_sd']) for line in chosen):.2f}",
                     f"{off:.2f}", f"{covered:.0%}", f"{same:.0%}", f"{wrong:.1%}"])
    return table(["ε", "posterior, scaling", "sd / sd of the rows", "distance of the means / sd of the rows",
                  "95 % interval holds the rows' mean", "clear signs found", "wrong signs"], body)


def holds_zero(line: Line, prefix: str = "") -> bool:
    return float(line[prefix + "low"]) <= 0 <= float(line[prefix + "high"])


def _same_sign(line: Line) -> bool:
    return not holds_zero(line) and (float(line["low"]) > 0) == (float(line["exact_mean"]) > 0)


def pima_picture(results: Path) -> list[str]:
    return picture(results, "pima")


def adult_picture(results: Path) -> list[str]:
    return picture(results, "adult")


def picture(results: Path, name: str) -> list[str]:
    """A picture whose results are there."""
    return [f"![{name.capitalize()}](images/paper-003-{name}.png)"] if (results / f"{name}.csv").exists() else []


def pima_distances(results: Path) -> list[str]:
    return distances(results, "pima")


def adult_distances(results: Path) -> list[str]:
    return distances(results, "adult")


def pima_widths(results: Path) -> list[str]:
    return widths(results, "pima")


def adult_widths(results: Path) -> list[str]:
    return widths(results, "adult")


def synthetic(results: Path) -> list[str]:
    lines = lines_of(results, "synthetic.csv")
    terms = list(dict.fromkeys(line["term"] for line in lines))
    epsilons = sorted({float(line["epsilon"]) for line in lines})
    releases = len({line["repeat"] for line in lines} - {"all", "prior"})
    body = []
    for epsilon in epsilons:
        here = [line for line in lines if float(line["epsilon"]) == epsilon]
        single = [line for line in here if line["repeat"] not in ("all", "prior")]
        found = [with_error([float(line["ks"]) for line in single or here if line["term"] == term]) for term in terms]
        if not single:
            body.append(["the prior", *found, "", ""])
            continue
        pooled = max(float(line["ks"]) for line in here if line["repeat"] == "all")
        body.append([f"{epsilon:.3f}", *found, f"{pooled:.2f}",
                     f"{mean(float(line['sd']) / float(line['exact_sd']) for line in single):.2f}"])
    return table(["ε", *terms, f"{releases} releases together, largest", "sd / sd of the rows"], body)


def growth(results: Path) -> list[str]:
    lines = lines_of(results, "growth.csv")
    methods = {method: words for method, words in GROWTH.items() if any(line["method"] == method for line in lines)}
    body = []
    for norm in sorted({float(line["norm"]) for line in lines}):
        cells = [f"{norm:g}"]
        for method in methods:
            chosen = [line for line in lines if line["method"] == method and float(line["norm"]) == norm]
            cells += [f"{float(chosen[0]['length']):.2f}", f"{max(abs(float(line['bias'])) for line in chosen):.2f}",
                      f"{mean(float(line['coverage']) for line in chosen):.0%}"] if chosen else [""] * 3
        body.append(cells)
    head = [cell for words in methods.values() for cell in (f"{words}: mean ‖θ‖", "largest bias", "coverage")]
    return table(["true ‖θ‖", *head], body)


def multipliers(results: Path) -> list[str]:
    body = []
    for (name, rows, epsilon), target in TARGETS.items():
        batch = batch_size(rows)
        found = noise_multiplier(batch, rows, epsilon, 1e-5)
        body.append([f"{name}, {batch} of {rows}", f"{epsilon:g}", f"{target}", f"{found:.1f}", f"{found / target - 1:+.1%}"])
    return table(["batch", "ε", "reference", "ours", "difference"], body)


def convergence(results: Path) -> list[str]:
    """The largest R-hat of the fits of each part."""
    parts = {name: lines_of(results, f"{name}.csv") for name in ("pima", "adult", "synthetic")}
    grown = lines_of(results, "growth.csv")
    parts |= {f"growing norms, {words}": [line for line in grown if line["method"] == name] for name, words in GROWTH.items()}
    parts["visits to a doctor"] = _visits(results)
    body = []
    for name, lines in parts.items():
        names = ("scaling", "method", "epsilon", "norm", "formula", "statistic", "repeat")
        found = {tuple(line.get(key) for key in names): line for line in lines if line.get("r_hat")}
        if not found:
            continue
        worst = [float(line["r_hat"]) for line in found.values()]  # a line of growth is the worst of several fits
        fits = sum(int(line.get("repeats", 1)) for line in found.values())
        body.append([name, str(fits), f"{max(worst):.3f}"])
    return table(["part", "fits", "largest R-hat"], body)


def _visits(results: Path, names: Iterable[str] = FORMULAS) -> list[Line]:
    return [line for name in names for line in lines_of(results, file_of(name))]


def visits(results: Path) -> list[str]:
    """One line for each coefficient: the rows, then each kind of release."""
    lines = _visits(results, ("four", "all"))
    body = []
    for formula in dict.fromkeys(line["formula"] for line in lines):
        here = [line for line in lines if line["formula"] == formula]
        for term in dict.fromkeys(line["term"] for line in here):
            cells = []
            for kind in ("gram", "moments"):
                chosen = [line for line in here if line["term"] == term and line["statistic"] == kind]
                first = chosen[0]
                held = mean(_held(line) for line in chosen)
                cells += [_interval(first), _verdicts(chosen), f"{held:.0%}"]
            exact = _interval(first, "exact_")
            body.append([formula, term, f"**{exact}**" if first["clear"] == "True" else exact, *cells])
    return table(["predictors", "term", "the rows themselves", "gram, first release", "signs", "holds the rows' mean",
                  "moments, first release", "signs", "holds the rows' mean"], body)


def visits_codings(results: Path) -> list[str]:
    """The last of four predictors: as days, as a number 0 or 1, and as a category."""
    codings = {"four": "days, a number", "any_number": "any or none, a number", "any_category": "any or none, a category"}
    body = []
    for name, words in codings.items():
        for kind in ("gram", "moments"):
            lines = [line for line in _visits(results, (name,)) if line["statistic"] == kind]
            if not lines:
                continue
            last = lines[-1]["term"]
            chosen = [line for line in lines if line["term"] == last]
            held = [mean(_held(line) for line in lines if line["term"] == term) for term in (last, "Intercept")]
            centre, spread = (mean(float(line[key]) for line in chosen) for key in ("mean", "sd"))
            body.append([words, kind, _interval(chosen[0], "exact_"), f"{centre:.2f}", f"{spread:.2f}",
                         *(f"{share:.0%}" for share in held), str(len(chosen))])
    return table(["reduced activity", "release", "the rows themselves", "mean over releases", "mean sd", "holds the rows' mean",
                  "the intercept's does", "releases"], body)


def _held(line: Line) -> bool:
    return float(line["low"]) <= float(line["exact_mean"]) <= float(line["high"])


def _interval(line: Line, prefix: str = "") -> str:
    middle, low, high = (float(line[prefix + name]) for name in ("mean", "low", "high"))
    return f"{middle:.2f} ({low:.2f}, {high:.2f})"


def _verdicts(lines: Sequence[Line]) -> str:
    """Right signs, intervals that hold zero, wrong signs."""
    return " / ".join(str(sum(line["verdict"] == name for line in lines)) for name in ("right sign", "holds zero", "wrong sign"))


def visits_verdict(results: Path) -> list[str]:
    lines = [line for line in _visits(results, ("four", "all")) if line["term"] != "Intercept"]
    if not lines:
        return []
    first, result = lines[0], []
    for name in dict.fromkeys(line["formula"] for line in lines):
        here = [line for line in lines if line["formula"] == name]
        clear = [line for line in here if line["clear"] == "True"]
        verdicts = [line["verdict"] for line in clear]
        right, zero, wrong = (verdicts.count(kind) for kind in ("right sign", "holds zero", "wrong sign"))
        result.append(f"- {name}: {1 + max(int(line['repeat']) for line in here)} releases of each kind. Of the slopes that are "
                      f"clearly not zero without privacy the sign is right in {right}, the interval holds zero in {zero}, and "
                      f"the sign is wrong in {wrong} of {len(clear)} cases.")
    spread = sorted({f"{float(line['dispersion']):.2f}" for line in lines})
    centre, variance = float(first["marginal_mean"]), float(first["marginal_variance"])
    return [*result, "", f"Visits have mean {centre:.2f} and variance {variance:.2f}; Pearson's statistic over its degrees of "
            f"freedom is {' and '.join(spread)} after the fit."]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, one reading of it, and what decides."""

    sentence: str
    measured: str
    conditions: list[Condition]
    where: str
    study: str
    reading: str = ""
    """The scaling, where there are several."""

    @property
    def verdict(self) -> Verdict:
        return judge_sentence(self.conditions)


def claims(results: Path) -> list[str]:
    """What the paper prints, and what we find."""
    return table(["printed", "measured", "verdict"], [
        [one.sentence, one.measured, str(one.verdict) if one.verdict == Verdict.REPRODUCED else f"**{one.verdict}**"]
        for one in _claims(results)])


def not_reproduced(results: Path) -> list[str]:
    """The sentences that hold in no scaling, and those that hold in one only."""
    found = targets(results, sentences_only=True)
    result = []
    for verdict, words in ((Verdict.NOT, "**Not reproduced**, in any scaling that was tried"),
                           (Verdict.IN_PART, "Reproduced in part"),
                           (Verdict.UNDECIDED, "Undecided: chance is too large to tell")):
        mine = [one for one in found if one.verdict == verdict]
        if mine:
            result += [f"{words} ({len(mine)} of {len(found)} sentences):", "", *(f"- {one.what}" for one in mine), ""]
    single = in_one_scaling(results)
    if single:
        result += [f"**Reproduced in one scaling only** ({len(single)} of {len(found)} sentences):", "",
                   *(f"- {words}" for words in single), ""]
    return result[:-1]


def in_one_scaling(results: Path) -> list[str]:
    """The sentences that are reproduced in one reading only, and in which."""
    single = {one.what for one in targets(results, sentences_only=True) if one.verdict == Verdict.ONE_READING}
    return [f"{one.sentence} ({one.reading})" for one in _claims(results)
            if one.sentence in single and one.verdict == Verdict.REPRODUCED]


def targets(results: Path, sentences_only: bool = False) -> list[Target]:
    """A sentence is reproduced if it is in every scaling that was tried: the paper does not say which one it uses."""
    readings: dict[str, list[Claim]] = {}
    for one in _claims(results):
        readings.setdefault(one.sentence, []).append(one)
    made = []
    for sentence, found in readings.items():
        why = "; ".join((f"{one.reading}: {one.verdict}, " if one.reading else "") + in_words(one.conditions) for one in found)
        made.append(Target(found[0].where, sentence, sentence, "; ".join(one.measured for one in found),
                           of_readings(one.verdict for one in found), why, found[0].study))
    return made if sentences_only else [*made, *_multipliers(), *_lemma()]


def _multipliers() -> list[Target]:
    made = []
    for (name, rows, epsilon), printed in TARGETS.items():
        found = noise_multiplier(batch_size(rows), rows, epsilon, 1e-5)
        made.append(Target("Section 5", f"noise multiplier of DP-SGLD, {name}, ε = {epsilon:g} (computed by other means)",
                           f"{printed:.1f}", f"{found:.1f}", judge_figure(printed, found, 0.0, 0.05 + DISCRETE * printed),
                           f"{figure_in_words(printed, found, 0.0)}: two discretisations of the same composition may differ by "
                           f"{DISCRETE:.0%}", name.lower()))
    return made


def _lemma() -> list[Target]:
    """Two rows x and −x, the second with response 0: their change beside the printed bound, as in the errata."""
    c2, c3, c4 = 0.01, 0.01, 0.7
    printed, change = (2 * (c2 + c4) + c3 + 1) ** 2 / (2 * (c2 + c4)), 4 + c3 + c4
    bound = [Condition(printed - change)]
    return [Target("Lemma 3.5", "Poisson regression: Δ² bounds the change at (c₂, c₃, c₄) = (0.01, 0.01, 0.7), R = 1",
                   f"{printed:.2f}", f"a pair of rows changes by {change:.2f}", judge_sentence(bound), in_words(bound), "growth")]


def _claims(results: Path) -> list[Claim]:
    return [line for part in (_pima_claims, _adult_claims, _synthetic_claims, _growth_claims) for line in part(results)]


def _ks(lines: Sequence[Line], epsilon: str, method: str, scaling: str) -> float:
    return mean(float(line["ks"]) for line in _chosen(lines, (epsilon, method, scaling)))


def by_repeat(lines: Sequence[Line], value: Callable[[Line], float]) -> list[float]:
    """The mean over coefficients for each release: these are independent."""
    repeats = dict.fromkeys(line["repeat"] for line in lines)
    return [mean(value(line) for line in lines if line["repeat"] == repeat) for repeat in repeats]


def _below(lines: Sequence[Line], limit: float, value: Callable[[Line], float], shares: bool = False) -> Condition:
    centre, error, degrees = mean_of(by_repeat(lines, value), len(lines) if shares else 0)
    return Condition(limit - centre, error, degrees)


def _above(lines: Sequence[Line], limit: float, value: Callable[[Line], float], shares: bool = False) -> Condition:
    below = _below(lines, limit, value, shares)
    return Condition(-below.margin, below.error, below.degrees)


def _distance(line: Line) -> float:
    return float(line["ks"])


def _close(lines: Sequence[Line], name: str, epsilon: str) -> list[Claim]:
    """For every scaling with the rows' own deviations: private posteriors are close, DP-SGLD is further off."""
    found, where = [], "Figure 3" if name == "Pima" else "Figure 4"
    for scaling in (scaling for scaling in OWN if any(line["scaling"] == scaling for line in lines)):
        own, theirs = (_chosen(lines, (epsilon, method, scaling)) for method in ("noisewise, paper", "DP-SGLD"))
        ours, prior, sgld = (_ks(lines, epsilon, method, scaling) for method in ("noisewise, paper", "prior, paper", "DP-SGLD"))
        found.append(Claim(f"{name}, ε = {epsilon}: private posteriors are close to the non-private ones",
                           f"rows {scaling}: mean KS distance {ours:.2f}; the prior alone {prior:.2f}",
                           [_below(own, CLOSE, _distance)], where, name.lower(), f"rows {scaling}"))
        both = [_below(one, 0.0, _distance) for one in (own, theirs)]
        further = Condition(both[0].margin - both[1].margin, math.hypot(both[0].error, both[1].error), both[0].degrees)
        found.append(Claim(f"{name}, ε = {epsilon}: DP-SGLD is further off", f"rows {scaling}: {sgld:.2f} against {ours:.2f}",
                           [further], where, name.lower(), f"rows {scaling}"))
    return found


def _pima_claims(results: Path) -> list[Claim]:
    lines = lines_of(results, "pima.csv")
    found = [claim for epsilon in dict.fromkeys(line["epsilon"] for line in lines) for claim in _close(lines, "Pima", epsilon)]
    for scaling in OWN:
        clear = [line for line in _chosen(lines, ("0.3", "noisewise, paper", scaling)) if not holds_zero(line, "exact_")]
        if clear:
            share = mean(_same_sign(line) for line in clear)
            found.append(Claim("Pima, ε = 0.3: clear effects are just missed",
                               f"rows {scaling}: intervals without zero in {share:.0%} of the cases",
                               [_below(clear, 0.5, _same_sign, shares=True)], "Figure 3", "pima", f"rows {scaling}"))
    return found


def _adult_claims(results: Path) -> list[Claim]:
    lines = lines_of(results, "adult.csv")
    found = _close(lines, "Adult", "0.1")
    for scaling in OWN:
        ours, sgld = (_chosen(lines, ("0.1", method, scaling)) for method in ("noisewise, paper", "DP-SGLD"))
        if not ours:
            continue
        found += [Claim("Adult, ε = 0.1: significance is exactly that without privacy",
                        f"rows {scaling}: the same for {mean(_agrees(line) for line in ours):.0%} of the coefficients",
                        [_above(ours, 0.95, _agrees, shares=True)], "Figure 4", "adult", f"rows {scaling}"),
                  Claim("Adult: DP-SGLD overestimates the uncertainty",
                        f"rows {scaling}: its sd is {mean(map(_wider, sgld)):.1f} times that of the rows",
                        [_above(sgld, 1.5, _wider)], "Figure 4", "adult", f"rows {scaling}")]
    return found


def _agrees(line: Line) -> bool:
    return holds_zero(line) == holds_zero(line, "exact_") and (holds_zero(line) or _same_sign(line))


def _wider(line: Line) -> float:
    return float(line["sd"]) / float(line["exact_sd"])


def _synthetic_claims(results: Path) -> list[Claim]:
    lines = lines_of(results, "synthetic.csv")
    if not lines:
        return []
    epsilons = sorted({float(line["epsilon"]) for line in lines} - {0.0})
    at = {epsilon: [line for line in lines if float(line["epsilon"]) == epsilon and line["repeat"] != "all"]
          for epsilon in epsilons}
    pooled = {epsilon: mean(float(line["ks"]) for line in lines if float(line["epsilon"]) == epsilon and line["repeat"] == "all")
              for epsilon in epsilons}
    found = {epsilon: mean_of(by_repeat(mine, _distance)) for epsilon, mine in at.items()}
    single = {epsilon: value[0] for epsilon, value in found.items()}
    first, last = epsilons[1], epsilons[-1]
    rises = [single[b] - single[a] for a, b in pairwise(epsilons)]
    # A trend: it falls from the first to the last, and no step rises beyond chance; an open step is no evidence against it.
    fall = Condition(single[epsilons[0]] - single[last], math.hypot(found[epsilons[0]][1], found[last][1]), found[last][2])
    steps = [Condition(-rise, math.hypot(found[a][1], found[b][1]), found[a][2])
             for rise, (a, b) in zip(rises, pairwise(epsilons), strict=True)]
    return [Claim('Synthetic: KS distances have "a general non-increasing trend" in ε',
                  f"{single[epsilons[0]]:.2f} at ε = {epsilons[0]:g}, {single[first]:.2f} at {first:.2f}, {single[last]:.2f} at "
                  f"{last:g}; up in {sum(rise > 0 for rise in rises)} of {len(rises)} steps, by {max(0.0, *rises):.2f} at most",
                  [fall, *(step for step in steps if step.fails)], "Figure 5", "synthetic"),
            Claim("Synthetic: CDFs are almost overlapping for ε > 0.1",
                  f"at ε = {first:.2f}: {single[first]:.2f} for one release, {pooled[first]:.2f} for all together",
                  [Condition(CLOSE - pooled[first], found[first][1], found[first][2])],
                  "Figure 5", "synthetic")]


def _growth_claims(results: Path) -> list[Claim]:
    lines = lines_of(results, "growth.csv")
    if not lines:
        return []
    largest = max(float(line["norm"]) for line in lines)
    here = {method: [line for line in lines if float(line["norm"]) == largest and line["method"] == method]
            for method in ("Taylor", "quadrature")}
    covers = {method: mean(float(line["coverage"]) for line in found) for method, found in here.items()}
    tables = int(here["Taylor"][0]["repeats"])
    shrunk = (covers["Taylor"] * tables + 1) / (tables + 2)
    return [Claim("Accuracy decreases sharply for ‖θ‖ ≥ 3 (Taylor series)", f"at ‖θ‖ = {largest:g} the paper's model says "
                  f"{float(here['Taylor'][0]['length']):.1f} and its intervals cover {covers['Taylor']:.0%}; without the series "
                  f"{float(here['quadrature'][0]['length']):.1f} and {covers['quadrature']:.0%}",
                  [Condition(0.5 - covers["Taylor"], math.sqrt(shrunk * (1 - shrunk) / tables))], "Section 5", "growth")]


PIECES: Final = {piece.__name__: piece for piece in (
    claims, not_reproduced, convergence, pima_distances, pima_widths, pima_picture, adult_distances, adult_widths, adult_picture,
    synthetic, growth, multipliers, visits, visits_verdict, visits_codings)}
