"""Audit a release of kind gram, with Gaussian, Laplace or Wishart noise, of single or averaged rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from noisewise.arrays import Array
from noisewise.audits import canaries as search
from noisewise.audits import laws
from noisewise.audits.canaries import Pair, Rows, grid_of, linear, worst_neighbours
from noisewise.audits.request import Request
from noisewise.audits.trial import Subject
from noisewise.privacy.mechanisms.gram import SymmetricLaplace, SymmetricMechanism
from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.run import ALONE
from noisewise.schema import Basis, Schema
from noisewise.schema.basis import STATISTIC_GRID


def subject(request: Request, end_to_end: bool) -> Subject:
    """Build the audit from the pair that moves the matrix most; ``end_to_end`` draws complete releases."""
    plan = request.plan()
    basis, mechanism, average = plan.blank.basis, plan.mechanism, plan.blank.contents.average
    pair = worst_neighbours(basis, search.averaged(average) if average > 1 else _direction(mechanism))
    tables = partial(_averaged_tables, pair, average) if average > 1 else partial(search.two_tables, basis, pair)
    upper = np.triu_indices(basis.size)

    def numbers(rows: Rows) -> Array:
        return np.asarray(grid_of(request.schema, basis, rows, average)[upper] * STATISTIC_GRID, dtype=np.float64)

    sd = search.entry_sd(mechanism.entry_sd(), basis.size)[upper]
    law = _law(mechanism)
    group, exact = search.far_apart(tables, numbers, lambda change: _score(mechanism, change, sd)[1], law.clearest)
    weights, distance = _score(mechanism, exact[1] - exact[0], sd)
    worst = distance / group
    if isinstance(mechanism, SymmetricLaplace):
        worst = float(np.abs(exact[1] - exact[0]).sum()) / mechanism.scale / group
    if isinstance(law, laws.Wishart):
        worst = worst_neighbours(basis, search.spectral).size / mechanism.sensitivity.spectral
        law = replace(law, share=distance / group / worst if law.replaced else 1.0)
    two = tables(group)
    perturb = [_perturb(mechanism, request.schema, basis, rows, average) for rows in two]

    def draw(which: int) -> Array:
        return np.asarray((request.release(two[which]).contents.matrix if end_to_end else perturb[which]())[upper])

    promised = 1.0 if isinstance(law, laws.Wishart) else search.promised_distance(
        mechanism.cost(), (mechanism.epsilon, mechanism.delta))
    return Subject(request.claim(mechanism.name, mechanism.delta), exact, draw, sd == 0, weights, law, group, worst, promised,
                   partial(_laplace_evidence, exact, mechanism.scale) if isinstance(mechanism, SymmetricLaplace) else None)


def _score(mechanism: SymmetricMechanism, change: Array, sd: Array) -> tuple[Array, float]:
    """Weights of a score with one unit of noise, and the distance of the tables in that score."""
    if isinstance(mechanism, SymmetricLaplace):  # one entry: a sum of several would not follow the law
        place = int(np.argmax(np.where(sd > 0, np.abs(change), 0.0)))
        weights = np.zeros_like(change)
        weights[place] = math.copysign(1 / mechanism.scale, change[place])
        return weights, float(weights @ change)
    if isinstance(mechanism, SymmetricWishart):
        return _along(mechanism, change)
    return linear(change, sd)


def _laplace_evidence(exact: tuple[Array, Array], scale: float, numbers: Array) -> Array:
    """The log likelihood ratio, rounded so that its few distinct values compare as equal."""
    first, second = (np.abs(numbers - own).sum(axis=1) for own in exact)
    return np.asarray(np.round((first - second) / scale, 9))


def _along(mechanism: SymmetricWishart, change: Array) -> tuple[Array, float]:
    """xᵀGx along the eigenvector of the largest change; x is zero in the place of a public number."""
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
    """The norm of the change that the canaries should maximise."""
    if isinstance(mechanism, SymmetricLaplace):
        return search.upper_l1
    if isinstance(mechanism, SymmetricWishart):
        return search.along_row_without_corner if mechanism.sensitivity.corner_is_public else search.along_row
    return search.frobenius


def _averaged_tables(pair: Pair, average: int, group: int) -> tuple[Rows, Rows]:
    """Two tables of equal rows; in the second, one row in each of ``group`` groups is replaced."""
    assert pair.comes is not None
    alike = search.repeated(pair.leaves, average * (group + 1))
    changed = {name: values.copy() for name, values in alike.items()}
    for name, values in changed.items():
        values[: average * group : average] = pair.comes[name][0]
    return alike, changed


def _perturb(mechanism: SymmetricMechanism, schema: Schema, basis: Basis, rows: Rows, average: int) -> Callable[[], Array]:
    if not isinstance(mechanism, SymmetricWishart):
        return partial(mechanism.perturb, grid_of(schema, basis, rows, average))
    from noisewise.data import gram_sum
    from noisewise.data.exact import PRODUCT_BITS

    return partial(mechanism.perturb, gram_sum(rows, schema, basis, run=ALONE).total, 2.0**-PRODUCT_BITS)
