"""The data holder's side of private bounds: columns in, suggested bounds out, and the budget charged before anything is drawn.

For columns whose bounds nobody knows. A bound that was looked up in the rows is a leak; these are paid for instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from noisewise.database_query import suited_to
from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder.ledger import check_edition, check_ledger, neighbours, once
from noisewise.privacy.bounds import (
    PROBABILITY,
    SIDES,
    BoundSearch,
    Grid,
    Side,
    candidates,
    checked_tail,
    cost_of,
    plan_search,
    share,
)
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.mechanisms import Selection
from noisewise.privacy.sensitivity.bounds import BoundSensitivity, Counts
from noisewise.progress import Tick
from noisewise.release.bounds import ColumnBounds, SuggestedBounds, request_of, rounded_outwards
from noisewise.release.model import today
from noisewise.schema import Schema
from noisewise.schema.columns import UNFILLED, is_finite_number
from noisewise.schema.open_bounds import Known
from noisewise.version import __version__

Columns = str | Sequence[str] | Mapping[str, Known]


def private_bounds(
    data: Any,
    columns: Columns,
    *,
    epsilon: float,
    adjacency: str = UNFILLED,
    unit: str | Mapping[str, Any] = "row",
    partition: Mapping[str, str] | None = None,
    tail: float = 0.005,
    digits: int = 3,
    ledger: BudgetLedger | None = None,
    edition: str = "",
    progress: Tick | bool | None = None,
) -> SuggestedBounds:
    """Estimate bounds of numeric columns under pure epsilon differential privacy, to be declared in a schema.

    Bounds from public knowledge are better, and free. This is for columns where there is none.

    ``columns`` is a name or several, or a dictionary with what is known: ``{"stay": (0, None), "weight": (None, None)}`` asks for
    the upper bound of one column and for both of another. Each bound has an equal part of ``epsilon``. ``adjacency``, ``unit``
    and ``partition`` are those of the schema. About a share ``tail`` of the rows is left outside each bound, more if the noise
    needs it. Bounds are looked for among numbers with so many significant ``digits``, and rounded outwards by a twentieth of
    their distance at most. Missing cells are left out.

    A ``ledger`` is charged before anything is drawn, and a repeated request returns the stored answer, as for `release`.

    >>> ages = {"age": np.random.default_rng(1).integers(18, 99, 5000)}
    >>> found = private_bounds(ages, {"age": (0, None)}, epsilon=1.0, tail=0.05, adjacency="replace-one")
    >>> 85 <= found["age"][1] <= 99
    True
    """
    check_ledger(ledger)
    check_edition(edition)
    asked = _asked(columns)
    people = Schema.from_dict({
        "adjacency": adjacency, "unit": dict(unit) if isinstance(unit, Mapping) else unit,
        "partition": dict(partition) if isinstance(partition, Mapping) else partition or {},
        "columns": {name: {"bounds": [0, 1]} for name in asked},  # in the place of bounds that are not known yet
    })
    data = suited_to(data, people)
    chosen = _plan(asked, people, epsilon, tail, digits)
    blank = _blank(chosen, people, float(epsilon), tail, digits)

    def read() -> Callable[[], SuggestedBounds]:
        from noisewise.data.counts import grid_counts

        found = grid_counts(data, list(asked), chosen.grid, people.unit, progress=progress)
        if people.rows_are_public:
            _check_rows(blank, found.rows)
        return partial(_filled, blank, chosen, found.columns)

    request = hashlib.sha256(json.dumps(request_of(blank, edition), sort_keys=True).encode()).hexdigest()
    words = "bounds of " + ", ".join(asked) + (f", edition {edition}" if edition else "")
    return once(ledger, cost=chosen.cost, description=words, request=request, partition=dict(people.partition),
                neighbours=neighbours(people), read=read, encode=SuggestedBounds.encode, decode=SuggestedBounds.decode)


@dataclass(frozen=True)
class _Plan:
    """All searches, from public declarations alone."""

    grid: Grid
    known: Mapping[str, Known]
    searches: Mapping[str, tuple[BoundSearch, ...]]
    whole: Selection

    @property
    def cost(self) -> Cost:
        return cost_of(self.whole.epsilon, (search for found in self.searches.values() for search in found))


def _asked(columns: Columns) -> dict[str, Known]:
    if isinstance(columns, Mapping):
        asked = dict(columns)
    else:
        names = [columns] if isinstance(columns, str) else list(columns)
        asked = {name: (None, None) for name in names}
        if len(asked) < len(names):
            raise DeclarationError("each column is named once", found=", ".join(map(str, names)), remedy="remove the repetition")
    if not asked or not all(isinstance(name, str) for name in asked):
        raise DeclarationError("bounds are estimated of columns, which are named by texts", found=repr(list(asked)),
                               remedy='for example "age", or ["age", "stay"]')
    for name, known in asked.items():
        _check_known(name, known)
    return asked


def _check_known(name: str, known: object) -> None:
    where = f"column '{name}'"
    if not isinstance(known, (tuple, list)) or len(known) != 2 \
            or not all(bound is None or is_finite_number(bound) for bound in known):
        raise DeclarationError(f"{where}: what is known of the bounds are two numbers, None where one is to be estimated",
                               found=repr(known), remedy="for example (0, None)")
    if None not in known:
        raise DeclarationError(f"{where}: both bounds are known, so there is nothing to estimate", found=repr(known),
                               remedy="declare them in the schema; a bound that is to be estimated is None")


def _plan(asked: Mapping[str, Known], people: Schema, epsilon: float, tail: float, digits: int) -> _Plan:
    grid, exact_tail = candidates(digits), checked_tail(tail)
    sensitivity = BoundSensitivity(adjacency=people.adjacency, unit_is_row=people.unit.is_row, max_rows=people.unit.max_rows)
    open_sides = {name: [side for side, bound in zip(SIDES, known, strict=True) if bound is None]
                  for name, known in asked.items()}
    part = share(epsilon, sum(map(len, open_sides.values())))

    def search(name: str, side: Side) -> BoundSearch:
        other = asked[name][0 if side == "upper" else 1]
        return plan_search(side, grid, sensitivity=sensitivity, epsilon=part, tail=exact_tail, other=other,
                           miss=(1 - PROBABILITY) / len(open_sides[name]))

    searches = {name: tuple(search(name, side) for side in sides) for name, sides in open_sides.items()}
    return _Plan(grid, asked, searches, Selection.calibrate(sensitivity, epsilon))


def _blank(chosen: _Plan, people: Schema, epsilon: float, tail: float, digits: int) -> SuggestedBounds:
    """The result as it will be, with zeros for what is to be drawn."""
    def column(name: str, searches: tuple[BoundSearch, ...]) -> ColumnBounds:
        lower, upper = (float(bound or 0) for bound in chosen.known[name])
        outside = max(search.outside for search in searches)
        return ColumnBounds(name, lower, upper, tuple(search.side for search in searches), outside=outside,
                            error=max(search.error for search in searches), rows_needed=len(searches) * outside + 1)

    return SuggestedBounds(
        columns=tuple(column(name, searches) for name, searches in chosen.searches.items()),
        epsilon=epsilon, tail=float(tail), digits=digits, probability=PROBABILITY, adjacency=people.adjacency,
        unit=people.unit.to_dict(), partition=dict(people.partition), statement=chosen.whole.statement(people.unit.column),
        created=today(), library=f"noisewise {__version__}",
    )


def _check_rows(blank: SuggestedBounds, rows: int) -> None:
    """B3. Only where the number of rows is public may anything depend on it."""
    needed = max(column.rows_needed for column in blank.columns)
    if rows < needed:
        raise PrivacyError("so few rows cannot have bounds at this epsilon; nothing was spent",
                           found=f"{rows} rows, {needed} are needed",
                           remedy="give a larger epsilon, ask for fewer bounds, or declare bounds from public knowledge")


def _filled(blank: SuggestedBounds, chosen: _Plan, counts: Mapping[str, Counts]) -> SuggestedBounds:
    """Draw every bound."""
    def column(empty: ColumnBounds) -> ColumnBounds:
        drawn = {search.side: search.find(counts[empty.name]) for search in chosen.searches[empty.name]}
        return rounded_outwards(_apart(replace(empty, **drawn), chosen.grid))  # type: ignore[arg-type]

    return replace(blank, columns=tuple(column(empty) for empty in blank.columns))


def _apart(found: ColumnBounds, grid: Grid) -> ColumnBounds:
    """A column of one value has equal bounds: the next candidates on both sides are taken."""
    if found.lower != found.upper:
        return found
    place = int(np.searchsorted(grid, found.lower))
    return replace(found, lower=float(grid[max(place - 1, 0)]), upper=float(grid[min(place + 1, len(grid) - 1)]))
