"""The results of ``studies.paper_000`` as a page of the documentation.

    python -m studies.reproduce 000 --page

The text is in ``studies/paper_000_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from studies import page
from studies.page import table
from studies.paper_000_boxes import FISHER, HALF, QUARTILES, RN, STOUFFER, TRUTH, Boxes, Key, boxes_of
from studies.paper_000_methods import FLAT, OWN, SLOPE, VERSIONS, WHOLE, fisher_reference, printed_reference
from studies.paper_000_sentences import least, not_reproduced, sentences
from studies.paper_000_sentences import targets as targets
from studies.workers import read

Line = dict[str, str]
Piece = Callable[[Path], list[str]]

RESULTS: Final = page.RESULTS / "paper_000"
SHOWN: Final = {RN: "rescaled-normal", FISHER: "Fisher", STOUFFER: "Stouffer", "nothing": "", "whole table": ""}


def in_short(results: Path) -> list[str]:
    """The main findings with their numbers."""
    boxes = boxes_of(results)
    small, most, largest = boxes.rows[0], boxes.parts[-1], boxes.rows[-1]
    claimed = min(boxes.epsilons)
    true = {version.combine: version.true_epsilon(most, claimed) for version in VERSIONS if version.name == "as printed"}
    recovered = {rule: _recovered(results, rule) for rule in ("root of M", "root of 2M - 1")}
    medians = [boxes.at(small, most, math.inf, key, "median") for key in ((RN, "as printed"), (RN, "corrected"), TRUTH)]
    best = ", ".join(f"{least(boxes, rows, claimed, [most]):.2f} (n = {rows:,})" for rows in boxes.rows)
    half = [boxes.error(rows, most, claimed, HALF) for rows in (small, largest)]
    return [
        f"- **Two mechanisms are not private as printed.** At a claimed ε of {claimed:g} and M = {most}, the noise of "
        f"rescaled-normal has a true ε of {true[RN]:.3g}, that of Fisher {true[FISHER]:.3g} "
        "([why](#what-the-printed-noise-guarantees)).",
        "- **The preference for the Fisher method rests on this error.** With valid noise it "
        "[reverses](#fisher-or-rescaled-normal).",
        f"- **The factor √M is too small.** Of 1.5 standard deviations it recovers {recovered['root of M']}. The factor "
        f"√(2M − 1) recovers {recovered['root of 2M - 1']} ([why](#the-factor)).",
        f"- **The failure at n = {small:,} and M = {most} comes from the prior in the parts,** not from their size. Without "
        f"noise the median at b = β is {medians[0]:.2f} as printed, {medians[1]:.2f} [corrected](#the-prior-in-the-parts), and "
        f"{medians[2]:.2f} for the whole table.",
        f"- At ε = {claimed:g} and M = {most} the best private version has errors of {best}. Always saying 1/2 has "
        f"errors of {half[0]:.2f} to {half[1]:.2f}. Noise falls as 1/(Mε), so use more parts at small ε.",
    ]


def _recovered(results: Path, rule: str) -> str:
    """The smallest and the largest mean score at 1.5 standard deviations, over n and M."""
    lines = [line for line in read(results / "scores.csv") if (line["prior"], line["combine"], line["rule"]) == (WHOLE, RN, rule)]
    cells = dict.fromkeys((line["rows"], line["parts"]) for line in lines)
    found = [_outward([line for line in lines if (line["rows"], line["parts"]) == cell], "score") for cell in cells]
    return f"{min(found):.2f} to {max(found):.2f}"


def errors(results: Path) -> list[str]:
    """Mean absolute error over the 22 b of the figures; the smallest among the private methods is bold."""
    boxes = boxes_of(results)
    keys = [(version.combine, version.name) for version in VERSIONS] + [HALF]
    body = []
    for rows in boxes.rows:
        for epsilon in boxes.epsilons:
            for parts in boxes.parts:
                found = {key: boxes.error(rows, parts, epsilon, key) for key in keys}
                private = [key for key in keys if math.isinf(epsilon) or key[1] != "as printed"]
                best = min(f"{found[key]:.3f}" for key in private)
                body.append([f"{rows:,}", _number(epsilon), str(parts),
                             *(_bold(f"{found[key]:.3f}", key in private and f"{found[key]:.3f}" == best) for key in keys)])
    return table(["n", "ε", "M", *(f"{SHOWN[key[0]]} {key[1]}".strip() for key in keys)], body)


def reversal(results: Path) -> list[str]:
    """Fisher against rescaled-normal, as the paper compares them and with noise that keeps the promise."""
    boxes = boxes_of(results)
    body, counts = [], {name: [0, 0] for name in ("as printed", "valid noise", "corrected")}
    for rows in boxes.rows:
        for epsilon in (epsilon for epsilon in boxes.epsilons if math.isfinite(epsilon)):
            for parts in boxes.parts:
                pairs = {name: (boxes.error(rows, parts, epsilon, (FISHER, name)),
                                boxes.error(rows, parts, epsilon, (RN, name.replace("as printed", "valid noise"))))
                         for name in counts}
                half = boxes.error(rows, parts, epsilon, HALF)
                cells = []
                for name, (fisher, normal) in pairs.items():
                    useful = min(fisher, normal) < half
                    counts[name][0] += useful and fisher < normal
                    counts[name][1] += useful
                    cells.append(f"{fisher:.3f} / {normal:.3f} " + ("neither" if not useful else "Fisher" if fisher < normal
                                                                    else "**rescaled-normal**"))
                body.append([f"{rows:,}", _number(epsilon), str(parts), *cells])
    head = ["n", "ε", "M", "Fisher as printed, NOT PRIVATE / rescaled-normal", "both with valid noise", "both corrected"]
    last = ["", *(f"- {what}: Fisher has the smaller error in {counts[name][0]} of {counts[name][1]} settings where at least "
                  "one of the two is better than saying 1/2." for name, what in (
                      ("as printed", "As the paper compares them"), ("valid noise", "With valid noise for both"),
                      ("corrected", "With the right prior and factor too")))]
    return table(head, body) + last


def factor(results: Path) -> list[str]:
    """Scores at b = β ± 1.5 standard deviations, with the whole table's prior: only the factor differs."""
    lines = [line for line in read(results / "scores.csv") if line["prior"] == WHOLE]
    names = list(dict.fromkeys((line["combine"], line["rule"]) for line in lines))
    body = []
    for rows, parts in dict.fromkeys((line["rows"], line["parts"]) for line in lines):
        mine = [line for line in lines if (line["rows"], line["parts"]) == (rows, parts)]
        body.append([f"{int(rows):,}", parts, f"{_outward(mine, 'whole'):.2f}",
                     *(_score(mine, name) for name in names)])
    labels = {("rescaled-normal", "root of M"): "√M, printed", ("rescaled-normal", "root of 2M - 1"): "√(2M − 1)"}
    return table(["n", "M", "whole table", *(labels.get(name, f"{SHOWN[name[0]]}, {name[1]}") for name in names)], body)


def _score(lines: Sequence[Line], name: Key) -> str:
    mine = [line for line in lines if (line["combine"], line["rule"]) == name]
    error = math.sqrt(sum(float(line["se"]) ** 2 for line in mine)) / len(mine)
    return f"{_outward(mine, 'score'):.2f} ({_outward(mine, 'difference'):+.3f} ± {error:.3f})"


def _outward(lines: Sequence[Line], name: str) -> float:
    """The mean over both sides, away from the centre counted as positive."""
    return float(np.mean([math.copysign(1.0, float(line["at"])) * float(line[name]) for line in lines]))


def priors(results: Path) -> list[str]:
    """How far the prior of the parts moves the combined score, in standard deviations of the whole table's posterior."""
    lines = [line for line in read(results / "scores.csv") if line["combine"] == RN and line["rule"] == "root of 2M - 1"]
    boxes = boxes_of(results)
    body = []
    for rows, parts in dict.fromkeys((int(line["rows"]), int(line["parts"])) for line in lines):
        moved = {prior: np.mean([float(line["difference"]) for line in lines
                                 if (int(line["rows"]), int(line["parts"]), line["prior"]) == (rows, parts, prior)])
                 for prior in (OWN, WHOLE, FLAT)}
        body.append([f"{rows:,}", str(parts), f"{rows // parts:,}", f"{SLOPE * parts / math.sqrt(rows):.2f}",
                     *(f"{moved[prior]:+.2f}" for prior in (OWN, WHOLE, FLAT)),
                     *(f"{boxes.at(rows, parts, math.inf, key, 'median'):.2f}"
                       for key in (TRUTH, (RN, "as printed"), (RN, "corrected")))])
    head = ["n", "M", "rows of a part", "βM/√n", "moved by: g = n/M", "g = n", "flat", "median at b = 2: p(b)", "as printed"]
    return table([*head, "corrected"], body)


def figure_1(results: Path) -> list[str]:
    return _figure(boxes_of(results), RN, None, (math.inf,))


def figure_2(results: Path) -> list[str]:
    return _figure(boxes_of(results), FISHER, None, (math.inf,))


def figure_3(results: Path) -> list[str]:
    return _figure(boxes_of(results), RN, 100_000, (0.1, 1.0))


def figure_4(results: Path) -> list[str]:
    return _figure(boxes_of(results), RN, 1_000_000, (0.1, 1.0))


def figure_5(results: Path) -> list[str]:
    return _figure(boxes_of(results), FISHER, 100_000, (0.1, 1.0))


def figure_6(results: Path) -> list[str]:
    return _figure(boxes_of(results), FISHER, 1_000_000, (0.1, 1.0))


def _figure(boxes: Boxes, combine: str, rows: int | None, epsilons: Sequence[float]) -> list[str]:
    """Quartiles at −1, 0 and 1 standard deviation from the slope (the nearest b), for every version."""
    names = ("as printed", "valid noise", "corrected", "noisewise")
    body = []
    for size in boxes.rows if rows is None else [rows]:
        for parts in boxes.parts:
            for epsilon in epsilons:
                keys = [(combine, name) for name in names if math.isfinite(epsilon) or name != "valid noise"]
                keys += [(STOUFFER, "noisewise")]
                for key in [TRUTH, *keys] if epsilon == epsilons[0] else keys:
                    label = f"{'Stouffer ' if key[0] == STOUFFER else ''}{key[1]}"
                    body.append([*([f"{size:,}"] if rows is None else []), str(parts),
                                 "–" if key == TRUTH else _number(epsilon), label,
                                 *(_quartiles(boxes.of(size, parts, epsilon, key)[b]) for b in _near(size)),
                                 f"{boxes.away(size, parts, epsilon, key):.2f}", f"{boxes.error(size, parts, epsilon, key):.3f}"])
    return table([*(["n"] if rows is None else []), "M", "ε", "version", "−1 sd", "b = 2", "+1 sd", "unlike", "error"], body)


def _near(rows: int) -> list[float]:
    """The values of b in the figures that are nearest to −1, 0 and 1 standard deviation."""
    return [round(SLOPE + round(sign / math.sqrt(rows), 3), 3) for sign in (-1, 0, 1)]


def _quartiles(line: Line) -> str:
    return " / ".join(f"{float(line[name]):.2f}" for name in QUARTILES)


def guarantees(results: Path) -> list[str]:
    """The true ε of the printed noise, from the scales of both methods."""
    boxes = boxes_of(results)
    body = []
    for version in VERSIONS:
        if version.name == "as printed":
            for epsilon in (epsilon for epsilon in boxes.epsilons if math.isfinite(epsilon)):
                true = [version.true_epsilon(parts, epsilon) for parts in boxes.parts]
                body.append([SHOWN[version.combine], _number(epsilon),
                             *(_bold(f"{value:.3g}", value > epsilon * (1 + 1e-9)) for value in true)])
    return table(["as printed", "claimed ε", *(f"true ε, M = {parts}" for parts in boxes.parts)], body)


def double_logarithm(results: Path) -> list[str]:
    """Where the reference distribution lies with the logarithm taken twice, as step 4 prints it, and once."""
    parts, draws = 50, 10_000
    twice = printed_reference(parts, draws, np.random.default_rng(0))
    once = parts * np.quantile(fisher_reference(parts, 0.0), [0.01, 0.5, 0.99])
    given = [np.mean(twice > value) for value in once]
    return [f"The reference distribution of the paper takes the logarithm twice in step 4. With M = {parts} and no noise the "
            f"statistic at b = β has the median {once[1]:.0f}, and 98 % of its values lie between {once[0]:.0f} and "
            f"{once[2]:.0f}. Of {draws:,} draws that follow step 4 literally, 98 % lie between {np.quantile(twice, 0.01):.0f} "
            f"and {np.quantile(twice, 0.99):.0f}. A probability that should be 0.5 would be {given[1]:.4f}, and one that should "
            f"be 0.99 would be {given[0]:.4f}. We take the logarithm once, as the paper must have done."]


def _number(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text


PIECES: Final[dict[str, Piece]] = {piece.__name__: piece for piece in (
    in_short, errors, reversal, factor, priors, figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, guarantees,
    double_logarithm, sentences, not_reproduced)}
