"""The slow ring resumes where it stopped, and its log becomes a table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests import resume
from tests.resume import Recorder, records
from tests.slow_report import last_outcomes, table

TESTS = """
import os
def test_good(): pass
import pytest
@pytest.fixture
def place():
    yield
    assert "REPAIRED" in os.environ
def test_repaired(): assert "REPAIRED" in os.environ
def test_cleared_up(place): pass
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

    assert outcomes() == ["passed", "failed", "passed", "failed"]  # the third passes, and its teardown fails
    monkeypatch.setenv("REPAIRED", "1")
    assert outcomes() == ["passed", "failed", "passed", "failed", "passed", "passed"]
    assert len(outcomes()) == 6


def test_make_slow_names_its_log_in_one_word() -> None:
    """In two, pytest takes a log that exists for the tests to run, before it knows the option, and refuses the option."""
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    assert "--resume=.slow-log.jsonl" in makefile and "--resume " not in makefile


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(record("a.py::x", "passed", 1) + '{"test": "a.py::y", "outc', encoding="utf-8")
    assert [one["test"] for one in records(log)] == ["a.py::x"]
    Recorder(log, "a", []).pytest_runtest_logreport(pytest.TestReport("a.py::z", ("a.py", 1, "z"), {}, "passed", None, "call"))
    assert [one["test"] for one in records(log)] == ["a.py::x", "a.py::z"]


def test_the_source_is_another_after_every_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "ROOT", tmp_path)
    for folder in resume.FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text("1", encoding="utf-8")
    settings = "-c", "user.name=a", "-c", "user.email=a@example.org"
    for words in (["init", "-q"], ["add", "."], [*settings, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    found = [resume.source()]
    for name, text in (("src/one.py", "2"), ("src/one.py", "3"), ("tests/new.py", "2"), ("tests/new.py", "3")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        found.append(resume.source())
    assert len(set(found)) == 5 and "+" not in found[0] and resume.source() == found[-1]
    (tmp_path / "tests/new.py").unlink()
    (tmp_path / "src/one.py").write_text("1", encoding="utf-8")
    assert resume.source() == found[0]
