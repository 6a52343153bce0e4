"""Sensitivities digit by digit: each formula of the proofs once more, in exact numbers and by another way."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from noisewise.errors import PrivacyError
from noisewise.privacy.rounding import sqrt_round_up
from noisewise.privacy.sensitivity.adassp import adassp_sensitivity, sums_without_constant
from noisewise.privacy.sensitivity.averaged import _squared_change, averaged_sensitivity
from noisewise.privacy.sensitivity.gram import (
    _largest_scalar_change,
    frobenius_without_constant,
    gram_sensitivity,
    l1_without_constant,
)
from noisewise.privacy.sensitivity.moments import _bernstein, _halved, largest_value, moments_sensitivity, replaced_square
from noisewise.privacy.sensitivity.rows import _exponential_below

HALF = Fraction(1, 2)
GRID = Fraction(1, 2**16)


def assert_just_above(found: float, exact: Fraction) -> None:
    """The smallest float that is not below."""
    assert Fraction(math.nextafter(found, 0)) < exact <= Fraction(found)


def largest_of_a_split(q: int, m: int, high: int) -> Fraction:
    """The maximum of g_m of P4(b) with so many coordinates at y in [1/2, 1], the others at x in [0, 1/2].

    A concave function of two numbers on a rectangle is largest where both derivatives vanish, or on one of the four sides.
    """
    low = q - high

    def g(x: Fraction, y: Fraction) -> Fraction:
        total = low * x + high * y
        return 2 * (q + 2) * total - 2 * total**2 - 2 * (low * x**2 + high * y**2) + 2 * m * (low * (1 - x) + high * y)

    # Divided by 2 and by their numbers of coordinates the derivatives are q + 2 − 2Δ − 2x − m and q + 2 − 2Δ − 2y + m: if both
    # vanish, y = x + m. The rectangle has such a point inside only without blocks, where x = y = 1/2 is a corner.
    points = []
    for x in (Fraction(0), HALF):
        points.append((x, min(max(Fraction(q + 2 + m - 2 * low * x, 2 * (high + 1)), HALF), Fraction(1))))
    for y in (HALF, Fraction(1)):
        points.append((min(max(Fraction(q + 2 - m - 2 * high * y, 2 * (low + 1)), Fraction(0)), HALF), y))
    return max(g(*point) for point in points)


@pytest.mark.parametrize("q", range(9))
def test_the_largest_change_of_scalars_is_that_of_all_splits(q: int) -> None:
    for m in range(12):
        assert _largest_scalar_change(q, m) == max(largest_of_a_split(q, m, high) for high in range(q + 1))


@pytest.mark.parametrize("bound", [0.1, 0.3, 0.7, 1.1, 1.7, 2.3])
def test_without_a_constant_squares_of_norms_are_rounded_up(bound: float) -> None:
    assert 0 <= Fraction(frobenius_without_constant(bound, "add-remove")) - Fraction(bound) ** 2 < Fraction(1, 2**50)
    assert 0 <= Fraction(frobenius_without_constant(bound, "replace-one")) ** 2 - 2 * Fraction(bound) ** 4 < Fraction(1, 2**46)


@pytest.mark.parametrize("adjacency", ["swap", ""])
def test_without_a_constant_too_neighbours_are_of_two_kinds(adjacency: str) -> None:
    with pytest.raises(PrivacyError, match="adjacency must be"):
        frobenius_without_constant(1.0, adjacency)
    with pytest.raises(PrivacyError, match="adjacency must be"):
        l1_without_constant(2, adjacency)


def test_without_a_constant_too_columns_are_counted() -> None:
    with pytest.raises(PrivacyError, match="one column per scalar"):
        l1_without_constant(-1, "replace-one")


@pytest.mark.parametrize("radius", [0.1, 0.3, 0.7, 1.1, 1.2, 1.3, 1.6, 1.7])
def test_every_bound_of_a_clipped_row_is_rounded_up(radius: float) -> None:
    """P2, P3, P6 and P7 with a radius whose square is no float: never below the exact number, and at most two roundings above."""
    square, size = Fraction(radius) ** 2, 4
    for adjacency in ("add-remove", "replace-one"):
        found = gram_sensitivity(scalars=3, blocks=0, size=size, radius=radius, norm_clipped=True, adjacency=adjacency)
        if adjacency == "add-remove":
            assert_just_above(found.frobenius, 1 + square + size * GRID)
            assert_just_above(found.l1, 1 + Fraction(sqrt_round_up(3 * square)) + 4 * square / 2 + 10 * GRID)
        else:
            root = sqrt_round_up(2 * (1 + square) ** 2 if radius > 1 else 8 * square)
            assert_just_above(found.frobenius, Fraction(root) + size * GRID)
        if adjacency == "replace-one" and radius < 1:
            assert found.spectral == sqrt_round_up(4 * square)
        else:
            assert_just_above(found.spectral, 1 + square)


@pytest.mark.parametrize("group", [2, 3, 10])
@pytest.mark.parametrize("scalars", range(1, 9))
def test_the_bound_of_averaged_rows_is_rounded_up_twice(group: int, scalars: int) -> None:
    """A2 and A4: the root first, and then the sum with what the grid adds."""
    found = averaged_sensitivity(group=group, scalars=scalars, blocks=0, size=scalars + 1, radius=1.0, norm_clipped=False)
    root = sqrt_round_up(8 * scalars + 16 * (1 - Fraction(1, group)) ** 2 * scalars**2)
    assert_just_above(found.frobenius, Fraction(root) + (scalars + 1) * GRID)
    assert found.max_rows == 1


@pytest.mark.parametrize("radius", [1.111784, 1.111782, 1.11178])
def test_the_sum_with_what_the_grid_adds_is_rounded_up_where_it_has_a_digit_more(radius: float) -> None:
    """Below 4 the root, above 4 the sum: the last bit of the root is lost, and was one."""
    found = averaged_sensitivity(group=2, scalars=2, blocks=0, size=3, radius=radius, norm_clipped=True)
    root = sqrt_round_up(8 * Fraction(radius) ** 2 + 4 * Fraction(radius) ** 4)
    assert root < 4 and Fraction(found.frobenius) > Fraction(root) + 3 * GRID > 4


@pytest.mark.parametrize("bound", [None, 0.3, 0.7, 1.1, 1.2, 1.3])
@pytest.mark.parametrize("rows", [1, 3, 5, 7, 11])
def test_both_bounds_of_an_adassp_release_are_rounded_up(bound: float | None, rows: int) -> None:
    """A1 to A4. The smallest eigenvalue is a single number: its two norms are the same, and it is never public."""
    largest = 1 + (Fraction(2) if bound is None else Fraction(bound) ** 2)
    for adjacency in ("add-remove", "replace-one"):
        found = adassp_sensitivity(scalars=2, blocks=0, predictors=3, norm_bound=bound, adjacency=adjacency, max_rows=rows,
                                   unit_is_row=False)
        assert_just_above(found.eigenvalue.frobenius, rows * largest + 4 * GRID)
        assert found.eigenvalue.l1 == found.eigenvalue.frobenius and not found.eigenvalue.corner_is_public
        whole = gram_sensitivity(scalars=3, blocks=0, size=4, radius=bound or 1.0, norm_clipped=bound is not None,
                                 adjacency=adjacency, max_rows=rows, unit_is_row=False)
        alone = rows * Fraction(sqrt_round_up(largest**2 + 2 * largest)) + 4 * GRID
        if adjacency == "add-remove" and alone < whole.frobenius:
            assert_just_above(found.sums.frobenius, alone)
        else:
            assert found.sums.frobenius == whole.frobenius


@pytest.mark.parametrize("predictors", range(1, 9))
@pytest.mark.parametrize("rows", [1, 3])
def test_the_bound_of_moments_is_rounded_up_twice(predictors: int, rows: int) -> None:
    """M3 to M5: both roots first, and then their sum."""
    found = moments_sensitivity(weights={"n": 1.0, "x": 0.7, "xxx": 0.3}, scalars=predictors, groups=0, predictors=predictors,
                                norm_bound=None, adjacency="add-remove", max_rows=rows, unit_is_row=False)
    root = sqrt_round_up(1 + Fraction(0.7) * predictors + Fraction(0.3) * predictors**3)
    rounded = (GRID + 2 * rows * Fraction(1, 2**19)) ** 2  # M5: monomials of order 3 are rounded before they are summed
    grid = sqrt_round_up(GRID**2 * (1 + Fraction(0.7) * predictors) + Fraction(0.3) * predictors**3 * rounded)
    assert_just_above(found.norm, rows * Fraction(root) + Fraction(grid))


@pytest.mark.parametrize("value", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(36)])
def test_exponentials_are_just_below(value: Fraction) -> None:
    """R4: by one part in 10⁵⁰."""
    with mpmath.workdps(90):
        exact = mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)
        found = _exponential_below(value)
        ratio = 1 - mpmath.mpf(found.numerator) / found.denominator / exact
        assert 0.99e-50 < ratio < 1.01e-50


def test_coefficients_in_the_basis_of_bernstein_by_hand() -> None:
    """t², from −2 to 2, is 4 − 16u + 16u², and t³, from −1 to 1, is −1 + 6u − 12u² + 8u³, with u from 0 to 1."""
    assert _bernstein([Fraction(0), Fraction(0), Fraction(1)], Fraction(2)) == [4, -4, 4]
    assert _bernstein([Fraction(0)] * 3 + [Fraction(1)], Fraction(1)) == [-1, 1, -1, 1]
    assert _bernstein([Fraction(5)], Fraction(3)) == [5]
    assert _bernstein([Fraction(5), Fraction(2)], Fraction(3)) == [-1, 11]


def test_halves_of_an_interval_by_hand() -> None:
    assert _halved([Fraction(4), Fraction(-4), Fraction(4)]) == ([4, 0, 0], [0, 0, 4])
    assert _halved([Fraction(1), Fraction(3)]) == ([1, 2], [2, 3])


def test_the_largest_value_of_a_polynomial_is_where_it_should_be() -> None:
    """At the left end, at the right end, and inside, where the derivative 12 − 3t² vanishes at t = 2."""
    tolerance = Fraction(1, 2**20)
    assert largest_value([Fraction(0), Fraction(-1)], Fraction(3), tolerance) == 3
    assert largest_value([Fraction(0), Fraction(1)], Fraction(3), tolerance) == 3
    assert 16 <= largest_value([Fraction(0), Fraction(12), Fraction(0), Fraction(-1)], Fraction(3), tolerance) <= 16 + tolerance


def test_the_tolerance_of_the_search_is_a_share_of_what_is_searched_for() -> None:
    """M2: weights a millionth as large give a bound a millionth as large, exactly."""
    alone, with_response = [Fraction(1), Fraction(3), Fraction(2)], [Fraction(1), Fraction(2), Fraction(0)]
    least = [[weight / 10**6 for weight in weights] for weights in (alone, with_response)]
    assert replaced_square(*least, Fraction(3)) == replaced_square(alone, with_response, Fraction(3)) / 10**6


@pytest.mark.parametrize("bound", [0.3, 0.7, 0.9, 1.1, 1.2, 1.3, 1.7, 2.3])
def test_without_a_constant_the_sums_of_a_row_are_rounded_up(bound: float) -> None:
    square = Fraction(bound) ** 2
    replaced = 2 * (1 + square) ** 2 if bound > 1 else 8 * square
    assert Fraction(sums_without_constant(bound, "replace-one")) ** 2 >= replaced
    assert Fraction(sums_without_constant(bound, "add-remove")) ** 2 >= square**2 + 2 * square


@pytest.mark.parametrize("group", [2, 3, 10])
@pytest.mark.parametrize(("apart", "radius"), [(1, 2), (2, 3), (3, 4), (5, 7), (3, 5), (7, 8), (9, 11), (10, 13)])
def test_what_is_taken_off_for_averaged_indicators_is_rounded_down(group: int, apart: int, radius: int) -> None:
    """A2: 32 S²·rS/k is taken off 8S² + 16S²(r² + S²/k²), and rS is the root of a whole number here."""
    found = _squared_change(group, Fraction(radius), Fraction(apart))
    product = (8 * apart + 16 * apart * (radius + Fraction(apart, group**2)) - found) * Fraction(group, 32 * apart)
    assert product**2 <= apart * radius < (product * (1 + Fraction(1, 2**50))) ** 2


@pytest.mark.parametrize(("scalars", "blocks", "radius"), [
    (6, 0, 1.3), (6, 0, 1.4), (6, 0, 1.5), (6, 0, 1.6), (6, 0, 1.7), (4, 1, 1.4), (6, 2, 1.8), (5, 6, 2.5)])
def test_the_bound_on_the_l1_norm_by_cauchy_and_schwarz_is_rounded_up(scalars: int, blocks: int, radius: float) -> None:
    """P4(c): √W times the Frobenius norm."""
    q, m = scalars, blocks
    found = gram_sensitivity(scalars=q, blocks=m, size=20, radius=radius, norm_clipped=True, adjacency="replace-one").l1
    weight = Fraction(3 * (q + 2 * m), 2) + Fraction(q * (q - 1), 4) + q * m + Fraction(m * (m - 1), 2)
    assert (Fraction(found) - 210 * GRID) ** 2 >= weight * 2 * (1 + Fraction(radius) ** 2) ** 2
    assert found == pytest.approx(math.sqrt(2 * weight) * (1 + radius**2) + 210 * float(GRID), rel=1e-14)


@pytest.mark.parametrize("changes", [
    {"max_rows": 0}, {"weights": {"n": 1.0, "xx": 0.0}}, {"weights": {"n": math.inf, "xx": 1.0}},
    {"weights": {"n": 1.0, "xx": math.nan}}, {"weights": {"xx": 1.0}},
])
def test_moments_of_no_rows_or_with_any_weight_that_is_none_are_refused(changes: dict[str, Any]) -> None:
    """Either would give a sensitivity, and so noise, of zero or of any size."""
    shape: dict[str, Any] = {"weights": {"n": 1.0, "xx": 1.0}, "scalars": 1, "groups": 0, "predictors": 1, "norm_bound": None,
                             "adjacency": "replace-one", "unit_is_row": False, "max_rows": 2}
    moments_sensitivity(**shape)
    with pytest.raises(PrivacyError, match="weights|max_rows"):
        moments_sensitivity(**{**shape, **changes})
