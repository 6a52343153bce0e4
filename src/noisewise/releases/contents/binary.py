"""The contents of a `Binary` release: the number of ones in each copy of the synthetic rows, and how to interpret it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, Unpack

from noisewise.errors import ReleaseError
from noisewise.kinds import Binary
from noisewise.kinds.binary import MOST_COPIES
from noisewise.releases.checks import require, settle, whole_number
from noisewise.releases.contribution import Contribution, StoredHead
from noisewise.releases.fields import RecordFields, items, shape
from noisewise.releases.promises import check_pure
from noisewise.schema.basis import BasisColumn
from noisewise.schema.columns import Categorical, Level
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BinaryContribution(Contribution):
    """Copies of synthetic rows of a column with two levels.

    ``counts`` says how many of the ``synthetic_rows`` rows in each copy have the second level. ``alpha`` pseudo-rows of each
    level were added before the copies were drawn. ``sensitivity`` is that of a count.
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("BinaryFields", alpha=int, counts=items(int))

    column: str
    levels: tuple[Level, Level]
    synthetic_rows: int
    counts: tuple[int, ...]
    alpha: int

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, whole_number, "synthetic_rows", "alpha")
        require(1 <= len(self.counts) <= MOST_COPIES, f"the number of copies must be from 1 to {MOST_COPIES}", len(self.counts))
        object.__setattr__(self, "counts", tuple(whole_number(count, "a count", 0, self.synthetic_rows) for count in self.counts))
        require(self.delta == 0, "delta must be 0 for binary rows", self.delta)

    @property
    def copies(self) -> int:
        """The number of copies."""
        return len(self.counts)

    def check_promise(self) -> None:
        """Refuse an epsilon below the cost of the copies, each of which costs log(1 + ``synthetic_rows`` / ``alpha``)."""
        check_pure(self.copies * math.log1p(self.synthetic_rows / self.alpha), self.epsilon)

    def check(self, kind: Binary, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse a column, levels, or numbers of copies and rows that differ from the request, and any unit but a row."""
        self.check_sensitivity(1.0)
        require(schema.unit.is_row, "binary rows protect single rows, so the unit must be a row", schema.unit.to_dict())
        require(two_levels(schema, kind.column) == self.levels, "the levels must be those of the schema", self.levels)
        require((kind.column, kind.rows, kind.copies) == (self.column, self.synthetic_rows, self.copies),
                "the column and the numbers of copies and rows must match the request",
                f"{self.copies} copies of {self.synthetic_rows} rows of {self.column!r}")

    def table(self, copy: int) -> pa.Table:
        """The rows of a copy (counted from 0), first level first. Their order means nothing."""
        import pyarrow as pa

        ones = self.counts[copy]
        zero, one = self.levels if all(type(level) is type(self.levels[0]) for level in self.levels) else map(str, self.levels)
        codes = pa.array([0] * (self.synthetic_rows - ones) + [1] * ones, pa.int8())
        return pa.table({self.column: pa.DictionaryArray.from_arrays(codes, pa.array([zero, one])).dictionary_decode()})

    def fingerprint(self) -> bytes:
        """A digest of everything: a few counts alone could agree by chance with those of other rows."""
        known = [self.column, self.levels, self.synthetic_rows, self.document()]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).digest()

    def count(self) -> int:
        """The number of copies: each has one noisy count."""
        return self.copies

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: Binary, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution. Its column, levels and rows per copy come from the request; a file has the counts and alpha."""
        return cls(column=kind.column, levels=two_levels(schema, kind.column), synthetic_rows=kind.rows, alpha=contents.alpha,
                   counts=tuple(contents.counts), **head)

    def lines(self, kind: Binary, schema: Schema) -> list[tuple[str, str]]:
        """Describe the copies, the first ten counts of the second level, and the pull towards one half."""
        shown = ", ".join(f"{count:,}" for count in self.counts[:10]) + (", ..." if self.copies > 10 else "")
        copies = "copy" if self.copies == 1 else "copies"
        return [("made", f"{self.copies} {copies} of {self.synthetic_rows:,} synthetic rows of {self.column!r}"),
                (f"with {self.levels[1]!r}", shown),
                ("drawn", f"towards one half, by {self.alpha:,} pseudo-rows of each level")]

    def own_facts(self) -> dict[str, object]:
        """The column, its levels, the rows per copy, the pseudo-rows, and the count of each copy."""
        return {"column": self.column, "levels": list(self.levels), "synthetic_rows": self.synthetic_rows, **self.contents()}


def two_levels(schema: Schema, column: str) -> tuple[Level, Level]:
    """The levels of a yes-or-no column."""
    declared = schema.column(column)
    if not isinstance(declared, Categorical) or not declared.two_level:
        raise ReleaseError("binary rows require a column with two levels", found=repr(column),
                           remedy='declare levels = ["no", "yes"], or use release and synthesize for other columns')
    return declared.levels[0], declared.levels[1]


CONTRIBUTION = BinaryContribution
