"""Its noise, its price, and how rows are read: one unit changes the count by the number of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.unit.kinds.tiny_kind.contents import TinyContribution
from tests.unit.kinds.tiny_kind.kind import TinyKind

from noisewise.errors import PrivacyError
from noisewise.holder.plan import Plan, blank_release, head
from noisewise.privacy.mechanisms.gram import SymmetricLaplace
from noisewise.privacy.sensitivity.gram import GramSensitivity
from noisewise.run import Run
from noisewise.schema import Basis, Schema


class TinyPlan(Plan[SymmetricLaplace]):
    def read(self, data: Any, to: Path | None, run: Run) -> Callable[[], TinyContribution]:
        from noisewise.data import gram_sum

        schema = self.blank.schema
        count = gram_sum(data, schema, Basis.of(schema), run=run).to_grid()[:1, :1]
        return lambda: replace(self.blank.contents, number=float(self.mechanism.perturb(count)[0, 0]))


def plan(kind: TinyKind, schema: Schema, epsilon: float, delta: float | None) -> TinyPlan:
    if schema.rows_are_public:
        raise PrivacyError("the number of rows is public under replace-one", found=schema.adjacency,
                           remedy="count them for nothing")
    if delta is not None:
        raise PrivacyError("a count has a pure guarantee, and needs no delta", found=f"delta={delta!r}", remedy="leave delta out")
    unit = schema.unit
    most = float(1 if unit.is_row else unit.max_rows)
    sensitivity = GramSensitivity(adjacency=schema.adjacency, unit_is_row=unit.is_row, max_rows=unit.max_rows,
                                  frobenius=most, l1=most, corner_is_public=False, size=1)
    mechanism = SymmetricLaplace.calibrate(sensitivity, epsilon)
    one = TinyContribution(number=0.0, scale=mechanism.scale, **head(mechanism, schema, most))
    return TinyPlan(mechanism, blank_release(kind, schema, one))
