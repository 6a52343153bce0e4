"""Search for the two rows whose exchange a mechanism hides worst, and make up two tables that differ in them.

The search does not use the proofs of the sensitivities. It draws rows at random within the declarations, with a preference for
bounds and middles, keeps the pair with the largest change, and tries rows nearer and nearer to it. All pairs of a pool are
compared at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Values
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.cost import Cost
from noisewise.run import ALONE
from noisewise.schema import Basis, Schema
from noisewise.schema.columns import Categorical, Numeric

Rows: TypeAlias = Mapping[str, Values]
"""The values of each declared column."""
Change: TypeAlias = Callable[[Array, Array], Array]
"""From scaled rows (N, q) and (M, q) to the size of the change when one of the first is replaced by one of the second, (N, M)."""
Tables: TypeAlias = Callable[[int], tuple[Rows, Rows]]
"""Make two tables that differ in this many units."""

POOL: Final = 96
ROUNDS: Final = 40
BASE_ROWS: Final = 8
LARGEST_GROUP: Final = 20_000


@dataclass(frozen=True)
class Pair:
    """An old row and the new one that replaces it, or None if it is only removed; ``size`` is the size of the change."""

    leaves: Rows
    comes: Rows | None
    size: float


def worst_pair(basis: Basis, change: Change, *, removed: bool, seed: int = 8, pool: int = POOL, rounds: int = ROUNDS) -> Pair:
    """Find a worst pair. The seed is for the search; there is no privacy noise here."""
    random = np.random.default_rng(seed)
    leaves, comes = any_rows(basis.schema, pool, random), any_rows(basis.schema, pool, random)
    best: Pair | None = None
    for turn in range(rounds):
        after = np.zeros((1, basis.size)) if removed else scaled(basis, comes)
        sizes = change(scaled(basis, leaves), after)
        place = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        if best is None or sizes[place] > best.size:
            best = Pair(_row(leaves, int(place[0])), None if removed else _row(comes, int(place[1])), float(sizes[place]))
        step = 0.9**turn
        leaves = _near(basis.schema, best.leaves, pool, step, random)
        comes = leaves if best.comes is None else _near(basis.schema, best.comes, pool, step, random)
    assert best is not None
    return best


def any_rows(schema: Schema, count: int, random: np.random.Generator) -> Rows:
    """Random rows anywhere within the declarations."""
    rows: dict[str, Values] = {}
    for column in schema.columns:
        if isinstance(column, Numeric):
            marks = column.centre + column.half_width * random.choice([-1.0, 0.0, 1.0], count)
            inside = random.uniform(float(column.lower), float(column.upper), count)
            rows[column.name] = np.where(random.random(count) < 0.7, marks, inside)
        elif isinstance(column, Categorical):
            rows[column.name] = _levels(column.levels)[random.integers(len(column.levels), size=count)]
    return rows


def repeated(rows: Rows, times: int) -> Rows:
    """All rows, repeated ``times`` times."""
    return {name: np.tile(values, times) for name, values in rows.items()}


def joined(*tables: Rows) -> Rows:
    """Stack tables on top of one another."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def scaled(basis: Basis, rows: Rows) -> Array:
    """The released columns of rows as the data pass computes them, without its rounding."""
    values = basis.evaluate(rows)
    if basis.norm_clipped:
        length = np.linalg.norm(values[:, 1:], axis=1, keepdims=True)
        values[:, 1:] *= np.minimum(1.0, basis.radius / np.maximum(length, 1e-300))
    return values


def _near(schema: Schema, row: Rows, count: int, step: float, random: np.random.Generator) -> Rows:
    """The row itself, and others like it."""
    fresh = any_rows(schema, count, random)
    rows: dict[str, Values] = {}
    for column in schema.columns:
        own = np.repeat(row[column.name], count)
        if isinstance(column, Numeric):
            moved = own + step * column.half_width * random.normal(size=count)
            tried = np.where(random.random(count) < 0.1, fresh[column.name], moved)
            tried = np.clip(tried, float(column.lower), float(column.upper))
            kept = random.random(count) < 0.5
        else:
            tried, kept = fresh[column.name], random.random(count) < 0.8
        kept[0] = True
        rows[column.name] = np.where(kept, own, tried)
    return rows


def _row(rows: Rows, place: int) -> Rows:
    return {name: values[place : place + 1] for name, values in rows.items()}


def _levels(levels: tuple[object, ...]) -> Values:
    return np.array(levels) if len({type(level) for level in levels}) == 1 else np.array([str(level) for level in levels])


# The size of a change, in the norm of each mechanism.


def frobenius(leaves: Array, comes: Array) -> Array:
    """‖aaᵀ − bbᵀ‖_F."""
    gone, new, both = _products(leaves, comes)
    return np.asarray(np.sqrt(np.maximum(gone**2 + new**2 - 2 * both**2, 0.0)))


def upper_l1(leaves: Array, comes: Array) -> Array:
    """The sum of the absolute changes of the upper triangle."""
    upper = np.triu_indices(leaves.shape[1])
    gone, new = (rows[:, upper[0]] * rows[:, upper[1]] for rows in (leaves, comes))
    return np.stack([np.abs(one - new).sum(axis=1) for one in gone])


def spectral(leaves: Array, comes: Array) -> Array:
    """The largest eigenvalue of aaᵀ − bbᵀ, in absolute value."""
    gone, new, both = _products(leaves, comes)
    root = np.sqrt(np.maximum(((gone + new) / 2) ** 2 - both**2, 0.0))
    return np.asarray(np.abs(gone - new) / 2 + root)


def along_row(leaves: Array, comes: Array) -> Array:
    """The decrease of xᵀGx along the old row: x = a/‖a‖."""
    gone, _, both = _products(leaves, comes)
    return np.asarray(gone - both**2 / np.maximum(gone, 1e-300))


def along_row_without_corner(leaves: Array, comes: Array) -> Array:
    """The same with an x that is zero in its first place, which holds a public number."""
    return along_row(leaves[:, 1:], comes[:, 1:])


def averaged(group: int) -> Change:
    """‖·‖_F of the change of a group whose other rows all equal the old one."""
    def change(leaves: Array, comes: Array) -> Array:
        gone, new, both = _products(leaves, comes)
        k = group
        before = k * gone
        after = ((k - 1) ** 2 * gone + new + 2 * (k - 1) * both) / k
        across = (k - 1) * gone + both
        return np.asarray(np.sqrt(np.maximum(before**2 + after**2 - 2 * across**2, 0.0)))

    return change


def regression_sums(sums_sd: float, eigenvalue_sd: float) -> Change:
    """The change of an adassp release: of (S, z), and of the smallest eigenvalue of S, each in units of its noise.

    For the eigenvalue, all other rows equal the new row or, if there is none, are orthogonal to the old one. The response is the
    last column.
    """
    def change(leaves: Array, comes: Array) -> Array:
        response = leaves[:, -1:] ** 2 - (comes[:, -1:] ** 2).T
        sums = np.maximum(frobenius(leaves, comes) ** 2 - response**2, 0.0)
        gone, new, both = _products(leaves[:, :-1], comes[:, :-1])
        eigenvalue = gone - both**2 / np.maximum(new, 1e-300)
        return np.asarray(np.sqrt(sums / sums_sd**2 + eigenvalue**2 / eigenvalue_sd**2))

    return change


def weighted_monomials(alone: Sequence[float], with_response: Sequence[float]) -> Change:
    """The change of a moments release.

    Its sums are those of all monomials of degree k of the predictors with weight alone[k], and of these times the response, which
    is the last column. An absent row has no constant.
    """
    def product(one: Array, other: Array) -> Array:
        inner = one[:, 1:-1] @ other[:, 1:-1].T
        responses = np.outer(one[:, -1], other[:, -1])
        terms = [(own + responses * shared) * inner**degree
                 for degree, (own, shared) in enumerate(zip(alone, with_response, strict=True))]
        return np.asarray(sum(terms) * np.outer(one[:, 0], other[:, 0]))

    def change(leaves: Array, comes: Array) -> Array:
        gone, new = (np.diagonal(product(rows, rows)) for rows in (leaves, comes))
        return np.asarray(np.sqrt(np.maximum(gone[:, None] + new[None, :] - 2 * product(leaves, comes), 0.0)))

    return change


def at_right_angles(basis: Basis, row: Rows, count: int, seed: int = 9) -> Rows:
    """Rows whose predictors are as nearly orthogonal to those of the given row as the search finds; the response is last."""
    def straight(leaves: Array, comes: Array) -> Array:
        gone, new, both = _products(leaves[:, :-1], comes[:, :-1])
        return np.asarray(-np.abs(both) / np.sqrt(np.maximum(gone * new, 1e-300)))

    wanted = scaled(basis, row)
    found = [worst_pair(basis, lambda leaves, _: straight(leaves, wanted), removed=True, seed=seed + turn).leaves
             for turn in range(count)]
    return joined(*found)


def _products(leaves: Array, comes: Array) -> tuple[Array, Array, Array]:
    """‖a‖², ‖b‖² and aᵀb for all pairs."""
    return (leaves**2).sum(axis=1)[:, None], (comes**2).sum(axis=1)[None, :], leaves @ comes.T


# Two tables made of the worst neighbours, the distance of their statistics, and the distance allowed.


def promised_distance(cost: Cost, *budgets: tuple[float, float]) -> float:
    """The largest allowed distance of neighbours, in units of the noise.

    The smaller of two: by the (epsilon, delta) of all pieces, whatever their noise, and by the cost that the ledger charges.
    """
    allowed = [1 / analytic_gaussian_sigma(epsilon, delta, 1.0) if delta > 0 else epsilon for epsilon, delta in budgets]
    return min(math.hypot(*allowed), math.hypot(*(1 / piece.numbers[0] for piece in cost.pieces)))


def far_apart(tables: Tables, numbers: Callable[[Rows], Array], distance: Callable[[Array], float], wanted: float,
               ) -> tuple[int, tuple[Array, Array]]:
    """The number of units in which tables must differ for errors to be frequent enough, and their exact statistics."""
    one, other = map(numbers, tables(1))
    group = min(max(1, round(wanted / max(distance(other - one), 1e-12))), LARGEST_GROUP)
    first, second = map(numbers, tables(group))
    return group, (first, second)


def linear(change: Array, sd: Array) -> tuple[Array, float]:
    """Weights of the best score for Gaussian noise, and the distance it shows."""
    relative = np.divide(change, sd, out=np.zeros_like(change), where=sd > 0)
    distance = float(np.linalg.norm(relative))
    return np.divide(relative, sd * distance, out=np.zeros_like(change), where=sd > 0), distance


def worst_neighbours(basis: Basis, change: Change, *, pool: int = POOL, rounds: int = ROUNDS) -> Pair:
    """The worst pair of rows: replaced or, if neighbours may differ in their number of rows, removed."""
    schema = basis.schema
    ways = [] if schema.adjacency == "add-remove" else [False]
    if not schema.rows_are_public:
        ways.append(True)
    found = [worst_pair(basis, change, removed=removed, pool=pool, rounds=rounds) for removed in ways]
    return max(found, key=lambda pair: pair.size)


def two_tables(basis: Basis, pair: Pair, group: int, others: Rows | None = None) -> tuple[Rows, Rows]:
    """Tables with the pair's rows in ``group`` units, and rows that both share: many copies of ``others`` if given, or a few."""
    schema = basis.schema
    if others is None:
        return tables_around(schema, pair, group, any_rows(schema, BASE_ROWS, np.random.default_rng(7)))
    alike = [others] if pair.comes is None else [others, pair.comes]
    return tables_around(schema, pair, group, repeated(joined(*alike), 4 * group * schema.unit.max_rows))


def tables_around(schema: Schema, pair: Pair, group: int, shared: Rows) -> tuple[Rows, Rows]:
    """Tables with the pair's rows in ``group`` units, and these rows that both share, each a unit of its own."""
    each = schema.unit.max_rows
    count = len(next(iter(shared.values())))
    with_row = joined(shared, repeated(pair.leaves, group * each))
    without = shared if pair.comes is None else joined(shared, repeated(pair.comes, group * each))
    if schema.unit.column is None:
        return without, with_row
    owner = np.concatenate([np.arange(count), count + np.repeat(np.arange(group), each)])
    return tuple({**rows, schema.unit.column: owner[: len(next(iter(rows.values())))]}  # type: ignore[return-value]
                 for rows in (without, with_row))


def grid_of(schema: Schema, basis: Basis, rows: Rows, average: int = 1) -> npt.NDArray[np.int64]:
    """The Gram matrix in steps of the statistic's grid, as the data pass computes it; ``average``: rows in each group."""
    from noisewise.data import averaged_gram_sum, gram_sum

    if average > 1:  # any groups will do, the same for both tables
        groups = np.arange(len(next(iter(rows.values())))) // average
        return averaged_gram_sum(rows, schema, basis, average, run=ALONE, groups=groups).to_grid()
    return gram_sum(rows, schema, basis, run=ALONE).to_grid()


def entry_sd(sds: tuple[float, float, float], size: int) -> Array:
    """The standard deviation of each entry of the matrix."""
    diagonal, off, corner = sds
    matrix = np.full((size, size), off)
    np.fill_diagonal(matrix, diagonal)
    matrix[0, 0] = corner
    return matrix
