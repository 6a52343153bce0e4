"""What ``studies.paper_004_hypotheses`` found, as pieces of the page of paper 004."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from scipy.stats import chi2

from studies.page import table
from studies.paper_004_hypotheses import LARGEST_RATIO, LEVELS
from studies.workers import read

Line = dict[str, str]

NAMES: Final = {"gender": "H11, gender", "read": "H12, read"}
ERRORS_ALLOWED: Final = 3.0
"""Standard errors within which an observed share agrees with a level: of a hundred shares one is expected at 2.6."""
KINDS: Final = {"free": "calibrated", "censored": "censored", "at_critical": "at or above the censored critical value",
                "chi_squared": "parts taken for large", "uncalibrated": "uncalibrated"}
QUARTILES: Final = ("quartile_1", "median", "quartile_3")
YES, NO = "yes", "**no**"
MOST: Final = 0.5
"""More than this share of releases is most of the time."""


def hypotheses_exact(results: Path) -> list[str]:
    """Without parts and noise, beside what the paper prints."""
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
        f"- Section 3, Example 1 without privacy: P(H11|D) = {float(exact['gender']['probability']):.4f}, log Bayes factor of "
        f"H12 {float(exact['read']['log_bayes_factor']):.2f}; M = 10 without noise, median over splits "
        f"{medians['gender', '10']:.2f} and {medians['read', '10']:.2f} (printed ≈ 0.25 and ≈ 0.70).",
        f"- Section 3.2: of {len(shares)} shares of wrong rejections by calibrated tests (M = 2, 5, 10; levels 0.05 and 0.01), "
        f"{good} are within {ERRORS_ALLOWED:g} standard errors of their level (the farthest is {worst[0]:.4f} at {worst[1]:g}). "
        f"Uncalibrated tests at 0.05 have errors from {min(plain):.3f} to {max(plain):.3f}; calibrated ones that take parts of "
        f"20 to 100 rows for large, {min(large):.3f} to {max(large):.3f}.",
        f"- A calibrated test of the *censored* statistic can never reject in {never} of {len(shares)} cases, because more than "
        "the level is censored to one value. Do not censor before a test.",
    ]


def hypotheses_sentences(results: Path) -> list[str]:
    """What the paper says of its Figures 1 and 2, beside what we find."""
    return table(["the paper says", "where", "here", "reproduced"], [*_said_of_figure_1(results), *_said_of_figure_2(results)])


def _said_of_figure_1(results: Path) -> list[list[str]]:
    exact = {line["hypothesis"]: float(line["probability"]) for line in _lines(results, "exact")}
    lines = _lines(results, "figure_1")
    at = {(line["hypothesis"], int(line["parts"]), float(line["epsilon"])): line for line in lines}
    parts, epsilons = sorted({key[1] for key in at}), sorted({key[2] for key in at})
    middle = {key: float(line["median"]) for key, line in at.items()}
    width = {key: float(line["quartile_3"]) - float(line["quartile_1"]) for key, line in at.items()}
    rows = []
    for hypothesis, said in (("gender", 0.25), ("read", 0.70)):
        found = middle[hypothesis, 10, math.inf]
        rows.append([f"M = 10, large ε: P\\*({NAMES[hypothesis]}) ≈ {said:.2f}", "Example 1", f"{found:.3f}",
                     YES if abs(found - said) < 0.03 else NO])
    less = [width[h, m, after] <= width[h, m, before] for h in NAMES for m in parts for before, after in pairwise(epsilons)]
    noisy = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    more = {h: [width[h, after, e] <= width[h, before, e] for e in noisy for before, after in pairwise(parts)] for h in NAMES}
    rows.append(["Increasing ε reduces the variability", "Figure 1", f"quartiles come closer in {sum(less)} of {len(less)} steps",
                 _verdict(less)])
    rows.append(["Increasing M reduces the variability", "Figure 1",
                 "; ".join(f"{NAMES[h]}: quartiles come closer in {sum(held)} of {len(held)} steps" for h, held in more.items()),
                 _verdict([one for held in more.values() for one in held])])
    order = [abs(middle[h, before, math.inf] - exact[h]) < abs(middle[h, after, math.inf] - exact[h]) for h in NAMES
             for before, after in pairwise(parts)]
    rows.append(["The smaller M, the closer to P(H\\|D) as ε grows; larger M shrinks towards 0.5", "Figure 1",
                 "medians without noise " + "; ".join(f"{NAMES[h]} " + ", ".join(f"{middle[h, m, math.inf]:.2f}" for m in parts)
                                                     for h in NAMES), _verdict(order)])
    apart = max(abs(float(line[name]) - float(line[f"censored_{name}"])) for line in lines
                for name in QUARTILES)
    rows.append(["Results with the censored B\\*ᶜ are essentially identical", "Example 1",
                 f"quartiles differ by {apart:.3f} at most", YES if apart < 0.05 else NO])
    return rows


def _said_of_figure_2(results: Path) -> list[list[str]]:
    lines = _lines(results, "figure_2")
    rows = []
    for variance in ("printed", "right"):
        mine = [line for line in lines if line["variance"] == variance]
        place = f"Figure 2, {variance} variance"
        two = [float(line["negative"]) for line in mine if (line["hypothesis"], line["parts"]) == ("gender", "2")]
        rows.append(["H11, M = 2: without censoring 2 log Λ\\* is negative with high probability", place,
                     f"with probability {min(two):.2f} to {max(two):.2f}", _verdict([value > 0.25 for value in two])])
        small = [line for line in mine if float(line["delta"]) <= 0.01 and line["parts"] in ("2", "5")]
        above = [float(line[f"critical_censored_{level}"]) > chi2.ppf(1 - level, 1) for line in small for level in LEVELS]
        rows.append(["Small δ, M = 2 and 5: calibrated critical values are larger than uncalibrated", place,
                     f"in {sum(above)} of {len(above)} cases (δ ≤ 0.01)", _verdict(above)])
        large = [line for line in mine if float(line["delta"]) >= 0.25 and line["parts"] == "10"]
        below = [float(line[f"critical_censored_{level}"]) < chi2.ppf(1 - level, 1) for line in large for level in LEVELS]
        rows.append(["Larger δ, M = 10: they are lower", place, f"in {sum(below)} of {len(below)} cases (δ ≥ 0.25)",
                     _verdict(below)])
        first = [float(line[f"rejected_{kind}_{level}"]) for line in mine if line["hypothesis"] == "gender" for level in LEVELS
                 for kind in ("censored", "free")]
        rows.append(["2 log Λ₁\\*ᶜ is generally below the calibrated critical values", place,
                     f"rejected in {max(first):.1%} at most", _verdict([value < 0.1 for value in first])])
        chosen = [line for line in mine if line["hypothesis"] == "read" and float(line["delta"]) >= 0.25 and line["parts"] != "2"]
        second = {kind: [float(line[f"rejected_{kind}_{level}"]) for line in chosen for level in LEVELS]
                  for kind in ("censored", "free")}
        rows.append(["H12: calibrated tests reject most of the time for M > 2 and δ ≥ 0.25", place,
                     f"in {min(second['free']):.0%} to {max(second['free']):.0%}, censored {min(second['censored']):.0%} to "
                     f"{max(second['censored']):.0%}", _verdict([value > MOST for value in second["free"]])])
        stuck = [float(line[f"critical_censored_{level}"]) >= LARGEST_RATIO for line in mine for level in LEVELS]
        rows.append(["(not said) the calibrated critical value is U itself: no censored test of this level", place,
                     f"in {sum(stuck)} of {len(stuck)} cases", ""])
    return rows


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


def _verdict(held: Sequence[bool]) -> str:
    return YES if all(held) else NO if not any(held) else "**partly**"
