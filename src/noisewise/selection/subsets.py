"""Every subset of the predictors at once: residual sums of squares by one elimination tree.

Take a positive definite matrix M of predictors and, last, the response. Going through the terms one by one, each matrix becomes
two: the term is left out (its rows and columns are dropped), or it is included (Gaussian elimination). After the last term, one
number is left of each matrix: the part of the response that the chosen predictors leave unexplained. Matrices shrink as fast as
their number grows, so all 2^K models cost about a dozen operations each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Flags


def all_subsets(matrix: Array, groups: Sequence[Sequence[int]]) -> Array:
    """The part of the response, the last column, that every subset of ``groups`` of columns leaves unexplained.

    Model number i contains group k if bit k of i is set. Columns must be numbered in the order of their groups.

    >>> all_subsets(np.array([[2.0, 0.0, 2.0], [0.0, 1.0, 2.0], [2.0, 2.0, 7.0]]), [[0], [1]])
    array([7., 5., 3., 1.])
    """
    if [column for group in groups for column in group] != list(range(len(matrix) - 1)):
        raise ValueError("columns must be numbered in the order of their groups")
    rest = matrix[..., None]  # models are the last axis: long and contiguous
    for group in groups:
        eliminated = rest
        for _ in group:
            column = eliminated[1:, 0]
            eliminated = eliminated[1:, 1:] - column[:, None] * (column / eliminated[0, 0])[None]
        rest = np.concatenate([rest[len(group):, len(group):], eliminated], axis=-1)
    return np.asarray(rest[0, 0])


def memberships(count: int) -> Flags:
    """Flags for the groups, out of ``count``, that each model contains: (models, groups)."""
    return ((np.arange(2**count)[:, None] >> np.arange(count)) & 1).astype(bool)


def sizes(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    """For each model the sum of the lengths of its groups: its number of columns or, with lengths 1, of terms."""
    result = np.zeros(1, dtype=np.int64)
    for length in lengths:
        result = np.concatenate([result, result + length])
    return result
