"""The laws of the noise against SciPy's, and the epsilon of a distance against the calibration."""

from __future__ import annotations

import pytest
from scipy import stats

from noisewise.audits.laws import Gaussian, Laplace, Law, Wishart
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.mechanisms.wishart import smallest_degrees

LAWS = [(Gaussian(), stats.norm()), (Laplace(), stats.laplace()), (Wishart(30, 2, replaced=True), stats.chi2(30, loc=-30))]


@pytest.mark.parametrize(("law", "reference"), LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("probability", [1e-6, 0.1, 0.5, 0.9])
def test_quantiles(law: Law, reference: stats.rv_continuous, probability: float) -> None:
    assert law.ppf(probability) == pytest.approx(reference.ppf(probability), abs=1e-9)
    assert law.isf(probability) == pytest.approx(reference.isf(probability), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_epsilon_of_a_distance_is_that_of_the_calibration(epsilon: float) -> None:
    distance = 1 / analytic_gaussian_sigma(epsilon, 1e-6, 1.0)
    assert Gaussian().epsilon(distance, 1e-6) == pytest.approx(epsilon, rel=1e-6)
    assert Laplace().epsilon(epsilon, 0.0) == epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_epsilon_of_wishart_noise(epsilon: float) -> None:
    """One degree of freedom less would not do for added rows; of replaced ones the number is a bound from below."""
    degrees = smallest_degrees(3, epsilon, 1e-6, replaced=False)
    assert Wishart(degrees, 3, replaced=False).epsilon(1.0, 1e-6) <= epsilon < Wishart(degrees - 1, 3, False).epsilon(1.0, 1e-6)
    replaced = smallest_degrees(3, epsilon, 1e-6, replaced=True)
    assert 0 < Wishart(replaced, 3, replaced=True).epsilon(1.0, 1e-6) <= epsilon


@pytest.mark.parametrize("law", [Gaussian(), Laplace(), Wishart(30, 2, replaced=False)], ids=lambda law: type(law).__name__)
def test_a_larger_distance_costs_more_and_none_costs_nothing(law: Law) -> None:
    assert 0.0 == law.epsilon(0.0, 1e-6) < law.epsilon(0.5, 1e-6) < law.epsilon(1.0, 1e-6)
