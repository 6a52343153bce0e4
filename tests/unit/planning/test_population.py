"""Tables that could be: their sums have the mean and the spread of tables of so many rows, whatever the family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisewise.errors import DeclarationError
from noisewise.planning.noise import simulated_noise
from noisewise.planning.population import POOL, Count, NormalResponse, Population, ResponseLaw, TwoLevels
from noisewise.releases.contents.gram import EntryNoise
from noisewise.schema import Basis, Schema

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 40]}, "visits": {"bounds": [0, 8]}, "again": {"levels": ["no", "yes"]}, "age": {"bounds": [18, 98]},
    "bmi": {"bounds": [10, 60]}, "ward": {"levels": ["A", "B", "C"]}}})
EFFECTS = {"age": 0.05, "ward[T.B]": 1.0}


def population(formula: str = "stay ~ age + ward", family: str = "gaussian", effects: dict[str, float] | None = None,
               sigma: float | None = None, columns: dict[str, Any] | None = None, correlations: Any = None) -> Population:
    return Population.of(formula, Basis.of(SCHEMA), None, family, EFFECTS if effects is None else effects, sigma, columns or {},
                         correlations or {})


@pytest.mark.parametrize("law", [NormalResponse(4.0, 0.0, 12.0), TwoLevels("logistic"), TwoLevels("probit"), Count(4.0)])
def test_moments_of_a_response_are_those_of_its_draws(law: ResponseLaw) -> None:
    """200,000 draws: a mean is known to its standard deviation over 450, and a moment that is 2 % off is noticed."""
    random = np.random.default_rng(1)
    for level in (-0.5, 0.7, 1.4):
        eta = np.full(200_000, level * (4.0 if isinstance(law, NormalResponse) else 1.0))
        drawn = law.draw(eta, random)
        for power, expected in enumerate(law.moments(eta[:1]), start=1):
            values = drawn**power
            error = values.std() / np.sqrt(len(values)) + 1e-12
            assert abs(values.mean() - expected[0]) < 4 * error
            assert isinstance(law, TwoLevels) or abs(values.mean() - 1.02 * expected[0]) > 2 * error


def least_squares(made: Population, rows: int, repeats: int) -> np.ndarray:
    random = np.random.default_rng(2)
    features, target = made.design.features, made.design.target
    return np.array([np.linalg.solve(features.T @ gram @ features, features.T @ gram @ target)
                     for gram in (made.gram(rows, random) for _ in range(repeats))])


@pytest.mark.parametrize("rows", [3_000, 10_000_000])
def test_least_squares_of_a_simulated_table_scatters_about_the_effects_as_theory_says(rows: int) -> None:
    """400 tables: a standard deviation is known to 3.5 %, so that it is told from one of half as many rows."""
    made = population(sigma=2.0)
    found = least_squares(made, rows, 400)
    expected = made.standard_errors(rows)
    ratio = found.std(axis=0, ddof=1) / expected
    assert np.all(np.abs(ratio - 1) < 0.15) and np.all(np.abs(ratio * np.sqrt(2) - 1) > 0.2)
    z = (found.mean(axis=0) - np.array(list(made.effects.values()))) / expected * np.sqrt(400)
    assert np.all(np.abs(z) < 4)


def test_columns_are_as_declared() -> None:
    columns = {"age": {"mean": 60, "sd": 10, "shape": "skewed"}, "bmi": {"mean": 30, "sd": 4, "shape": "uniform"},
               "ward": {"shares": {"A": 0.6, "B": 0.3, "C": 0.1}}}
    made = population("stay ~ age + bmi + ward", columns=columns, correlations={("age", "bmi"): 0.5})
    features = made.rows @ made.design.features[list(made.used)]
    assert features.mean(axis=0) == pytest.approx([1, 60, 30, 0.3, 0.1], rel=0.01)
    assert features[:, 1:3].std(axis=0) == pytest.approx([10, 4], rel=0.02)
    assert np.corrcoef(features[:, 1], features[:, 2])[0, 1] == pytest.approx(0.5, abs=0.05)
    age = features[:, 1]
    assert np.mean((age - age.mean()) ** 3) / age.std() ** 3 == pytest.approx(2 * 10 / 42, rel=0.1)  # of that gamma distribution
    words = made.words(scale_declared=False, level_declared=False)
    assert any("skewed, mean 60, sd 10" in line and "assumed" not in line for line in words)


def test_a_column_has_its_declared_spread_after_it_was_clipped() -> None:
    made = population(columns={"age": {"mean": 50, "sd": 24}})
    age = (made.rows @ made.design.features[list(made.used)])[:, 1]
    assert (age.mean(), age.std()) == (pytest.approx(50, rel=0.01), pytest.approx(24, rel=0.01))
    assert age.min() == 18 and age.max() == 98


def test_what_is_not_declared_is_assumed_and_said() -> None:
    made = population()
    features = made.rows @ made.design.features[list(made.used)]
    assert features.mean(axis=0) == pytest.approx([1, 58, 1 / 3, 1 / 3], rel=0.01)
    assert features[:, 1].std() == pytest.approx(80 / 6, rel=0.02)
    words = made.words(scale_declared=True, level_declared=False)
    assert sum("assumed" in line for line in words) == 3 and words[-1] == "stay: mean 20 (assumed), residual sd 6.667"


@pytest.mark.parametrize(("formula", "family", "columns", "expected"), [
    ("again ~ age", "logistic", {"again": {"shares": [0.9, 0.1]}}, 0.1), ("visits ~ age", "poisson", {}, 2.0)])
def test_the_intercept_makes_the_response_what_it_is_assumed_to_be(formula: str, family: str, columns: Any, expected: float
                                                                   ) -> None:
    made = population(formula, family, {"age": 0.03}, columns=columns)
    assert made.law.mean(made.eta).mean() == pytest.approx(expected, rel=1e-6)
    assert made.mean[0, 0] == 1.0 and len(made.rows) == POOL


@pytest.mark.parametrize(("given", "words"), [
    ({"columns": {"age": {"mean": 120}}}, "between the bounds"),
    ({"columns": {"age": {"sd": 90}}}, "at most half the range"),
    ({"columns": {"age": {"shape": "odd"}}}, "normal, uniform, skewed"),
    ({"columns": {"age": {"median": 3}}}, "mean, sd, shape"),
    ({"columns": {"bmi": {"mean": 30}}}, "columns of the formula"),
    ({"columns": {"ward": {"shares": [0.5, 0.5]}}}, "one share for each of its 3 levels"),
    ({"columns": {"ward": {"shares": [0.5, 0.5, 0.5]}}}, "add up to 1"),
    ({"columns": {"ward": {"shares": {"A": 1.0}}}}, "each of its levels"),
    ({"columns": {"age": 3}}, "must have names"),
    ({"effects": {"weight": 1.0}}, "terms of the formula"),
    ({"effects": {"age": float("nan")}}, "finite"),
    ({"sigma": -1.0}, "positive"),
    ({"correlations": {("age", "age"): 0.1}}, "two predictors"),
    ({"correlations": {("age", "ward"): 1.0}}, "strictly between"),
    ({"formula": "again ~ age", "effects": {}}, 'family="logistic"'),
    ({"formula": "stay ~ age", "family": "logistic", "effects": {}}, "two levels"),
    ({"formula": "visits ~ age", "family": "poisson", "effects": {}, "sigma": 1.0}, "leave sigma out"),
])
def test_what_cannot_be_assumed_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        population(**given)


def test_impossible_correlations_are_refused() -> None:
    pairs = {("age", "bmi"): 0.9, ("bmi", "ward"): 0.9, ("age", "ward"): -0.9}
    with pytest.raises(DeclarationError, match="possible together"):
        population("stay ~ age + bmi + ward", correlations=pairs)


@pytest.mark.parametrize("noise", [
    EntryNoise("gaussian", 2.0, 2.0 / np.sqrt(2), 0.0), EntryNoise("laplace", 3.0, 3.0, 3.0),
    EntryNoise("wishart", 2.0 * np.sqrt(80), 2.0 * np.sqrt(40), 0.0, degrees=40, scale=2.0)])
def test_simulated_noise_has_the_law_that_a_release_states(noise: EntryNoise) -> None:
    """4000 matrices: a standard deviation is known to 1.1 % (2.5 % for Laplace noise), and one that is 20 % off is noticed."""
    random = np.random.default_rng(3)
    drawn = np.array([simulated_noise(random, noise, 3) for _ in range(4_000)])
    assert np.array_equal(drawn, drawn.transpose(0, 2, 1))
    expected = np.sqrt(noise.variances(3))
    assert drawn.std(axis=0) == pytest.approx(expected, rel=0.1)
    assert np.all(np.abs(drawn.mean(axis=0)) <= 4 * expected / np.sqrt(4_000))
    tails = np.mean((drawn[:, 0, 1] / expected[0, 1]) ** 4)
    assert (tails > 4.5) == (noise.distribution == "laplace")
    skewness = np.mean((drawn[:, 1, 1] / expected[1, 1]) ** 3)
    assert (skewness > 0.25) == (noise.distribution == "wishart")
