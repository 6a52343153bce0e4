"""Candidates, counts beyond them, and what is promised about the bound that is drawn."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.refusals import about

from noisewise.data.statistics.bounds import grid_counts
from noisewise.errors import DeclarationError, PrivacyError
from noisewise.privacy.accounting import compose
from noisewise.privacy.mechanisms.bounds import (
    PROBABILITY,
    SIDES,
    BoundSearch,
    Side,
    candidates,
    cells_beyond,
    checked_tail,
    cost_of,
    plan_search,
    share,
)
from noisewise.privacy.sensitivity.bounds import BoundSensitivity, rank_scores
from noisewise.schema import Unit

ROW = BoundSensitivity(adjacency="replace-one", unit_is_row=True)
MISS = (1 - PROBABILITY) / 2
RARE = 1e-9


def search(side: Side = "upper", *, epsilon: float = 0.5, digits: int = 1, tail: Fraction = Fraction(1, 200),
           other: float | None = None, sensitivity: BoundSensitivity = ROW) -> BoundSearch:
    return plan_search(side, candidates(digits), sensitivity=sensitivity, epsilon=epsilon, tail=tail, other=other, miss=MISS)


def counts_of(cells: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """By the definition, one point at a time."""
    clipped = cells.clip(grid[0], grid[-1])
    at = [int((clipped == point).sum()) for point in grid]
    up_to = [int((clipped <= point).sum()) for point in grid]
    between = np.diff([0, *up_to]) - at
    return np.array([count for pair in zip(between, at, strict=True) for count in pair] + [0])


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_candidates_are_all_decimal_numbers_of_so_many_digits(digits: int) -> None:
    grid = candidates(digits)
    assert np.all(np.diff(grid) > 0) and np.array_equal(grid, -grid[::-1]) and 0.0 in grid
    assert len(grid) == 2 * 22 * 9 * 10 ** (digits - 1) + 1
    assert {1e-9, 1.0, 5.0, 9e12} <= set(grid.tolist())
    assert max(len(Decimal(repr(value)).normalize().as_tuple().digits) for value in grid.tolist()) == digits


def test_candidates_do_not_change_and_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        candidates(2)[0] = 1.0
    assert candidates(2) is candidates(2)


@pytest.mark.parametrize("digits", [0, 5, 2.0, True, None, "3", [1]])
def test_other_numbers_of_digits_are_refused(digits: object) -> None:
    with pytest.raises(DeclarationError, match="significant digits"):
        candidates(digits)  # type: ignore[arg-type]


@given(st.lists(st.sampled_from([-1e15, -9.5, -9.0, -0.3, 0.0, 1e-12, 1.0, 1.5, 2.0, 7e12, float("inf")]), max_size=30))
def test_cells_beyond_are_those_strictly_beyond(values: list[float]) -> None:
    grid = candidates(1)
    cells = np.array(values, dtype=float)
    counts = counts_of(cells, grid)
    clipped = cells.clip(grid[0], grid[-1])
    assert cells_beyond(counts, "upper").tolist() == [int((clipped > point).sum()) for point in grid]
    assert cells_beyond(counts, "lower").tolist() == [int((clipped < point).sum()) for point in grid]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.integers(0, 400))
def test_the_best_score_is_zero_exactly_where_the_wanted_number_is_passed(steps: list[int], wanted: int) -> None:
    beyond = np.array([sum(steps[place:]) for place in range(len(steps))] + [0], dtype=np.int64)
    cells = int(beyond[0]) + 5
    scores = rank_scores(beyond, cells, wanted)
    inner = [cells, *beyond[:-1].tolist()]
    assert [score == 0 for score in scores] == [out <= wanted <= within for out, within in zip(beyond, inner, strict=True)]
    assert (scores.max() == 0) == (wanted <= cells) and scores.max() <= 0


def test_candidates_lie_beyond_a_known_bound() -> None:
    upper, lower = search("upper", other=2.5), search("lower", other=2.0)
    assert upper.grid[upper.places[0]] == 3.0 and upper.grid[upper.places[-1]] == 9e12
    assert lower.grid[lower.places[0]] == 1.0 and lower.grid[lower.places[-1]] == -9e12
    with pytest.raises(DeclarationError, match="leave room"):
        search("upper", other=9e12)


def test_a_known_bound_and_a_unit_change_the_error_as_they_must() -> None:
    plain = search()
    assert search(other=0.0).error < plain.error
    persons = search(sensitivity=BoundSensitivity(adjacency="add-remove", unit_is_row=False, max_rows=4))
    assert persons.selection.scale == 4 * plain.selection.scale and persons.error == pytest.approx(4 * plain.error, abs=4)
    assert plain.error >= plain.selection.scale * np.log(len(plain.places) / MISS) > plain.error - 1
    assert (plain.fewest, plain.outside) == (plain.error + 1, 2 * plain.error + 1)


def kept(found: BoundSearch, cells: np.ndarray, bound: float, error: int | None = None) -> bool:
    """Whether the promise of B3 holds for a bound that was drawn."""
    size = found.error if error is None else error
    sign = 1 if found.side == "upper" else -1
    outwards = sign * found.grid[found.places]
    place = int(np.flatnonzero(outwards == sign * bound)[0])
    wanted = max(int(found.tail * len(cells)), found.fewest)
    within = (sign * cells > outwards[place - 1]).sum() if place else len(cells)
    return bool((sign * cells > sign * bound).sum() <= wanted + size and within >= wanted - size)


@pytest.mark.parametrize("side", SIDES)
def test_the_promise_is_kept_as_often_as_it_says_and_more_noise_would_show(side: Side) -> None:
    cells = np.random.default_rng(4).gamma(2.0, 3.0, 2000)
    found = search(side, epsilon=0.3)
    counts = counts_of(cells, found.grid)
    noisier = replace(found, selection=replace(found.selection, scale=20 * found.selection.scale))
    often = stats.binom.isf(RARE, 400, MISS)
    for drawing, good in ((found, True), (noisier, False)):
        missed = sum(not kept(found, cells, drawing.find(counts)) for _ in range(400))
        assert bool(missed <= often) is good


COLUMNS = {
    "normal": lambda random, n: random.normal(75, 12, n),
    "skewed": lambda random, n: random.lognormal(10, 1, n),
    "tiny": lambda random, n: random.normal(0, 1e-5, n),
    "whole": lambda random, n: random.integers(18, 99, n).astype(float),
    "few values": lambda random, n: random.integers(1, 6, n).astype(float),
    "one value": lambda random, n: np.full(n, 5.0),
    "mostly zero": lambda random, n: random.poisson(0.05, n).astype(float),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(("n", "epsilon", "tail"), [(1_000, 2.0, Fraction(6, 100)), (10_000, 0.5, Fraction(3, 100)),
                                                    (100_000, 0.1, Fraction(2, 100))])
def test_known_distributions_are_found(name: str, n: int, epsilon: float, tail: Fraction) -> None:
    """With a tail of more rows than the error that is exceeded once in a billion: cut there, and never beyond the data."""
    cells = COLUMNS[name](np.random.default_rng(n), n)
    for side in SIDES:
        found = search(side, epsilon=epsilon, digits=2, tail=tail)
        error = found.selection.shortfall(len(found.places), RARE)
        assert error < tail * n
        counts = grid_counts({"x": cells}, ["x"], found.grid, Unit()).columns["x"]
        assert kept(found, cells, found.find(counts), error=error)


def test_an_equal_share_never_exceeds_the_whole() -> None:
    for parts in range(1, 40):
        for epsilon in (0.1, 1 / 3, 1.0, 2e-7):
            assert parts * Fraction(share(epsilon, parts)) <= Fraction(epsilon)
            assert share(epsilon, parts) == pytest.approx(epsilon / parts, rel=1e-15)
    with pytest.raises(PrivacyError, match="divided"):
        share(5e-324, 2)
    for wrong in (0.0, -1.0, float("nan"), float("inf"), True, "1"):
        with pytest.raises(PrivacyError, check=about("epsilon")):
            share(wrong, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("tail", [-0.1, 0.3, float("nan"), True, "0.1", None])
def test_other_tails_are_refused(tail: object) -> None:
    with pytest.raises(DeclarationError, match="tail"):
        checked_tail(tail)


def test_a_tail_is_what_is_written() -> None:
    assert checked_tail(0.005) == Fraction(5, 1000) and checked_tail(0) == 0 and checked_tail(np.float64(0.25)) == Fraction(1, 4)


def test_the_cost_is_pure_and_adds_up() -> None:
    cost = cost_of(0.5, [search(epsilon=0.25), search("lower", epsilon=0.25)])
    assert (cost.epsilon, cost.delta, len(cost.pieces)) == (0.5, 0.0, 2)
    assert compose([cost], delta=0.0).epsilon == 0.5
    assert compose([cost] * 2, delta=0.0).epsilon == 1.0


@pytest.mark.parametrize("epsilon", [1e-18, 1e10])
def test_an_epsilon_that_cannot_be_served_is_refused(epsilon: float) -> None:
    with pytest.raises(PrivacyError):
        search(epsilon=epsilon)


def test_cells_beyond_the_last_candidates_are_counted_too() -> None:
    counts = np.array([1, 20, 300, 4000, 50_000])
    assert cells_beyond(counts, "upper").tolist() == [54_300, 50_000] and cells_beyond(counts, "lower").tolist() == [1, 321]
