"""A ledger for the tests of the data holder's side."""

from __future__ import annotations

from collections.abc import Mapping

from noisewise.errors import BudgetError
from noisewise.privacy.cost import Cost


class Recorder:
    """A ledger that writes down when it was charged, and refuses if it is told to."""

    def __init__(self, events: list[str], refuse: bool = False) -> None:
        self.events, self.refuse = events, refuse
        self.charges: list[tuple[float, float, str]] = []

    def earlier(self, request: str) -> bytes | None:
        return None

    def charge(self, cost: Cost, *, description: str, request: str, stratum: Mapping[str, str],
               neighbours: str) -> int:
        self.events.append("charge")
        self.charges.append((cost.epsilon, cost.delta, description))
        if self.refuse:
            raise BudgetError("the budget of this table is spent", found=str(cost.epsilon))
        return len(self.charges)

    def complete(self, entry: int, content: bytes) -> None:
        self.events.append("complete")
