"""What a release needs of a cluster, tried out on one that has to be started by a process of its own; prints what it found.

    python -m tests.spark.other_clusters connect     a server of Spark Connect
    python -m tests.spark.other_clusters processes   two machines: executors that are processes of their own
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.spark.local_cluster import provide_java, start

import noisewise as nw
from noisewise.data.sources import open_source
from noisewise.data.sources.base import Wanted
from noisewise.data.statistics.gram import gram_sum
from noisewise.errors import DataError
from noisewise.run import QUIET, Run
from noisewise.schema import Basis, Schema

SECRET = "secret-4711"
ROWS = 5000


def session(kind: str, folder: Path) -> Any:
    if kind == "processes":
        return start(folder, "local-cluster[2,1,1024]")
    provide_java(folder / "java")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the server's workers; by default the first python3 on the path
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote("local[2]").getOrCreate()


def tried(spark: Any) -> dict[str, Any]:
    x = np.linspace(0, 1, ROWS)
    table = pa.table({"x": x, "y": x**2, "who": np.arange(ROWS) // 4})
    frame = spark.createDataFrame(table).repartition(4)
    columns = {"x": {"bounds": [0, 1]}, "y": {"bounds": [0, 1]}}
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    people = Schema.from_dict({"adjacency": "add-remove", "unit": {"column": "who", "max_rows": 2}, "columns": columns})
    told: list[tuple[int, int | None]] = []
    asked = [{"ask": "posterior-probability", "of": "x", "at": [0]}]
    return {
        "same": gram_sum(frame, schema, Basis.of(schema), run=Run(progress=lambda *now: told.append(now))) == gram_sum(
            table, schema, Basis.of(schema), run=QUIET),
        "told": bool(told),
        "units": gram_sum(frame, people, Basis.of(people), run=QUIET).rows,
        "streamed": sum(batch.num_rows for task in open_source(frame).tasks([Wanted("x", "number")]) for batch in task()),
        "parts": nw.release(frame, people, nw.Partition("y ~ x", parts=10, ask=asked), epsilon=5.0,
                            run=QUIET).kind.parts,
        "error": _error(spark, schema),
    }


def _error(spark: Any, schema: Schema) -> str:
    data = spark.sql(f"select cast(if(id = 5, '{SECRET}', '0.5') as double) as x, 0.5d as y from range(10)")
    try:
        gram_sum(data, schema, Basis.of(schema), run=QUIET)
    except DataError as error:
        return f"{error} {error.__cause__} {error.__context__}"
    return "none"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(tried(session(sys.argv[1], Path(place)))))
