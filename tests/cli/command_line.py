"""What the tests of the command line share: rows with a known answer, their declarations, and what an error looks like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import noisewise

WARDS = ["A", "B", "C"]


def one_error(result: Any, code: int = 1, *, as_json: bool = False) -> str:
    """The message of a command that failed as it should: on standard error, readable, without a traceback."""
    assert result.exit_code == code, result.output
    assert as_json or result.stdout == ""
    assert result.stderr.startswith("Error: ") and "Traceback" not in result.output
    return str(result.stderr)


def declare(path: Path, adjacency: str = "replace-one", **columns: tuple[Any, Any] | str | list[str]) -> Path:
    """Write a schema: a column has bounds, or levels if these are in a list."""
    lines = [f'adjacency = "{adjacency}"', 'unit = "row"', ""]
    for name, declared in columns.items():
        lines += [f"[columns.{name}]", f"{'levels' if isinstance(declared, list) else 'bounds'} = {json.dumps(declared)}", ""]
    path.write_text("\n".join(lines))
    return path


def change(path: Path, old: str, new: str) -> Path:
    """Write something else in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def write_rows(path: Path, columns: Mapping[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def make_release(path: Path, schema: Path, seed: int) -> Path:
    noisewise.release(rows(seed), noisewise.Schema.load(schema), epsilon=100, delta=1e-6).save(path)
    return path


def rows(seed: int, n: int = 2000) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    age = random.uniform(18, 98, n)
    ward = random.choice(WARDS, n)
    return {"age": age, "ward": ward, "stay": 5 + 0.2 * age + 4 * (ward == "B") + random.normal(0, 2, n)}
