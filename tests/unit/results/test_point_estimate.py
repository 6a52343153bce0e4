"""A point estimate shows coefficients and predictions, and says that it knows nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from tests.refusals import about

from noisewise.errors import NoisewiseWarning, ResultError
from noisewise.results.fit_info import FitInfo
from noisewise.results.point_estimate import PointEstimate
from noisewise.schema import Basis, Design, Schema

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})


def estimate(doubts: tuple[str, ...] = (), formula: str = "stay ~ age + ward") -> PointEstimate:
    design = Design.of(formula, Basis.of(SCHEMA))
    info = FitInfo(method="adassp", family="gaussian", formula=formula, seed=None, chains=0, draws=0, holders=2, doubts=doubts)
    return PointEstimate(np.array([5.0, 0.2, 4.0, -1.0])[: len(design.terms)], design, info, ridge=12.5)


def test_coefficients_by_name_and_as_a_table() -> None:
    found = estimate()
    assert found.terms == ("Intercept", "age", "ward[T.B]", "ward[T.C]")
    assert dict(found.coefficients) == {"Intercept": 5.0, "age": 0.2, "ward[T.B]": 4.0, "ward[T.C]": -1.0}
    assert list(found.summary().columns) == ["estimate"]
    assert found.summary().loc["age", "estimate"] == 0.2


def test_predictions_have_one_column_and_keep_the_index() -> None:
    rows = pandas.DataFrame({"age": [40.0, 70.0], "ward": ["B", "A"]}, index=["x", "y"])
    found = estimate().predict(rows)
    assert list(found.columns) == ["mean"] and list(found.index) == ["x", "y"]
    assert found["mean"].tolist() == pytest.approx([17.0, 19.0])
    assert estimate(formula="stay ~ 1").predict(pandas.DataFrame(index=range(3)))["mean"].tolist() == [5.0] * 3
    with pytest.raises(ResultError, match="no column ward"):
        estimate().predict({"age": [1.0]})


@pytest.mark.parametrize("ask", [
    lambda e: e.plot(), lambda e: e.plot("forest", path="x.png"), lambda e: e.draws(), lambda e: e.draws("age"),
    lambda e: e.to_arviz(), lambda e: e.check([]),
    lambda e: e.summary(0.95), lambda e: e.predict({"age": 40, "ward": "A"}, interval=0.9),
])
def test_what_needs_a_posterior_is_refused_with_a_remedy(ask: Any) -> None:
    with pytest.raises(ResultError, match="no posterior, no intervals") as refused:
        ask(estimate())
    assert "kind gram" in (refused.value.remedy or "")


def test_saving_is_refused_with_another_remedy(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="to_csv"):
        estimate().save(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


def test_it_says_what_it_is() -> None:
    for text in (repr(estimate()), estimate()._repr_html_()):
        assert "point estimate: no posterior, no intervals" in text
        assert "2 holders" in text and "12.5" in text and "adassp" in text
    assert "age 0.2" in repr(estimate())
    assert "<table" in estimate()._repr_html_()


def test_doubts_are_told() -> None:
    estimate().warn_if_bad()
    with pytest.warns(NoisewiseWarning, match="the noise won. What to do"):
        estimate(("the noise won",)).warn_if_bad()
    assert estimate(("the noise <won>",)).diagnose() == ["the noise <won>"]
    assert "&lt;won&gt;" in estimate(("the noise <won>",))._repr_html_()


@pytest.mark.parametrize("values", [[1.0], [np.nan, 0, 0, 0], np.zeros((4, 1))])
def test_numbers_must_fit_the_design(values: Any) -> None:
    found = estimate()
    with pytest.raises(ResultError, check=about("values")):
        PointEstimate(values, found.design, found.info)


def test_the_numbers_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        estimate().values[0] = 3.0
