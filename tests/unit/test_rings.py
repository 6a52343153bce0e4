"""Marks and folders decide the ring of a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.rings import TESTS, folder_is_outer

ROOT = TESTS.parent
MARKED = """
import pytest
pytestmark = pytest.mark.outer
@pytest.mark.outer(but=["a"])
@pytest.mark.parametrize("case", ["a", "b"])
def test_some_cases(case): assert case == "a"
@pytest.mark.inner
def test_smoke(): pass
def test_outer(): pass
@pytest.mark.slow
@pytest.mark.inner
def test_slow(): pass
"""


def found(folder: Path, *options: str, collect: bool = True) -> list[str]:
    """The tests of a ring, or what is wrong with the marks."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n inner\n outer\n slow\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.rings", *options, *(["--collect-only"] if collect else [])]
    done = subprocess.run([*command, folder], capture_output=True, text=True, cwd=ROOT)
    lines = (done.stdout + done.stderr).splitlines()
    return [line if line.startswith("ERROR") else line.partition("::")[2] for line in lines if "::" in line]


@pytest.mark.outer
def test_every_test_is_in_one_ring(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(MARKED, encoding="utf-8")
    assert found(tmp_path, "-m", "not slow and (inner or not outer)") == ["test_some_cases[a]", "test_smoke"]
    assert found(tmp_path, "-m", "not slow and outer and not inner") == ["test_some_cases[b]", "test_outer"]
    assert found(tmp_path, "-m", "slow") == ["test_slow"]


@pytest.mark.outer
def test_a_case_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "test_marked.py"
    file.write_text(MARKED.replace('but=["a"]', 'but=["c"]'), encoding="utf-8")
    assert any("no cases ['c'] to keep inside" in line for line in found(tmp_path))
    file.write_text(MARKED, encoding="utf-8")
    found(tmp_path, collect=False)  # the case b fails
    assert found(tmp_path, "--lf") == ["test_some_cases[b]"]


def test_folders() -> None:
    assert folder_is_outer(TESTS / "docs/test_site.py") and folder_is_outer(TESTS / "unit/literature/test_room.py")
    assert not folder_is_outer(TESTS / "unit/test_rings.py") and not folder_is_outer(ROOT / "src/noisewise/words.py")
