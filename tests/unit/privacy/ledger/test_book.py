"""The ledger: it refuses before noise, repeats for nothing, and nobody can spend the last of the budget twice."""

from __future__ import annotations

import datetime
import json
import math
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.refusals import about
from tests.unit.privacy.ledger.table import ROWS, assert_threads_spend_a_budget_of_1_once, charge, pure_ledger, release, schema

import noisewise as nw
from noisewise.errors import BudgetError, DeclarationError, PrivacyError
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import Ledger, book
from noisewise.privacy.mechanisms.gram import SymmetricGaussian, SymmetricLaplace
from noisewise.run import QUIET


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every time that noise is drawn."""
    times: list[str] = []
    for mechanism in (SymmetricGaussian, SymmetricLaplace):
        original = mechanism.perturb
        monkeypatch.setattr(mechanism, "perturb", lambda *a, original=original: (times.append("noise"), original(*a))[1])
    return times


def test_a_release_is_charged_recorded_and_kept(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    made = release(ledger)
    [opened, charged, done] = ledger.entries()
    assert (opened.what, charged.what, done.what) == ("opened", "charged", "released")
    assert charged.spending == Cost.from_dict(charged.cost or {}) and charged.spending.epsilon == 1.0
    assert charged.description == "gram release of stay, age" and charged.neighbours == "replace-one, row"
    assert done.of == charged.number and nw.load(made.save(tmp_path / "a.nwr")) == made
    assert ledger.file(charged.number) == (tmp_path / "a.nwr").read_bytes()
    assert ledger.spent().epsilon == 1.0 and ledger.remaining() == pytest.approx(2.0, rel=2e-3)
    assert ledger.verify() == [] and ledger.unfinished() == [] and ledger.name == "patients"
    assert [row["together"] for row in ledger.table()] == [1.0]


def test_the_same_request_is_answered_from_the_ledger(tmp_path: Path, drawn: list[str]) -> None:
    ledger = pure_ledger(tmp_path)
    first = release(ledger)
    again = nw.release(tmp_path / "erased.parquet", schema(), epsilon=1, ledger=Ledger.open(tmp_path / "budget.db"))
    assert first == again and drawn == ["noise"] and ledger.spent().epsilon == 1.0
    assert release(ledger, edition="May") != first and ledger.spent().epsilon == 2.0


@pytest.mark.parametrize("change", [
    {"epsilon": 0.9}, {"delta": 1e-7}, {"kind": nw.Gram("I(age**2)")}, {"kind": nw.Gram(mechanism="wishart"), "delta": 1e-7},
    {"edition": "2"},
    {"kind": nw.AdaSSP("stay ~ age"), "delta": 1e-7}, {"kind": nw.Gram(average=3), "delta": 1e-7},
    {"declared": schema(columns={"stay": {"bounds": [0, 61]}, "age": {"bounds": [18, 98]}})},
    {"declared": schema(norm_bound=0.5)}, {"declared": schema(stratum={"year": "2024"})},
    {"declared": schema(columns={"stay": {"bounds": [0, 60]}})},
    {"declared": schema(columns={"age": {"bounds": [18, 98]}, "stay": {"bounds": [0, 60]}})},
])
def test_a_changed_request_is_a_new_release(tmp_path: Path, change: dict[str, Any], drawn: list[str]) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=9, delta=1e-5, rule="planned")
    release(ledger)
    before = len(ledger.entries())
    release(ledger, **change)
    assert len(ledger.entries()) == before + 2


def test_neither_the_day_nor_the_version_nor_spelling_is_part_of_a_request(
    tmp_path: Path, drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import noisewise.holder.plan

    ledger = pure_ledger(tmp_path)
    first = release(ledger)
    monkeypatch.setattr(noisewise.holder.plan, "today", lambda: "2031-01-01")
    monkeypatch.setattr(noisewise.holder.plan, "__version__", "99.0")
    monkeypatch.setattr(nw.Release, "rules", lambda _: ["other words"])
    monkeypatch.setattr(SymmetricLaplace, "statement", lambda *_: "the same in other words")
    assert release(ledger) == release(ledger, kind=nw.Gram(mechanism="laplace")) == release(ledger, epsilon=1) == first
    assert drawn == ["noise"]


def test_what_the_budget_does_not_cover_is_refused_before_noise_and_advice_can_be_followed(
    tmp_path: Path, drawn: list[str]
) -> None:
    ledger = pure_ledger(tmp_path, epsilon=1.5)
    release(ledger)
    with pytest.raises(BudgetError, match="1 is spent.* 2") as refused:
        release(ledger, edition="2")
    assert drawn == ["noise"] and len(ledger.entries()) == 3
    assert "0.5 with Laplace noise" in str(refused.value.remedy) or "0.4" in str(refused.value.remedy)
    release(ledger, epsilon=float(str(refused.value.remedy).split()[7]))
    with pytest.raises(BudgetError, match="nothing is left"):
        release(ledger, edition="3")


@pytest.mark.parametrize("rule", ["gaussian", "planned", "basic"])
def test_gaussian_advice_can_be_followed(tmp_path: Path, rule: Any) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=2, delta=1e-6, rule=rule)
    release(ledger, delta=1e-7)
    if rule == "planned":
        release(ledger, epsilon=0.2)
    left = ledger.remaining(1e-7)
    assert 0 < left <= 2
    release(ledger, epsilon=left, delta=1e-7, edition="2")
    assert ledger.verify() == []
    with pytest.raises(BudgetError):
        release(ledger, epsilon=left, delta=1e-7, edition="3")


def test_three_tenths_of_the_budget_are_three_tenths(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=0.3)
    for edition in "abc":
        release(ledger, epsilon=0.1, edition=edition)
    assert ledger.spent().epsilon == 0.3 and ledger.remaining() == 0.0
    with pytest.raises(BudgetError):
        charge(ledger, 1e-12, neighbours="replace-one, row")


def test_a_tiny_release_is_counted(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=1.0)
    charge(ledger, 1e-12)
    assert ledger.spent().epsilon == 1e-12
    with pytest.raises(BudgetError):
        charge(ledger, 1.0)
    charge(ledger, 0.999999999999)


def test_wishart_noise_needs_another_rule(tmp_path: Path, drawn: list[str]) -> None:
    request: dict[str, Any] = {"epsilon": 0.5, "delta": 1e-7, "kind": nw.Gram(mechanism="wishart")}
    with pytest.raises(BudgetError, match="rule gaussian"):
        release(Ledger.open(tmp_path / "gaussian.db", epsilon=1, delta=1e-6), **request)
    ledger = Ledger.open(tmp_path / "basic.db", epsilon=1, delta=1e-6, rule="basic")
    release(ledger, **request)
    release(ledger, **request, edition="2")
    assert ledger.spent().epsilon == 1.0


def test_parts_of_the_population_do_not_add_up(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=2.0)
    for year in ("2023", "2024", "2025"):
        release(ledger, schema(stratum={"year": year}))
    assert ledger.spent().epsilon == 1.0
    release(ledger)  # about everyone
    assert ledger.spent().epsilon == 2.0
    with pytest.raises(BudgetError):
        release(ledger, schema(stratum={"year": "2024"}), edition="2")
    assert ledger.remaining(stratum={"year": "2026"}) == pytest.approx(1.0, rel=2e-3) and ledger.remaining() == 0.0
    assert "year 2023" in [row["about"] for row in ledger.table()]


def test_parts_of_different_names_add_up(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=2.0)
    release(ledger, schema(stratum={"year": "2024"}))
    release(ledger, schema(stratum={"site": "north"}))
    assert ledger.spent().epsilon == 2.0
    with pytest.raises(BudgetError):
        release(ledger, schema(stratum={"year": "2024", "site": "north"}))
    release(ledger, schema(stratum={"year": "2025", "site": "south"}))


def test_spellings_of_one_part_add_up(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path, epsilon=2.0)
    for number, site in enumerate(("north", " North ")):
        release(ledger, schema(stratum={"site": site}), edition=str(number))
    for site in ("NORTH", "\uff4eorth"):
        with pytest.raises(BudgetError):
            release(ledger, schema(stratum={"site": site}))
    release(ledger, schema(stratum={"site": "south"}))
    assert ledger.spent().epsilon == 2.0


def test_too_many_parts_add_up_rather_than_be_forgotten() -> None:
    from noisewise.privacy.accounting import per_person

    cost = Cost.laplace(1.0, 1.0)
    many = [({name: str(value)}, cost) for name in ("year", "site") for value in range(50)]
    assert [len(costs) for costs in per_person(many)] == [100]
    assert {len(costs) for costs in per_person(many[:70])} == {2}


@pytest.mark.parametrize("other", [{"adjacency": "add-remove"}, {"unit": {"column": "person", "max_rows": 3}}])
def test_a_ledger_protects_one_kind_of_neighbour(tmp_path: Path, other: dict[str, Any], drawn: list[str]) -> None:
    ledger = pure_ledger(tmp_path)
    release(ledger)
    with pytest.raises(BudgetError, match="adjacency and unit"):
        nw.release({**ROWS, "person": ROWS["age"]}, schema(**other), epsilon=0.1, ledger=ledger, run=QUIET)
    assert drawn == ["noise"]


def test_how_many_rows_of_a_person_are_used_is_no_other_neighbour(tmp_path: Path) -> None:
    ledger, rows = pure_ledger(tmp_path), {**ROWS, "person": ROWS["age"]}
    for most in (1, 3):
        nw.release(rows, schema(unit={"column": "person", "max_rows": most}), epsilon=0.1, ledger=ledger, run=QUIET)
    assert ledger.entries()[1].neighbours == "replace-one, all rows of one person"


def test_a_clock_that_goes_backwards_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = pure_ledger(tmp_path)
    release(ledger)
    monkeypatch.setattr(book, "_now", lambda: "1999-12-31T23:59:59+00:00")
    release(ledger, edition="2")
    times = [entry.at for entry in ledger.entries()]
    assert times == sorted(times) and ledger.verify() == [] and ledger.spent().epsilon == 2.0


def test_a_charge_without_a_file_counts_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = pure_ledger(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(SymmetricLaplace, "perturb", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            release(ledger)
    assert [entry.number for entry in ledger.unfinished()] == [2] and ledger.spent().epsilon == 1.0
    with pytest.raises(PrivacyError, match="no file"):
        ledger.file(2)
    ledger.patience = 0.0
    release(ledger)
    assert ledger.spent().epsilon == 2.0 and [entry.number for entry in ledger.unfinished()] == [2]


def test_the_same_request_of_two_processes_is_charged_once(tmp_path: Path) -> None:
    """The second one comes after the first has charged: it waits, and is handed the number of the first."""
    ledger = pure_ledger(tmp_path)
    number = charge(ledger, request="same")
    done = threading.Timer(0.3, lambda: ledger.complete(number, b"the file"))
    done.start()
    assert charge(Ledger.open(tmp_path / "budget.db"), request="same") == number
    done.join()
    assert ledger.earlier("same") == b"the file" and ledger.spent().epsilon == 1.0


def test_a_request_that_was_completed_while_the_rows_were_read_is_not_charged(tmp_path: Path, drawn: list[str]) -> None:
    import noisewise.data

    ledger, read = pure_ledger(tmp_path), noisewise.data.gram_sum

    def slow(*arguments: Any, **options: Any) -> Any:
        noisewise.data.gram_sum = read
        release(Ledger.open(tmp_path / "budget.db"))  # someone else, meanwhile
        return read(*arguments, **options)

    noisewise.data.gram_sum = slow
    try:
        made = release(ledger)
    finally:
        noisewise.data.gram_sum = read
    assert drawn == ["noise"] and ledger.spent().epsilon == 1.0 and made == release(ledger)


def test_an_old_charge_of_the_same_request_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = pure_ledger(tmp_path)
    hour_ago = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)).isoformat(timespec="seconds")
    with monkeypatch.context() as earlier:
        earlier.setattr(book, "_now", lambda: hour_ago)
        older = Ledger.open(tmp_path / "older.db", epsilon=3)
        charge(older, request="same")
    monkeypatch.setattr(book.time, "sleep", lambda _: pytest.fail("it waited"))
    charge(older, request="same")
    assert older.spent().epsilon == 2.0 and ledger.spent().epsilon == 0.0


def test_threads_cannot_spend_the_last_of_the_budget_twice(tmp_path: Path) -> None:
    assert_threads_spend_a_budget_of_1_once(pure_ledger(tmp_path, epsilon=1.0))


def test_a_charge_is_completed_once(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    number = charge(ledger)
    ledger.complete(number, b"x")
    for wrong in (number, 1, 77):
        with pytest.raises(PrivacyError, match="completed only once"):
            ledger.complete(wrong, b"y")


@pytest.mark.parametrize("edition", ["two\nlines", "x" * 201, 5, "\x1b[31m"])
def test_editions_are_short_texts(tmp_path: Path, edition: Any) -> None:
    with pytest.raises(DeclarationError, check=about("edition")):
        release(pure_ledger(tmp_path), edition=edition)


def test_descriptions_hold_names_and_no_values(tmp_path: Path) -> None:
    declared = {f"column{number}": {"bounds": [0, 1]} for number in range(30)}
    rows = {name: ROWS["age"] * 0 + 0.123456789 for name in declared}
    ledger = pure_ledger(tmp_path)
    nw.release(rows, schema(columns=declared), epsilon=1, ledger=ledger, run=QUIET)
    words = json.dumps([vars(entry) for entry in ledger.entries()])
    assert "and 22 more" in words and "123456789" not in words


def test_who_is_the_account_and_not_what_the_environment_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "someone-else")
    assert pure_ledger(tmp_path).entries()[0].who == pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setattr(pwd, "getpwuid", lambda _: (_ for _ in ()).throw(KeyError()))
    assert book._who() == "someone-else"


def test_the_export_holds_everything_but_the_files(tmp_path: Path) -> None:
    ledger = pure_ledger(tmp_path)
    release(ledger)
    document = json.loads(ledger.export(tmp_path / "export.json").read_text())
    assert document["format"] == "noisewise-ledger"
    assert [entry["digest"] for entry in document["entries"]] == [entry.digest for entry in ledger.entries()]


def test_running_totals_of_a_planned_ledger_end_with_what_is_spent(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=9, delta=1e-6, rule="planned")
    for number in range(45):
        charge(ledger, 0.01 + number * 1e-6)
    together = [row["together"] for row in ledger.table()]
    known = [value for value in together if not math.isnan(value)]
    assert together[-1] == pytest.approx(ledger.spent().epsilon, rel=1e-12) and math.isnan(together[1])
    assert known == sorted(known) and len(known) == 23
