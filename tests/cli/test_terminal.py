"""On a terminal: bars for long work, wrapped words, colour where it is wanted. Elsewhere: none of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.cli.running import on_a_terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")

SLOW_SUM = "import time, noisewise\ndef stop(*_, **__):\n    time.sleep(30)\nnoisewise.fit_sum = stop"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[1-6]m")
SLOW_READING = """
import time
from noisewise.data.reading import RowCounter
usual = RowCounter.add
def slowly(self, rows):
    time.sleep(1.3)
    usual(self, rows)
    time.sleep(0.3)
RowCounter.add = slowly
"""


def plain(shown: str) -> str:
    return CONTROL.sub("", shown).replace("\r", "\n")


def test_reading_rows_shows_first_that_it_prepares_and_then_a_bar(table: Path, schema: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal("release", table, "-s", schema, "-e", 1, "-o", tmp_path / "a.nwr", before=SLOW_READING)
    words = plain(shown)
    assert code == 0 and "Reading rows" in words and words.index("preparing …") < words.index("2,000 of 2,000 rows")
    assert COLOUR.search(shown) and "left" in words


@pytest.mark.outer
@pytest.mark.parametrize("option", ["--json", pytest.param("--quiet", marks=pytest.mark.slow)])
def test_no_bar_for_those_who_want_none(option: str, table: Path, schema: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal("release", table, "-s", schema, "-e", 1, "-o", tmp_path / "a.nwr", option, before=SLOW_READING)
    assert code == 0 and "Reading rows" not in shown


@pytest.mark.outer
def test_no_bar_in_a_pipe(process, table: Path, schema: Path, tmp_path: Path) -> None:
    finished = process("release", table, "-s", schema, "-e", 1, "-o", tmp_path / "a.nwr", before=SLOW_READING)
    assert finished.returncode == 0 and "Reading rows" not in finished.stderr


@pytest.mark.outer
def test_work_that_cannot_say_how_far_it_is_shows_that_it_goes_on_and_ctrl_c_ends_it(release: Path) -> None:
    code, shown = on_a_terminal("estimate", release, "-c", "age", "-f", "normal", before=SLOW_SUM, stop_at="0:00:01")
    assert code == 130 and "Estimating" in shown
    assert plain(shown).rstrip().endswith("Error: stopped by Ctrl-C") and "Traceback" not in shown


def test_messages_are_wrapped_below_their_labels_on_a_terminal_and_whole_in_a_pipe(process, release: Path) -> None:
    command = ("fit", release, "stay ~ age", "--method", "quick")
    code, shown = on_a_terminal(*command, columns=60)
    lines = plain(shown).replace("\n\n", "\n").strip().split("\n")
    remedy = next(place for place, line in enumerate(lines) if line.startswith("  remedy:  "))
    assert code == 1 and len(lines) > remedy + 1 and max(map(len, lines)) <= 60
    assert all(line.startswith(" " * 11) and line[11] != " " for line in lines[remedy + 1:])
    whole = process(*command).stderr.splitlines()
    assert len(whole) == 3 and " ".join(line.strip() for line in lines[remedy:]) == whole[2].strip()


@pytest.mark.parametrize(("environment", "coloured"), [
    ({"NO_COLOR": "1"}, False), pytest.param({}, True, marks=pytest.mark.slow),
    pytest.param({"TERM": "dumb"}, False, marks=pytest.mark.slow)])
def test_colour_on_a_terminal(environment: dict[str, str], coloured: bool, tmp_path: Path) -> None:
    code, shown = on_a_terminal("show", tmp_path / "nosuch.nwr", **environment)
    assert code == 1 and bool(COLOUR.search(shown)) is coloured


def test_colour_in_a_pipe_only_if_it_is_forced(process, tmp_path: Path) -> None:
    command = ("show", tmp_path / "nosuch.nwr")
    assert "\x1b" not in process(*command).stderr
    assert COLOUR.search(process(*command, FORCE_COLOR="1").stderr)
