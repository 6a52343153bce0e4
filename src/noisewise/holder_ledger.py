"""Between a release and the ledger of its table: what was released before is handed out again, all else is charged first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from noisewise.errors import PrivacyError
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import BudgetLedger
from noisewise.release.model import Release


def check_ledger(ledger: object) -> None:
    """Refuse what is no ledger before any row is read."""
    if ledger is not None and not all(callable(getattr(ledger, name, None)) for name in ("earlier", "charge", "complete")):
        raise PrivacyError("a ledger must be able to charge, to complete and to hand out earlier releases",
                           found=type(ledger).__name__, remedy="give noisewise.Ledger.open(path, epsilon=..., delta=...)")


def request_digest(blank: Release, edition: str) -> str:
    """A digest of all that a release depends on besides its rows: declarations, statistic, noise, budget, the table's edition."""
    from noisewise.release.format import document_of

    asked: dict[str, Any] = {**document_of(blank), "edition": edition}
    for part in asked["parts"]:
        for name in ("created", "library"):
            part.pop(name, None)
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()


def released(ledger: BudgetLedger | None, blank: Release, cost: Cost, edition: str,
             read: Callable[[], Callable[[], Release]]) -> Release:
    """Make a release, or hand out the one that was made for the same request before.

    ``read`` reads and sums the rows; what it returns draws the noise, and is called once, after the budget was charged.
    """
    from noisewise.release.format import decode, encode

    if ledger is None:
        return read()()
    request = request_digest(blank, edition)
    before = ledger.earlier(request)
    if before is not None:
        return decode(before)
    perturb = read()
    entry = ledger.charge(cost, description=_description(blank, edition), request=request,
                          partition=dict(blank.schema.partition))
    made = perturb()
    ledger.complete(entry, encode(made))
    return made


def _description(blank: Release, edition: str) -> str:
    what = blank.formula or ", ".join(blank.basis.names[1:])
    return f"{blank.kind_in_file} release of {what}" + (f", edition {edition}" if edition else "")
