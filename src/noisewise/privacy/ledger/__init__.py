"""The privacy budget of one confidential table, and a record of every release made from it.

`book` has the ledger itself, `entries` its entries and how they are chained, `store` the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger.book import Ledger
from noisewise.privacy.ledger.entries import Entry

__all__ = ["BudgetLedger", "Entry", "Ledger"]


class BudgetLedger(Protocol):
    """A record of the privacy budget spent on one table.

    A release first asks for an earlier one. If there is none, it charges the ledger after summing the rows and before drawing any
    noise. If the charge is refused, nothing is released; the sum never leaves the holder's process.
    """

    def earlier(self, request: str) -> bytes | None:
        """The file released earlier for the same request, if any."""
        ...

    def charge(self, cost: Cost, *, description: str, request: str, stratum: Mapping[str, str], neighbours: str) -> int:
        """Record a charge durably and return the number of its entry, or raise `noisewise.errors.BudgetError` to refuse it.

        If the same request was completed in the meantime, nothing is spent: `earlier` has it now.

        ``description`` says what the charge is for, in words that anyone may see. ``request`` is a digest of everything the
        release depends on besides the rows. ``stratum`` names the stratum of the population it is about; empty for everyone.
        ``neighbours`` names the pairs of tables that the release cannot tell apart; it must be the same throughout a ledger.
        """
        ...

    def complete(self, entry: int, content: bytes) -> None:
        """Record that the release of an entry was made, with the content of its file."""
        ...
