"""The Parquet file of a release of kind rows: written in batches, and read only if it is the file that the release states.

Whoever wrote the release file wrote this file too, so nothing in it is trusted. Its type, size and digest are checked before it
is opened, then its columns, its number of rows and its cells. Pages are not compressed, so none is larger than its part of the
file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import ReleaseError, ReleaseFormatError, ReleaseWriteError
from noisewise.releases.checks import require
from noisewise.releases.contents.rows import COPY, MOST_CELLS, RowsContribution, RowsFile, ScaledRows
from noisewise.schema.columns import Categorical, Level, Numeric
from noisewise.schema.schema import Schema
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CELL_GRID: Final = 2.0**-20
"""Scaled cells and their noise are integer multiples of this."""

GROUP_ROWS: Final = 2**17
BATCH_ROWS: Final = 2**16
_PIECE: Final = 2**20

Grid = npt.NDArray[np.int64]


def arrow_schema(schema: Schema, copies: int) -> pa.Schema:
    """The columns of the file: those declared, and the number of the copy if there are several copies."""
    import pyarrow as pa

    fields = [pa.field(column.name, pa.float64() if isinstance(column, Numeric) else level_type(cast(Categorical, column)),
                       nullable=False) for column in schema.columns]
    return pa.schema([*fields, *([pa.field(COPY, pa.int32(), nullable=False)] if copies > 1 else [])])


def level_values(column: Categorical) -> list[Level]:
    """The levels as stored in the file: unchanged if all are of one type, otherwise as text."""
    return list(column.levels) if len({type(level) for level in column.levels}) == 1 else [str(level) for level in column.levels]


def level_type(column: Categorical) -> pa.DataType:
    """The type of a category in the file."""
    import pyarrow as pa

    kind = type(level_values(column)[0])
    return {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}.get(kind, pa.dictionary(pa.int32(), pa.string()))


class RowsWriter:
    """Writes noisy rows, given as integers of shape (rows, copies, columns): numeric columns first, then codes of categories."""

    def __init__(self, path: Path, schema: Schema, copies: int) -> None:
        import pyarrow.parquet as pq

        self._schema, self._copies = schema, copies
        self._arrow = arrow_schema(schema, copies)
        categories = [column.name for column in schema.columns if isinstance(column, Categorical)]
        self._writer = pq.ParquetWriter(path, self._arrow, compression="none", use_dictionary=categories, write_statistics=False,
                                        store_schema=True)

    def __enter__(self) -> RowsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, rows: Grid) -> None:
        """Append rows."""
        at_once = max(1, GROUP_ROWS // self._copies)
        for start in range(0, len(rows), at_once):
            self._writer.write_batch(self._batch(rows[start:start + at_once]))

    def _batch(self, rows: Grid) -> pa.RecordBatch:
        import pyarrow as pa

        cells = rows.reshape(-1, rows.shape[2]).T
        order = [column.name for column in in_file_order(self._schema)]
        arrays = [_column(column, cells[order.index(column.name)]) for column in self._schema.columns]
        if self._copies > 1:
            arrays.append(pa.array(np.tile(np.arange(1, self._copies + 1, dtype=np.int32), len(rows))))
        return pa.RecordBatch.from_arrays(arrays, schema=self._arrow)


def in_file_order(schema: Schema) -> list[Numeric | Categorical]:
    """The columns in the order in which they are perturbed and shuffled: numeric ones first, then categories."""
    return [*(column for column in schema.columns if isinstance(column, Numeric)),
            *(column for column in schema.columns if isinstance(column, Categorical))]


def _column(column: Any, cells: Grid) -> pa.Array:
    import pyarrow as pa

    if isinstance(column, Numeric):
        return pa.array(column.centre + column.half_width * (cells * CELL_GRID))
    values, kind = level_values(column), level_type(column)
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array(cells.astype(np.int32)), pa.array(values, pa.string()))
    return pa.array(values, kind).take(pa.array(cells))


def describe_file(path: Path, name: str) -> RowsFile:
    """The name, size and digest of a file on disk."""
    with path.open("rb") as file:
        return RowsFile(name, os.fstat(file.fileno()).st_size, _digest(file))


def read_batches(release: RowsContribution) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a release in the units of the table, after all checks."""
    import pyarrow as pa

    expected = arrow_schema(release.schema, release.copies)
    done = 0
    with _opened(release) as file:
        try:
            parquet = _parquet(file, release, expected)
            for batch in parquet.iter_batches(BATCH_ROWS, use_threads=False):
                batch = batch.cast(expected) if batch.schema != expected else batch
                _check_cells(release, batch, done)
                done += batch.num_rows
                yield batch
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(release, type(error).__name__) from None
    if done != release.table_rows:
        raise _damaged(release, f"{done} rows where {release.table_rows} are stated")


def read_table(release: RowsContribution) -> pa.Table:
    """Read all rows into memory."""
    import pyarrow as pa

    _check_memory(release)
    return pa.Table.from_batches(list(read_batches(release)), arrow_schema(release.schema, release.copies)).unify_dictionaries()


def read_scaled(release: RowsContribution) -> ScaledRows:
    """Read all rows into memory, as scaled numbers and codes."""
    _check_memory(release)
    count = release.table_rows
    numbers = {name: np.empty(count) for name in release.numbers}
    codes = {name: np.empty(count, dtype=np.int32) for name in release.levels}
    done = 0
    for batch in read_batches(release):
        place = slice(done, done + batch.num_rows)
        for name, cells in numbers.items():
            cells[place] = _scaled(release.schema.column(name), batch.column(name))
        for name, levels in codes.items():
            levels[place] = _codes(release.schema.column(name), batch.column(name))
        done += batch.num_rows
    shape = (cast(int, release.rows), release.copies)
    stacked = np.empty((release.copies, shape[0], len(numbers)))
    for number, cells in enumerate(numbers.values()):
        stacked[:, :, number] = cells.reshape(shape).T
    noise = release.numbers
    return ScaledRows(
        names=tuple(noise), numbers=stacked, noise=np.array([one.scale for one in noise.values()]),
        laplace=release.mechanism != "gaussian", codes={name: levels.reshape(shape).T.copy() for name, levels in codes.items()},
        keep={name: one.keep for name, one in release.levels.items()},
    )


def bring_rows(release: RowsContribution, target: Path) -> None:
    """Make sure that the file of rows is next to the release file to be written; an existing file must be the right one."""
    there = target.absolute().parent / release.file.name
    if there.exists():
        with _opened(release.placed_at(target)):
            return
    with _opened(release) as source:
        try:
            with whole_file(there) as copy:
                shutil.copyfileobj(source, copy, _PIECE)
        except OSError as error:
            raise ReleaseWriteError("the file of rows could not be copied to the folder of the release file",
                                    found=f"{there.name}: {error.strerror}",
                                    remedy="free some space or choose another folder") from error


@contextlib.contextmanager
def _opened(release: RowsContribution) -> Iterator[IO[bytes]]:
    """Open the file of rows, if it is the one that the release states."""
    path = release.rows_path
    stated = release.file
    try:
        found = path.stat()  # before opening: a pipe would block
    except OSError as error:
        raise ReleaseError("the rows of a release are in a separate file, which must be next to the release file",
                           found=f"{stated.name}: {error.strerror}", remedy="get this file too, and put it there") from None
    require(stat.S_ISREG(found.st_mode), "the rows of a release must be in a regular file", stated.name)
    if found.st_size != stated.bytes:
        raise _other(release, "a different size")
    try:
        file = path.open("rb")
    except OSError as error:
        raise ReleaseError("the file of rows cannot be read", found=f"{stated.name}: {error.strerror}") from None
    with file:
        if os.fstat(file.fileno()).st_size != stated.bytes or _digest(file, stated.bytes) != stated.sha256:
            raise _other(release, "a different SHA-256 digest")
        file.seek(0)
        yield file


def _digest(file: IO[bytes], limit: int | None = None) -> str:
    digest, left = hashlib.sha256(), limit
    while piece := file.read(_PIECE if left is None else min(_PIECE, left + 1)):
        digest.update(piece)
        left = None if left is None else max(0, left - len(piece))
    return digest.hexdigest()


def _parquet(file: IO[bytes], release: RowsContribution, expected: pa.Schema) -> pq.ParquetFile:
    """Open the Parquet file, if its footer agrees with the release."""
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(file, thrift_string_size_limit=10**7, thrift_container_size_limit=10**7)
    if not parquet.schema_arrow.remove_metadata().equals(expected, check_metadata=False):
        raise _damaged(release, "columns or types that differ from those declared")
    if parquet.metadata.num_rows != release.table_rows:
        raise _damaged(release, f"{parquet.metadata.num_rows} rows where {release.table_rows} are stated")
    for group in range(parquet.metadata.num_row_groups):
        chunks = parquet.metadata.row_group(group)
        if any(chunks.column(place).compression != "UNCOMPRESSED" for place in range(chunks.num_columns)):
            raise _damaged(release, "compressed columns, which this library neither writes nor reads")
    return parquet


def _check_cells(release: RowsContribution, batch: pa.RecordBatch, done: int) -> None:
    """Refuse missing or infinite cells, undeclared levels and copies that are not numbered in turn."""
    if any(column.null_count for column in batch.columns):
        raise _damaged(release, "missing cells")
    for column in release.schema.columns:
        if isinstance(column, Numeric):
            fits = bool((np.abs(_scaled(column, batch.column(column.name))) <= 2.0**100).all())
        else:
            fits = bool((_codes(column, batch.column(column.name)) >= 0).all())
        if not fits:
            raise _damaged(release, f"impossible values in '{column.name}'")
    if release.copies > 1:
        numbered = (np.arange(done, done + batch.num_rows) % release.copies) + 1
        if not np.array_equal(batch.column(COPY).to_numpy(zero_copy_only=False), numbered):
            raise _damaged(release, "copies that are not numbered in turn")


def _scaled(column: Any, cells: pa.Array) -> Array:
    """Scaled cells, rounded back to the grid on which they were made."""
    with np.errstate(all="ignore"):
        values = (cells.to_numpy(zero_copy_only=False) - column.centre) / column.half_width
        return np.asarray(np.rint(values / CELL_GRID) * CELL_GRID)


def _codes(column: Any, cells: pa.Array) -> npt.NDArray[np.int32]:
    """The index of each cell's level among those declared; -1 for any other value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = level_type(column)
    if not pa.types.is_dictionary(kind):
        found = pc.index_in(cells, value_set=pa.array(level_values(column), kind))
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)
    of_dictionary = pc.index_in(cells.dictionary, value_set=pa.array(level_values(column), pa.string()))
    table = np.append(of_dictionary.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
    places = cells.indices.to_numpy(zero_copy_only=False)
    return np.asarray(table[np.where((places >= 0) & (places < len(table) - 1), places, -1)])


def _check_memory(release: RowsContribution) -> None:
    cells = release.table_rows * len(release.columns)
    require(cells <= MOST_CELLS, f"at most {MOST_CELLS} cells can be read into memory", cells,
            "read the rows in batches: release.contents.batches()")


def _other(release: RowsContribution, found: str) -> ReleaseFormatError:
    return ReleaseFormatError(f"{release.file.name}: the file of rows is not the one made with the release", found=found,
                              remedy="get the file again from the source of the release")


def _damaged(release: RowsContribution, found: str) -> ReleaseFormatError:
    return ReleaseFormatError(f"{release.file.name}: the file of rows does not match the release", found=found,
                              remedy="these files were not made with this library: ask whoever made them")
