"""The plan of a `Moments` release: blocks of noisy sums for one response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from noisewise.errors import DeclarationError
from noisewise.holder.plan import Plan, blank_release, head, protected, public_rows
from noisewise.kinds import Moments
from noisewise.privacy.mechanisms.moments import MomentsMechanism
from noisewise.privacy.sensitivity.moments import moments_sensitivity
from noisewise.releases.contents.moments import BlockSums, MomentsContribution
from noisewise.run import Run
from noisewise.schema import Basis, Numeric, Schema
from noisewise.schema.moment_blocks import MomentBlock, checked_blocks
from noisewise.words import leave_out


class MomentsPlan(Plan[MomentsMechanism]):
    """Noisy sums of monomials."""

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], MomentsContribution]:
        """Compute the exact sums of every block."""
        import noisewise.data as rows

        schema = self.blank.schema
        one: MomentsContribution = self.blank.contents
        found = rows.moments_sum(data, schema, self.blank.basis, list(self.mechanism.sensitivity.weights), run=run)
        statistic = found.to_blocks()

        def draw() -> MomentsContribution:
            noisy = self.mechanism.perturb(statistic)
            blocks = {name: replace(block, sums=noisy[name]) for name, block in one.blocks.items()}
            return replace(one, rows=public_rows(schema, found.rows), blocks=blocks)

        return draw


def plan(kind: Moments, schema: Schema, epsilon: float, delta: float | None) -> MomentsPlan:
    """Plan the release."""
    basis = Basis(schema, kind.columns(schema))
    check_response(basis)
    mechanism = plan_moments(basis, epsilon, delta, kind.blocks)
    predictors, weights = mechanism.sensitivity.predictors, mechanism.sensitivity.weights
    blocks = {name: BlockSums(weights[name], sd, np.zeros(MomentBlock.named(name).size(predictors)))
              for name, sd in mechanism.block_sds().items()}
    one = MomentsContribution(predictors=predictors, blocks=blocks, **head(
        mechanism, schema, mechanism.sensitivity.norm))
    return MomentsPlan(mechanism, blank_release(replace(kind, blocks=dict(weights)), schema, one))


def check_response(basis: Basis) -> None:
    """Refuse a response that no fit of moments can use, before anything is spent on it."""
    column = basis.schema.column(basis.columns[-1].factors[0].column)
    if isinstance(column, Numeric) and not (column.lower == 0 and float(column.upper).is_integer()):
        raise DeclarationError("the response of a moments release must have two levels, or be a count with bounds from 0 to "
                               "a whole number", found=f"'{column.name}' with bounds [{column.lower}, {column.upper}]",
                               remedy="change its declaration, or " + leave_out("kind")
                               + " for a release that also serves linear regression")


def plan_moments(basis: Basis, epsilon: float, delta: float | None,
                 blocks: Mapping[str, float] | None = None) -> MomentsMechanism:
    """Choose the mechanism from public declarations alone; this spends nothing.

    ``basis`` has the constant first and the response last, as `regression_columns` returns them.
    """
    schema, predictors = basis.schema, Basis(basis.schema, basis.columns[:-1])
    sensitivity = moments_sensitivity(
        weights=checked_blocks(blocks, rows_are_public=schema.rows_are_public, predictors=predictors.size - 1),
        scalars=predictors.scalars, groups=predictors.blocks, predictors=predictors.size - 1,
        norm_bound=predictors.radius if predictors.norm_clipped else None, **protected(schema))
    return MomentsMechanism.calibrate(sensitivity, epsilon, delta)
