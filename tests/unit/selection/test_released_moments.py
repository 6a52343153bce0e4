"""Draws of the table's own moments given the release."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.posterior.noisy_matrices import gaussian, noise_draws
from tests.unit.selection.made_moments import Array, from_matrix, made_moments, made_table, single_columns
from tests.unit.selection.made_truths import as_if_exact, drawn_truth, inclusion

from noisewise.selection import bands as module
from noisewise.selection.averaged import averaged_draws
from noisewise.selection.bands import moment_draws
from noisewise.selection.probabilities import log_prior_by_size
from noisewise.selection.subsets import memberships, sizes

ROWS, COUNT, DRAWS, RELEASES = 4000, 4, 40, 40


def gaps(sd: float, seed: int) -> Array:
    """Mean inclusion probabilities of draws without noise, less those given the release, for each release and term."""
    rng = np.random.default_rng(seed)
    noise = gaussian(sd, False)
    result = []
    for release in range(RELEASES):
        matrix = drawn_truth(rng, ROWS, COUNT)[0]
        noisy = matrix + noise_draws(rng, noise, len(matrix), 1)[0]
        evidence = single_columns(from_matrix(noisy, noise.variances(len(matrix)), ROWS), "zellner-siow")
        logs = evidence.all_models() + log_prior_by_size("beta-binomial", COUNT)[sizes([1] * COUNT)]
        drawn = averaged_draws(evidence, memberships(COUNT), np.exp(logs - logs.max()), DRAWS, release)
        own = [as_if_exact(evidence, possible) for possible in moment_draws(evidence, drawn, DRAWS, release)]
        result.append(np.mean(own, axis=0) - inclusion(evidence))
    return np.array(result)


def standardised(found: Array) -> float:
    by_release = found.mean(axis=1)
    return float(by_release.mean() / (by_release.std(ddof=1) / np.sqrt(len(by_release))))


@pytest.mark.outer(but=["10.0"])
@pytest.mark.parametrize("sd", [10.0, 40.0])
def test_inclusion_probabilities_without_noise_average_to_those_given_the_release(
        sd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tower property. Noise that is drawn as if the release had said nothing about it does not have it."""
    found = gaps(sd, seed=7)
    assert abs(standardised(found)) < 3.5
    assert np.sqrt(np.mean(found**2)) < 0.05
    monkeypatch.setattr(module, "_correction", lambda *_: 0.0)
    wrong = gaps(sd, seed=7)
    assert standardised(wrong) > 5.0
    assert np.sqrt(np.mean(wrong**2)) > 0.1


def test_little_noise_leaves_the_matrix_as_it_was_released() -> None:
    moments = made_moments(made_table(1, 2000, np.array([0.3, 0.0])), sd=1e-3)
    evidence = single_columns(moments, "zellner-siow")
    drawn = averaged_draws(evidence, memberships(2), np.ones(4), 20, seed=1)
    for matrix in moment_draws(evidence, drawn, 20, seed=2):
        assert np.array_equal(matrix, matrix.T)
        assert matrix == pytest.approx(moments.matrix, abs=0.01)
        assert matrix[0, 0] == 2000.0  # a public number of rows has no noise
