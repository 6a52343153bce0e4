"""Parts of a table: their sizes, and that they are random and do not depend on values."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from noisewise.data.splitting.parts import BalancedSplit, RowSplit, UnitSplit, balanced_parts, independent_parts
from noisewise.errors import DataError


@pytest.mark.parametrize(("rows", "parts"), [(0, 3), (2, 5), (10, 10), (1003, 7)])
def test_equal_parts_differ_by_one_row_at_most(rows: int, parts: int) -> None:
    sizes = np.bincount(balanced_parts(rows, parts), minlength=parts)
    assert sizes.sum() == rows and np.ptp(sizes) <= 1


def test_every_equal_split_is_equally_likely() -> None:
    draw = np.random.default_rng(1).bytes
    seen = Counter(tuple(balanced_parts(4, 2, draw).tolist()) for _ in range(6000))
    assert set(seen) == set(permutations([0, 0, 1, 1]))
    assert chisquare(list(seen.values())).pvalue > 1e-3


def test_independent_parts_are_uniform_for_numbers_that_do_not_divide_a_power_of_two() -> None:
    found = independent_parts(90_000, 9, np.random.default_rng(2).bytes)
    assert chisquare(np.bincount(found, minlength=9)).pvalue > 1e-3
    assert found.min() == 0 and found.max() == 8


def test_numbers_of_the_incomplete_cycle_are_drawn_again() -> None:
    """Of 2^32 values 4294967295 is beyond the last whole cycle of 3 parts, which would favour part 0."""
    given = iter([np.array([2**32 - 1, 4], dtype=np.uint32).tobytes(), np.array([5], dtype=np.uint32).tobytes()])
    assert independent_parts(2, 3, lambda count: next(given)).tolist() == [2, 1]


def test_a_balanced_split_follows_the_rows_and_notices_another_number() -> None:
    split = BalancedSplit(10, 3)
    found = np.concatenate([split.parts_of(4, None), split.parts_of(6, None)])
    assert sorted(np.bincount(found).tolist()) == [3, 3, 4]
    split.finish()
    with pytest.raises(DataError, match="same number of rows"):
        split.parts_of(1, None)
    with pytest.raises(DataError, match="same number of rows"):
        BalancedSplit(10, 3).finish()


def test_rows_on_their_own() -> None:
    split = RowSplit(4)
    assert set(split.parts_of(500, None).tolist()) == {0, 1, 2, 3}
    split.finish()


def test_a_unit_stays_in_its_part_over_batches_and_rows_without_one_are_together() -> None:
    split = UnitSplit(50)
    first = split.parts_of(5, pa.array(["a", "b", None, "a", None]))
    second = split.parts_of(4, pa.array([None, "b", "c", "a"]))
    split.finish()
    assert first[0] == first[3] == second[3] and first[1] == second[1] and first[2] == first[4] == second[0]
    many = split.parts_of(2000, pa.array([str(number) for number in range(2000)]))
    assert chisquare(np.bincount(many, minlength=50)).pvalue > 1e-12
