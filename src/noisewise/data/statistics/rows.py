"""Rows for a release of kind rows: scaled, clipped, perturbed at once and handed on.

A confidential cell is never written anywhere: everything that leaves the pass already has its noise. The budget is charged before
any noise is drawn, so rows are read twice, the first time only to check that they can be read to the end. A stream can be read
only once, and is read after the charge.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.data.block import Piece
from noisewise.data.columns import LevelReader, require_columns, wanted_columns
from noisewise.data.exact import BLOCK_ROWS
from noisewise.data.passes import RowWorker, share_batches
from noisewise.data.plan import Plan, ScaledNumber
from noisewise.data.reading import count_rows, read_through
from noisewise.data.sources import open_source
from noisewise.data.sources.arrow import ReaderSource
from noisewise.data.sources.base import ClusterSource, Source, other_number_of_rows, slices
from noisewise.run import QUIET, Run
from noisewise.schema.columns import Categorical, Numeric
from noisewise.schema.schema import Schema

Grid: TypeAlias = npt.NDArray[np.int64]
Perturb: TypeAlias = Callable[[Grid, Grid], Grid]
"""From scaled numbers (columns, rows) and codes (columns, rows) to noisy rows."""


def open_rows(data: object, schema: Schema, run: Run = QUIET) -> tuple[Source, int | None]:
    """The table, and its number of rows after reading all of it once. A stream is not read, and its number is None."""
    source = open_source(data)
    wanted = wanted_columns(schema.columns, None)
    require_columns(source, wanted)
    if isinstance(source, ReaderSource):
        return source, None
    if isinstance(source, ClusterSource):
        return source, count_rows(source, wanted, run)
    return source, read_through(source, wanted, run, "Checking that all rows can be read")


def pass_noisy_rows(source: Source, schema: Schema, perturb: Perturb, keep: Callable[[Grid], None], *, copies: int,
                    expected: int | None, run: Run) -> int:
    """Add noise to all rows, a few thousand noisy ones at a time, and pass them to ``keep``. Return the number of rows."""
    lock = threading.Lock()

    def locked(rows: Grid) -> None:
        with lock:
            keep(rows)

    plan, at_once = cells_plan(schema), max(1, BLOCK_ROWS // copies)
    rows = sum(share_batches(source, wanted_columns(schema.columns, None),
                             lambda: _NoisyWorker(plan, perturb, locked, at_once), in_order=False, run=run))
    if expected is not None and rows != expected:
        raise other_number_of_rows("the budget is spent, and nothing was released")
    return rows


def cells_plan(schema: Schema) -> Plan:
    """The declared columns alone: numbers to scale, and codes of levels, with nothing computed from them."""
    numbers = tuple(ScaledNumber.of(column) for column in schema.columns if isinstance(column, Numeric))
    categories = tuple(LevelReader(column) for column in schema.columns if isinstance(column, Categorical))
    return Plan(numbers, categories, (), (), None, 1 + len(numbers), np.arange(1 + len(numbers), dtype=np.intp))


class _NoisyWorker(RowWorker[int]):
    """Perturbs the rows it reads. Its result is their number."""

    def __init__(self, plan: Plan, perturb: Perturb, keep: Callable[[Grid], None], at_once: int) -> None:
        super().__init__(plan, None, None)
        self._perturb, self._keep, self._at_once = perturb, keep, at_once
        self._rows = 0

    def add_rows(self, piece: Piece) -> None:
        scaled = self.block.released(piece).astype(np.int64)  # whole numbers already
        columns = [piece.codes[reader.column.name] for reader in self.plan.categories]
        levels = np.array(columns, dtype=np.int64).reshape(len(columns), scaled.shape[1])
        for start, stop in slices(scaled.shape[1], self._at_once):  # noisy rows of many copies would not fit into memory
            self._keep(self._perturb(scaled[:, start:stop], levels[:, start:stop]))
        self._rows += scaled.shape[1]

    def result(self) -> int:
        return self._rows
