"""A pass takes as much memory for four times the rows, and importing the room imports no data engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MEASURE = """
import sys
import numpy as np
from noisewise.data import ModelRows, gram_sum
from noisewise.kinds import Model
from noisewise.run import ALONE
from noisewise.schema import Basis, Design, Schema
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout
from noisewise.scores.rounds import Look, Point

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

schema = Schema.from_dict({"adjacency": "replace-one", "columns": {f"x{i}": {"bounds": [-1, 1]} for i in range(4)}})

def gram(path):
    gram_sum(path, schema, Basis.of(schema), run=ALONE)

def model(path):
    kind = Model("x0 ~ x1 + x2 + x3")
    basis, family = kind.settled(schema), FAMILIES["gaussian"]
    layout = Layout.of(basis, family)
    rows = ModelRows.open(path, basis, layout)
    found = rows.look(run=ALONE)
    look = Look(noise=0.0, sums=found.to_grid() / 2**16, rows=float(found.rows), rows_noise=0.0)
    problem = Problem.of(basis, Design.of(kind.formula, basis, None), family, look)
    rows.round(problem, Point(coefficients=np.zeros(4), coordinates=np.eye(4), scale=1.0, spread=True), run=ALONE)

work = {"gram": gram, "model": model}[sys.argv[3]]
work(sys.argv[1])
before = peak()
work(sys.argv[2])
print(peak() - before)
"""


@pytest.mark.outer
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to see the peak of a process")
@pytest.mark.parametrize("kind", ["gram", "model"])
def test_memory_does_not_grow_with_rows(kind: str, tmp_path: Path) -> None:
    """1.6 million rows of 4 doubles are 51 MB; the pass over them may add no more than noise to one over a quarter of them."""
    table = pa.table({f"x{i}": np.random.default_rng(i).normal(size=400_000) for i in range(4)})
    for name, times in (("once", 1), ("four", 4)):
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", table.schema) as writer:
            for _ in range(times):
                writer.write_table(table, row_group_size=100_000)
    done = subprocess.run([sys.executable, "-c", MEASURE, str(tmp_path / "once.parquet"), str(tmp_path / "four.parquet"), kind],
                          capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8_000  # kilobytes


def test_importing_the_room_is_light() -> None:
    program = "import sys, noisewise.data; print([m for m in ('pyarrow', 'pandas', 'polars', 'jax', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
