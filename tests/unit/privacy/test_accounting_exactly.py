"""Allowances of the accountant by hand: what they are for cannot be seen in a result, only that they are there."""

from __future__ import annotations

import math

import pytest

from noisewise.privacy import accounting
from noisewise.privacy.accounting import Composition, Rule, _gaussian_size, compose, gaussian_epsilon
from noisewise.privacy.calibration import log_delta_of_gaussian
from noisewise.privacy.cost import Cost, Piece


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_the_epsilon_of_gaussian_noise_keeps_both_of_its_allowances(multiplier: float, delta: float) -> None:
    """1e-10 of delta, for the error of the curve, and 1e-10 of epsilon itself."""
    found = gaussian_epsilon(multiplier, delta)
    assert found > 0
    inner = found / (1 + 1e-10)
    assert log_delta_of_gaussian(inner, multiplier) <= math.log(delta) - 0.99e-10
    assert log_delta_of_gaussian(inner * (1 - 3e-12), multiplier) > math.log(delta) - 1.05e-10 - 1e-11 * inner * multiplier**2


class Asked:
    """In the place of a composed distribution: remembers which delta it is asked for."""

    delta = math.nan

    def get_epsilon_for_delta(self, delta: float) -> float:
        self.delta = delta
        return 1.0


def test_every_point_of_a_coarse_grid_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two more than fit between the ends. Here there are few, so that each makes a difference."""
    asked = Asked()
    monkeypatch.setattr(accounting, "_loss_distribution", lambda costs, grid: (asked, 5))
    rho = 0.5**2 / 2
    reach = rho + 2 * math.sqrt(rho * math.log(1e22))
    assert compose([Cost.laplace(2.0, 0.5)], 1e-9, grid=reach / 2).distributions == 1.0
    points = 4 + 2
    assert 1e-9 - asked.delta == pytest.approx(5 * points * 3 * math.log2(points) * 2.0**-53, rel=1e-6, abs=0)


@pytest.mark.parametrize(("rule", "epsilon"), [("basic", 4.0), ("gaussian", 3.0), ("planned", 1.0)])
def test_a_rule_decides_which_way_of_reckoning_counts(rule: Rule, epsilon: float) -> None:
    assert Composition(1e-6, rule, 4.0, 3.0, 2.0, 1.0).epsilon == epsilon


@pytest.mark.parametrize("least", range(4))
def test_a_plan_takes_the_least_of_all(least: int) -> None:
    numbers = [5.0] * 4
    numbers[least] = 2.0
    assert Composition(1e-6, "planned", *numbers).epsilon == 2.0


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 2.0, 4.0])
def test_laplace_noise_counts_as_the_pure_mechanism_that_it_is(epsilon: float) -> None:
    assert _gaussian_size(Piece("laplace", (1 / epsilon,))) == _gaussian_size(Piece("approximate", (epsilon, 0.0)))
    assert _gaussian_size(Piece("gaussian", (1 / epsilon,))) == epsilon
    assert _gaussian_size(Piece("approximate", (epsilon, 1e-300))) == math.inf


@pytest.mark.parametrize("multiplier", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_concentrated_privacy_has_an_allowance_for_its_roundings(multiplier: float, delta: float) -> None:
    """One part in 10¹²; what is computed without it may lie below by one in 10¹⁵."""
    rho = 1 / (2 * multiplier**2)
    expected = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert 0.99e-12 < compose([Cost.gaussian(multiplier, 1.0, delta)], delta).concentrated / expected - 1 < 1.2e-12
