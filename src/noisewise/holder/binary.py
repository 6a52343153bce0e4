"""The plan of a `Binary` release: reads one column with two levels, makes synthetic rows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from noisewise.errors import DeclarationError, PrivacyError, ReleaseError
from noisewise.holder.plan import Plan, blank_release, head, public_rows
from noisewise.kinds import Binary
from noisewise.privacy.mechanisms.binary import BetaBinomial
from noisewise.releases.contents.binary import BinaryContribution, two_levels
from noisewise.run import Run
from noisewise.schema import Basis, Schema
from noisewise.words import leave_out


class BinaryPlan(Plan[BetaBinomial]):
    """Beta-binomial synthesis."""

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], BinaryContribution]:
        """Count the rows with each level of the column; no other column is read."""
        import noisewise.data as table
        from noisewise.schema.basis import STATISTIC_GRID

        one = self.blank.contents
        schema = self.blank.schema
        alone = replace(schema, columns=(schema.column(one.column),), norm_bound=None)  # drop the other columns
        found = table.gram_sum(data, alone, Basis.of(alone), run=run).to_grid()
        size, balance = (int(entry * STATISTIC_GRID) for entry in found[0])  # levels are coded −1 and +1, so both are integers
        ones = (size + balance) // 2
        return lambda: replace(one, rows=public_rows(alone, size), counts=self.mechanism.perturb(ones, size - ones))


def plan(kind: Binary, schema: Schema, epsilon: float, delta: float | None) -> BinaryPlan:
    """Plan the release."""
    try:
        levels = two_levels(schema, kind.column)
    except ReleaseError as error:
        raise error.into(DeclarationError) from None
    if not schema.unit.is_row:
        raise PrivacyError("binary synthesis protects single rows; there is no proof for units with several rows",
                           found=f"unit {schema.unit.to_dict()!r}", remedy="make a gram release, which protects such units")
    if delta is not None:
        raise PrivacyError("binary synthesis is pure epsilon and takes no delta", argument="delta", found=repr(delta),
                           remedy=leave_out("delta"))
    mechanism = BetaBinomial.calibrate(schema.adjacency, epsilon, kind.rows, kind.copies)
    one = BinaryContribution(column=kind.column, levels=levels, synthetic_rows=kind.rows, counts=(0,) * kind.copies,
                             alpha=mechanism.alpha, **head(mechanism, schema, 1.0))
    return BinaryPlan(mechanism, blank_release(kind, schema, one))
