"""The adassp estimate against an independent computation, its limit, and what it refuses."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.refusals import about

import noisewise as nw
from noisewise.errors import FitError
from noisewise.literature.adassp import point_estimate, ridge
from noisewise.posterior.methods import method_for
from noisewise.releases.contents.adassp import AdasspContribution
from noisewise.results.point_estimate import PointEstimate
from noisewise.run import QUIET

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]},
    "sex": {"levels": ["f", "m"]}}})
FORMULA = "stay ~ age + ward + sex"


def table(seed: int, count: int = 3000) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(seed)
    age, ward, sex = random.uniform(18, 98, count), random.choice(["A", "B", "C"], count), random.choice(["f", "m"], count)
    stay = 5 + 0.2 * age + 4 * (ward == "B") - 3 * (sex == "m") + random.normal(0, 2, count)
    return {"stay": np.clip(stay, 0, 60), "age": age, "ward": ward, "sex": sex}


def released(seed: int = 1, epsilon: float = 1.0, formula: str = FORMULA, terms: str | None = None, **options: Any) -> nw.Release:
    return nw.release(table(seed), SCHEMA, nw.AdaSSP(formula, terms=terms), epsilon=epsilon,
                      **({"delta": 1e-6, "run": QUIET} | options))


def by_hand(release: nw.Release, rho: float = 0.05) -> NDArray[np.float64]:
    """Equation (15) in plain NumPy for `FORMULA`: scaled coefficients first, then by hand to the user's units."""
    gram, sums, total = np.zeros((5, 5)), np.zeros(5), 0.0
    for part in release.contributions:
        assert isinstance(part, AdasspContribution)
        found = part.smallest_eigenvalue
        lower = max(found.value - math.sqrt(math.log(6 / part.delta)) * found.noise, 0.0)
        total += max(0.0, part.noise.diagonal * math.sqrt(5 * math.log(2 * 25 / rho)) - lower)
        gram, sums = gram + part.matrix, sums + part.moments
    one, age, ward_b, ward_c, sex = np.linalg.solve(gram + total * np.eye(5), sums)
    # stay = 30 + 30 y, age = 58 + 40 u; sex is -1 (f) or 1 (m).
    slope = 30 * age / 40
    return np.array([30 + 30 * (one - sex) - 58 * slope, slope, 30 * ward_b, 30 * ward_c, 60 * sex])


def ordinary(data: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    ward, sex = data["ward"], data["sex"]
    design = np.column_stack([np.ones(len(ward)), data["age"], ward == "B", ward == "C", sex == "m"])
    return np.asarray(np.linalg.lstsq(design.astype(float), data["stay"], rcond=None)[0])


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 10.0])
def test_it_agrees_with_plain_numpy(epsilon: float) -> None:
    release = released(epsilon=epsilon)
    np.testing.assert_allclose(point_estimate(FORMULA, release).values, by_hand(release), rtol=1e-8, atol=1e-9)
    wrong = by_hand(release, rho=0.5)
    if epsilon < 0.5:  # where there is a ridge, another one is another estimate
        assert np.abs(point_estimate(FORMULA, release).values - wrong).max() > 1e-4


@pytest.mark.parametrize("holders", [2, 5])
def test_holders_are_added_up_with_their_ridges(holders: int) -> None:
    parts = [released(seed, epsilon=0.2 * (seed + 1)) for seed in range(holders)]
    together = nw.combine(parts)
    estimate = point_estimate(FORMULA, together)
    np.testing.assert_allclose(estimate.values, by_hand(together), rtol=1e-8, atol=1e-9)
    assert estimate.ridge == pytest.approx(sum(point_estimate(FORMULA, part).ridge for part in parts))
    assert estimate.info.holders == holders


def test_without_noise_it_is_least_squares() -> None:
    exact = ordinary(table(1))
    distances = []
    for epsilon in (1.0, 30.0, 1e3, 1e6):
        estimate = point_estimate(FORMULA, released(epsilon=epsilon, delta=1e-3))
        distances.append(np.abs(estimate.values - exact).max())
    assert estimate.ridge == 0.0
    assert distances[-1] < 0.02 and distances[2] < 0.2
    assert distances[0] > 5 * distances[-1]


@pytest.mark.parametrize(("formula", "terms", "columns"), [
    ("stay ~ 1", None, lambda d: [np.ones(3000)]),
    ("stay ~ age - 1", None, lambda d: [d["age"]]),
    ("stay ~ ward - 1", None, lambda d: [d["ward"] == level for level in "ABC"]),
    ("stay ~ I(age**2)", "I(age**2)", lambda d: [np.ones(3000), d["age"] ** 2]),
    ("stay ~ age:sex", "age:sex", None),
])
def test_any_formula_tends_to_least_squares(formula: str, terms: str | None, columns: Any) -> None:
    """Also where the released columns are more than the predictors: without an intercept, or a square without its base."""
    estimate = point_estimate(formula, released(epsilon=1e7, delta=0.01, formula=formula, terms=terms))
    data = table(1)
    if columns is None:
        matrix = estimate.design.matrix(data)
    else:
        matrix = np.column_stack(columns(data)).astype(float)
    exact = np.linalg.lstsq(matrix, data["stay"], rcond=None)[0]
    scale = np.abs(matrix).max(axis=0)
    np.testing.assert_allclose(estimate.values * scale, exact * scale, atol=0.05)


def test_much_noise_draws_the_fit_to_the_middle_of_the_bounds() -> None:
    estimate = point_estimate(FORMULA, released(epsilon=0.001))
    assert estimate.ridge > 1e4
    predictions = estimate.predict({"age": [20.0, 90.0], "ward": ["A", "B"], "sex": "m"})["mean"]
    # Coefficients in scaled units are noise over ridge, each about 1/√(d ln(2d²/ρ)) = 0.15 of 30 days or less.
    assert np.abs(predictions - 30).max() < 40


def test_the_ridge_is_what_the_noise_may_take() -> None:
    part = released(epsilon=0.5).contributions[0]
    assert isinstance(part, AdasspContribution)

    def with_eigenvalue(value: float) -> AdasspContribution:
        return dataclasses.replace(part, smallest_eigenvalue=dataclasses.replace(part.smallest_eigenvalue, value=value))

    allowance = part.noise.diagonal * math.sqrt(5 * math.log(2 * 25 / 0.05))
    shift = math.sqrt(math.log(6e6)) * part.smallest_eigenvalue.noise
    assert ridge(with_eigenvalue(-50.0), 5, 0.05) == pytest.approx(allowance)
    assert ridge(with_eigenvalue(shift), 5, 0.05) == pytest.approx(allowance)
    assert ridge(with_eigenvalue(shift + 1), 5, 0.05) == pytest.approx(allowance - 1)
    assert ridge(with_eigenvalue(shift + allowance + 1), 5, 0.05) == 0.0


@pytest.mark.parametrize(("size", "rho"), [(1, 0.05), (2, 0.05), (2, 0.3), (5, 0.3)])
def test_the_noise_exceeds_the_allowance_with_less_than_the_stated_probability(size: int, rho: float) -> None:
    """N(0, 1) on the diagonal, variance 1/2 off it. Without the factor d the share would exceed rho."""
    half = np.random.default_rng(6).normal(size=(20_000, size, size))
    smallest = np.linalg.eigvalsh((half + half.transpose(0, 2, 1)) / 2)[:, 0]
    error = 4 * math.sqrt(rho / 20_000)
    assert np.mean(smallest < -math.sqrt(size * math.log(2 * size**2 / rho))) < rho + error
    if size == 5:
        assert np.mean(smallest < -math.sqrt(math.log(2 * size**2 / rho))) > rho + error


def test_another_formula_is_refused_and_the_same_one_in_other_words_is_not() -> None:
    release = released()
    again = point_estimate("stay ~ sex + ward + age", release)
    by_name = point_estimate(FORMULA, release).coefficients
    for term in again.terms:
        assert again.coefficients[term] == pytest.approx(by_name[term], rel=1e-8)
    others = ["stay ~ age", "stay ~ age + ward + sex - 1", "age ~ stay + ward + sex", "stay ~ age * ward + sex", "stay ~ height"]
    for other in others:
        with pytest.raises(FitError, match="its own formula") as refused:
            point_estimate(other, release)
        assert FORMULA in str(refused.value) and "kind gram" in (refused.value.remedy or "")


def test_methods_and_kinds_belong_together() -> None:
    assert method_for("adassp", "adassp").name == "adassp" and method_for("conditional", "gram").name == "conditional"
    with pytest.raises(FitError, check=about("method")):
        method_for("adassp", "gram")
    with pytest.raises(FitError, check=about("method")):
        method_for("collapsed", "adassp")


@pytest.mark.parametrize("rho", [0.0, 1.0, -1, float("nan"), "0.05", True])
def test_rho_is_a_probability(rho: Any) -> None:
    with pytest.raises(FitError, check=about("rho")):
        point_estimate(FORMULA, released(), rho)


def test_a_matrix_that_noise_has_ruined_is_said_to_be() -> None:
    release = released(epsilon=1.0)
    part = release.contributions[0]
    assert isinstance(part, AdasspContribution)
    ruined = part.matrix.copy()
    ruined[1, 1] = -1e5
    estimate = point_estimate(FORMULA, release.with_contributions((dataclasses.replace(part, matrix=ruined),)))
    assert "not positive definite" in estimate.diagnose()[0]
    assert point_estimate(FORMULA, release).diagnose() == []
    assert isinstance(estimate, PointEstimate)
