"""Tables in parts, for tests: rows of each part, and their moments as the data holder computes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def moments(tables: list[tuple[Array, Array]], shift: Array | None = None) -> tuple[Array, Array, Array]:
    """Counts, products and shift of parts given as (predictors with a column of ones, response)."""
    width = tables[0][0].shape[1] + 1
    shift = np.zeros((len(tables), width)) if shift is None else shift
    both = [np.column_stack(table) - moved for table, moved in zip(tables, shift, strict=True)]
    return np.array([float(len(one)) for one in both]), np.array([one.T @ one for one in both]), shift


def made(parts: int = 3, rows: int = 40, seed: int = 1) -> list[tuple[Array, Array]]:
    """y = 1 + 2 x - w + noise, with predictors of different scales; parts of slightly different sizes."""
    rng = np.random.default_rng(seed)
    found = []
    for part in range(parts):
        x, w, noise = rng.normal(size=(3, rows + part))
        w = 0.5 * x + 3.0 * w + 2.0
        found.append((np.column_stack([np.ones(rows + part), x, w]), 1.0 + 2.0 * x - w + noise))
    return found
