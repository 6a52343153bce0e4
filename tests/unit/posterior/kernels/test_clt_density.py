"""The O(d³) central-limit density against the O(d⁶) one it stands for, in double and in 60-digit precision."""

from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from numpy.typing import NDArray

from noisewise.posterior.kernels.clt_density import clt_log_density, dense_covariance
from noisewise.posterior.kernels.jax_setup import double_precision

Array = NDArray[np.float64]
ROWS = 700.0


def second_moments(generator: np.random.Generator, size: int, centred: bool) -> Array:
    """E[aaᵀ] of rows a = (1, w), w normal."""
    mean = np.zeros(size - 1) if centred else generator.normal(size=size - 1)
    factor = generator.normal(size=(size - 1, size - 1)) * 0.4 + 0.5 * np.eye(size - 1)
    a = np.ones((size, size))
    a[0, 1:] = a[1:, 0] = mean
    a[1:, 1:] = factor @ factor.T + np.outer(mean, mean)
    return a


def released(generator: np.random.Generator, a: Array, rows: float, sd: float, corner: bool) -> Array:
    """A matrix that could have been released: near rows·a, with or without noise in the corner."""
    size = len(a)
    error = generator.normal(size=(size, size)) * np.sqrt(rows)
    matrix = np.asarray(rows * a + (error + error.T) / 2)
    matrix[0, 0] = rows + (sd * generator.normal() if corner else 0.0)
    return matrix


def dense_density(a: Array, rows: float, noise: float, matrix: Array, corner: bool) -> Any:
    """The normal log density of the upper triangle, entry by entry, with 60 digits; an exact corner is no observation."""
    size = len(a)
    pairs = [(i, j) for i in range(size) for j in range(i, size) if corner or j > 0]
    with mpmath.workdps(60):
        moments = mpmath.matrix(a.tolist())
        n, s2 = mpmath.mpf(rows), mpmath.mpf(noise)
        mean = [moments[0, i] for i in range(size)]
        covariance = mpmath.matrix(len(pairs), len(pairs))
        for row, (i, j) in enumerate(pairs):
            for column, (k, m) in enumerate(pairs):
                # Isserlis for the normal part; the constant column has no fourth moment of its own, hence the last term.
                entry = moments[i, k] * moments[j, m] + moments[i, m] * moments[j, k] - 2 * mean[i] * mean[j] * mean[k] * mean[m]
                covariance[row, column] = n * entry
            covariance[row, row] += s2 if i == j else s2 / 2
        residual = mpmath.matrix([mpmath.mpf(float(matrix[i, j])) - n * moments[i, j] for i, j in pairs])
        lower = mpmath.cholesky(covariance)
        standard = mpmath.lu_solve(lower, residual)
        return -sum(x**2 for x in standard) / 2 - sum(mpmath.log(lower[i, i]) for i in range(len(pairs)))


def fast_density(a: Array, rows: float, noise: float, matrix: Array) -> float:
    with double_precision():
        return float(clt_log_density()(*(np.asarray(value, dtype=float) for value in (a, rows, noise, matrix))))


@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
@pytest.mark.parametrize("centred", [True, False], ids=["centred", "not centred"])
@pytest.mark.parametrize("sd", [1e-6, 1.0, 40.0])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_differences_equal_those_of_the_dense_density(size: int, sd: float, centred: bool, corner: bool) -> None:
    generator = np.random.default_rng([size, centred, corner])
    first, second = second_moments(generator, size, centred), second_moments(generator, size, centred)
    matrix = released(generator, first, ROWS, sd, corner)
    fast = fast_density(second, ROWS, sd**2, matrix) - fast_density(first, ROWS, sd**2, matrix)
    dense = dense_density(second, ROWS, sd**2, matrix, corner) - dense_density(first, ROWS, sd**2, matrix, corner)
    scale = abs(dense_density(first, ROWS, sd**2, matrix, corner)) + abs(float(dense))
    assert fast == pytest.approx(float(dense), rel=1e-9, abs=1e-12 * float(scale))


def test_the_number_of_rows_enters_as_in_the_dense_density() -> None:
    generator = np.random.default_rng(17)
    a = second_moments(generator, 4, False)
    matrix = released(generator, a, ROWS, 5.0, True)
    fast = fast_density(a, ROWS + 9, 25.0, matrix) - fast_density(a, ROWS, 25.0, matrix)
    dense = dense_density(a, ROWS + 9, 25.0, matrix, True) - dense_density(a, ROWS, 25.0, matrix, True)
    assert fast == pytest.approx(float(dense), rel=1e-9)


def test_leaving_out_the_rank_one_term_would_be_noticed() -> None:
    """Bernstein and Sheldon's covariance of rows without a constant, used for rows with one."""
    generator = np.random.default_rng(18)
    first, second = second_moments(generator, 3, False), second_moments(generator, 3, False)
    matrix = released(generator, first, ROWS, 1.0, True)
    i, j = np.triu_indices(3)

    def without(a: Array) -> float:
        covariance = ROWS * (a[i][:, i] * a[j][:, j] + a[i][:, j] * a[j][:, i]) + np.diag(np.where(i == j, 1.0, 0.5))
        residual = (matrix - ROWS * a)[i, j]
        return float(-0.5 * residual @ np.linalg.solve(covariance, residual) - 0.5 * np.linalg.slogdet(covariance)[1])

    right = fast_density(second, ROWS, 1.0, matrix) - fast_density(first, ROWS, 1.0, matrix)
    assert abs(without(second) - without(first) - right) > 0.1


def test_the_covariance_of_products_agrees_with_simulation() -> None:
    generator = np.random.default_rng(19)
    size, count = 4, 400_000
    a = second_moments(generator, size, False)
    i, j = np.triu_indices(size)
    factor = np.linalg.cholesky(a[1:, 1:] - np.outer(a[0, 1:], a[0, 1:]))
    w = a[0, 1:] + generator.normal(size=(count, size - 1)) @ factor.T
    rows = np.column_stack([np.ones(count), w])
    products = rows[:, i] * rows[:, j] - a[i, j]
    # Second moments of the products have a standard error of their own; 100 correlated comparisons, |z| < 5.5.
    squares = np.einsum("np,nq->pq", products**2, products**2) / count
    moments = products.T @ products / count
    error = np.sqrt(np.maximum(squares - moments**2, 0.0) / count)
    known = dense_covariance(a, 1.0, np)
    assert np.all(np.abs(known[0]) < 1e-12)  # the constant does not vary
    z = ((moments - known)[1:, 1:]) / error[1:, 1:]
    assert np.abs(z).max() < 5.5
    means = a[0][i] * a[0][j]
    z_without = ((moments - known - 2.0 * np.outer(means, means))[1:, 1:]) / error[1:, 1:]
    assert np.abs(z_without).max() > 20.0


def symmetric_directions(size: int) -> list[Array]:
    result = []
    for i, j in zip(*np.triu_indices(size), strict=True):
        direction = np.zeros((size, size))
        direction[i, j] = direction[j, i] = 1.0
        result.append(direction)
    return result


GRADIENT_CASES = {
    "general": (second_moments(np.random.default_rng(23), 4, False), True),
    "exact rows": (second_moments(np.random.default_rng(24), 4, False), False),
    "equal eigenvalues": (np.eye(4), True),
    "two equal eigenvalues": (np.diag([1.0, 0.5, 0.5, 2.0]), False),
}


@pytest.mark.parametrize("case", GRADIENT_CASES)
def test_the_gradient_rule_agrees_with_differences(case: str) -> None:
    import jax

    a, corner = GRADIENT_CASES[case]
    generator = np.random.default_rng(29)
    matrix = released(generator, a, ROWS, 6.0, corner)
    with double_precision():
        by_a, by_rows = map(np.asarray, jax.grad(clt_log_density(), argnums=(0, 1))(a, ROWS, 36.0, matrix))
    assert np.array_equal(by_a, by_a.T)

    def differences(function: Any, step: float) -> float:
        coarse = (function(2 * step) - function(-2 * step)) / (4 * step)
        return float((4 * (function(step) - function(-step)) / (2 * step) - coarse) / 3)

    size = float(np.abs(by_a).max())
    for direction in symmetric_directions(4):
        expected = differences(lambda t, direction=direction: fast_density(a + t * direction, ROWS, 36.0, matrix), 1e-4)
        assert float(np.sum(by_a * direction)) == pytest.approx(expected, rel=1e-6, abs=1e-6 * size)
    expected = differences(lambda t: fast_density(a, ROWS + t, 36.0, matrix), 0.05)
    assert float(by_rows) == pytest.approx(expected, rel=1e-6)


@pytest.mark.outer
def test_differentiating_the_eigendecomposition_would_fail_where_eigenvalues_are_equal() -> None:
    import jax
    import jax.numpy as jnp

    matrix = released(np.random.default_rng(30), np.eye(4), ROWS, 6.0, True)

    def plain(a: Any) -> Any:
        values, q = jnp.linalg.eigh(a)
        d = 2.0 * ROWS * values[:, None] * values[None, :] + 36.0
        return jnp.sum((q.T @ (matrix - ROWS * a) @ q) ** 2 / d)

    with double_precision():
        assert not np.isfinite(np.asarray(jax.grad(plain)(np.eye(4)))).all()
        assert np.isfinite(np.asarray(jax.grad(clt_log_density())(np.eye(4), ROWS, 36.0, matrix))).all()
