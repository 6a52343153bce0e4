"""The smallest eigenvalue of a symmetric integer matrix, rounded to an integer without any error of arithmetic.

A numerical eigenvalue carries an error that grows with the number of rows, so that no public number bounds it. Here floats only
guess; whole numbers decide: a matrix is positive definite if and only if its leading minors are positive, and fraction-free
elimination gives them exactly. What is returned is therefore a function whose sensitivity has a proof (adassp.md, A3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from noisewise.errors import PrivacyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_SIZE: Final = 100
"""Exact elimination of a matrix of this size takes a second or two; the time grows with the fourth power."""


def integer_below_smallest_eigenvalue(matrix: NDArray[np.int64]) -> int:
    """The largest integer that is below the smallest eigenvalue.

    >>> integer_below_smallest_eigenvalue(np.array([[5, 1], [1, 5]]))
    3
    """
    _check(matrix)
    exact = matrix.astype(object)
    guess = _guess(matrix)
    below, above, step = guess, guess + 1, 1
    while not _positive_definite(_minus(exact, below)):
        below, above, step = below - step, below, 2 * step
    step = 1
    while _positive_definite(_minus(exact, above)):
        below, above, step = above, above + step, 2 * step
    while above - below > 1:
        middle = (below + above) // 2
        if _positive_definite(_minus(exact, middle)):
            below = middle
        else:
            above = middle
    return below


def _guess(matrix: NDArray[np.int64]) -> int:
    """Where to begin; a failure of the numerical method, which nobody may notice, only makes the search longer."""
    try:
        return int(np.floor(np.linalg.eigvalsh(matrix.astype(np.float64))[0]))
    except (np.linalg.LinAlgError, ValueError, OverflowError):
        return 0


def _minus(matrix: NDArray[Any], shift: int) -> NDArray[Any]:
    shifted = matrix.copy()
    np.fill_diagonal(shifted, np.diagonal(matrix) - shift)
    return shifted


def _positive_definite(matrix: NDArray[Any]) -> bool:
    """Sylvester's criterion. By Bareiss' elimination the k-th pivot is the k-th leading minor, and each division is exact."""
    before = 1
    for column in range(len(matrix)):
        pivot = matrix[column, column]
        if pivot <= 0:
            return False
        rest = slice(column + 1, None)
        row = matrix[column, rest]
        matrix[rest, rest] = (matrix[rest, rest] * pivot - np.multiply.outer(row, row)) // before
        before = pivot
    return True


def _check(matrix: NDArray[np.int64]) -> None:
    square = isinstance(matrix, np.ndarray) and matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
    if not (square and matrix.dtype == np.int64 and np.array_equal(matrix, matrix.T)):
        raise PrivacyError(
            "eigenvalues are taken of a symmetric matrix of 64-bit integers",
            found=f"{type(matrix).__name__} {getattr(matrix, 'dtype', '')} {getattr(matrix, 'shape', '')}".strip(),
            remedy="put the statistic on its grid first",
        )
