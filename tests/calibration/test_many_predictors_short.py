"""The study of many predictors: its tables are what it says they are."""

from __future__ import annotations

import numpy as np
from studies.many_predictors import LogisticWorld, collapsed_part, root, rows_for, setting
from studies.tables import SIGMA, true_coefficients

D, ROWS, COUNT = 3, 4000, 400


def test_matrices_that_are_drawn_without_rows_have_the_moments_of_rows() -> None:
    rng = np.random.default_rng(61)
    found = np.array([collapsed_part(rng, D, ROWS).matrix for _ in range(COUNT)])
    beta = true_coefficients("normal", D)
    to_row = np.zeros((D + 2, D + 1))
    to_row[0, 0], to_row[1:-1, 1:], to_row[-1] = 1.0, np.eye(D), beta
    inner = np.zeros((D + 1, D + 1))
    inner[0, 0], inner[1:, 1:] = 1.0, root(D) @ root(D).T
    expected = to_row @ inner @ to_row.T
    expected[-1, -1] += SIGMA**2
    error = found.std(axis=0) / np.sqrt(COUNT) + 1e-9 * ROWS  # the corner is exact
    assert np.abs((found.mean(axis=0) - ROWS * expected) / error).max() < 4.5
    assert np.abs((found.mean(axis=0) - ROWS * 1.05 * expected) / error).max() > 4.5


def test_the_noise_is_the_share_of_the_smallest_moment_that_was_asked_for() -> None:
    rows = rows_for(20, 0.1)
    noise = setting(20, rows).noise().diagonal
    rng = np.random.default_rng(62)
    normal = rng.normal(size=(20, 20)) * noise
    largest = np.linalg.eigvalsh((normal + normal.T) / 2)[-1]
    smallest = rows * np.linalg.eigvalsh(root(20) @ root(20).T)[0]
    assert 0.07 < largest / smallest < 0.13


def test_the_linear_predictor_of_the_logistic_world_has_standard_deviation_1() -> None:
    world = LogisticWorld.of(15)
    assert np.isclose(np.linalg.norm(world.truth()[1:] @ root(15)), 1.0)
    assert not world.model(np.random.default_rng(63), 2000)[0].latent
