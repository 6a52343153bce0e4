"""Progress is counted for whoever asks, and shown only on a terminal and only if it takes long."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisewise.data import averaged_gram_sum, gram_sum
from noisewise.data.reading import reporting
from noisewise.progress import Bar
from noisewise.run import QUIET, Run
from noisewise.schema import Basis, Schema

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 1]}}})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_callback_hears_of_every_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": np.zeros(300_000)}), path, row_group_size=50_000)
    heard: list[tuple[int, int | None]] = []

    def hear(rows_done: int, rows_total: int | None) -> None:
        heard.append((rows_done, rows_total))

    gram_sum(path, SCHEMA, Basis.of(SCHEMA), run=Run(threads=2, progress=hear))
    done = [rows for rows, _ in heard]
    assert done == sorted(done) and done[-1] == 300_000 and {total for _, total in heard} == {300_000}


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_away_from_a_terminal(progress: bool | None, capsys: pytest.CaptureFixture[str]) -> None:
    gram_sum({"x": np.zeros(10)}, SCHEMA, Basis.of(SCHEMA), run=Run(progress=progress))
    shown = capsys.readouterr()
    assert not shown.out and not shown.err


def test_a_short_pass_shows_nothing_and_a_long_one_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with reporting(Run(progress=True), 10) as counter:
        counter.add(10)
    assert terminal.getvalue() == ""
    impatient = Bar("Reading rows", "rows", patience=0.0)
    impatient(5, 10)
    impatient.close()
    assert "Reading rows" in terminal.getvalue() and "5 of 10 rows" in terminal.getvalue()
    silent = Terminal()
    monkeypatch.setattr(sys, "stderr", silent)
    with reporting(QUIET, 10) as counter:
        counter.add(10)
    assert silent.getvalue() == ""


@pytest.mark.parametrize("total", [None, 4_000_000])
def test_a_bar_shows_how_fast_it_is_and_how_long_it_will_take(total: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "150")):
        monkeypatch.setenv(name, value)
    clock = iter(range(1000))
    bar = Bar("Counting rows", "rows", patience=0.0)
    bar(0, total)
    assert bar._bar is not None
    monkeypatch.setattr(bar._bar, "get_time", lambda: 1000.0 + next(clock))
    for rows in (500_000, 1_000_000, 1_500_000, 2_000_000):  # half a million in each second
        bar(rows, total)
    bar._bar.refresh()
    shown = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue())
    bar.close()
    assert "2,000,000 " in shown and re.search(r"[2-6]\d\d thousand per second", shown)
    assert ("left" in shown) == (total is not None) == (re.search(r"0:00:0\d *left", shown) is not None)


def test_a_callback_hears_of_one_pass_where_there_are_two(tmp_path: Path) -> None:
    """A CSV file is counted first; that would be a second beginning."""
    path = tmp_path / "rows.csv"
    path.write_text("x\n" + "0.5\n" * 1000)
    heard: list[tuple[int, int | None]] = []
    averaged_gram_sum(path, SCHEMA, Basis.of(SCHEMA), 2, run=Run(progress=lambda done, total: heard.append((done, total))))
    assert heard == [(1000, 1000)]


def test_a_failing_callback_stops_all_threads(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": np.zeros(1_000_000)}), path, row_group_size=150_000)

    def fail(rows_done: int, rows_total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gram_sum(path, SCHEMA, Basis.of(SCHEMA), run=Run(threads=2, progress=fail))
