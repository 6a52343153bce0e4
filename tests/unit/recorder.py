"""A ledger for the tests of the data holder's side."""

from __future__ import annotations

from noisewise.errors import BudgetError


class Recorder:
    """A ledger that writes down when it was charged, and refuses if it is told to."""

    def __init__(self, events: list[str], refuse: bool = False) -> None:
        self.events, self.refuse = events, refuse
        self.charges: list[tuple[float, float, str]] = []

    def charge(self, *, epsilon: float, delta: float, description: str) -> None:
        self.events.append("charge")
        self.charges.append((epsilon, delta, description))
        if self.refuse:
            raise BudgetError("the budget of this table is spent", found=str(epsilon))
