"""Published rows from a table to their files: cells by the rules, refusals, the order of events, repeats and accidents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.unit.recorder import Recorder

import noisewise
from noisewise import Ledger, release
from noisewise.data.exact import BLOCK_ROWS
from noisewise.data.splitting import order
from noisewise.errors import BudgetError, DataError, DeclarationError, NoisewiseError, ReleaseError, ReleaseWriteError
from noisewise.holder.plan import plan_of
from noisewise.holder.request import Request
from noisewise.privacy.mechanisms.rows import RowsMechanism
from noisewise.releases import rows_file
from noisewise.releases.release import Release

COLUMNS: dict[str, Any] = {
    "ward": {"levels": ["A", "B", "C"], "other": "C"},
    "age": {"bounds": [18, 98], "missing": 60},
    "smoker": {"levels": [False, True]},
    "stay": {"bounds": [0, 40]},
}
SCHEMA = noisewise.Schema.from_dict({"adjacency": "replace-one", "columns": COLUMNS})
ROWS = 300
RANDOM = np.random.default_rng(4)
TABLE: dict[str, Any] = {
    "age": RANDOM.integers(18, 99, ROWS).astype(float),
    "stay": RANDOM.gamma(2.0, 3.0, ROWS),
    "ward": np.array(["A", "B", "C"])[RANDOM.integers(0, 3, ROWS)],
    "smoker": RANDOM.integers(0, 2, ROWS) > 0,
    "name": np.array(["not released"] * ROWS),
}
CLEAR = 4e8
"""At this epsilon there is hardly any noise: what is published is what the rules make of the cells."""


def made(folder: Path, data: Any = None, **settings: Any) -> Release:
    kind = noisewise.Rows(**{name: settings.pop(name) for name in ("copies", "shares", "mechanism") if name in settings})
    request = {"schema": SCHEMA, "to": folder / "patients.nwr", "epsilon": 8.0} | settings
    return release(TABLE if data is None else data, request.pop("schema"), kind, **request)


def in_order(table: pa.Table, *by: str) -> list[dict[str, Any]]:
    return table.sort_by([(name, "ascending") for name in by]).to_pylist()


def test_both_files_are_there_and_nothing_else(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.nwr", "patients.rows.parquet"]
    assert noisewise.load(tmp_path / "patients.nwr") == found
    assert found.contents.table().schema.names == ["ward", "age", "smoker", "stay"]
    assert found.contents.table().num_rows == found.contents.rows == ROWS


def test_cells_follow_the_declared_rules(tmp_path: Path) -> None:
    table = pa.table({
        "ward": ["A", "B", "Z", None], "age": [18.0, 130.0, None, float("-inf")], "smoker": [True, False, None, True],
        "stay": [0.0, 40.0, 10.0, float("nan")], "secret": [1, 2, 3, 4]})
    found = made(tmp_path, table, epsilon=CLEAR)
    rows = in_order(found.contents.table(), "stay", "age")
    expected = [("A", 18, True, 0), ("C", 60, False, 10), ("C", 18, True, 20), ("B", 98, False, 40)]
    for row, (ward, age, smoker, stay) in zip(rows, expected, strict=True):
        assert (row["ward"], row["smoker"]) == (ward, smoker)
        assert (row["age"], row["stay"]) == (pytest.approx(age, abs=1e-3), pytest.approx(stay, abs=1e-3))


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas", "polars", "arrow", "stream"])
def test_every_source_gives_the_same_rows(kind: str, tmp_path: Path) -> None:
    table = pa.table(TABLE)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=50)
    pyarrow.csv.write_csv(table, tmp_path / "in.csv")
    data = {"parquet": tmp_path / "in.parquet", "csv": tmp_path / "in.csv", "pandas": pandas.DataFrame(TABLE),
            "polars": polars.DataFrame(TABLE), "arrow": table,
            "stream": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(40))}[kind]
    found = made(tmp_path, data, epsilon=CLEAR)
    assert found.contents.rows == ROWS
    expected = sorted(zip(np.clip(TABLE["stay"], 0, 40), TABLE["ward"], strict=True))
    for row, (stay, ward) in zip(in_order(found.contents.table(), "stay"), expected, strict=True):
        assert (row["stay"], row["ward"]) == (pytest.approx(stay, abs=1e-3), ward)


def test_rows_come_in_another_order_each_time(tmp_path: Path) -> None:
    releases = [made(tmp_path, epsilon=CLEAR, to=tmp_path / name) for name in ("1.nwr", "2.nwr")]
    orders = [found.contents.table().column("stay").to_numpy() for found in releases]
    assert not np.allclose(orders[0], orders[1], atol=1e-3)
    assert not np.allclose(orders[0], np.clip(TABLE["stay"], 0, 40), atol=1e-3)


def test_copies_of_a_row_follow_one_another(tmp_path: Path) -> None:
    found = made(tmp_path, epsilon=1e5, copies=3)
    table = found.contents.table()
    assert table.column("copy").to_pylist() == [1, 2, 3] * ROWS
    stays = table.column("stay").to_numpy().reshape(ROWS, 3)
    assert np.allclose(stays, stays[:, :1], atol=0.3) and not np.array_equal(stays, np.repeat(stays[:, :1], 3, axis=1))


def test_scaled_rows_are_those_of_the_table(tmp_path: Path) -> None:
    found = made(tmp_path, copies=2, epsilon=20.0)
    scaled, table = found.contents.scaled(), found.contents.table()
    assert (scaled.names, scaled.numbers.shape[:2], scaled.laplace) == (("age", "stay"), (2, ROWS), True)
    assert scaled.noise.tolist() == [0.8, 0.8]
    ages = table.column("age").to_numpy().reshape(ROWS, 2).T
    np.testing.assert_allclose(58 + 40 * scaled.numbers[:, :, 0], ages, rtol=1e-12)
    assert np.array_equal(scaled.numbers * 2**20, np.rint(scaled.numbers * 2**20))
    wards = np.array(["A", "B", "C"])[scaled.codes["ward"]]
    assert np.array_equal(wards, np.array(table.column("ward").to_pylist()).reshape(ROWS, 2).T)
    assert scaled.keep.keys() == {"ward", "smoker"}


def test_noise_is_what_the_release_states(tmp_path: Path) -> None:
    rows = 4000
    data = {"x": np.full(rows, 1.0), "w": np.array(["no"] * rows)}
    schema = noisewise.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "x": {"bounds": [0, 10]}, "w": {"levels": ["no", "yes"]}}})
    found = made(tmp_path, data, schema=schema, epsilon=2.0, shares={"x": 3})
    noise = found.contents.scaled().numbers[0, :, 0] + 0.8
    assert np.abs(noise).mean() == pytest.approx(found.contents.numbers["x"].scale, rel=0.1)
    assert found.contents.sd_in_units("x") == pytest.approx(np.sqrt(2) * 5 * 2 / 1.5)
    assert (found.contents.scaled().codes["w"] == 0).mean() == pytest.approx(found.contents.levels["w"].keep, abs=0.05)


REFUSED: dict[str, tuple[dict[str, Any], type[NoisewiseError], str]] = {
    "no place": ({"to": None}, DeclarationError, "to="),
    "ending": ({"to": "rows.parquet"}, ReleaseWriteError, r"\.nwr"),
    "folder": ({"to": "nowhere/p.nwr"}, ReleaseWriteError, "must exist and be writable"),
    "shares of nothing": ({"shares": {"height": 2}}, DeclarationError, "height"),
    "shares too far apart": ({"epsilon": CLEAR, "shares": {"age": 1e-7, "stay": 1e6}}, DeclarationError, "times another"),
    "no column": ({"data": {"age": np.zeros(3)}}, DataError, "no column 'ward'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_come_before_the_budget_is_charged(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings, kind, words = REFUSED[name]
    ledger = Recorder([])
    with pytest.raises(kind, match=words):
        made(tmp_path, ledger=ledger, **settings)
    assert not ledger.charges and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["patients.nwr", "patients.rows.parquet"])
def test_a_file_that_is_there_is_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("the only copy")
    ledger = Recorder([])
    with pytest.raises(ReleaseWriteError, match="nothing was released"):
        made(tmp_path, ledger=ledger)
    assert (tmp_path / name).read_text() == "the only copy" and not ledger.charges


def test_nor_is_one_that_comes_while_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perturb = RowsMechanism.perturb

    def slow(self: RowsMechanism, *cells: Any) -> Any:
        (tmp_path / "patients.rows.parquet").write_text("the only copy")
        return perturb(self, *cells)

    monkeypatch.setattr(RowsMechanism, "perturb", slow)
    with pytest.raises(ReleaseWriteError, match="the budget is spent"):
        made(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("patients.rows.parquet", "the only copy")]


def test_the_budget_is_charged_before_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    perturb = RowsMechanism.perturb

    def noted(self: RowsMechanism, *cells: Any) -> Any:
        events.append("noise")
        return perturb(self, *cells)

    monkeypatch.setattr(RowsMechanism, "perturb", noted)
    made(tmp_path, ledger=Recorder(events))
    assert events == ["charge", "noise", "complete"]
    events.clear()
    with pytest.raises(BudgetError):
        made(tmp_path, ledger=Recorder(events, refuse=True), to=tmp_path / "other.nwr")
    assert events == ["charge"]
    assert sorted(os.listdir(tmp_path)) == ["patients.nwr", "patients.rows.parquet"]


def test_a_repetition_hands_out_the_same_rows_and_costs_nothing(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=10)
    first = made(tmp_path, ledger=ledger)
    again = made(tmp_path, ledger=ledger)
    assert again == first and again.contents.table() == first.contents.table()
    elsewhere = made(tmp_path, ledger=ledger, to=tmp_path / "copy.nwr")  # beside the same rows
    assert noisewise.load(tmp_path / "copy.nwr") == elsewhere == first
    assert ledger.spent().epsilon == 8
    with pytest.raises(BudgetError):
        made(tmp_path, ledger=ledger, edition="2", to=tmp_path / "2.nwr")


def test_rows_that_are_gone_are_not_drawn_again(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=100)
    made(tmp_path, ledger=ledger)
    for path in tmp_path.glob("patients*"):
        path.unlink()
    with pytest.raises(ReleaseError, match=r"released before.*another edition"):
        made(tmp_path, ledger=ledger)
    assert ledger.spent().epsilon == 8 and not list(tmp_path.glob("patients*"))


def test_a_release_file_without_its_rows_is_no_repetition(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=100)
    made(tmp_path, ledger=ledger)
    (tmp_path / "patients.rows.parquet").unlink()
    with pytest.raises(ReleaseError, match="released before"):
        made(tmp_path, ledger=ledger)
    assert ledger.spent().epsilon == 8


def test_the_ledger_says_what_was_charged_for(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=100)
    made(tmp_path, ledger=ledger, copies=2)
    assert [charge["what"] for charge in ledger.table()] == ["rows release of 4 columns, 2 copies"]


def test_other_rows_in_their_place_are_not_taken_for_them(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "budget.db", epsilon=100)
    made(tmp_path, ledger=ledger)
    (tmp_path / "patients.rows.parquet").write_bytes(b"another file")
    (tmp_path / "patients.nwr").unlink()
    with pytest.raises(ReleaseError, match="not the one made with the release"):
        made(tmp_path, ledger=ledger)


def digest(edition: str = "", epsilon: float = 8.0, delta: float | None = None, **options: Any) -> str:
    plan = plan_of(noisewise.Rows(**options), SCHEMA, epsilon, delta)
    return Request(plan.kind, SCHEMA, plan.epsilon, plan.delta, edition).digest()


def test_a_request_is_told_by_what_was_asked_for() -> None:
    """Shares are relative: twice as large for all columns is the same."""
    asked: dict[str, Any] = {"shares": {"age": 2, "stay": 4}}
    first = digest(**asked)
    assert digest(shares={"age": 1, "ward": 0.5, "smoker": 0.5, "stay": 2}) == first
    for other in ({"copies": 2}, {"shares": {"age": 3}}, {"epsilon": 7.0}, {"delta": 1e-6}, {"edition": "2"}):
        assert digest(**(asked | other)) != first


class InterruptedRunError(Exception):
    pass


def test_an_accident_leaves_no_rows_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files, which hold noisy rows only, are removed; the charge counts."""
    seen: list[list[str]] = []

    def broken(*_: Any) -> None:
        seen.append([path.name for path in tmp_path.rglob("*")])
        raise InterruptedRunError

    monkeypatch.setattr(order, "MEMORY", 100)
    monkeypatch.setattr(rows_file, "describe_file", broken)
    ledger = Recorder([])
    with pytest.raises(InterruptedRunError):
        made(tmp_path, ledger=ledger)
    assert "rows.parquet" in seen[0]
    assert ledger.events == ["charge"] and not list(tmp_path.iterdir())


def test_a_full_disk_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rows_file.RowsWriter, "write", full)
    with pytest.raises(ReleaseWriteError, match="budget is spent.*No space left"):
        made(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_release_file_that_cannot_be_written_is_rescued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Release, path: object) -> Path:
        raise ReleaseWriteError("the release could not be written", found="full")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(Release, "save", full)
    with pytest.raises(ReleaseWriteError, match="budget is spent") as error:
        made(tmp_path)
    rescued = Path(str(error.value.remedy).rpartition(": ")[2])
    rescued.rename(tmp_path / "patients.nwr")
    assert noisewise.load(tmp_path / "patients.nwr").contents.table().num_rows == ROWS


def test_rows_that_change_between_the_readings_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from noisewise.data.statistics import rows

    original = rows.open_rows
    monkeypatch.setattr(rows, "open_rows", lambda *given: (original(*given)[0], ROWS - 1))
    with pytest.raises(DataError, match="same number of rows"):
        made(tmp_path)
    assert not list(tmp_path.iterdir())


def test_damaged_data_cost_nothing(tmp_path: Path) -> None:
    pq.write_table(pa.table(TABLE), tmp_path / "in.parquet", compression="none")
    content = bytearray((tmp_path / "in.parquet").read_bytes())
    content[4:400] = b"\xff" * 396
    (tmp_path / "in.parquet").write_bytes(content)
    ledger = Recorder([])
    with pytest.raises(DataError):
        made(tmp_path, tmp_path / "in.parquet", ledger=ledger)
    assert not ledger.charges


def test_many_rows_pass_through_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for a few rows only, everything goes through files, and all of it arrives."""
    monkeypatch.setattr(order, "MEMORY", 2000)
    found = made(tmp_path, epsilon=CLEAR, copies=2)
    assert sorted(os.listdir(tmp_path)) == ["patients.nwr", "patients.rows.parquet"]
    published = np.sort(found.contents.scaled().numbers[0, :, 1])
    np.testing.assert_allclose(published, np.sort(np.clip(TABLE["stay"], 0, 40)) / 20 - 1, atol=1e-5)


def test_noise_is_drawn_for_few_rows_at_a_time_if_there_are_many_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    perturb = RowsMechanism.perturb

    def noted(self: RowsMechanism, *cells: Any) -> Any:
        noisy = perturb(self, *cells)
        drawn.append(noisy.shape[0] * noisy.shape[1])
        return noisy

    monkeypatch.setattr(RowsMechanism, "perturb", noted)
    found = made(tmp_path, epsilon=CLEAR, copies=100)
    assert sum(drawn) == found.contents.table_rows == 100 * ROWS and max(drawn) <= BLOCK_ROWS
    published = np.sort(found.contents.scaled().numbers[7, :, 1])
    np.testing.assert_allclose(published, np.sort(np.clip(TABLE["stay"], 0, 40)) / 20 - 1, atol=1e-4)


def test_a_table_without_rows_is_a_release_without_rows(tmp_path: Path) -> None:
    found = made(tmp_path, pa.table(TABLE).slice(0, 0))
    assert (found.contents.rows, found.contents.table().num_rows, found.contents.scaled().numbers.shape) == (0, 0, (1, 0, 2))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_table_of_one_column(name: str, tmp_path: Path) -> None:
    """A category by itself too, of which no number is computed."""
    schema = noisewise.Schema.from_dict({"adjacency": "replace-one", "columns": {name: COLUMNS[name]}})
    found = made(tmp_path, schema=schema, epsilon=CLEAR)
    assert found.contents.rows == ROWS
    assert found.contents.mechanism == ("laplace" if "bounds" in COLUMNS[name] else "randomised-response")
    published = np.sort(found.contents.table()[name].to_numpy())
    if found.contents.numbers:
        np.testing.assert_allclose(published, np.sort(np.clip(TABLE[name], *COLUMNS[name]["bounds"])), atol=1e-3)
    else:
        assert (published == np.sort(TABLE[name])).all()
    assert made(tmp_path, pa.table(TABLE).slice(0, 0), schema=schema, to=tmp_path / "none.nwr").contents.table().num_rows == 0
