"""The noise of moments and the exact smallest eigenvalue: to the last bit, and wherever a search begins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.refusals import about

from noisewise.errors import PrivacyError
from noisewise.privacy.cost import Piece
from noisewise.privacy.mechanisms import adassp, moments
from noisewise.privacy.mechanisms.adassp import AdasspMechanism, integer_below_smallest_eigenvalue
from noisewise.privacy.mechanisms.moments import MomentsMechanism
from noisewise.privacy.sensitivity.adassp import adassp_sensitivity
from noisewise.privacy.sensitivity.moments import MomentsSensitivity


def mechanism(norm: float, sigma: float) -> MomentsMechanism:
    sensitivity = MomentsSensitivity(norm=norm, weights={"xx": 0.3, "yx": 1.0}, predictors=3, adjacency="replace-one",
                                     unit_is_row=True, max_rows=1)
    return MomentsMechanism(sensitivity=sensitivity, epsilon=1.0, delta=1e-6, sigma=sigma)


@pytest.mark.parametrize("sigma", [0.7, 1.1, 2.3, 3.9, 17.3])
def test_noise_of_a_monomial_is_that_of_its_block_over_the_root_of_its_coefficient(
    monkeypatch: pytest.MonkeyPatch, sigma: float
) -> None:
    asked: list[tuple[list[int], float]] = []

    def add(values: Any, units: float) -> Any:
        asked.append((values.tolist(), units / 2**16))
        return values + 2**15

    monkeypatch.setattr(moments, "gaussian_integers", add)
    noisy = mechanism(3.0, sigma).perturb({"xx": np.arange(6) * 2**16, "yx": np.arange(3) * 2**16})
    assert noisy["xx"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5] and noisy["yx"].tolist() == [0.5, 1.5, 2.5]
    sds = mechanism(3.0, sigma).block_sds()
    squares, products, responses = asked  # of xx those with coefficient one, then those with two; then yx
    assert [len(values) for values, _ in asked] == [3, 3, 3]
    assert squares[1] == sds["xx"] and responses[1] == sds["yx"]
    assert 0 <= 2 * Fraction(products[1]) ** 2 - Fraction(sds["xx"]) ** 2 < Fraction(sds["xx"]) ** 2 / 2**50


@pytest.mark.parametrize("norm", [0.7, 1.1, 2.3, 3.0])
@pytest.mark.parametrize("sigma", [0.9, 5.3, 17.3])
def test_noise_is_never_charged_as_more_than_it_is(norm: float, sigma: float) -> None:
    cost = mechanism(norm, sigma).cost()
    assert (cost.epsilon, cost.delta) == (1.0, 1e-6)
    exact = Fraction(sigma) / Fraction(norm)
    assert exact * (1 - Fraction(1, 2**51)) < Fraction(cost.pieces[0].numbers[0]) <= exact


def test_the_statement_of_moments_names_the_noise_and_the_neighbours() -> None:
    assert mechanism(1.0, 5.0).statement() == (
        "Replacing any one row changes the probability of any result of this release by at most a factor exp(epsilon) and a "
        "further delta, with epsilon = 1 and delta = 1e-06 (replace-one, Gaussian noise).")


@pytest.mark.parametrize("guess", [-(10**6), -7, 0, 5, 6, 7, 10**6])
def test_the_smallest_eigenvalue_does_not_depend_on_where_the_search_begins(monkeypatch: pytest.MonkeyPatch, guess: int) -> None:
    """Of 2**60 + 6 and ones beside the diagonal it is 2**60 + 5: beyond what floats can tell."""
    monkeypatch.setattr(adassp, "_guess", lambda matrix: guess)
    assert integer_below_smallest_eigenvalue(np.array([[7, 1], [1, 7]])) == 5
    monkeypatch.setattr(adassp, "_guess", lambda matrix: 2**60 + guess)
    found = integer_below_smallest_eigenvalue(np.array([[2**60 + 6, 1], [1, 2**60 + 6]]))
    assert found == 2**60 + 4 and isinstance(found, int)


def test_a_delta_of_one_or_more_is_refused_though_its_thirds_are_below() -> None:
    found = adassp_sensitivity(scalars=1, blocks=0, predictors=2, norm_bound=None, adjacency="replace-one")
    with pytest.raises(PrivacyError, check=about("delta")):
        AdasspMechanism.calibrate(found, 1.0, 1.2)


def test_every_number_of_a_piece_is_finite() -> None:
    with pytest.raises(PrivacyError, match="positive and finite"):
        Piece("approximate", (math.inf, 0.0))


@pytest.mark.parametrize("seed", range(8))
def test_a_singular_matrix_of_large_numbers_is_seen_to_be_singular(seed: int) -> None:
    """Rows of differences sum to zero, so that zero is the smallest eigenvalue: minus one is below it, and zero is not."""
    weights = np.random.default_rng(seed).integers(10**9, 2 * 10**9, (6, 6))
    between = np.triu(weights, 1) + np.triu(weights, 1).T
    matrix = np.diag(between.sum(axis=1)) - between
    assert integer_below_smallest_eigenvalue(matrix) == -1
