"""A ledger that remembers whether a release was made or an earlier one returned."""

from __future__ import annotations

from typing import Any

from noisewise.holder.release import check_ledger
from noisewise.privacy.ledger import BudgetLedger as BudgetLedger


class WatchedLedger:
    """Behaves like the ledger it wraps; ``completed`` is True once a release has been charged to it and recorded."""

    def __init__(self, ledger: BudgetLedger) -> None:
        check_ledger(ledger)
        self.ledger = ledger
        self.completed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ledger, name)

    def complete(self, entry: int, content: bytes) -> None:
        """Record the release."""
        self.ledger.complete(entry, content)
        self.completed = True
