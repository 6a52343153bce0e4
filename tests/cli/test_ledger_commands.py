"""``noisewise ledger``, and ``release --ledger``: what is spent is shown, what is not covered is refused, repeats are free."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command_line import one_error, rows

import noisewise
from noisewise.privacy.cost import Cost


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    noisewise.Ledger.open(tmp_path / "budget.db", epsilon=3, delta=1e-6, name="patients")
    return tmp_path / "budget.db"


def releasing(table: Path, schema: Path, ledger: Path, *more: object) -> list[object]:
    return ["release", table, "-s", schema, "-e", 1, "-d", 1e-7, "--ledger", ledger, *more]


def test_a_ledger_is_opened_charged_shown_and_verified(nw, table, schema, tmp_path) -> None:
    place = tmp_path / "budget.db"
    opened = nw.json("ledger", "open", place, "-e", 3, "-d", 1e-6, "--name", "patients")
    assert (opened["epsilon"], opened["rule"], opened["charges"]) == (3.0, "gaussian", [])
    result = nw(*releasing(table, schema, place, "-o", tmp_path / "a.nwr"))
    assert result.exit_code == 0 and "is spent" in result.stderr, result.stderr
    shown = nw("ledger", "show", place)
    assert {"gram", "release", "of", "stay,"} <= set(shown.stdout.split()) and "Last digest: " in shown.stdout
    document = nw.json("ledger", "show", place, "-d", 1e-8)
    assert document["charges"][0]["epsilon"] == 1.0 and 0 < document["spent"]["epsilon"] < 1.0
    assert document["remaining"]["gaussian"]["delta"] == 1e-8 and document["last_digest"] in shown.stdout
    assert "all as they were written" in nw("ledger", "verify", place, "--anchor", document["last_digest"]).stdout


def test_the_same_release_is_written_again_for_nothing_and_that_is_said(nw, table, schema, ledger, tmp_path) -> None:
    first, again = tmp_path / "a.nwr", tmp_path / "b.nwr"
    assert nw(*releasing(table, schema, ledger, "-o", first)).exit_code == 0
    result = nw(*releasing(table, schema, ledger, "-o", again))
    assert result.exit_code == 0 and "nothing was spent" in result.stderr
    assert first.read_bytes() == again.read_bytes()
    result = nw(*releasing(table, schema, ledger, "-o", tmp_path / "c.nwr", "--edition", "May"))
    assert "nothing was spent" not in result.stderr and (tmp_path / "c.nwr").read_bytes() != first.read_bytes()
    assert len(noisewise.Ledger.open(ledger).table()) == 2


def test_what_the_budget_does_not_cover_leaves_no_file(nw, table, schema, ledger, tmp_path) -> None:
    words = one_error(nw("release", table, "-s", schema, "-e", 9, "-d", 1e-7, "--ledger", ledger, "-o", tmp_path / "a.nwr"))
    assert "the budget of this table is epsilon 3.0" in words and "at most 3 with Gaussian noise" in words
    assert not (tmp_path / "a.nwr").exists()


def test_a_ledger_can_be_begun_by_the_first_release(nw, table, schema, tmp_path) -> None:
    place, output = tmp_path / "new.db", tmp_path / "a.nwr"
    assert "the ledger does not exist" in one_error(nw(*releasing(table, schema, place, "-o", output)))
    assert nw(*releasing(table, schema, place, "-o", output, "--total-epsilon", 2, "--total-delta", 1e-6)).exit_code == 0
    words = one_error(nw(*releasing(table, schema, place, "-o", tmp_path / "b.nwr", "--total-epsilon", 5)))
    assert "never change" in words
    assert nw("release", table, "-s", schema, "-e", 1, "-o", tmp_path / "c.nwr", "--edition", "x").exit_code == 2


def test_batches_are_editions_and_none_is_added_twice(nw, table, schema, ledger, tmp_path) -> None:
    file, batch = tmp_path / "a.nwr", tmp_path / "may.parquet"
    pq.write_table(pa.table(rows(6, n=300)), batch)
    assert nw(*releasing(table, schema, ledger, "-o", file)).exit_code == 0
    assert nw(*releasing(batch, schema, ledger, "--append", file)).exit_code == 0
    assert noisewise.load(file).holders == 2
    assert "edition batch 2" in json.dumps(nw.json("ledger", "show", ledger))
    words = one_error(nw(*releasing(batch, schema, ledger, "--append", file, "--edition", "batch 2")))
    assert "the file already contains it" in words and noisewise.load(file).holders == 2


def test_a_changed_ledger_ends_with_an_error(nw, ledger) -> None:
    connection = sqlite3.connect(ledger)
    connection.execute("DROP TRIGGER noisewise_entries_update")
    connection.execute("UPDATE noisewise_entries SET who = 'nobody'")
    connection.commit()
    connection.close()
    result = nw("ledger", "verify", ledger)
    assert result.exit_code == 1 and "entry 1 was changed" in result.stderr
    assert nw.json("ledger", "verify", ledger, code=1)["problems"]


def test_charges_without_a_file_are_told(nw, ledger) -> None:
    assert "Every charge has its file" in nw("ledger", "recover", ledger).stdout
    noisewise.Ledger.open(ledger).charge(Cost.laplace(2.0, 0.5), description="a lost one", request="x")
    told = nw("ledger", "recover", ledger)
    assert "a lost one" in told.stdout and "charged again" in told.stdout
    assert nw.json("ledger", "recover", ledger)["unfinished"][0]["number"] == 2
    assert "no file" in nw("ledger", "show", ledger).stderr
    assert "no file" in one_error(nw("ledger", "file", ledger, 2, "-o", ledger.with_name("a.nwr")))


def test_files_and_entries_are_written_and_nothing_is_replaced(nw, table, schema, ledger, tmp_path) -> None:
    made, back, entries = tmp_path / "a.nwr", tmp_path / "back.nwr", tmp_path / "entries.json"
    nw(*releasing(table, schema, ledger, "-o", made))
    assert nw("ledger", "file", ledger, 2, "-o", back).exit_code == 0 and back.read_bytes() == made.read_bytes()
    assert nw.json("ledger", "export", ledger, "-o", entries)["entries"] == 3
    assert json.loads(entries.read_text())["entries"][1]["what"] == "charged"
    for command in (["file", ledger, 2, "-o", back], ["export", ledger, "-o", entries],
                    ["export", ledger, "-o", ledger, "--force"]):
        assert "must not replace" in one_error(nw("ledger", *command))
    assert nw("ledger", "export", ledger, "-o", entries, "--force", "-q").output == ""


def test_a_picture_of_spending(nw, table, schema, ledger, tmp_path) -> None:
    nw(*releasing(table, schema, ledger, "-o", tmp_path / "a.nwr"))
    noisewise.Ledger.open(ledger).charge(Cost.gaussian(20.0, 0.2, 1e-8), description="lost", request="",
                                         neighbours="replace-one, row")
    assert nw("ledger", "show", ledger, "--picture", tmp_path / "spending.png").exit_code == 0
    assert (tmp_path / "spending.png").read_bytes().startswith(b"\x89PNG")
    assert "must be .png" in one_error(nw("ledger", "show", ledger, "--picture", tmp_path / "spending.txt"))


@pytest.mark.parametrize("command", ["show", "verify", "recover"])
def test_what_is_no_ledger_is_an_error_in_words(nw, command: str, schema, tmp_path) -> None:
    for place, words in ((schema, "cannot be used"), (tmp_path, "is a folder"),
                         (tmp_path / "none.db", "the ledger does not exist")):
        assert words in one_error(nw("ledger", command, place))


def test_control_characters_of_a_ledger_are_made_visible(nw, tmp_path) -> None:
    place = tmp_path / "budget.db"
    noisewise.Ledger.open(place, epsilon=1, name="red \x1b[31m")
    noisewise.Ledger.open(place).charge(Cost.laplace(2.0, 0.5), description="odd \x1b[2J", request="")
    for command in ("show", "recover"):
        result: Any = nw("ledger", command, place)
        assert result.exit_code == 0 and "\x1b[31m" not in result.output and "\x1b[2J" not in result.output
