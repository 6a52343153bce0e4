"""Write tables to CSV or Parquet files, block by block, each file completely or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from noisewise.errors import ResultError
from noisewise.run import DEFAULT, Run
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheet programs treat a cell that starts like this as a formula, and run it when they open a CSV file."""
FORMATS: Final = ("parquet", "csv")


def harmless(name: str) -> str:
    """Return text that no spreadsheet program treats as a formula.

    >>> harmless("=1+1"), harmless("age")
    ("'=1+1", 'age')
    """
    return f"'{name}" if name.lstrip(" ").startswith(FORMULA_STARTS) else name


def write_csv(path: str | os.PathLike[str], batches: Iterator[pa.RecordBatch]) -> Path:
    """Write the rows to a CSV file, completely or not at all, every number with all its digits.

    An apostrophe is put before any column name or text that a spreadsheet program would treat as a formula.
    """
    from pyarrow import csv

    return _write(path, map(_harmless_batch, batches), csv.CSVWriter)


def write_parquet(path: str | os.PathLike[str], batches: Iterator[pa.RecordBatch]) -> Path:
    """Write the rows to a Parquet file, completely or not at all."""
    from pyarrow import parquet

    return _write(path, batches, parquet.ParquetWriter)


def write_tables(folder: str | os.PathLike[str], tables: Sequence[Callable[[], Iterator[pa.RecordBatch]]], format: str,
                 run: Run = DEFAULT) -> list[Path]:
    """Write all tables or none: one file each, numbered from 1, in a folder that is created if needed."""
    if format not in FORMATS:
        raise ResultError("format must be parquet or csv", found=repr(format))
    target = Path(folder)
    digits = max(len(str(len(tables))), 2)
    paths = [target / f"synthetic-{number:0{digits}d}.{format}" for number in range(1, len(tables) + 1)]
    was_there = target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError("the folder could not be created", found=f"{folder}: {error.strerror or error}",
                          remedy="choose another folder") from error
    taken = next(target.glob("synthetic-*.*"), None)
    if taken is not None:
        raise ResultError("the folder already holds synthetic tables, and two sets could be mixed up", found=str(taken),
                          remedy="choose an empty folder")
    write = write_csv if format == "csv" else write_parquet
    try:
        with run.bar("Writing tables", "tables") as tick:
            for number, (path, table) in enumerate(zip(paths, tables, strict=True), start=1):
                write(path, table())
                tick(number, len(paths))
    except BaseException:  # an incomplete set could be mistaken for a complete one
        for path in paths:
            path.unlink(missing_ok=True)
        if not was_there:
            with contextlib.suppress(OSError):
                target.rmdir()
        raise
    return paths


def _harmless_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    def quoted(column: pa.Array) -> pa.Array:
        encoded = column.dictionary_encode()
        return pa.array(map(harmless, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)

    columns = [quoted(column) if pa.types.is_string(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=list(map(harmless, batch.schema.names)))


def _write(path: str | os.PathLike[str], batches: Iterable[pa.RecordBatch], opened: Callable[[Any, Any], Any]) -> Path:
    try:
        remaining = iter(batches)
        first = next(remaining)
        with whole_file(path) as file, opened(file, first.schema) as writer:
            for batch in chain([first], remaining):
                writer.write_batch(batch)
    except OSError as error:
        raise ResultError("the table could not be written; a file that was there before is unchanged",
                          found=f"{os.fspath(path)!r}: {error.strerror or error}", remedy="choose another folder") from error
    return Path(path)
