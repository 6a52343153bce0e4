"""The sentences of paper 000 about its figures, each with what the repetition finds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from studies.page import table
from studies.paper_000 import BATCHES, QUARTERS
from studies.paper_000_boxes import FISHER, HALF, QUARTILES, RN, STOUFFER, TRUTH, Boxes, boxes_of
from studies.verdicts import Condition, Target, Verdict, in_words, judge_sentence, share_beyond_chance, with_the_error

SIMILAR: Final = 0.1
"""Two box plots are called similar if no quartile or median differs by more than this, at any b. The limit is ours."""
NORMAL: Final = (RN, "valid noise")
"""The paper's rescaled-normal method with the noise that its figures must have used."""
PRINTED: Final = (FISHER, "as printed")
VALID: Final = (FISHER, "valid noise")
LARGE: Final = (100_000, 1_000_000)
SMALL: Final = 10_000
STUDY: Final = "figures"


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper and its place, the number we find, what decides, and the result of the corrected, private method.

    ``private`` are the conditions of the same method with a valid guarantee, where the paper's own has none.
    """

    text: str
    where: str
    number: str
    conditions: list[Condition]
    better: str
    private: list[Condition] | None = None

    @property
    def verdict(self) -> Verdict:
        own = judge_sentence(self.conditions)
        return own if self.private is None else with_the_error(judge_sentence(self.private), own)

    @property
    def why(self) -> str:
        if self.private is None:
            return in_words(self.conditions)
        return f"as printed, which is NOT PRIVATE, {in_words(self.conditions)}; with valid noise {in_words(self.private)}"


def sentences(results: Path) -> list[str]:
    return table(["the paper says", "where", "its method here", "verdict", "with a valid guarantee, corrected"],
                 [[one.text, one.where, one.number, _shown(one.verdict), one.better] for one in every(results)])


def _shown(verdict: Verdict) -> str:
    return str(verdict) if verdict == Verdict.REPRODUCED else f"**{verdict}**"


def not_reproduced(results: Path) -> list[str]:
    found = every(results)
    other = [one for one in found if one.verdict != Verdict.REPRODUCED]
    wider = [one for one in every(results, 2 * SIMILAR) if one.verdict != Verdict.REPRODUCED]
    return [f"Of {len(found)} sentences {len(other)} are not reproduced, only in part, only with the authors' error, or "
            f"undecided. \"Similar\" means within {SIMILAR:g} (see below); with {2 * SIMILAR:g} it would be {len(wider)} "
            "sentences:", "",
            *(f"- {one.verdict}: {one.text} ({one.where}): {one.number}" for one in other)]


def targets(results: Path) -> list[Target]:
    return [Target(one.where, one.text, one.text, one.number, one.verdict, one.why, STUDY) for one in every(results)]


def every(results: Path, limit: float = SIMILAR) -> list[Sentence]:
    boxes = boxes_of(results)
    return [one for piece in (_without_noise, _small_tables, _with_noise, _conclusions) for one in piece(boxes, limit)]


def _not(condition: Condition) -> Condition:
    return Condition(-condition.margin, condition.error, condition.degrees)


def listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _away(boxes: Boxes, key: tuple[str, str], epsilon: float, rows: tuple[int, ...] = LARGE) -> tuple[str, list[float]]:
    """The distance between box plots for each n and M, as text and as numbers."""
    found = {size: [boxes.away(size, parts, epsilon, key) for parts in boxes.parts] for size in rows}
    text = "; ".join(f"n = {size:,}: " + listed(values) for size, values in found.items())
    return text, [value for values in found.values() for value in values]


def _without_noise(boxes: Boxes, limit: float) -> list[Sentence]:
    rows: list[Sentence] = []
    for key, figure in ((NORMAL, "Figure 1"), (PRINTED, "Figure 2")):
        text, _ = _away(boxes, key, math.inf)
        better = max(_away(boxes, (key[0], "corrected"), math.inf)[1])
        rows.append(Sentence(f"n = 100,000 and 1,000,000: {_symbol(key)} is distributed similarly to p(b), for all M", figure,
                             f"unlike by (M = 10, 50, 100) {text}",
                             [boxes.like(size, parts, math.inf, key, limit) for size in LARGE for parts in boxes.parts],
                             f"corrected: at most {better:.2f}"))
        medians = listed(boxes.at(SMALL, parts, math.inf, key, "median") for parts in boxes.parts if parts > 10)
        truth = boxes.at(SMALL, 100, math.inf, TRUTH, "median")
        good = [boxes.away(SMALL, parts, math.inf, (key[0], "corrected")) for parts in boxes.parts if parts > 10]
        rows.append(Sentence(f"n = 10,000, M > 10: {_symbol(key)} is quite different, much too large, and unreliable", figure,
                             f"median at b = 2 is {medians} (M = 50, 100), of p(b) {truth:.2f}",
                             [_not(boxes.like(SMALL, parts, math.inf, key, limit)) for parts in boxes.parts if parts > 10],
                             f"corrected: unlike by {max(good):.2f} at most"))
    good = [boxes.away(SMALL, parts, math.inf, (RN, "corrected")) for parts in boxes.parts]
    rows.append(Sentence("The reason is that parts are too small for the approximations", "Figure 1",
                         f"the same parts with g = n: unlike by {listed(good)} (M = 10, 50, 100)",
                         [_not(min((boxes.like(SMALL, parts, math.inf, (RN, "corrected"), limit) for parts in boxes.parts),
                                   key=lambda one: one.margin))], "the reason is the prior g = n/M in each part"))
    away = {key: boxes.away(SMALL, 10, math.inf, key) for key in (NORMAL, PRINTED)}
    error = {key: boxes.error(SMALL, 10, math.inf, key) for key in (NORMAL, PRINTED)}
    rows.append(Sentence("n = 10,000, M = 10: Fisher looks more similar to p(b) than rescaled-normal", "Figure 2",
                         f"unlike by {away[PRINTED]:.2f} and {away[NORMAL]:.2f}; but the error, run by run, is "
                         f"{error[PRINTED]:.3f} and {error[NORMAL]:.3f}", [_nearer(boxes, SMALL, 10)],
                         _pair(boxes, "corrected", SMALL, 10, math.inf)))
    cells = [(size, parts) for size in boxes.rows for parts in boxes.parts]
    wins = [boxes.better(*cell, math.inf, PRINTED, NORMAL) for cell in cells]
    nearer = [_nearer(boxes, *cell) for cell in cells]
    right = [boxes.error(*cell, math.inf, (FISHER, "corrected")) < boxes.error(*cell, math.inf, (RN, "corrected"))
             for cell in cells]
    rows.append(Sentence("Without noise Fisher may be more effective than rescaled-normal", "Figure 2",
                         f"box plots more like p(b)'s in {sum(one.margin > 0 for one in nearer)} of {len(nearer)} settings, "
                         f"smaller error in {sum(one.margin > 0 for one in wins)}",
                         [share_beyond_chance(((one.margin, one.error) for one in held), 0.5) for held in (nearer, wins)],
                         f"corrected: smaller error in {sum(right)} of {len(right)}"))
    return rows


def _small_tables(boxes: Boxes, limit: float) -> list[Sentence]:
    uniform = [Condition(limit - abs(boxes.at(SMALL, parts, 0.1, NORMAL, name) - value),
                         boxes.at(SMALL, parts, 0.1, NORMAL, "quartile_se"), BATCHES - 1.0)
               for parts in boxes.parts for name, value in zip(QUARTILES, QUARTERS, strict=True)]
    rows = [Sentence("n = 10,000, ε = 0.1: rescaled-normal is almost uniform on (0, 1) for all b", "§3.2",
                     "quartiles at b = 2 with M = 10: " + " / ".join(
                         f"{boxes.at(SMALL, 10, 0.1, NORMAL, name):.2f}" for name in QUARTILES)
                     + ": mostly 0 or 1", [min(uniform, key=lambda one: one.margin)], "")]
    errors = listed(boxes.error(SMALL, parts, 0.1, NORMAL) for parts in boxes.parts)
    half = boxes.error(SMALL, 10, 0.1, HALF)
    rows.append(Sentence("… and worthless", "§3.2", f"error {errors} (M = 10, 50, 100); of always saying 1/2 {half:.2f}",
                         [boxes.better(SMALL, parts, 0.1, HALF, NORMAL) for parts in boxes.parts],
                         f"no version is better: at best {least(boxes, SMALL, 0.1):.2f}"))
    away = [boxes.away(SMALL, parts, 0.1, PRINTED) for parts in boxes.parts]
    rows.append(Sentence("n = 10,000, ε = 0.1: Fisher is unreliable", "§3.2",
                         f"NOT PRIVATE; unlike by {listed(away)} (M = 10, 50, 100)",
                         [_not(boxes.like(SMALL, parts, 0.1, PRINTED, limit)) for parts in boxes.parts],
                         "valid noise: " + listed(boxes.away(SMALL, parts, 0.1, VALID) for parts in boxes.parts),
                         [_not(boxes.like(SMALL, parts, 0.1, VALID, limit)) for parts in boxes.parts]))
    for key, figure in ((NORMAL, 1), (PRINTED, 2)):
        moved = [_moved(boxes, parts, key) for parts in boxes.parts]
        wider = [boxes.spread(SMALL, parts, 1.0, key) / boxes.spread(SMALL, parts, math.inf, key) for parts in boxes.parts]
        private = "" if key == NORMAL else "with valid noise the quartiles are " + listed(
            boxes.spread(SMALL, parts, 1.0, VALID) / boxes.spread(SMALL, parts, math.inf, PRINTED) for parts in boxes.parts
        ) + " times as far apart"
        rows.append(Sentence(f"n = 10,000, ε = 1: {_symbol(key)} mimics Figure {figure} with some increased variance", "§3.2",
                             f"medians move by {max(value for value, _ in moved):.2f} at most; quartiles are "
                             f"{listed(wider)} times as far apart (M = 10, 50, 100)",
                             [Condition(limit - value, error, BATCHES - 1.0) for value, error in moved], private,
                             None if key == NORMAL else [Condition(limit - value, error, BATCHES - 1.0) for value, error in (
                                 _moved(boxes, parts, VALID) for parts in boxes.parts)]))
    return rows


def _with_noise(boxes: Boxes, limit: float) -> list[Sentence]:
    bias = {size: [boxes.bias(size, parts, 0.1, NORMAL) for parts in boxes.parts] for size in LARGE}
    literal = [boxes.error(size, parts, 0.1, (RN, "as printed")) for size in LARGE for parts in boxes.parts]
    rows = [Sentence("ε = 0.1: rescaled-normal is unreliable and does not match p(b) in expectation", "Figures 3, 4",
                     "; ".join(f"n = {size:,}: expectations differ by up to {listed(values)}"
                               for size, values in bias.items()) + " (M = 10, 50, 100)",
                     [boxes.biased(size, parts, 0.1, NORMAL, limit) for size in LARGE for parts in boxes.parts],
                     f"with the scale ε/M to the letter the errors would be {min(literal):.2f} to {max(literal):.2f}: the "
                     "figures were not made with it")]
    errors = {size: [boxes.error(size, parts, 0.1, NORMAL) for parts in boxes.parts] for size in LARGE}
    rows.append(Sentence("… and it improves as M grows", "Figures 3, 4",
                         "; ".join(f"n = {size:,}: errors {listed(found)}" for size, found in errors.items()),
                         [_not(_difference(*(boxes.accurate(size, parts, 0.1, NORMAL, 0.0) for parts in pair)))
                          for size in LARGE for pair in pairwise(boxes.parts)], ""))
    for size, figure in zip(LARGE, (3, 4), strict=True):
        text, _ = _away(boxes, NORMAL, 1.0, (size,))
        unlike = min((boxes.like(size, parts, 1.0, NORMAL, limit) for parts in boxes.parts), key=lambda one: one.margin)
        rows.append(Sentence(f"n = {size:,}, ε = 1: rescaled-normal resembles p(b) more closely, with systematic differences",
                             f"Figure {figure}", f"unlike by {text} (M = 10, 50, 100)",
                             [_difference(*(boxes.like(size, parts, epsilon, NORMAL, limit) for epsilon in (1.0, 0.1)))
                              for parts in boxes.parts] + [_not(unlike)],
                             "corrected: " + listed(_away(boxes, (RN, "corrected"), 1.0, (size,))[1])))
    for size, figure in zip(LARGE, (5, 6), strict=True):
        for epsilon in (0.1, 1.0):
            text, _ = _away(boxes, PRINTED, epsilon, (size,))
            _, private = _away(boxes, VALID, epsilon, (size,))
            held = {key: [boxes.like(size, parts, epsilon, key, limit) for parts in boxes.parts] for key in (PRINTED, VALID)}
            if epsilon < 1:
                held = {key: [_not(found[0]), *found[1:]] for key, found in held.items()}
            claim = ("resembles p(b) for M = 50 and 100, not for M = 10" if epsilon < 1 else
                     "performs reasonably well even for M = 10 and resembles p(b) for all M")
            rows.append(Sentence(f"n = {size:,}, ε = {epsilon:g}: Fisher {claim}", f"Figure {figure}",
                                 f"NOT PRIVATE; unlike by {text} (M = 10, 50, 100)",
                                 held[PRINTED],
                                 "does not hold with valid noise: " + listed(private)
                                 if max(private[1:]) > limit else listed(private), held[VALID]))
    return rows


def _conclusions(boxes: Boxes, limit: float) -> list[Sentence]:
    gone = [boxes.error(size, parts, 0.1, NORMAL) for size in boxes.rows for parts in boxes.parts]
    text = listed(boxes.error(SMALL, parts, 1.0, (RN, "corrected")) for parts in boxes.parts)
    best, free = least(boxes, 1_000_000, 0.1), boxes.error(1_000_000, 100, math.inf, (RN, "corrected"))
    rows = [Sentence("Rescaled-normal does not work well with ε = 0.1 for n up to 1,000,000", "§5",
                     f"errors from {min(gone):.2f} to {max(gone):.2f}",
                     [_not(boxes.accurate(size, parts, 0.1, NORMAL, limit)) for size in boxes.rows for parts in boxes.parts],
                     f"nothing with at most {max(boxes.parts)} parts does: at best {best:.2f}, without noise {free:.3f}"),
            Sentence("… nor when n is of the order of 10,000", "§5", "ε = 1: errors " + listed(
                boxes.error(SMALL, parts, 1.0, NORMAL) for parts in boxes.parts) + " (M = 10, 50, 100)",
                [_not(boxes.accurate(SMALL, parts, 1.0, NORMAL, limit)) for parts in boxes.parts],
                f"corrected: {text}; it is the better the more parts, not the worse")]
    claimed = [boxes.error(size, parts, 0.1, PRINTED) for size in LARGE for parts in boxes.parts if parts > 10]
    private = [boxes.error(size, parts, 0.1, VALID) for size in LARGE for parts in boxes.parts if parts > 10]
    normal = [boxes.error(size, parts, 0.1, NORMAL) for size in LARGE for parts in boxes.parts if parts > 10]
    rows.append(Sentence("Fisher performs well, even for ε = 0.1 when n exceeds 100,000", "§5",
                         f"NOT PRIVATE; errors, M > 10: {min(claimed):.2f} to {max(claimed):.2f}",
                         _well(boxes, PRINTED, limit),
                         f"does not hold with valid noise: {min(private):.2f} to {max(private):.2f}, of rescaled-normal "
                         f"{min(normal):.2f} to {max(normal):.2f}", _well(boxes, VALID, limit)))
    return rows


def _well(boxes: Boxes, key: tuple[str, str], limit: float) -> list[Condition]:
    return [boxes.accurate(size, parts, 0.1, key, limit) for size in LARGE for parts in boxes.parts if parts > 10]


def _difference(one: Condition, other: Condition) -> Condition:
    """The condition that the first has the larger margin."""
    return Condition(one.margin - other.margin, math.hypot(one.error, other.error), one.degrees)


def _nearer(boxes: Boxes, rows: int, parts: int) -> Condition:
    """The condition that, without noise, the box plots of Fisher are more like those of p(b) than rescaled-normal's are."""
    return _difference(*(boxes.like(rows, parts, math.inf, key, 0.0) for key in (PRINTED, NORMAL)))


def _moved(boxes: Boxes, parts: int, key: tuple[str, str]) -> tuple[float, float]:
    """The largest move of a median by noise at ε = 1, and its standard error."""
    noisy, exact = (boxes.of(SMALL, parts, epsilon, key) for epsilon in (1.0, math.inf))
    return max((abs(float(noisy[b]["median"]) - float(exact[b]["median"])),
                math.hypot(float(noisy[b]["quartile_se"]), float(exact[b]["quartile_se"]))) for b in noisy)


def least(boxes: Boxes, rows: int, epsilon: float, parts: Sequence[int] | None = None) -> float:
    """The smallest error among the private methods."""
    keys = [NORMAL, VALID, (STOUFFER, "noisewise"), *((how, name) for how in (RN, FISHER) for name in ("corrected", "noisewise"))]
    return min(boxes.error(rows, count, epsilon, key) for count in parts or boxes.parts for key in keys)


def _pair(boxes: Boxes, name: str, rows: int, parts: int, epsilon: float) -> str:
    away = [boxes.away(rows, parts, epsilon, (how, name)) for how in (FISHER, RN)]
    error = [boxes.error(rows, parts, epsilon, (how, name)) for how in (FISHER, RN)]
    return f"{name}: unlike by {away[0]:.2f} and {away[1]:.2f}, errors {error[0]:.3f} and {error[1]:.3f}"


def _symbol(key: tuple[str, str]) -> str:
    return "rescaled-normal" if key[0] == RN else "Fisher"
