"""The budget of one confidential table, and a record of every release that was made from it.

`book` is the ledger itself, `entries` what it holds and how the entries are chained, `store` the database,
`picture` a plot of spending.
"""

from noisewise.privacy.ledger.book import Ledger
from noisewise.privacy.ledger.entries import Entry
from noisewise.privacy.ledger.protocol import BudgetLedger

__all__ = ["BudgetLedger", "Entry", "Ledger"]
