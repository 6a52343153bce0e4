"""Values, directions of rounding and refusals of the adassp mechanism. The search for neighbours is in tests/privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import about
from tests.unit.privacy.events import event

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.mechanisms.adassp import AdasspMechanism, integer_below_smallest_eigenvalue, third_of
from noisewise.privacy.sensitivity.adassp import AdasspSensitivity, adassp_sensitivity, sums_without_constant
from noisewise.privacy.sensitivity.gram import gram_sensitivity

GRID = 2.0**-16


def sensitivity(scalars: int = 2, adjacency: str = "replace-one", **changes: Any) -> AdasspSensitivity:
    arguments = {"scalars": scalars, "blocks": 0, "predictors": scalars + 1, "norm_bound": None, "adjacency": adjacency}
    return adassp_sensitivity(**{**arguments, **changes})


@pytest.mark.parametrize("q", [0, 1, 3, 30])
def test_closed_forms(q: int) -> None:
    square, slack = 1 + q, (q + 2) * GRID
    added, replaced = sensitivity(q, "add-remove"), sensitivity(q, "replace-one")
    assert added.sums.frobenius == pytest.approx(math.sqrt(square**2 + 2 * square) + slack, rel=1e-14)
    assert replaced.sums.frobenius == pytest.approx(math.sqrt(2) * (1 + square) + slack, rel=1e-14)
    assert added.eigenvalue.frobenius == replaced.eigenvalue.frobenius == pytest.approx(square + slack, rel=1e-14)


def test_blocks_count_once_and_a_smaller_norm_is_used() -> None:
    with_block = sensitivity(1, blocks=2, predictors=6)
    assert with_block.eigenvalue.frobenius == pytest.approx(4 + 7 * GRID, rel=1e-14)
    clipped = sensitivity(4, norm_bound=1.5)
    assert clipped.eigenvalue.frobenius == pytest.approx(1 + 2.25 + 6 * GRID, rel=1e-14)
    assert clipped.sums.frobenius == pytest.approx(math.sqrt(2) * 3.25 + 6 * GRID, rel=1e-14)
    assert sensitivity(4, norm_bound=50.0) == sensitivity(4)


def test_units_multiply_and_hide_the_number_of_rows() -> None:
    unit = {"max_rows": 3, "unit_is_row": False}
    for adjacency in ("replace-one", "add-remove"):
        one, three = sensitivity(2, adjacency), sensitivity(2, adjacency, **unit)
        slack = 4 * GRID
        assert three.sums.frobenius - slack == pytest.approx(3 * (one.sums.frobenius - slack), rel=1e-12)
        assert three.eigenvalue.frobenius - slack == pytest.approx(3 * (one.eigenvalue.frobenius - slack), rel=1e-12)
        assert not three.sums.corner_is_public
    assert sensitivity().sums.corner_is_public and not sensitivity().eigenvalue.corner_is_public


def test_leaving_out_the_squares_of_the_response_saves_nothing_under_replace_one() -> None:
    whole = gram_sensitivity(scalars=3, blocks=0, size=4, radius=1.0, norm_clipped=False, adjacency="replace-one")
    assert sensitivity(2).sums.frobenius == whole.frobenius


@pytest.mark.parametrize(("norm", "square"), [(0.5, 2.0), (1.0, 8.0), (1.2, 2 * 2.44**2), (1.5, 2 * 3.25**2), (3.0, 200.0)])
def test_without_a_constant_the_sums_of_a_replaced_row(norm: float, square: float) -> None:
    """A1: 2(1 + r²)² from r = 1 on, and 8r² below."""
    assert sums_without_constant(norm, "replace-one") ** 2 == pytest.approx(square, rel=1e-14)
    assert sums_without_constant(norm, "add-remove") ** 2 == pytest.approx(norm**4 + 2 * norm**2, rel=1e-14)


@pytest.mark.parametrize(("norm", "adjacency"), [(0.0, "replace-one"), (math.inf, "add-remove"), (1.0, "swap")])
def test_wrong_declarations_are_refused(norm: float, adjacency: str) -> None:
    with pytest.raises(PrivacyError) as refused:
        sums_without_constant(norm, adjacency)
    assert refused.value.found and refused.value.advice


@given(st.floats(1e-90, 1e9))
def test_three_thirds_never_exceed_the_whole(value: float) -> None:
    third = third_of(value)
    assert 3 * Fraction(third) <= Fraction(value)
    assert third == pytest.approx(value / 3, rel=1e-15)


def test_each_piece_is_calibrated_to_its_share() -> None:
    mechanism = AdasspMechanism.calibrate(sensitivity(), 0.9, 3e-6)
    assert (mechanism.epsilon, mechanism.delta) == (0.9, 3e-6)
    assert mechanism.sums.sd == pytest.approx(analytic_gaussian_sigma(0.6, 2e-6, sensitivity().sums.frobenius), rel=1e-7)
    assert mechanism.eigenvalue.sd == pytest.approx(
        analytic_gaussian_sigma(0.3, 1e-6, sensitivity().eigenvalue.frobenius), rel=1e-7
    )
    assert Fraction(mechanism.sums.epsilon) + Fraction(mechanism.eigenvalue.epsilon) <= Fraction(0.9)
    assert Fraction(mechanism.sums.delta) + Fraction(mechanism.eigenvalue.delta) <= Fraction(3e-6)


def test_an_accountant_finds_no_more_than_was_promised() -> None:
    """Basic composition is an upper bound: the exact composition of the two pieces needs less, but not much less."""
    cost = AdasspMechanism.calibrate(sensitivity(), 1.0, 1e-6).cost()
    epsilon = PLDAccountant().compose(event(cost)).get_epsilon(1e-6)
    assert 0.7 < epsilon < 1.0


def test_a_third_of_delta_must_not_be_too_small_either() -> None:
    with pytest.raises(PrivacyError, check=about("delta")):
        AdasspMechanism.calibrate(sensitivity(), 1.0, 1e-100)


def test_the_statement_says_what_is_spent_on_what() -> None:
    statement = AdasspMechanism.calibrate(sensitivity(), 1.0, 1e-6).statement()
    assert statement.startswith("Replacing any one row changes") and "epsilon = 1 and delta = 1e-06" in statement
    assert "a third" in statement and "basic composition" in statement


def test_the_squares_of_the_response_are_not_looked_at() -> None:
    """Two statistics that differ in nothing else pass the same numbers to the noise."""
    seen: list[list[int]] = []

    class Watched:
        def perturb(self, matrix: Any) -> Any:
            seen.append(matrix.tolist())
            return matrix * GRID

    mechanism = AdasspMechanism.calibrate(sensitivity(), 1.0, 1e-6)
    for piece in ("sums", "eigenvalue"):
        object.__setattr__(mechanism, piece, Watched())
    statistic = np.diag(np.array([9, 8, 7, 6])) * 2**16 + 5
    other = statistic.copy()
    other[-1, -1] += 12345
    one, two = mechanism.perturb(statistic), mechanism.perturb(other)
    assert seen[0] == seen[2] and seen[1] == seen[3] and statistic[-1, -1] == 6 * 2**16 + 5
    assert np.array_equal(one.matrix, statistic[:3, :3] * GRID) and np.array_equal(one.moments, statistic[:3, 3] * GRID)
    assert one.eigenvalue == two.eigenvalue
    assert one.eigenvalue == pytest.approx(np.linalg.eigvalsh(one.matrix)[0], abs=2 * GRID)


@given(st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([3, 1000, 2**40]))
def test_the_integer_is_the_last_one_below_the_eigenvalue(size: int, seed: int, reach: int) -> None:
    half = np.random.default_rng(seed).integers(-reach, reach, (size, size))
    matrix = half + half.T
    found = integer_below_smallest_eigenvalue(matrix)
    # Fractions decide: the sign of every leading minor, by Gaussian elimination.
    assert positive_definite(matrix, found)
    assert not positive_definite(matrix, found + 1)


def positive_definite(matrix: np.ndarray[Any, Any], shift: int) -> bool:
    rows = [[Fraction(int(value)) for value in row] for row in matrix]
    for index, row in enumerate(rows):
        row[index] -= shift
    for index, row in enumerate(rows):
        if row[index] <= 0:
            return False
        for below in rows[index + 1 :]:
            factor = below[index] / row[index]
            below[:] = [one - factor * two for one, two in zip(below, row, strict=True)]
    return True


def test_eigenvalues_that_are_integers_and_a_bad_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.array([[5, 1, 0], [1, 5, 0], [0, 0, 90]])
    assert integer_below_smallest_eigenvalue(matrix) == 3
    assert integer_below_smallest_eigenvalue(np.array([[7]])) == 6
    assert integer_below_smallest_eigenvalue(np.zeros((3, 3), dtype=np.int64)) == -1
    for wrong in (-1000.0, 3.0, 4.0, 57.0, np.nan, np.inf):
        monkeypatch.setattr(np.linalg, "eigvalsh", lambda _, wrong=wrong: np.array([wrong]))
        assert integer_below_smallest_eigenvalue(matrix) == 3


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.zeros((2, 3), dtype=np.int64), np.array([[1, 2], [3, 4]])])
def test_eigenvalues_are_taken_of_symmetric_integer_matrices(matrix: Any) -> None:
    with pytest.raises(PrivacyError, match="symmetric matrix of 64-bit integers"):
        integer_below_smallest_eigenvalue(matrix)
