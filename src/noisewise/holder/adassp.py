"""The plan of an `AdaSSP` release: noisy sums for a point estimate of one regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from noisewise.errors import DeclarationError
from noisewise.holder.plan import Plan, blank_release, head, protected, public_rows
from noisewise.kinds import AdaSSP
from noisewise.privacy.mechanisms.adassp import LARGEST_SIZE, AdasspMechanism
from noisewise.privacy.sensitivity.adassp import adassp_sensitivity
from noisewise.releases.contents.adassp import AdasspContribution, SmallestEigenvalue
from noisewise.releases.contents.gram import EntryNoise
from noisewise.run import Run
from noisewise.schema import Basis, Schema


class AdasspPlan(Plan[AdasspMechanism]):
    """Noisy sums for one regression, and a noisy eigenvalue."""

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], AdasspContribution]:
        """Compute the exact sums and their smallest eigenvalue."""
        from noisewise.data import gram_sum

        schema, mechanism = self.blank.schema, self.mechanism
        one: AdasspContribution = self.blank.contents
        statistic = gram_sum(data, schema, self.blank.basis, run=run).to_grid()
        smallest = mechanism.smallest_eigenvalue(statistic)

        def draw() -> AdasspContribution:
            noisy = mechanism.perturb(statistic, smallest)
            return replace(one, rows=public_rows(schema, int(noisy.matrix[0, 0])), matrix=noisy.matrix,
                           moments=noisy.moments, smallest_eigenvalue=_eigenvalue(mechanism, noisy.eigenvalue))

        return draw


def plan(kind: AdaSSP, schema: Schema, epsilon: float, delta: float | None) -> AdasspPlan:
    """Plan the release."""
    basis = Basis(schema, kind.columns(schema))
    mechanism = plan_adassp(basis, epsilon, delta)
    size = basis.size - 1
    one = AdasspContribution(
        matrix=np.zeros((size, size)), moments=np.zeros(size), smallest_eigenvalue=_eigenvalue(mechanism, 0.0),
        noise=EntryNoise("gaussian", *mechanism.sums.entry_sd()),
        **head(mechanism, schema, mechanism.sums.sensitivity.frobenius))
    return AdasspPlan(mechanism, blank_release(kind, schema, one))


def plan_adassp(basis: Basis, epsilon: float, delta: float | None) -> AdasspMechanism:
    """Choose the mechanism from public declarations alone; this spends nothing.

    ``basis`` has the constant first and the response last, as `regression_columns` returns them.
    """
    if basis.size - 1 > LARGEST_SIZE:
        raise DeclarationError(f"an adassp release can have at most {LARGEST_SIZE} predictor columns, including the intercept",
                               found=str(basis.size - 1), remedy="shorten the formula, or make a gram release")
    sensitivity = adassp_sensitivity(
        scalars=basis.scalars - 1,  # without the response
        blocks=basis.blocks, predictors=basis.size - 1, norm_bound=basis.radius if basis.norm_clipped else None,
        **protected(basis.schema))
    return AdasspMechanism.calibrate(sensitivity, epsilon, delta)


def _eigenvalue(mechanism: AdasspMechanism, value: float) -> SmallestEigenvalue:
    piece = mechanism.eigenvalue
    return SmallestEigenvalue(value, piece.sd, piece.epsilon, piece.delta, piece.sensitivity.frobenius)
