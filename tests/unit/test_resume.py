"""The slow ring resumes where it stopped, and its log becomes a table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.slow_report import last_outcomes, table

TESTS = """
import os
def test_good(): pass
def test_repaired(): assert "REPAIRED" in os.environ
"""


def record(test: str, outcome: str, seconds: float) -> str:
    return json.dumps({"test": test, "outcome": outcome, "seconds": seconds, "source": "a"}) + "\n"


def test_the_last_outcome_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_text(record("b.py::x", "failed", 60) + record("a.py::y", "passed", 30), encoding="utf-8")
    second.write_text(record("b.py::x", "passed", 90) + record("b.py::z[1]", "failed", 0), encoding="utf-8")
    assert list(table(last_outcomes([first, second])))[2:] == [
        "| `a.py` | 1 | 1 | 0 | 0 | 0.5 |", "| `b.py` | 2 | 1 | 0 | 1 | 1.5 |", "| `all` | 3 | 2 | 0 | 1 | 2.0 |",
    ]


@pytest.mark.outer
def test_a_second_run_repeats_only_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_two.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.resume", "-c", "/dev/null", "--resume", str(tmp_path / "log"),
               "--resume-any-source", str(tmp_path)]

    def outcomes() -> list[str]:
        subprocess.run(command, check=False, capture_output=True, cwd=Path(__file__).parents[2])
        return [json.loads(line)["outcome"] for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]

    assert outcomes() == ["passed", "failed"]
    monkeypatch.setenv("REPAIRED", "1")
    assert outcomes() == ["passed", "failed", "passed"]
