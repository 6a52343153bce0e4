"""Parquet: a file, a directory of files, or a glob pattern.

Tasks are runs of row groups. Each reopens the file with the shared footer, because a reader belongs to one thread. Only the
wanted columns are read; the bytes of others are skipped. Memory does not depend on the size of row groups: it holds a batch and a
few pages of each column, about 5 MB per column and thread with the usual pages of 1 MB.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from noisewise.data.exact import BLOCK_ROWS
from noisewise.data.sources.base import BATCH_ROWS, Task, TypedSource, Wanted, guarded, unique_types
from noisewise.errors import DataError

MINIMUM_TASK_ROWS: Final = 2 * BATCH_ROWS
"""Smaller row groups are read together, because opening a file costs as much as decoding a few thousand rows."""

BUFFER_BYTES: Final = 1 << 16

BATCH_CELLS: Final = 1 << 22
"""The most cells in a batch: the wider the table, the fewer rows are handed out at a time."""


@dataclass(frozen=True)
class ParquetFileFooter:
    """A file's path and footer."""

    path: Path
    metadata: pq.FileMetaData
    types: dict[str, pa.DataType]

    def row_groups(self) -> Iterator[list[int]]:
        """Runs of consecutive row groups, each with enough rows to be worth a task."""
        run: list[int] = []
        rows = 0
        for index in range(self.metadata.num_row_groups):
            run.append(index)
            rows += self.metadata.row_group(index).num_rows
            if rows >= MINIMUM_TASK_ROWS:
                yield run
                run, rows = [], 0
        if run:
            yield run


@dataclass(frozen=True)
class ParquetSource(TypedSource):
    """One or more Parquet files with the same columns."""

    description: str
    files: tuple[ParquetFileFooter, ...]
    types: dict[str, pa.DataType]

    @property
    def rows(self) -> int:
        """The number of rows, from the footers."""
        return sum(file.metadata.num_rows for file in self.files)

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """Runs of row groups."""
        return [partial(guarded, partial(_batches, file, groups, tuple(wanted)), f"Parquet file {file.path}")
                for file in self.files for groups in file.row_groups()]


def open_parquet(pattern: str) -> ParquetSource:
    """Open a file, all ``*.parquet`` files below a directory, or the files that match a glob, sorted by name."""
    paths = _paths(pattern)
    description = f"Parquet {'file' if len(paths) == 1 else 'files'} {pattern}"
    files = tuple(_footer(path) for path in paths)
    for file in files[1:]:
        _require_same_columns(files[0], file)
    return ParquetSource(description, files, files[0].types)


def _paths(pattern: str) -> list[Path]:
    if os.path.isdir(pattern):
        found = [path for path in Path(pattern).rglob("*.parquet") if not _hidden(path.relative_to(pattern))]
    elif os.path.exists(pattern):
        found = [Path(pattern)]
    else:
        found = [Path(path) for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
    if not found:
        raise DataError("there is no Parquet file to read", found=pattern,
                        remedy="give a .parquet file, or a directory or pattern with at least one")
    return sorted(found)


def _hidden(path: Path) -> bool:
    """True for names under which writers leave markers and unfinished files."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _footer(path: Path) -> ParquetFileFooter:
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            schema = file.schema_arrow
            metadata = file.metadata
    except (pa.ArrowException, OSError) as error:
        raise DataError("the file cannot be read as Parquet", found=str(path),
                        remedy="check that it is a complete Parquet file and that you have permission to read it") from error
    return ParquetFileFooter(path, metadata, unique_types(zip(schema.names, schema.types, strict=True), str(path)))


def _require_same_columns(first: ParquetFileFooter, other: ParquetFileFooter) -> None:
    for name in (*first.types, *other.types):
        mine, theirs = first.types.get(name), other.types.get(name)
        if mine != theirs:
            raise DataError("all Parquet files must have the same columns with the same types",
                            found=f"column '{name}' is {mine or 'absent'} in {first.path} and {theirs or 'absent'} in "
                            f"{other.path}", remedy="rewrite one of them, or use a pattern that excludes it")


def _batches(file: ParquetFileFooter, groups: list[int], wanted: tuple[Wanted, ...]) -> Iterator[pa.RecordBatch]:
    texts = (pa.string(), pa.large_string())
    dictionaries = [column.name for column in wanted if column.role == "level" and file.types[column.name] in texts]
    # Read in small pieces. With pre_buffer, or without a buffer, the columns of a whole row group would be held in memory.
    with pq.ParquetFile(file.path, metadata=file.metadata, pre_buffer=False, buffer_size=BUFFER_BYTES,
                        read_dictionary=dictionaries) as reader:
        yield from reader.iter_batches(batch_size=_batch_rows(len(wanted)), row_groups=groups, use_threads=False,
                                       columns=[column.name for column in wanted])


def _batch_rows(columns: int) -> int:
    """Rows per batch: whole blocks of `BLOCK_ROWS`, at least one.

    >>> _batch_rows(20), _batch_rows(100), _batch_rows(1000)
    (65536, 40960, 8192)
    """
    return min(BATCH_ROWS, max(1, BATCH_CELLS // columns // BLOCK_ROWS) * BLOCK_ROWS)
