"""Bayes factors from a quadratic log likelihood, against integrals that are computed point by point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import norm

from noisewise.arrays import Array
from noisewise.run import nobody
from noisewise.selection.averaged import averaged_draws
from noisewise.selection.moments import without_leading
from noisewise.selection.probabilities import Weighed, log_prior_by_size, weigh
from noisewise.selection.quadratic import Quadratic, QuadraticEvidence, table_inclusion

ROWS = 400.0
NODES = 70


def nothing_beyond(working: Array) -> Array:
    return np.zeros(len(working))


def made(seed: int, kept: int, columns: int, *, known: float = 0.3, effect: float = 2.0) -> Quadratic:
    """A log likelihood that knows a share of what the rows would say."""
    rng = np.random.default_rng(seed)
    size = kept + columns
    rows = rng.normal(size=(60, size)) @ (np.eye(size) + 0.3)
    information = ROWS * rows.T @ rows / 60
    noise = rng.normal(size=(size, size))
    precision = np.linalg.inv(np.linalg.inv(information) / known + noise @ noise.T * 0.1 / ROWS)
    best = rng.normal(size=size) * effect / np.sqrt(np.diagonal(precision))
    moments = without_leading(information, kept)
    return Quadratic(precision, precision @ best, moments, kept, ROWS, np.zeros((1, 0)), nothing_beyond)


def normal_prior(beta: Array, moments: Array) -> Array:
    """N(0, n S⁻¹)."""
    size = len(moments)
    return (0.5 * np.linalg.slogdet(moments / ROWS)[1] - 0.5 * size * math.log(2 * math.pi)
            - 0.5 * np.einsum("mi,ij,mj->m", beta, moments / ROWS, beta))


def cauchy_prior(beta: Array, moments: Array) -> Array:
    """The same with g ~ inverse gamma(½, n/2) integrated out: a Cauchy distribution of several variables."""
    size = len(moments)
    return (gammaln((size + 1) / 2) - gammaln(0.5) - 0.5 * size * math.log(math.pi) + 0.5 * np.linalg.slogdet(moments / ROWS)[1]
            - 0.5 * (size + 1) * np.log1p(np.einsum("mi,ij,mj->m", beta, moments / ROWS, beta)))


def integral(one: Quadratic, columns: list[int], prior: Callable[[Array, Array], Array]) -> tuple[float, Array]:
    """Of likelihood times prior over a grid of all coefficients, kept ones too; and their mean."""
    inside = [*range(one.kept), *(one.kept + column for column in columns)]
    precision, score = one.precision[np.ix_(inside, inside)], one.score[inside]
    covariance = np.linalg.inv(precision)
    root, best = np.linalg.cholesky(covariance), covariance @ score
    points, weights = np.polynomial.legendre.leggauss(NODES)
    grid = np.array(list(itertools.product(9.0 * points, repeat=len(inside))))
    weight = np.prod(np.array(list(itertools.product(9.0 * weights, repeat=len(inside)))), axis=1)
    theta = best + grid @ root.T
    logs = theta @ score - 0.5 * np.einsum("mi,ij,mj->m", theta, precision, theta)
    if columns:
        logs = logs + prior(theta[:, one.kept:], one.prior_moments[np.ix_(columns, columns)])
    values = weight * np.exp(logs - logs.max())
    total = values.sum()
    return float(np.log(total) + logs.max() + np.linalg.slogdet(root)[1]), values @ theta / total


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize(("name", "prior"), [("zellner", normal_prior), ("zellner-siow", cauchy_prior)])
def test_bayes_factors_are_those_of_integrals_over_all_coefficients(name: str, prior: Callable[[Array, Array], Array], kept: int
                                                                    ) -> None:
    one = made(1, kept, 3 - kept)
    groups = [[column] for column in range(3 - kept)]
    evidence = QuadraticEvidence(one, groups, name)
    nothing = integral(one, [], prior)[0] if kept else 0.0
    members = np.array(list(itertools.product([False, True], repeat=len(groups))))
    expected = [integral(one, list(np.flatnonzero(model)), prior)[0] - nothing for model in members[1:]]
    assert np.allclose(evidence.log_bayes_factors(members), [0.0, *expected], atol=1e-5), expected
    assert max(map(abs, expected)) > 1.0


def test_a_category_is_one_term() -> None:
    one = made(2, 1, 3)
    evidence = QuadraticEvidence(one, [[0], [1, 2]], "zellner")
    apart = QuadraticEvidence(one, [[0], [1], [2]], "zellner")
    models = np.array([[False, True], [True, True]])
    assert np.allclose(evidence.log_bayes_factors(models), apart.log_bayes_factors(models[:, [0, 1, 1]]))


def test_without_noise_it_is_the_textbook_formula() -> None:
    """With H = S and g = n: −(k/2) log(1 + n) + n/(1 + n) z²/2."""
    one = made(3, 0, 2)
    one = replace(one, precision=one.prior_moments, score=one.prior_moments @ np.array([0.1, -0.05]))
    found = QuadraticEvidence(one, [[0], [1]], "zellner").log_bayes_factors(np.array([[True, True], [True, False]]))
    for value, columns in zip(found, ([0, 1], [0]), strict=True):
        block, b = one.prior_moments[np.ix_(columns, columns)], one.score[columns]
        square = float(b @ np.linalg.solve(block, b))
        assert value == pytest.approx(-0.5 * len(columns) * math.log1p(ROWS) + ROWS / (1 + ROWS) * square / 2, rel=1e-9)
    bic = QuadraticEvidence(one, [[0], [1]], "bic").log_bayes_factors(np.array([[True, True]]))
    assert bic == pytest.approx(0.5 * one.score @ np.linalg.solve(one.prior_moments, one.score) - math.log(ROWS))


def test_what_the_likelihood_has_beyond_the_quadratic_is_added_at_a_models_own_coefficients() -> None:
    one, members = made(4, 1, 2), np.array([[False, False], [True, False], [True, True]])
    plain, more = (QuadraticEvidence(replace(one, beyond=each), [[0], [1]], "zellner").log_bayes_factors(members)
                   for each in (nothing_beyond, lambda working: 3.0 * working[:, 0] + working[:, 1] ** 2))
    penalised = one.precision.copy()
    penalised[1:, 1:] += one.prior_moments / ROWS
    expected = []
    for size in (1, 2, 3):
        own = np.linalg.solve(penalised[:size, :size], one.score[:size])
        expected.append(3.0 * own[0] + (own[1] ** 2 if size > 1 else 0.0))
    assert np.allclose(more - plain, np.array(expected) - expected[0])


def test_averaged_coefficients_are_those_of_the_integrals() -> None:
    one = made(5, 1, 2)
    evidence, prior = QuadraticEvidence(one, [[0], [1]], "zellner-siow"), log_prior_by_size("uniform", 2)
    weighed = weigh(evidence, prior, 1, nobody)
    count = 60_000
    drawn = averaged_draws(evidence, weighed.members, weighed.probabilities, count, 2)
    expected = np.zeros(3)
    for model, share in zip(weighed.members, weighed.probabilities, strict=True):
        columns = list(np.flatnonzero(model))
        expected[[0, *(1 + column for column in columns)]] += share * integral(one, columns, cauchy_prior)[1]
    error = drawn.working.std(axis=0) / math.sqrt(count)
    assert (np.abs(drawn.working.mean(axis=0) - expected) < 5 * error).all()
    assert ((drawn.working[:, 1:] != 0) == drawn.members).all()
    assert np.abs(expected - np.linalg.solve(one.precision, one.score))[1:].max() > 10 * error.max()  # not the full model's


def band(one: Quadratic, precision: Array, wrong: bool = False) -> tuple[Array, Weighed]:
    """With wrong draws of the coefficients, if asked: those of the full model under a flat prior."""
    groups = [[column] for column in range(len(one.prior_moments))]
    evidence, prior = QuadraticEvidence(one, groups, "zellner-siow"), log_prior_by_size("beta-binomial", len(groups))
    weighed = weigh(evidence, prior, 1, nobody)
    drawn = averaged_draws(evidence, weighed.members, weighed.probabilities, 4000, 2)
    if wrong:
        covariance = np.linalg.inv(one.precision)
        rng = np.random.default_rng(4)
        drawn = replace(drawn, working=rng.multivariate_normal(covariance @ one.score, covariance, len(drawn.working)))
    return table_inclusion(evidence, precision, weighed, drawn, prior, 3, nobody), weighed


@pytest.mark.parametrize("seed", [6, 7, 8])
def test_the_band_has_the_probability_as_its_mean(seed: int) -> None:
    """What is expected of the table is what is believed already. Draws that are wrong about the coefficients are noticed."""
    one = made(seed, 1, 3, effect=4.0)
    (draws, weighed), (wrong, _) = (band(one, 4.0 * one.precision, wrong) for wrong in (False, True))
    said = weighed.probabilities @ weighed.members
    error = draws.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - said) < 4 * error + 0.005).all() and len(draws) == 400
    assert (np.abs(wrong.mean(axis=0) - said) > 4 * error + 0.005).any()


def test_without_noise_the_band_is_the_probability() -> None:
    one = made(9, 1, 3)
    draws, weighed = band(one, one.precision)
    assert np.allclose(draws, weighed.probabilities @ weighed.members, atol=1e-9)


def test_the_models_that_a_walk_found_are_weighed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(10, 1, 3)
    listed, _ = band(one, 2.0 * one.precision)
    monkeypatch.setattr(QuadraticEvidence, "most_listed", 2)
    found, _ = band(one, 2.0 * one.precision)
    assert np.allclose(found.mean(axis=0), listed.mean(axis=0), atol=0.02)


def test_a_scale_is_drawn_from_its_own_values() -> None:
    values = np.exp(norm.ppf((np.arange(1000) + 0.5) / 1000))[:, None]
    one = replace(made(11, 1, 2), scales=values)
    drawn = averaged_draws(QuadraticEvidence(one, [[0], [1]], "bic"), np.array([[True, True]]), np.ones(1), 20_000, 1)
    assert drawn.working.shape == (20_000, 4) and np.isin(drawn.working[:, -1], values).all()
    assert np.log(drawn.working[:, -1]).std() == pytest.approx(1.0, abs=0.03)
