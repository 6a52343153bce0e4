"""Bayes factors of exact tables against closed forms and numerical integrals with many digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from tests.refusals import about

from noisewise.errors import FitError
from noisewise.schema.bayes_factors import check_prior, exact_log_bayes_factors, information_criterion

CASES = [(30, 2, 0.9), (200, 1, 0.999), (200, 5, 0.4), (200, 50, 0.3), (73_800, 8, 0.984), (73_800, 1, 0.99999),
         (10**6, 100, 0.5), (10**6, 3, 1e-3)]
"""Rows, columns and 1 − R²."""


def bayes_factor(name: str, rows: int, columns: int, unexplained: float) -> float:
    return float(exact_log_bayes_factors(np.array([unexplained]), np.array([columns]), rows - 1.0, float(rows), name)[0])


def log_integral(rows: int, columns: int, unexplained: float) -> float:
    """Equation (1) of paper 004 with g ~ inverse gamma(½, n/2), in t = log g."""
    n = mpmath.mpf(rows)

    def log_integrand(t: mpmath.mpf) -> mpmath.mpf:
        g = mpmath.exp(t)
        return ((n - 1 - columns) / 2 * mpmath.log1p(g) - (n - 1) / 2 * mpmath.log1p(g * unexplained)
                + mpmath.log(n / (2 * mpmath.pi)) / 2 - t / 2 - n / (2 * g))

    with mpmath.workdps(30):
        grid = np.linspace(math.log(rows) - 12.0, math.log(rows) + 40.0, 521)
        top = max(log_integrand(mpmath.mpf(t)) for t in grid)
        value = mpmath.quad(lambda t: mpmath.exp(log_integrand(t) - top), mpmath.linspace(grid[0], grid[-1], 53))
        return float(top + mpmath.log(value))


@pytest.mark.parametrize(("rows", "columns", "unexplained"), CASES)
def test_zellner_siow_against_thirty_digits(rows: int, columns: int, unexplained: float) -> None:
    assert bayes_factor("zellner-siow", rows, columns, unexplained) == pytest.approx(log_integral(rows, columns, unexplained),
                                                                                     rel=1e-9, abs=2e-6)


@pytest.mark.parametrize(("rows", "columns", "unexplained"), CASES)
def test_hyper_g_against_its_closed_form(rows: int, columns: int, unexplained: float) -> None:
    """Liang et al. (2008), equation (17): (a − 2)/(p + a − 2) ₂F₁((n−1)/2, 1; (p + a)/2; R²), a = 3."""
    closed = mpmath.hyp2f1(mpmath.mpf(rows - 1) / 2, 1, mpmath.mpf(columns + 3) / 2, 1 - mpmath.mpf(unexplained))
    expected = float(mpmath.log(closed / (columns + 1)))
    assert bayes_factor("hyper-g", rows, columns, unexplained) == pytest.approx(expected, rel=1e-9, abs=2e-6)


@pytest.mark.parametrize(("rows", "columns", "unexplained"), CASES)
def test_zellner_with_g_equal_n(rows: int, columns: int, unexplained: float) -> None:
    expected = (rows - 1 - columns) / 2 * math.log(1 + rows) - (rows - 1) / 2 * math.log(1 + rows * unexplained)
    assert bayes_factor("zellner", rows, columns, unexplained) == pytest.approx(expected, rel=1e-12)


@pytest.mark.outer
@pytest.mark.parametrize(("rows", "columns", "unexplained"), CASES)
def test_laplace_is_near_the_integral_and_not_equal_to_it(rows: int, columns: int, unexplained: float) -> None:
    gap = bayes_factor("zellner-siow-laplace", rows, columns, unexplained) - log_integral(rows, columns, unexplained)
    assert 1e-5 < abs(gap) < 0.35 / columns


def test_criteria() -> None:
    unexplained, columns = np.array([1.0, 0.9]), np.array([0, 3])
    gain = -25 * math.log(0.9)
    assert information_criterion("bic", unexplained, columns, 50.0) == pytest.approx([0.0, gain - 1.5 * math.log(50)])
    assert information_criterion("aic", unexplained, columns, 50.0) == pytest.approx([0.0, gain - 3.0])


@pytest.mark.parametrize("prior", ["zellner-siow", "zellner", "hyper-g", "zellner-siow-laplace"])
@pytest.mark.parametrize(("rows", "least"), [(40, 0.05), (50_000, 0.5), (10**6, 1e-3)])
def test_many_models_are_interpolated_without_loss(prior: str, rows: int, least: float) -> None:
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 12, size=20_000)
    unexplained = np.where(rng.uniform(size=20_000) < 0.5, rng.uniform(least, 1.0, size=20_000),
                           1.0 - rng.exponential(5.0 / rows, size=20_000).clip(0.0, 1.0 - least))
    unexplained[columns == 0] = 1.0
    many = exact_log_bayes_factors(unexplained, columns, rows - 1.0, float(rows), prior)
    few = exact_log_bayes_factors(unexplained[:500], columns[:500], rows - 1.0, float(rows), prior)
    assert many[:500] == pytest.approx(few, rel=1e-9, abs=2e-6)


def test_unknown_priors_are_refused() -> None:
    with pytest.raises(FitError, check=about("prior")):
        check_prior("ridge")
