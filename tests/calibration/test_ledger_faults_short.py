"""A short run of the study of faults: nothing that was handed out is missing from the ledger, and nothing is spent twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies import ledger_faults
from studies.ledger_faults import check, clock_backwards, full_disk, kills, two_writers

from noisewise.privacy.ledger import Ledger

pytest.importorskip("resource")


def test_processes_that_are_killed(tmp_path: Path) -> None:
    found = kills(tmp_path, 4, seed=1)
    assert (found.spent_less_than_handed_out, found.double_spends) == (0, 0) and found.recorded >= found.handed_out > 0


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    found = full_disk(tmp_path, 3)
    assert (found.spent_less_than_handed_out, found.double_spends) == (0, 0)


def test_two_writers_and_a_clock_that_goes_backwards(tmp_path: Path) -> None:
    for found in (two_writers(tmp_path, 30), clock_backwards(tmp_path, 8, seed=1)):
        assert (found.spent_less_than_handed_out, found.double_spends) == (0, 0)
    assert found.handed_out == 8


def test_the_study_would_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, told = Ledger.open(tmp_path / "budget.db", epsilon=1), tmp_path / "told.txt"
    told.write_text("a release that is in no ledger\n")
    assert check("a lost charge", 1, ledger, told).spent_less_than_handed_out == 2
    monkeypatch.setattr(ledger_faults, "EACH", 2.0)
    told.unlink()
    monkeypatch.setattr(Ledger, "_covers", lambda *_: True)
    ledger_faults.charges(tmp_path / "budget.db", 1)
    assert check("a charge too many", 1, ledger, told).double_spends == 1
