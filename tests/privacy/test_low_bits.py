"""The last bits of a released number say nothing about the exact sum (Mironov 2012): it is a whole multiple of one grid step,
whatever the sum was, and which multiple is noise. Beside it, noise that is added to a float, which fails."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from noisewise.privacy.mechanisms.gram import SymmetricGaussian, SymmetricLaplace
from noisewise.privacy.sensitivity.gram import gram_sensitivity
from noisewise.schema.basis import STATISTIC_GRID

SENSITIVITY = gram_sensitivity(scalars=1, blocks=0, size=2, radius=1.0, norm_clipped=False, adjacency="add-remove")
MECHANISMS = (SymmetricGaussian.calibrate(SENSITIVITY, 1.0, 1e-6), SymmetricLaplace.calibrate(SENSITIVITY, 1.0))
SUMS = (0, 1, 3, 2**16, 2**36 + 1)
"""In units of the grid; as floats they would have different last bits."""
DRAWS = 600
LEVEL = 1e-12


def drawn(mechanism: SymmetricGaussian | SymmetricLaplace, value: int) -> npt.NDArray[np.float64]:
    exact = np.full((2, 2), value, dtype=np.int64)
    return np.concatenate([mechanism.perturb(exact)[np.triu_indices(2)] for _ in range(DRAWS // 3)])


def even(values: npt.NDArray[np.float64], bit: int) -> int:
    """How many have a 0 in this bit of their multiple of the grid step."""
    return int(np.sum((np.round(values / STATISTIC_GRID).astype(np.int64) >> bit) % 2 == 0))


def test_released_numbers_are_multiples_of_one_step_whatever_the_sum() -> None:
    for mechanism in MECHANISMS:
        for value in SUMS:
            found = drawn(mechanism, value) / STATISTIC_GRID
            assert np.array_equal(found, np.round(found))


def test_low_bits_are_fair_coins_whatever_the_sum() -> None:
    for mechanism in MECHANISMS:
        for value in SUMS:
            found = drawn(mechanism, value)
            for bit in range(4):
                assert binomtest(even(found, bit), DRAWS, 0.5).pvalue > LEVEL


def test_noise_added_to_a_float_gives_its_sum_away() -> None:
    """The same questions tell a sum of 0 from one of 2**20 in every single draw of textbook noise."""
    rng = np.random.default_rng(1)
    noise = rng.laplace(size=DRAWS)
    small, large = 0.0 + noise, 2.0**20 + noise
    coarse = 2.0**-33
    assert np.array_equal(large / coarse, np.round(large / coarse))
    assert np.mean(small / coarse == np.round(small / coarse)) < 0.01


def test_a_bit_that_is_left_as_it_was_would_be_noticed() -> None:
    rng = np.random.default_rng(2)
    kept = (2 * rng.integers(-(2**20), 2**20, DRAWS) + 1) * STATISTIC_GRID  # in steps of two: the last bit is the sum's
    assert binomtest(even(kept, 0), DRAWS, 0.5).pvalue < LEVEL
