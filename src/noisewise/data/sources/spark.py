"""Spark: a DataFrame (classic or Spark Connect), a table of its catalog, or files it can reach.

Rows stay on the cluster wherever sums suffice: `exchange` sends Python functions to them. It sends this package's own functions
by name, so noisewise must be installed on the workers. No cell is converted in Spark, where a conversion may fail for some cells.

Inside Spark, columns are named by position (``_0``, ``_1``, …), so that names with dots or quotes, or that differ only in case,
cause no trouble.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.types as t

from noisewise.data.sources.base import Deal, Gather, Record, Task, TypedSource, Wanted, guarded, unique_types, unusable
from noisewise.data.sources.spark_jobs import Jobs, analysed, spark_session
from noisewise.data.sources.spark_workers import RECORD, PieceReader, deal_piece, gather_buckets, pack_piece, unpacked
from noisewise.errors import DataError
from noisewise.run import Run

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession, WindowSpec

PREFIX: Final = "spark:"
PATH_ENDINGS: Final = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc"}
TEXT_ENDINGS: Final = (".csv", ".csv.gz", ".json", ".jsonl", ".txt", ".tsv", ".xml")


@dataclass(frozen=True, eq=False)
class SparkSource(TypedSource):
    """The rows of a DataFrame, whose columns are renamed to ``_0``, ``_1``, …"""

    frame: DataFrame
    types: dict[str, pa.DataType]
    description: str
    rows: None = None

    def tasks(self, wanted: Sequence[Wanted]) -> list[Task]:
        """A single task, which brings the rows here one piece of the table at a time. Memory is that of the largest piece."""
        return [partial(self._stream, tuple(wanted))]

    def with_few_rows_of_each(self, unit: str, max_rows: int, wanted: Sequence[Wanted]) -> SparkSource:
        """Keep at most ``max_rows`` rows of each unit: the first in the order of a keyed hash of their wanted cells.

        If hashes are equal, the cells themselves decide. Rows with equal cells are the same to us, so it does not matter which of
        them is kept. So the kept rows of a unit are a function of its own rows and the key, whatever the order, the partitions
        or the other units' rows, and changing all rows of one unit changes at most ``max_rows`` kept rows. The key is new each
        time, so that the choice favours no values. It is not secret.

        Texts are compared byte by byte, whatever their collation. Otherwise Spark could take "A" and "a" for one unit or for
        equal cells, which we do not. As elsewhere, -0.0 is 0.0, and rows whose identifier is NaN or missing form one unit.
        """
        from pyspark.sql import functions

        types = {column.name: self.types[column.name] for column in wanted}
        places = {name: f"_{place}" for place, name in enumerate(types)}
        key = functions.lit(int.from_bytes(os.urandom(8), "little", signed=True))
        cells = self.frame.select(*(self._comparable(name).alias(place) for name, place in places.items()))
        ranked = cells.withColumn("rank", functions.row_number().over(_by_content(places[unit], key, list(places.values()))))
        return replace(self, frame=ranked.filter(functions.col("rank") <= max_rows).drop("rank"), types=types)

    def exchange(self, wanted: Sequence[Wanted], deal: Deal, gather: Gather, *, in_order: bool, run: Run) -> list[Record]:
        """See `ClusterSource.exchange`."""
        rows, reader = self._select(wanted)

        def records() -> list[Record]:
            # Spark's own settings decide the number of partitions. All records of a bucket are in one partition.
            placed = rows.mapInArrow(partial(deal_piece, reader, deal), RECORD).repartition("bucket")
            if in_order:
                placed = placed.sortWithinPartitions("bucket", "key")
            found = placed.mapInArrow(partial(gather_buckets, reader, gather), RECORD).collect()
            return [(bucket, key, bytes(content)) for bucket, key, content in found]

        return Jobs(self.frame.sparkSession, self.description).run(records, run)

    def _stream(self, wanted: tuple[Wanted, ...]) -> Iterator[pa.RecordBatch]:
        rows, reader = self._select(wanted)
        packed = rows.mapInArrow(partial(pack_piece, reader), "rows binary")
        for row in Jobs(self.frame.sparkSession, self.description).iterate(packed):
            yield from guarded(partial(unpacked, bytes(row[0])), self.description)

    def _select(self, wanted: Sequence[Wanted]) -> tuple[DataFrame, PieceReader]:
        """The wanted columns, each once, and a reader for them on workers."""
        names = tuple(dict.fromkeys(column.name for column in wanted))
        return self.frame.select(*map(self._place, names)), PieceReader(names)

    def _place(self, name: str) -> str:
        return f"_{list(self.types).index(name)}"

    def _comparable(self, name: str) -> Column:
        """The cells of a column, in a form in which two are equal in Spark if and only if they are the same to us."""
        from pyspark.sql import functions

        cell, kind = functions.col(self._place(name)), self.types[name]
        if t.is_string(kind):
            return cell.cast("binary")  # never fails
        if not t.is_floating(kind):
            return cell
        return functions.when(functions.isnan(cell), functions.lit(None)).when(cell == 0, functions.abs(cell)).otherwise(cell)


def _by_content(unit: str, key: Column, cells: Sequence[str]) -> WindowSpec:
    from pyspark.sql import Window, functions

    return Window.partitionBy(unit).orderBy(functions.xxhash64(key, *cells), *cells)


def open_spark(data: object) -> SparkSource:
    """Open a DataFrame of Spark, Spark Connect or pandas on Spark, or a string ``spark:…``. No row is read."""
    if isinstance(data, str):
        name = data.removeprefix(PREFIX)
        description = f"Spark table {name}"
        _check_name(name)
        frame = analysed(partial(_named, spark_session(), name), description)
    else:
        description = "Spark DataFrame"
        frame = _given(data)
    if frame.isStreaming:
        raise DataError("a release needs a table, not an endless stream", found=description,
                        remedy="write the stream to a table, and release that batch by batch")
    fields = analysed(lambda: frame.schema.fields, description)
    types = unique_types(((field.name, _arrow_type(field.dataType)) for field in fields), description)
    return SparkSource(frame.toDF(*(f"_{place}" for place in range(len(types)))), types, description)


def _given(data: Any) -> DataFrame:
    kind = type(data)  # because an attribute of the object itself could be a column
    frame: DataFrame = data.to_spark() if hasattr(kind, "to_spark") else data  # pandas on Spark
    if not hasattr(type(frame), "mapInArrow"):
        raise DataError("Spark data must be a DataFrame", found=f"{kind.__module__}.{kind.__qualname__}",
                        remedy="pass a DataFrame, for example spark.table(name)")
    return frame


def _check_name(name: str) -> None:
    """Refuse files whose types are known only from their rows."""
    if not name or name.lower().endswith(TEXT_ENDINGS):
        raise DataError("Spark data must be a table, or files that state the type of each column (Parquet, ORC)",
                        found=repr(name), remedy="types guessed from rows are not public: turn the file into a table with types "
                        "of your choice; a CSV file that this machine can reach needs no Spark")


def _named(session: SparkSession, name: str) -> DataFrame:
    """A table of the catalog, or files if the name contains a slash or ends like a file name."""
    ending = os.path.splitext(name.rstrip("/").lower())[1]
    if ending in PATH_ENDINGS:
        return session.read.format(PATH_ENDINGS[ending]).load(name)
    return session.read.load(name) if "/" in name else session.table(name)


def _arrow_type(kind: Any) -> pa.DataType:
    """The Arrow type for a Spark type. One that cannot be used keeps its name."""
    if kind.typeName() == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    known = {
        "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(),
        "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "char": pa.string(), "varchar": pa.string(),
        "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
        "void": pa.null(),
    }
    return known.get(kind.typeName()) or unusable(kind.simpleString())
