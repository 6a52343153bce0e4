"""What `plan` says about a model release beside its noise: how the budget is split, and what intervals to expect."""

from __future__ import annotations

from typing import NamedTuple

from noisewise.errors import NoisewiseError
from noisewise.kinds import Kind, Model
from noisewise.planning.power import FEWEST_REPEATS, PowerPlan, plan_power
from noisewise.run import QUIET
from noisewise.schema import Schema
from noisewise.scores.next_round import FINDING, LOOK

MOST_TERMS = 12


class Expected(NamedTuple):
    """Labelled words, and the expected width of each coefficient's 95 % interval, if the number of rows is known."""

    words: tuple[tuple[str, str], ...]
    widths: dict[str, float]


def expected(kind: Kind, schema: Schema, epsilon: float, delta: float | None, rows: int | None) -> Expected:
    """The budget's split, and with a number of rows the widths."""
    assert isinstance(kind, Model)
    words = [("budget", _split(kind))]
    if rows is None:
        return Expected(tuple(words), {})
    try:
        found = plan_power(schema, kind=kind, rows=rows, epsilon=epsilon, delta=delta, repeats=FEWEST_REPEATS, run=QUIET)
    except NoisewiseError as refusal:
        return Expected((*words, ("widths", f"not planned: {refusal.rule}")), {})
    words.append(("widths", _widths(found, rows)))
    if found.comparison is not None:
        words.append(("compared", found.comparison))
    return Expected(tuple(words), {line.term: line.width for line in found.cells[0].lines})


def _split(kind: Model) -> str:
    """In shares of μ², which add up over independent noise."""
    start = f"{_percent(LOOK)} for the first look; "
    if kind.start is not None:
        return start + "the rest for one round, where the start was"
    most = len(FINDING) if kind.rounds is None else kind.rounds
    shares = [FINDING[min(place, len(FINDING) - 1)] for place in range(most)]
    if not shares:
        return start + "the rest for one round"
    least, largest = (_percent(1.0 - LOOK - sum(shares[:count])) for count in (len(shares), 1))
    if len(shares) == 1:
        return start + f"{_percent(shares[0])} for the round that looks for the coefficients; {largest} for the last round"
    return (start + f"{', '.join(map(_percent, shares))} for the rounds that look for the coefficients, as many as help; "
            f"the rest, {least} to {largest}, for the last round")


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _widths(found: PowerPlan, rows: int) -> str:
    lines = found.cells[0].lines
    shown = "; ".join(f"{line.term} {line.width:.3g}" for line in lines[:MOST_TERMS])
    rest = f"; and {len(lines) - MOST_TERMS} more" if len(lines) > MOST_TERMS else ""
    return f"of 95 % intervals with {rows:,} rows like those assumed from the schema, without effects: {shown}{rest}"
