"""A run that can be resumed: `pytest --resume=FILE` records each test that ends and skips those that passed before.

A test counts as passed if its last outcome was that, for the source it ran with. After a change of `src`, `tests` or `studies`,
committed or not, everything runs again, unless `--resume-any-source` says that the change does not matter.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "studies")


def source() -> str:
    """The state of `src`, `tests` and `studies`: the hash of each tree as committed, and a digest of what differs from it."""
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, errors="replace", check=True)
        return done.stdout.strip()

    try:
        trees = " ".join(git("rev-parse", f"HEAD:{folder}")[:12] for folder in FOLDERS)
        new = git("ls-files", "--others", "--exclude-standard", "-z", *FOLDERS).split("\0")
        differs = [git("diff", "--binary", "HEAD", "--", *FOLDERS)]
        differs += [f"{name} {hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}" for name in new if name]
        return trees + (f"+{hashlib.sha256(repr(differs).encode()).hexdigest()[:12]}" if differs != [""] else "")
    except (OSError, subprocess.CalledProcessError):
        return f"not a checkout, {os.getpid()}"  # never the same again: nothing is left out by mistake


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log, without one that was cut off when a run was killed."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                yield json.loads(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--resume", metavar="FILE", help="with =, skip what FILE says has passed, and add to it")
    parser.addoption("--resume-any-source", action="store_true", help="count passes of another source too")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--resume")
    if path is not None and not hasattr(config, "workerinput"):
        state = source()
        any_source = config.getoption("--resume-any-source")
        last = {one["test"]: one["outcome"] for one in records(Path(path)) if any_source or one["source"] == state}
        passed = sorted(test for test, outcome in last.items() if outcome in ("passed", "skipped"))
        config.pluginmanager.register(Recorder(Path(path), state, passed), "noisewise-resume")


class Recorder:
    """Writes one line per test, in the process that started the run; tells the others which tests to leave out."""

    def __init__(self, path: Path, state: str, passed: list[str]) -> None:
        self.path, self.state, self.passed = path, state, passed
        cut_off = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        self.first = "\n" if cut_off else ""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed_before"] = self.passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":  # a test that fails in its teardown has a second line
            line = {"test": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 2), "source": self.state}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(self.first + json.dumps(line) + "\n")
            self.first = ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before."""
    recorder = config.pluginmanager.get_plugin("noisewise-resume")
    passed = set(recorder.passed if recorder else getattr(config, "workerinput", {}).get("passed_before", ()))
    if passed:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]
