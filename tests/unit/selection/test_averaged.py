"""Averaged draws against the mixture computed by hand, and the way back to the user's units."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.posterior.noisy_matrices import MadePart, gaussian, laplace, noise_draws
from tests.unit.selection.made_moments import Array, made_moments, made_table, single_columns

from noisewise.schema import Basis, Design, Schema
from noisewise.selection.averaged import averaged_draws
from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments
from noisewise.selection.question import Units
from noisewise.selection.subsets import memberships

DRAWS = 40_000


def probabilities(evidence: Evidence) -> Array:
    logs = evidence.all_models()
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("prior", ["zellner", "bic"])
def test_moments_of_the_mixture_without_noise(prior: str) -> None:
    table = made_table(4, 60, np.array([0.2, 0.0, 0.15]))
    evidence = single_columns(made_moments(table), prior)
    weights = probabilities(evidence)
    assert 0.02 < np.sort(weights)[-2]  # several models matter
    drawn = averaged_draws(evidence, memberships(3), weights, DRAWS, seed=1)
    mean, second = np.zeros(4), np.zeros(4)
    for members, weight in zip(memberships(3), weights, strict=True):
        columns = [0, *(1 + np.flatnonzero(members))]
        x, y = table[:, columns], table[:, -1]
        centred = x[:, 1:] - x[:, 1:].mean(axis=0)
        shrink = 1.0 if prior == "bic" else len(table) / (1.0 + len(table))
        slopes = shrink * np.linalg.lstsq(centred, y)[0]
        squares = y @ (y - y.mean()) - (y @ centred) @ slopes
        scale = squares / (len(table) - 1 - 2)  # E σ² given so many degrees of freedom
        covariance = scale * shrink * np.linalg.inv(centred.T @ centred)
        beta = np.array([y.mean() - x[:, 1:].mean(axis=0) @ slopes, *slopes])
        spread = np.array([scale / len(table) + x[:, 1:].mean(axis=0) @ covariance @ x[:, 1:].mean(axis=0), *np.diag(covariance)])
        mean[columns] += weight * beta
        second[columns] += weight * (beta**2 + spread)
    sd = np.sqrt(second - mean**2)
    assert drawn.working[:, :-1].mean(axis=0) == pytest.approx(mean, abs=5 * sd.max() / np.sqrt(DRAWS))
    assert drawn.working[:, :-1].std(axis=0) == pytest.approx(sd, rel=0.03)
    share = drawn.members.mean(axis=0)
    assert share == pytest.approx(weights @ memberships(3), abs=5 * 0.5 / np.sqrt(DRAWS))


@pytest.mark.parametrize("sd", [0.0, 20.0])
@pytest.mark.parametrize("prior", ["zellner-siow", "hyper-g", "bic"])
def test_columns_that_are_not_in_a_model_are_zero(prior: str, sd: float) -> None:
    evidence = Evidence(made_moments(made_table(4, 500, np.array([0.2, 0.0, 0.15])), sd), [[0, 1], [2]], prior)
    drawn = averaged_draws(evidence, memberships(2), np.full(4, 0.25), 400, seed=1)
    present = drawn.members[:, [0, 0, 1]]
    assert np.array_equal(drawn.working[:, 1:-1] != 0.0, present)
    assert not np.array_equal(drawn.members, np.sort(drawn.members, axis=0))  # successive draws are not of one model


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("sd", [5.0, 20.0])
def test_noise_widens_the_draws_as_it_must(distribution: str, sd: float) -> None:
    """S⁻¹ (σ² S + Cov(E c)) S⁻¹ with the table's own S, σ and coefficients."""
    table = made_table(4, 5000, np.array([0.2, 0.0, 0.15]))
    moments = made_moments(table, sd, distribution=distribution)
    x, y = table[:, :-1], table[:, -1]
    beta, squares = np.linalg.lstsq(x, y)[:2]
    c = np.append(-beta, 1.0)
    covariance = moments.variances * np.outer(c, c)
    np.fill_diagonal(covariance, moments.variances @ c**2)
    inverse = np.linalg.inv(x.T @ x)
    without = squares[0] / len(table) * inverse
    expected = np.sqrt(np.diag(without + inverse @ covariance[:-1, :-1] @ inverse))[1:]
    assert np.all(expected > 1.05 * np.sqrt(np.diag(without))[1:])
    drawn = averaged_draws(single_columns(moments, "bic"), np.ones((1, 3), dtype=bool), np.ones(1), 4000, 1)
    assert drawn.working[:, 1:-1].std(axis=0) == pytest.approx(expected, rel=0.08)


SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "y": {"bounds": [1000, 3000]}, "a": {"bounds": [50, 60]}, "b": {"bounds": [-400, -100]}}})


def released(rows: int, seed: int, corner: bool = False, sd: float = 1e-6, lawful: str = "gaussian") -> tuple[MadePart, Array]:
    """A table with ranges far from 0 and its release, which is in units of half ranges from their middles."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(50, 60, size=rows), rng.uniform(-400, -100, size=rows)
    y = 2000 + 40.0 * (a - 55) - 1.5 * (b + 250) + 60.0 * rng.normal(size=rows)
    user = np.column_stack([np.ones(rows), a, b, y])
    unit = Basis.of(SCHEMA).evaluate({"y": y, "a": a, "b": b})
    noise = (gaussian if lawful == "gaussian" else laplace)(sd, corner)
    matrix = unit.T @ unit + noise_draws(rng, noise, unit.shape[1], 1)[0]
    return MadePart(matrix, None if corner else rows, noise), user


def averaged_user(parts: list[MadePart], formula: str, draws: int = 4000) -> Array:
    design = Design.of(formula, Basis.of(SCHEMA))
    units = Units.of(design, [])
    evidence = single_columns(Moments.of(parts, units), "zellner-siow")
    everything = np.ones((1, len(evidence.groups)), dtype=bool)
    return units.to_user(averaged_draws(evidence, everything, np.ones(1), draws, seed=1).working)


@pytest.mark.parametrize(("formula", "columns"), [("y ~ a + b", [0, 1, 2]), ("y ~ b + a", [0, 2, 1]), ("y ~ 0 + a + b", [1, 2])])
def test_user_units_with_ranges_far_from_zero(formula: str, columns: list[int]) -> None:
    part, user = released(4000, 1)
    drawn = averaged_user([part], formula)
    expected, squares = np.linalg.lstsq(user[:, columns], user[:, -1])[:2]
    error = np.sqrt(squares[0] / 4000 * np.diag(np.linalg.inv(user[:, columns].T @ user[:, columns])))
    assert np.max(np.abs(drawn[:, :-1].mean(axis=0) - expected) / error) < 0.15
    assert drawn[:, :-1].std(axis=0) == pytest.approx(error, rel=0.05)
    assert drawn[:, -1].mean() == pytest.approx(np.sqrt(squares[0] / 4000), rel=0.01)


def test_holders_with_different_noise_are_as_good_as_their_information() -> None:
    """The coefficients are right, σ² is not inflated by weights, and a noisy second holder does not spoil the first one."""
    quiet, _ = released(4000, 1, sd=1.0)
    loud, _ = released(40_000, 2, sd=3000.0)
    alone, both = averaged_user([quiet], "y ~ a + b"), averaged_user([quiet, loud], "y ~ a + b")
    truth = np.array([2000 - 40.0 * 55 - 1.5 * 250, 40.0, -1.5])
    assert np.max(np.abs(both[:, :-1].mean(axis=0) - truth) / both[:, :-1].std(axis=0)) < 3.5
    assert both[:, 1].std() < 1.05 * alone[:, 1].std()
    assert both[:, -1].mean() == pytest.approx(60.0, rel=0.15)


@pytest.mark.parametrize("lawful", ["gaussian", "laplace"])
def test_weights_make_moments_of_so_many_rows(lawful: str) -> None:
    """Where the tables are alike, the weighted sum over its rows is what a single table over its rows is."""
    (quiet, _), (loud, _) = released(4000, 1, sd=1.0, lawful=lawful), released(40_000, 2, sd=200.0, lawful=lawful)
    units = Units.of(Design.of("y ~ a + b", Basis.of(SCHEMA)), [])
    moments, single = Moments.of([quiet, loud], units), Moments.of([quiet], units)
    assert 4000 < moments.rows < 44_000
    assert moments.matrix[0, 0] == pytest.approx(moments.rows)
    assert np.diag(moments.matrix) / moments.rows == pytest.approx(np.diag(single.matrix) / single.rows, rel=0.05)
    assert np.diag(moments.spread) / moments.rows == pytest.approx(np.diag(single.matrix) / single.rows, rel=0.05)
    assert moments.residual_variance(np.zeros(3))[0] == pytest.approx(single.residual_variance(np.zeros(3))[0], rel=0.05)


def test_noisy_number_of_rows() -> None:
    part, user = released(4000, 1, corner=True, sd=5.0)
    drawn = averaged_user([part], "y ~ a + b")
    expected = np.linalg.lstsq(user[:, :3], user[:, -1])[0]
    assert np.max(np.abs(drawn[:, :-1].mean(axis=0) - expected) / drawn[:, :-1].std(axis=0)) < 3.0
    units = Units.of(Design.of("y ~ a + b", Basis.of(SCHEMA)), [])
    assert Moments.of([part], units).rows == part.matrix[0, 0]
