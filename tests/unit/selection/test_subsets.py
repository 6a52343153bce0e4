"""The elimination tree against plain linear algebra for every subset."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.selection.subsets import all_subsets, memberships, sizes


@given(st.lists(st.integers(1, 3), min_size=0, max_size=5), st.integers(0, 2**32 - 1))
def test_rests_of_all_subsets(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = sum(lengths)
    table = rng.normal(size=(count + 20, count + 1)) @ rng.normal(size=(count + 1, count + 1))
    matrix = table.T @ table
    ends = np.cumsum(lengths)
    groups = [list(range(end - length, end)) for end, length in zip(ends, lengths, strict=True)]
    rests = all_subsets(matrix, groups)
    for number, members in enumerate(memberships(len(lengths))):
        columns = [column for group, chosen in zip(groups, members, strict=True) if chosen for column in group]
        inner, across = matrix[np.ix_(columns, columns)], matrix[columns, -1]
        rest = matrix[-1, -1] - across @ np.linalg.solve(inner, across)
        assert rests[number] == pytest.approx(rest, rel=1e-6)
        assert sizes(lengths)[number] == len(columns)


@pytest.mark.parametrize("groups", [[[1], [0]], [[0]], [[0], [1], [2]], [[0, 1], [1]]])
def test_columns_in_another_order_than_their_groups_are_refused(groups: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="in the order of their groups"):
        all_subsets(np.eye(3), groups)


def test_bit_k_of_a_models_number_is_group_k() -> None:
    assert memberships(3)[5].tolist() == [True, False, True]
    assert memberships(0).shape == (1, 0)
