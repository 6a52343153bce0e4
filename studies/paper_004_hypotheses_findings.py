"""The results of ``studies.paper_004_hypotheses`` as pieces of the page of paper 004."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from scipy.stats import chi2

from studies.page import measured, table
from studies.paper_004_hypotheses import LARGEST_RATIO, LEVELS
from studies.verdicts import (
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

Line = dict[str, str]

NAMES: Final = {"gender": "H11, gender", "read": "H12, read"}
ERRORS_ALLOWED: Final = 3.0
"""Standard errors within which an observed share agrees with a level: of a hundred shares one is expected at 2.6."""
KINDS: Final = {"free": "calibrated", "censored": "censored", "at_critical": "at or above the censored critical value",
                "chi_squared": "parts treated as large", "uncalibrated": "uncalibrated"}
QUARTILES: Final = ("quartile_1", "median", "quartile_3")
STUDY: Final = "example-1"
VARIANCES: Final = ("printed", "right")
MOST, HIGH_PROBABILITY, RARELY, IDENTICAL = 0.5, 0.25, 0.1, 0.05
"""Most of the time is more than the first share of releases, a high probability more than the second, generally not less than the
third; quartiles nearer than the fourth are identical. These limits are ours."""
NORMAL_QUARTILES: Final = 1.349
"""Between the quartiles of a normal distribution, in standard deviations."""
ERROR_OF_WIDTH: Final = 1.17
"""The standard error of the distance of a normal sample's quartiles: this times the distance over the root of the sample size."""


def hypotheses_exact(results: Path) -> list[str]:
    """The results without parts and noise, and what the paper prints."""
    printed = {"gender": "≈ 0.07", "read": "≈ 0.99 (the censoring limit)"}
    body = [[NAMES[line["hypothesis"]], printed[line["hypothesis"]], f"{float(line['probability']):.4f}",
             f"{float(line['log_bayes_factor']):.2f}", f"{float(line['likelihood_ratio']):.3f}"]
            for line in _lines(results, "exact")]
    return table(["hypothesis", "P(H\\|D), printed", "here", "log Bayes factor", "2 log Λ"], body)


def hypotheses_figure_1(results: Path) -> list[str]:
    """First quartile / median / third quartile of P*(H|D)."""
    lines = _lines(results, "figure_1")
    epsilons = list(dict.fromkeys(line["epsilon"] for line in lines))
    body = []
    for hypothesis, parts in dict.fromkeys((line["hypothesis"], line["parts"]) for line in lines):
        mine = {line["epsilon"]: line for line in lines if (line["hypothesis"], line["parts"]) == (hypothesis, parts)}
        body.append([NAMES[hypothesis], parts, *(_quartiles(mine[epsilon]) for epsilon in epsilons)])
    return table(["hypothesis", "M", *(_epsilon(epsilon) for epsilon in epsilons)], body)


def hypotheses_releases(results: Path) -> list[str]:
    lines = _lines(results, "releases")
    figure = _lines(results, "figure_1")
    found = []
    for line in lines:
        same = next(one for one in figure if all(one[name] == line[name] for name in ("hypothesis", "parts", "epsilon")))
        found.append(f"{NAMES[line['hypothesis']]}: {_quartiles(line)} from {line['releases']} releases, {_quartiles(same)} from "
                     "the simulation")
    return [f"Whole releases by `noisewise.release`, with their own splits and noise, M = {lines[0]['parts']}, ε = "
            f"{float(lines[0]['epsilon']):g}: {'; '.join(found)}."]


def hypotheses_figure_2(results: Path) -> list[str]:
    """The censored 2 log Λ*, critical values, and how often the test rejects."""
    body = []
    for line in _lines(results, "figure_2"):
        body.append([NAMES[line["hypothesis"]], line["parts"], f"{float(line['delta']):g}", line["variance"],
                     f"{float(line['sd']):.2f}", _quartiles(line),
                     *(_critical(line, level) for level in LEVELS), *(_rejected(line, level) for level in LEVELS)])
    uncalibrated = " and ".join(f"{chi2.ppf(1 - level, 1):.2f}" for level in LEVELS)
    head = ["hypothesis", "M", "δ", "variance", "sd of the noise", "quartiles",
            *(f"{what} {level:g}" for what in ("critical", "rejected") for level in LEVELS)]
    return [*table(head, body), "",
            f"Critical values: censored / not censored; uncalibrated ones are {uncalibrated} (chi-squared). Rejected: the share "
            "of releases of this table in which the calibrated test rejects, censored / not censored."]


def hypotheses_errors(results: Path) -> list[str]:
    """Shares of rejections of true null hypotheses by likelihood ratios."""
    return _error_table([line for line in _lines(results, "errors") if line["question"] == "likelihood-ratio"], KINDS)


def hypotheses_other_errors(results: Path) -> list[str]:
    """The same for the other questions, which have no uncalibrated critical values."""
    mine = [line for line in _lines(results, "errors") if line["question"] != "likelihood-ratio"]
    return _error_table(mine, {kind: KINDS[kind] for kind in ("free", "censored")})


def _error_table(lines: Sequence[Line], kinds: Mapping[str, str]) -> list[str]:
    body = [[NAMES[line["hypothesis"]], line["question"], line["parts"], line["noise"],
             *(_share(line[f"{kind}_{level}"], level, int(line["tables"])) for level in LEVELS for kind in kinds)]
            for line in lines]
    return table(["hypothesis", "question", "M", "noise", *(f"{level:g}: {kind}" for level in LEVELS for kind in kinds.values())],
                 body)


def hypotheses_summary(results: Path) -> list[str]:
    exact = {line["hypothesis"]: line for line in _lines(results, "exact")}
    medians = {(line["hypothesis"], line["parts"]): float(line["median"]) for line in _lines(results, "figure_1")
               if math.isinf(float(line["epsilon"]))}
    lines = _lines(results, "errors")
    shares = [(float(line[f"free_{level}"]), level, int(line["tables"])) for line in lines for level in LEVELS]
    good = sum(_within(share, level, tables) for share, level, tables in shares)
    worst = max(shares, key=lambda one: abs(one[0] - one[1]) / _error(one[1], one[2]))
    ratios = [line for line in lines if line["question"] == "likelihood-ratio"]
    plain, large = ([float(line[f"{name}_0.05"]) for line in ratios] for name in ("uncalibrated", "chi_squared"))
    never = sum(float(line[f"censored_{level}"]) == 0 for line in lines for level in LEVELS)
    return [
        f"- Section 3, Example 1 without privacy: P(H11|D) = {float(exact['gender']['probability']):.4f}, and the log Bayes "
        f"factor of H12 is {float(exact['read']['log_bayes_factor']):.2f}. With M = 10 and no noise, the medians over splits are "
        f"{medians['gender', '10']:.2f} and {medians['read', '10']:.2f} (printed ≈ 0.25 and ≈ 0.70).",
        "- Section 3.2: calibrated tests (M = 2, 5, 10; levels 0.05 and 0.01) reject a true hypothesis as often as they should: "
        f"of {len(shares)} shares {good} are within {ERRORS_ALLOWED:g} standard errors of their level (the farthest is "
        f"{worst[0]:.4f} at {worst[1]:g}). Uncalibrated tests at 0.05 reject in shares from {min(plain):.3f} to "
        f"{max(plain):.3f}, calibrated ones that treat parts of 20 to 100 rows as large in {min(large):.3f} to {max(large):.3f}.",
        f"- A calibrated test of the *censored* statistic can never reject in {never} of {len(shares)} cases, because more of "
        "the null distribution than the level is censored to one value. Do not censor before a test.",
    ]


@dataclass(frozen=True)
class Said:
    """A sentence of the paper and its place, what we find, and what decides."""

    text: str
    where: str
    found: str
    conditions: list[Condition]


def hypotheses_sentences(results: Path) -> list[str]:
    """What the paper says of its Figures 1 and 2, beside what we find."""
    body = [[one.what, one.where, one.measured, str(one.verdict)] for one in _approximate(results)]
    body += [[one.text, one.where, one.found, str(judge_sentence(one.conditions))] for one in _said_of_figure_1(results)]
    body += [[one.text, f"{one.where}, {variance} variance", one.found,
              str(judge_sentence(one.conditions)) if one.conditions else ""]
             for variance in VARIANCES for one in _said_of_figure_2(results, variance)]
    return table(["the paper says", "where", "here", "verdict"], [
        [text.replace("|", "\\|"), where, found, verdict if verdict in ("", Verdict.REPRODUCED) else f"**{verdict}**"]
        for text, where, found, verdict in body])


def targets(results: Path) -> list[Target]:
    """Sentences on Figure 2 are judged with the right variance of the noise, and again with the printed one."""
    if not (results / "hypotheses_exact.csv").exists():
        return []
    made = [*_exact(results), *_approximate(results)]
    made += [Target(one.where, one.text, one.text, one.found, judge_sentence(one.conditions), in_words(one.conditions), STUDY)
             for one in _said_of_figure_1(results)]
    pairs = zip(*(_said_of_figure_2(results, variance) for variance in VARIANCES), strict=True)
    for right, printed in ((right, printed) for printed, right in pairs if right.conditions):
        verdict = with_the_error(judge_sentence(right.conditions), judge_sentence(printed.conditions))
        made.append(Target(right.where, right.text, right.text, f"right variance: {right.found}; printed: {printed.found}",
                           verdict, f"right variance: {in_words(right.conditions)}; printed: {in_words(printed.conditions)}",
                           STUDY))
    return made


def _exact(results: Path) -> list[Target]:
    """Without parts and noise: what the paper prints, and what was computed by other means; no chance is involved."""
    exact = {line["hypothesis"]: line for line in _lines(results, "exact")}
    rows = [("P(H11|D)", "≈ 0.07", 0.07, float(exact["gender"]["probability"]), 0.005),
            ("P(H12|D), censored at 0.99", "≈ 0.99", 0.99, min(float(exact["read"]["probability"]), 0.99), 0.005),
            ("P(H11|D), computed by other means", "0.0713", 0.0713, float(exact["gender"]["probability"]), 0.00005),
            ("log Bayes factor of H12, computed by other means", "18.48", 18.48, float(exact["read"]["log_bayes_factor"]), 0.005),
            ("2 log Λ of H11, computed by other means", "0.172", 0.172, float(exact["gender"]["likelihood_ratio"]), 0.0005),
            ("2 log Λ of H12, computed by other means", "42.9", 42.9, float(exact["read"]["likelihood_ratio"]), 0.05)]
    return [Target("Example 1", what, said, f"{found:.5g}", judge_figure(printed, found, 0.0, rounding),
                   "no chance involved; equal to the digits that are printed" if abs(printed - found) <= rounding else
                   "no chance involved", STUDY) for what, said, printed, found, rounding in rows]


def _approximate(results: Path) -> list[Target]:
    """M = 10 without noise. The paper keeps the data fixed and draws noise only: its split is one, with the chance of splits."""
    at = {(line["hypothesis"], line["parts"], float(line["epsilon"])): line for line in _lines(results, "figure_1")}
    made = []
    for hypothesis, printed in (("gender", 0.25), ("read", 0.70)):
        line = at[hypothesis, "10", math.inf]
        found, error = float(line["median"]), _width(line) / NORMAL_QUARTILES
        made.append(Target("Example 1", f"M = 10, large ε: P*({NAMES[hypothesis]}|D)", f"≈ {printed:.2f}",
                           f"{found:.3f}, the median over splits", judge_figure(printed, found, error, 0.005),
                           figure_in_words(printed, found, error) + " (the scatter of splits, of which the paper has one)", STUDY,
                           (printed, found, error)))
    return made


def _width(line: Line) -> float:
    return float(line["quartile_3"]) - float(line["quartile_1"])


def _count(results: Path, name: str = "splits") -> float:
    """Of independent splits; noise is drawn more often, which is not counted."""
    return float(measured(results, STUDY).get("settings", {}).get(name, math.nan))


def _said_of_figure_1(results: Path) -> list[Said]:
    exact = {line["hypothesis"]: float(line["probability"]) for line in _lines(results, "exact")}
    lines, root = _lines(results, "figure_1"), math.sqrt(_count(results))
    at = {(line["hypothesis"], int(line["parts"]), float(line["epsilon"])): line for line in lines}
    parts, epsilons = sorted({key[1] for key in at}), sorted({key[2] for key in at})
    middle = {key: float(line["median"]) for key, line in at.items()}
    width = {key: _width(line) for key, line in at.items()}

    def narrower(before: tuple[str, int, float], after: tuple[str, int, float]) -> Condition:
        """The standard error of a distance of quartiles is near that of a normal distribution."""
        return Condition(width[before] - width[after], ERROR_OF_WIDTH * math.hypot(width[before], width[after]) / root)

    def nearer(hypothesis: str, before: int, after: int) -> Condition:
        keys = [(hypothesis, number, math.inf) for number in (before, after)]
        away = [abs(middle[key] - exact[hypothesis]) for key in keys]
        return Condition(away[1] - away[0], math.hypot(*(width[key] for key in keys)) / root)

    less = [narrower((h, m, before), (h, m, after)) for h in NAMES for m in parts for before, after in pairwise(epsilons)]
    noisy = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    more = {h: [narrower((h, before, e), (h, after, e)) for e in noisy for before, after in pairwise(parts)] for h in NAMES}
    order = [nearer(h, *pair) for h in NAMES for pair in pairwise(parts)]
    apart = max(abs(float(line[name]) - float(line[f"censored_{name}"])) for line in lines for name in QUARTILES)
    return [
        Said("Increasing ε reduces the variability", "Figure 1",
             f"quartiles come closer in {_positive(less)} of {len(less)} steps", less),
        Said("Increasing M reduces the variability", "Figure 1",
             "; ".join(f"{NAMES[h]}: quartiles come closer in {_positive(held)} of {len(held)} steps"
                       for h, held in more.items()),
             [one for held in more.values() for one in held]),
        Said("The smaller M, the closer to P(H|D) as ε grows; larger M shrinks towards 0.5", "Figure 1",
             "medians without noise " + "; ".join(f"{NAMES[h]} " + ", ".join(f"{middle[h, m, math.inf]:.2f}" for m in parts)
                                                  for h in NAMES), order),
        Said("Results with the censored B*ᶜ are essentially identical", "Example 1", f"quartiles differ by {apart:.3f} at most",
             [Condition(IDENTICAL - apart)]),
    ]


def _positive(conditions: Sequence[Condition]) -> int:
    return sum(one.margin > 0 for one in conditions)


def _said_of_figure_2(results: Path, variance: str) -> list[Said]:
    mine, splits = [line for line in _lines(results, "figure_2") if line["variance"] == variance], _count(results)

    def above(share: float, limit: float) -> Condition:
        shrunk = (share * splits + 1) / (splits + 2)
        return Condition(share - limit, math.sqrt(shrunk * (1 - shrunk) / splits))

    def below(share: float, limit: float) -> Condition:
        return above(1 - share, 1 - limit)

    def critical(lines: Sequence[Line], sign: float) -> list[Condition]:
        """Calibrated critical values, from so many draws that their chance is not counted, less uncalibrated ones."""
        return [Condition(sign * (float(line[f"critical_censored_{level}"]) - float(chi2.ppf(1 - level, 1))))
                for line in lines for level in LEVELS]

    two = [float(line["negative"]) for line in mine if (line["hypothesis"], line["parts"]) == ("gender", "2")]
    larger = critical([line for line in mine if float(line["delta"]) <= 0.01 and line["parts"] in ("2", "5")], 1.0)
    lower = critical([line for line in mine if float(line["delta"]) >= 0.25 and line["parts"] == "10"], -1.0)
    first = [float(line[f"rejected_{kind}_{level}"]) for line in mine if line["hypothesis"] == "gender" for level in LEVELS
             for kind in ("censored", "free")]
    chosen = [line for line in mine if line["hypothesis"] == "read" and float(line["delta"]) >= 0.25 and line["parts"] != "2"]
    second = {kind: [float(line[f"rejected_{kind}_{level}"]) for line in chosen for level in LEVELS]
              for kind in ("censored", "free")}
    stuck = [float(line[f"critical_censored_{level}"]) >= LARGEST_RATIO for line in mine for level in LEVELS]
    return [
        Said("H11, M = 2: without censoring 2 log Λ* is negative with high probability", "Figure 2",
             f"with probability {min(two):.2f} to {max(two):.2f}", [above(value, HIGH_PROBABILITY) for value in two]),
        Said("Small δ, M = 2 and 5: calibrated critical values are larger than uncalibrated", "Figure 2",
             f"in {_positive(larger)} of {len(larger)} cases (δ ≤ 0.01)", larger),
        Said("Larger δ, M = 10: they are lower", "Figure 2", f"in {_positive(lower)} of {len(lower)} cases (δ ≥ 0.25)", lower),
        Said("2 log Λ₁*ᶜ is generally below the calibrated critical values", "Figure 2", f"rejected in {max(first):.1%} at most",
             [below(value, RARELY) for value in first]),
        Said("H12: calibrated tests reject most of the time for M > 2 and δ ≥ 0.25", "Figure 2",
             f"in {min(second['free']):.0%} to {max(second['free']):.0%}, censored {min(second['censored']):.0%} to "
             f"{max(second['censored']):.0%}", [above(value, MOST) for value in second["free"]]),
        Said("(not said) the calibrated critical value is U itself: no censored test of this level", "Figure 2",
             f"in {sum(stuck)} of {len(stuck)} cases", []),
    ]


def _lines(results: Path, name: str) -> list[Line]:
    return read(results / f"hypotheses_{name}.csv")


def _quartiles(line: Line) -> str:
    return " / ".join(f"{float(line[name]):.2f}" for name in QUARTILES)


def _critical(line: Line, level: float) -> str:
    return f"{float(line[f'critical_censored_{level}']):.2f} / {float(line[f'critical_free_{level}']):.2f}"


def _rejected(line: Line, level: float) -> str:
    return f"{float(line[f'rejected_censored_{level}']):.2f} / {float(line[f'rejected_free_{level}']):.2f}"


def _error(level: float, tables: int) -> float:
    return math.sqrt(level * (1 - level) / tables)


def _within(share: float, level: float, tables: int) -> bool:
    return abs(share - level) <= ERRORS_ALLOWED * _error(level, tables)


def _share(text: str, level: float, tables: int) -> str:
    """Bold if it is too often."""
    if not text:
        return "–"
    found = f"{float(text):.4f}"
    return f"**{found}**" if float(text) > level + ERRORS_ALLOWED * _error(level, tables) else found


def _epsilon(text: str) -> str:
    return "no noise" if math.isinf(float(text)) else f"ε = {float(text):g}"
