"""The interface between sources of rows and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import pyarrow as pa

from noisewise.errors import DataError
from noisewise.run import Run
from noisewise.schema.columns import Level

if TYPE_CHECKING:
    from noisewise.data.exact import ExactSum

Sum = TypeVar("Sum", bound="ExactSum")
Made = TypeVar("Made", covariant=True)

BATCH_ROWS: Final = 65_536
"""Rows to hand out at a time: enough for speed, few enough for the cache."""

TASK_ROWS: Final = 4 * BATCH_ROWS
"""The size of the tasks into which rows in memory are split for threads."""

Role: TypeAlias = Literal["number", "level", "unit"]
Task: TypeAlias = "Callable[[], Iterator[pa.RecordBatch]]"
Record: TypeAlias = tuple[int, int, bytes]
"""What one machine sends to another: a bucket (one machine gets all records of a bucket), a key within it, and bytes."""
Deal: TypeAlias = "Callable[[int, Iterator[pa.RecordBatch]], Iterator[Record]]"
"""From the number of a piece of the table and its rows to records."""
Gather: TypeAlias = "Callable[[Iterator[Record]], Iterator[Record]]"
"""From the records of some buckets to records for the driver."""


@dataclass(frozen=True)
class Wanted:
    """A column that a statistic needs, and its role.

    ``levels`` are the declared levels as strings: in a format without types they never mean "missing". ``declared`` are the
    levels themselves, for checking from the type of a column that some can occur in it.
    """

    name: str
    role: Role
    levels: frozenset[str] = frozenset()
    declared: tuple[Level, ...] = ()


class Source(Protocol):
    """A table of rows that can be read in batches.

    A source never fails because of a value in a cell. Tasks are independent and may run in threads. Their order is the order of
    the rows.
    """

    @property
    def description(self) -> str:
        """The source, for messages: its type and path, never a value."""
        ...

    @property
    def rows(self) -> int | None:
        """The number of rows, if known before reading."""
        ...

    @property
    def untyped(self) -> frozenset[str]:
        """Columns whose type says nothing about their cells (CSV, Python objects). They are read in whatever role is wanted."""
        ...

    @property
    def header_is_text(self) -> bool:
        """True if the names come from a line of text, which would be someone's row if there were no header."""
        ...

    def column_types(self) -> Mapping[str, pa.DataType]:
        """Every column with its Arrow type, in order."""
        ...

    def tasks(self, wanted: Sequence[Wanted]) -> Sequence[Task]:
        """The rows, in independent pieces. Each yields record batches with the wanted columns."""
        ...


class TypedSource:
    """The base class of sources whose columns have types, and names that do not come from a line of text."""

    types: dict[str, pa.DataType]
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False

    def column_types(self) -> dict[str, pa.DataType]:
        """Every column with its Arrow type, in order."""
        return dict(self.types)


@runtime_checkable
class UnorderedSource(Source, Protocol):
    """A source that may return rows in a different order each time, or in one that depends on other rows."""

    def with_few_rows_of_each(self, unit: str, max_rows: int, wanted: Sequence[Wanted]) -> Self:
        """The same source with at most ``max_rows`` rows of each unit.

        The choice must depend only on the wanted cells of that unit's rows, not on their order or on other units.
        """
        ...


class Worker(Protocol[Made]):
    """Sums up the rows it is given. It can be sent to another machine."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        ...

    def result(self) -> Made:
        """The sum over all rows added."""
        ...


@runtime_checkable
class ClusterSource(UnorderedSource, Protocol):
    """Rows on many machines, which sum them up. Its tasks bring the rows here, for code that must see all of them."""

    def exchange(self, wanted: Sequence[Wanted], deal: Deal, gather: Gather, *, in_order: bool,
                 run: Run) -> list[Record]:
        """Deal out the rows of each piece of the table where they are, bring the records of each bucket to one machine, gather
        them there, and return the results. With ``in_order``, records arrive in the order of buckets, and of keys within."""
        ...


def slices(rows: int, size: int = TASK_ROWS) -> Iterator[tuple[int, int]]:
    """Consecutive ranges that cover ``rows``.

    >>> list(slices(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, rows, size):
        yield start, min(start + size, rows)


def guarded(read: Task, description: str) -> Iterator[pa.RecordBatch]:
    """The batches of a task. Replaces a reader's own error, which may quote the data, with one that does not."""
    try:
        yield from read()
        return
    except (pa.ArrowException, OSError):
        pass
    # Raised outside the handler, so that the reader's message is not even attached.
    raise DataError("the data could not be read to the end", found=description,
                    remedy="check that the file is complete and readable; nothing was released")


def other_number_of_rows(consequence: str = "nothing was released") -> DataError:
    """The error for a table that changed between two readings."""
    return DataError("the table must have the same number of rows each time it is read", found="a different number",
                     remedy=f"release a table that nobody is writing to; {consequence}")


def needed(module: str, package: str, extra: str, purpose: str) -> ModuleType:
    """A module of an optional package."""
    try:
        return import_module(module)
    except ImportError:
        raise DataError(f"{purpose} requires the package {package}", found="it is not installed",
                        remedy=f"install {extra}") from None


def unique_types(pairs: Iterable[tuple[str, pa.DataType]], description: str) -> dict[str, pa.DataType]:
    """Columns by name. Refuses two of the same name."""
    types: dict[str, pa.DataType] = {}
    for name, kind in pairs:
        if name in types:
            raise DataError(f"two columns are called '{name}'", found=description, remedy="rename one of them")
        types[name] = kind
    return types


def unusable(name: str) -> pa.DataType:
    """An Arrow type that represents one that Arrow lacks, and shows its name."""
    return pa.struct([pa.field(name, pa.null())])
