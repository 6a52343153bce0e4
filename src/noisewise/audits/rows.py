"""Audit a release of kind rows: tables of equal rows at opposite corners of the declared bounds."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.audits import laws
from noisewise.audits.canaries import Rows
from noisewise.audits.request import Request
from noisewise.audits.trial import LESS_NOISE, Subject
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.mechanisms.rows import RowsMechanism, calibrate
from noisewise.privacy.sensitivity.rows import CELL_GRID, CELL_RANGE, response_ratio
from noisewise.schema.columns import Categorical, Column, Numeric

MOST_ROWS: Final = 100
"""Drawing more is not worth the time."""
CORNER: Final = round(1 / CELL_GRID)


def subject(request: Request, end_to_end: bool) -> Subject:
    """Rows are perturbed independently, so the two tables differ in all rows, and have enough rows to show a difference.

    The score adds up all noisy numbers, each in units of its own noise. Only the bound for any mechanism sees categories.
    """
    mechanism = request.plan().mechanism
    gaussian, count = mechanism.distribution == "gaussian", len(mechanism.scales)
    of_a_row = mechanism.copies * np.array([CELL_RANGE / scale for scale in mechanism.scales.values()])
    distance = float(np.sqrt((of_a_row**2).sum() / mechanism.copies)) if gaussian else float(of_a_row.sum())
    rows = _rows_needed(distance, count * mechanism.copies, gaussian)
    exact = tuple(_cells(mechanism, rows, corner) for corner in (0, 1))
    law: laws.Law | None = None
    weights = np.zeros((rows, mechanism.copies, len(mechanism.shares)))
    if count:
        scales = np.array(list(mechanism.scales.values()))
        weights[:, :, :count] = of_a_row / scales / np.linalg.norm(of_a_row) if gaussian else 1 / scales
        weights /= math.sqrt(rows * mechanism.copies) if gaussian else 1.0
        law = laws.Gaussian() if gaussian else laws.LaplaceSum(rows * mechanism.copies * count)
    own = float(sum(mechanism.shares[name] for name in mechanism.scales)) * mechanism.epsilon
    promised = 1 / analytic_gaussian_sigma(own, mechanism.delta, 1.0) if gaussian else own
    tables = tuple(_table(request.schema.columns, rows, corner) for corner in (0, 1))

    def draw(which: int) -> Array:
        return noisy_rows(request, tables[which]) if end_to_end else _perturbed(mechanism, rows, which)

    less = _less_noise(mechanism)
    noiseless = np.zeros(exact[0].shape, dtype=bool)
    return Subject(request.claim(mechanism.name, mechanism.delta), (exact[0], exact[1]), draw, noiseless, weights.ravel(), law,
                   rows, distance, promised * (1 + 1e-9), evidence=_evidence(mechanism, rows),
                   draw_less=(lambda which: _perturbed(less, rows, which)) if mechanism.levels else None)


def noisy_rows(request: Request, rows: Rows) -> Array:
    """The contents of a real release in scaled units and codes: (rows, copies, columns), flattened."""
    with tempfile.TemporaryDirectory() as folder:
        scaled = request.release(rows, Path(folder) / "audit.nwr").contents.scaled()
        codes = [levels[:, :, None].astype(np.float64) for levels in scaled.codes.values()]
        return np.concatenate([scaled.numbers, *codes], axis=2).transpose(1, 0, 2).ravel()


def _rows_needed(distance: float, numbers: int, gaussian: bool) -> int:
    """The rows that put the tables about two standard deviations of the score apart; one row for categories alone."""
    if numbers == 0:
        return 1
    in_sds = distance if gaussian else distance / math.sqrt(2 * numbers)
    return min(max(1, math.ceil((2 / in_sds) ** 2)), MOST_ROWS)


def _cells(mechanism: RowsMechanism, rows: int, corner: int) -> Array:
    """The published cells without noise."""
    one = [-1.0 if corner == 0 else 1.0] * len(mechanism.scales) + [float(corner)] * len(mechanism.levels)
    return np.tile(np.array(one), rows * mechanism.copies)


def _perturbed(mechanism: RowsMechanism, rows: int, which: int) -> Array:
    count = len(mechanism.scales)
    numbers = np.full((count, rows), -CORNER if which == 0 else CORNER, dtype=np.int64)
    noisy = mechanism.perturb(numbers, np.full((len(mechanism.levels), rows), which, dtype=np.int64)).astype(np.float64)
    noisy[:, :, :count] *= CELL_GRID
    return noisy.ravel()


def _table(columns: tuple[Column, ...], rows: int, corner: int) -> Rows:
    def cell(column: Column) -> object:
        if isinstance(column, Categorical):
            return column.levels[corner]
        assert isinstance(column, Numeric)  # a rows release has no other kinds of column
        return (column.lower, column.upper)[corner]

    return {column.name: np.array([cell(column)] * rows) for column in columns}


def _evidence(mechanism: RowsMechanism, rows: int) -> Callable[[Array], Array]:
    """The log likelihood ratio, rounded so that equal values compare as equal."""
    scales = np.array(list(mechanism.scales.values()))
    losses = np.array([math.log(response_ratio(mechanism.keep[name], levels)) for name, levels in mechanism.levels.items()])

    def log_ratio(numbers: Array) -> Array:
        cells = numbers.reshape(len(numbers), rows * mechanism.copies, -1)
        values, codes = cells[:, :, :len(scales)], cells[:, :, len(scales):]
        if mechanism.distribution == "gaussian":
            from_numbers = 2 * values / scales**2
        else:
            from_numbers = (np.abs(values + 1) - np.abs(values - 1)) / scales
        from_codes = ((codes == 1).astype(float) - (codes == 0)) * losses
        return np.asarray(np.round(from_numbers.sum(axis=(1, 2)) + from_codes.sum(axis=(1, 2)), 9))

    return log_ratio


def _less_noise(mechanism: RowsMechanism) -> RowsMechanism:
    """0.7 times the noise on numbers; levels are kept as often as if epsilon were 1/0.7 times as large."""
    columns: dict[str, int | None] = {name: mechanism.levels.get(name) for name in mechanism.shares}
    weaker = calibrate(columns, epsilon=mechanism.epsilon / LESS_NOISE, delta=None, mechanism=None, copies=mechanism.copies,
                       weights=mechanism.shares)
    return replace(mechanism, scales={name: LESS_NOISE * scale for name, scale in mechanism.scales.items()}, keep=weaker.keep)
