"""Tables that a release may come from: the draws themselves where these are possible, and possible ones where they are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.unit.selection.made_moments import made_moments, made_table, single_columns

from noisewise.selection.averaged import AveragedDraws, averaged_draws
from noisewise.selection.bands import moment_draws, possible_tables
from noisewise.selection.evidence import Evidence
from noisewise.selection.probabilities import probabilities
from noisewise.selection.subsets import memberships

TABLE = made_table(1, 5000, np.array([0.5, 0.1, 0.0]))
MEMBERS = memberships(3)


def noisy(sd: float) -> Evidence:
    return single_columns(made_moments(TABLE, sd), "zellner-siow")


def draws_of(evidence: Evidence, count: int) -> AveragedDraws:
    weights = probabilities(evidence.log_bayes_factors(MEMBERS), MEMBERS, np.zeros(4))
    return averaged_draws(evidence, MEMBERS, weights, count, 1)


def test_possible_draws_are_hardly_changed() -> None:
    evidence = noisy(2.0)
    drawn = draws_of(evidence, 50)
    plain = np.array(list(moment_draws(evidence, drawn, 50, 2)))
    found = np.array(list(possible_tables(evidence, drawn, 50, 2)))
    assert found.shape == plain.shape == (50, 5, 5)
    # The residuals' covariance is that of the released predictors, which differ from the drawn ones by the noise.
    assert np.abs(found - plain).max() < 2.0 < np.abs(plain - evidence.moments.matrix).max()


@pytest.mark.parametrize("sd", [2.0, 300.0, 1e5])
def test_tables_are_positive_definite(sd: float) -> None:
    evidence = noisy(sd)
    found = np.array(list(possible_tables(evidence, draws_of(evidence, 100), 100, 2)))
    assert np.allclose(found, np.swapaxes(found, 1, 2)) and np.linalg.eigvalsh(found).min() > 0


@pytest.mark.parametrize("sd", [300.0, 1e5])
def test_tables_have_the_drawn_regression(sd: float) -> None:
    evidence = noisy(sd)
    drawn = draws_of(evidence, 200)
    found = np.array(list(possible_tables(evidence, drawn, 200, 2)))
    gram, cross = found[:, :-1, :-1], found[:, :-1, -1]
    standard = []
    for one, moments, row in zip(gram, cross, drawn.working, strict=True):
        across = moments - one @ row[:-1]
        standard.append(across @ np.linalg.solve(one, across) / row[-1] ** 2)
    # Where the release says nothing about the residuals, their projection on the predictors is chi-squared with 4 degrees.
    assert abs(np.mean(standard) - 4) < 5 * math.sqrt(2 * 4 / 200)


def test_a_seed_makes_them_reproducible() -> None:
    evidence = noisy(300.0)
    drawn = draws_of(evidence, 5)
    one, two, other = (np.array(list(possible_tables(evidence, drawn, 5, seed))) for seed in (3, 3, 4))
    assert np.array_equal(one, two) and not np.array_equal(one, other)
