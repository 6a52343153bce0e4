"""Beta-binomial synthesis: the exact privacy loss over all neighbours and all results, and that a smaller alpha breaks it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from noisewise.errors import PrivacyError
from noisewise.privacy.mechanisms.binary import smallest_alpha, suffices


def pmf(x: int, n: int, rows: int, alpha: int) -> list[Fraction]:
    """The exact probabilities of 0, 1, …, ``rows`` synthetic ones."""
    def rising(start: int, steps: int) -> int:
        return math.prod(range(start, start + steps))

    whole = rising(2 * alpha + n, rows)
    return [Fraction(math.comb(rows, k) * rising(alpha + x, k) * rising(alpha + n - x, rows - k), whole) for k in range(rows + 1)]


def replaced(most: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return [((x, n), (x + 1, n)) for n in range(1, most + 1) for x in range(n)]


def added(most: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return [((x, n), (x + more, n + 1)) for n in range(most) for x in range(n + 1) for more in (0, 1)]


def worst_loss(pairs: list[tuple[tuple[int, int], tuple[int, int]]], rows: int, alpha: int, copies: int) -> float:
    """The largest log ratio of probabilities, of any results of all copies."""
    def worst(first: list[Fraction], second: list[Fraction]) -> Fraction:
        return max(max(a / b, b / a) for a, b in zip(first, second, strict=True))

    largest = max(worst(pmf(*one, rows, alpha), pmf(*other, rows, alpha)) for one, other in pairs)
    return copies * math.log(largest)  # copies are independent, and all can have the worst result at once


def test_probabilities_add_up() -> None:
    assert sum(pmf(2, 5, 7, 3)) == 1


@pytest.mark.parametrize(("rows", "epsilon", "copies"), [(1, 1.0, 1), (5, 0.5, 1), (12, 2.0, 1), (4, 1.0, 3), (20, 3.0, 2)])
def test_no_pair_of_neighbours_loses_more_than_epsilon(rows: int, epsilon: float, copies: int) -> None:
    alpha = smallest_alpha(rows, epsilon, copies)
    for pairs in (replaced(10), added(10)):
        assert worst_loss(pairs, rows, alpha, copies) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("rows", "epsilon", "copies"), [(5, 0.5, 1), (12, 2.0, 1), (4, 1.0, 3), (20, 3.0, 2)])
def test_one_pseudo_row_less_breaks_the_promise(rows: int, epsilon: float, copies: int) -> None:
    """Alpha is the smallest: the search finds neighbours that tell. Copies that would each have all of epsilon do as well."""
    alpha = smallest_alpha(rows, epsilon, copies)
    assert worst_loss(replaced(10), rows, alpha - 1, copies) > epsilon
    if copies > 1:
        assert worst_loss(replaced(10), rows, smallest_alpha(rows, epsilon, 1), copies) > epsilon


def test_add_remove_comes_as_close_as_one_likes() -> None:
    """With many rows, all of them ones: the bound is no larger for add-remove, and no smaller either."""
    rows, epsilon = 6, 1.0
    alpha = smallest_alpha(rows, epsilon, 1)
    assert 0.999 < worst_loss([((50_000, 50_000), (50_000, 50_001))], rows, alpha, 1) / math.log1p(rows / alpha) < 1.0


def test_alpha_is_the_smallest_that_suffices() -> None:
    for rows, epsilon, copies in itertools.product((1, 7, 1000), (0.01, 0.3, 1.0, 5.0, 50.0), (1, 4)):
        alpha = smallest_alpha(rows, epsilon, copies)
        assert suffices(alpha, rows, epsilon, copies)
        assert alpha == 1 or not suffices(alpha - 1, rows, epsilon, copies)
        assert alpha >= rows / math.expm1(epsilon / copies) * (1 - 1e-9)


@pytest.mark.parametrize(("rows", "epsilon", "copies"), [
    (0, 1.0, 1), (True, 1.0, 1), (5, 0.0, 1), (5, math.nan, 1), (5, -1.0, 1), (5, 1.0, 0), (10**7, 1.0, 2), (5, 1e-17, 1),
    (5, 5e-324, 2), (2.5, 1.0, 1), (5, "1", 1),
])
def test_what_cannot_be_promised_is_refused(rows: int, epsilon: float, copies: int) -> None:
    with pytest.raises(PrivacyError):
        smallest_alpha(rows, epsilon, copies)
