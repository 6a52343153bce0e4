"""The one-dimensional integrals against Monte Carlo, against dense quadrature in all dimensions, and their accuracy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.unit.posterior.glm.made_laws import LAWS, Array, Law, direction

from noisewise.posterior.glm.expectations import NODES, WEIGHTS, Expectations

NORMS = [0.5, 3.0, 6.0]
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "logistic": lambda eta: np.tanh(eta / 2),
    "variance": lambda eta: 1 / np.cosh(eta / 2) ** 2,
    "uneven": lambda eta: np.exp(-0.1 * (eta - 1) ** 2),
}


def found(law: Law, theta: Array, function: Callable[[Array], Array]) -> tuple[float, Array, Array]:
    by_quadrature = Expectations.of(theta, *law, np)
    values = function(by_quadrature.eta)
    square = by_quadrature.square_from(by_quadrature.powers(values, 2), np)
    return by_quadrature.of_function(values, np), by_quadrature.with_row(values, np), square


def dense(law: Law, theta: Array, function: Callable[[Array], Array], nodes: int = 70) -> tuple[float, Array, Array]:
    """Sums over all cells and a product rule over all numbers."""
    numbers = np.flatnonzero(np.diag(law.covariance))
    root = np.linalg.cholesky(law.covariance[np.ix_(numbers, numbers)])
    line = np.linspace(-7.5, 7.5, nodes)
    weight = np.exp(-0.5 * line**2)
    grid, weights = (np.stack(np.meshgrid(*[axis] * len(numbers)), axis=-1).reshape(-1, len(numbers))
                     for axis in (line, weight / weight.sum()))
    weights = weights.prod(axis=1)
    total: list[Array] = [np.zeros(()), np.zeros(len(theta)), np.zeros((len(theta), len(theta)))]
    for probability, mean in zip(law.probabilities, law.means, strict=True):
        a = np.tile(mean, (len(grid), 1))
        a[:, numbers] += grid @ root.T
        g = probability * weights * function(a @ theta)
        total = [total[0] + g.sum(), total[1] + g @ a, total[2] + (a.T * g) @ a]
    return float(total[0]), total[1], total[2]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_integrals_are_those_of_dense_quadrature(function: str, law: str, norm: float) -> None:
    theta = direction(LAWS[law], norm)
    ours = found(LAWS[law], theta, FUNCTIONS[function])
    for one, other in zip(ours, dense(LAWS[law], theta, FUNCTIONS[function]), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)
    assert np.abs(ours[2] - found(LAWS[law], 1.01 * theta, FUNCTIONS[function])[2]).max() > 2e-5  # so much would be seen


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("law", LAWS)
def test_the_integrals_are_those_of_rows(law: str, norm: float) -> None:
    theta = direction(LAWS[law], norm)
    a = LAWS[law].rows(np.random.default_rng(1), 200_000)
    for function in FUNCTIONS.values():
        g = function(a @ theta)
        each = np.column_stack([g, g[:, None] * a, (g[:, None, None] * a[:, :, None] * a[:, None]).reshape(len(a), -1)])
        value, row, square = found(LAWS[law], theta, function)
        error = each.std(axis=0) / np.sqrt(len(a)) + 1e-12
        z = (each.mean(axis=0) - np.concatenate([[value], row, square.ravel()])) / error
        assert np.abs(z).max() < 4.5


def test_the_moments_of_a_row_are_kept() -> None:
    """With g = 1 and g = η."""
    law = LAWS["mixed"]
    theta = direction(law, 3.0)
    second = (law.means.T * law.probabilities) @ law.means + law.covariance
    assert found(law, theta, np.ones_like)[0] == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found(law, theta, np.ones_like)[2], second, atol=1e-12)
    np.testing.assert_allclose(found(law, theta, lambda eta: eta)[1], second @ theta, atol=1e-6)


def logistic_moments(nodes: Array, weights: Array, mu: float, tau: float) -> Array:
    return (weights * np.tanh((mu + tau * nodes) / 2)) @ nodes[:, None] ** np.arange(4)


def fine_rule() -> tuple[Array, Array]:
    nodes = np.linspace(-9.0, 9.0, 4001)
    return nodes, np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()


@pytest.mark.parametrize("tau", [1e-3, 1.0, 6.0, 10.0])
def test_the_nodes_are_dense_enough(tau: float) -> None:
    for mu in np.linspace(-5, 5, 23):
        np.testing.assert_allclose(logistic_moments(NODES, WEIGHTS, mu, tau), logistic_moments(*fine_rule(), mu, tau), atol=1e-6)


def test_a_gauss_hermite_rule_of_41_nodes_is_not() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    weights = weights / weights.sum()
    for tau, least in ((6.0, 1e-4), (10.0, 1e-3)):
        worst = max(np.abs(logistic_moments(nodes, weights, mu, tau) - logistic_moments(*fine_rule(), mu, tau)).max()
                    for mu in np.linspace(-5, 5, 23))
        assert worst > least


def test_coefficients_of_zero_divide_nothing_by_zero() -> None:
    value, row, square = found(LAWS["mixed"], np.zeros(5), np.tanh)
    assert np.isfinite(square).all() and abs(value) < 1e-12 and np.abs(row).max() < 1e-2
