"""`Rows`: every row of the table, with noise in each cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from noisewise.checks import is_whole
from noisewise.kinds.kind import Kind, Options, check_mechanism, require
from noisewise.schema.columns import is_finite_number
from noisewise.schema.schema import Schema
from noisewise.words import function, leave_out, option

MOST_COPIES: Final = 1000
FARTHEST: Final = 1e12
"""The largest ratio of two shares."""


@dataclass(frozen=True)
class Rows(Kind):
    """Noisy rows, in a Parquet file beside the release file: far less precise than other kinds at the same epsilon.

    ``copies`` of each row share the budget, and ``shares`` says how the columns divide it: ``{"age": 2}`` is twice the share of
    any other column. ``mechanism`` is ``"gaussian"`` (the default with a delta) or ``"laplace"``.

    >>> Rows(copies=2, shares={"age": 2}).to_dict()
    {'name': 'rows', 'copies': 2, 'shares': {'age': 2.0}}
    """

    name: ClassVar[str] = "rows"
    purpose: ClassVar[str] = "noisy rows, for whoever must have rows"
    use: ClassVar[str] = function("fit") + " fits linear regressions to one such release by itself"
    needs_file: ClassVar[bool] = True

    copies: int = 1
    shares: Mapping[str, float] | None = None
    mechanism: str | None = None

    def __post_init__(self) -> None:
        require(is_whole(self.copies, 1, MOST_COPIES), f"copies is a whole number from 1 to {MOST_COPIES}", self.copies,
                leave_out("copies") + " for one", "copies")
        check_mechanism(self.mechanism, '"laplace"')
        if self.shares is None:
            return
        require(isinstance(self.shares, Mapping), "shares says each column's share of the budget", self.shares,
                "for example " + option("shares", {"age": 2}), "shares")
        for column, weight in self.shares.items():
            require(isinstance(column, str) and is_finite_number(weight) and weight > 0,
                    "a share is a positive number, relative to those of other columns, which have 1", {column: weight},
                    "a column with twice the share has about half the noise", "shares")
        shares = Options({column: float(self.shares[column]) for column in sorted(self.shares)})
        require(max(1.0, *shares.values()) <= FARTHEST * min(1.0, *shares.values()),
                f"one share is at most {FARTHEST:g} times another", dict(shares), "make them more alike", "shares")
        object.__setattr__(self, "shares", shares)

    @property
    def variant(self) -> str:
        return self.name + (f", {self.copies} copies" if self.copies > 1 else "")

    def title(self, schema: Schema) -> str:
        columns = f"{len(schema.names)} {'column' if len(schema.names) == 1 else 'columns'}"
        return columns + (f", {self.copies} copies" if self.copies > 1 else "")
