"""The parts of the bound on Wishart noise, each against densities and distribution functions that know nothing of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, norm
from tests.refusals import about

from noisewise.errors import PrivacyError
from noisewise.privacy.mechanisms import wishart
from noisewise.privacy.mechanisms.wishart import FEWEST_EXTRA, LARGEST_EXTRA, SPECIAL_FUNCTIONS, SymmetricWishart
from noisewise.privacy.sensitivity.gram import gram_sensitivity


def best_half_line(epsilon: float, shift: float, degrees: int) -> float:
    """The delta of c against c + shift, c chi-square: over many half-lines, by SciPy's distribution functions."""
    x = np.linspace(0.0, 120.0, 20_001)
    if shift > 0:
        return float(np.max(chi2.cdf(x, degrees) - np.exp(epsilon) * chi2.cdf(x - shift, degrees)))
    return float(np.max(chi2.sf(x, degrees) - np.exp(epsilon) * chi2.sf(x - shift, degrees)))


def log_density(square: float, product: float, degrees: int) -> float:
    """Of a chi-square variable and, given it, of its root times a normal variable."""
    root = math.sqrt(square)
    return float(chi2.logpdf(square, degrees) + norm.logpdf(product / root) - math.log(root))


@pytest.mark.parametrize("extra", [3, 12])
@pytest.mark.parametrize("square", [1.7, 6.0, 15.0])
@pytest.mark.parametrize("normal", [0.3, 1.0, 2.5])
def test_delta_given_a_fibre_is_that_of_its_densities(extra: int, square: float, normal: float) -> None:
    """V4, from the densities of the fibre under both tables: the loss that it has, and what is left to the last variable."""
    epsilon, product = 0.4, math.sqrt(square) * normal
    old, new = (float(found(np.array([square]), np.array([normal]), epsilon, extra)[0])
                for found in (wishart._delta_of_old_row, wishart._delta_of_new_row))
    loss = log_density(square, product, extra + 2) - log_density(square + 1, product, extra + 2)
    share = normal**2 / (square + 1)
    expected = max(best_half_line(epsilon - loss, shift, extra + 1) for shift in (1 - share, -share) if shift != 0)
    assert old == pytest.approx(max(expected, 0.0), rel=1e-3, abs=1e-6)
    loss = log_density(square, product, extra + 2) - log_density(square - 1, product, extra + 2)
    share = normal**2 / (square - 1)
    expected = max(best_half_line(epsilon - loss, shift, extra + 1) for shift in (share, min(share - 1, -1e-9)))
    assert new == pytest.approx(max(expected, 0.0), rel=1e-3, abs=1e-6)


def test_a_difference_is_rounded_up_by_the_allowance_for_both_of_its_terms() -> None:
    """V6: first (1 + a) − second (1 − a); what is infinite or cannot be computed counts in full."""
    def difference(epsilon: float, first: float, second: float, everywhere: bool = False) -> float:
        found = wishart._difference(np.array([epsilon]), np.array([first]), np.array([second]), np.array([everywhere]))
        return float(found[0])

    assert difference(1.0, 0.5, 0.25) - 0.25 == pytest.approx(0.75 * SPECIAL_FUNCTIONS, rel=1e-4)
    assert difference(1.0, 0.5, 0.5) == pytest.approx(SPECIAL_FUNCTIONS, rel=1e-4)
    assert difference(1.0, 0.5, math.inf) == pytest.approx(0.5, rel=1e-9)
    assert difference(1.0, math.nan, 0.1) == 1.0 and difference(1.0, 0.1, 0.2) == 0.0 and difference(1.0, 3.0, 0.2) == 1.0
    assert difference(-1.0, 0.5, 0.2, everywhere=True) == pytest.approx(-math.expm1(-1.0), rel=1e-15)
    assert difference(1.0, 0.5, 0.2, everywhere=True) == 0.0


@pytest.mark.parametrize(("extra", "epsilon"), [(60, 8.0), (60, 6.0)])
def test_no_digits_are_lost_where_delta_is_tiny(extra: int, epsilon: float) -> None:
    """Masses are differences of the smaller of two tails: else the bound falls below that of a row that is only added."""
    added = wishart.delta_if_added(extra, epsilon)
    assert added < 1e-22 and added <= wishart.delta_if_replaced(extra, epsilon, 1e-40) < 2 * added


def test_the_least_delta_that_the_sampling_can_keep() -> None:
    """V7: (1 + e^ε) q(q + 1) 2**-91 k (2B²/γ + 1) is at most a 1024th of delta; to the last of its terms."""
    sensitivity = gram_sensitivity(scalars=3, blocks=0, size=4, radius=1.0, norm_clipped=True, adjacency="replace-one")
    assert sensitivity.spectral == 2.0
    least = 1024 * (1 + math.exp(1.5)) * 4 * 5 * 2.0**-91 * 50 * (2 * 2.0 * 2**16 + 1)
    SymmetricWishart(sensitivity=sensitivity, epsilon=1.5, delta=least * (1 + 1e-9), degrees=50)._check_sampling()
    with pytest.raises(PrivacyError, check=about("delta")):
        SymmetricWishart(sensitivity=sensitivity, epsilon=1.5, delta=least * (1 - 1e-9), degrees=50)._check_sampling()


@pytest.mark.parametrize("epsilon", [0.2, 0.35, 0.4])
def test_the_best_event_is_everything_or_nothing_only_beyond_half_of_the_shift(epsilon: float) -> None:
    """V1: everything from -shift/2 down, nothing from shift/2 up, and a half-line between them."""
    up, down = (float(hockey(np.array([sign * epsilon]), np.ones(1), 2.0)[0])
                for sign, hockey in ((-1, wishart.shifted_up), (1, wishart.shifted_down)))
    assert up == pytest.approx(best_half_line(-epsilon, 1.0, 4), rel=1e-6) and up > -math.expm1(-epsilon) + 1e-7
    assert down == pytest.approx(best_half_line(epsilon, -1.0, 4), rel=1e-4) and down > 1e-5
    assert wishart.shifted_up(np.array([-0.5]), np.ones(1), 2.0)[0] == pytest.approx(-math.expm1(-0.5), rel=1e-14)
    assert wishart.shifted_down(np.array([0.5]), np.ones(1), 2.0)[0] == 0.0


def test_a_fibre_that_is_impossible_for_a_neighbour_counts_as_one() -> None:
    found = wishart._delta_of_new_row(np.array([0.5, 1.0, 1e-300]), np.array([1.0, 0.0, 2.0]), 0.4, 3)
    assert found.tolist() == [1.0, 1.0, 1.0]


def test_three_tails_are_beyond_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """V5: both of the chi-square variable and that of the size of the normal one; the grid has the cells that are asked for."""
    cells: list[tuple[int, ...]] = []

    def nothing(variance: Any, normal: Any, epsilon: float, extra: int) -> Any:
        cells.append(np.broadcast_shapes(variance.shape, normal.shape))
        return np.zeros(cells[-1])

    for name in ("_delta_of_new_row", "_delta_of_old_row"):
        monkeypatch.setattr(wishart, name, nothing)
    for tail in (0.01, 1e-12):
        found = wishart.delta_if_replaced(59, 0.5, tail, 20, 10)
        assert found == pytest.approx(3 * tail * (1 + SPECIAL_FUNCTIONS), rel=1e-11)
    assert cells == [(20, 10)] * 4


@pytest.mark.parametrize("tail", [0.34, 0.4, 0.5])
def test_a_bound_above_one_is_one(tail: float) -> None:
    assert wishart.delta_if_replaced(59, 0.5, tail, 20, 10) == 1.0


def test_the_search_finds_the_fewest_degrees_wherever_it_begins_and_looks_no_further_than_is_allowed() -> None:
    asked: list[int] = []

    def private(extra: int) -> bool:
        asked.append(extra)
        return extra >= least

    ends = (FEWEST_EXTRA, 3, 64, 65, 999, 5000, LARGEST_EXTRA - 1, LARGEST_EXTRA)
    for start in ends:
        for least in ends:
            assert wishart._least(private, start) == least
        least = LARGEST_EXTRA + 1
        with pytest.raises(PrivacyError, match="too many degrees of freedom"):
            wishart._least(private, start)
    assert FEWEST_EXTRA <= min(asked) and max(asked) == LARGEST_EXTRA


def test_a_delta_that_is_just_met_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wishart.smallest_degrees(5, 1.0, wishart.delta_if_added(20, 1.0), replaced=False) == 25
    monkeypatch.setattr(wishart, "delta_if_replaced", lambda extra, epsilon, tail, *cells: 2.0**-extra)
    assert wishart._smallest_extra.__wrapped__(1.0, 2.0**-20, True) == 20
