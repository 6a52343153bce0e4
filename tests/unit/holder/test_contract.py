"""What holds for every kind of release: the order of things, what is refused, what is recorded, and what a repetition gets."""

from __future__ import annotations

import os
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.holder.asked import ASKED, DRAWS, ROWS, Asked, events, every_kind, made_table, order_of, schema_with, told
from tests.unit.holder.one_regression import REGRESSIONS
from tests.unit.recorder import Recorder

import noisewise as nw
from noisewise.errors import BudgetError, DataError, DeclarationError, NoisewiseError, PrivacyError, ReleaseWriteError
from noisewise.holder.plan import plan_of
from noisewise.kinds import kinds
from noisewise.releases.format import decode, encode

__all__ = ["events"]


def test_no_kind_is_forgotten() -> None:
    assert {asked.kind.name for asked in ASKED.values()} == {kind.name for kind in kinds()}


@pytest.fixture
def ledger(tmp_path: Path) -> nw.Ledger:
    return nw.Ledger.open(tmp_path / "table.ledger", epsilon=100.0, delta=1e-3, rule="basic")


# The order of things -------------------------------------------------------------------------------------------------------


@every_kind()
def test_rows_are_read_then_the_budget_is_charged_then_noise_is_drawn_then_it_is_recorded(
    asked: Asked, events: list[str], tmp_path: Path
) -> None:
    ledger = Recorder(events)
    asked.release(told(asked, events), ledger=ledger, to=asked.place(tmp_path))
    assert order_of(events) == ["rows", "charge", "noise", "complete"]
    [(epsilon, delta, description)] = ledger.charges
    assert (epsilon, delta) == (asked.epsilon, asked.delta or 0.0)
    assert asked.title in description


@every_kind()
def test_a_refused_charge_draws_nothing_and_leaves_nothing(asked: Asked, events: list[str], tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="is spent"):
        asked.release(told(asked, events), ledger=Recorder(events, refuse=True), to=tmp_path / "made.nwr")
    assert order_of(events) == ["rows", "charge"] and not list(tmp_path.iterdir())


@every_kind()
def test_data_that_do_not_fit_charge_nothing(asked: Asked, events: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError):
        asked.release({"patient": np.zeros(3)}, ledger=Recorder(events), to=asked.place(tmp_path))
    assert not {"charge", "noise"} & set(events) and not list(tmp_path.iterdir())


@every_kind()
def test_the_price_is_that_of_the_plan(asked: Asked, tmp_path: Path) -> None:
    plan = plan_of(asked.kind, asked.schema, asked.epsilon, asked.delta)
    cost, charged = plan.cost(), Recorder([])
    assert (cost.epsilon, cost.delta) == (asked.epsilon, asked.delta or 0.0) == (plan.epsilon, plan.delta)
    made = asked.release(ledger=charged, to=asked.place(tmp_path))
    assert [charge[:2] for charge in charged.charges] == [(cost.epsilon, cost.delta)]
    assert made.kind == plan.kind and (made.contents.epsilon, made.contents.delta) == (cost.epsilon, cost.delta)
    assert (made.contents.mechanism, made.contents.statement) == (plan.mechanism.name, plan.blank.contents.statement)


# What is refused -----------------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], type[NoisewiseError]]] = {
    "epsilon of 0": ({"epsilon": 0}, PrivacyError),
    "negative epsilon": ({"epsilon": -1.0}, PrivacyError),
    "epsilon that is no number": ({"epsilon": float("nan")}, PrivacyError),
    "infinite epsilon": ({"epsilon": float("inf")}, PrivacyError),
    "epsilon that no double can hold": ({"epsilon": 10**400}, PrivacyError),
    "epsilon that is a text": ({"epsilon": "1"}, PrivacyError),
    "delta of 0": ({"delta": 0.0}, PrivacyError),
    "delta of 1": ({"delta": 1.0}, PrivacyError),
    "delta that promises little": ({"delta": 0.0101}, PrivacyError),
    "the same, in another type": ({"delta": np.float32(0.5)}, PrivacyError),
    "the same, as a fraction": ({"delta": Fraction(1, 2)}, PrivacyError),
    "kind that is a name": ({"kind": "gram"}, DeclarationError),
    "kind without options": ({"kind": nw.Gram}, DeclarationError),
    "no kind": ({"kind": None}, DeclarationError),
    "schema that is a dictionary": ({"schema": {"columns": {}}}, DeclarationError),
    "edition of two lines": ({"edition": "a\nb"}, DeclarationError),
    "edition that is a number": ({"edition": 5}, DeclarationError),
    "edition that is long": ({"edition": "x" * 201}, DeclarationError),
    "no ledger": ({"ledger": object()}, PrivacyError),
    "folder that is not there": ({"to": "nowhere/made.nwr"}, ReleaseWriteError),
    "no path": ({"to": 3}, ReleaseWriteError),
}


@pytest.mark.parametrize("case", WRONG)
@every_kind()
def test_what_can_be_refused_without_rows_is_refused_before_they_are_opened(
    asked: Asked, case: str, events: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it says which rule is broken, what was found and what can be done."""
    monkeypatch.chdir(tmp_path)
    changes, error = WRONG[case]
    missing = tmp_path / "not there.parquet"  # opening it would be another error
    with pytest.raises(error) as refused:
        asked.release(missing, **{"ledger": Recorder(events), "to": "made.nwr"} | changes)
    assert events == [] and not list(tmp_path.iterdir())
    assert refused.value.rule and refused.value.found and refused.value.remedy


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, one in REGRESSIONS.items() for case in one.wrong])
def test_so_is_a_wrong_request_about_one_regression(name: str, case: str, tmp_path: Path) -> None:
    changes, error = REGRESSIONS[name].wrong[case]
    events: list[str] = []
    with pytest.raises(error) as refused:
        REGRESSIONS[name].release(tmp_path / "not there.parquet", ledger=Recorder(events), **changes)
    assert events == []
    assert isinstance(refused.value, NoisewiseError) and refused.value.found


@every_kind()
def test_the_largest_delta_is_allowed_where_there_is_one(asked: Asked, tmp_path: Path) -> None:
    if asked.delta is not None:
        assert asked.release(delta=0.01, to=asked.place(tmp_path)).contents.delta == 0.01


# What is released ----------------------------------------------------------------------------------------------------------


@every_kind()
def test_it_says_what_was_asked_for_and_what_is_promised(asked: Asked, tmp_path: Path) -> None:
    made = asked.release(to=asked.place(tmp_path))
    one = made.contents
    assert (made.kind.name, made.version, one.rows) == (asked.kind.name, "1.0", ROWS)
    assert (one.epsilon, one.delta, one.library) == (asked.epsilon, asked.delta or 0.0, f"noisewise {nw.__version__}")
    assert f"epsilon = {asked.epsilon}" in one.statement
    one.check_promise()
    assert decode(encode(made)).placed_at(tmp_path / "made.nwr") == made
    assert asked.kind.name in repr(made) and asked.kind.name in made.describe()
    assert made.facts()["kind"] == made.kind.to_dict() and made.facts()["contributions"][0]["epsilon"] == asked.epsilon


@pytest.mark.parametrize("name", REGRESSIONS)
def test_only_the_columns_of_the_formula_are_read(name: str) -> None:
    one = REGRESSIONS[name]
    response = one.usual["formula"].partition(" ")[0]
    made = one.release({column: made_table()[column] for column in (response, "age", "ward")})
    if one.kind.has_columns:
        assert made.basis.names == ("1", "age", "ward[B]", "ward[C]", response)
    with pytest.raises(DataError):
        one.release({column: made_table()[column] for column in (response, "age")})


@pytest.mark.parametrize("name", [name for name, one in REGRESSIONS.items() if one.kind.has_columns])
def test_terms_add_columns_for_the_formula(name: str) -> None:
    response = REGRESSIONS[name].usual["formula"].partition(" ")[0]
    made = REGRESSIONS[name].release(formula=f"{response} ~ age + I(age**2)", terms="I(age**2)")
    assert made.basis.names == ("1", "age", "T2(age)", response)


@pytest.mark.parametrize(("adjacency", "unit", "words"), [
    ("replace-one", "row", "Replacing any one row"),
    ("add-remove", "row", "Adding or removing any one row"),
    ("replace-one", {"column": "patient", "max_rows": 3}, "Replacing all rows of any one value of patient (at most 3 rows)"),
    ("add-remove", {"column": "patient", "max_rows": 3}, "Adding or removing all rows of any one value of patient"),
])
@pytest.mark.parametrize(("name", "delta"), [("adassp", 3e-6), ("model", 3e-6), ("moments", 3e-6), ("partition", 3e-6),
                                             ("partition", None)])
def test_it_is_about_every_adjacency_and_unit(name: str, delta: float | None, adjacency: str, unit: Any, words: str,
                                              tmp_path: Path) -> None:
    schema = REGRESSIONS[name].schema(adjacency, unit)
    made = REGRESSIONS[name].release(schema=schema, delta=delta)
    one = made.contents
    assert one.statement.startswith(words) and f"epsilon = 0.9 and delta = {delta or 0}" in one.statement
    assert one.rows == (ROWS if schema.rows_are_public else None)
    assert nw.load(made.save(tmp_path / "made.nwr")) == made
    if name == "adassp":
        share = one.smallest_eigenvalue
        assert (one.noise.corner == 0.0) == schema.rows_are_public
        assert Fraction(share.epsilon) * 3 <= Fraction(0.9) and share.epsilon == pytest.approx(0.3)
        assert share.delta == pytest.approx(1e-6)
        assert share.sensitivity == pytest.approx((1 if unit == "row" else 3) * 3, rel=1e-3)
    elif name == "moments":
        assert ("n" in one.blocks) != schema.rows_are_public and (one.noise.corner == 0.0) == schema.rows_are_public
        if unit != "row":
            few = REGRESSIONS[name].schema(adjacency, {"column": "patient", "max_rows": 1})
            alone = REGRESSIONS[name].release(schema=few).contents
            assert one.sensitivity == pytest.approx(3 * alone.sensitivity, rel=1e-4)
    elif name == "model":
        assert (one.look.rows_noise == 0.0) == schema.rows_are_public
        if unit != "row":
            few = REGRESSIONS[name].schema(adjacency, {"column": "patient", "max_rows": 1})
            alone = REGRESSIONS[name].release(schema=few).contents
            assert one.sensitivity == pytest.approx(3 * alone.sensitivity, rel=1e-4)
    else:
        assert one.balanced == schema.rows_are_public
        assert (one.mechanism, one.delta) == (("k-norm", 0.0) if delta is None else ("gaussian", 3e-6))


@pytest.mark.parametrize("case", [case for case in ASKED if case not in ("bounds", "binary")])  # whole numbers may well be equal
def test_two_releases_have_noise_of_their_own(case: str, tmp_path: Path) -> None:
    asked = ASKED[case]
    first, second = (asked.release(to=asked.place(tmp_path, name)) for name in ("a", "b"))
    assert first.fingerprints() != second.fingerprints()


@every_kind()
def test_the_statement_does_not_round_what_was_spent(asked: Asked, tmp_path: Path) -> None:
    delta = None if asked.delta is None else 1.0000004e-6
    made = asked.release(epsilon=1.0000004 + asked.epsilon - 1.5, delta=delta, to=asked.place(tmp_path))
    assert f"epsilon = {made.contents.epsilon!r}" in made.contents.statement
    assert delta is None or "delta = 1.0000004e-06" in made.contents.statement


@every_kind()
def test_a_folder_is_no_file_to_write_to_and_nothing_is_spent(asked: Asked, tmp_path: Path) -> None:
    events: list[str] = []
    with pytest.raises(ReleaseWriteError, match="a file, not a folder; nothing was released"):
        asked.release(told(asked, events), ledger=Recorder(events), to=tmp_path)
    assert events == []


@every_kind()
def test_it_is_written_where_that_is_asked_for(asked: Asked, ledger: nw.Ledger, tmp_path: Path) -> None:
    folder = tmp_path / "releases"
    folder.mkdir()
    made = asked.release(to=folder / "made.nwr", ledger=ledger)
    assert nw.load(folder / "made.nwr") == made
    again = asked.release({}, to=str(folder / "again.nwr"), ledger=ledger)
    assert nw.load(folder / "again.nwr") == again
    assert again.fingerprints() == made.fingerprints() and len(ledger.charges()) == 1


# The ledger ----------------------------------------------------------------------------------------------------------------


@every_kind()
def test_the_same_request_gets_the_stored_release(asked: Asked, ledger: nw.Ledger, events: list[str], tmp_path: Path) -> None:
    """No row is read again, and no noise is drawn."""
    first = asked.release(ledger=ledger, to=asked.place(tmp_path))
    events.clear()
    for kind in (asked.kind, *asked.same, first.kind):
        assert asked.release({}, kind=kind, ledger=ledger, to=asked.place(tmp_path)) == first
    assert events == [] and len(ledger.charges()) == 1 and not ledger.unfinished() and not ledger.verify()
    assert ledger.spent().epsilon == pytest.approx(asked.epsilon)


@every_kind()
def test_every_other_request_is_charged(asked: Asked, ledger: nw.Ledger, tmp_path: Path) -> None:
    asked.release(ledger=ledger, to=asked.place(tmp_path))
    changes: list[dict[str, Any]] = [{"kind": kind} for kind in asked.others]
    changes += [{"edition": "2027"}, {"edition": "2028"}, {"epsilon": 1.25 * asked.epsilon},
                {"schema": schema_with(stratum={"year": "2026"})}]
    changes += [{"delta": 2e-6}] if asked.delta is not None else []
    for place, change in enumerate(changes, start=2):
        asked.release(ledger=ledger, to=asked.place(tmp_path, str(place)), **change)
        assert len(ledger.charges()) == place, change


@every_kind()
def test_what_the_budget_does_not_cover_is_refused_without_noise(asked: Asked, events: list[str], tmp_path: Path) -> None:
    small = nw.Ledger.open(tmp_path / "small.ledger", epsilon=1.5 * asked.epsilon, delta=asked.delta or 0.0, rule="basic")
    asked.release(ledger=small, to=asked.place(tmp_path))
    events.clear()
    with pytest.raises(BudgetError):
        asked.release(ledger=small, edition="2", to=asked.place(tmp_path, "2"))
    assert "noise" not in events


@every_kind()
def test_a_stratum_is_charged_to_its_people_only(asked: Asked, tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "table.ledger", epsilon=asked.epsilon, delta=asked.delta or 0.0, rule="basic")
    for year in ("2023", "2024"):
        asked.release(ledger=ledger, schema=schema_with(stratum={"year": year}), to=asked.place(tmp_path, year))
    assert ledger.spent().epsilon == pytest.approx(asked.epsilon)


@every_kind()
def test_one_made_meanwhile_by_another_process_is_taken(
    asked: Asked, ledger: nw.Ledger, events: list[str], tmp_path: Path
) -> None:
    """Both read; the first charges and draws, the second finds what it has recorded."""
    first: list[Any] = []

    class Late:
        """A ledger that another process uses between the reading and the charge."""

        def __init__(self) -> None:
            self.asked_before = False

        def earlier(self, request: str) -> bytes | None:
            found = ledger.earlier(request) if self.asked_before else None
            self.asked_before = True
            return found

        def charge(self, *given: Any, **named: Any) -> int:
            first.append(asked.release(ledger=ledger, to=asked.place(tmp_path)))
            events.clear()
            return ledger.charge(*given, **named)

        def complete(self, entry: int, content: bytes) -> None:
            pytest.fail("nothing is recorded twice")

    assert asked.release(ledger=Late(), to=asked.place(tmp_path)) == first[0]
    assert events == [] and len(ledger.charges()) == 1


# Ctrl-C --------------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals")
@every_kind()
def test_after_the_charge_ctrl_c_waits_and_asking_again_costs_nothing(
    asked: Asked, ledger: nw.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed: list[bool] = []

    def pressing(call: Any) -> Any:
        def called(*arguments: Any, **options: Any) -> Any:
            if not pressed:
                pressed.append(True)
                os.kill(os.getpid(), signal.SIGINT)
            return call(*arguments, **options)

        return called

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
    try:
        with monkeypatch.context() as patch:
            for mechanism, method in DRAWS:
                patch.setattr(mechanism, method, pressing(getattr(mechanism, method)))
            with pytest.raises(KeyboardInterrupt, match="again at no cost"):
                asked.release(ledger=ledger, to=asked.place(tmp_path))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert [entry.what for entry in ledger.entries()] == ["opened", "charged", "released"] and not ledger.unfinished()
    for mechanism, method in DRAWS:
        monkeypatch.setattr(mechanism, method, lambda *_: pytest.fail("noise is not drawn again"))
    asked.release(ledger=ledger, to=asked.place(tmp_path))
    assert ledger.spent().epsilon == pytest.approx(asked.epsilon)
