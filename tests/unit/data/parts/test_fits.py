"""Regressions of many parts at once against plain ones, part by part."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import invgamma, norm
from scipy.stats import t as student
from tests.unit.data.parts.part_tables import made, moments

from noisewise.data.parts.fits import fit_parts, unexplained_shares
from noisewise.schema.partition import PartPrior

Array = npt.NDArray[np.float64]

TERMS = ("Intercept", "x", "w")
ZELLNER = PartPrior("zellner", g=50.0)
CONJUGATE = PartPrior("normal-inverse-gamma", scale=0.7, shape=2.0, rate=3.0)


def plain(x: Array, y: Array, prior: PartPrior, weight: float, parts: int) -> tuple[Array, Array, float]:
    """Location, scale matrix and degrees of freedom from the rows, with matrices that are written down one by one."""
    share, (rows, size) = weight / parts, x.shape
    centred = x[:, 1:] - x[:, 1:].mean(axis=0)
    known = np.zeros((size, size))
    if prior.name == "zellner":
        known[1:, 1:] = weight * centred.T @ centred / prior.g
    elif prior.name == "normal-inverse-gamma":
        known[1:, 1:] = share * np.eye(size - 1) / prior.scale**2
    precision = weight * x.T @ x + known
    location = np.linalg.solve(precision, weight * x.T @ y)
    residual = y - x @ location
    rest = weight * residual @ residual + location @ known @ location
    degrees = weight * rows - size
    if prior.name != "flat":
        degrees += share * (size - 1)
    if prior.name == "normal-inverse-gamma":
        rest, degrees = rest + 2 * prior.rate * share, degrees + 2 * prior.shape * share
    return location, rest / degrees * np.linalg.inv(precision), degrees


@pytest.mark.parametrize("prior", [PartPrior(), ZELLNER, CONJUGATE], ids=lambda prior: prior.name)
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_all_parts_are_fitted_as_one_by_one(prior: PartPrior, weight: float) -> None:
    tables = made()
    fits = fit_parts(*moments(tables), TERMS, prior, weight=weight)
    contrast = np.array([0.5, 1.0, -2.0])
    location, scale = fits.combination(contrast)
    for part, (x, y) in enumerate(tables):
        expected, spread, degrees = plain(x, y, prior, weight, len(tables))
        np.testing.assert_allclose(fits.location[part], expected, rtol=1e-10)
        assert location[part] == pytest.approx(contrast @ expected, rel=1e-10)
        assert scale[part] == pytest.approx(np.sqrt(contrast @ spread @ contrast), rel=1e-10)
        assert fits.degrees[part] == pytest.approx(degrees)
    assert fits.usable.all()


def test_a_flat_prior_gives_least_squares() -> None:
    [(x, y)] = made(parts=1)
    fits = fit_parts(*moments([(x, y)]), TERMS, PartPrior())
    expected, (rest,), _, _ = np.linalg.lstsq(x, y, rcond=None)
    np.testing.assert_allclose(fits.location[0], expected, rtol=1e-10)
    _, scale = fits.combination(np.array([0.0, 1.0, 0.0]))
    assert scale[0] == pytest.approx(np.sqrt(rest / (len(y) - 3) * np.linalg.inv(x.T @ x)[1, 1]))


@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_the_powered_posterior_is_that_of_brute_force(weight: float) -> None:
    """One slope without an intercept: likelihood to the power of the weight times the prior, integrated over sigma² on a grid."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=6)
    y = 0.8 * x + rng.normal(size=6)
    parts = 4
    fits = fit_parts(np.full(parts, 6.0), np.tile([[x @ x, x @ y], [x @ y, y @ y]], (parts, 1, 1)), np.zeros((parts, 2)),
                     ("x",), CONJUGATE, weight=weight)
    share = weight / parts

    slopes, log_variance = np.linspace(-6.0, 8.0, 5601)[:, None], np.linspace(-8.0, 12.0, 401)
    variance = np.exp(log_variance)
    sse = np.sum((y - slopes * x) ** 2, axis=1)[:, None]
    likelihood = -0.5 * len(y) * log_variance - 0.5 * sse / variance
    prior = norm.logpdf(slopes, 0.0, CONJUGATE.scale * np.sqrt(variance)) + invgamma.logpdf(
        variance, CONJUGATE.shape, scale=CONJUGATE.rate) + log_variance  # relative to 1/sigma², the density of the grid
    logarithm = weight * likelihood + share * prior
    density = np.exp(logarithm - logarithm.max()).sum(axis=1)
    below = np.cumsum(density) - density / 2
    location, scale = fits.combination(np.array([1.0]))
    expected = student.cdf(slopes[:, 0], fits.degrees[0], location[0], scale[0])
    np.testing.assert_allclose(below / density.sum(), expected, atol=2e-5)


def test_an_intercept_in_the_users_units_with_years_and_large_offsets() -> None:
    """Shifted columns; without a shift the digits of y = 1e9 + … are lost."""
    rng = np.random.default_rng(4)
    year, noise = 2000 + rng.integers(0, 20, 200), rng.normal(size=200)
    x = np.column_stack([np.ones(200), year])
    y = 1e6 - 3.0 * year + noise
    shift = np.array([[0.0, 2003.0, 9.9e5]])
    fits = fit_parts(*moments([(x, y)], shift), ("Intercept", "year"), PartPrior())
    moved = np.column_stack([np.ones(200), year - 2010.0])
    estimate, (rest,), _, _ = np.linalg.lstsq(moved, y - 9.9e5, rcond=None)
    spread = rest / 198 * np.linalg.inv(moved.T @ moved)
    for contrast in (np.array([1.0, 0.0]), np.array([1.0, 2020.0]), np.array([-2.0, 1.0])):
        turned = np.array([contrast[0], contrast[1] - 2010.0 * contrast[0]])
        location, scale = fits.combination(contrast)
        assert location[0] == pytest.approx(turned @ estimate + contrast[0] * 9.9e5, abs=1e-5)
        assert scale[0] == pytest.approx(np.sqrt(turned @ spread @ turned), rel=1e-6)


def unusable(name: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    y = rng.normal(size=30)
    if name == "few rows":
        return x[:3], y[:3]
    if name == "no rows":
        return x[:0], y[:0]
    if name == "singular":
        x[:, 2] = 3.0 * x[:, 1] + 1.0
    if name == "constant":
        x[:, 1] = 7.0
    if name == "overflow":
        x[:, 1] *= 1e200
    if name == "infinite":
        y[3] = np.inf
    if name == "perfect":
        y = x @ [1.0, 2.0, 3.0]
    if name == "zero":
        y = np.zeros(30)
    return x, y


@pytest.mark.parametrize("prior", [PartPrior(), ZELLNER, CONJUGATE], ids=lambda prior: prior.name)
@pytest.mark.parametrize("name", ["few rows", "no rows", "singular", "constant", "overflow", "infinite", "perfect", "zero"])
def test_a_part_that_cannot_be_fitted_is_marked_and_does_not_touch_the_others(name: str, prior: PartPrior) -> None:
    good = made(parts=2)
    with np.errstate(all="ignore"):
        fits = fit_parts(*moments([good[0], unusable(name), good[1]]), TERMS, prior)
        alone = fit_parts(*moments([good[0], made(parts=1, seed=9)[0], good[1]]), TERMS, prior)
    fine = {"normal-inverse-gamma": ("perfect",), "zellner": ("perfect",), "flat": ()}[prior.name]  # by their prior
    assert fits.usable.tolist() == [True, name in ("constant", "singular", *fine), True]
    assert np.isfinite(fits.location).all() and np.isfinite(fits.spread).all()
    for found, expected in ((fits.location, alone.location), (fits.spread, alone.spread), (fits.rest, alone.rest)):
        assert np.array_equal(found[[0, 2]], expected[[0, 2]])


@pytest.mark.parametrize("prior", [PartPrior(), ZELLNER], ids=lambda prior: prior.name)
def test_columns_that_follow_from_one_another_leave_the_other_coefficients_as_they_are(prior: PartPrior) -> None:
    """A constant column is the intercept again: its slope is unknown, that of the other column is not."""
    x, y = unusable("constant")
    with np.errstate(all="ignore"):
        fits = fit_parts(*moments([(x, y)]), TERMS, prior)
        without = fit_parts(*moments([(x[:, [0, 2]], y)]), (TERMS[0], TERMS[2]), prior)
    known, scale = fits.combination(np.array([0.0, 0.0, 1.0]))
    expected, expected_scale = without.combination(np.array([0.0, 1.0]))
    assert known[0] == pytest.approx(expected[0], rel=1e-9) and scale[0] == pytest.approx(expected_scale[0], rel=1e-6)
    for unknown in ([0.0, 1.0, 0.0], [0.0, 1.0, 1.0]):
        assert np.isnan(fits.combination(np.array(unknown))[0][0])
    if prior.name == "flat":
        share = unexplained_shares(fits, np.array([[0.0, 0.0, 1.0]]))
        assert share[0] == pytest.approx(unexplained_shares(without, np.array([[0.0, 1.0]]))[0], rel=1e-9)
        assert np.isnan(unexplained_shares(fits, np.array([[0.0, 1.0, 0.0]]))[0])


@pytest.mark.parametrize("hypothesis", [[[0, 1, 0]], [[0, 1, 0], [0, 0, 1]], [[0, 1, -2]], [[0, 1, 1], [0, 2, -1]]])
def test_what_is_left_unexplained_against_the_reparametrised_model(hypothesis: list[list[float]]) -> None:
    tables = made()
    contrasts = np.array(hypothesis, dtype=float)
    found = unexplained_shares(fit_parts(*moments(tables), TERMS, PartPrior()), contrasts)
    _, _, rows = np.linalg.svd(contrasts)
    free = rows[len(contrasts):]  # C beta = 0 means beta = free' theta
    for part, (x, y) in enumerate(tables):
        full = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        restricted = y - x @ free.T @ np.linalg.lstsq(x @ free.T, y, rcond=None)[0]
        assert found[part] == pytest.approx(full @ full / (restricted @ restricted), rel=1e-9)


def test_unusable_parts_explain_nothing_known() -> None:
    with np.errstate(all="ignore"):
        fits = fit_parts(*moments([made(parts=1)[0], unusable("singular")]), TERMS, PartPrior())
    assert np.isnan(unexplained_shares(fits, np.array([[0.0, 1.0, 0.0]]))).tolist() == [False, True]
