"""The passes of a model release, compared with the pass of a Gram release over the same Parquet file.

    python benchmarks/model_rounds.py [--predictors 5 20 50 100] [--values 40000000] [--repeats 7]

One thread. A round that looks for the coefficients, the last round (which also sums s sᵀ) and the first look, for a linear and a
logistic regression. Files have about this many values, so fewer rows the more predictors there are. All are taken in turns, and
ratios are within a round of them. Target: at most 2.5 times the Gram pass.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

# Before NumPy starts, as for the Gram pass.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.gram_statistic import ROW_GROUP, interleaved
from rich.console import Console
from rich.table import Table

from noisewise.data import ModelRows, gram_sum
from noisewise.kinds import Model
from noisewise.run import ALONE
from noisewise.schema import Basis, Design, Schema
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout
from noisewise.scores.rounds import Look, Point

TARGET = 2.5
GRAM = "gram"
RESPONSES = {"gaussian": "y", "logistic": "z"}


def names_of(predictors: int) -> list[str]:
    return [f"x{index}" for index in range(predictors)]


def write(path: Path, rows: int, predictors: int) -> None:
    """Normal predictors, a normal response and one with two levels."""
    generator, names = np.random.default_rng(20261115), names_of(predictors)
    kinds = [*((name, pa.float64()) for name in (*names, "y")), ("z", pa.int8())]
    with pq.ParquetWriter(path, pa.schema(kinds)) as writer:
        for start in range(0, rows, ROW_GROUP):
            x = generator.normal(size=(predictors, min(ROW_GROUP, rows - start)))
            y = x.sum(axis=0) / predictors**0.5 + generator.normal(size=x.shape[1])
            columns = [*x, y, (y > 0).astype(np.int8)]
            writer.write_table(pa.table(dict(zip((*names, "y", "z"), columns, strict=True))), row_group_size=ROW_GROUP)


def schema_of(predictors: int, response: str) -> Schema:
    columns: dict[str, object] = {name: {"bounds": [-4.0, 4.5]} for name in names_of(predictors)}
    columns[response] = {"bounds": [-8.0, 8.0]} if response == "y" else {"levels": [0, 1]}
    return Schema.from_dict({"adjacency": "replace-one", "columns": columns})


def passes(path: Path, rows: int, predictors: int, family_name: str) -> dict[str, object]:
    """The passes to measure, by name."""
    response, family = RESPONSES[family_name], FAMILIES[family_name]
    schema = schema_of(predictors, response)
    kind = Model(f"{response} ~ {' + '.join(names_of(predictors))}", family=family_name)
    basis = kind.settled(schema)
    layout = Layout.of(basis, family)
    look = Look(noise=0.0, sums=np.zeros(layout.size), rows=float(rows), rows_noise=0.0)
    problem = Problem.of(basis, Design.of(kind.formula, basis, kind.terms), family, look)
    table, random = ModelRows.open(path, basis, layout), np.random.default_rng(1)
    size = predictors + 1
    coefficients, coordinates = random.normal(size=size) / size, random.normal(size=(size, size)) / size
    point = partial(Point, coefficients=coefficients, coordinates=coordinates, scale=1.0)
    return {
        GRAM: lambda: gram_sum(path, schema, Basis.of(schema), run=ALONE),
        "look": lambda: table.look(run=ALONE),
        "round": lambda: table.round(problem, point(spread=False), run=ALONE),
        "last round": lambda: table.round(problem, point(spread=True), run=ALONE),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictors", type=int, nargs="+", default=[5, 20, 50, 100])
    parser.add_argument("--values", type=int, default=40_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    table = Table("family", "predictors", "rows", "Gram pass, s", "first look", "round", "last round", "target",
                  title="Passes of a model release, as multiples of the Gram pass")
    for predictors in arguments.predictors:
        rows = arguments.values // predictors
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            write(path, rows, predictors)
            for family in RESPONSES:
                times = interleaved(passes(path, rows, predictors, family), arguments.repeats)  # type: ignore[arg-type]
                ratios = [statistics.median(mine / theirs for mine, theirs in zip(found, times[GRAM], strict=True))
                          for name, found in times.items() if name != GRAM]
                worst = max(ratios)
                table.add_row(family, str(predictors), f"{rows:,}", f"{statistics.median(times[GRAM]):.2f}",
                              *(f"{ratio:.2f}" for ratio in ratios), f"≤ {TARGET:g}: {'met' if worst <= TARGET else 'missed'}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
