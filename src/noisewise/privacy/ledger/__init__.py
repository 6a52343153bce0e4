"""The budget of one confidential table, and a record of every release that was made from it.

`book` is the ledger itself, `entries` what it holds and how the entries are chained, `store` the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger.book import Ledger
from noisewise.privacy.ledger.entries import Entry

__all__ = ["BudgetLedger", "Entry", "Ledger"]


class BudgetLedger(Protocol):
    """A record of the privacy budget that was spent on one table.

    A release asks for an earlier one first. If there is none, it charges the ledger after the rows were summed and before any
    noise is drawn. If the charge is refused, nothing is released; the sum never leaves the holder's process.
    """

    def earlier(self, request: str) -> bytes | None:
        """The file that was released for the same request before, if any."""
        ...

    def charge(self, cost: Cost, *, description: str, request: str, stratum: Mapping[str, str], neighbours: str) -> int:
        """Record a spending, durably, or raise `noisewise.errors.BudgetError` to refuse it; returns the number of the entry.

        If the same request was completed in the meantime, nothing is spent: `earlier` has it now.

        ``description`` says what it is spent on, in words that may be shown to anyone. ``request`` is a digest of all that the
        release depends on besides the rows. ``stratum`` names the division of the population it is about; empty for everyone.
        ``neighbours`` says between which tables the release cannot be told apart; those of one ledger must all be the same.
        """
        ...

    def complete(self, entry: int, content: bytes) -> None:
        """Record that the release of an entry was made, with the file's content."""
        ...
