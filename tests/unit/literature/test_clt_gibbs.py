"""Bernstein and Sheldon's sampler: its O(d³) draw against the dense one, and the posterior that the chain goes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.refusals import about
from tests.unit.posterior.noisy_matrices import gaussian, laplace, made_part, made_regression

from noisewise.errors import FitError
from noisewise.literature.clt_gibbs import GibbsModel, clt_gibbs, sample_gibbs
from noisewise.literature.kernels.clt_conditional import gram_given_noisy, rows_information, rows_log_density, symmetric_normal
from noisewise.literature.kernels.clt_gibbs_chain import State, Variant, draw_matrices, gibbs_chain, second_moments
from noisewise.literature.normal_features import FeaturePrior
from noisewise.literature.statistics import HalfNormal, HolderStatistics, InverseGamma, LinearProblem
from noisewise.posterior.kernels.clt_density import clt_log_density
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.methods import METHODS
from noisewise.posterior.request import Request

Array = NDArray[np.float64]
ROWS = 700.0


# The dense oracle: D×D matrices over the entries i ≤ j.


def triangle(size: int) -> tuple[Any, Any, Array]:
    i, j = np.triu_indices(size)
    return i, j, np.where(i == j, 1.0, 0.5)


def dense_prior(a: Array, rows: float, constant: bool) -> Array:
    """rows · Cov(aaᵀ): Isserlis, and minus the square of the means' products where the rows have a constant."""
    i, j, _ = triangle(len(a))
    covariance = a[i][:, i] * a[j][:, j] + a[i][:, j] * a[j][:, i]
    means = a[0][i] * a[0][j] * constant
    return np.asarray(rows * (covariance - 2.0 * np.outer(means, means)))


def dense_conditional(a: Array, rows: float, noise: Array, matrix: Array, constant: bool) -> tuple[Array, Array]:
    """Mean and covariance of the exact entries given the noisy ones; ``noise`` has a variance for each entry.

    With 50 digits: the covariance is a small difference of large matrices if the noise is small.
    """
    i, j, _ = triangle(len(a))
    first = int(constant)  # with a constant the corner does not vary, and its noise says nothing
    with mpmath.workdps(50):
        moments = mpmath.matrix(a.tolist())
        size = len(i) - first
        prior = mpmath.matrix(size, size)
        for row in range(size):
            for column in range(size):
                k, m, p, q = i[row + first], j[row + first], i[column + first], j[column + first]
                entry = moments[k, p] * moments[m, q] + moments[k, q] * moments[m, p]
                if constant:
                    entry -= 2 * moments[0, k] * moments[0, m] * moments[0, p] * moments[0, q]
                prior[row, column] = mpmath.mpf(rows) * entry
        gain = prior * mpmath.inverse(prior + mpmath.diag([mpmath.mpf(float(one)) for one in noise[first:]]))
        shift = gain * mpmath.matrix((matrix - rows * a)[i, j][first:].tolist())
        posterior = prior - gain * prior
        mean, covariance = rows * a[i, j], np.zeros((len(i), len(i)))
        mean[first:] += np.array([float(one) for one in shift])
        covariance[first:, first:] = np.array(posterior.tolist(), dtype=float)
    return mean, covariance


def moments_of_rows(generator: np.random.Generator, size: int, constant: bool) -> Array:
    factor = generator.normal(size=(size, size)) * 0.4 + 0.5 * np.eye(size)
    a = factor @ factor.T
    if constant:
        mean = generator.normal(size=size - 1)
        a[0, 0], a[0, 1:], a[1:, 0] = 1.0, mean, mean
        a[1:, 1:] += np.outer(mean, mean)
    return np.asarray(a)


def noisy_matrix(generator: np.random.Generator, a: Array, sd: float, corner: bool) -> Array:
    error = generator.normal(size=a.shape) * (np.sqrt(ROWS) + sd)
    matrix = np.asarray(ROWS * a + (error + error.T) / 2)
    if not corner:
        matrix[0, 0] = ROWS
    return matrix


def fast_draw(a: Array, noise: float, matrix: Array, standard: Any, constant: bool, rows: float = ROWS) -> Array:
    """``gram_given_noisy`` in the original basis; ``standard`` may be a stack."""
    import jax

    values, vectors = np.linalg.eigh(a)
    draw = jax.vmap(gram_given_noisy, in_axes=(None, None, None, None, None, 0, None))
    rotated = draw(values, vectors, rows, noise, vectors.T @ matrix @ vectors, vectors.T @ standard @ vectors, constant)
    return np.asarray(vectors @ np.asarray(rotated) @ vectors.T)


def fast_conditional(a: Array, noise: float, matrix: Array, constant: bool, rows: float = ROWS) -> tuple[Array, Array]:
    """Mean and covariance from the images of 0 and of a basis of the standard normal matrices."""
    i, j, _ = triangle(len(a))
    basis = np.zeros((len(i) + 1, len(a), len(a)))
    basis[np.arange(1, len(i) + 1), i, j] = basis[np.arange(1, len(i) + 1), j, i] = np.where(i == j, 1.0, np.sqrt(0.5))
    with double_precision():
        images = fast_draw(a, noise, matrix, basis, constant, rows)[:, i, j]
    return images[0], (images[1:] - images[0]).T @ (images[1:] - images[0])


@pytest.mark.parametrize("constant", [False, True], ids=["no constant", "constant"])
@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
@pytest.mark.parametrize("sd", [0.3, 10.0, 300.0])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_mean_and_covariance_equal_those_of_the_dense_conditional(size: int, sd: float, corner: bool, constant: bool) -> None:
    generator = np.random.default_rng([size, corner, constant])
    a = moments_of_rows(generator, size, constant)
    matrix = noisy_matrix(generator, a, sd, corner or not constant)
    noise = sd**2 * triangle(size)[2]
    noise[0] *= corner or not constant
    mean, covariance = dense_conditional(a, ROWS, noise, matrix, constant)
    fast_mean, fast_covariance = fast_conditional(a, sd**2, matrix, constant)
    assert np.allclose(fast_mean, mean, rtol=1e-8, atol=1e-8 * np.abs(mean).max())
    assert np.allclose(fast_covariance, covariance, rtol=1e-8, atol=1e-8 * np.abs(covariance).max())
    if constant:
        assert fast_mean[0] == pytest.approx(ROWS, rel=1e-12)
        assert np.abs(fast_covariance[0]).max() < 1e-10 * covariance.max()


def test_draws_have_the_dense_conditional_and_not_the_one_without_the_rank_one_term() -> None:
    import jax

    generator = np.random.default_rng(5)
    a, sd, count = moments_of_rows(generator, 4, True), 15.0, 20_000
    matrix = noisy_matrix(generator, a, sd, False)
    i, j, half = triangle(4)
    mean, covariance = dense_conditional(a, ROWS, sd**2 * half * (np.arange(len(i)) > 0), matrix, True)
    with double_precision():
        standard = symmetric_normal(jax.random.key(1), (count, 4, 4))
        right, wrong = (fast_draw(a, sd**2, matrix, np.asarray(standard), constant) for constant in (True, False))
    # Without the corner, which does not vary, the squared lengths of standardised draws are χ² with 9 degrees of freedom.
    lower = np.linalg.cholesky(covariance[1:, 1:])

    def p_value(draws: Array) -> float:
        z = np.linalg.solve(lower, (draws[:, i, j] - mean)[:, 1:].T)
        return float(stats.kstest(np.sum(z**2, axis=0), "chi2", args=(len(i) - 1,)).pvalue)

    assert p_value(right) > 1e-3
    assert p_value(wrong) < 1e-9
    assert np.allclose(right[:, 0, 0], ROWS, rtol=1e-12)


def test_without_noise_the_matrix_is_the_released_one() -> None:
    generator = np.random.default_rng(6)
    for constant in (False, True):
        a = moments_of_rows(generator, 5, constant)
        matrix = noisy_matrix(generator, a, 0.0, False)
        for sd in (0.0, 1e-9):
            mean, covariance = fast_conditional(a, sd**2, matrix, constant)
            assert np.allclose(mean, matrix[np.triu_indices(5)], rtol=1e-12)
            assert np.sqrt(np.abs(covariance).max()) <= 1.01 * sd


def test_the_number_of_rows_has_the_density_of_the_collapsed_model() -> None:
    generator = np.random.default_rng(7)
    a, sd = moments_of_rows(generator, 4, True), 20.0
    matrix = noisy_matrix(generator, a, sd, True)
    values, vectors = np.linalg.eigh(a)
    rotated = vectors.T @ matrix @ vectors
    with double_precision():
        ours = [float(rows_log_density(values, vectors, rows, sd**2, rotated)) for rows in (ROWS, ROWS + 31.0)]
        known = [float(clt_log_density()(a, rows, sd**2, matrix)) for rows in (ROWS, ROWS + 31.0)]
        information = float(rows_information(values, vectors, ROWS, sd**2))
    assert ours[1] - ours[0] == pytest.approx(known[1] - known[0], rel=1e-9)
    entries = a[np.triu_indices(4)]
    covariance = dense_prior(a, ROWS, True) + sd**2 * np.diag(triangle(4)[2])
    assert information == pytest.approx(float(entries @ np.linalg.solve(covariance, entries)), rel=1e-9)


# The chain: if parameters and data come from the model, then iterations given the data leave their joint law as it is.


@dataclass(frozen=True)
class Truths:
    """Parameters drawn from the prior, and exact Gram matrices of tables drawn with them: one for each replicate."""

    problem: LinearProblem
    features: FeaturePrior
    state: tuple[Array, ...]
    exact: Array


def drawn_truths(generator: np.random.Generator, rows: Array, constant: bool, replicates: int) -> Truths:
    """Two predictors; the holders' tables are truly normal, so their Gram matrices are Wishart and not just nearly normal."""
    features = FeaturePrior(0.5 * np.eye(2), 8.0, 1.5)
    size = 3 if constant else 2
    effects = np.eye(size) + 0.2
    problem = LinearProblem(
        HolderStatistics(np.zeros((len(rows), size, size)), np.zeros((len(rows), size)), np.zeros(len(rows)), rows,
                         np.zeros((len(rows), size, size)), np.zeros(len(rows)), np.zeros(len(rows)), constant),
        effects, np.full(size, 0.3), np.linspace(-0.5, 0.5, size), np.diag(np.linspace(1.0, 4.0, size)),
        HalfNormal(0.7) if constant else InverseGamma(6.0, 2.0),
    )
    sd = 1.0 / np.sqrt(np.diag(problem.prior_precision))
    coefficients = problem.prior_mean + sd * generator.normal(size=(replicates, size))
    if constant:
        variance = (0.7 * generator.normal(size=replicates)) ** 2
    else:
        variance = stats.invgamma(6.0, scale=2.0).rvs(replicates, random_state=generator)
        coefficients = problem.prior_mean + np.sqrt(variance)[:, None] * (coefficients - problem.prior_mean)  # the paper's prior
    spread = np.linalg.cholesky(stats.invwishart(features.degrees, features.scale).rvs(replicates, random_state=generator))
    theta = coefficients @ effects.T + problem.offset
    # Rows are T @ (1, standard normals) or T @ (standard normals), with T lower triangular.
    top = np.zeros((replicates, size, size))
    top[:, -2:, -2:] = spread
    if constant:
        top[:, 0, 0] = 1.0
        top[:, 1:, 0] = np.einsum("rij,rj->ri", spread, generator.normal(size=(replicates, 2))) / np.sqrt(features.mean_rows)
    last = np.einsum("rj,rjk->rk", theta, top)
    t = np.zeros((replicates, size + 1, size + 1))
    t[:, :-1, :-1], t[:, -1, :-1], t[:, -1, -1] = top, last, np.sqrt(variance)
    standard = [standard_gram(generator, int(n), size + 1, constant, replicates) for n in rows]
    exact = np.stack([t @ gram @ t.transpose(0, 2, 1) for gram in standard], axis=1)
    moments = top @ top.transpose(0, 2, 1)
    return Truths(problem, features, (coefficients, variance, moments), exact)


def standard_gram(generator: np.random.Generator, rows: int, size: int, constant: bool, replicates: int) -> Array:
    if not constant:
        return np.asarray(stats.wishart(rows, np.eye(size)).rvs(replicates, random_state=generator))
    sums = np.sqrt(rows) * generator.normal(size=(replicates, size - 1))
    gram = np.empty((replicates, size, size))
    gram[:, 0, 0], gram[:, 0, 1:], gram[:, 1:, 0] = rows, sums, sums
    scatter = stats.wishart(rows - 1, np.eye(size - 1)).rvs(replicates, random_state=generator)
    gram[:, 1:, 1:] = scatter + sums[:, :, None] * sums[:, None, :] / rows
    return gram


def entry_variances(kind: str, size: int, sd: Array, constant: bool) -> Array:
    """Variances of the noise (holders, size, size) of a kind: symmetric, the paper's, or the paper's without Σ y²."""
    variances = np.ones((size, size)) if kind != "symmetric" else (np.ones((size, size)) + np.eye(size)) / 2
    if kind == "no total":
        variances[-1, -1] = np.inf
    if constant:
        variances[0, 0] = 0.0
    return np.asarray(sd[:, None, None] ** 2 * variances)


def p_values(kind: str, constant: bool, *, noise_factor: float = 1.0, count_factor: float = 1.0, draw: Any = None) -> list[float]:
    """Start at the truth, iterate, and test that the parameters still belong to the prior and to the data."""
    import jax

    generator = np.random.default_rng([11, constant])
    rows, sd, replicates = np.array([3000.0, 2000.0]), np.array([60.0, 30.0]), 1500
    truths = drawn_truths(generator, rows, constant, replicates)
    size = truths.exact.shape[-1]
    variances = entry_variances(kind, size, sd, constant)
    upper = np.triu(generator.normal(size=truths.exact.shape) * np.sqrt(np.where(np.isinf(variances), 0.0, variances)))
    noisy = truths.exact + upper + np.triu(upper, 1).transpose(0, 1, 3, 2)
    told = variances * noise_factor
    statistics = replace(truths.problem.statistics, gram_variance=told[:, :-1, :-1], cross_variance=told[:, 0, -1],
                         total_variance=told[:, -1, -1])
    model = GibbsModel.of(replace(truths.problem, statistics=statistics), truths.features, scaled_prior=not constant)
    assert model.variant.split_noise == (kind != "symmetric")
    data: dict[str, Any] = dict(model.data) | {"matrices": noisy}
    data["rows"] = data["rows"] * count_factor
    matrices = truths.exact if model.variant.split_noise else truths.exact.sum(axis=1, keepdims=True)
    state = (*truths.state, matrices, np.broadcast_to(data["rows"], (replicates, 2)))
    over_replicates = {key: 0 if key == "matrices" else None for key in data}
    chain = jax.vmap(gibbs_chain(model.variant, 40, draw), in_axes=(0, 0, over_replicates))
    with double_precision():
        last, (_, rejected) = jax.jit(chain)(state, jax.random.split(jax.random.key(3), replicates), data)
        a = np.asarray(jax.vmap(lambda *parts: second_moments(State(*parts), model.data))(*last))
    assert np.mean(rejected) < 0.01
    return [p_of_fit(a, noisy, rows, variances, constant), *p_of_prior(truths.problem, last)]


def p_of_fit(a: Array, noisy: Array, rows: Array, variances: Array, constant: bool) -> float:
    """Squared distances of the noisy matrices from what the parameters say are χ², summed over holders."""
    size = a.shape[-1]
    i, j, _ = triangle(size)
    used = np.isfinite(variances[0][i, j]) & ~(constant & (i == 0) & (j == 0))
    total = np.zeros(len(a))
    for holder, n in enumerate(rows):
        prior = np.stack([dense_prior(one, float(n), constant) for one in a])[:, used][:, :, used]
        covariance = prior + np.diag(variances[holder][i, j][used])
        residual = (noisy[:, holder] - n * a)[:, i, j][:, used]
        total += np.einsum("rk,rk->r", residual, np.linalg.solve(covariance, residual[..., None])[..., 0])
    return float(stats.kstest(total, "chi2", args=(len(rows) * used.sum(),)).pvalue)


def p_of_prior(problem: LinearProblem, last: Any) -> list[float]:
    coefficients, variance = np.asarray(last[0]), np.asarray(last[1])
    standard = (coefficients - problem.prior_mean) * np.sqrt(np.diag(problem.prior_precision))
    if isinstance(problem.sigma_prior, HalfNormal):
        sigma = float(stats.kstest(np.sqrt(variance) / 0.7, "halfnorm").pvalue)
    else:
        standard /= np.sqrt(variance)[:, None]
        sigma = float(stats.kstest(variance, stats.invgamma(6.0, scale=2.0).cdf).pvalue)
    return [sigma, *(float(stats.kstest(column, "norm").pvalue) for column in standard.T)]


CASES = [
    pytest.param("symmetric", True, id="symmetric, constant"),
    pytest.param("no total", False, id="no total, no constant"),
    # Compiled anew for what the others do in other combinations.
    pytest.param("paper", False, id="paper, no constant", marks=pytest.mark.slow),
    pytest.param("paper", True, id="paper, constant", marks=pytest.mark.slow),
    pytest.param("symmetric", False, id="symmetric, no constant", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kind", "constant"), CASES)
def test_the_chain_keeps_the_joint_law_of_parameters_and_data(kind: str, constant: bool) -> None:
    found = p_values(kind, constant)
    assert min(found) > 1e-3, found


def test_a_chain_with_the_wrong_noise_does_not() -> None:
    assert min(p_values("symmetric", True, noise_factor=0.5)) < 1e-6


def test_a_chain_with_wrong_numbers_of_rows_does_not() -> None:
    assert min(p_values("symmetric", True, count_factor=0.9)) < 1e-6


def without_rank_one_term(variant: Variant, state: State, key: Any, data: Any) -> Any:
    return draw_matrices(replace(variant, constant=False), state, key, data)


def test_a_chain_without_the_rank_one_term_does_not() -> None:
    assert min(p_values("symmetric", True, draw=without_rank_one_term)) < 1e-6


# Limits and holders.


def problem_of(matrices: Array, rows: Array, sd: Array, sigma: HalfNormal | InverseGamma) -> LinearProblem:
    """Rows (1, x, y) with symmetric noise and exact numbers of rows."""
    size = matrices.shape[1] - 1
    variances = entry_variances("symmetric", size + 1, sd, True)
    statistics = HolderStatistics(matrices[:, :-1, :-1], matrices[:, :-1, -1], matrices[:, -1, -1], rows, variances[:, :-1, :-1],
                                  sd**2 / 2, sd**2, constant=True)
    return LinearProblem(statistics, np.eye(size), np.zeros(size), np.full(size, 0.1), np.diag(np.arange(1.0, size + 1)), sigma)


def made_request(draws: int, chains: int, seed: int = 3, **rest: Any) -> Request:
    fields: dict[str, Any] = {"release": None, "coordinates": None, "prior": None, "tick": lambda done, total: None}
    return Request(draws=draws, chains=chains, seed=seed, **(fields | rest))


def test_with_vanishing_noise_the_posterior_is_that_of_the_table() -> None:
    """The paper's prior is conjugate, so that the exact posterior is known: g is multivariate t, σ² inverse gamma."""
    generator = np.random.default_rng(21)
    rows = 60
    x = np.column_stack([np.ones(rows), generator.normal(size=(rows, 2))])
    table = np.column_stack([x, x @ [0.2, -0.4, 0.5] + 0.6 * generator.normal(size=rows)])
    gram = table.T @ table
    problem = problem_of(gram[None], np.array([60.0]), np.array([1e-7]), InverseGamma(3.0, 1.0))
    draws, rejected = sample_gibbs(GibbsModel.of(problem, scaled_prior=True), made_request(2000, 4))
    assert not rejected.any()

    def largest_error(count: int) -> float:
        """z-scores against the posterior of the table's first ``count`` rows: means of g and σ², and the variances of g."""
        x, y = table[:count, :3], table[:count, 3]
        prior = problem.prior_precision
        precision = x.T @ x + prior
        mean = np.linalg.solve(precision, x.T @ y + prior @ problem.prior_mean)
        rate = 1.0 + (y @ y + problem.prior_mean @ prior @ problem.prior_mean - mean @ precision @ mean) / 2
        variance = rate / (3.0 + count / 2 - 1.0)
        g, squares = draws[..., :-1].reshape(-1, 3), draws[..., -1].ravel() ** 2
        spread = (g - mean) ** 2
        pairs = [(g, mean), (squares[:, None], np.array([variance])), (spread, variance * np.diag(np.linalg.inv(precision)))]
        # Draws are nearly independent here: g and σ² hardly depend on each other.
        scores = [(one.mean(axis=0) - known) / (one.std(axis=0) / np.sqrt(len(one))) for one, known in pairs]
        return float(np.abs(np.concatenate(scores)).max())

    assert largest_error(60) < 4.0
    assert largest_error(55) > 8.0


def test_a_half_normal_prior_for_sigma() -> None:
    """Few rows and no doubt about g, so that σ has a posterior on a line: by quadrature."""
    rows, scale = 8.0, 0.5
    gram = rows * np.array([[1.0, 0.3], [0.3, 0.09 + 0.4]])  # an intercept only: mean 0.3, residual mean square 0.4
    problem = problem_of(gram[None], np.array([rows]), np.array([1e-7]), HalfNormal(scale))
    problem = replace(problem, prior_mean=np.array([0.3]), prior_precision=np.array([[1e12]]))
    draws, _ = sample_gibbs(GibbsModel.of(problem), made_request(2000, 4))
    grid = np.linspace(0.05, 4.0, 4000)

    def p_value(assumed: float) -> float:
        logs = -rows * np.log(grid) - rows * 0.4 / (2 * grid**2) - grid**2 / (2 * assumed**2)
        cumulative = np.cumsum(np.exp(logs - logs.max()))
        thinned = draws[:, ::4, -1].ravel()
        return float(stats.kstest(thinned, lambda s: np.interp(s, grid, cumulative / cumulative[-1])).pvalue)

    assert p_value(scale) > 1e-3
    assert p_value(1.3 * scale) < 1e-6


def test_holders_with_noise_in_proportion_to_their_rows_are_one() -> None:
    generator = np.random.default_rng(22)
    a = moments_of_rows(generator, 4, True)
    rows, sd = np.array([400.0, 100.0, 400.0, 300.0]), np.array([20.0, 10.0, 20.0, 20.0])
    matrices = np.stack([rows[k] * a + 30.0 * (e + e.T) for k, e in enumerate(generator.normal(size=(4, 4, 4)))])
    problem = problem_of(matrices, rows, sd, HalfNormal(1.0))
    merged, apart = GibbsModel.of(problem).data, GibbsModel.of(problem, merge=False).data
    assert merged["rows"].tolist() == [900.0, 300.0]
    assert merged["noise"].tolist() == [900.0, 400.0]
    assert np.allclose(merged["matrices"][0], matrices[:3].sum(axis=0))
    assert apart["rows"].tolist() == rows.tolist()

    def sum_of(data: Mapping[str, Array]) -> tuple[Array, Array]:
        each = [fast_conditional(a, float(s), m, True, float(n))
                for s, m, n in zip(data["noise"], data["matrices"], data["rows"], strict=True)]
        return np.asarray(sum(mean for mean, _ in each)), np.asarray(sum(covariance for _, covariance in each))

    for one, other in zip(sum_of(merged), sum_of(apart), strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(one).max())
    # All four as one would be wrong: the last holder has more noise for its rows.
    wrong = {"noise": np.array([1300.0]), "matrices": matrices.sum(axis=0)[None], "rows": np.array([1200.0])}
    assert not np.allclose(sum_of(wrong)[0], sum_of(apart)[0], rtol=1e-4)


# The method as it is called.


def made_release(seed: int, rows: int, sd: float, corner: bool, holders: int = 2) -> Request:
    generator = np.random.default_rng(seed)
    regression = made_regression(generator, 5, 3)
    parts = [made_part(generator, 5, rows, gaussian(sd, corner)) for _ in range(holders)]
    return made_request(600, 4, release=SimpleNamespace(contributions=parts), coordinates=regression.coordinates,
                        prior=regression.prior)


def standardised_gap(request: Request, method: str) -> tuple[Array, Array]:
    """Differences of the means in units of the other method's standard deviations, and ratios of standard deviations."""
    ours, other = clt_gibbs(request).samples.reshape(-1, 4), METHODS[method](request).samples.reshape(-1, 4)
    return (ours.mean(axis=0) - other.mean(axis=0)) / other.std(axis=0), ours.std(axis=0) / other.std(axis=0)


@pytest.mark.slow
def test_little_noise_gives_the_posterior_of_the_default_method_in_the_users_units() -> None:
    gap, ratio = standardised_gap(made_release(31, 20_000, 2.0, corner=False), "laplace")
    assert np.abs(gap).max() < 0.3
    assert np.abs(np.log(ratio)).max() < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("corner", [False, True], ids=["exact rows", "noisy rows"])
def test_the_posterior_is_that_of_collapsed(corner: bool) -> None:
    """The two differ in the predictors' prior and in how they use the central limit: little with many rows."""
    gap, ratio = standardised_gap(made_release(32, 50_000, 30.0, corner), "collapsed")
    assert np.abs(gap).max() < 0.3
    assert np.abs(np.log(ratio)).max() < 0.2


def test_progress_is_told_and_a_seed_repeats_the_draws() -> None:
    told: list[tuple[int, int | None]] = []
    request = replace(made_release(33, 2_000, 5.0, corner=False), draws=150, tick=lambda done, total: told.append((done, total)))
    first, second, third = clt_gibbs(request), clt_gibbs(request), clt_gibbs(replace(request, seed=4))
    assert told[:4] == [(100, 400), (200, 400), (300, 400), (400, 400)]
    assert first.samples.shape == (4, 150, 4)
    assert np.array_equal(first.samples, second.samples)
    assert not np.isclose(first.samples, third.samples).any()
    assert first.doubts == ()


def test_too_few_rows_for_a_central_limit_are_said() -> None:
    sampled = clt_gibbs(replace(made_release(34, 8, 2.0, corner=False, holders=1), draws=150))
    assert np.isfinite(sampled.samples).all()
    assert "not positive definite" in sampled.doubts[0]


def test_noise_that_the_method_is_not_for_is_refused() -> None:
    request = made_release(35, 500, 2.0, corner=False, holders=1)
    release: Any = SimpleNamespace(contributions=[made_part(np.random.default_rng(1), 5, 500, laplace(2.0, False))])
    with pytest.raises(FitError, check=about("method")):
        clt_gibbs(replace(request, release=release))
    problem = LinearProblem.of(request)
    exact_total = replace(problem, statistics=replace(problem.statistics, total_variance=np.zeros(1)))
    with pytest.raises(FitError, match="clt-gibbs"):
        GibbsModel.of(exact_total)
