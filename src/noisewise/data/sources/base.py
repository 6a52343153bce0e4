"""What every source of rows offers to the statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import pyarrow as pa

from noisewise.errors import DataError
from noisewise.run import Run
from noisewise.schema.columns import Level

if TYPE_CHECKING:
    from noisewise.data.exact import ExactSum

Sum = TypeVar("Sum", bound="ExactSum")
Made = TypeVar("Made", covariant=True)

BATCH_ROWS: Final = 65_536
"""Rows handed out at a time; large enough for speed, small enough for the cache."""

TASK_ROWS: Final = 4 * BATCH_ROWS
"""Rows in memory are split into tasks of this size for threads."""

Role: TypeAlias = Literal["number", "level", "unit"]
Task: TypeAlias = "Callable[[], Iterator[pa.RecordBatch]]"
Record: TypeAlias = tuple[int, int, bytes]
"""What one machine sends to another: a bucket, all of whose records come to one machine; a key within it; and bytes."""
Deal: TypeAlias = "Callable[[int, Iterator[pa.RecordBatch]], Iterator[Record]]"
"""From the place of a piece of the table, a whole number, and its rows to records."""
Gather: TypeAlias = "Callable[[Iterator[Record]], Iterator[Record]]"
"""From the records of some buckets to records for whoever asked."""


@dataclass(frozen=True)
class Wanted:
    """A column that a statistic needs, and what for.

    ``levels`` are the texts of the declared levels: in a format without types they are never a spelling of "missing".
    ``declared`` are the levels themselves, by which it is known from the type of a column whether any can occur in it.
    """

    name: str
    role: Role
    levels: frozenset[str] = frozenset()
    declared: tuple[Level, ...] = ()


class Source(Protocol):
    """A table of rows that can be read in batches.

    A source never fails because of a value in a cell. Tasks are independent of one another and may run in threads; their
    order is the order of the rows.
    """

    @property
    def description(self) -> str:
        """What it is, for messages: a kind and a path, never a value."""
        ...

    @property
    def rows(self) -> int | None:
        """The number of rows if it is known before reading; used for the progress bar only."""
        ...

    @property
    def untyped(self) -> frozenset[str]:
        """Columns whose type says nothing about their cells (CSV, Python objects); they are read as they are wanted."""
        ...

    @property
    def header_is_text(self) -> bool:
        """Whether the names were read from a line of text, which could be someone's row if a header was forgotten."""
        ...

    def column_types(self) -> Mapping[str, pa.DataType]:
        """Every column with its Arrow type, in order."""
        ...

    def tasks(self, wanted: Sequence[Wanted]) -> Sequence[Task]:
        """The rows, in independent pieces; each yields record batches that have the wanted columns."""
        ...


class TypedSource:
    """What sources have in common whose columns have types, and names that nobody read from a line of text."""

    types: dict[str, pa.DataType]
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False

    def column_types(self) -> dict[str, pa.DataType]:
        return dict(self.types)


@runtime_checkable
class UnorderedSource(Source, Protocol):
    """A source that may hand out rows in another order each time, or in one that depends on other rows."""

    def with_few_rows_of_each(self, unit: str, max_rows: int, wanted: Sequence[Wanted]) -> Self:
        """The same rows, but at most ``max_rows`` of each unit.

        Which of them is decided by the wanted cells of that unit's rows alone: not by their order, and not by other units.
        """
        ...


class Worker(Protocol[Made]):
    """Sums up the rows that it is given; it and what it is made of can be sent to another machine."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        ...

    def result(self) -> Made:
        """The sum over all rows that were added."""
        ...


@runtime_checkable
class ClusterSource(UnorderedSource, Protocol):
    """Rows on many machines, which are summed up there. Its tasks bring the rows here, for what must see all of them."""

    def exchange(self, wanted: Sequence[Wanted], deal: Deal, gather: Gather, *, in_order: bool,
                 run: Run) -> list[Record]:
        """Deal out the rows of each piece of the table where they are, bring the records of each bucket to one machine, gather
        them there, and return what was gathered. ``in_order``: records arrive in the order of buckets, and of keys within."""
        ...


def slices(rows: int, size: int = TASK_ROWS) -> Iterator[tuple[int, int]]:
    """Consecutive ranges that cover ``rows``.

    >>> list(slices(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, rows, size):
        yield start, min(start + size, rows)


def guarded(read: Task, description: str) -> Iterator[pa.RecordBatch]:
    """What a task reads; a reader's own error, which may quote the data, is replaced by one that does not."""
    try:
        yield from read()
        return
    except (pa.ArrowException, OSError):
        pass
    # Raised outside the handler, so that the reader's message is not even attached to it.
    raise DataError("the data could not be read to the end", found=description,
                    remedy="check that the file is complete and readable; nothing was released")


def other_number_of_rows(consequence: str = "nothing was released") -> DataError:
    """A table that was read twice and was not the same."""
    return DataError("the table must have the same number of rows each time it is read", found="another number",
                     remedy=f"release a table that nobody is writing to; {consequence}")


def needed(module: str, package: str, extra: str, use: str) -> Any:
    """A module of a package that is an extra; ``use`` says what it is for."""
    try:
        return import_module(module)
    except ImportError:
        raise DataError(f"{use} with the package {package}", found="it is not installed",
                        remedy=f"install {extra}") from None


def unique_types(pairs: Iterable[tuple[str, pa.DataType]], description: str) -> dict[str, pa.DataType]:
    """Columns by name; two of the same name are refused."""
    types: dict[str, pa.DataType] = {}
    for name, kind in pairs:
        if name in types:
            raise DataError(f"two columns are called '{name}'", found=description, remedy="rename one of them")
        types[name] = kind
    return types


def unusable(name: str) -> pa.DataType:
    """An Arrow type that stands for one that Arrow does not have; its text shows the name."""
    return pa.struct([pa.field(name, pa.null())])
