"""The neighbours that a guarantee is about: tables that differ in one privacy unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from noisewise.errors import PrivacyError
from noisewise.schema.schema import ADJACENCIES


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """What one privacy unit is, and how neighbouring tables differ in it.

    Attributes:
        adjacency: "replace-one" or "add-remove".
        unit_is_row: whether the privacy unit is a row, or the rows that share a value of a unit column.
        max_rows: the most rows a unit may have.
    """

    adjacency: str
    unit_is_row: bool
    max_rows: int = 1

    def words(self, unit: str | None) -> str:
        """The beginning of a sentence about them; `unit` names the unit column, if any."""
        if self.unit_is_row:
            who = "any one row"
        else:
            of = f"any one value of {unit}" if unit else "any one unit"
            rows = "row" if self.max_rows == 1 else "rows"
            who = f"all rows of {of} (at most {self.max_rows} {rows})"
        change = "Replacing" if self.adjacency == "replace-one" else "Adding or removing"
        return f"{change} {who}"


def check_adjacency(adjacency: str) -> None:
    """Refuse an unknown adjacency."""
    if adjacency not in ADJACENCIES:
        raise PrivacyError("adjacency must be replace-one or add-remove", found=repr(adjacency),
                           remedy='declare adjacency = "replace-one" (n is public) or "add-remove" (n is private)')


def check_unit(max_rows: int, unit_is_row: bool) -> None:
    """Refuse an impossible maximum of rows per unit."""
    if max_rows < 1 or (unit_is_row and max_rows != 1):
        raise PrivacyError("max_rows must be >= 1, and exactly 1 if the unit is the row",
                           found=f"max_rows={max_rows}, unit_is_row={unit_is_row}",
                           remedy='declare unit = "row", or a unit column with max_rows >= 1')


def checked_norm_bound(value: float) -> Fraction:
    """The norm bound as an exact number; refused unless positive and finite."""
    if not (math.isfinite(value) and value > 0):
        raise PrivacyError("norm_bound must be positive and finite", found=repr(value), remedy="declare a positive number")
    return Fraction(value)
