"""From rows to coefficients by a moments release: they are those that made the rows, for every family and adjacency."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.refusals import about

import noisewise as nw
from noisewise.errors import ConvergenceWarning, FitError
from noisewise.run import QUIET

ROWS = 30_000
TRUE = {"age": 0.015, "illness[T.some]": 0.5, "illness[T.much]": 0.9}
HIGHER = {"x": 1, "xx": 1, "y": 0.7, "yx": 1.5, "yxx": 0.5, "xxx": 0.1}
"""Blocks of higher order change nothing but the noise."""
FORMULA = {"poisson": "visits ~ age + illness", "logistic": "seen ~ age + illness"}


def table(seed: int = 7) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(seed)
    age, illness = random.uniform(18, 98, ROWS), random.choice(["no", "some", "much"], ROWS, p=[0.5, 0.3, 0.2])
    eta = -0.8 + 0.015 * (age - 58) + 0.5 * (illness == "some") + 0.9 * (illness == "much")
    return {"age": age, "illness": illness, "visits": random.poisson(np.exp(eta)),
            "seen": np.where(random.random(ROWS) < 1 / (1 + np.exp(-eta)), "yes", "no")}


def released(formula: str, adjacency: str = "replace-one", seed: int = 7, epsilon: float = 2,
             blocks: dict[str, float] | None = None) -> nw.Release:
    schema = nw.Schema.from_dict({"adjacency": adjacency, "columns": {
        "visits": {"bounds": [0, 15]}, "seen": {"levels": ["no", "yes"]}, "age": {"bounds": [18, 98]},
        "illness": {"levels": ["no", "some", "much"]}}})
    return nw.release(table(seed), schema, nw.Moments(formula, blocks=blocks), epsilon=epsilon, delta=1e-6, run=QUIET)


def fitted(formula: str, release: Any, family: str) -> dict[str, tuple[float, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few draws, and noise without a seed: what counts is where they are
        posterior = nw.fit(formula, release, family=family, draws=600, chains=2, seed=3, run=QUIET)
    return {term: (float(row["mean"]), float(row["sd"])) for term, row in posterior.summary().iterrows()}


@pytest.mark.outer
# The two that are not slow have every family, adjacency and kind of blocks once.
@pytest.mark.parametrize(("family", "adjacency", "options"), [
    ("poisson", "replace-one", {}), ("logistic", "add-remove", {"blocks": HIGHER}),
    *(pytest.param(family, adjacency, {}, marks=pytest.mark.slow) for family, adjacency in (
        ("logistic", "replace-one"), ("logistic", "add-remove"), ("poisson", "add-remove"))),
])
def test_coefficients_are_those_that_made_the_rows(family: str, adjacency: str, options: dict[str, Any]) -> None:
    """Within five standard deviations (the noise has no seed), which are small enough to tell each from zero."""
    found = fitted(FORMULA[family], released(FORMULA[family], adjacency, **options), family)
    assert found["Intercept"][0] == pytest.approx(-0.8 - 0.015 * 58, abs=5 * found["Intercept"][1])
    for term, value in TRUE.items():
        mean, sd = found[term]
        assert mean == pytest.approx(value, abs=5 * sd), term
        assert 5 * sd < value, term


@pytest.mark.slow
def test_fewer_predictors_and_several_holders() -> None:
    """A shorter formula has other coefficients: the mean of exp(η) over the illnesses goes into the intercept only."""
    holders = [released(FORMULA["poisson"], seed=seed, epsilon=epsilon) for seed, epsilon in ((7, 2), (8, 1))]
    mean, sd = fitted("visits ~ age", holders, "poisson")["age"]
    assert mean == pytest.approx(0.015, abs=5 * sd) and 5 * sd < 0.015
    alone = fitted("visits ~ age", holders[0], "poisson")["age"][1]
    assert sd < alone


def test_a_formula_that_the_release_cannot_serve_is_refused() -> None:
    release = released("visits ~ age + seen")
    with pytest.raises(FitError, match="does not contain all sums"):
        nw.fit("seen ~ visits", release, family="logistic")
    for missing in ("x", "xx", "y", "yx"):
        blocks = {name: 1 for name in ("x", "xx", "y", "yx") if name != missing}
        with pytest.raises(FitError, match="does not contain all sums"):
            nw.fit(FORMULA["logistic"], released(FORMULA["logistic"], blocks=blocks), family="logistic")
    with pytest.raises(FitError, check=about("family")):
        nw.fit("visits ~ age", release)


def test_shortened_predictors_are_a_reason_for_doubt() -> None:
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "norm_bound": 0.5, "columns": {
        "seen": {"levels": ["no", "yes"]}, "age": {"bounds": [18, 98]}, "illness": {"levels": ["no", "some", "much"]}}})
    release = nw.release(table(), schema, nw.Moments(FORMULA["logistic"]), epsilon=2, delta=1e-6, run=QUIET)
    with pytest.warns(nw.errors.NoisewiseWarning, match="but not the response"):
        nw.fit(FORMULA["logistic"], release, family="logistic", draws=50, chains=2, seed=1, run=QUIET)
