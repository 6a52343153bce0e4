"""How each kind of release is audited: tables that it should be unable to tell apart, and the noise that it promises.

A new kind is one function from a request to a `Subject`, entered in `KINDS`. Tables are made up from the declarations; releases
are drawn by the mechanism itself, from exact statistics that the data pass has made of these tables, or by `release` from
beginning to end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.errors import DeclarationError
from noisewise.holder.adassp import plan_adassp
from noisewise.holder.audit_microdata import microdata_subject, noisy_rows
from noisewise.holder.gram import plan_gram
from noisewise.holder.moments import check_response, plan_moments
from noisewise.holder.release import release
from noisewise.privacy.adassp import AdasspMechanism
from noisewise.privacy.audit import canaries as search
from noisewise.privacy.audit import laws
from noisewise.privacy.audit.canaries import Array, Pair, Rows
from noisewise.privacy.audit.report import Released
from noisewise.privacy.audit.trial import LESS_NOISE, Subject
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms import Selection, SymmetricLaplace, SymmetricMechanism, SymmetricWishart
from noisewise.privacy.sensitivity.bounds import BoundSensitivity
from noisewise.privacy.sensitivity.moments import coefficients
from noisewise.release.adassp import AdasspPart, regression_columns
from noisewise.schema import Basis, Schema
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.schema.moment_blocks import MomentBlock

Tables: TypeAlias = Callable[[int], tuple[Rows, Rows]]
"""Two tables that differ in so many units."""

BASE_ROWS: Final = 8
LARGEST_GROUP: Final = 20_000


@dataclass(frozen=True)
class Request:
    """What would be asked of `noisewise.release`; its arguments have the same names."""

    schema: Schema
    epsilon: float
    delta: float | None = None
    kind: str = "gram"
    mechanism: str | None = None
    terms: str | None = None
    formula: str | None = None
    average: int | None = None
    copies: int | None = None
    parts: int | None = None
    questions: Any = None
    prior: Any = None

    def release(self, rows: Rows) -> Any:
        """A real release of a table, from beginning to end."""
        if self.kind == "microdata":
            return noisy_rows(self, rows)
        make: Callable[..., Any] = release
        return make(rows, self.schema, kind=self.kind, terms=self.terms, formula=self.formula, epsilon=self.epsilon,
                    delta=self.delta, mechanism=self.mechanism, average=self.average, parts=self.parts, questions=self.questions,
                    prior=self.prior, threads=1, progress=False)

    def claim(self, mechanism: str, delta: float) -> Released:
        unit = self.schema.unit
        of = "one row" if unit.is_row else f"at most {unit.max_rows} rows"
        kind = self.kind if self.average is None else f"{self.kind}, averaged by {self.average}"
        kind += f", {self.copies} copies" if self.copies is not None and self.copies > 1 else ""
        kind = kind if self.parts is None else f"{kind}, {self.parts} parts"
        return Released(kind, mechanism, self.schema.adjacency, of, float(self.epsilon), delta)


def subject_of(request: Request, *, end_to_end: bool = False) -> Subject:
    """The audit of a request, ready to be drawn."""
    if request.kind not in KINDS:
        raise DeclarationError("this kind of release cannot be audited", found=repr(request.kind),
                               remedy="known are " + ", ".join(KINDS))
    return KINDS[request.kind](request, end_to_end)


def _gram(request: Request, end_to_end: bool) -> Subject:
    basis = Basis.of(request.schema, request.terms)
    mechanism = plan_gram(basis, request.epsilon, request.delta, request.mechanism, request.average)
    average = request.average or 1
    pair = _worst(basis, search.averaged(average) if average > 1 else _direction(mechanism))
    tables = partial(_averaged_tables, pair, average) if average > 1 else partial(_tables, basis, pair)
    upper = np.triu_indices(basis.size)

    def numbers(rows: Rows) -> Array:
        return np.asarray(_grid(request.schema, basis, rows, average)[upper] * STATISTIC_GRID, dtype=np.float64)

    sd = _entry_sd(mechanism.entry_sd(), basis.size)[upper]
    group, exact = _far_apart(tables, numbers, lambda change: _score(mechanism, change, sd)[1], _law(mechanism).clearest)
    weights, distance = _score(mechanism, exact[1] - exact[0], sd)
    law, worst = _law(mechanism), distance / group
    if isinstance(mechanism, SymmetricLaplace):
        worst = float(np.abs(exact[1] - exact[0]).sum()) / mechanism.scale / group
    if isinstance(law, laws.Wishart):
        worst = _worst(basis, search.spectral).size / mechanism.sensitivity.spectral
        law = replace(law, share=distance / group / worst if law.replaced else 1.0)
    two = tables(group)
    if end_to_end:
        def draw(which: int) -> Array:
            return np.asarray(request.release(two[which]).parts[0].matrix[upper])
    else:
        perturb = [_perturb(mechanism, request.schema, basis, rows, average) for rows in two]

        def draw(which: int) -> Array:
            return np.asarray(perturb[which]()[upper])

    promised = 1.0 if isinstance(law, laws.Wishart) else promised_distance(mechanism.cost(), (mechanism.epsilon, mechanism.delta))
    return Subject(request.claim(mechanism.name, mechanism.delta), exact, draw, sd == 0, weights, law, group, worst, promised,
                   partial(_laplace_evidence, exact, mechanism.scale) if isinstance(mechanism, SymmetricLaplace) else None)


def _adassp(request: Request, end_to_end: bool) -> Subject:
    basis = _regression(request)
    mechanism = plan_adassp(basis, request.epsilon, request.delta)
    pair = _worst(basis, search.regression_sums(mechanism.sums.sd, mechanism.eigenvalue.sd))
    others = search.at_right_angles(basis, pair.leaves, basis.size - 1)
    tables = partial(_tables, basis, pair, others=others)
    size = basis.size - 1
    upper = np.triu_indices(size)

    def numbers(rows: Rows) -> Array:
        grid = _grid(request.schema, basis, rows)
        exact = np.concatenate([grid[:-1, :-1][upper], grid[:-1, -1], [AdasspMechanism.smallest_eigenvalue(grid)]])
        return exact * STATISTIC_GRID

    pieces = mechanism.sums, mechanism.eigenvalue
    sums = mechanism.sums.entry_sd()
    sd = np.concatenate([_entry_sd(sums, size)[upper], np.full(size, sums[1]), [mechanism.eigenvalue.sd]])
    group, exact = _far_apart(tables, numbers, lambda change: linear(change, sd)[1], laws.Gaussian.clearest)
    weights, distance = linear(exact[1] - exact[0], sd)
    two = tables(group)
    grids = [_grid(request.schema, basis, rows) for rows in two]
    smallest = [mechanism.smallest_eigenvalue(grid) for grid in grids]

    def draw(which: int) -> Array:
        if end_to_end:
            part: AdasspPart = request.release(two[which]).parts[0]
            return np.concatenate([part.matrix[upper], part.moments, [part.smallest_eigenvalue.value]])
        noisy = mechanism.perturb(grids[which], smallest[which])
        return np.concatenate([noisy.matrix[upper], noisy.moments, [noisy.eigenvalue]])

    return Subject(request.claim("gaussian", mechanism.delta), exact, draw, sd == 0, weights, laws.Gaussian(), group,
                   distance / group, promised_distance(mechanism.cost(), *((piece.epsilon, piece.delta) for piece in pieces)))


def _moments(request: Request, end_to_end: bool) -> Subject:
    basis = _regression(request)
    check_response(basis)
    mechanism = plan_moments(basis, request.epsilon, request.delta)
    weights_of = mechanism.sensitivity.weights
    alone, with_response = ([float(weight) for weight in weights] for weights in coefficients(weights_of))
    tables = partial(_tables, basis, _worst(basis, search.weighted_monomials(alone, with_response)))
    predictors = basis.size - 2
    sd = np.concatenate([own / np.sqrt(MomentBlock.named(name).multiplicities(predictors))
                         for name, own in mechanism.block_sds().items()])

    def blocks(rows: Rows) -> dict[str, npt.NDArray[np.int64]]:
        from noisewise.data import moments_sum

        return moments_sum(rows, request.schema, basis, list(weights_of), threads=1, progress=False).to_blocks()

    def numbers(rows: Rows) -> Array:
        return np.concatenate(list(blocks(rows).values())) * STATISTIC_GRID

    group, exact = _far_apart(tables, numbers, lambda change: linear(change, sd)[1], laws.Gaussian.clearest)
    weights, distance = linear(exact[1] - exact[0], sd)
    two = tables(group)
    sums = [blocks(rows) for rows in two]

    def draw(which: int) -> Array:
        if end_to_end:
            return np.concatenate([block.sums for block in request.release(two[which]).parts[0].blocks.values()])
        return np.concatenate(list(mechanism.perturb(sums[which]).values()))

    return Subject(request.claim("gaussian", mechanism.delta), exact, draw, sd == 0, weights, laws.Gaussian(), group,
                   distance / group, promised_distance(mechanism.cost(), (mechanism.epsilon, mechanism.delta)))


def _regression(request: Request) -> Basis:
    """The columns of the one regression that a release serves, the response last."""
    if request.formula is None:
        raise DeclarationError(f"a release of kind {request.kind} is for one regression and needs its formula", found="None")
    return Basis(request.schema, regression_columns(request.schema, request.terms, request.formula))


def _bounds(request: Request, end_to_end: bool) -> Subject:
    """The selection behind `private_bounds`: one of two candidates, whose scores a unit changes in opposite directions.

    The wrong one is drawn with the probability ½exp(−gap/scale), as by Laplace noise and a threshold in the middle. Rows move
    the scores of real candidates by less, so that no table could show as much: none is drawn from beginning to end.
    """
    unit = request.schema.unit
    sensitivity = BoundSensitivity(adjacency=request.schema.adjacency, unit_is_row=unit.is_row, max_rows=unit.max_rows)
    mechanism = Selection.calibrate(sensitivity, request.epsilon)
    group = max(1, round(laws.Laplace.clearest / mechanism.epsilon))
    gap = group * sensitivity.score
    scores = np.array([gap, 0], dtype=np.int64), np.array([0, gap], dtype=np.int64)
    less = replace(mechanism, scale=LESS_NOISE * mechanism.scale)

    def draw_from(selection: Selection, which: int) -> Array:
        return np.array([float(selection.choose(scores[which]))])

    return Subject(request.claim(mechanism.name, 0.0), (np.zeros(1), np.ones(1)), partial(draw_from, mechanism),
                   np.zeros(1, dtype=bool), np.array([2 * gap / mechanism.scale]), laws.Laplace(), group,
                   2 * sensitivity.score / mechanism.scale, mechanism.epsilon, draw_less=partial(draw_from, less))


def _partition(request: Request, end_to_end: bool) -> Subject:
    from noisewise.holder.audit_partition import partition_subject

    return partition_subject(request, end_to_end)


KINDS: Final[Mapping[str, Callable[[Request, bool], Subject]]] = {
    "gram": _gram, "moments": _moments, "adassp": _adassp, "bounds": _bounds, "microdata": microdata_subject,
    "partition": _partition,
}


def promised_distance(cost: Cost, *budgets: tuple[float, float]) -> float:
    """How far apart neighbours may be at most, in units of the noise.

    By the (epsilon, delta) of all parts, whatever their noise is, and by the cost that the ledger reckons with: the smaller.
    """
    allowed = [1 / analytic_gaussian_sigma(epsilon, delta, 1.0) if delta > 0 else epsilon for epsilon, delta in budgets]
    return min(math.hypot(*allowed), math.hypot(*(1 / piece.numbers[0] for piece in cost.pieces)))


def _far_apart(tables: Tables, numbers: Callable[[Rows], Array], distance: Callable[[Array], float], wanted: float,
               ) -> tuple[int, tuple[Array, Array]]:
    """In how many units tables must differ so that errors can be counted, and their exact statistics."""
    one, other = map(numbers, tables(1))
    group = min(max(1, round(wanted / max(distance(other - one), 1e-12))), LARGEST_GROUP)
    first, second = map(numbers, tables(group))
    return group, (first, second)


def _score(mechanism: SymmetricMechanism, change: Array, sd: Array) -> tuple[Array, float]:
    """Weights that make a score of one unit of noise, and the distance of the tables in it."""
    if isinstance(mechanism, SymmetricLaplace):  # one entry: a sum of several would not be of the law
        place = int(np.argmax(np.where(sd > 0, np.abs(change), 0.0)))
        weights = np.zeros_like(change)
        weights[place] = math.copysign(1 / mechanism.scale, change[place])
        return weights, float(weights @ change)
    if isinstance(mechanism, SymmetricWishart):
        return _along(mechanism, change)
    return linear(change, sd)


def _laplace_evidence(exact: tuple[Array, Array], scale: float, numbers: Array) -> Array:
    """The logarithm of the likelihood ratio. It has few values, which are made equal where rounding makes them differ."""
    first, second = (np.abs(numbers - own).sum(axis=1) for own in exact)
    return np.asarray(np.round((first - second) / scale, 9))


def linear(change: Array, sd: Array) -> tuple[Array, float]:
    """The best score for Gaussian noise."""
    relative = np.divide(change, sd, out=np.zeros_like(change), where=sd > 0)
    distance = float(np.linalg.norm(relative))
    return np.divide(relative, sd * distance, out=np.zeros_like(change), where=sd > 0), distance


def _along(mechanism: SymmetricWishart, change: Array) -> tuple[Array, float]:
    """xᵀGx along the largest eigenvector of the change; x is zero where a public number is."""
    size = mechanism.sensitivity.size
    upper = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[upper] = matrix.T[upper] = change
    first = 1 if mechanism.sensitivity.corner_is_public else 0
    values, vectors = np.linalg.eigh(matrix[first:, first:])
    place = int(np.argmax(np.abs(values)))
    x = np.concatenate([np.zeros(first), vectors[:, place]])
    product = np.outer(x, x) * (2 - np.eye(size)) / mechanism.scale
    return product[upper], float(values[place]) / mechanism.scale


def _law(mechanism: SymmetricMechanism) -> laws.Law:
    if isinstance(mechanism, SymmetricLaplace):
        return laws.Laplace()
    if isinstance(mechanism, SymmetricWishart):
        return laws.Wishart(mechanism.degrees, mechanism.sensitivity.size, mechanism.sensitivity.adjacency == "replace-one")
    return laws.Gaussian()


def _direction(mechanism: SymmetricMechanism) -> search.Change:
    """What is made large by the choice of the canaries."""
    if isinstance(mechanism, SymmetricLaplace):
        return search.upper_l1
    if isinstance(mechanism, SymmetricWishart):
        return search.along_row_without_corner if mechanism.sensitivity.corner_is_public else search.along_row
    return search.frobenius


def _worst(basis: Basis, change: search.Change) -> Pair:
    """The worst pair of rows: replaced or, where neighbours may have more or fewer rows, removed."""
    schema = basis.schema
    found = [] if schema.adjacency == "add-remove" else [search.worst_pair(basis, change, removed=False)]
    if not schema.rows_are_public:
        found.append(search.worst_pair(basis, change, removed=True))
    return max(found, key=lambda pair: pair.size)


def _tables(basis: Basis, pair: Pair, group: int, others: Rows | None = None) -> tuple[Rows, Rows]:
    """The pair's rows in so many units, and other rows which both tables share: many more if they are given, else a few."""
    schema = basis.schema
    each = schema.unit.max_rows
    if others is None:
        shared = search.any_rows(schema, BASE_ROWS, np.random.default_rng(7))
    else:
        alike = [others] if pair.comes is None else [others, pair.comes]
        shared = search.repeated(search.joined(*alike), 4 * group * each)
    count = len(next(iter(shared.values())))
    with_row = search.joined(shared, search.repeated(pair.leaves, group * each))
    without = shared if pair.comes is None else search.joined(shared, search.repeated(pair.comes, group * each))
    if schema.unit.column is None:
        return without, with_row
    owner = np.concatenate([np.arange(count), count + np.repeat(np.arange(group), each)])
    return tuple({**rows, schema.unit.column: owner[: len(next(iter(rows.values())))]}  # type: ignore[return-value]
                 for rows in (without, with_row))


def _averaged_tables(pair: Pair, average: int, group: int) -> tuple[Rows, Rows]:
    """All rows are alike, but that in the second table one row in each of so many groups is another."""
    assert pair.comes is not None
    alike = search.repeated(pair.leaves, average * (group + 1))
    changed = {name: values.copy() for name, values in alike.items()}
    for name, values in changed.items():
        values[: average * group : average] = pair.comes[name][0]
    return alike, changed


def _grid(schema: Schema, basis: Basis, rows: Rows, average: int = 1) -> npt.NDArray[np.int64]:
    from noisewise.data import averaged_gram_sum, gram_sum

    if average > 1:  # groups as they may come, the same for both tables
        groups = np.arange(len(next(iter(rows.values())))) // average
        return averaged_gram_sum(rows, schema, basis, average, threads=1, progress=False, groups=groups).to_grid()
    return gram_sum(rows, schema, basis, threads=1, progress=False).to_grid()


def _perturb(mechanism: SymmetricMechanism, schema: Schema, basis: Basis, rows: Rows, average: int,
             ) -> Callable[[], npt.NDArray[np.float64]]:
    if not isinstance(mechanism, SymmetricWishart):
        return partial(mechanism.perturb, _grid(schema, basis, rows, average))
    from noisewise.data import gram_sum
    from noisewise.data.exact import PRODUCT_BITS

    return partial(mechanism.perturb, gram_sum(rows, schema, basis, threads=1, progress=False).total, 2.0**-PRODUCT_BITS)


def _entry_sd(sds: tuple[float, float, float], size: int) -> Array:
    """The standard deviation of each entry of the matrix."""
    diagonal, off, corner = sds
    matrix = np.full((size, size), off)
    np.fill_diagonal(matrix, diagonal)
    matrix[0, 0] = corner
    return matrix
