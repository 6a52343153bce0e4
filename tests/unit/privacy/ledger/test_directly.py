"""What a ledger must never do, asked of it directly and fast: without a release, and of the chain without a file."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.privacy.ledger.table import charge, pure_ledger

from noisewise.database_query import is_postgres
from noisewise.errors import BudgetError, PrivacyError
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import Ledger, postgres
from noisewise.privacy.ledger.book import _last
from noisewise.privacy.ledger.entries import Entry, Total, problems
from noisewise.privacy.ledger.store import _TABLES, _TEXTS, COLUMNS, Store, _entry


def test_a_charge_beyond_the_total_is_refused_and_leaves_no_entry(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=1.0)
    charge(ledger, 1.0)
    with pytest.raises(BudgetError, match="nothing is left"):
        charge(ledger, 0.5)
    assert len(ledger.entries()) == 2


def test_one_person_without_budget_is_enough_to_refuse(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=1.0)
    charge(ledger, 1.0, stratum={"year": "2023"})
    charge(ledger, 0.5, stratum={"year": "2024"})
    assert ledger.spent().epsilon == 1.0
    for stratum in ({"year": "2023"}, {}):
        with pytest.raises(BudgetError):
            charge(ledger, 0.1, stratum=stratum)


def test_other_neighbours_are_refused(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    for _ in range(2):
        charge(ledger, 0.1, neighbours="replace-one, row")
    assert [known.neighbours for known in ledger.entries()] == ["", "replace-one, row", "replace-one, row"]
    with pytest.raises(BudgetError, match="adjacency and unit"):
        charge(ledger, 0.1, neighbours="add-remove, row")


def test_a_password_stays_in_the_process() -> None:
    """Of an address neither words nor what is pickled have it; a copy within the process is the same store."""
    store = Store("postgresql://holder:secret@server.example/budget")
    assert store.remote and "secret" in store.place
    assert "secret" not in store.shown and "server.example" in store.shown
    assert "secret" not in repr(store.__getstate__()) and "server.example" in store.__getstate__()["place"]
    assert copy.deepcopy(store) is store


def test_a_ledger_is_found_again_where_it_says(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    assert ledger.place == str(tmp_path / "budget.db")
    assert pickle.loads(pickle.dumps(ledger)).entries() == ledger.entries()


def test_files_that_were_exchanged_are_not_handed_out(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    for content in (b"first", b"second"):
        ledger.complete(charge(ledger, 0.1), content)
    stored = {entry.of: ledger.file(entry.of) for entry in ledger.entries() if entry.of is not None}
    assert list(stored.values()) == [b"first", b"second"] and ledger.earlier("") is None
    digests = [row["file"] for row in ledger.table()]
    assert digests == [entry.file_digest for entry in ledger.entries() if entry.what == "released"]
    numbers = list(stored)
    ledger._store.file = lambda number: stored[numbers[1 - numbers.index(number)]]  # type: ignore[method-assign]
    for number in numbers:
        with pytest.raises(BudgetError, match="not returned"):
            ledger.file(number)


def test_the_file_writes_ahead_and_has_all_its_guards(tmp_path: Path) -> None:
    charge(pure_ledger(tmp_path))
    connection = sqlite3.connect(tmp_path / "budget.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    guards = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    actions = ("update", "delete", "insert")
    assert guards == {f"noisewise_{table}_{action}" for table in ("entries", "files") for action in actions}
    connection.close()


def entry(last: Entry | None = None, **fields: Any) -> Entry:
    values: dict[str, Any] = {"what": "charged", "at": "2026-01-02", "who": "me", "description": "", **fields}
    return Entry.following(last, **values)


def test_a_ledger_begins_with_its_total() -> None:
    total = Total(1.0, 0.0, "basic")
    opened = entry(what="opened", cost=total.as_dict())
    assert Total.of([opened]) == total
    stated = total.as_dict()
    wrong = [{name: value for name, value in stated.items() if name != left_out} for left_out in stated]
    costs = [None, *wrong, {**stated, "format": "1"}]
    for entries in ([], [replace(opened, what="charged")], *([replace(opened, cost=cost)] for cost in costs)):
        with pytest.raises(PrivacyError, match="total budget"):
            Total.of(entries)
    with pytest.raises(PrivacyError, match="format 1"):
        Total.of([replace(opened, cost={**stated, "format": 2})])


def test_an_entry_that_is_dated_before_another_shows() -> None:
    first = entry(what="opened")
    second = entry(first)
    early = replace(second, at="2026-01-01")
    early = replace(early, digest=early.computed_digest())
    assert list(problems([first, second])) == []
    assert [words for words in problems([first, early]) if "is dated" in words] == [
        "entry 2 is dated 2026-01-01, before the previous one (2026-01-02)"]


def test_a_digest_covers_every_other_field() -> None:
    """As text of ASCII alone, names in order: any program can compute it again."""
    found = entry(description="Å, 日本", cost={"delta": 0.0, "epsilon": 1.0}, stratum={"year": "2024"})
    fields = {name: value for name, value in asdict(found).items() if name != "digest"}
    text = json.dumps(dict(sorted(fields.items())))
    assert found.before == "0" * 64
    assert text.isascii() and found.digest == hashlib.sha256(text.encode()).hexdigest()


def test_a_file_is_the_answer_to_its_own_request_only(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    first = charge(ledger, 0.1, request="one")
    ledger.complete(first, b"one")
    second = charge(ledger, 0.1, request="two")
    assert second == 4 and charge(ledger, 0.1, request="one") == first
    assert ledger.earlier("two") is None and ledger.earlier("one") == b"one" and ledger.earlier("") is None


@pytest.mark.parametrize("name", _TEXTS)
def test_an_entry_with_one_text_that_is_none_cannot_be_read(name: str) -> None:
    values = {**asdict(entry()), "stratum": "{}", "cost": None}
    assert _entry(tuple(values.values())).stratum == {}
    with pytest.raises(PrivacyError, match="cannot be read"):
        _entry(tuple({**values, name: b"bytes"}.values()))


def test_every_other_fault_of_a_chain_shows_in_words() -> None:
    first = entry(what="opened")
    second, third = entry(first), entry(entry(first), description="3")
    assert list(problems([first, second, third])) == []
    assert list(problems([first, replace(second, who="you"), third])) == ["entry 2 was changed after it was written"]
    assert list(problems([first, third])) == [
        "entry 2 is missing or out of place (found 3)",
        "entry 3 does not follow the previous one: an entry was changed, removed or inserted"]
    unknown = entry(first, what="erased")
    assert list(problems([first, unknown])) == ["entry 2 is of an unknown kind: erased"]


def test_a_digest_that_was_kept_elsewhere_is_looked_for(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    charge(ledger, 0.1)
    for known in ledger.entries():
        assert ledger.verify(known.digest) == []
    assert ["kept elsewhere" in words for words in ledger.verify("0" * 64)] == [True]


def test_what_remains_is_what_can_be_charged(tmp_path: Path) -> None:
    """By the rule gaussian, after Gaussian noise, the size of Laplace noise counts, and for whom it is."""
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=2, delta=1e-6)
    ledger.charge(Cost.gaussian(4.0, 1.2, 1e-6), description="", request="", stratum={"year": "2024"})
    left, elsewhere = (ledger.remaining(stratum=stratum) for stratum in ({"year": "2024"}, {"year": "2025"}))
    assert 0.1 < left < 0.9 * elsewhere and ledger.remaining() == left
    with pytest.raises(BudgetError):
        charge(ledger, left * 1.01, stratum={"year": "2024"})
    charge(ledger, left, stratum={"year": "2024"})
    charge(ledger, elsewhere, stratum={"year": "2025"})


def test_only_a_charge_with_a_cost_is_a_spending() -> None:
    cost = {"epsilon": 1.0, "delta": 0.0, "pieces": [["laplace", 1.0]]}
    assert entry(cost=cost).spending == Cost.laplace(1.0, 1.0)
    for other in (entry(), entry(what="opened", cost=cost), entry(what="released", cost=cost)):
        with pytest.raises(PrivacyError, match="entry 1"):
            _ = other.spending


def test_charges_say_whom_they_are_about(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    charge(ledger, 0.5, stratum={"year": "2024", "site": "north"})
    charge(ledger, 0.25)
    assert ledger.charges() == [({"year": "2024", "site": "north"}, Cost.laplace(2.0, 0.5)), ({}, Cost.laplace(4.0, 0.25))]
    assert sorted(str(ledger.table()[0]["about"]).split(", ")) == ["site north", "year 2024"]
    assert [(row["epsilon"], row["about"]) for row in ledger.table()][1] == (0.25, "everyone")


def test_an_address_is_shown_without_its_password() -> None:
    for address in ("postgresql://ann:secret@server/ledgers", "postgres://ann:s:e:cret@server:5432/x", "postgresql://ann:s@e/cret@server/x",
                    "postgresql://server/x?user=ann&password=secret", "postgresql://server/x?user=ann&password=secr@cret",
                    "postgresql://ann:s?e@cret@server/x", "postgresql://server/x?password=s@e?user=cret"):
        assert is_postgres(address) and "cret" not in postgres.without_password(address) + postgres.to_be_stored(address)
    assert not is_postgres("budget.db")


def test_without_its_package_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(PrivacyError, match=r"install noisewise\[postgres\]"):
        Ledger.open("postgresql://ann:secret@server/ledgers", epsilon=1)


class ServerError(Exception):
    """What the driver of the server below raises."""


class Server:
    """A PostgreSQL server that is made up: the columns of the ledger that it has, if any, and what it was asked."""

    def __init__(self, columns: Sequence[str] | None, error: Exception | None = None) -> None:
        self.columns, self.error = columns, error
        self.asked: list[str] = []
        self.options: list[dict[str, object]] = []

    def connect(self, address: str, **options: object) -> Server:
        self.options.append(options)
        if self.error:
            raise self.error
        return self

    def execute(self, statement: str, *values: object) -> Any:
        self.asked.append(statement)
        found = None if self.columns is None else "noisewise_entries"
        return SimpleNamespace(fetchone=lambda: (found,), fetchall=list, description=[(name, 25) for name in self.columns or ()])

    def close(self) -> None:
        """Nothing is open."""


def store_on(monkeypatch: pytest.MonkeyPatch, server: Server) -> Store:
    monkeypatch.setattr(postgres, "driver", lambda: SimpleNamespace(connect=server.connect, Error=ServerError))
    return Store("postgresql://ann:secret@server/ledgers")


def test_on_a_server_too_a_ledger_is_looked_for_and_one_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement commits itself: a transaction of the driver's own could be of another isolation than `BEGIN` asks for."""
    for columns in (COLUMNS, ("number",), (*COLUMNS, "partition")):
        server = Server(columns)
        assert store_on(monkeypatch, server).exists() and len(server.asked) == 2
        assert server.options == [{"autocommit": True}]
    with pytest.raises(PrivacyError, match="before noisewise 0.2 was published"):
        store_on(monkeypatch, Server(("number", "partition"))).exists()
    empty = Server(None)
    assert not store_on(monkeypatch, empty).exists() and len(empty.asked) == 1


def test_on_a_server_a_ledger_is_made_with_its_guards_and_under_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(None)
    store_on(monkeypatch, server).create(entry(what="opened"))
    begin, tables, guards = len(postgres.BEGIN), len(_TABLES), len(postgres.GUARDS)
    assert tuple(server.asked[:begin]) == postgres.BEGIN
    assert server.asked[begin:begin + tables] == [table.format(bytes="BYTEA") for table in _TABLES]
    assert tuple(server.asked[begin + tables:begin + tables + guards]) == postgres.GUARDS
    look, insert, commit = server.asked[begin + tables + guards:]
    marks = ", ".join(["%s"] * len(COLUMNS))
    assert look.startswith("SELECT") and insert.endswith(f"VALUES ({marks})") and commit == "COMMIT"


def test_what_any_server_says_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_on(monkeypatch, Server(None, ServerError("no entry for ann with the password secret")))
    with pytest.raises(PrivacyError, match="cannot be used.*ServerError") as refused:
        store.exists()
    assert "secret" not in str(refused.value)


def test_the_last_entry_of_a_request_is_of_the_kind_that_is_looked_for() -> None:
    charged = entry(entry(what="opened"), request="one")
    released = entry(charged, what="released", request="one", of=2)
    entries = [entry(what="opened"), charged, released, entry(released, request="two")]
    assert _last(entries, "charged", "one") is charged and _last(entries, "released", "one") is released
    assert _last(entries, "released", "two") is None
    assert _last([*entries, entry(entries[-1], request="one")], "released", "one") is released
