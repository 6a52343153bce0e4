"""The sampler, on densities whose moments are known."""

import numpy as np
import pytest

from noisewise.arrays import Array
from noisewise.posterior.model.sampler import Proposal, sample
from noisewise.run import nobody

COVARIANCE = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.3], [0.0, 0.3, 2.0]])
CENTRE = np.array([3.0, -1.0, 0.5])


def normal(values: Array) -> Array:
    apart = values - CENTRE
    found: Array = -0.5 * np.einsum("ri,ij,rj->r", apart, np.linalg.inv(COVARIANCE), apart)
    return found


def banana(values: Array) -> Array:
    """x ~ N(0, 1) and y ~ N(x², 0.2²)."""
    x, y = values.T
    found: Array = -0.5 * x**2 - 0.5 * ((y - x**2) / 0.2) ** 2
    return found


def test_a_normal_density_is_drawn_almost_independently() -> None:
    drawn = sample([normal], [Proposal.of(CENTRE, COVARIANCE)], draws=2000, chains=4, seed=1, tick=nobody)
    flat = drawn.draws.reshape(-1, 3)
    assert drawn.accepted > 0.8
    np.testing.assert_allclose(flat.mean(axis=0), CENTRE, atol=0.1)
    np.testing.assert_allclose(np.cov(flat.T), COVARIANCE, atol=0.15)


def test_a_poor_proposal_is_replaced() -> None:
    drawn = sample([normal], [Proposal.of(CENTRE + 1.5, 0.3 * np.eye(3))], draws=2000, chains=4, seed=2, tick=nobody)
    flat = drawn.draws.reshape(-1, 3)
    np.testing.assert_allclose(flat.mean(axis=0), CENTRE, atol=0.2)
    np.testing.assert_allclose(np.cov(flat.T), COVARIANCE, atol=0.3)


@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_walkers_follow_a_bend(spread: float) -> None:
    """From a good approximation and from one that is far too narrow."""
    drawn = sample([banana], [Proposal.of(np.zeros(2), spread * np.eye(2))], draws=3000, chains=4, seed=3, tick=nobody)
    x, y = drawn.draws.reshape(-1, 2).T
    assert abs(x.mean()) < 0.2
    assert x.std() == pytest.approx(1.0, abs=0.15)
    assert y.mean() == pytest.approx(1.0, abs=0.25)


def test_strata_are_equally_likely_whatever_their_level() -> None:
    def lower(values: Array) -> Array:
        return normal(values) - 50.0

    drawn = sample([normal, lower], [Proposal.of(CENTRE, COVARIANCE)] * 2, draws=2000, chains=4, seed=4, tick=nobody)
    assert drawn.strata.mean() == pytest.approx(0.5, abs=0.05)


def test_seeds_decide() -> None:
    one, same, other = (sample([normal], [Proposal.of(CENTRE, COVARIANCE)], draws=50, chains=2, seed=seed, tick=nobody).draws
                        for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
