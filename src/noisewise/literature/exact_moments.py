"""Make rows D* with given moments, (D*)ᵀD* = G and column sums 0, so that software that takes rows gives the results for G.

Peña and Barrientos make them for R's ``bas.lm``; Bayes factors depend only on G and the number of rows.
The rows do not resemble the table's: only their means, variances and correlations are right.

    D* = U (UᵀU)^(−½) G^(½)     with random U, its columns centred

(the roots are Cholesky factors). U is drawn twice from the same seed, block by block: once for its moments, once for the rows.
So a table of any length needs little memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import ResultError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK: Final = 2**16


def exact_moment_rows(matrix: npt.ArrayLike, rows: int, names: Sequence[str], seed: int = 0, *,
                      means: npt.ArrayLike | None = None) -> Iterator[pa.RecordBatch]:
    """Yield blocks of ``rows`` rows in all whose moments about the mean are ``matrix``; columns have mean 0, or ``means``.

    >>> import pyarrow as pa
    >>> table = pa.Table.from_batches(exact_moment_rows([[4.0, 1.0], [1.0, 9.0]], 100, ["x", "y"]))
    >>> values = np.column_stack([table[name] for name in ("x", "y")])
    >>> np.allclose(values.T @ values, [[4.0, 1.0], [1.0, 9.0]])
    True
    """
    moments = np.asarray(matrix, dtype=np.float64)
    count = len(moments)
    centres = np.zeros(count) if means is None else np.asarray(means, dtype=np.float64)
    if moments.shape != (count, count) or count == 0 or not np.isfinite(moments).all():
        raise ResultError("matrix must be square and finite", argument="matrix", found=f"shape {moments.shape}")
    if not np.allclose(moments, moments.T, rtol=1e-9, atol=1e-12 * np.abs(moments).max()):
        raise ResultError("matrix must be symmetric", argument="matrix")
    if len(names) != count or len(set(names)) != count or not all(isinstance(name, str) and name for name in names):
        raise ResultError("names must hold one distinct name per column", argument="names", found=repr(list(names))[:200])
    if centres.shape != (count,) or not np.isfinite(centres).all():
        raise ResultError("means must hold one finite number per column", argument="means", found=f"shape {centres.shape}")
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows <= count + 1:
        raise ResultError("rows must exceed the number of columns by at least 2", argument="rows", found=repr(rows),
                          remedy=f"ask for {count + 2} rows or more")
    scale = np.sqrt(np.maximum(np.diag(moments), 1e-300))
    try:
        root = np.asarray(np.linalg.cholesky(moments / np.outer(scale, scale)).T * scale)
    except np.linalg.LinAlgError:
        raise ResultError("matrix must be positive definite", argument="matrix", remedy="use regularised moments") from None
    return _batches(root, rows, list(names), seed, centres)


def _batches(root: Array, rows: int, names: list[str], seed: int, means: Array) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    total, squares = np.zeros(len(names)), np.zeros((len(names), len(names)))
    for block in _random_blocks(rows, len(names), seed):
        total += block.sum(axis=0)
        squares += block.T @ block
    middle = total / rows
    own = np.linalg.cholesky(squares - rows * np.outer(middle, middle)).T
    change = np.asarray(np.linalg.solve(own, root), dtype=np.float64)
    for block in _random_blocks(rows, len(names), seed):
        made = (block - middle) @ change + means
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in made.T], names=names)


def _random_blocks(rows: int, columns: int, seed: int) -> Iterator[Array]:
    """Yield blocks uniform on (−1, 1): mean and scale are close enough to the target for the correction to lose no digits."""
    for number, start in enumerate(range(0, rows, BLOCK)):
        yield np.random.default_rng([seed, number]).uniform(-1.0, 1.0, size=(min(BLOCK, rows - start), columns))
