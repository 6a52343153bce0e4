"""`normal-x` and `normal-x-nuts`: their terms against SciPy, their moves against detailed balance, and each against the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import invwishart, multivariate_normal, norm, wishart
from tests.unit.literature.made_problems import (
    by_quadrature,
    disagreement,
    made_problem,
    made_request,
    with_statistics,
    worst_z,
)

from noisewise.literature import normal_x as gibbs
from noisewise.literature.fixed_moments import fast_posterior, fixed_s, record
from noisewise.literature.kernels.metropolis import Sampler, chain, sample_chains
from noisewise.literature.normal_features import FeaturePrior, assemble_all, model_arrays, normal_equations
from noisewise.literature.normal_x import NORMAL_X, gibbs_arrays, normal_x
from noisewise.literature.normal_x_nuts import (
    log_density,
    log_features,
    normal_x_mode,
    normal_x_nuts,
    sample_normal_x,
    start,
    unpacked,
)
from noisewise.literature.statistics import LinearProblem
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import jax_density
from noisewise.results.diagnostics import ess_bulk

Array = NDArray[np.float64]
LIMIT = 4.5
"""|z| of a mean: with the dozen numbers compared in each test, passed by chance alone once in 10 000 runs or less."""
AT_ONCE = 1000
"""Small batches: in large ones the threads of jaxlib's batched triangular solver may wait for each other for ever."""
CASES = [((150,), False), ((100, 160), False), ((150,), True), ((100, 160), True)]
NAMES = ["one holder", "two holders", "one holder, constant", "two holders, constant"]


def points(data: dict[str, Array], seed: int, count: int) -> Array:
    point, _ = start(data)
    return np.asarray(point + 0.1 * np.random.default_rng(seed).normal(size=(count, len(point))))


def by_definition(x: Array, problem: LinearProblem, prior: FeaturePrior) -> float:
    """The joint log density of everything at a g, a Σ and a μ, less those of g, Σ and μ given the rest, by SciPy."""
    statistics, constant = problem.statistics, problem.statistics.constant
    d = len(prior.scale)
    count = d * (d + 1) // 2 + d * constant
    generator = np.random.default_rng(1)
    covariance = invwishart(d + 5, np.eye(d)).rvs(random_state=generator)
    mu, g = generator.normal(size=d), generator.normal(size=len(problem.prior_mean))
    theta, sigma = problem.effects @ g + problem.offset, x[0]
    rows = statistics.rows
    total, means, grams = prior.scale.copy(), [], []
    log = float(invwishart(prior.degrees, prior.scale).logpdf(covariance) + norm(0, 0.5).logpdf(sigma))
    log += float(multivariate_normal(problem.prior_mean, np.linalg.inv(problem.prior_precision)).logpdf(g))
    for index, part in enumerate(x[1:].reshape(-1, count)):
        mean = part[:d] if constant else np.zeros(d)
        lower = np.diag(np.exp(part[d * constant:][:d]))
        lower[np.tril_indices(d, -1)] = part[d * constant + d:]
        lower = np.sqrt(rows[index]) * lower
        scatter = lower @ lower.T
        log += float(wishart(rows[index] - constant, covariance).logpdf(scatter))
        log += float(np.sum((d - np.arange(d) + 1) * np.log(np.diag(lower))))  # Jacobian
        gram = scatter
        if constant:
            log += float(multivariate_normal(mu, covariance / rows[index]).logpdf(mean))
            gram = np.block([[np.array([[1.0]]), mean[None]], [mean[:, None], np.outer(mean, mean)]]) * rows[index]
            gram[1:, 1:] += scatter
        upper = np.triu_indices(len(gram))
        used = statistics.gram_variance[index][upper] > 0
        sd = np.sqrt(statistics.gram_variance[index][upper][used])
        log += float(norm(gram[upper][used], sd).logpdf(statistics.gram[index][upper][used]).sum())
        noisy = sigma**2 * gram + statistics.cross_variance[index] * np.eye(len(gram))
        log += float(multivariate_normal(gram @ theta, noisy).logpdf(statistics.cross[index]))
        total, means, grams = total + scatter, [*means, mean], [*grams, (gram, noisy)]
    # Given the rest: μ is the mean of the holders' means and of k rows at 0; Σ is inverse Wishart about all scatters.
    n = rows.sum()
    if constant:
        weight = n + prior.mean_rows
        centre = rows @ np.array(means) / weight
        log += float(multivariate_normal(np.zeros(d), covariance / prior.mean_rows).logpdf(mu))
        log -= float(multivariate_normal(centre, covariance / weight).logpdf(mu))
        total = total + (np.array(means).T * rows) @ np.array(means) - weight * np.outer(centre, centre)
    log -= float(invwishart(prior.degrees + n, total).logpdf(covariance))
    precision, linear = problem.prior_precision, problem.prior_precision @ problem.prior_mean
    for (gram, noisy), cross in zip(grams, statistics.cross, strict=True):
        design = gram @ problem.effects
        precision = precision + design.T @ np.linalg.solve(noisy, design)
        linear = linear + design.T @ np.linalg.solve(noisy, cross - gram @ problem.offset)
    inverse = np.linalg.inv(precision)
    return log - float(multivariate_normal(inverse @ linear, (inverse + inverse.T) / 2).logpdf(g))


@pytest.mark.parametrize(("rows", "constant"), CASES, ids=NAMES)
def test_what_is_integrated_out_is_what_conditioning_takes_away(rows: tuple[int, ...], constant: bool) -> None:
    problem = made_problem(4, rows, 3, 8.0, constant)
    prior = FeaturePrior(0.2 * np.eye(3) + 0.1, 6.5, 0.7)
    data = model_arrays(problem, prior)
    density = jax_density(log_density, data)
    found = np.array([density(x)[0] for x in points(data, 5, 4)])
    known = np.array([by_definition(x, problem, prior) for x in points(data, 5, 4)])
    assert np.allclose(found - found[0], known - known[0], rtol=1e-8, atol=1e-7)
    other = np.array([by_definition(x, problem, FeaturePrior(prior.scale, 7.5, 0.7)) for x in points(data, 5, 4)])
    assert not np.allclose(found - found[0], other - other[0], rtol=1e-8, atol=1e-2)


def random_factor(generator: np.random.Generator, size: int) -> Array:
    return np.asarray(np.linalg.cholesky(wishart(size + 3, np.eye(size)).rvs(random_state=generator).reshape(size, size)))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_proposal_ratio_is_that_of_two_wishart_densities(size: int) -> None:
    generator = np.random.default_rng(6)
    alpha = 20.0
    old = random_factor(generator, size)
    factor = np.linalg.cholesky(wishart(alpha, np.eye(size) / alpha).rvs(random_state=generator).reshape(size, size))
    s, t = old @ old.T, old @ factor @ factor.T @ old.T
    known = float(wishart(alpha, t / alpha).logpdf(s) - wishart(alpha, s / alpha).logpdf(t))
    with double_precision():
        assert float(gibbs.log_proposal_ratio(factor, alpha)) == pytest.approx(known, rel=1e-9)
    assert abs(known) > 0.01


def moved(size: int, ratio: Callable[..., Any] | None, monkeypatch: pytest.MonkeyPatch) -> tuple[Array, Array]:
    """Log determinants and traces of many Wishart matrices before and after three moves that should not change their law."""
    import jax
    import jax.numpy as jnp

    if ratio is not None:
        monkeypatch.setattr(gibbs, "log_proposal_ratio", ratio)
    precision, degrees, count = np.eye(size) + 0.5, 12.0, 100_000
    nothing = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size), 1e12, degrees  # no information but the Wishart law
    fixed = np.zeros(size), 1.0, precision, np.zeros(size), 0.2, 0.0, False, 1

    def one(key: Any) -> Any:
        keys = jax.random.split(key, 4)
        root = jnp.linalg.cholesky(jnp.linalg.inv(precision)) @ gibbs.bartlett(keys[0], degrees, size)
        before, alpha = root, jnp.log(15.0)
        for move_key in keys[1:]:
            root, _ = gibbs.move_scatter(move_key, (root, np.zeros(size), alpha), nothing, *fixed)
        return jnp.stack([statistic(before), statistic(root)])

    def statistic(root: Any) -> Any:
        log = 2.0 * jnp.sum(jnp.log(jnp.diagonal(root)))
        return jnp.stack([log, log**2, root[0, 0] ** 2, jnp.sum(precision * (root @ root.T))])

    with double_precision():
        keys = jax.random.split(jax.random.key(3), count)
        both = np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=AT_ONCE))(keys))
    return both[:, 0], both[:, 1]


def z_of_change(before: Array, after: Array) -> float:
    change = after - before
    return float(np.abs(change.mean(axis=0) / (change.std(axis=0) / np.sqrt(len(change)))).max())


@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_moves_of_a_scatter_leave_its_law_alone(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = moved(size, None, monkeypatch)
    assert (before != after).any(axis=1).mean() > 0.5
    assert z_of_change(before, after) < LIMIT
    # The mean of tr(Σ⁻¹S) is ν·d, so that the law which is left alone is the right one.
    assert abs(after[:, 3].mean() - 12.0 * size) < LIMIT * after[:, 3].std() / np.sqrt(len(after))


@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_move_without_the_proposal_ratio_does_not(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert z_of_change(*moved(size, lambda factor, alpha, holders: 0.0, monkeypatch)) > LIMIT


@pytest.mark.parametrize("constant", [False, True])
def test_the_features_covariance_and_mean_follow_their_full_conditional(constant: bool) -> None:
    import jax

    problem = made_problem(7, (40, 60), 2, 8.0, constant)
    prior = FeaturePrior(np.eye(2) + 0.3, 5.0, 20.0)
    generator = np.random.default_rng(8)
    state = {"lower": np.array([5 * random_factor(generator, 2) for _ in range(2)]),
             "means": np.array([[0.5, -1.0], [0.7, 0.2]]) * constant}
    with double_precision():
        data = model_arrays(problem, prior)
        draw = jax.jit(lambda keys: jax.lax.map(lambda key: gibbs.draw_features(key, state, data), keys, batch_size=AT_ONCE))
        precision, mu = (np.asarray(part) for part in draw(jax.random.split(jax.random.key(2), 50_000)))
    scatters = np.einsum("jkl,jml->km", state["lower"], state["lower"])
    rows, means = np.array([40.0, 60.0]), state["means"]
    centre = rows @ means / 120.0
    total = prior.scale + scatters + (means.T * rows) @ means - 120.0 * np.outer(centre, centre)
    assert worst_z(precision.reshape(1, -1, 4)[..., [0, 1, 3]], (105.0 * np.linalg.inv(total)).ravel()[[0, 1, 3]]) < LIMIT
    assert worst_z(precision.reshape(1, -1, 4)[..., [0, 1, 3]], (100.0 * np.linalg.inv(total)).ravel()[[0, 1, 3]]) > LIMIT
    if constant:
        assert worst_z(mu[None], centre) < LIMIT
        products = np.einsum("nk,nl->nkl", mu - centre, mu - centre).reshape(1, -1, 4)[..., [0, 1, 3]]
        assert worst_z(products, (total / (105.0 - 3.0) / 120.0).ravel()[[0, 1, 3]]) < LIMIT


def test_the_coefficients_full_conditional_is_the_closed_form() -> None:
    import jax.numpy as jnp

    problem = made_problem(9, (100, 150), 2, 3.0, True)
    with double_precision():
        data = model_arrays(problem)
        precision, linear, _ = normal_equations(jnp.asarray(data["gram"]), 0.3**2, data, jnp)
    mean, covariance = fast_posterior(problem, 0.3)
    assert np.allclose(np.linalg.inv(precision), covariance, rtol=1e-8)
    assert np.allclose(np.linalg.solve(precision, linear), mean, rtol=1e-8)


def gibbs_draws(problem: LinearProblem, draws: int, sampler: Sampler = NORMAL_X) -> Array:
    return sample_chains(sampler, gibbs_arrays(problem), seed=10, chains=4, draws=draws, warmup=4000)


def nuts_draws(problem: LinearProblem, draws: int) -> Array:
    data = model_arrays(problem)
    mode = normal_x_mode(data)
    assert mode.converged
    return sample_normal_x(data, mode, seed=10, chains=4, draws=draws).draws


def step_without_ratio(key: Any, state: dict[str, Any], data: Any, gain: Any) -> dict[str, Any]:
    """A step of `normal-x` that is wrong if the proposal ratio has been taken out."""
    return gibbs._step(key, state, data, gain)


@cache
def known_draws(rows: tuple[int, ...], constant: bool) -> tuple[LinearProblem, Array]:
    """A problem, and what NUTS draws there."""
    problem = made_problem(13, rows, 2, 6.0, constant)
    return problem, nuts_draws(problem, 1000)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "constant"), [CASES[0], pytest.param(*CASES[3], marks=pytest.mark.slow)],
                         ids=[NAMES[0], NAMES[3]])
def test_both_methods_sample_the_same_posterior(rows: tuple[int, ...], constant: bool) -> None:
    problem, known = known_draws(rows, constant)
    assert disagreement(gibbs_draws(problem, 10_000), known) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("noise", [4.0, 25.0])
@pytest.mark.parametrize(("rows", "constant"), CASES, ids=NAMES)
def test_both_methods_sample_the_same_posterior_at_length(rows: tuple[int, ...], constant: bool, noise: float) -> None:
    problem = made_problem(13, rows, 2, noise, constant)
    right = gibbs_draws(problem, 100_000)
    assert ess_bulk(right).min() > 1000
    assert disagreement(right, nuts_draws(problem, 10_000)) < LIMIT


@pytest.mark.slow
def test_a_sampler_without_the_proposal_ratio_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, known = known_draws(*CASES[0])
    monkeypatch.setattr(gibbs, "log_proposal_ratio", lambda factor, alpha, holders: 0.0)
    wrong = gibbs_draws(problem, 10_000, Sampler(NORMAL_X.start, step_without_ratio, record))
    assert disagreement(wrong, known) > LIMIT


@pytest.mark.slow
def test_without_noise_both_are_the_posterior_without_privacy() -> None:
    """Given S and z, which is all that these methods use."""
    exact = made_problem(14, (200, 300), 2, 0.0)
    problem = with_statistics(made_problem(14, (200, 300), 2, 0.02), gram=exact.statistics.gram, cross=exact.statistics.cross)
    limit = with_statistics(problem, cross_variance=np.zeros(2))
    mean, sd = by_quadrature(limit, exact.statistics.gram)
    for draws in (gibbs_draws(problem, 6000), nuts_draws(problem, 1000)):
        assert worst_z(draws, mean) < LIMIT
        assert worst_z((draws - mean) ** 2, sd**2) < LIMIT
        assert worst_z(draws, mean + 0.3 * sd) > LIMIT


@pytest.mark.slow  # without any noise they are tested above
@pytest.mark.parametrize("method", [normal_x, normal_x_nuts])
def test_a_fit_with_almost_no_noise_finds_the_coefficients(method: Any) -> None:
    request, x, y = made_request(1e5, draws=500)
    known = np.linalg.lstsq(x, y, rcond=None)[0]
    found = method(request)
    assert found.samples.shape == (2, 500, 4) and found.doubts == ()
    sd = found.samples[..., :-1].std(axis=(0, 1))
    assert (np.abs(found.samples[..., :-1].mean(axis=(0, 1)) - known) < 0.5 * sd).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", [normal_x, pytest.param(normal_x_nuts, marks=pytest.mark.slow)])
@pytest.mark.parametrize("changes", [{"holders": 3, "adjacency": "add-remove"},
                                     pytest.param({"formula": "y ~ 1"}, marks=pytest.mark.slow)], ids=["holders", "mean"])
def test_a_fit_of_every_kind_has_draws(method: Any, changes: dict[str, Any]) -> None:
    request, x, _ = made_request(3.0, draws=260, **changes)
    found = method(request)
    assert found.samples.shape == (2, 260, x.shape[1] + 1)
    assert np.isfinite(found.samples).all() and (found.samples[..., -1] >= 0).all()
    assert np.array_equal(found.samples, method(request).samples)


@pytest.mark.slow
def test_with_only_an_intercept_nothing_is_left_to_sample_but_what_fixed_s_does() -> None:
    request, _, _ = made_request(3.0, "y ~ 1", draws=2000)
    known, found = fixed_s(request).samples, normal_x_nuts(request).samples
    assert np.array_equal(known, normal_x(request).samples)
    assert disagreement(known, found) < LIMIT


@pytest.mark.slow
def test_replicates_can_be_mapped() -> None:
    import jax

    problems = [made_problem(seed, (100, 160), 2, 6.0, True) for seed in (13, 15)]
    with double_precision():
        stacked = jax.tree.map(lambda *parts: np.stack(parts), *[gibbs_arrays(problem) for problem in problems])
        keys = jax.random.split(jax.random.key(1), 2)
        draws = np.asarray(jax.jit(jax.vmap(lambda key, data: chain(NORMAL_X, key, data, 1500, 4000)))(keys, stacked))
    for problem, found in zip(problems, draws, strict=True):
        assert disagreement(found[None], nuts_draws(problem, 1000)) < LIMIT


def test_parameters_are_unpacked_as_they_were_packed() -> None:
    """Where the noise is small the start gives back the released matrices."""
    import jax.numpy as jnp

    problem = made_problem(16, (100, 160), 3, 1e-3, True)
    with double_precision():
        data = model_arrays(problem)
        means, log_diagonal, lower = unpacked(jnp.asarray(start(data)[0][1:]), data, jnp)
        grams = np.asarray(assemble_all(lower, means, data, jnp))
        assert np.isfinite(float(log_features(lower, log_diagonal, means, data, jnp)))
    assert np.allclose(grams, problem.statistics.gram, rtol=1e-6)
