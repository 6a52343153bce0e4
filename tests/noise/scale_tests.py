"""Tests of a noise scale with a fixed level and a known power; nothing here has or needs a seed.

`LEVEL` is the probability that one test rejects noise that is right. There are fewer than 100 such tests, so a run of all of
them fails by chance less than once in 1e10 runs. A test that must reject wrong noise does so with a probability above 1 − 1e-9.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 1e-12

Distribution = Literal["gaussian", "laplace"]


def _statistic_law(distribution: Distribution, count: int) -> stats.distributions.rv_frozen:
    """Σ(x/s)² ~ χ²(N) for N(0, s²), Σ|x|/s ~ Gamma(N) for Laplace(s): exact for continuous noise."""
    return stats.chi2(count) if distribution == "gaussian" else stats.gamma(count)


def _statistic(distribution: Distribution, draws: NDArray[np.float64], scale: float) -> float:
    scaled = draws / scale
    return float(np.sum(scaled**2) if distribution == "gaussian" else np.sum(np.abs(scaled)))


def has_scale(distribution: Distribution, draws: NDArray[np.float64], scale: float) -> bool:
    """Whether draws around zero are compatible with a scale (the sd of a Gaussian, the scale of a Laplace)."""
    law = _statistic_law(distribution, draws.size)
    return bool(law.ppf(LEVEL / 2) <= _statistic(distribution, draws, scale) <= law.isf(LEVEL / 2))


def power(distribution: Distribution, count: int, ratio: float) -> float:
    """Probability that `has_scale` rejects `ratio` times the true scale."""
    law = _statistic_law(distribution, count)
    factor = ratio**2 if distribution == "gaussian" else ratio
    accepted = law.cdf(law.isf(LEVEL / 2) * factor) - law.cdf(law.ppf(LEVEL / 2) * factor)
    return float(1 - accepted)


def assert_scale(distribution: Distribution, draws: NDArray[np.float64], scale: float) -> None:
    """Accept the true scale, reject 10 % more and 10 % less, and make sure that the rejection was no luck."""
    for wrong in (0.9, 1.1):
        assert power(distribution, draws.size, wrong) > 1 - 1e-9
        assert not has_scale(distribution, draws, wrong * scale)
    assert has_scale(distribution, draws, scale)


def assert_shape(distribution: Distribution, draws: NDArray[np.float64], scale: float) -> None:
    """Kolmogorov–Smirnov: accept the distribution, reject the other one with the same sd."""
    gaussian_sd = scale if distribution == "gaussian" else scale * np.sqrt(2)
    laws = {"gaussian": stats.norm(0, gaussian_sd), "laplace": stats.laplace(0, gaussian_sd / np.sqrt(2))}
    for name, law in laws.items():
        compatible = stats.kstest(draws, law.cdf).pvalue > LEVEL
        assert compatible == (name == distribution)
