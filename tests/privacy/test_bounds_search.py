"""The sensitivity of the scores of a bound against a search for worse neighbours, and the guarantee that rests on it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.noise.selection_law import permute_and_flip_law

from noisewise.data.statistics.bounds import grid_counts
from noisewise.privacy.mechanisms.bounds import SIDES, Selection, Side, cells_beyond
from noisewise.privacy.sensitivity.bounds import BoundSensitivity, rank_scores, target
from noisewise.schema import Unit

POINTS = 4
BINS = range(1, 2 * POINTS)
"""Where a cell can lie: at a candidate or between two; beyond the outermost ones it counts as if it were there."""
TIGHT = 0.99
TAILS = (Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 3))
EPSILON = 0.7


def sensitivity(max_rows: int) -> BoundSensitivity:
    return BoundSensitivity(adjacency="replace-one", unit_is_row=max_rows == 1, max_rows=max_rows)


def cells_of_a_unit(max_rows: int) -> list[NDArray[np.int64]]:
    """All that the rows of one unit can add to the counts; nothing first. Cells may be missing, so that there are fewer."""
    return [np.bincount(np.array(places, dtype=np.int64), minlength=2 * POINTS + 1)
            for cells in range(max_rows + 1) for places in combinations_with_replacement(BINS, cells)]


def scores_of(counts: NDArray[np.int64], side: Side, tail: Fraction, fewest: int) -> NDArray[np.int64]:
    beyond = cells_beyond(counts, side)
    outwards = beyond if side == "upper" else beyond[::-1]
    return rank_scores(outwards, int(counts.sum()), target(int(counts.sum()), tail, fewest))


def families(max_rows: int, tables: int) -> Iterator[NDArray[np.int64]]:
    """The scores of one bound for all that one unit can hold, the rest of the table being the same: all are neighbours."""
    random = np.random.default_rng(max_rows)
    for _ in range(tables):
        rest = np.bincount(random.integers(1, 2 * POINTS, random.integers(0, 14)), minlength=2 * POINTS + 1)
        for side in SIDES:
            for tail in TAILS:
                fewest = int(random.integers(0, 6))
                yield np.array([scores_of(rest + own, side, tail, fewest) for own in cells_of_a_unit(max_rows)])


@pytest.mark.parametrize("max_rows", [1, 2, 3])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_no_neighbour_changes_a_score_by_more_than_the_bound_which_is_tight(max_rows: int, adjacency: str) -> None:
    largest = 0
    for scores in families(max_rows, tables=12):
        # Under add-remove one of the two neighbours has nothing of the unit: the first of its possible contents.
        changes = scores - scores[0] if adjacency == "add-remove" else scores[:, None] - scores[None]
        largest = max(largest, int(np.abs(changes).max()))
    bound = sensitivity(max_rows).score
    assert TIGHT * bound < largest <= bound


@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_same_holds_for_tables_with_more_rows_of_a_person_than_may_be_used(max_rows: int) -> None:
    """From rows to scores: everything of one person is exchanged, wherever their rows stand in the table."""
    random = np.random.default_rng(40 + max_rows)
    grid, largest = np.array([-2.0, 0.0, 1.0, 5.0]), 0

    def scores_of_table(persons: NDArray[np.int64], cells: NDArray[np.float64]) -> NDArray[np.int64]:
        table = {"person": persons, "x": cells}
        counts = grid_counts(table, ["x"], grid, Unit("person", max_rows)).columns["x"]
        return np.concatenate([scores_of(counts, side, Fraction(1, 10), 2) for side in SIDES])

    for _ in range(60):
        rows = int(random.integers(5, 25))
        persons = random.integers(0, 4, rows)
        cells = random.choice([-9.0, -2.0, 0.0, 0.5, 1.0, 7.0, np.nan], rows)
        exchanged = np.where(persons == 0, random.choice([-9.0, 7.0, np.nan]), cells)
        others = persons != 0
        before = scores_of_table(persons, cells)
        for after in (scores_of_table(persons, exchanged), scores_of_table(persons[others], cells[others])):
            largest = max(largest, int(np.abs(after - before).max()))
    assert TIGHT * max_rows < largest <= max_rows


def largest_loss(scale: float, max_rows: int) -> float:
    """The largest logarithm of a ratio of probabilities between neighbours that a search finds, for a selection of this scale."""
    largest = 0.0
    for scores in families(max_rows, tables=3):
        laws = np.log([permute_and_flip_law(row, scale) for row in np.unique(scores, axis=0)])
        largest = max(largest, float((laws.max(axis=0) - laws.min(axis=0)).max()))
    return largest


@pytest.mark.parametrize("max_rows", [1, 2])
def test_probabilities_of_neighbours_differ_by_at_most_exp_epsilon(max_rows: int) -> None:
    assert largest_loss(Selection.calibrate(sensitivity(max_rows), EPSILON).scale, max_rows) <= EPSILON


def test_half_of_the_scale_would_be_caught() -> None:
    """Forgetting that scores can change in opposite directions is a mistake that the search finds."""
    assert largest_loss(Selection.calibrate(sensitivity(1), EPSILON).scale / 2, 1) > EPSILON


def test_the_bound_of_the_selection_itself_is_attained() -> None:
    """If scores change by the sensitivity in opposite directions the loss is epsilon: 1 % less noise would be too little."""
    scale = Selection.calibrate(sensitivity(1), EPSILON).scale
    before, after = np.array([0, -10]), np.array([1, -11])
    for factor, private in ((1.0, True), (0.99, False)):
        losses = np.log(permute_and_flip_law(before, factor * scale) / permute_and_flip_law(after, factor * scale))
        assert bool(np.abs(losses).max() <= EPSILON * (1 + 1e-9)) is private
