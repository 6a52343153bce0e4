"""The public search: where rounds look, when they stop, and what an estimate makes of them."""

import math

import numpy as np
import pytest
from tests.unit.scores.made_models import TRUTH, exact_fit, model_of, table_of

from noisewise.scores.change import Weights, changed_square
from noisewise.scores.correlations import correlations_of
from noisewise.scores.estimate import Estimate, NormalPrior, Place
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Likelihood, Problem
from noisewise.scores.looks import Known
from noisewise.scores.reference import Reference, Seen
from noisewise.scores.rounds import Look


@pytest.mark.parametrize("family", FAMILIES)
def test_without_noise_it_finds_the_maximum_of_the_likelihood(family: str) -> None:
    model, random = model_of(family, 1e5), np.random.default_rng(3)
    table, response = table_of(model, 20_000, random)
    exact, errors = exact_fit(model, table, response)
    fitted = model.fit([model.release(table, response, random)], draws=250)
    found = fitted.draws[:, :3].mean(axis=0)
    # Clipped residuals and rows of limited length lose a little information: another estimate, close to this one.
    assert np.all(np.abs(found - exact) < 0.6 * errors)
    assert fitted.draws[:, :3].std(axis=0) == pytest.approx(errors, rel=0.25)
    assert fitted.doubts == ()


def test_where_noise_hides_everything_there_is_one_round_with_all_of_the_budget() -> None:
    model, random = model_of("logistic", 0.02), np.random.default_rng(4)
    released = model.release(*table_of(model, 500, random), random)
    assert len(released.rounds) == 1
    fitted = model.fit([released], draws=250)
    low, high = fitted.interval()
    assert np.all((low < TRUTH) & (TRUTH < high))
    assert np.all(high - low > 1.0)


def test_rounds_come_nearer() -> None:
    model, random = model_of("logistic", 1.0), np.random.default_rng(5)
    released = model.release(*table_of(model, 30_000, random), random)
    apart = [float(np.linalg.norm(one.point.coefficients - TRUTH)) for one in released.rounds]
    assert len(apart) >= 2
    assert apart[-1] < 0.2 * apart[0]
    assert released.rounds[-1].noise.score == min(one.noise.score for one in released.rounds)


def test_two_holders_are_fitted_together_in_any_order() -> None:
    model, random = model_of("logistic", 2.0), np.random.default_rng(6)
    both = [model.release(*table_of(model, rows, random), random) for rows in (4000, 9000)]
    forward, backward, one = model.fit(both, draws=1000), model.fit(both[::-1], draws=1000), model.fit(both[1:], draws=1000)
    sds = forward.draws.std(axis=0)
    assert np.all(np.abs(forward.draws.mean(axis=0) - backward.draws.mean(axis=0)) < 0.2 * sds)
    assert sds == pytest.approx(backward.draws.std(axis=0), rel=0.15)
    assert np.all(sds < one.draws.std(axis=0))


def likelihoods(epsilon: float, count: int) -> list[Likelihood]:
    model, random = model_of("logistic", epsilon), np.random.default_rng(7)
    family, found = FAMILIES["logistic"], []
    for _ in range(count):
        released = model.release(*table_of(model, 6000, random), random)
        known = Known.of(model.basis, family, released.look)
        problem = Problem.of(model.basis, model.design, family, released.look)
        found.append(Likelihood.of(problem, released.rounds, Reference.of(model.basis, known)))
    return found


def test_places_of_holders_are_the_same_coefficients() -> None:
    first, other = likelihoods(1.0, 2)
    place, distance = Place.of(first, other), np.array([0.3, -0.2, 0.1])
    mine = first.last.round.point.coefficients + first.to_coefficients @ distance
    theirs = other.last.round.point.coefficients + other.to_coefficients @ place.distance(distance)
    np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_the_mode_is_where_nothing_is_higher() -> None:
    from noisewise.posterior.model.density import Density

    (one,) = likelihoods(1.0, 1)
    prior = NormalPrior.usual(one.problem, [one.reference], 1.0)
    best = Estimate.of([one], prior)
    density, random = Density(best), np.random.default_rng(8)
    around = best.distance + 0.3 * random.multivariate_normal(np.zeros(3), best.covariance, size=200)
    values = density(np.vstack([best.distance, around]))
    assert best.converged
    assert values[0] >= values[1:].max()
    # Its curvature is the inverse of the covariance.
    apart = around - best.distance
    quadratic = -0.5 * np.einsum("ri,ij,rj->r", apart, np.linalg.inv(best.covariance), apart)
    np.testing.assert_allclose(values[1:] - values[0], quadratic, atol=0.05 + 0.1 * np.abs(quadratic).max())


def test_correlations_of_a_matrix_without_noise() -> None:
    model, random = model_of("gaussian", 1e5), np.random.default_rng(9)
    table, response = table_of(model, 50_000, random)
    released = model.release(table, response, random)
    problem = Problem.of(model.basis, model.design, FAMILIES["gaussian"], released.look)
    found = correlations_of(problem, model.basis, released.rounds[0])
    exact = np.corrcoef(table[:, 1:3].T)[0, 1]
    assert found[0, 1] == pytest.approx(exact, abs=0.12)  # rows far out count less
    assert found[0, 0] == pytest.approx(1.0)


def test_made_up_rows_learn_a_matrix() -> None:
    model, random = model_of("logistic", 1.0), np.random.default_rng(10)
    table, _ = table_of(model, 20_000, random)
    look = Look(noise=1e-3, sums=np.concatenate([table[:, 1:].sum(axis=0), (table[:, 1:3] ** 2).sum(axis=0)]), rows=20_000.0,
                rows_noise=0.0)
    known = Known.of(model.basis, FAMILIES["logistic"], look)
    rows = Reference.of(model.basis, known)
    predictors = table[:, :3]
    exact = predictors.T @ predictors / len(table)
    seen = Seen(exact, np.full((3, 3), 1e-8), rows.rows, np.ones(len(rows.rows)))
    before, after = seen.of(rows.weights), seen.of(rows.reweighted([seen]).weights)
    assert np.abs(before - exact).max() > 0.02
    assert np.abs(after - exact).max() < 0.005


@pytest.mark.parametrize("added", [True, False])
def test_a_change_counts_every_piece_unless_it_is_proved_free(added: bool) -> None:
    light, heavy = Weights(0.35, 1.0, 0.15), Weights(0.9, 1.0, 0.15)
    assert changed_square(light, added=added) == (2.5 if added else 4.35)
    assert changed_square(heavy, added=added) == pytest.approx(3.05 if added else 4 + 1.8 + 1.0 + 0.3)


def test_default_weights_are_light_enough_to_be_free() -> None:
    for scaled in (False, True):
        for spread in (False, True):
            weights = Weights.of("replace-one", scaled=scaled, spread=spread)
            assert changed_square(weights, added=False) == 4.0 + weights.matrix
            assert math.isclose(changed_square(weights, added=True), 1 + weights.matrix + weights.square + weights.spread)


def test_a_fit_of_overdispersed_counts_says_so() -> None:
    doubts = {}
    for made, dispersed in (("poisson", False), ("negative-binomial", True)):
        table, response = table_of(model_of(made, 5.0), 30_000, np.random.default_rng(11))
        model, random = model_of("poisson", 5.0), np.random.default_rng(12)
        doubts[dispersed] = model.fit([model.release(table, response, random)], draws=100).doubts
    assert doubts[False] == ()
    assert len(doubts[True]) == 1 and "negative-binomial" in doubts[True][0]
