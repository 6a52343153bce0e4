"""The file of a ledger: what is no ledger is refused, and what was changed shows."""

from __future__ import annotations

import os
import sqlite3
import stat
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import about
from tests.unit.privacy.ledger.table import charge, pure_ledger, release

from noisewise.errors import BudgetError, NoisewiseError, PrivacyError
from noisewise.privacy.ledger import Ledger
from noisewise.privacy.ledger.entries import FIRST, Entry, Total, problems
from noisewise.privacy.ledger.store import Store


def tamper(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for table in ("noisewise_entries", "noisewise_files"):
        for action in ("update", "delete"):
            connection.execute(f"DROP TRIGGER {table}_{action}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_the_total_and_the_rule_never_change(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    Ledger.open(path, epsilon=3, delta=1e-6)
    ledger = Ledger.open(path)
    assert (ledger.epsilon, ledger.delta, ledger.rule) == (3.0, 1e-6, "gaussian")
    assert repr(Ledger.open(path, epsilon=3.0, delta=1e-6, rule="gaussian")).endswith("epsilon 3.0, delta 1e-06, gaussian>")
    for changed in ({"epsilon": 4}, {"delta": 1e-5}, {"rule": "planned"}, {"delta": 0.0}):
        [(name, value)] = changed.items()
        words = f"never change .*{name} {value}; the ledger has epsilon 3.0, delta 1e-06, rule gaussian"
        with pytest.raises(BudgetError, match=words):
            Ledger.open(path, **changed)
    assert Ledger.open(tmp_path / "pure.db", epsilon=1).rule == "basic"


@pytest.mark.parametrize("total", [
    {"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("inf")}, {"epsilon": float("nan")}, {"epsilon": True}, {"epsilon": "3"},
    {"epsilon": 1, "delta": 1.0}, {"epsilon": 1, "delta": -1e-9}, {"epsilon": 1, "rule": "generous"}, {},
])
def test_what_is_no_budget_is_refused_and_leaves_no_file(tmp_path: Path, total: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        Ledger.open(tmp_path / "budget.db", **total)
    assert list(tmp_path.iterdir()) == []


def test_folders_other_files_and_missing_places_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("not a database, but long enough to look at" * 30)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE patients (name TEXT)")
    connection.commit()
    connection.close()
    for place, words in ((tmp_path, "is a folder"), (text, "cannot be used"), (other, "not a ledger"),
                         (tmp_path / "not" / "there.db", "must exist")):
        before = {path: path.read_bytes() for path in (text, other)}
        with pytest.raises(PrivacyError, match=words):
            Ledger.open(place, epsilon=1)
        assert before == {path: path.read_bytes() for path in (text, other)}


def test_a_ledger_of_the_unpublished_version_is_named_as_such(tmp_path: Path) -> None:
    old = tmp_path / "budget.db"
    connection = sqlite3.connect(old)
    connection.execute("CREATE TABLE noisewise_entries (number INTEGER PRIMARY KEY, partition TEXT NOT NULL)")
    connection.commit()
    connection.close()
    before = old.read_bytes()
    for limits in ({}, {"epsilon": 1}):
        with pytest.raises(PrivacyError, match=r"before noisewise 0.2 was published.*budget\.db.*open a new one"):
            Ledger.open(old, **limits)
    assert old.read_bytes() == before


def test_looking_for_a_ledger_makes_none(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, check=about("epsilon")):
        Ledger.open(tmp_path / "budget.db")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_died_while_making_the_file_leaves_one_that_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")  # as far as it may have come
    connection.close()
    assert path.stat().st_size > 0
    assert Ledger.open(path, epsilon=1).spent().epsilon == 0.0


def test_a_file_that_may_only_be_read_can_be_shown_and_not_charged(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    release(pure_ledger(folder))
    os.chmod(folder / "budget.db", stat.S_IRUSR)
    os.chmod(folder, stat.S_IRUSR | stat.S_IXUSR)
    try:
        if os.access(folder / "budget.db", os.W_OK):
            pytest.skip("this account may write everywhere")
        ledger = Ledger.open(folder / "budget.db")
        assert ledger.spent().epsilon == 1.0 and ledger.verify() == []
        with pytest.raises(PrivacyError, match="cannot be used"):
            charge(ledger)
    finally:
        os.chmod(folder, stat.S_IRWXU)


def test_entries_can_only_be_added(tmp_path: Path) -> None:
    release(pure_ledger(tmp_path))
    connection = sqlite3.connect(tmp_path / "budget.db")
    for table in ("noisewise_entries", "noisewise_files"):
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = 99"):
            with pytest.raises(sqlite3.IntegrityError, match="only be added to"):
                connection.execute(statement)
    connection.close()


def test_rows_are_not_replaced_either(tmp_path: Path) -> None:
    release(pure_ledger(tmp_path))
    connection = sqlite3.connect(tmp_path / "budget.db")
    for statement in ("INSERT OR REPLACE INTO noisewise_files VALUES (2, x'00')",
                      "INSERT OR REPLACE INTO noisewise_entries SELECT * FROM noisewise_entries WHERE number = 2"):
        with pytest.raises(sqlite3.IntegrityError, match="only be added to"):
            connection.execute(statement)
    connection.close()


def test_a_second_name_of_the_file_is_no_second_budget(tmp_path: Path) -> None:
    """SQLite has a log per name: two processes that use two hard links could each spend everything."""
    ledger = pure_ledger(tmp_path)
    (tmp_path / "soft.db").symlink_to(tmp_path / "budget.db")
    charge(Ledger.open(tmp_path / "soft.db"))
    (tmp_path / "hard.db").hardlink_to(tmp_path / "budget.db")
    for opened in (ledger, Ledger.open(tmp_path / "hard.db")):
        with pytest.raises(PrivacyError, match="one name"):
            charge(opened)
    (tmp_path / "hard.db").unlink()
    charge(ledger)
    assert ledger.spent().epsilon == 2.0


def test_a_ledger_that_was_replaced_since_it_was_opened_is_not_charged(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=3.0)
    (tmp_path / "budget.db").unlink()
    pure_ledger(tmp_path, epsilon=1.0)
    with pytest.raises(BudgetError, match="when it was opened"):
        charge(ledger, 0.1)


TAMPERING = {
    "amount": ("UPDATE noisewise_entries SET cost = replace(cost, '\"epsilon\": 1.0', '\"epsilon\": 0.1') WHERE number = 2",
               "entry 2 was changed"),
    "who": ("UPDATE noisewise_entries SET who = 'nobody' WHERE number = 3", "entry 3 was changed"),
    "middle": ("DELETE FROM noisewise_entries WHERE number = 2", "entry 2 is missing"),
    "file": ("UPDATE noisewise_files SET content = x'00'", "file of entry 2"),
    "no file": ("DELETE FROM noisewise_files", "file of entry 2"),
    "kind": ("UPDATE noisewise_entries SET what = 'gift' WHERE number = 2", "unknown kind: gift"),
    "part": ("UPDATE noisewise_entries SET stratum = '{\"year\": \"2020\"}' WHERE number = 2", "entry 2 was changed"),
    "total": ("UPDATE noisewise_entries SET cost = replace(cost, '3.0', '30.0') WHERE number = 1", "entry 1 was changed"),
}


@pytest.mark.parametrize("case", TAMPERING)
def test_changes_show_and_the_ledger_is_closed(tmp_path: Path, case: str) -> None:
    statement, words = TAMPERING[case]
    ledger = pure_ledger(tmp_path)
    release(ledger)
    assert ledger.verify() == []
    tamper(tmp_path / "budget.db", statement)
    assert any(words in found for found in ledger.verify())
    if "file" in case:
        with pytest.raises(PrivacyError, match="changed and is not returned|no file"):
            release(ledger)
    else:
        with pytest.raises(BudgetError, match="was changed cannot be charged"):
            charge(ledger)


@pytest.mark.parametrize("statement", [
    "UPDATE noisewise_entries SET cost = 'nonsense' WHERE number = 2",
    "UPDATE noisewise_entries SET cost = NULL WHERE number = 2",
    "UPDATE noisewise_entries SET stratum = '5' WHERE number = 2", "UPDATE noisewise_entries SET cost = '{}' WHERE number = 2",
    "UPDATE noisewise_entries SET cost = '{}' WHERE number = 1", "DELETE FROM noisewise_entries", "DROP TABLE noisewise_files",
    "DELETE FROM noisewise_entries WHERE number = 1",
    "UPDATE noisewise_entries SET cost = '{\"epsilon\": NaN}' WHERE number = 2",
    "UPDATE noisewise_entries SET cost = '{\"epsilon\": 1e999}' WHERE number = 2",
    "UPDATE noisewise_entries SET what = x'00' WHERE number = 2", "UPDATE noisewise_entries SET at = x'ff' WHERE number = 2",
])
def test_whatever_was_changed_is_one_of_our_errors(tmp_path: Path, statement: str) -> None:
    release(pure_ledger(tmp_path))
    tamper(tmp_path / "budget.db", statement)
    with pytest.raises(NoisewiseError):
        ledger = Ledger.open(tmp_path / "budget.db", epsilon=3)
        assert ledger.verify()
        charge(ledger)
        ledger.file(2)


def test_only_a_digest_kept_elsewhere_shows_that_the_end_is_missing(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    release(ledger)
    anchor = ledger.entries()[-1].digest
    release(ledger, edition="2")
    assert ledger.verify(anchor) == []
    anchor = ledger.entries()[-1].digest
    tamper(tmp_path / "budget.db", "DELETE FROM noisewise_entries WHERE number > 3",
           "DELETE FROM noisewise_files WHERE entry > 3")
    assert ledger.verify() == [] and "kept elsewhere" in ledger.verify(anchor)[0]


def test_a_chain_made_anew_is_shown_by_the_digest_that_was_kept(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    charge(ledger)
    anchor = ledger.entries()[-1].digest
    forged = pure_ledger(tmp_path / "forged" if (tmp_path / "forged").mkdir() is None else tmp_path)
    charge(forged, 0.1)
    assert forged.verify() == [] and forged.verify(anchor) != []


def test_more_than_the_total_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = pure_ledger(tmp_path)
    with monkeypatch.context() as careless:
        careless.setattr(Ledger, "_covers", lambda *_: True)
        charge(ledger, 5.0)
    assert ledger.verify() == ["the charges exceed the total budget"]


def test_a_ledger_of_a_newer_version_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewise.privacy.ledger.entries.FORMAT", 2)
    pure_ledger(tmp_path)
    monkeypatch.undo()
    with pytest.raises(PrivacyError, match="format 1") as refused:
        Ledger.open(tmp_path / "budget.db")
    assert refused.value.remedy == "upgrade noisewise"


def test_it_writes_ahead_and_leaves_one_file(tmp_path: Path) -> None:
    release(pure_ledger(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["budget.db"]
    connection = sqlite3.connect(tmp_path / "budget.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize("read_only", [False, True])
def test_every_connection_waits_for_the_disk_and_for_other_writers(tmp_path: Path, read_only: bool) -> None:
    """A charge that a power cut could take back would be no charge; a file's own code must not run."""
    charge(pure_ledger(tmp_path))
    with Store(tmp_path / "budget.db")._connected(read_only=read_only) as connection:
        found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0]
                 for name in ("synchronous", "fullfsync", "checkpoint_fullfsync", "trusted_schema", "busy_timeout")}
    assert found == {"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1, "trusted_schema": 0, "busy_timeout": 60_000}
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_charge_that_fails_half_way_never_happened(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    charge(ledger)
    before = ledger.entries()
    with pytest.raises(ZeroDivisionError), ledger._store.writing() as connection:
        ledger._store.add(connection, Entry.following(before[-1], what="charged", at="2100", who="a", description="b"))
        _ = 1 / 0
    assert ledger.entries() == before
    charge(ledger)  # the lock was given back
    assert len(ledger.entries()) == len(before) + 1


def test_a_place_with_odd_characters(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=ro#x%20.db"
    charge(Ledger.open(path, epsilon=1))
    assert path.is_file() and Ledger.open(path).spent().epsilon == 1.0


def chain(count: int) -> list[Entry]:
    entries: list[Entry] = []
    for number in range(count):
        entries.append(Entry.following(entries[-1] if entries else None, what="charged", at=f"2026-01-{number + 1:02}", who="a",
                                       description="b", cost={"epsilon": 1.0}))
    return entries


@given(st.integers(1, 8), st.data())
def test_every_change_of_a_chain_is_noticed(count: int, data: st.DataObject) -> None:
    entries = chain(count)
    assert list(problems(entries)) == []
    place = data.draw(st.integers(0, count - 1))
    name = data.draw(st.sampled_from(["who", "description", "at", "request", "before", "digest", "neighbours", "file_digest"]))
    changed = replace(entries[place], **{name: getattr(entries[place], name) + data.draw(st.text(min_size=1, max_size=5))})
    assert list(problems([*entries[:place], changed, *entries[place + 1:]])) != []
    if place < count - 1:
        assert list(problems([*entries[:place], *entries[place + 1:]])) != []
        assert list(problems([*entries[:place], entries[place + 1], entries[place], *entries[place + 2:]])) != []


def test_an_entry_is_never_dated_before_the_last() -> None:
    last = chain(3)[-1]
    for at, dated in (("2020-01-01", last.at), ("2026-02-01", "2026-02-01")):
        entry = Entry.following(last, what="charged", at=at, who="a", description="b")
        assert entry.at == dated and not list(problems([*chain(3), entry]))


def test_a_chain_begins_with_nothing_before_it() -> None:
    [first, second] = chain(2)
    assert first.before == FIRST and second.before == first.digest
    assert Entry(**asdict(first)).computed_digest() == first.digest
    with pytest.raises(PrivacyError, match="total budget"):
        Total.of([first])
    with pytest.raises(PrivacyError, match="entry 1"):
        _ = replace(first, cost=None).spending
