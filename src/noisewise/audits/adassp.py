"""Audit a release of kind adassp: the sums of one regression, and the smallest eigenvalue of its predictors."""

from __future__ import annotations

from functools import partial

import numpy as np

from noisewise.arrays import Array
from noisewise.audits import canaries as search
from noisewise.audits import laws
from noisewise.audits.canaries import Rows, entry_sd, far_apart, grid_of, linear, promised_distance, two_tables, worst_neighbours
from noisewise.audits.request import Request
from noisewise.audits.trial import Subject
from noisewise.privacy.mechanisms.adassp import AdasspMechanism
from noisewise.releases.contents.adassp import AdasspContribution
from noisewise.schema.basis import STATISTIC_GRID


def subject(request: Request, end_to_end: bool) -> Subject:
    """Build the audit from the pair that moves the sums and the eigenvalue most; ``end_to_end`` draws complete releases."""
    plan = request.plan()
    basis, mechanism = plan.blank.basis, plan.mechanism
    pair = worst_neighbours(basis, search.regression_sums(mechanism.sums.sd, mechanism.eigenvalue.sd))
    others = search.at_right_angles(basis, pair.leaves, basis.size - 1)
    tables = partial(two_tables, basis, pair, others=others)
    size = basis.size - 1
    upper = np.triu_indices(size)

    def numbers(rows: Rows) -> Array:
        grid = grid_of(request.schema, basis, rows)
        exact = np.concatenate([grid[:-1, :-1][upper], grid[:-1, -1], [AdasspMechanism.smallest_eigenvalue(grid)]])
        return exact * STATISTIC_GRID

    pieces = mechanism.sums, mechanism.eigenvalue
    sums = mechanism.sums.entry_sd()
    sd = np.concatenate([entry_sd(sums, size)[upper], np.full(size, sums[1]), [mechanism.eigenvalue.sd]])
    group, exact = far_apart(tables, numbers, lambda change: linear(change, sd)[1], laws.Gaussian().clearest)
    weights, distance = linear(exact[1] - exact[0], sd)
    two = tables(group)
    grids = [grid_of(request.schema, basis, rows) for rows in two]
    smallest = [mechanism.smallest_eigenvalue(grid) for grid in grids]

    def draw(which: int) -> Array:
        if end_to_end:
            part: AdasspContribution = request.release(two[which]).contents
            return np.concatenate([part.matrix[upper], part.moments, [part.smallest_eigenvalue.value]])
        noisy = mechanism.perturb(grids[which], smallest[which])
        return np.concatenate([noisy.matrix[upper], noisy.moments, [noisy.eigenvalue]])

    return Subject(request.claim("gaussian", mechanism.delta), exact, draw, sd == 0, weights, laws.Gaussian(), group,
                   distance / group, promised_distance(mechanism.cost(), *((piece.epsilon, piece.delta) for piece in pieces)))
