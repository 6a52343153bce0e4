"""Which combining rule covers, short; the table is ``python -m studies.synthetic_coverage``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from studies.synthetic_coverage import replicate

LEVEL = 1e-4


def covered(replicates: int, rows: int, epsilon: float) -> dict[str, np.ndarray]:
    found = [replicate(rows, epsilon, 1e-6, 20, seed) for seed in range(1000, 1000 + replicates)]
    return {rule: np.sum([one[rule][0] for one in found], axis=0) for rule in found[0]}


def too_low(counts: np.ndarray, replicates: int) -> np.ndarray:
    """So few intervals hold the truth by chance less than once in ten thousand; 94 %, because sweeps and rows are finite."""
    return np.asarray(binom.cdf(counts, replicates, 0.94) < LEVEL)


def test_the_limit() -> None:
    """Of 30 intervals at least 23 must hold."""
    np.testing.assert_array_equal(too_low(np.array([21, 23, 30]), 30), [True, False, False])


def test_the_rule_for_one_release_covers_and_the_rule_for_separate_noise_does_not() -> None:
    """Mean, slope and difference, with noise that is larger than the rows' own uncertainty for the slope."""
    counts = covered(30, 2000, 2.0)
    assert not too_low(counts["one-release"], 30).any(), counts
    assert too_low(counts["separate"], 30)[1], counts


@pytest.mark.slow
def test_coverage_over_more_tables() -> None:
    """Of 300 intervals: too low and, for Rubin's rule, too high where there is little noise."""
    counts = covered(300, 2000, 20.0)
    assert not too_low(counts["one-release"], 300).any() and (counts["one-release"] < 296).any(), counts
    assert (counts["imputation"] >= 296).all(), counts
