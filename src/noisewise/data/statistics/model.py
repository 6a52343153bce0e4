"""The sums of a `model` release: those of the first look, and those of a round at a public point. Each takes one pass.

All sums are exact, and a row adds the same numbers bit by bit, wherever it is in a batch. What it adds to a round starts from
whole numbers: a point is rounded (`RoundTables`) so that no sum of products exceeds 2**53, so BLAS may add them in any order. The
rest is elementwise: look-ups in tables, products, a quotient and a root, each rounded as IEEE 754 demands. D1 and D5 of
`noisewise/privacy/sensitivity/model.md` say how far the results are from real numbers.

Tables are computed once, on the driver, and sent to whoever has the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.data.block import Piece, SymmetricProduct
from noisewise.data.columns import require_columns, wanted_columns
from noisewise.data.exact import BLOCK_ROWS, ONE, ExactSum, Integers, Total
from noisewise.data.passes import OpenedRows, RowWorker
from noisewise.data.plan import Plan
from noisewise.data.reading import READING, readable_twice
from noisewise.data.sources import open_source
from noisewise.data.splitting.units import UnitLimit
from noisewise.errors import PrivacyError
from noisewise.run import DEFAULT, Run
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.columns import Numeric
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout, largest, range_starts
from noisewise.scores.nodes import Nodes
from noisewise.scores.rounds import Point

POINT_BITS: Final = 32
"""Rounded coefficients of a row of coordinates add up to at most 2**33, so that their products with values do to 2**53."""
LARGEST_EXPONENT: Final = 300
DOWN: Final = 1.0 - 2.0**-40
"""D1. Weights are smaller by more than all rounding of a row can make them too large."""

Places: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LookSums:
    """Exact sums of the first look."""

    exact: ExactSum
    layout: ModelLayout

    @property
    def rows(self) -> int:
        """The number of rows in the sums."""
        return int(self.exact.high[0])

    @property
    def fingerprint(self) -> tuple[int, ...]:
        """The same for every pass over the same rows."""
        return self.layout.fingerprint(self.exact)

    def to_grid(self) -> Integers:
        """The sums of `Layout`, rounded down to whole multiples of the statistic's grid (2**-16)."""
        return self.exact.to_grid()[self.layout.head:]


@dataclass(frozen=True, eq=False)
class RoundSums:
    """Exact sums of a round, and the point as it was rounded for them."""

    point: Point
    exact: ExactSum
    layout: ModelLayout
    terms: int

    @property
    def rows(self) -> int:
        """The number of rows in the sums."""
        return int(self.exact.high[0])

    @property
    def fingerprint(self) -> tuple[int, ...]:
        """The same for every pass over the same rows."""
        return self.layout.fingerprint(self.exact)

    @cached_property
    def _pieces(self) -> list[Integers]:
        terms = self.terms
        ends = self.layout.head + np.cumsum([terms, 1, terms * (terms + 1) // 2])
        return np.split(self.exact.to_grid(), [self.layout.head, *ends])[1:]

    @property
    def score(self) -> Integers:
        """Σ s, rounded down to whole multiples of the statistic's grid (2**-16)."""
        return self._pieces[0]

    @property
    def square(self) -> int:
        """Σ (ψ/bound)² on the same grid."""
        return int(self._pieces[1][0])

    @property
    def matrix(self) -> Integers:
        """Σ r rᵀ on the same grid."""
        return _mirrored(self._pieces[2], self.terms)

    @property
    def spread(self) -> Integers | None:
        """Σ s sᵀ on the same grid, if the point asks for it."""
        return _mirrored(self._pieces[3], self.terms) if self.point.spread else None


def _mirrored(triangle: Integers, size: int) -> Integers:
    rows, columns = np.triu_indices(size)
    matrix = np.zeros((size, size), dtype=np.int64)
    matrix[rows, columns] = matrix[columns, rows] = triangle
    return matrix


@dataclass(frozen=True, eq=False)
class ModelLayout:
    """Where the columns of a release are in a block of rows, and what every sum begins with: number of rows and fingerprint.

    The fingerprint has the exact sum of each column, and of each column times the response.
    """

    basis: Basis
    look: Layout
    plan: Plan
    predictors: Places
    """Their rows of a block, the constant first."""
    response: int
    looked: Places
    """Rows of a block: the columns of the first look."""

    @classmethod
    def of(cls, basis: Basis, look: Layout) -> ModelLayout:
        """The layout for a release whose columns are the constant, the predictors and, last, the response."""
        columns: dict[BasisColumn, None] = dict.fromkeys([*basis.columns, *look.columns])
        plan = Plan.of(Basis(basis.schema, tuple(columns)))
        place = dict(zip(columns, plan.order.tolist(), strict=True))
        predictors = np.array([place[column] for column in basis.columns[:-1]], dtype=np.intp)
        # Rows are not shortened to a norm: those far from the others count for less.
        return cls(basis, look, replace(plan, norm=None), predictors, place[basis.columns[-1]],
                   np.array([place[column] for column in look.columns], dtype=np.intp))

    @property
    def head(self) -> int:
        """How many sums come before those of a statistic."""
        return 1 + 2 * self.plan.size

    def head_sums(self, block: Array) -> Array:
        """The number of rows and the fingerprint, in units of 2**-40: whole numbers of at most 2**53."""
        return np.concatenate([[block.shape[1] * ONE * ONE], block.sum(axis=1) * ONE, block @ block[self.response]])

    def fingerprint(self, found: ExactSum) -> tuple[int, ...]:
        """The head of a sum, in whole numbers."""
        return tuple(found.total[: self.head].tolist())


@dataclass(frozen=True, eq=False)
class Responses:
    """Turns scaled responses into the user's units."""

    centre: float
    scale: float
    counted: bool

    @classmethod
    def of(cls, basis: Basis, *, counted: bool) -> Responses:
        """The units of the last column of a basis: those of its bounds, or 0 and 1 for two levels."""
        declared = basis.schema.column(basis.columns[-1].factors[0].column)
        centre, half = (declared.centre, declared.half_width) if isinstance(declared, Numeric) else (0.5, 0.5)
        return cls(centre, half / ONE, counted)

    def values(self, scaled: Array, out: Array) -> Array:
        """Responses from whole multiples of 2**-20; a count is a whole number."""
        np.multiply(scaled, self.scale, out=out)
        np.add(out, self.centre, out=out)
        return np.rint(out, out=out) if self.counted else out


@dataclass(frozen=True, eq=False)
class ModelRows:
    """A table, opened for all passes of one release."""

    layout: ModelLayout
    opened: OpenedRows

    @classmethod
    def open(cls, data: object, basis: Basis, look: Layout) -> ModelRows:
        """Open a table without reading a row, unless it is a stream, which is read into memory.

        ``basis`` has the constant first and the response last.
        """
        schema, layout = basis.schema, ModelLayout.of(basis, look)
        wanted = wanted_columns([schema.column(name) for name in layout.plan.columns], schema.unit.column)
        source = open_source(data)
        require_columns(source, wanted)
        return cls(layout, OpenedRows.of(readable_twice(source, wanted), wanted, schema.unit))

    def look(self, *, run: Run = DEFAULT, doing: str = READING) -> LookSums:
        """The sums of the first look.

        >>> from noisewise.schema import Schema
        >>> from noisewise.scores.families import FAMILIES
        >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
        ...     "age": {"bounds": [0, 100]}, "sick": {"levels": ["no", "yes"]}}})
        >>> rows = {"age": np.array([100.0, 50.0, 25.0]), "sick": ["no", "yes", "yes"]}
        >>> table = ModelRows.open(rows, Basis.of(schema), Layout.of(Basis.of(schema), FAMILIES["logistic"]))
        >>> (table.look().to_grid() / 2**16).tolist()
        [0.5, 1.0, 1.25]
        """
        layout = self.layout
        worker = partial(_LookWorker, layout, layout.basis.schema.unit.column,
                         Responses.of(layout.basis, counted=layout.look.ranges > 0))
        return LookSums(self.opened.sum(worker, run=run, doing=doing), layout)

    def round(self, problem: Problem, point: Point, *, run: Run = DEFAULT, doing: str = READING) -> RoundSums:
        """The sums of a round at a point."""
        layout = self.layout
        tables = RoundTables.of(layout, problem, point)
        worker = partial(_RoundWorker, layout, layout.basis.schema.unit.column, tables)
        return RoundSums(tables.point, self.opened.sum(worker, run=run, doing=doing), layout, len(tables.point.coordinates))


class _LookWorker(RowWorker[ExactSum]):
    def __init__(self, layout: ModelLayout, unit: str | None, responses: Responses, limit: UnitLimit | None) -> None:
        super().__init__(layout.plan, unit, limit)
        self.layout, self.responses = layout, responses
        self.starts = range_starts(largest(layout.basis)) if layout.look.ranges else np.zeros(0)
        self.total = Total(layout.head + layout.look.size)

    def add_rows(self, piece: Piece) -> None:
        block, left_out = self.block.laid_out(piece)
        if left_out is not None:
            block = block[:, ~left_out]
        layout = self.layout
        columns = block[layout.looked]
        squares = (columns[list(layout.look.squared)] ** 2).sum(axis=1)
        parts = [layout.head_sums(block), columns.sum(axis=1) * ONE, squares]
        if len(self.starts):
            counts = self.responses.values(block[layout.response], np.empty(block.shape[1]))
            found = np.searchsorted(self.starts, counts, side="right") - 1
            parts.append(np.bincount(found, minlength=len(self.starts)) * (ONE * ONE))
        self.total.add_block(np.concatenate(parts))

    def result(self) -> ExactSum:
        return ExactSum.of(self.layout.basis.names, *self.total.parts)


@dataclass(frozen=True, eq=False)
class RoundTables:
    """Everything public about a round, in whole numbers where sums of products are taken.

    With the columns X of a row in units of 2**-20, ``products @ X`` has the linear predictor in units of ``eta_unit``, then u in
    units of v. The tables have an entry for each node of η: the response is clipped to [low, high], d = y − mean, and with
    N = ‖u/v‖²

        w = DOWN / max(1, N · leverage),    ψ/bound = (factor · d) · part,
        2**20 s = w (factor · d) (u/v),     2**20 r = √w · root · (u/v).

    A table with a single value is a number.
    """

    point: Point
    products: Array
    eta_unit: float
    start: float
    steps: float
    """Nodes per unit of η."""
    last: float
    responses: Responses
    low: Array | float
    high: Array | float
    mean: Array | float
    factor: Array | float
    leverage: Array | float
    root: Array | float
    part: Array | float | None
    """None for a family without a scale."""

    @classmethod
    def of(cls, layout: ModelLayout, problem: Problem, point: Point) -> RoundTables:
        """Round a point. The point of the result has the rounded coordinates."""
        nodes = Nodes.of(problem.family, problem.bounds, point.scale)
        eta, eta_unit = in_whole_numbers(problem.features @ point.coefficients)
        coordinates, unit = in_whole_numbers(point.coordinates)
        size = layout.plan.size
        products = np.zeros((1 + len(coordinates), size))
        products[0, layout.predictors], products[1:, layout.predictors] = eta, coordinates
        value = unit / ONE
        with np.errstate(all="ignore"):  # what is out of range is refused below
            part = 1.0 / (nodes.bound * unit) if problem.family.scaled else None
            leverages, roots = (nodes.bound * value) ** 2, np.sqrt(nodes.rate) * unit
            tables = [nodes.low, nodes.high, nodes.mean, nodes.factor * unit, leverages, roots]
        finite = all(bool(np.all(np.isfinite(table))) for table in (*tables, *([] if part is None else [part])))
        if not (finite and math.isfinite(nodes.start) and 0 < nodes.step < math.inf):
            raise PrivacyError("the bounds of the response, the scale and the coordinates of a round must be of ordinary size",
                               found="a number that is out of range", remedy="declare the response in other units")
        low, high, mean, factor, leverage, root = map(_single, tables)
        return cls(
            point=replace(point, coordinates=coordinates * unit), products=products, eta_unit=eta_unit / ONE, start=nodes.start,
            steps=1.0 / nodes.step, last=len(nodes.mean) - 1.0,
            responses=Responses.of(layout.basis, counted=problem.family.response == "count"), low=low, high=high, mean=mean,
            factor=factor, leverage=leverage, root=root, part=None if part is None else _single(part))


def _single(table: Array) -> Array | float:
    """A table, or its only value."""
    return float(table[0]) if np.all(table == table[0]) else table


def in_whole_numbers(values: Array) -> tuple[Array, float]:
    """Numbers in units of a power of two, rounded, such that those of a row add up to at most 2**33 without their signs.

    >>> in_whole_numbers(np.array([1.0, -0.5]))
    (array([ 2.14748365e+09, -1.07374182e+09]), 4.656612873077393e-10)
    """
    sums = np.abs(values).sum(axis=-1)
    exponent = math.frexp(float(np.max(sums, initial=0.0)))[1]
    if not (np.all(np.isfinite(values)) and np.all(np.isfinite(sums)) and abs(exponent) <= LARGEST_EXPONENT):
        raise PrivacyError("the coefficients and coordinates of a round must be numbers of ordinary size",
                           found="a number that is out of range", remedy="declare the columns in other units")
    unit = 2.0 ** (exponent - POINT_BITS)
    return np.rint(values / unit), unit


class _RoundWorker(RowWorker[ExactSum]):
    def __init__(self, layout: ModelLayout, unit: str | None, tables: RoundTables, limit: UnitLimit | None) -> None:
        super().__init__(layout.plan, unit, limit)
        self.layout, self.tables = layout, tables
        terms = len(tables.products) - 1
        self._products = np.zeros((terms + 1, BLOCK_ROWS))
        # Without the corner, a symmetric product begins with the first row; this one is 0, or 1 to have sums as well.
        self._roots = np.zeros((terms + 1, BLOCK_ROWS))
        self._scores = np.full((terms + 1, BLOCK_ROWS), ONE)
        self._numbers = np.zeros((6, BLOCK_ROWS))
        self._nodes = np.zeros(BLOCK_ROWS, dtype=np.intp)
        rows, columns = np.triu_indices(terms)
        self._triangle = (rows + 1) * (terms + 1) + columns + 1
        self._matrix = SymmetricProduct(terms + 1)
        self._spread = SymmetricProduct(terms + 1) if tables.point.spread else None
        triangles = 2 if tables.point.spread else 1
        self.total = Total(layout.head + terms + 1 + triangles * len(self._triangle))

    def add_rows(self, piece: Piece) -> None:
        block, left_out = self.block.laid_out(piece)
        if left_out is not None:
            block = block[:, ~left_out]
        self.total.add_block(np.concatenate([self.layout.head_sums(block), *self._sums(block)]))

    def _sums(self, block: Array) -> Sequence[Array]:
        """The score, the square and the triangles, in units of 2**-40."""
        tables, size = self.tables, block.shape[1]
        found, roots, scores = (part[:, :size] for part in (self._products, self._roots, self._scores))
        squares, weights, residuals, one, other, spare = self._numbers[:, :size]
        np.matmul(tables.products, block, out=found)
        u = found[1:]
        squares[:] = 0.0
        for row in u:  # one after the other, for a sum in an order that depends on nothing else
            np.multiply(row, row, out=spare)
            np.add(squares, spare, out=squares)
        at = self._place(found[0], spare)
        np.multiply(squares, self._at(tables.leverage, at, one), out=weights)
        np.maximum(weights, 1.0, out=weights)
        np.divide(DOWN, weights, out=weights)
        tables.responses.values(block[self.layout.response], residuals)
        np.maximum(residuals, self._at(tables.low, at, one), out=residuals)
        np.minimum(residuals, self._at(tables.high, at, one), out=residuals)
        np.subtract(residuals, self._at(tables.mean, at, one), out=residuals)
        np.multiply(residuals, self._at(tables.factor, at, one), out=residuals)
        square = 0.0
        if tables.part is not None:
            np.multiply(residuals, self._at(tables.part, at, one), out=other)
            np.multiply(other, other, out=other)
            np.multiply(other, ONE * ONE, out=other)
            square = float(np.floor(other, out=other).sum())
        np.multiply(weights, residuals, out=residuals)
        np.multiply(u, residuals, out=scores[1:])
        np.trunc(scores[1:], out=scores[1:])
        np.sqrt(weights, out=weights)
        np.multiply(weights, self._at(tables.root, at, one), out=weights)
        np.multiply(u, weights, out=roots[1:])
        np.trunc(roots[1:], out=roots[1:])
        matrix = self._matrix(roots).ravel()[self._triangle]
        spread = [] if self._spread is None else [self._spread(scores).ravel()[self._triangle]]
        return [scores[1:].sum(axis=1) * ONE, np.array([square]), matrix, *spread]

    def _place(self, eta: Array, spare: Array) -> Places:
        """The node of each linear predictor. Clipped before it becomes an integer, since it may be beyond any."""
        tables = self.tables
        np.multiply(eta, tables.eta_unit, out=spare)
        np.subtract(spare, tables.start, out=spare)
        np.multiply(spare, tables.steps, out=spare)
        np.rint(spare, out=spare)
        np.maximum(spare, 0.0, out=spare)
        np.minimum(spare, tables.last, out=spare)
        at = self._nodes[: len(eta)]
        at[:] = spare
        return at

    @staticmethod
    def _at(table: Array | float, nodes: Places, out: Array) -> Array | float:
        """The table's values at these nodes."""
        return table if isinstance(table, float) else np.take(table, nodes, out=out, mode="clip")

    def result(self) -> ExactSum:
        return ExactSum.of(self.layout.basis.names, *self.total.parts)
