"""The families' functions of the linear predictor, against sums and integrals written out."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from noisewise.errors import DeclarationError
from noisewise.scores.families import FAMILIES, family_named
from noisewise.scores.nodes import Nodes

ETAS = np.array([-3.0, -0.7, 0.0, 0.4, 1.9])
BOUNDS = {"number": (-5.0, 9.0), "two levels": (0.0, 1.0), "count": (0.0, 15.0)}


def outcomes(name: str, eta: float, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Values and chances of a response that is not a number."""
    if name in ("logistic", "probit"):
        chance = 1 / (1 + math.exp(-eta)) if name == "logistic" else stats.norm.cdf(eta)
        return np.array([0.0, 1.0]), np.array([1 - chance, chance])
    counts = np.arange(0.0, 2000.0)
    if name == "poisson":
        return counts, stats.poisson.pmf(counts, math.exp(eta))
    return counts, stats.nbinom.pmf(counts, 1 / scale, 1 / (1 + scale * math.exp(eta)))


def moments(name: str, eta: float, low: float, high: float, scale: float) -> tuple[float, float]:
    """Mean and mean square of the clipped response."""
    if name == "gaussian":
        found = [integrate.quad(lambda y, power=power: np.clip(y, low, high) ** power * stats.norm.pdf(y, eta, scale),
                                eta - 12 * scale, eta + 12 * scale, points=[low, high], limit=200)[0] for power in (1, 2)]
        return found[0], found[1]
    values, chances = outcomes(name, eta, scale)
    clipped = np.clip(values, low, high)
    return float(clipped @ chances), float(clipped**2 @ chances)


@pytest.mark.parametrize("scale", [0.4, 1.3])
@pytest.mark.parametrize("name", FAMILIES)
def test_moments_of_a_clipped_response(name: str, scale: float) -> None:
    family = FAMILIES[name]
    low, high = family.limits(ETAS + 0.3, BOUNDS[family.response], scale)
    found = family.moments(ETAS, low, high, scale)
    for place, eta in enumerate(ETAS):
        ends = float(low[place]), float(high[place])
        mean, square = moments(name, eta, *ends, scale)
        assert found.mean[place] == pytest.approx(mean, rel=1e-6, abs=1e-9)
        assert found.square[place] == pytest.approx(square, rel=1e-6, abs=1e-9)
        rise = (moments(name, eta + 1e-4, *ends, scale)[0] - moments(name, eta - 1e-4, *ends, scale)[0]) / 2e-4
        assert found.slope[place] == pytest.approx(rise, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_score_has_mean_zero_at_its_own_coefficients(name: str) -> None:
    """ψ subtracts the mean of the clipped response, so clipping does not bias."""
    family = FAMILIES[name]
    nodes = Nodes.of(family, BOUNDS[family.response], 0.8)
    eta = nodes.start + nodes.step * np.arange(len(nodes.mean))
    for place in np.linspace(0.2 * len(eta), 0.7 * len(eta), 7).astype(int):
        mean, square = moments(name, eta[place], nodes.low[place], nodes.high[place], 0.8)
        assert nodes.mean[place] == pytest.approx(mean, rel=1e-6, abs=1e-8)
        spread = nodes.factor[place] ** 2 * (square - mean**2)
        assert nodes.square[place] == pytest.approx(spread, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("scale", [0.05, 0.8])
@pytest.mark.parametrize("name", FAMILIES)
def test_no_residual_exceeds_its_bound(name: str, scale: float) -> None:
    family = FAMILIES[name]
    nodes = Nodes.of(family, BOUNDS[family.response], scale)
    responses = np.array([0.0, 1.0]) if family.response == "two levels" else np.linspace(*BOUNDS[family.response], 16)
    for response in responses:
        residual = nodes.factor * (np.clip(response, nodes.low, nodes.high) - nodes.mean)
        assert np.all(np.abs(residual) <= nodes.bound)
    assert np.all((nodes.rate >= 0) & (nodes.rate <= nodes.bound**2))


@pytest.mark.parametrize("name", FAMILIES)
def test_curves_are_the_moments(name: str) -> None:
    family, random = FAMILIES[name], np.random.default_rng(0)
    low, high = family.limits(random.uniform(-2, 2.5, 40), BOUNDS[family.response], 0.7)
    eta = random.uniform(-4, 3, (40, 5))
    mean, slope = family.curve(low, high, 0.7)(eta)
    exact = family.moments(eta, np.repeat(low[:, None], 5, 1), np.repeat(high[:, None], 5, 1), 0.7)
    np.testing.assert_allclose(mean, exact.mean, atol=2e-5)
    np.testing.assert_allclose(slope, exact.slope, atol=2e-3)


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(DeclarationError) as refused:
        family_named("gamma")
    assert refused.value.argument == "family"
