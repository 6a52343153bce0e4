"""Ctrl-C while rows are read costs nothing and leaves nothing; after the charge it waits until the release is kept."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noisewise as nw
from noisewise.cli import program
from noisewise.data.reading import RowCounter
from noisewise.holder.interrupts import finished_first
from noisewise.holder.release import GRAM
from noisewise.holder.scratch import LOCK, PREFIX, scratch_folder
from noisewise.kinds import Kind
from noisewise.privacy.ledger import Ledger
from noisewise.privacy.mechanisms.gram import SymmetricLaplace
from noisewise.privacy.mechanisms.rows import RowsMechanism
from noisewise.run import QUIET, Run
from noisewise.schema.questions import PosteriorProbability

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

ROWS = 400_000
NUMBERS = {"adjacency": "replace-one", "columns": {"y": {"bounds": [0, 4]}, "x": {"bounds": [-4, 4]}}}
FORMULA = "y ~ x"
ASKED = [PosteriorProbability("x", (0.0, 1.0))]
PURE: dict[str, Any] = {"epsilon": 1.0}
WITH_DELTA: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-7}
Release = Callable[..., Any]


def releasing(kind: Kind = GRAM, unit: str | None = None, threads: int | None = None, **settings: Any) -> Release:
    schema = nw.Schema.from_dict(NUMBERS | ({"unit": {"column": unit, "max_rows": 2}} if unit else {}))
    return lambda data, progress=None, **more: nw.release(data, schema, kind, run=Run(threads, progress), **settings, **more)


KINDS: dict[str, Release] = {
    "gram": releasing(**PURE),
    "gram, one thread": releasing(**PURE, threads=1),
    "gram, text as unit": releasing(unit="name", **PURE),
    "gram, number as unit": releasing(unit="person", **PURE),
    "averaged": releasing(nw.Gram(average=5), **WITH_DELTA),
    "model": releasing(nw.Model(FORMULA), **WITH_DELTA),
    "moments": releasing(nw.Moments(FORMULA), **WITH_DELTA),
    "adassp": releasing(nw.AdaSSP(FORMULA), **WITH_DELTA),
    "partition, equal parts": releasing(nw.Partition(FORMULA, parts=500, ask=ASKED), **PURE),
    "partition, large parts": releasing(nw.Partition(FORMULA, parts=10, ask=ASKED), **PURE),
    "bounds": releasing(nw.Bounds(["x", "y"]), **PURE),
}


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """A shell starts what it runs in the background with SIGINT ignored; these tests are about what Ctrl-C does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(1)
    person = rng.integers(0, ROWS // 3, ROWS)
    table = pa.table({"y": rng.normal(size=ROWS), "x": rng.normal(size=ROWS), "person": person,
                      "name": pa.array(person).cast(pa.string())})
    pq.write_table(table, folder / "rows.parquet", row_group_size=70_000)
    import pyarrow.csv

    pyarrow.csv.write_csv(table, folder / "rows.csv")
    return {"parquet": folder / "rows.parquet", "csv": folder / "rows.csv"}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "budget.db", epsilon=3.0, delta=1e-6, rule="basic")


def threads_of_ours() -> list[str]:
    """Threads that go on. One that was starting when the signal came needs a moment to stop, longer on a busy machine."""
    end = time.monotonic() + 60.0
    while (found := [thread.name for thread in threading.enumerate() if thread.name.startswith("noisewise")]):
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    return found


def pressing_once() -> Callable[[int, int | None], None]:
    pressed = iter([True])

    def press(rows_done: int, rows_total: int | None) -> None:
        if next(pressed, False):
            os.kill(os.getpid(), signal.SIGINT)

    return press


@pytest.mark.parametrize("source", ["parquet", "csv"])
@pytest.mark.parametrize("kind", KINDS)
def test_stopped_while_reading_nothing_is_spent_and_no_thread_goes_on(
    kind: str, source: str, files: dict[str, Path], ledger: Ledger, tmp_path: Path
) -> None:
    heard: list[int] = []

    def stop(rows_done: int, rows_total: int | None) -> None:
        heard.append(rows_done)
        if len(heard) == 2:
            raise KeyboardInterrupt

    before = sorted(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        KINDS[kind](files[source], ledger=ledger, progress=stop)
    assert len(heard) >= 2 and heard[-1] < ROWS
    assert [entry.what for entry in ledger.entries()] == ["opened"] and ledger.spent().epsilon == 0.0
    assert sorted(tmp_path.iterdir()) == before and threads_of_ours() == []


@pytest.mark.parametrize("kind", ["gram", "averaged", "gram, number as unit", "bounds"])
def test_a_signal_stops_the_reading_too(kind: str, files: dict[str, Path], ledger: Ledger) -> None:
    """Python raises it in the main thread, wherever that is."""
    with pytest.raises(KeyboardInterrupt):
        KINDS[kind](files["parquet"], ledger=ledger, progress=pressing_once())
    assert [entry.what for entry in ledger.entries()] == ["opened"] and threads_of_ours() == []


def test_a_second_one_does_not_wait_and_the_charge_counts(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(self: SymmetricLaplace, *given: Any) -> Any:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("stopped by the second")

    monkeypatch.setattr(SymmetricLaplace, "perturb", impatient)
    with pytest.raises(KeyboardInterrupt):
        KINDS["gram"]({"y": np.zeros(9), "x": np.ones(9)}, ledger=ledger)
    assert ledger.spent().epsilon == 1.0 and len(ledger.unfinished()) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_is_an_error_whoever_waits() -> None:
    with pytest.raises(ZeroDivisionError), finished_first("kept"):
        os.kill(os.getpid(), signal.SIGINT)
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_callers_own_is_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with finished_first("kept"):
            os.kill(os.getpid(), signal.SIGINT)
            assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_rows_are_checked_before_the_charge_and_finished_after_it(
    files: dict[str, Path], ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Published rows are read twice: stopped the first time nothing is spent, the second time the release is finished."""
    schema = nw.Schema.from_dict(NUMBERS)
    data = pq.read_table(files["parquet"], columns=["y", "x"]).slice(0, 150_000)
    output = tmp_path / "rows.nwr"

    def release(**more: Any) -> Any:
        return nw.release(data, schema, nw.Rows(), epsilon=1.0, to=output, ledger=ledger, **more)

    with monkeypatch.context() as patch:
        press = pressing_once()
        patch.setattr(RowCounter, "add", lambda *_: press(0, None))
        with pytest.raises(KeyboardInterrupt):
            release(run=QUIET)
    assert [entry.what for entry in ledger.entries()] == ["opened"]
    assert not [path for path in tmp_path.iterdir() if "budget" not in path.name]
    with monkeypatch.context() as patch:
        patch.setattr(RowsMechanism, "perturb", lambda self, numbers, codes: numbers.T[:, None, :].copy())  # quickly
        with pytest.raises(KeyboardInterrupt, match="again at no cost"):
            release(run=Run(progress=pressing_once()))
    assert [entry.what for entry in ledger.entries()] == ["opened", "charged", "released"]
    assert threads_of_ours() == [] and not list(tmp_path.glob(".*"))
    assert not output.exists()
    again = release(run=QUIET)
    assert output.exists() and ledger.spent().epsilon == 1.0
    assert again.contents.rows == 150_000


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}killed"
    (left / "shuffle").mkdir(parents=True)
    for name in (LOCK, "shuffle/0.rows"):
        (left / name).touch()
    someone = tmp_path / "notes"
    someone.touch()
    with scratch_folder(tmp_path) as first:
        assert not left.exists() and someone.exists()
        with scratch_folder(tmp_path) as second:
            assert first.exists() and second.exists() and first != second
        assert first.exists() and not second.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_spark_s_handler_is_no_reason_not_to_wait(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(number: int, frame: object) -> None:
        raise AssertionError("it did not wait")

    handler.__module__ = "pyspark.core.context"
    usual = SymmetricLaplace.perturb

    def pressed(self: SymmetricLaplace, *given: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return usual(self, *given)

    monkeypatch.setattr(SymmetricLaplace, "perturb", pressed)
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt, match="again at no cost"):
            KINDS["gram"]({"y": np.zeros(9), "x": np.ones(9)}, ledger=ledger)
        assert signal.getsignal(signal.SIGINT) is handler and ledger.entries()[-1].what == "released"
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_ctrl_c_is_ignored_the_systems_request_waits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the background of a script. Without it, a release that was paid for would be lost."""
    monkeypatch.setattr(program, "_asked_to_end", False)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGTERM, program._end)
    done = False
    try:
        with pytest.raises(KeyboardInterrupt, match="it is kept"), finished_first("it is kept"):
            os.kill(os.getpid(), signal.SIGTERM)
            done = True
        with pytest.raises(KeyboardInterrupt, match="^$"):  # but not outside
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert done and program.why_stopped() == 143


def test_another_thread_than_the_main_one_leaves_signals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_watching", False)
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(program.watch()))
    thread.start()
    thread.join()
    assert found == [None] and not program._watching
