"""The guarantee in plain words, and what it means for an attacker: chances that follow from epsilon and delta alone.

An attacker who knows everything except one unit tests which of two tables the release was made from. For an (ε, δ) private
release, a test with false alarm rate α has power β ≤ min(e^ε α + δ, 1 − e^−ε (1 − δ − α)) (Kairouz, Oh and Viswanath 2015,
theorem 2.1). If both tables are equally likely, the best guess is right with probability at most (e^ε + δ) / (1 + e^ε), the
largest value of (1 + β − α) / 2. Tables that are k steps apart have (kε, δ (e^kε − 1) / (e^ε − 1)): apply the definition k times.
Under add-remove, two tables that differ in what the rows of one unit say are two steps apart: (2ε, (1 + e^ε) δ).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from noisewise.reports.numbers import at_most, count, exact, number, percent
from noisewise.schema.schema import Schema

FALSE_ALARMS: Final = 0.05
SEVERAL: Final = 5
"""The number of rows of one person in the example of a guarantee for several rows together."""


def right_guesses(epsilon: float, delta: float) -> float:
    """The largest chance of guessing correctly which of two equally likely tables a release was made from.

    >>> round(right_guesses(1.0, 0.0), 4), right_guesses(0.0, 0.0), right_guesses(1000.0, 0.0)
    (0.7311, 0.5, 1.0)
    """
    return min(1.0, (1.0 + delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon)))


def detections(epsilon: float, delta: float, false_alarms: float = FALSE_ALARMS) -> float:
    """The largest power of a test with this false alarm rate."""
    steep = math.exp(min(epsilon, 700.0)) * false_alarms + delta
    return max(0.0, min(1.0, steep, 1.0 - math.exp(-epsilon) * (1.0 - delta - false_alarms)))


def largest_belief(epsilon: float, before: float) -> float:
    """The largest belief afterwards if delta is 0: odds are multiplied by at most e^ε."""
    return before / (before + (1.0 - before) * math.exp(-epsilon))


def of_several(epsilon: float, delta: float, steps: int) -> tuple[float, float]:
    """(ε, δ) for tables that are k steps apart: (kε, δ (e^kε − 1) / (e^ε − 1)). A δ of 1 promises nothing.

    >>> [round(value, 4) for value in of_several(1.0, 1e-6, 2)], round(of_several(1.0, 1e-6, 5)[1] / 1e-6, 1)
    ([2.0, 0.0], 85.8)
    """
    growth = math.exp(min((steps - 1) * epsilon, 700.0)) * math.expm1(-steps * epsilon) / math.expm1(-epsilon)
    return steps * epsilon, min(1.0, delta * growth)


class Guarantee(NamedTuple):
    """One holder's promise."""

    holder: str
    epsilon: float
    delta: float
    statement: str
    steps: int = 1
    """The number of steps between two tables that differ in what one unit's rows say: 2 under add-remove."""

    @property
    def words(self) -> str:
        """Epsilon and delta as text."""
        return f"ε = {exact(self.epsilon)}" + (f", δ = {exact(self.delta)}" if self.delta else ", δ = 0")

    @property
    def content(self) -> tuple[float, float]:
        """ε and δ for what the rows of one unit say. They are never better than those for whether it is in the table."""
        return of_several(self.epsilon, self.delta, self.steps)

    @property
    def chance(self) -> float:
        """The largest chance of a right guess."""
        return right_guesses(*self.content)

    @property
    def detection(self) -> float:
        """The power of an attacker who accepts some false alarms."""
        return detections(*self.content)


def steps_of(schema: Schema) -> int:
    """The steps of one replacement: one under replace-one; two under add-remove, a removal and an addition."""
    return 1 if schema.adjacency == "replace-one" else 2


def chances(guarantees: Sequence[Guarantee], schema: Schema) -> list[str]:
    """What epsilon and delta mean for an attacker. With several holders, each bound is the largest of any holder."""
    return [*_weakest(guarantees), _guess(guarantees, unit_word(schema)), _test(guarantees), _belief(guarantees)]


def _weakest(guarantees: Sequence[Guarantee]) -> list[str]:
    if len({one.words for one in guarantees}) == 1:
        return []
    guess, test = (max(guarantees, key=key) for key in (lambda one: one.chance, lambda one: one.detection))
    if guess.words == test.words:
        return [f"These chances apply where protection is weakest, at {guess.holder} ({guess.words})."]
    return [f"These chances apply where protection is weakest: for guesses at {guess.holder} ({guess.words}), for "
            f"accusations at {test.holder} ({test.words})."]


def _guess(guarantees: Sequence[Guarantee], unit: str) -> str:
    content = at_most(max(one.chance for one in guarantees))
    if guarantees[0].steps == 1:
        return (f"An attacker who knows the whole table except for one {unit}, and has narrowed that one down to two equally "
                f"likely possibilities, is right 50 % of the time without the release and at most {content} of the time with it.")
    presence = at_most(max(right_guesses(one.epsilon, one.delta) for one in guarantees))
    return (f"An attacker who knows everybody else, knows that a certain {unit} is in the table, and has narrowed that one down "
            f"to two equally likely possibilities, is right 50 % of the time without the release and at most {content} of the "
            "time with it. An attacker who only wants to know whether it is in the table, and considers both equally likely, is "
            f"right at most {presence} of the time.")


def _test(guarantees: Sequence[Guarantee]) -> str:
    content = at_most(max(one.detection for one in guarantees))
    presence = at_most(max(detections(one.epsilon, one.delta) for one in guarantees))
    only = "" if guarantees[0].steps == 1 else f" (at most {presence} if they are only about being in the table)"
    alarms = percent(FALSE_ALARMS)
    return (f"If the attacker accepts {alarms} false accusations, at most {content} of the true ones are made{only}. Pure "
            f"guessing makes {alarms} of them.")


def _belief(guarantees: Sequence[Guarantee]) -> str:
    epsilon, delta, steps = *_largest(guarantees), guarantees[0].steps
    if delta == 0:
        ends = [at_most(largest_belief(steps * epsilon, before)) for before in (0.01, 0.5, 0.9)]
        only = "" if steps == 1 else (" This is about what somebody's data say. For whether somebody is in the table, the factor "
                                      f"is at most {_factor(epsilon)}.")
        return (f"Whatever the attacker believed before, odds change by a factor of at most {_factor(steps * epsilon)}. A belief "
                f"of 1 % becomes at most {ends[0]}, one of 50 % at most {ends[1]}, one of 90 % at most {ends[2]}.{only}")
    of = "" if len(guarantees) == 1 else ", the largest of any data holder,"
    room = (f"δ = {exact(delta)}{of} allows for very improbable outcomes that change the odds by more than the factor "
            f"{_factor(epsilon)}")
    if steps == 1:
        return f"{room}. It is included in the chances above."
    return (f"{room}, if the question is whether somebody is in the table. For what somebody's data say, the factor is "
            f"{_factor(steps * epsilon)} and δ about {number(of_several(epsilon, delta, steps)[1])}. Both are included in the "
            "chances above.")


def _largest(guarantees: Sequence[Guarantee]) -> tuple[float, float]:
    """An epsilon and a delta that all of them keep."""
    return max(one.epsilon for one in guarantees), max(one.delta for one in guarantees)


def _factor(epsilon: float) -> str:
    return f"e^{exact(epsilon)}" + (f" ≈ {number(math.exp(epsilon), math.exp(epsilon) / 10)}" if epsilon < 20 else "")


def unit_word(schema: Schema) -> str:
    """A noun for what is protected."""
    return "row" if schema.unit.is_row else f"{schema.unit.column}"


def protected(schema: Schema, guarantees: Sequence[Guarantee]) -> list[str]:
    """Say whom the guarantee protects, one sentence each."""
    unit = schema.unit
    if unit.is_row:
        whom = ["Each single row of the table is protected. A person with several rows has this protection for each of them. "
                + _several_rows(guarantees)]
    else:
        whom = [f"Each “{unit.column}” is protected with all of its rows, of which at most {count(unit.max_rows)} "
                f"{'was' if unit.max_rows == 1 else 'were'} used."]
    if schema.adjacency == "add-remove":
        whom.append("Whether somebody is in the table at all is hidden too, and the exact number of rows is not published "
                    "(adjacency: add-remove).")
    elif unit.is_row:
        whom.append("What a row says is hidden. How many rows there are is not: their number is published exactly (adjacency: "
                    "replace-one).")
    else:
        whom.append(f"What the rows of one “{unit.column}” say, and how many they are, is hidden. How many different values of "
                    f"“{unit.column}” there are is assumed to be known (adjacency: replace-one).")
    if schema.stratum:
        stratum = ", ".join(f"{name} {value}" for name, value in schema.stratum)
        whom.append(f"The table is declared to be one stratum of a population ({stratum}). Who is in which stratum counts as "
                    "public.")
    return whom


def _several_rows(guarantees: Sequence[Guarantee]) -> str:
    """The guarantee for several rows together, where it is weakest."""
    (one_row, delta), steps = _largest(guarantees), guarantees[0].steps
    epsilon, grown = of_several(one_row, delta, SEVERAL * steps)
    say = "say" if steps == 1 else "say, each a removal and an addition,"
    if delta == 0:
        return f"For all rows together, ε is multiplied by their number: for what {SEVERAL} rows {say} it is {number(epsilon)}."
    ends = "δ reaches 1, which promises nothing" if grown == 1 else f"δ is about {number(grown)}"
    return (f"For all rows together, ε is multiplied by their number, and δ grows faster: for what {SEVERAL} rows {say} ε is "
            f"{number(epsilon)}, and {ends}.")


def not_protected(of_kind: Sequence[tuple[str, str]], holders: int) -> list[tuple[str, str]]:
    """What the guarantee does not cover: a heading and a sentence each, following the threat model in the documentation.

    ``of_kind`` is what it does not cover for this kind of release.
    """
    found = [
        ("Facts about groups", "The purpose is to learn what holds for many people. Such facts apply to each of them, and "
                               "also to people who are not in the table."),
        ("Declarations", "Bounds, levels and the choice of columns are published unchanged. The guarantee assumes that they were "
                         "not taken from the rows."),
        ("Other releases", "Other releases about the same people add to the cost of this one. The file does not say whether "
                           "there are any: a budget ledger, if the data holder keeps one, is not part of a release."),
        ("Other publications", "Results from the rows themselves, counts of clipped or missing cells, and the time that the "
                               "release took are not covered."),
        ("Authenticity", "A release file is not signed, and cannot prove how it was made. Compare the SHA-256 digest below with "
                         "one from the data holder."),
    ]
    if holders > 1:
        found.insert(2, ("People in several tables", "Each data holder protects its own table. For somebody in two of them, the "
                                                     "epsilons and deltas add up."))
    found[1:1] = of_kind
    return found


def together(guarantees: Sequence[Guarantee]) -> str:
    """Summarise what several holders promise in one phrase."""
    spans = {"ε": sorted({one.epsilon for one in guarantees}), "δ": sorted({one.delta for one in guarantees})}
    each = (f"{name} = {exact(found[0])}" if len(found) == 1 else f"{name} from {exact(found[0])} to {exact(found[-1])}"
            for name, found in spans.items())
    return f"{count(len(guarantees))} data holders, each with {', '.join(each)}"
