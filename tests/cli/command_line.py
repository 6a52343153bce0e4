"""What the tests of the command line share: rows with a known answer, and what an error looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import noisewise


def one_error(result: Any, code: int = 1, *, as_json: bool = False) -> str:
    """The message of a command that failed as it should: on standard error, readable, without a traceback."""
    assert result.exit_code == code, result.output
    assert as_json or result.stdout == ""
    assert result.stderr.startswith("Error: ") and "Traceback" not in result.output
    return str(result.stderr)


def make_release(path: Path, schema: Path, seed: int) -> Path:
    noisewise.release(rows(seed), noisewise.Schema.load(schema), epsilon=100, delta=1e-6).save(path)
    return path


def rows(seed: int, n: int = 2000) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    age = random.uniform(18, 98, n)
    ward = random.choice(["A", "B", "C"], n)
    return {"age": age, "ward": ward, "stay": 5 + 0.2 * age + 4 * (ward == "B") + random.normal(0, 2, n)}
