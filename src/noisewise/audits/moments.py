"""Audit a release of kind moments: sums of monomials, each block with its own weight."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.audits import canaries as search
from noisewise.audits import laws
from noisewise.audits.canaries import Rows, far_apart, linear, promised_distance, two_tables, worst_neighbours
from noisewise.audits.request import Request
from noisewise.audits.trial import Subject
from noisewise.privacy.sensitivity.moments import coefficients
from noisewise.run import ALONE
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.schema.moment_blocks import MomentBlock


def subject(request: Request, end_to_end: bool) -> Subject:
    """Build the audit from the pair that moves the weighted sums most; ``end_to_end`` draws complete releases."""
    plan = request.plan()
    basis, mechanism = plan.blank.basis, plan.mechanism
    weights_of = mechanism.sensitivity.weights
    alone, with_response = ([float(weight) for weight in weights] for weights in coefficients(weights_of))
    tables = partial(two_tables, basis, worst_neighbours(basis, search.weighted_monomials(alone, with_response)))
    predictors = basis.size - 2
    sd = np.concatenate([own / np.sqrt(MomentBlock.named(name).multiplicities(predictors))
                         for name, own in mechanism.block_sds().items()])

    def blocks(rows: Rows) -> dict[str, npt.NDArray[np.int64]]:
        from noisewise.data import moments_sum

        return moments_sum(rows, request.schema, basis, list(weights_of), run=ALONE).to_blocks()

    def numbers(rows: Rows) -> Array:
        return np.concatenate(list(blocks(rows).values())) * STATISTIC_GRID

    group, exact = far_apart(tables, numbers, lambda change: linear(change, sd)[1], laws.Gaussian().clearest)
    weights, distance = linear(exact[1] - exact[0], sd)
    two = tables(group)
    sums = [blocks(rows) for rows in two]

    def draw(which: int) -> Array:
        if end_to_end:
            return np.concatenate([block.sums for block in request.release(two[which]).contents.blocks.values()])
        return np.concatenate(list(mechanism.perturb(sums[which]).values()))

    return Subject(request.claim("gaussian", mechanism.delta), exact, draw, sd == 0, weights, laws.Gaussian(), group,
                   distance / group, promised_distance(mechanism.cost(), (mechanism.epsilon, mechanism.delta)))
