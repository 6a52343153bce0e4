"""The plan of a `Bounds` release: reads columns, suggests bounds.

Use it for columns whose bounds nobody knows. Bounds looked up in the rows leak; these are paid for from the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder.plan import Plan, blank_release, head, protected, public_rows
from noisewise.kinds import Bounds
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms import bounds as mechanisms
from noisewise.privacy.mechanisms.bounds import PROBABILITY, BoundSearch, Grid, Selection, Side
from noisewise.privacy.sensitivity.bounds import BoundSensitivity, Counts
from noisewise.releases.contents.bounds import BoundsContribution, ColumnBounds, rounded_outwards
from noisewise.run import Run
from noisewise.schema import Schema
from noisewise.schema.columns import Categorical
from noisewise.words import leave_out


@dataclass(frozen=True)
class BoundsPlan(Plan[Selection]):
    """A search for each bound, with an equal share of epsilon."""

    grid: Grid
    searches: Mapping[str, tuple[BoundSearch, ...]]

    def cost(self) -> Cost:
        """The cost of all searches together."""
        return mechanisms.cost_of(self.mechanism.epsilon, (search for found in self.searches.values() for search in found))

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], BoundsContribution]:
        """Count the values between candidates; refuse too few rows if their number is public."""
        from noisewise.data.statistics.bounds import grid_counts

        schema, one = self.blank.schema, self.blank.contents
        found = grid_counts(data, list(self.searches), self.grid, schema.unit, run=run)
        if schema.rows_are_public:
            _check_rows(one, found.rows)
        return lambda: replace(self._filled(one, found.columns), rows=public_rows(schema, found.rows))

    def _filled(self, one: BoundsContribution, counts: Mapping[str, Counts]) -> BoundsContribution:
        """Draw every bound."""
        def column(empty: ColumnBounds) -> ColumnBounds:
            drawn = {search.side: search.find(counts[empty.name]) for search in self.searches[empty.name]}
            return rounded_outwards(_apart(replace(empty, **drawn), self.grid))  # type: ignore[arg-type]

        return replace(one, columns=tuple(column(empty) for empty in one.columns))


def plan(kind: Bounds, schema: Schema, epsilon: float, delta: float | None) -> BoundsPlan:
    """Plan the release."""
    for name in kind.of:
        if isinstance(schema.column(name), Categorical):
            raise DeclarationError(f"bounds are estimated for numeric columns; column '{name}' has levels", found=repr(name),
                                   remedy='declare it with bounds = "unknown" if it is a number')
    if delta is not None:
        raise PrivacyError("a bounds release is pure epsilon and takes no delta", argument="delta", found=repr(delta),
                           remedy=leave_out("delta"))
    grid, tail = mechanisms.candidates(kind.digits), mechanisms.checked_tail(kind.tail)
    sensitivity = BoundSensitivity(**protected(schema))
    open_sides = {name: [side for side, bound in zip(mechanisms.SIDES, known, strict=True) if bound is None]
                  for name, known in kind.of.items()}
    part = mechanisms.share(epsilon, sum(map(len, open_sides.values())))

    def search(name: str, side: Side) -> BoundSearch:
        other = kind.of[name][0 if side == "upper" else 1]
        return mechanisms.plan_search(side, grid, sensitivity=sensitivity, epsilon=part, tail=tail, other=other,
                                      miss=(1 - PROBABILITY) / len(open_sides[name]))

    searches = {name: tuple(search(name, side) for side in sides) for name, sides in open_sides.items()}

    def column(name: str) -> ColumnBounds:
        lower, upper = (float(bound or 0) for bound in kind.of[name])
        outside = max(search.outside for search in searches[name])
        return ColumnBounds(name, lower, upper, tuple(search.side for search in searches[name]), outside=outside,
                            error=max(search.error for search in searches[name]), rows_needed=len(searches[name]) * outside + 1)

    mechanism = Selection.calibrate(sensitivity, epsilon)
    one = BoundsContribution(columns=tuple(column(name) for name in kind.of), probability=PROBABILITY,
                             **head(mechanism, schema, float(sensitivity.score)))
    return BoundsPlan(mechanism, blank_release(kind, schema, one), grid, searches)


def _check_rows(blank: BoundsContribution, rows: int) -> None:
    """Check B3 of privacy/sensitivity/bounds.md. Only for a public number of rows, because the error reveals it."""
    needed = max(column.rows_needed for column in blank.columns)
    if rows < needed:
        raise PrivacyError("too few rows to estimate bounds at this epsilon; nothing was spent",
                           found=f"{rows} rows; {needed} are needed",
                           remedy="give a larger epsilon, ask for fewer bounds, or declare bounds from public knowledge")


def _apart(found: ColumnBounds, grid: Grid) -> ColumnBounds:
    """Move equal bounds apart (the column has a single value): take the next candidate on either side."""
    if found.lower != found.upper:
        return found
    place = int(np.searchsorted(grid, found.lower))
    return replace(found, lower=float(grid[max(place - 1, 0)]), upper=float(grid[min(place + 1, len(grid) - 1)]))
