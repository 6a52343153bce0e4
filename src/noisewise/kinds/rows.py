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
    """Noisy rows, in a Parquet file next to the release file. Far less precise than other kinds at the same epsilon.

    ``copies`` of each row share the budget, and ``shares`` divides it among the columns: ``{"age": 2}`` gives age twice the share
    of any other column. ``mechanism`` is ``"gaussian"`` (the default with a delta) or ``"laplace"``.

    >>> Rows(copies=2, shares={"age": 2}).to_dict()
    {'name': 'rows', 'copies': 2, 'shares': {'age': 2.0}}
    """

    name: ClassVar[str] = "rows"
    purpose: ClassVar[str] = "noisy rows, for those who need rows"
    use: ClassVar[str] = function("fit") + " fits linear regressions to a single such release"
    needs_file: ClassVar[bool] = True

    copies: int = 1
    shares: Mapping[str, float] | None = None
    mechanism: str | None = None

    def __post_init__(self) -> None:
        require(is_whole(self.copies, 1, MOST_COPIES), f"copies must be a whole number from 1 to {MOST_COPIES}", self.copies,
                leave_out("copies") + " for one", "copies")
        check_mechanism(self.mechanism, '"laplace"')
        if self.shares is None:
            return
        require(isinstance(self.shares, Mapping), "shares must map columns to their shares of the budget", self.shares,
                "for example " + option("shares", {"age": 2}), "shares")
        for column, weight in self.shares.items():
            require(isinstance(column, str) and is_finite_number(weight) and weight > 0,
                    "a share must be a positive number; columns without one have 1", {column: weight},
                    "a column with twice the share has about half the noise", "shares")
        shares = Options({column: float(self.shares[column]) for column in sorted(self.shares)})
        require(max(1.0, *shares.values()) <= FARTHEST * min(1.0, *shares.values()),
                f"one share can be at most {FARTHEST:g} times another", dict(shares), "use less extreme shares", "shares")
        object.__setattr__(self, "shares", shares)

    @property
    def variant(self) -> str:
        """The name, with the number of copies if there are several."""
        return self.name + (f", {self.copies} copies" if self.copies > 1 else "")

    def title(self, schema: Schema) -> str:
        """The number of columns, and of copies if there are several."""
        columns = f"{len(schema.names)} {'column' if len(schema.names) == 1 else 'columns'}"
        return columns + (f", {self.copies} copies" if self.copies > 1 else "")
