"""What mechanisms ask of the sampler, and what they make of its answer: to the last bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import gaussian_multiplier, laplace_multiplier
from noisewise.privacy.cost import Piece
from noisewise.privacy.mechanisms import gram, rows
from noisewise.privacy.mechanisms.binary import BetaBinomial
from noisewise.privacy.mechanisms.bounds import Selection
from noisewise.privacy.mechanisms.gram import SymmetricGaussian, SymmetricLaplace
from noisewise.privacy.mechanisms.guarantee import check_symmetric
from noisewise.privacy.mechanisms.rows import RowsMechanism
from noisewise.privacy.mechanisms.wishart import SymmetricWishart, _check_exact
from noisewise.privacy.rounding import sqrt_round_up
from noisewise.privacy.sensitivity.averaged import averaged_sensitivity
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity

GRID = 2.0**-16
STEPS = 2**16


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int], float]]:
    """What was asked of the sampler; its noise is one for each number of the first request, two for the second, …"""
    found: list[tuple[str, list[int], float]] = []

    def sampler(name: str) -> Any:
        def draw(values: Any, units: float) -> Any:
            found.append((name, values.tolist(), units))
            return values + len(found) * STEPS
        return draw

    for name in ("gaussian_integers", "laplace_integers"):
        for module in (gram, rows):
            monkeypatch.setattr(module, name, sampler(name))
    return found


def sensitivity(adjacency: str, size: int = 3) -> Any:
    return gram_sensitivity(scalars=size - 1, blocks=0, size=size, radius=1.0, norm_clipped=False, adjacency=adjacency)


MATRIX = np.array([[10, 1, 2], [1, 20, 3], [2, 3, 30]], dtype=np.int64) * STEPS


def test_gaussian_noise_is_asked_for_in_grid_steps(asked: list[Any]) -> None:
    off = sqrt_round_up(Fraction(9, 2)) * STEPS
    for adjacency, corner in (("replace-one", 10), ("add-remove", 11)):
        asked.clear()
        noisy = SymmetricGaussian(sensitivity=sensitivity(adjacency), epsilon=1.0, delta=1e-6, sd=3.0).perturb(MATRIX)
        assert noisy.tolist() == [[corner, 3, 4], [3, 21, 5], [4, 5, 31]]
        diagonal = [value * STEPS for value in (10, 20, 30)][0 if corner == 11 else 1:]
        assert asked == [("gaussian_integers", diagonal, 3.0 * STEPS),
                         ("gaussian_integers", [value * STEPS for value in (1, 2, 3)], off)]


def test_laplace_noise_is_asked_for_in_grid_steps(asked: list[Any]) -> None:
    for adjacency, corner in (("replace-one", 10), ("add-remove", 11)):
        asked.clear()
        noisy = SymmetricLaplace(sensitivity=sensitivity(adjacency), epsilon=1.0, scale=3.0).perturb(MATRIX)
        assert noisy.tolist() == [[corner, 3, 4], [3, 21, 5], [4, 5, 31]]
        diagonal = [value * STEPS for value in (10, 20, 30)][0 if corner == 11 else 1:]
        assert asked == [("laplace_integers", diagonal, 3.0 * STEPS),
                         ("laplace_integers", [value * STEPS for value in (1, 2, 3)], 3.0 * STEPS)]


def test_noise_of_cells_is_asked_for_in_their_own_steps(asked: list[Any]) -> None:
    for distribution in ("gaussian", "laplace"):
        mechanism = RowsMechanism(epsilon=1.0, delta=0.0, copies=2, distribution=distribution, scales={"a": 3.0}, levels={},
                                  keep={}, shares={"a": Fraction(1)})
        asked.clear()
        noisy = mechanism.perturb(np.array([[5, 7]], dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
        assert noisy.tolist() == [[[5 + STEPS], [5 + STEPS]], [[7 + STEPS], [7 + STEPS]]]
        assert asked == [(f"{distribution}_integers", [5, 7, 5, 7], 3.0 * 2**20)]


@pytest.mark.parametrize("degrees", range(3, 15))
def test_standard_deviations_of_wishart_noise_are_rounded_up(degrees: int) -> None:
    for adjacency in ("replace-one", "add-remove"):
        found = sensitivity(adjacency)
        diagonal, off, corner = SymmetricWishart(sensitivity=found, epsilon=1.0, delta=1e-6, degrees=degrees).entry_sd()
        variance = degrees * Fraction(found.spectral) ** 2
        assert diagonal == sqrt_round_up(2 * variance) and off == sqrt_round_up(variance)
        assert Fraction(diagonal) ** 2 >= 2 * variance and Fraction(off) ** 2 >= variance
        assert corner == (0.0 if adjacency == "replace-one" else diagonal)


def test_what_noise_costs_is_its_size_over_the_sensitivity_and_the_epsilon_that_was_promised() -> None:
    found = sensitivity("add-remove")
    cost = SymmetricLaplace(sensitivity=found, epsilon=0.5, scale=20.0).cost()
    assert (cost.epsilon, cost.delta) == (0.5, 0.0)
    assert cost.pieces == (Piece("laplace", (laplace_multiplier(20.0, GRID, found.l1),)),)
    cost = SymmetricGaussian(sensitivity=found, epsilon=0.5, delta=1e-6, sd=20.0).cost()
    assert (cost.epsilon, cost.delta) == (0.5, 1e-6)
    assert cost.pieces == (Piece("gaussian", (gaussian_multiplier(20.0, GRID, found.frobenius),)),)


def test_a_pure_mechanism_has_no_delta() -> None:
    for mechanism in (SymmetricLaplace, Selection, BetaBinomial):
        assert mechanism.delta == 0.0
    synthesis = BetaBinomial(adjacency="add-remove", epsilon=1.0, rows=1, copies=1, alpha=1)
    assert synthesis.statement("person").startswith("Adding or removing any one row changes")


def test_wishart_noise_is_for_an_exact_symmetric_matrix_of_the_size_it_was_calibrated_for() -> None:
    good = np.array([[1, 2], [2, 3]], dtype=object)
    _check_exact(good, 2)
    three = np.array([[1, 2, 3], [2, 4, 5], [3, 5, 6]], dtype=object)
    for matrix in (three, three[:1, :1], three[:2], [[1, 2], [2, 3]], good.astype(np.int64), good.astype(float).astype(object),
                   np.array([[1, 2], [3, 4]], dtype=object), np.array([[1, 2.5], [2.5, 3]], dtype=object)):
        with pytest.raises(PrivacyError, match="2 by 2"):
            _check_exact(matrix, 2)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="2 by 2"):
        SymmetricWishart(sensitivity=sensitivity("add-remove", 2), epsilon=1.0, delta=1e-6, degrees=9).perturb(three, 1.0)


@pytest.mark.parametrize("wrong", [
    averaged_sensitivity(group=2, scalars=2, blocks=0, size=3, radius=1.0, norm_clipped=False),
    gram_sensitivity(scalars=2, blocks=0, size=3, radius=1.0, norm_clipped=False, adjacency="add-remove", max_rows=2,
                     unit_is_row=False),
    gram_sensitivity(scalars=0, blocks=0, size=1, radius=1.0, norm_clipped=False, adjacency="add-remove"),
], ids=["averaged", "two rows", "one column"])
def test_no_wishart_noise_is_calibrated_where_it_is_not_proved(wrong: GramSensitivity) -> None:
    for name in ("wishart", "wishart-paper"):
        with pytest.raises(PrivacyError, match="proved private only where"):
            SymmetricWishart.calibrate(wrong, 1.0, 1e-6, name)


@pytest.mark.parametrize("sd", [0.7, 1.0, 1.1, 1.3, 2.3, 5.9])
def test_noise_off_the_diagonal_has_at_least_half_of_the_variance(sd: float) -> None:
    for adjacency in ("replace-one", "add-remove"):
        diagonal, off, corner = SymmetricGaussian(sensitivity=sensitivity(adjacency), epsilon=1.0, delta=1e-6, sd=sd).entry_sd()
        assert 0 <= 2 * Fraction(off) ** 2 - Fraction(sd) ** 2 < Fraction(1, 2**45)
        assert diagonal == sd and corner == (0.0 if adjacency == "replace-one" else sd)


def test_one_number_is_a_matrix_and_a_pile_of_matrices_is_none() -> None:
    check_symmetric(np.zeros((1, 1), dtype=np.int64), "noise is added to")
    with pytest.raises(PrivacyError, match="symmetric matrix of 64-bit integers"):
        check_symmetric(np.zeros((2, 2, 2), dtype=np.int64), "noise is added to")
