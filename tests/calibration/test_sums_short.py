"""Simulation-based calibration of posteriors from a noisy sum, short; coverage is ``python -m studies.sums_coverage``."""

from __future__ import annotations

import numpy as np
import pytest
from studies.sums_coverage import CASES, replicate
from studies.uniformity import KEPT, chi_square_p, ranks_among

LEVEL = 1e-4


def ranks_p(family: str, method: str, replicates: int, rows: int, epsilon: float, draws: int = 99) -> float:
    """A p-value for the truth's ranks among draws being uniform."""
    found = [replicate(family, rows, epsilon, method, seed, draws=draws) for seed in range(replicates)]
    chains = np.array([draws[:KEPT] if len(draws) == KEPT else draws[:: len(draws) // KEPT][:KEPT] for _, draws in found])
    return chi_square_p(ranks_among(chains[..., None], np.array([[truth] for truth, _ in found]))[:, 0])


@pytest.mark.inner
@pytest.mark.parametrize("family", ["bernoulli", pytest.param("poisson", marks=pytest.mark.slow)])
def test_ranks_are_uniform(family: str) -> None:
    assert ranks_p(family, "exact", 100, 100, 0.5) > LEVEL


@pytest.mark.parametrize("family", ["poisson", "exponential"])
def test_ignoring_the_noise_is_noticed(family: str) -> None:
    assert ranks_p(family, "naive", 300, 100, 0.25) < LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("family", CASES)
@pytest.mark.parametrize(("rows", "epsilon"), [(100, 0.5), (1000, 2.0)])
def test_ranks_are_uniform_over_many_tables(family: str, rows: int, epsilon: float) -> None:
    assert ranks_p(family, "exact", 1000, rows, epsilon) > LEVEL
