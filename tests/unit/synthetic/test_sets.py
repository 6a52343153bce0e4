"""`synthesize`: tables within their declarations, the same for the same seed, files, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.unit.synthetic.test_moment_posterior import COLUMNS, released, rows

import noisewise as nw
from noisewise.errors import FitError, ResultError
from noisewise.run import QUIET
from noisewise.synthetic import sets as module
from noisewise.synthetic.sets import SyntheticData


@pytest.fixture(scope="module")
def made() -> SyntheticData:
    return nw.synthesize(released(3.0, delta=1e-6), sets=4, rows=300, seed=1)


def test_values_are_as_declared(made: SyntheticData) -> None:
    assert len(made) == 4 and made.rows == 300 and made.release_rows == 500
    for table in made:
        assert list(table.columns) == list(COLUMNS) and len(table) == 300
        assert table["x"].between(-3, 3).all() and table["y"].between(-4, 4).all()
        assert set(table["ward"]) <= {"A", "B", "C"} and set(table["smoker"]) <= {"no", "yes"}
    assert all(0 <= share < 0.2 for share in made.cut_off().values())


def test_tables_differ_and_the_same_seed_gives_the_same(made: SyntheticData, monkeypatch: pytest.MonkeyPatch) -> None:
    again = nw.synthesize(released(3.0, delta=1e-6), sets=4, rows=300, seed=1)
    pd.testing.assert_frame_equal(made[2], again[2])
    assert not made[0]["x"].equals(made[1]["x"])
    pd.testing.assert_frame_equal(made[-1], made[3])
    with pytest.raises(IndexError):
        _ = made[4]
    monkeypatch.setattr(module, "BLOCK", 100)
    assert len(made[0]) == 300 and [batch.num_rows for batch in made.batches(0)] == [100, 100, 100]


def test_with_little_noise_the_tables_resemble_the_rows() -> None:
    real = pd.DataFrame(rows(5000, 1))
    tables = nw.synthesize(released(1000.0, delta=1e-6, count=5000), sets=5, seed=1)
    together = pd.concat(list(tables))
    for ward in "ABC":
        assert abs((together["ward"] == ward).mean() - (real["ward"] == ward).mean()) < 0.03
        difference = together.loc[together["ward"] == ward, "y"].mean() - real.loc[real["ward"] == ward, "y"].mean()
        assert abs(difference) < 0.1
    smokers = [(table["smoker"][table["ward"] == "B"] == "yes").mean() for table in (together, real)]
    assert abs(smokers[0] - smokers[1]) < 0.05
    np.testing.assert_allclose(together[["x", "y"]].cov(), real[["x", "y"]].cov(), atol=0.06)


def test_an_analysis_of_all_tables(made: SyntheticData) -> None:
    combined = made.estimate(lambda table: ([table["x"].mean()], [table["x"].var() / len(table)]), names=["mean of x"])
    low, high = combined.interval(0.999)[0]
    assert low < rows(500, 1)["x"].mean() < high and list(combined.summary().index) == ["mean of x"]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_files(made: SyntheticData, tmp_path: Path, format: str) -> None:
    written = made.save(tmp_path / "out", format=format)
    assert [path.name for path in written] == [f"synthetic-0{k}.{format}" for k in range(1, 5)]
    read = pd.read_csv(written[1]) if format == "csv" else pd.read_parquet(written[1])
    pd.testing.assert_frame_equal(read, made[1], check_dtype=False)
    with pytest.raises(ResultError, match="empty folder"):
        made.save(tmp_path / "out", format=format)
    with pytest.raises(ResultError, match="parquet or csv"):
        made.save(tmp_path / "other", format="xlsx")
    with pytest.raises(ResultError, match="folder"):
        made.save(written[0] / "below", format=format)


def test_a_level_that_is_a_formula_is_harmless_in_a_file(tmp_path: Path) -> None:
    columns = {"v": {"levels": ["=cmd()", "b", "c"]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    table = {"v": np.repeat(["=cmd()", "b", "c"], 100)}
    made = nw.synthesize(nw.release(table, schema, epsilon=10, run=QUIET), sets=2, seed=1)
    assert set(made[0]["v"]) <= {"=cmd()", "b", "c"}
    text = made.save(tmp_path, format="csv")[0].read_text()
    assert "'=cmd()" in text and '"=cmd()' not in text


def test_numbers_and_truths_as_levels_keep_their_kind() -> None:
    columns = {"a": {"levels": [0, 1]}, "b": {"levels": [True, False]}}
    schema = nw.Schema.from_dict({"adjacency": "add-remove", "columns": columns})
    table = {"a": np.array([0, 1] * 200), "b": np.array([True, False, False, False] * 100)}
    made = nw.synthesize(nw.release(table, schema, epsilon=10, delta=1e-6, run=QUIET), sets=2, rows=50, seed=1)
    assert set(made[0]["a"]) <= {0, 1} and made[0]["b"].dtype == bool


def test_what_is_refused() -> None:
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"v": {"bounds": [0, 5]}}})
    table = {"v": np.arange(6.0)}
    moments = nw.release(table, schema, nw.Moments("v ~ 1", blocks={"y": 1}), epsilon=1.0, delta=1e-6, run=QUIET)
    with pytest.raises(FitError, match="kind gram"):
        nw.synthesize(moments)
    with pytest.raises(FitError, match="too few rows"):
        nw.synthesize(nw.release({"v": np.arange(1.0)}, schema, epsilon=1.0, run=QUIET))
    averaged = nw.release(table, schema, nw.Gram(average=2), epsilon=1.0, delta=1e-6, run=QUIET)
    with pytest.raises(FitError, match="averaged"):
        nw.synthesize(averaged)
    for wrong in ({"sets": 1}, {"rows": 0}, {"seed": -1}):
        with pytest.raises(FitError):
            nw.synthesize(released(1.0), **wrong)
