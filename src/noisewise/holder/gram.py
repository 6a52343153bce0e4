"""The plan of a `Gram` release: one noisy matrix of sums of products, for every regression on its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypedDict, cast

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import PrivacyError
from noisewise.holder.plan import Plan, blank_release, head, protected, public_rows
from noisewise.kinds import Gram
from noisewise.privacy.calibration import SMALL_DELTA
from noisewise.privacy.mechanisms.gram import SymmetricMechanism, choose_mechanism
from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.privacy.sensitivity.averaged import averaged_sensitivity, check_group
from noisewise.privacy.sensitivity.gram import gram_sensitivity
from noisewise.releases.contents.gram import Distribution, EntryNoise, GramContribution
from noisewise.releases.release import Release
from noisewise.run import Run
from noisewise.schema import Basis, Schema
from noisewise.words import leave_out, option


class GramPlan(Plan[SymmetricMechanism]):
    """A noisy Gram matrix."""

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], GramContribution]:
        """Compute the exact Gram matrix."""
        basis = self.blank.basis
        one: GramContribution = self.blank.contents
        perturb = _noisy_statistic(data, basis, self.mechanism, one.average, run)

        def draw() -> GramContribution:
            noisy = perturb()
            return replace(one, matrix=noisy, rows=public_rows(basis.schema, int(noisy[0, 0])))

        return draw


def plan(kind: Gram, schema: Schema, epsilon: float, delta: float | None) -> GramPlan:
    """Plan the release."""
    basis = Basis.of(schema, kind.terms)
    mechanism = plan_gram(basis, epsilon, delta, kind.mechanism, kind.average)
    return GramPlan(mechanism, blank_gram(schema, kind.terms, basis, mechanism, kind.average or 1))


def blank_gram(schema: Schema, terms: str | None, basis: Basis, mechanism: SymmetricMechanism, average: int = 1) -> Release:
    """The release to be made, with zeros in place of its numbers."""
    one = GramContribution(matrix=np.zeros((basis.size, basis.size)), noise=_noise(mechanism), average=average,
                           **head(mechanism, schema, _norm(mechanism)))
    return blank_release(Gram(terms, mechanism.name, average), schema, one)


def _noisy_statistic(data: object, basis: Basis, mechanism: SymmetricMechanism, average: int, run: Run) -> Callable[[], Array]:
    """Read the rows. Return a function that draws the noise. Call it once, after the budget is charged."""
    import noisewise.data as rows
    from noisewise.data.exact import PRODUCT_BITS

    if average > 1:
        grouped = rows.averaged_gram_sum(data, basis.schema, basis, average, run=run)
        assert not isinstance(mechanism, SymmetricWishart)
        return partial(mechanism.perturb, grouped.to_grid())
    found = rows.gram_sum(data, basis.schema, basis, run=run)
    if isinstance(mechanism, SymmetricWishart):  # it needs the sum before rounding to the grid
        return partial(mechanism.perturb, found.total, 2.0**-PRODUCT_BITS)
    return partial(mechanism.perturb, found.to_grid())


def _noise(mechanism: SymmetricMechanism) -> EntryNoise:
    """The noise as stated in the release."""
    if isinstance(mechanism, SymmetricWishart):
        return EntryNoise("wishart", *mechanism.entry_sd(), degrees=mechanism.degrees, scale=mechanism.scale)
    return EntryNoise(cast(Distribution, mechanism.distribution), *mechanism.entry_sd())


class _Shape(TypedDict):
    scalars: int
    blocks: int
    size: int
    radius: float
    norm_clipped: bool


def plan_gram(basis: Basis, epsilon: float, delta: float | None = None, mechanism: str | None = None,
              average: int | None = None) -> SymmetricMechanism:
    """Choose the mechanism and its noise from public declarations alone; this spends nothing."""
    shape: _Shape = {"scalars": basis.scalars, "blocks": basis.blocks, "size": basis.size, "radius": basis.radius,
                     "norm_clipped": basis.norm_clipped}
    if average is None or (average == 1 and average is not True):
        sensitivity = gram_sensitivity(**shape, **protected(basis.schema))
    else:
        check_group(average)
        _check_averaging(basis.schema, delta, mechanism)
        blocks = {column.block for column in basis.columns if column.block is not None}
        indicators = sum(1 for _, numbers in blocks if not numbers)  # products of indicators with each other are 0 or 1
        sensitivity = averaged_sensitivity(group=average, indicators=indicators, **shape)
    return choose_mechanism(sensitivity, epsilon, delta, mechanism)


def _check_averaging(schema: Schema, delta: float | None, mechanism: str | None) -> None:
    """Refuse what has no proof: see averaged.md beside the sensitivity."""
    if not schema.rows_are_public:
        raise PrivacyError("rows can be averaged only under replace-one with a row as the unit; nothing else has a "
                           "proven sensitivity", argument="average",
                           found=f"adjacency {schema.adjacency}, unit {schema.unit.to_dict()!r}",
                           remedy=leave_out("average") + "; the default method of fit does not need averaged rows")
    if delta is None or mechanism not in (None, "gaussian"):
        raise PrivacyError("rows can be averaged only with Gaussian noise; nothing else has a proven sensitivity",
                           found=option("delta", delta) + ", " + option("mechanism", mechanism),
                           remedy=leave_out("mechanism") + " and " + SMALL_DELTA + ", or " + leave_out("average"))


def _norm(mechanism: SymmetricMechanism) -> float:
    """The sensitivity in the norm that the mechanism's noise is calibrated to."""
    sensitivity = mechanism.sensitivity
    return {"laplace": sensitivity.l1, "wishart": sensitivity.spectral}.get(mechanism.distribution, sensitivity.frobenius)
