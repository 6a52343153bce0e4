"""Truths drawn from the prior: of the terms that get a probability of 0.7, seven in ten are in the true model.

Five bins of said probabilities; in each the sum of (true − said) over its standard deviation; squares added up: χ² with five
degrees of freedom if the probabilities are right, tested at the level 0.001.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from tests.unit.posterior.noisy_matrices import gaussian, laplace, noise_draws
from tests.unit.selection.made_moments import Array, from_matrix
from tests.unit.selection.made_truths import calibration, noise_aware, plug_in

from noisewise.releases.contents.gram import EntryNoise
from noisewise.selection.moments import Moments

ROWS = 4000
LIMIT = float(chi2.isf(0.001, df=5))


class Released:
    def __init__(self, noise: EntryNoise) -> None:
        self.noise = noise

    def __call__(self, rng: np.random.Generator, matrix: Array) -> Moments:
        noisy = matrix + noise_draws(rng, self.noise, len(matrix), 1)[0]
        return from_matrix(noisy, self.noise.variances(len(matrix)), noisy[0, 0])


@pytest.mark.outer(but=["10.0"])
@pytest.mark.parametrize("sd", [10.0, 40.0])
def test_noise_aware_probabilities_come_true_and_plug_in_ones_do_not(sd: float) -> None:
    release = Released(gaussian(sd, corner=False))
    assert calibration(noise_aware, release, 200, ROWS, 4, seed=1).chi2 < LIMIT
    assert calibration(plug_in, release, 200, ROWS, 4, seed=1).chi2 > 10 * LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("corner", [False, True])
@pytest.mark.parametrize("sd", [3.0, 10.0, 40.0])
def test_noise_aware_probabilities_come_true_in_many_replicates(sd: float, corner: bool) -> None:
    assert calibration(noise_aware, Released(gaussian(sd, corner)), 2000, ROWS, 5, seed=2).chi2 < LIMIT


@pytest.mark.slow
def test_where_noise_nearly_hides_the_predictors_probabilities_are_only_roughly_right() -> None:
    """The predictors' least moment is about three standard deviations of its noise away from 0: see ``Moments.clarity``."""
    found = calibration(noise_aware, Released(gaussian(100.0, corner=False)), 1000, ROWS, 5, seed=2)
    assert found.mean_gap < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("sd", [10.0, 40.0])
def test_laplace_noise_is_nearly_calibrated(sd: float) -> None:
    """Its tails are heavier than the normal ones that the analysis assumes: 1.00 comes true in 98 or 99 cases of 100."""
    release = Released(laplace(sd, corner=False))
    assert calibration(noise_aware, release, 1000, ROWS, 4, seed=3).mean_gap < 0.03
    assert calibration(plug_in, release, 1000, ROWS, 4, seed=3).mean_gap > 0.1
