"""A kind from another package: its own files and one `register` take it through release, ledger, file, audit and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import about
from tests.unit.kinds.tiny_kind.answers import Counted
from tests.unit.kinds.tiny_kind.contents import TinyContribution
from tests.unit.kinds.tiny_kind.kind import TinyKind
from tests.unit.recorder import Recorder

import noisewise as nw
from noisewise.audits import audit as auditing
from noisewise.audits.request import Request, subject_of
from noisewise.audits.trial import draw_many
from noisewise.errors import DeclarationError, FitError, NoisewiseError, PrivacyError, ReleaseError, ReleaseFormatError
from noisewise.holder.plan import plan_of
from noisewise.kinds import kind_from_dict, kinds, registry
from noisewise.privacy.mechanisms.gram import SymmetricLaplace
from noisewise.releases.format import encode
from noisewise.run import QUIET

HOME = "tests.unit.kinds.tiny_kind"
ROWS = 500
TABLE = {"age": np.linspace(18, 98, ROWS), "person": np.arange(ROWS) // 2}
SCHEMA = nw.Schema.from_dict({"adjacency": "add-remove", "columns": {"age": {"bounds": [18, 98]}}})


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = kinds()
    nw.kinds.register(TinyKind, holder=f"{HOME}.holder", contents=f"{HOME}.contents", audit=f"{HOME}.audit",
                      answers=f"{HOME}.answers")
    yield
    registry.forget(TinyKind)
    assert kinds() == before


def made(data: Any = TABLE, schema: nw.Schema = SCHEMA, kind: TinyKind | None = None, **request: Any) -> nw.Release:
    return nw.release(data, schema, kind or TinyKind("patients"), **{"epsilon": 2.0, "run": QUIET} | request)


def test_it_is_released_with_the_noise_that_it_plans() -> None:
    plan = plan_of(TinyKind(), SCHEMA, 2.0, None)
    assert (plan.cost().epsilon, plan.cost().delta, plan.mechanism.scale) == (2.0, 0.0, 0.5)
    found = made().contents
    assert isinstance(found, TinyContribution) and found.scale == 0.5 and found.rows is None
    assert abs(found.number - ROWS) < 20  # outside of it once in e**40
    assert found.number != made().contents.number or found.number != made().contents.number
    several = nw.Schema.from_dict({"adjacency": "add-remove", "unit": {"column": "person", "max_rows": 2},
                                   "columns": {"age": {"bounds": [18, 98]}}})
    assert made(schema=several).contents.scale == 1.0


def test_the_order_is_that_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    perturb = SymmetricLaplace.perturb
    monkeypatch.setattr(SymmetricLaplace, "perturb", lambda *given: (events.append("noise"), perturb(*given))[1])
    ledger = Recorder(events)
    made(ledger=ledger)
    assert events == ["charge", "noise", "complete"]
    assert ledger.charges == [(2.0, 0.0, "tiny-count release of patients")]
    events.clear()
    with pytest.raises(NoisewiseError):
        made({"height": np.zeros(3)}, ledger=ledger)
    assert events == []


def test_what_it_refuses_is_refused_before_rows_are_opened(tmp_path: Path) -> None:
    public = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}})
    for changes in ({"delta": 1e-6}, {"schema": public}, {"epsilon": 0.0}):
        with pytest.raises(PrivacyError):
            made(tmp_path / "not there.parquet", **changes)


def test_the_ledger_charges_it_once(tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "table.ledger", epsilon=10.0)
    first = made(ledger=ledger)
    assert made({}, ledger=ledger) == first and ledger.spent().epsilon == 2.0  # no row is read again
    made(ledger=ledger, kind=TinyKind("people"))
    made(ledger=ledger, edition="2")
    assert ledger.spent().epsilon == 6.0 and not ledger.unfinished() and not ledger.verify()
    assert [row["what"] for row in ledger.table()] == [
        "tiny-count release of patients", "tiny-count release of people", "tiny-count release of patients, edition 2"]


def test_its_file_is_read_back(tmp_path: Path) -> None:
    release = made(to=tmp_path / "count.nwr")
    assert nw.load(tmp_path / "count.nwr") == release == nw.load(release.save(tmp_path / "again.nwr"))
    document = json.loads((tmp_path / "count.nwr").read_text())
    assert document["kind"] == {"name": "tiny-count", "what": "patients"}
    assert document["contributions"][0]["contents"] == {"number": release.contents.number, "scale": 0.5}


def test_a_file_with_too_little_noise_is_refused(tmp_path: Path) -> None:
    document = json.loads(encode(made()))
    document["contributions"][0]["contents"]["scale"] = 0.25
    (tmp_path / "count.nwr").write_text(json.dumps(document))
    with pytest.raises(ReleaseFormatError, match="too small"):
        nw.load(tmp_path / "count.nwr")


def test_it_is_shown() -> None:
    release = made()
    words = " ".join(release.describe().split())
    assert "release of kind tiny-count: 1 noisy number" in words and "patients, with Laplace noise of scale 0.5" in words
    assert "Adding or removing any one row" in words and "<table" in release._repr_html_()
    assert repr(release) == "<Release tiny-count: patients, add-remove, (epsilon, delta) = (2.0, 0.0)>"
    assert release.facts()["contributions"][0]["scale"] == 0.5


@pytest.mark.parametrize("end_to_end", [False, True])
def test_it_is_audited(end_to_end: bool) -> None:
    report = auditing.audit(SCHEMA, TinyKind(), epsilon=2.0, draws=200, end_to_end=end_to_end, run=QUIET)
    assert report.flagged == () and "tiny-count" in str(report)
    drawn = draw_many(subject_of(Request(SCHEMA, 2.0, kind=TinyKind()), end_to_end=end_to_end), 20)
    assert drawn.numbers.shape == (20, 1)


def test_an_audit_would_notice_less_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    plan = Request.plan
    monkeypatch.setattr(Request, "plan", lambda self: replace(
        right := plan(self), mechanism=replace(right.mechanism, scale=right.mechanism.scale / 2)))
    assert auditing.audit(SCHEMA, TinyKind(), epsilon=2.0, draws=1000, run=QUIET).flagged


def test_it_answers() -> None:
    found = nw.answer(made(), probability=0.9)
    assert isinstance(found, Counted) and found.interval[0] < found.point < found.interval[1]
    assert found.interval[1] - found.interval[0] == pytest.approx(2 * 0.5 * np.log(10))


def test_what_it_is_not_for_is_refused_in_words() -> None:
    with pytest.raises(FitError, match=r"of kind tiny-count .*see how many there are"):
        nw.fit("age ~ 1", made())
    with pytest.raises(ReleaseError, match="tiny-count"):
        nw.combine([made(), made()])


def test_it_is_fitted_if_it_says_how() -> None:
    registry.forget(TinyKind)
    nw.kinds.register(TinyKind, holder=f"{HOME}.holder", contents=f"{HOME}.contents", posterior=f"{HOME}.posterior")
    release = made()
    found: Any = nw.fit("age ~ 1", release, seed=3, draws=50)
    assert found.asked.release is release and (found.asked.formula, found.asked.seed, found.asked.draws) == ("age ~ 1", 3, 50)


def test_without_registration_its_files_are_those_of_a_newer_version(tmp_path: Path) -> None:
    made(to=tmp_path / "count.nwr")
    registry.forget(TinyKind)
    with pytest.raises(ReleaseFormatError, match="tiny-count.*upgrade"):
        nw.load(tmp_path / "count.nwr")
    with pytest.raises(DeclarationError, check=about("kind")):
        kind_from_dict({"name": "tiny-count"})
    with pytest.raises(DeclarationError, match="no file in the room holder"):
        plan_of(TinyKind(), SCHEMA, 1.0, None)


def test_a_name_is_taken_once_and_rooms_have_names() -> None:
    class Other(TinyKind):
        pass

    with pytest.raises(DeclarationError, match="another kind already has this name"):
        nw.kinds.register(Other)
    with pytest.raises(DeclarationError, match="kitchen"):
        nw.kinds.register(TinyKind, kitchen="x")
    assert not registry.has_room(TinyKind, "report")
