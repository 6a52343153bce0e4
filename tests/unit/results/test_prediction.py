"""Predictions against closed forms, and new rows of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.refusals import about
from tests.unit.results import draws_with_known_answers as known

from noisewise.errors import DataError, ResultError
from noisewise.results import Posterior, prediction
from noisewise.schema import Design

ROWS = {"age": [30.0, 70.0, 50.0], "ward": ["A", "B", "C"]}
MATRIX = np.array([[1, 30, 0, 0], [1, 70, 1, 0], [1, 50, 0, 1.0]])


def closed_form() -> tuple[np.ndarray, np.ndarray]:
    mean = MATRIX @ known.CENTRE[:-1]
    return mean, np.sqrt(MATRIX**2 @ known.SPREAD[:-1] ** 2)


def test_interval_of_the_mean_is_that_of_the_normal() -> None:
    """x·beta is normal; a quantile at 2.5 % from 4000 draws is right to 0.0423 sd (one standard error)."""
    mean, sd = closed_form()
    table = known.posterior().predict(ROWS, kind="mean")
    assert list(table.columns) == ["mean", "lower", "upper"]
    assert (np.abs(table["mean"] - mean) < 5 * sd / np.sqrt(4000)).all()
    assert (np.abs(table["lower"] - (mean - 1.959964 * sd)) < 4 * 0.0423 * sd).all()
    assert (np.abs(table["upper"] - (mean + 1.959964 * sd)) < 4 * 0.0423 * sd).all()


def test_interval_of_the_response_includes_sigma() -> None:
    """With sigma fixed at 1.5 the predictive is normal with variance sd² + 1.5². The quantile's error comes from the
    draws of x·beta only: at most 0.0423 sd, and far from the interval without sigma."""
    samples = known.normal_samples()
    samples[..., -1] = 1.5
    mean, sd = closed_form()
    total = np.sqrt(sd**2 + 1.5**2)
    table = known.posterior(samples).predict(ROWS)
    assert (np.abs(table["lower"] - (mean - 1.959964 * total)) < 4 * 0.0423 * sd).all()
    assert (np.abs(table["upper"] - (mean + 1.959964 * total)) < 4 * 0.0423 * sd).all()
    narrow = known.posterior(samples).predict(ROWS, kind="mean")
    assert ((table["upper"] - table["lower"]) > 1.3 * (narrow["upper"] - narrow["lower"])).all()


def test_interval_widens_with_its_probability() -> None:
    widths = [np.ptp(known.posterior().predict(ROWS, interval=p).iloc[0, 1:]) for p in (0.5, 0.9, 0.99)]
    assert widths[0] < widths[1] < widths[2]


def test_students_t_as_a_mixture() -> None:
    """Normal mixtures over inverse-gamma variances are Student t: 5 degrees of freedom, known quantile 2.5706."""
    sigma = np.sqrt(5 / np.random.default_rng(3).chisquare(5, 200_000))
    found = prediction.mixture_quantile(np.zeros((1, len(sigma))), sigma, 0.975)
    # Standard error: sd of ndtr(2.57 / sigma) is about 0.04; divided by sqrt(2e5) and the density 0.0285: 0.003.
    assert found[0] == pytest.approx(2.5706, abs=0.012)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 400),
    st.sampled_from([0.001, 0.025, 0.25, 0.5, 0.9, 0.975, 0.9995]),
    st.floats(1e-3, 1e3),
    st.booleans(),
)
@example(200, 88, 0.025, 297.0, True)  # a step of Halley's that was short far from the quantile
def test_mixture_quantile_solves_its_equation(
    seed: int, count: int, probability: float, apart: float, two_lumps: bool
) -> None:
    generator = np.random.default_rng(seed)
    location = apart * generator.standard_normal((3, count))
    if two_lumps:  # far apart, with almost no density between them
        location += np.where(np.arange(count) % 2, 50.0 * apart, 0.0)
    scale = np.exp(generator.standard_normal(count))
    found = prediction.mixture_quantile(location, scale, probability)
    for row in range(3):
        spread = np.sqrt(location[row].var() + np.mean(scale**2))
        below, above = (
            ndtr((found[row] + shift - location[row]) / scale).mean() for shift in (-2e-4 * spread, 2e-4 * spread)
        )
        assert below <= probability + 1e-12
        assert above >= probability - 1e-12


def test_sigma_of_zero_draws_is_handled() -> None:
    samples = known.normal_samples(draws=200)
    samples[..., -1] = 0.0
    table = known.posterior(samples).predict(ROWS)
    mean = known.posterior(samples).predict(ROWS, kind="mean")
    np.testing.assert_allclose(table["upper"], mean["upper"], rtol=0.02)


def test_a_row_alone_and_in_company_gets_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    rows = pandas.DataFrame({"age": generator.uniform(20, 90, 40), "ward": generator.choice(["A", "B", "C"], 40)})
    post = known.posterior(known.normal_samples(draws=100))
    whole = post.predict(rows)
    monkeypatch.setattr(prediction, "BLOCK_ELEMENTS", 400 * 3)
    monkeypatch.setattr(prediction, "DESIGN_ROWS", 7)
    pandas.testing.assert_frame_equal(post.predict(rows), whole, rtol=1e-12)
    pandas.testing.assert_frame_equal(post.predict(rows.iloc[[17]]), whole.iloc[[17]], rtol=1e-12)


def test_memory_is_bounded_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No block of rows times draws exceeds the limit, however many rows are asked."""
    sizes = []
    original = prediction.mixture_quantile

    def watched(location: np.ndarray, scale: np.ndarray, probability: float) -> np.ndarray:
        sizes.append(location.size)
        return original(location, scale, probability)

    monkeypatch.setattr(prediction, "mixture_quantile", watched)
    count = 1500
    known.posterior().predict({"age": np.linspace(20, 90, count), "ward": "B"})
    assert max(sizes) <= prediction.BLOCK_ELEMENTS
    assert sum(sizes) == 2 * count * 4000


TABLES = {
    "pandas": lambda: pandas.DataFrame(ROWS),
    "pandas categorical": lambda: pandas.DataFrame(ROWS).astype({"ward": "category", "age": "Int64"}),
    "pandas arrow": lambda: pandas.DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: polars.DataFrame(ROWS),
    "polars categorical": lambda: polars.DataFrame(ROWS).with_columns(polars.col("ward").cast(polars.Categorical)),
    "polars lazy": lambda: polars.LazyFrame(ROWS),
    "arrow": lambda: pyarrow.table(ROWS),
    "arrow dictionary": lambda: pyarrow.table(
        {"age": pyarrow.array([30, 70, 50], pyarrow.int8()), "ward": pyarrow.array(ROWS["ward"]).dictionary_encode()}
    ),
    "arrow batch": lambda: pyarrow.RecordBatch.from_pydict(ROWS),
    "dict of lists": lambda: ROWS,
    "dict of arrays": lambda: {"age": np.array([30, 70, 50]), "ward": np.array(["A", "B", "C"]), "other": 1},
    "dict of tuples and series": lambda: {"age": (30, 70, 50), "ward": pandas.Series(["A", "B", "C"], index=[5, 6, 7])},
}


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table_gives_the_same_answer(name: str) -> None:
    post = known.posterior(known.normal_samples(draws=50))
    expected = post.predict(pandas.DataFrame(ROWS))
    found = post.predict(TABLES[name]())
    pandas.testing.assert_frame_equal(found, expected, check_index_type=False)


def test_the_index_of_a_pandas_frame_is_kept() -> None:
    rows = pandas.DataFrame(ROWS, index=pandas.Index(["x", "y", "z"], name="patient"))
    assert known.posterior().predict(rows).index.equals(rows.index)
    assert known.posterior().predict(rows).index.name == "patient"


def test_one_value_stands_for_a_column() -> None:
    post = known.posterior()
    table = post.predict({"age": [30, 70], "ward": "B"})
    pandas.testing.assert_frame_equal(table, post.predict({"age": [30, 70], "ward": ["B", "B"]}))
    assert len(post.predict({"age": 30, "ward": "B"})) == 1


def test_no_rows_give_an_empty_table() -> None:
    for rows in (pandas.DataFrame({"age": [], "ward": []}), {"age": [], "ward": []}, polars.DataFrame(ROWS).head(0)):
        table = known.posterior().predict(rows)
        assert table.shape == (0, 3)


BAD_ROWS = {
    "missing column": ({"age": [30]}, "no column ward"),
    "missing column in pandas": (pandas.DataFrame({"ward": ["A"]}), "no column age"),
    "missing column in arrow": (pyarrow.table({"ward": ["A"]}), "no column age"),
    "unknown level": ({"age": [30, 40], "ward": ["A", "Z"]}, "found: 'Z'"),
    "level of another type": ({"age": [30], "ward": [1]}, "found: 1"),
    "level that cannot be hashed": ({"age": [30], "ward": [["A"]]}, "ward"),
    "missing number": ({"age": [30, np.nan], "ward": "A"}, "age.*1 missing, the first in row 1"),
    "missing level": ({"age": [30, 40], "ward": ["A", None]}, "ward.*missing"),
    "missing in polars": (polars.DataFrame({"age": [30, None], "ward": ["A", "B"]}), "age.*missing"),
    "missing in arrow": (pyarrow.table({"age": [30, 40], "ward": [None, "B"]}), "ward.*missing"),
    "infinite": ({"age": [30, np.inf], "ward": "A"}, "age.*finite numbers.*inf in row 1"),
    "text for numbers": ({"age": ["30"], "ward": "A"}, "column age must hold numbers"),
    "text for numbers in pandas": (pandas.DataFrame({"age": ["30"], "ward": "A"}), "column age must hold numbers"),
    "text for numbers as objects": ({"age": np.array(["30", 2], dtype=object), "ward": "A"}, "column age must hold numbers"),
    "dates for numbers": (
        pandas.DataFrame({"age": pandas.to_datetime(["2020-01-01"]), "ward": "A"}),
        "column age must hold numbers",
    ),
    "durations for numbers": (
        pandas.DataFrame({"age": pandas.to_timedelta([1], unit="D"), "ward": "A"}),
        "column age must hold numbers",
    ),
    "unequal lengths": ({"age": [30, 40, 50], "ward": ["A", "B"]}, "age: 3, ward: 2"),
    "two-dimensional": ({"age": np.ones((2, 2)), "ward": ["A", "B"]}, "one-dimensional"),
    "twice the same column": (pandas.DataFrame([[1, 2, "A"]], columns=["age", "age", "ward"]), "several columns named age"),
    "a list": ([1, 2], "found: list"),
    "a path": ("rows.csv", "found: str"),
    "a series": (pandas.Series([1.0], index=["age"]), "found: Series"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_named(name: str) -> None:
    rows, words = BAD_ROWS[name]
    with pytest.raises(ResultError, match=words):
        known.posterior().predict(rows)


def test_levels_keep_their_declared_type() -> None:
    """Levels 0 and 1 declared as int match 1.0 and "1", and reach the design as declared."""
    seen: list[object] = []

    class Watching(Design):
        def matrix(self, columns: Any) -> Any:
            seen.extend(columns["smokes"])
            return super().matrix(columns)

    samples = known.normal_samples(draws=10)[:, :, [0, 2, 4]]
    design = known.design("stay ~ smokes", Watching)
    post = Posterior(samples, (*design.terms, "sigma"), design, known.info())
    tables = [post.predict({"smokes": values}) for values in (np.array([1.0, 0.0]), [1, 0], ["1", "0"], [True, False])]
    assert seen == [1, 0] * 4
    assert {type(level) for level in seen} == {int}
    for table in tables:
        pandas.testing.assert_frame_equal(table, tables[0])
    assert table["mean"].tolist() == pytest.approx(samples.mean(axis=(0, 1))[:2].cumsum()[::-1])


def test_errors_of_the_design_become_result_errors() -> None:
    class Refusing(Design):
        def matrix(self, columns: Any) -> Any:
            raise DataError("ward is odd", found="x", remedy="do it better")

    post = Posterior(known.normal_samples(draws=10), known.TERMS, known.design(kind=Refusing), known.info())
    with pytest.raises(ResultError, match=r"ward is odd \(found: x\); do it better"):
        post.predict(ROWS)


def test_an_intercept_alone_needs_no_columns() -> None:
    samples = known.normal_samples()[:, :, [0, 4]]
    post = Posterior(samples, ("Intercept", "sigma"), known.design("stay ~ 1"), known.info())
    table = post.predict({"age": [1, 2, 3]})
    assert table["mean"].tolist() == pytest.approx([samples[..., 0].mean()] * 3)
    assert len(post.predict(pandas.DataFrame(index=[4, 5]))) == 2
    assert len(post.predict(polars.DataFrame(ROWS))) == 3
    assert len(post.predict(pyarrow.table(ROWS))) == 3


def test_what_is_asked_is_checked() -> None:
    with pytest.raises(ResultError, check=about("kind")):
        known.posterior().predict(ROWS, kind="median")  # type: ignore[arg-type]
    with pytest.raises(ResultError, check=about("interval")):
        known.posterior().predict(ROWS, interval=95)
    with pytest.raises(ResultError, check=about("family", found="'gamma'", known="gaussian")):
        known.posterior(family="gamma")
