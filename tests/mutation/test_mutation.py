"""Mutation testing of a package that is made here: its faults are known, and so is which of them the tests must notice."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutation.mutants import mutants, mutated
from tests.mutation.report import latest, read_verdicts, report

ROOT = Path(__file__).parents[2]
SOURCE = '''"""A module."""
import math
from functools import lru_cache

LIMIT = 10


class Box:
    """A class."""

    @property
    def half(self):
        return self.size / 2

    def __init__(self, size=4):
        if size > LIMIT:
            raise ValueError(f"{size + 1} is too large")
        self.size = size


@lru_cache
def rounded(value):
    """
    >>> rounded(1.0)
    1
    """
    return math.ceil(value)


def rounds(count):
    done = 0
    while count > 0:
        count -= 1
        done += 1
    return done


def never_called(x: "int" = 3) -> "int":
    return x
'''
STRONG = '''
import pytest
from boxes import Box, rounded, rounds

def test_box():
    assert Box().half == 2 and Box(10).half == 5 and Box(-1).size == -1
    with pytest.raises(ValueError):
        Box(11)

def test_rounded():
    assert rounded(1.5) == 2 and rounded(1.0) == 1

def test_rounds():
    assert rounds(3) == 3 and rounds(0) == 0
'''
WEAK = '''
from boxes import Box, rounded, rounds

def test_box():
    Box(3).half

def test_rounded():
    rounded(1.5)
    rounds(0)
'''


def test_every_mutant_is_another_program_and_can_be_compiled() -> None:
    original = ast.dump(ast.parse(SOURCE))
    trees = [mutated(SOURCE, mutant.place) for mutant in mutants(SOURCE)]
    assert len({ast.dump(tree) for tree in trees} | {original}) == len(trees) + 1
    for tree in trees:
        compile(tree, "boxes.py", "exec")


def test_mutants_are_of_the_kinds_that_weaken_a_guarantee_and_leave_words_alone() -> None:
    source = (
        "def noise(scale, rows):\n    '''1 < 2'''\n    check(scale)\n    if scale <= 0 or rows > 3:\n"
        "        raise ValueError('1 + 1' + str(2 < 3))\n"
        "    return min(round_up(scale), nextafter(scale, 1e-9), sum(r for r in rows if r))\n"
    )
    changes = [mutant.change for mutant in mutants(source)]
    for wanted in ("check(scale) -> pass", "scale <= 0 -> scale < 0", "scale <= 0 or rows > 3 -> rows > 3",
                   "round_up(scale) -> float(scale)", "nextafter(scale, 1e-09) -> scale", "1e-09 -> 0.0",
                   "(r for r in rows if r) -> (r for r in rows)"):
        assert wanted in changes
    assert any("-> max(round_up" in change for change in changes)
    assert any(change.endswith("-> return None") for change in changes)
    assert not any("2 < 3 ->" in change or "1 < 2" in change for change in changes)


def run(folder: Path, tests: str) -> dict[str, str]:
    """The result of each change in the module above, with these tests."""
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src" / "boxes.py").write_text(SOURCE, encoding="utf-8")
    (folder / "test_boxes.py").write_text(tests, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n", encoding="utf-8")
    path = os.pathsep.join([str(folder / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(
        [sys.executable, "-m", "tests.mutation.run", "--source", "src/boxes.py", "--tests", "test_boxes.py",
         "src/boxes.py", "--results", "found.jsonl"],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, timeout=600)
    lines = [json.loads(line) for line in (folder / "found.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (folder / "src" / "boxes.py").read_text(encoding="utf-8") == SOURCE  # no file is changed
    assert len(lines) == len(mutants(SOURCE))
    return {f"{line['line']}: {line['change']}": line["result"] for line in lines}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are put into copies of a process")
def test_good_tests_kill_what_weak_tests_leave_alive(tmp_path: Path) -> None:
    for name in ("strong", "weak"):
        (tmp_path / name).mkdir()
    strong, weak = run(tmp_path / "strong", STRONG), run(tmp_path / "weak", WEAK)
    assert {change for change, result in strong.items() if result == "survived"} == {
        "39: return x -> return None", "38: 3 -> 4", "38: 3 -> 2"}  # nobody calls it
    assert strong["33: count -= 1 -> pass"] == strong["33: count -= 1 -> count += 1"] == "timeout"
    assert strong["5: 10 -> 11"] == strong["27: math.ceil(value) -> math.floor(value)"] == "killed"
    assert weak["27: math.ceil(value) -> math.floor(value)"] == weak["5: 10 -> 11"] == weak["13: 2 -> 3"] == "survived"
    assert weak["18: self.size = size -> pass"] == "killed"


def test_a_report_counts_the_last_result_and_takes_verdicts_only_for_the_change_they_name(tmp_path: Path) -> None:
    line = {"file": "a.py", "digest": "new", "place": 0, "line": 3, "function": "f", "change": "1 -> 2", "result": "survived"}
    lines = latest([{**line, "digest": "old", "place": 7}, {**line, "result": "killed"}, line, {**line, "place": 1,
                    "change": "2 -> 3"}, {**line, "place": 2, "result": "timeout"}])
    assert [found["result"] for found in lines] == ["survived", "survived", "timeout"]
    assert [found["first"] for found in lines] == ["killed", "survived", "timeout"]
    verdicts = tmp_path / "verdicts.toml"
    verdicts.write_text('[[verdict]]\nfile = "a.py"\nfunction = "f"\nis = "equivalent"\nwhy = "same"\nchanges = ["1 -> 2"]\n')
    text = report(lines, read_verdicts(verdicts))
    assert "| `a.py` | 3 | 3 | 1 | 0 | 1 | 1 | 0 | 0 | 1 | 50.0 % |" in text
    assert "- `a.py`, line 3; equivalent: same" in text and "    - line 3: `1 -> 2`" not in text
    assert "- `a.py`, line 3; not judged" in text and "    - line 3: `2 -> 3`" in text
    assert "    - line 3: `1 -> 2`" in report(lines, read_verdicts(verdicts), changes=True)
    verdicts.write_text(verdicts.read_text().replace("equivalent", "boring"))
    with pytest.raises(ValueError, match="a verdict is one of"):
        read_verdicts(verdicts)


def test_every_verdict_is_about_the_mutants_of_one_line() -> None:
    """A verdict outlives the code that it was about, unless someone looks; and it must not cover what nobody has read."""
    from tests.mutation.report import VERDICTS

    sources = {verdict.file: (ROOT / verdict.file).read_text(encoding="utf-8") for verdict in read_verdicts(VERDICTS).every}
    known = {file: mutants(source) for file, source in sources.items()}
    for verdict in read_verdicts(VERDICTS).every:
        lines = sources[verdict.file].splitlines()
        for change in verdict.changes:
            found = {mutant.line for mutant in known[verdict.file] if mutant.change == change
                     and verdict.is_about(verdict.file, mutant.function, change, lines[mutant.line - 1])}
            assert len(found) == 1, f"{verdict.file}, {verdict.function}: {change} on lines {sorted(found)}"
