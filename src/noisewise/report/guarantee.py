"""The guarantee in plain words, and what it leaves to an attacker: chances that follow from epsilon and delta alone.

An attacker who knows everything but one unit tests which of two tables the release was made from. For an (ε, δ) private release a
test with false alarms α has the power β ≤ min(e^ε α + δ, 1 − e^−ε (1 − δ − α)) (Kairouz, Oh and Viswanath 2015, theorem 2.1).
With both tables equally likely the best guess is right with probability at most (e^ε + δ) / (1 + e^ε): the largest of
(1 + β − α) / 2. Under add-remove two tables that differ in the data of one unit are two steps apart: (2ε, (1 + e^ε) δ).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from noisewise.report.numbers import at_most, count, exact, number, percent
from noisewise.schema.schema import Schema

FALSE_ALARMS: Final = 0.05


def right_guesses(epsilon: float, delta: float) -> float:
    """The largest chance to guess right which of two equally likely tables a release was made from.

    >>> round(right_guesses(1.0, 0.0), 4), right_guesses(0.0, 0.0), right_guesses(1000.0, 0.0)
    (0.7311, 0.5, 1.0)
    """
    return min(1.0, (1.0 + delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon)))


def detections(epsilon: float, delta: float, false_alarms: float = FALSE_ALARMS) -> float:
    """The largest power of a test with so many false alarms."""
    steep = math.exp(min(epsilon, 700.0)) * false_alarms + delta
    return max(0.0, min(1.0, steep, 1.0 - math.exp(-epsilon) * (1.0 - delta - false_alarms)))


def largest_belief(epsilon: float, before: float) -> float:
    """What a belief can become at most, if delta is 0: its odds are multiplied by at most e^ε."""
    return before / (before + (1.0 - before) * math.exp(-epsilon))


@dataclass(frozen=True)
class Guarantee:
    """What one holder promises."""

    holder: str
    epsilon: float
    delta: float
    statement: str

    @property
    def words(self) -> str:
        return f"ε = {exact(self.epsilon)}" + (f", δ = {exact(self.delta)}" if self.delta else ", δ = 0")

    @property
    def chance(self) -> float:
        return right_guesses(self.epsilon, self.delta)

    def chances(self, schema: Schema) -> list[str]:
        """What epsilon and delta mean for someone who wants to find out."""
        unit = unit_word(schema)
        found = f"is right 50 % of the time without the release and at most {at_most(self.chance)} of the"
        if schema.adjacency == "replace-one":
            guess = (f"An attacker who knows the whole table except for one {unit}, and has narrowed that one down to two "
                     f"equally likely possibilities, {found} time with it.")
        else:
            both = right_guesses(2 * self.epsilon, (1 + math.exp(min(self.epsilon, 700.0))) * self.delta)
            guess = (f"An attacker who knows everybody else, and holds it for equally likely that a certain {unit} is in the "
                     f"table or not, {found} time with it. Who knows that it is in there, and has narrowed it down to two "
                     f"equally likely possibilities, is right at most {at_most(both)} of the time.")
        test = (f"If the attacker accepts {percent(FALSE_ALARMS)} false accusations, at most "
                f"{at_most(detections(self.epsilon, self.delta))} of the true ones are made; mere guessing makes "
                f"{percent(FALSE_ALARMS)} of them.")
        return [guess, test, self._belief()]

    def _belief(self) -> str:
        if self.delta == 0:
            ends = [largest_belief(self.epsilon, before) for before in (0.01, 0.5, 0.9)]
            return (f"Whatever the attacker believed before: odds change by a factor of at most {_factor(self.epsilon)}. A "
                    f"belief of 1 % becomes at most {at_most(ends[0])}, one of 50 % at most {at_most(ends[1])}, one of 90 % at "
                    f"most {at_most(ends[2])}.")
        return (f"δ = {exact(self.delta)} is the room for outcomes, very improbable ones, that change the odds by more than the "
                f"factor {_factor(self.epsilon)}; it is counted in the chances above.")


def _factor(epsilon: float) -> str:
    return f"e^{exact(epsilon)}" + (f" ≈ {number(math.exp(epsilon), math.exp(epsilon) / 10)}" if epsilon < 20 else "")


def unit_word(schema: Schema) -> str:
    """What is protected, as a noun."""
    return "row" if schema.unit.is_row else f"{schema.unit.column}"


def protected(schema: Schema) -> list[str]:
    """Whom the guarantee protects, one sentence each."""
    unit = schema.unit
    if unit.is_row:
        whom = ["Protected is each single row of the table. Whoever has several rows in it has this protection for each of them, "
                "and the losses add up."]
    else:
        whom = [f"Protected is each “{unit.column}” with all of its rows, of which at most {count(unit.max_rows)} "
                f"{'was' if unit.max_rows == 1 else 'were'} used."]
    if schema.adjacency == "add-remove":
        whom.append("It is also hidden whether somebody is in the table at all, and the exact number of rows is not published "
                    "(adjacency: add-remove).")
    elif unit.is_row:
        whom.append("Hidden is what a row says, not how many rows there are: their number is published exactly (adjacency: "
                    "replace-one).")
    else:
        whom.append(f"Hidden is what the rows of one “{unit.column}” say and how many they are; it is taken as known how many "
                    "there are of these (adjacency: replace-one).")
    if schema.partition:
        part = ", ".join(f"{name} {value}" for name, value in schema.partition)
        whom.append(f"The table is declared to be one part of a population ({part}); who is in which part counts as public.")
    return whom


def not_protected(kind: str, holders: int) -> list[tuple[str, str]]:
    """What the guarantee does not cover: a heading and a sentence each, after the threat model of the documentation."""
    found = [
        ("Facts about groups", "What holds for many people is learned, that is the purpose; it applies to each of them, and to "
                               "people who are not in the table as well."),
        ("Declarations", "Bounds, levels and the choice of columns are public as they are. The guarantee supposes that they were "
                         "not taken from the rows."),
        ("Other releases", "What else is released about the same people adds up with this. Whether there is more is not in the "
                           "file; a budget ledger, if the data holder keeps one, is not part of a release."),
        ("What is published beside it", "Results of the rows themselves, counts of clipped or missing cells, or how long the "
                                        "release took are not covered."),
        ("Authenticity", "A release file is not signed. Compare the SHA-256 digest below with one from the data holder."),
    ]
    if holders > 1:
        found.insert(2, ("People in several tables", "Each data holder protects its own table. Somebody who is in two of them "
                                                     "has the protection of both together: the epsilons and deltas add up."))
    if kind == "microdata":
        found.insert(1, ("The look of the rows", "Published rows look like people and are mostly noise. Who is known to be in "
                                                 "the table is known to have a noisy row in it, though not which."))
    if kind in ("adassp", "moments", "partition"):
        found.insert(2, ("The choice of the regression", "Its formula, and what was asked about it, is public as it is; if it "
                                                         "was chosen by looking at the rows, that choice is not protected."))
    return found


def together(guarantees: Sequence[Guarantee]) -> str:
    """What several holders promise, in one sentence."""
    epsilons, deltas = sorted({one.epsilon for one in guarantees}), sorted({one.delta for one in guarantees})
    each = (f"ε = {exact(epsilons[0])}" if len(epsilons) == 1 else f"ε from {exact(epsilons[0])} to {exact(epsilons[-1])}")
    each += f", δ = {exact(deltas[0])}" if len(deltas) == 1 else f", δ from {exact(deltas[0])} to {exact(deltas[-1])}"
    return f"{count(len(guarantees))} data holders, each with {each}"
