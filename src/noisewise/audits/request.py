"""The arguments of `noisewise.release`, what such a release claims, and how it is audited.

Each kind has a file here with one function, ``subject``, from a request to a `Subject`: tables that the release should not tell
apart, and the noise that it promises. Tables are made up from the declarations. Releases are drawn by the mechanism itself, from
exact statistics that the data pass computes from these tables, or by `release` from end to end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisewise.audits.canaries import Rows
from noisewise.audits.report import Released
from noisewise.audits.trial import Subject
from noisewise.errors import DeclarationError
from noisewise.holder.plan import plan_of
from noisewise.holder.release import GRAM, release
from noisewise.kinds import Kind, kinds
from noisewise.kinds.registry import has_room, module_of
from noisewise.releases.release import Release
from noisewise.run import ALONE
from noisewise.schema import Schema


@dataclass(frozen=True)
class Request:
    """The arguments of `noisewise.release`, under the same names."""

    schema: Schema
    epsilon: float
    delta: float | None = None
    kind: Kind = GRAM

    def plan(self) -> Any:
        """The plan of the release."""
        return plan_of(self.kind, self.schema, self.epsilon, self.delta)

    def release(self, rows: Rows, to: Path | None = None) -> Release:
        """Release a table for real, from end to end."""
        return release(rows, self.schema, self.kind, epsilon=self.epsilon, delta=self.delta, to=to, run=ALONE)

    def claim(self, mechanism: str, delta: float) -> Released:
        """What the release claims, with the epsilon requested; ``delta`` is that of the mechanism."""
        unit = self.schema.unit
        of = "one row" if unit.is_row else f"at most {unit.max_rows} rows"
        return Released(self.kind.variant, mechanism, self.schema.adjacency, of, float(self.epsilon), delta)


def subject_of(request: Request, *, end_to_end: bool = False) -> Subject:
    """The subject of the audit, ready to be drawn."""
    if not has_room(request.kind, "audit"):
        raise DeclarationError("this kind of release cannot be audited", argument="kind", found=request.kind.name,
                               known=[kind.name for kind in kinds() if has_room(kind, "audit")])
    found: Subject = module_of(request.kind, "audit").subject(request, end_to_end)
    return found
