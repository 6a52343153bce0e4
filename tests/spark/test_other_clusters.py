"""Spark Connect, where the driver is a client without a Java of its own, and executors that are processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.spark.other_clusters import ROWS, SECRET


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["connect", "processes"])
def test_everything_that_a_release_needs(kind: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.spark.other_clusters", kind], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    error = found.pop("error")
    assert found == {"same": True, "told": True, "units": ROWS // 2, "streamed": ROWS, "parts": 10}
    assert "could not read the rows to the end" in error and error.endswith("None None") and SECRET not in error
