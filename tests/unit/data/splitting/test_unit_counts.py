"""Counts by number are those of a dictionary, whatever the numbers; and the table that they are in grows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noisewise.data.splitting.units import AT_ONCE, SMALLEST, CountsByName, CountsByNumber, UnitLimit

numbers = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 0]))


@given(st.lists(st.dictionaries(numbers, st.integers(1, 9), max_size=20), max_size=6), st.integers(1, 12))
@example([{0: 1}, {0: 1}], 1)
def test_counts_are_those_of_a_dictionary(seen: list[dict[int, int]], most: int) -> None:
    by_number, by_name = CountsByNumber(most), CountsByName(most)
    for some in seen:
        names, counts = list(some), np.array(list(some.values()), dtype=np.int64)
        found = by_number.add(np.array(names, dtype=np.int64), counts)
        assert found.tolist() == by_name.add(list(names), counts).tolist()


@pytest.mark.parametrize("step", [1, 4096, 2**40])
def test_it_grows_and_forgets_nobody(step: int) -> None:
    people: npt.NDArray[np.int64] = np.arange(3 * AT_ONCE, dtype=np.int64) * step
    counts, ones = CountsByNumber(5), np.ones(1000, dtype=np.int64)
    assert len(people) > 8 * SMALLEST
    for expected in (0, 1):
        for start in range(0, len(people), 1000):
            part = people[start:start + 1000]
            assert (counts.add(part, ones[:len(part)]) == expected).all()


def test_numbers_that_all_want_one_place_find_another() -> None:
    counts = CountsByNumber(3)
    counts._multiplier = np.uint64(0)  # a hash that could not be worse
    people, once = np.arange(300, dtype=np.int64), np.ones(300, dtype=np.int64)
    assert (counts.add(people, 2 * once) == 0).all()
    assert (counts.add(people[::-1], once) == 2).all()
    assert (counts.add(people, once) == 3).all()


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.date32(), pa.timestamp("us")])
def test_every_whole_number_is_a_unit(kind: pa.DataType) -> None:
    limit = UnitLimit(1)
    first = pa.array([0, 1, 0, None, 127], pa.int64()).cast(pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    assert limit.keep(first).tolist() == [True, True, False, True, True]
    assert limit.keep(first).tolist() == [False] * 5


def test_the_largest_numbers_are_units_of_their_own() -> None:
    limit = UnitLimit(1)
    assert limit.keep(pa.array([2**64 - 1, 2**63, 2**63 - 1, 0], pa.uint64())).tolist() == [True] * 4
    assert limit.keep(pa.array([2**64 - 1, 5], pa.uint64())).tolist() == [False, True]
