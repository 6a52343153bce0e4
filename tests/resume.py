"""A run that can be resumed: `pytest --resume FILE` records each test that ends and skips those that passed before.

A test counts as passed for the source it ran with. After a change of `src` or `tests` everything runs again, unless
`--resume-any-source` says that the change does not matter.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def source() -> str:
    """The state of `src`, `tests` and `studies`: the hash of each tree as committed, and whether something differs from it."""
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        dirty = "+" if git("status", "--porcelain", "src", "tests", "studies") else ""
        return " ".join(git("rev-parse", f"HEAD:{folder}")[:12] for folder in ("src", "tests", "studies")) + dirty
    except (OSError, subprocess.CalledProcessError):
        return f"not a checkout, {os.getpid()}"  # never the same again: nothing is left out by mistake


def records(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--resume", metavar="FILE", help="skip tests that FILE says have passed, and add to it those that end")
    parser.addoption("--resume-any-source", action="store_true", help="count passes of another source too")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--resume")
    if path is not None and not hasattr(config, "workerinput"):
        state = source()
        any_source = config.getoption("--resume-any-source")
        passed = {one["test"] for one in records(Path(path))
                  if one["outcome"] in ("passed", "skipped") and (any_source or one["source"] == state)}
        config.pluginmanager.register(Recorder(Path(path), state, sorted(passed)), "noisewise-resume")


class Recorder:
    """Writes one line per test, in the process that started the run; tells the others which tests to leave out."""

    def __init__(self, path: Path, state: str, passed: list[str]) -> None:
        self.path, self.state, self.passed = path, state, passed

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed_before"] = self.passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            line = {"test": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 2), "source": self.state}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before."""
    recorder = config.pluginmanager.get_plugin("noisewise-resume")
    passed = set(recorder.passed if recorder else getattr(config, "workerinput", {}).get("passed_before", ()))
    if passed:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]
