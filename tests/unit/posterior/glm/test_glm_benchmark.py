"""The benchmark runs and prints what its page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "glm.py"


@pytest.mark.slow
def test_the_benchmark_runs() -> None:
    """In a process of its own: it keeps to one core."""
    finished = subprocess.run([sys.executable, str(BENCHMARK), "--flat", "14", "--latent", "1", "--dense", "3", "5"],
                              capture_output=True, text=True, check=True, timeout=600)
    lines = finished.stdout.splitlines()
    assert [line.split(",")[0] for line in lines[:4]] == ["flat", "latent", "dense", "dense"]
    assert lines[-1].startswith("dense: exponent") and "times that of the linear regression" in lines[0]
