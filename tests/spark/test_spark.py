"""The tests of `cluster_tests.py`, in a process of their own: Spark takes over Ctrl-C and leaves threads behind, and it forks,
which JAX does not bear."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.outer(but=["inner"])
@pytest.mark.parametrize("which", ["inner", "not slow and not inner", pytest.param("slow", marks=pytest.mark.slow)])
def test_spark_in_a_process_of_its_own(which: str) -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", which, "tests/spark/cluster_tests.py"],
                          cwd=Path(__file__).parents[2], env=alone, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-6000:] + done.stderr[-2000:]
