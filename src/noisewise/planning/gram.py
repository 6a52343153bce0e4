"""How much noise each mechanism would add to a release of kind gram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from noisewise.errors import PrivacyError
from noisewise.privacy.mechanisms.gram import LITERATURE, MECHANISMS, SymmetricMechanism
from noisewise.schema import Basis

MEAN_SQUARE: Final = 1 / 3
"""The mean square of a scaled column spread evenly over its bounds, taken as a typical second moment."""


@dataclass(frozen=True)
class PlannedMechanism:
    """One mechanism: its noise, or why it was refused."""

    name: str
    mechanism: SymmetricMechanism | None
    refusal: PrivacyError | None = None

    @property
    def literature(self) -> bool:
        """True if it is offered only for comparison."""
        return self.name in LITERATURE

    @property
    def degrees(self) -> int | None:
        """Degrees of freedom of Wishart noise; None for other noise, or if the mechanism was refused."""
        return getattr(self.mechanism, "degrees", None)

    def to_dict(self, gaussian: SymmetricMechanism, rows: int | None) -> dict[str, Any]:
        """Plain data; standard deviations in scaled units."""
        if self.mechanism is None:
            assert self.refusal is not None
            return {"mechanism": self.name, "literature": self.literature,
                    "refused": {"rule": self.refusal.rule, "found": self.refusal.found}}
        diagonal, off_diagonal, corner = self.mechanism.entry_sd()
        reference = gaussian.entry_sd()
        return {
            "mechanism": self.name,
            "literature": self.literature,
            "epsilon": self.mechanism.epsilon,
            "delta": self.mechanism.delta,
            "degrees_of_freedom": self.degrees,
            "noise_sd": {"diagonal": diagonal, "off_diagonal": off_diagonal, "rows": corner},
            "relative_to_gaussian": {"diagonal": diagonal / reference[0], "off_diagonal": off_diagonal / reference[1]},
            **({} if rows is None else {"sd_of_a_mean_in_ranges": off_diagonal / (2 * rows),
                                        "share_of_a_second_moment": diagonal / (rows * MEAN_SQUARE)}),
        }


def planned_mechanisms(basis: Basis, epsilon: float, delta: float) -> list[PlannedMechanism]:
    """Every mechanism for the same columns and the same budget."""
    return [_planned(basis, epsilon, delta, name) for name in MECHANISMS]


def _planned(basis: Basis, epsilon: float, delta: float, name: str) -> PlannedMechanism:
    from noisewise.holder.gram import plan_gram

    try:
        return PlannedMechanism(name, plan_gram(basis, epsilon, delta, name))
    except PrivacyError as refusal:
        return PlannedMechanism(name, None, refusal)
