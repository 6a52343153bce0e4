"""Moments of parts, from tables to fits: every kind of column and formula against plain regressions of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

from noisewise.data.parts.fits import fit_parts
from noisewise.data.statistics import partition, partition_sums
from noisewise.data.statistics.partition import PartMoments, part_moments
from noisewise.errors import DataError
from noisewise.run import QUIET
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior, part_design

Array = npt.NDArray[np.float64]

ROWS, PARTS = 600, 4
SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}, "year": {"bounds": "unknown"},
    "age": {"bounds": [20, 80], "missing": 50}, "dose": {"bounds": [0, 5]},
    "ward": {"levels": ["A", "B", "C"]}, "sex": {"levels": ["f", "m"]}}})


def table(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=ROWS), "year": 2000.0 + rng.integers(0, 20, ROWS), "age": rng.normal(50, 25, ROWS),
                          "dose": rng.uniform(0, 5, ROWS), "ward": rng.choice(["A", "B", "C"], ROWS),
                          "sex": rng.choice(["f", "m"], ROWS)})
    frame["y"] = (1e5 + 2 * frame.x - 0.3 * frame.year + 0.02 * frame.age + (frame.ward == "C") * 1.5
                  + rng.normal(size=ROWS))
    return frame


@pytest.fixture
def assigned(monkeypatch: pytest.MonkeyPatch) -> Array:
    """A split that the test knows."""
    parts = np.random.default_rng(7).permutation(np.arange(ROWS) % PARTS)

    class Known:
        def __init__(self, rows: int, count: int) -> None:
            self.done = 0

        def parts_of(self, rows: int, units: Any) -> Array:
            self.done += rows
            return parts[self.done - rows:self.done]

        def finish(self) -> None:
            assert self.done == ROWS

    monkeypatch.setattr(partition, "BalancedSplit", Known)
    return parts


def clipped(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.copy()
    frame["age"] = frame.age.fillna(50.0).clip(20.0, 80.0)
    return frame


FORMULAS: dict[str, Any] = {
    "y ~ x": lambda t: [np.ones(len(t)), t.x],
    "y ~ x - 1": lambda t: [t.x],
    "y ~ year": lambda t: [np.ones(len(t)), t.year],
    "y ~ x + age": lambda t: [np.ones(len(t)), t.x, t.age],
    "y ~ x + I(x**2)": lambda t: [np.ones(len(t)), t.x, t.x**2],
    "y ~ I(age**2) + age": lambda t: [np.ones(len(t)), t.age**2, t.age],
    "y ~ ward + x": lambda t: [np.ones(len(t)), t.ward == "B", t.ward == "C", t.x],
    "y ~ x:age": lambda t: [np.ones(len(t)), t.x * t.age],
    "y ~ sex*dose": lambda t: [np.ones(len(t)), t.sex == "m", t.dose, (t.sex == "m") * t.dose],
    "y ~ ward:x + year": lambda t: [np.ones(len(t)), t.year, *((t.ward == level) * t.x for level in "ABC")],
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_fits_from_a_table_are_those_of_its_rows(formula: str, assigned: Array) -> None:
    frame = table()
    frame.loc[::17, "age"] = np.nan
    design = part_design(SCHEMA, formula, ())
    found = part_moments(frame, SCHEMA, design, PARTS, run=QUIET)
    assert found.rows == ROWS and found.balanced and found.counts.tolist() == [150.0] * 4
    fits = fit_parts(found.counts, found.products, found.shift, design.terms, PartPrior())
    rows = clipped(frame)
    columns = np.column_stack([np.asarray(column, dtype=float) for column in FORMULAS[formula](rows)])
    for part in range(PARTS):
        x, y = columns[assigned == part], rows.y.to_numpy()[assigned == part]
        scale = np.maximum(np.abs(x).max(axis=0), 1.0)
        expected, (rest,), _, _ = np.linalg.lstsq(x / scale, y, rcond=None)
        errors = np.sqrt(rest / (len(y) - len(scale)) * np.diag(np.linalg.inv((x / scale).T @ (x / scale)))) / scale
        for place in range(len(design.terms)):
            matching = _place(design.terms[place], formula, place)
            location, spread = fits.combination(np.eye(len(design.terms))[place])
            assert location[part] == pytest.approx(expected[matching] / scale[matching], abs=1e-5 * errors[matching])
            assert spread[part] == pytest.approx(errors[matching], rel=1e-5)


def _place(term: str, formula: str, place: int) -> int:
    """Where the column of a term is in the list above."""
    order = {"y ~ sex*dose": ("Intercept", "sex[T.m]", "dose", "sex[T.m]:dose"),
             "y ~ ward:x + year": ("Intercept", "year", "ward[A]:x", "ward[B]:x", "ward[C]:x")}.get(formula)
    return place if order is None else order.index(term)


def test_rows_with_a_missing_unbounded_cell_are_left_out_and_still_counted(assigned: Array) -> None:
    frame = table()
    frame.loc[frame.index[:40], "x"] = np.nan
    frame.loc[frame.index[40:50], "y"] = np.inf
    design = part_design(SCHEMA, "y ~ x", ())
    found = part_moments(frame, SCHEMA, design, PARTS, run=QUIET)
    assert found.rows == ROWS and found.counts.tolist() == np.bincount(assigned[50:], minlength=PARTS).tolist()
    whole = part_moments(frame.assign(x=table().x, y=table().y), SCHEMA, design, PARTS, run=QUIET)
    assert whole.counts.sum() == ROWS


def test_batches_make_no_difference_to_the_last_bit(assigned: Array) -> None:
    frame = table()
    design = part_design(SCHEMA, "y ~ ward + x + age", ())
    whole = pa.Table.from_pandas(frame)
    pieces = pa.Table.from_batches(whole.to_batches(max_chunksize=37))
    first, second = (part_moments(source, SCHEMA, design, PARTS, run=QUIET) for source in (whole, pieces))
    for name in ("counts", "products", "shift"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


def test_a_full_buffer_is_multiplied(monkeypatch: pytest.MonkeyPatch, assigned: Array) -> None:
    design = part_design(SCHEMA, "y ~ x", ())
    monkeypatch.setattr(partition_sums, "LARGEST_BUFFER", 16)
    small = part_moments(table(), SCHEMA, design, PARTS, run=QUIET)
    monkeypatch.setattr(partition_sums, "LARGEST_BUFFER", 512)
    large = part_moments(table(), SCHEMA, design, PARTS, run=QUIET)
    assert np.array_equal(small.counts, large.counts)
    fits = [fit_parts(one.counts, one.products, one.shift, design.terms, PartPrior()) for one in (small, large)]
    for contrast in np.eye(2):
        np.testing.assert_allclose(fits[0].combination(contrast), fits[1].combination(contrast), rtol=1e-9)


def test_an_outlier_in_a_parts_first_row_does_not_spoil_it(assigned: Array) -> None:
    """Relative to that row all others would be the same number, as far as doubles tell."""
    frame = table()
    frame.loc[frame.index[assigned.tolist().index(0)], "x"] = 1e8
    frame["y"] = 2.0 * np.minimum(frame.x, 5.0) + np.random.default_rng(3).normal(size=ROWS)
    design = part_design(SCHEMA, "y ~ x", ())
    found = part_moments(frame, SCHEMA, design, PARTS, run=QUIET)
    assert fit_parts(found.counts, found.products, found.shift, design.terms, PartPrior()).usable.all()


def moments_of(frame: Any, adjacency: str, unit: dict[str, Any] | None = None, parts: int = 5) -> PartMoments:
    declared: dict[str, Any] = {"adjacency": adjacency, "columns": {"y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}}
    schema = Schema.from_dict({**declared, **({} if unit is None else {"unit": unit})})
    return part_moments(frame, schema, part_design(schema, "y ~ x", ()), parts, run=QUIET)


def test_parts_are_equal_only_where_the_number_of_rows_is_public_and_small() -> None:
    frame = table()[["x", "y"]]
    assert moments_of(frame, "replace-one").balanced
    assert not moments_of(frame, "add-remove").balanced
    large = {"x": np.zeros(5001), "y": np.zeros(5001)}
    assert not moments_of(large, "replace-one").balanced and moments_of(large, "replace-one", parts=6).balanced


def test_all_rows_of_a_unit_are_in_one_part_up_to_their_limit() -> None:
    frame = pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60.0) % 7, "who": np.repeat(["a", "b", "c"], 20)})
    found = moments_of(frame, "add-remove", {"column": "who", "max_rows": 8}, parts=40)
    assert set(found.counts.tolist()) <= {0.0, 8.0, 16.0, 24.0} and found.counts.sum() == 24 and found.rows == 60


def test_a_stream_that_can_be_read_once_is_balanced_too() -> None:
    whole = pa.Table.from_pandas(table()[["x", "y"]])
    found = moments_of(pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=50)), "replace-one")
    assert found.balanced and found.counts.tolist() == [120.0] * 5


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="x"):
        moments_of({"y": [1.0, 2.0]}, "replace-one")
