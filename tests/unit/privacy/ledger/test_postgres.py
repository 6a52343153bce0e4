"""The same ledger in PostgreSQL. A server is started for the tests where the packages psycopg and pgserver are installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.privacy.ledger.table import assert_threads_spend_a_budget_of_1_once, charge, release

from noisewise.errors import BudgetError, PrivacyError
from noisewise.privacy.ledger import Ledger


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("psycopg")
    pgserver = pytest.importorskip("pgserver")
    started = pgserver.get_server(tmp_path_factory.mktemp("server"), cleanup_mode="stop")
    yield started
    started.cleanup()


@pytest.fixture
def address(server: Any, request: pytest.FixtureRequest) -> str:
    """An empty database for each test."""
    name = "t" + str(abs(hash(request.node.name)))
    server.psql(f"CREATE DATABASE {name};")
    return str(server.get_uri(name))


def test_a_ledger_in_postgresql_does_what_one_in_a_file_does(address: str) -> None:
    ledger = Ledger.open(address, epsilon=2, name="patients")
    first = release(ledger)
    assert release(Ledger.open(address)) == first and ledger.spent().epsilon == 1.0 and ledger.verify() == []
    assert [entry.what for entry in ledger.entries()] == ["opened", "charged", "released"]
    with pytest.raises(BudgetError, match="1 is spent"):
        release(ledger, epsilon=1.5)
    with pytest.raises(BudgetError, match="never change"):
        Ledger.open(address, epsilon=3)


def test_threads_cannot_spend_the_last_of_the_budget_twice(address: str) -> None:
    assert_threads_spend_a_budget_of_1_once(Ledger.open(address, epsilon=1.0))


def test_entries_can_only_be_added_and_changes_show(address: str) -> None:
    import psycopg

    ledger = Ledger.open(address, epsilon=2)
    release(ledger)
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in ("DELETE FROM noisewise_entries", "UPDATE noisewise_files SET content = ''",
                          "TRUNCATE noisewise_entries"):
            with pytest.raises(psycopg.Error, match="only be added to"):
                connection.execute(statement)
        connection.execute("DROP TRIGGER noisewise_entries_kept ON noisewise_entries")
        connection.execute("UPDATE noisewise_entries SET who = 'nobody' WHERE number = 2")
    assert ledger.verify() == ["entry 2 was changed after it was written"]
    with pytest.raises(BudgetError, match="was changed"):
        charge(ledger)


def test_what_a_server_says_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg = pytest.importorskip("psycopg")

    def fail(*given: object, **more: object) -> None:
        raise psycopg.OperationalError("no entry for ann with the password secret")

    monkeypatch.setattr(psycopg, "connect", fail)
    with pytest.raises(PrivacyError, match="cannot be used") as refused:
        Ledger.open("postgresql://ann:secret@server/ledgers", epsilon=1)
    assert "secret" not in str(refused.value) and "OperationalError" in str(refused.value)


def test_a_server_that_is_not_there_is_one_of_our_errors(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(PrivacyError, match="cannot be used") as refused:
        Ledger.open(f"postgresql://ann:secret@/ledgers?host={tmp_path}&connect_timeout=2", epsilon=1)
    assert "secret" not in str(refused.value)
