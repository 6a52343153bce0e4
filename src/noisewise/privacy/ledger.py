"""What a budget must be able to do: refuse before any noise is drawn."""

from __future__ import annotations

from typing import Protocol


class BudgetLedger(Protocol):
    """A record of the privacy budget that was spent on one table.

    A release charges the ledger after the rows were summed and before any noise is drawn. If the charge is refused,
    nothing is released; the sum never leaves the holder's process.
    """

    def charge(self, *, epsilon: float, delta: float, description: str) -> None:
        """Record a spending, durably, or raise `noisewise.errors.BudgetError` to refuse it.

        Args:
            epsilon: the epsilon of the release that is about to be made.
            delta: its delta; 0.0 for a pure epsilon release.
            description: what it is spent on, in words that may be shown to anyone.
        """
        ...
