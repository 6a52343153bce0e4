"""Seconds to sum rows averaged in random groups, relative to those without averaging, on one thread.

    python benchmarks/averaged_rows.py [--rows 2000000] [--columns 10]

A Parquet file and a CSV file of made-up uniform columns. The best of three runs each.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from noisewise.data import averaged_gram_sum, gram_sum
from noisewise.run import ALONE
from noisewise.schema import Basis, Schema


def best(work: Callable[[], object]) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of averaging rows.")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=10)
    arguments = parser.parse_args()
    names = [f"x{number}" for number in range(arguments.columns)]
    columns = {name: {"bounds": [0, 1]} for name in names}
    schema = Schema.from_dict({"adjacency": "replace-one", "unit": "row", "columns": columns})
    basis, rng = Basis.of(schema), np.random.default_rng(1)
    table = pa.table({name: rng.random(arguments.rows).round(6) for name in names})
    print("| file | without, s | k = 2 | k = 10 | k = 100 |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        parquet, text = Path(folder, "rows.parquet"), Path(folder, "rows.csv")
        pyarrow.parquet.write_table(table, parquet)
        pyarrow.csv.write_csv(table, text)
        for path in (parquet, text):
            plain = best(lambda: gram_sum(path, schema, basis, run=ALONE))  # noqa: B023 - used at once
            ratios = [best(lambda: averaged_gram_sum(path, schema, basis, k, run=ALONE)) / plain  # noqa: B023
                      for k in (2, 10, 100)]
            print(f"| {path.suffix[1:]} | {plain:.2f} | " + " | ".join(f"{ratio:.1f}" for ratio in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
