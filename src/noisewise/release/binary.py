"""Synthetic yes-or-no rows as a file: how many ones each copy has, and all that is needed to interpret it."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from noisewise.errors import NoisewiseError, ReleaseError, ReleaseFormatError
from noisewise.release.checks import check_day, number_of
from noisewise.release.json_text import parse, render, short
from noisewise.schema.columns import Categorical, Level, check_text
from noisewise.schema.schema import ADJACENCIES

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Final = "noisewise-binary"
VERSION: Final = "1.0"
SIZE_LIMIT: Final = 2**22
MOST_COPIES: Final = 10_000
LARGEST_COUNT: Final = 2**53


@dataclass(frozen=True)
class BinarySynthesis:
    """Copies of synthetic rows of a column with two levels; anyone may have them.

    ``counts``: for each copy, how many of its ``synthetic_rows`` rows have the second level. ``rows`` is the number of real rows
    where it is public, else None. ``alpha`` pseudo-rows of each level were added before the copies were drawn.
    """

    column: str
    levels: tuple[Level, Level]
    rows: int | None
    synthetic_rows: int
    counts: tuple[int, ...]
    alpha: int
    epsilon: float
    adjacency: str
    partition: dict[str, str]
    statement: str
    created: str
    library: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        object.__setattr__(self, "counts", tuple(self.counts))
        object.__setattr__(self, "epsilon", number_of(self.epsilon, "epsilon"))
        Categorical(self.column, self.levels)
        if not self.column or len(self.levels) != 2:
            raise ReleaseError("binary rows are of one column with two levels",
                               found=f"{short(self.column)}, {short(self.levels)}")
        _whole("synthetic_rows", self.synthetic_rows, 1)
        _whole("alpha", self.alpha, 1)
        if self.adjacency not in ADJACENCIES or (self.rows is None) != (self.adjacency == "add-remove"):
            raise ReleaseError("the number of rows is stated under replace-one, and not under add-remove",
                               found=f"{short(self.adjacency)}, rows {short(self.rows)}")
        if self.rows is not None:
            _whole("rows", self.rows, 0)
        if not 1 <= len(self.counts) <= MOST_COPIES:
            raise ReleaseError(f"there are between 1 and {MOST_COPIES} copies", found=str(len(self.counts)))
        for count in self.counts:
            _whole("a count", count, 0)
            if count > self.synthetic_rows:
                raise ReleaseError("a copy has no more ones than rows", found=f"{count} of {self.synthetic_rows}")
        if not self.epsilon > 0 or self.copies * math.log1p(self.synthetic_rows / self.alpha) > self.epsilon * (1 + 1e-9):
            raise ReleaseError("so few pseudo-rows do not guarantee this epsilon",
                               found=f"alpha {self.alpha} and epsilon {self.epsilon!r}", remedy="the file was changed or damaged")
        for name in ("statement", "library"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ReleaseError(f"{name} must be a text that is not empty", found=short(value))
        if not isinstance(self.partition, dict) or not all(
                isinstance(text, str) for pair in self.partition.items() for text in pair):
            raise ReleaseError("a partition has texts for names and values", found=short(self.partition))
        for text in (self.statement, self.library, *self.partition, *self.partition.values()):
            check_text(text, "a text")
        check_day(self.created)

    @property
    def copies(self) -> int:
        return len(self.counts)

    def describe(self) -> str:
        """In words: what is there, what was spent."""
        real = "a private number of rows" if self.rows is None else f"{self.rows:,} rows"
        shown = ", ".join(f"{count:,}" for count in self.counts[:10]) + (", ..." if self.copies > 10 else "")
        return "\n".join((
            f"synthetic rows of {self.column!r}: {self.copies} {'copy' if self.copies == 1 else 'copies'} of "
            f"{self.synthetic_rows:,}, made from {real}",
            f"  with {self.levels[1]!r}   {shown}",
            f"  drawn to one half by {self.alpha:,} pseudo-rows of each level",
            f"  spent        epsilon {self.epsilon!r}, delta 0",
            f"  promise      {self.statement}",
        ))

    def __repr__(self) -> str:
        return (f"<BinarySynthesis of {self.column!r}: {self.copies} {'copy' if self.copies == 1 else 'copies'} of "
                f"{self.synthetic_rows:,} rows, {self.adjacency}, epsilon {self.epsilon}>")

    def _repr_html_(self) -> str:
        from noisewise.notebook import described

        return described(self.describe())

    def table(self, copy: int) -> pa.Table:
        """The rows of a copy (from 0), the first level first: their order says nothing."""
        import pyarrow as pa

        ones = self.counts[copy]
        zero, one = self.levels if all(type(level) is type(self.levels[0]) for level in self.levels) else map(str, self.levels)
        codes = pa.array([0] * (self.synthetic_rows - ones) + [1] * ones, pa.int8())
        return pa.table({self.column: pa.DictionaryArray.from_arrays(codes, pa.array([zero, one])).dictionary_decode()})

    def document(self) -> dict[str, Any]:
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"format": FORMAT, "version": VERSION, **stated, "levels": list(self.levels), "counts": list(self.counts)}

    def fingerprints(self) -> tuple[bytes, ...]:
        """Of the whole file: a few counts alone may be those of other rows by chance."""
        return (hashlib.sha256(self.encode()).digest(),)

    def encode(self) -> bytes:
        return (render(self.document()) + "\n").encode()

    @classmethod
    def decode(cls, content: bytes) -> BinarySynthesis:
        """Read what `encode` wrote; whatever is wrong with it is one `ReleaseFormatError`."""
        stored = parse(content)
        if stored.pop("format", None) != FORMAT:
            raise ReleaseFormatError("these are no synthetic yes-or-no rows", found="another format")
        version = stored.pop("version", None)
        if version != VERSION:
            raise ReleaseFormatError(f"a file of version {VERSION} can be read", found=short(version), remedy="update noisewise")
        names = {field.name for field in fields(cls)}
        if set(stored) != names:
            raise ReleaseFormatError("the file has these fields: " + ", ".join(sorted(names)),
                                     found=short(sorted(set(stored) ^ names)))
        if not isinstance(stored["levels"], list) or not isinstance(stored["counts"], list) or len(stored["levels"]) != 2 \
                or not isinstance(stored["column"], str) or len(stored["counts"]) > MOST_COPIES:
            raise ReleaseFormatError("a column has a name, two levels and a list of counts", found=short(stored))
        try:
            return cls(**stored)
        except NoisewiseError as error:
            raise ReleaseFormatError(error.rule, found=error.found, remedy=error.remedy) from None
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise ReleaseFormatError("a field has a value of another kind", found=short(stored)) from None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file, by custom ending in ``.nwb``; an older one is replaced whole or left as it was."""
        from noisewise.release.files import write_atomically

        write_atomically(path, self.encode())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BinarySynthesis:
        """Read a file that `save` wrote. Nothing in it is run."""
        from noisewise.release.files import read

        try:
            return cls.decode(read(path, SIZE_LIMIT))
        except ReleaseFormatError as error:
            raise ReleaseFormatError(f"{os.fspath(path)}: {error.rule}", found=error.found, remedy=error.remedy) from None


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_COUNT:
        raise ReleaseError(f"{name} must be a whole number, {least} or more", found=short(value))
