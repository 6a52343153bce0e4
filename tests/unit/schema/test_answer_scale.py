"""The numbers that parts are asked for: transforms, Bayes factors against numerical integration, and their scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from noisewise.schema.partition import hypothesis_statistic, log_bayes_factors, on_scale, transformed
from noisewise.schema.questions import BayesFactor, PosteriorProbability


def test_transforms() -> None:
    p = np.array([1e-320, 0.0, 1e-5, 0.3, 0.5, 1.0 - 1e-12, 1.0])
    plain, score, fisher = (transformed(p, PosteriorProbability("x", 0.0, how))
                            for how in ("rescaled-normal", "stouffer", "fisher"))
    np.testing.assert_array_equal(plain, p)
    np.testing.assert_allclose(score[2:-1], norm.ppf(p[2:-1]), atol=1e-12)
    np.testing.assert_allclose(fisher[2:], -2.0 * np.log(p[2:]), atol=1e-15)
    assert np.isfinite(score).all() and np.isfinite(fisher).all() and (np.diff(score) >= 0.0).all()


def density(prior: str, g: float, n: float) -> float:
    if prior == "zellner-siow":
        return math.sqrt(n / (2.0 * math.pi)) * g**-1.5 * math.exp(-n / (2.0 * g))
    return 0.5 * (1.0 + g) ** -1.5


def formula_one(r2: float, n: int, tested: int, kept: int, prior: str) -> float:
    """Paper 004: B = ∫ (1 + g)^((n − p0 − p)/2) (1 + g (1 − R²))^(−(n − p0)/2) pi(g) dg."""
    def log_given(g: float) -> float:
        return 0.5 * (n - kept - tested) * math.log1p(g) - 0.5 * (n - kept) * math.log1p(g * (1.0 - r2))

    if prior == "zellner":
        return log_given(n)
    top = max(log_given(math.exp(u)) for u in np.linspace(-5, 20, 200))
    value = quad(lambda u: math.exp(log_given(math.exp(u)) - top + u) * density(prior, math.exp(u), n), -15.0, 30.0, limit=400)
    return top + math.log(value[0])


@pytest.mark.parametrize("prior", ["zellner", "zellner-siow", "hyper-g"])
@pytest.mark.parametrize(("tested", "kept"), [(1, 1), (3, 2), (1, 0)])
def test_bayes_factors_by_numerical_integration(prior: str, tested: int, kept: int) -> None:
    r2 = np.array([0.0, 0.02, 0.3, 0.9])
    found = log_bayes_factors(1.0 - r2, np.array([25.0, 25.0, 60.0, 60.0]), tested, kept, prior)
    expected = [formula_one(one, n, tested, kept, prior) for one, n in zip(r2, (25, 25, 60, 60), strict=True)]
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_bayes_factors_of_very_many_parts_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(1)
    unexplained, rows = rng.uniform(0.5, 1.0, 20_000), np.full(20_000, 30.0)
    once = log_bayes_factors(unexplained, rows, 1, 2, "hyper-g")
    unexplained[-1], rows[-1] = 1e-12, 31.0
    assert np.array_equal(log_bayes_factors(unexplained, rows, 1, 2, "hyper-g")[:-1], once[:-1])


def test_too_few_rows_and_unknown_shares_say_nothing() -> None:
    with np.errstate(invalid="ignore"):
        found = hypothesis_statistic(BayesFactor("x"), np.array([0.5, np.nan, 0.5]), np.array([3.0, 30.0, 30.0]), 3)[0]
    assert found[0] == found[1] == 0.0 and found[2] > 1.0


def test_values_are_clipped_to_whole_steps() -> None:
    values = np.array([-np.inf, -3.0, -1.0, 0.0, 0.26, 1.0, 9.0, np.inf, np.nan])
    assert on_scale(values, (-1.0, 1.0), 4).tolist() == [0, 0, 0, 2, 3, 4, 4, 4, 2]
