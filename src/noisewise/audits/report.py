"""The table of claims and measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

HEADINGS: Final = ("release", "noise", "neighbours", "claimed", "any mechanism", "this noise", "noise at most", "0.7 × noise", "")


@dataclass(frozen=True)
class Released:
    """The claim of a release."""

    kind: str
    mechanism: str
    adjacency: str
    unit: str
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Finding:
    """One release: its claim, and lower bounds on its epsilon.

    Attributes:
        released: the claim.
        draws: the number of draws.
        group: the number of units in which the two tables differ.
        epsilon_any: a lower bound on epsilon at the claimed delta, for any mechanism.
        epsilon_law: a lower bound on epsilon if the noise is of the claimed kind, whatever its size.
        noise_at_most: an upper bound on the noise, as a multiple of the promised noise.
        flagged: True if one of the bounds contradicts the claim.
        notices_less: True if the same audit would have flagged 0.7 times the noise.
    """

    released: Released
    draws: int
    group: int
    epsilon_any: float
    epsilon_law: float
    noise_at_most: float
    flagged: bool
    notices_less: bool

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data, with the fields of the claim at the same level."""
        return {**asdict(self.released), "epsilon_any": self.epsilon_any, "epsilon_law": self.epsilon_law,
                "noise_at_most": self.noise_at_most, "flagged": self.flagged, "notices_0.7": self.notices_less,
                "draws": self.draws, "group": self.group}

    def cells(self) -> list[str]:
        """The row of the table."""
        claim = self.released
        return [claim.kind, claim.mechanism, f"{claim.adjacency}, {claim.unit}", f"{claim.epsilon:g}, {claim.delta:g}",
                number(self.epsilon_any), number(self.epsilon_law), share(self.noise_at_most),
                "noticed" if self.notices_less else "missed", "TOO LITTLE NOISE" if self.flagged else "kept"]


@dataclass(frozen=True)
class AuditReport:
    """The findings of an audit. With probability `confidence` all its bounds hold together.

    >>> claim = Released("gram", "gaussian", "replace-one", "row", 1.0, 1e-6)
    >>> report = AuditReport((Finding(claim, 4000, 12, 0.4, 0.9, 1.1, False, True),), confidence=0.99)
    >>> report.flagged
    ()
    """

    findings: tuple[Finding, ...]
    confidence: float
    left_out: tuple[str, ...] = ()

    @property
    def flagged(self) -> tuple[Finding, ...]:
        """The releases that break their promise."""
        return tuple(finding for finding in self.findings if finding.flagged)

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary for each release; ``pandas.DataFrame(report.rows())`` makes a table."""
        return [finding.as_dict() for finding in self.findings]

    def __str__(self) -> str:
        return "\n".join(_aligned([HEADINGS, *(finding.cells() for finding in self.findings)]))

    def __repr__(self) -> str:
        return f"<AuditReport: {len(self.findings)} releases, {len(self.flagged)} with less noise than they promise>"

    def _repr_html_(self) -> str:
        from noisewise.notebook import card, lines

        table = lines(HEADINGS, (finding.cells() for finding in self.findings))
        return card(f"Audit, {100 * self.confidence:g} % confidence for all lines together", table,
                    notes=[f"left out: {line}" for line in self.left_out])


def number(value: float) -> str:
    """Format with three digits, rounded down, so that a lower bound stays one.

    >>> number(0.98765), number(12.3456), number(float("inf"))
    ('0.987', '12.3', '∞')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    if value <= 0:
        return "0"
    digits = 2 - math.floor(math.log10(value))
    return f"{math.floor(value * 10**digits) / 10**digits:.{max(digits, 0)}f}" if digits >= 0 else f"{math.floor(value):d}"


def share(value: float) -> str:
    """Format rounded up, so that an upper bound stays one."""
    return f"{math.ceil(100 * value) / 100:.2f}" if math.isfinite(value) else "–"


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
