"""With an edition, a ledger may answer a fit with the release of an earlier one: then the rows that were given are not used."""

from __future__ import annotations

import warnings
from typing import Any

from noisewise.errors import NoisewiseWarning, PrivacyError
from noisewise.holder.ledger import check_ledger
from noisewise.release import Release


class StoredReleaseWarning(NoisewiseWarning):
    """A fit was answered with a release that was made before; no row was used."""


class WatchedLedger:
    """A ledger that remembers whether a release was made and completed."""

    def __init__(self, ledger: Any) -> None:
        check_ledger(ledger)
        self._ledger = ledger
        self.completed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def complete(self, entry: int, content: bytes) -> None:
        self._ledger.complete(entry, content)
        self.completed = True


def check_stored(stored: Release, rows: int) -> None:
    """Say that a stored release was returned; refuse it for other rows, where their public number shows that they are others."""
    released = stored.parts[0].rows  # None where it is not public
    if released is not None and released != rows:
        raise PrivacyError("this edition of the table was released before, and it had another number of rows",
                           found=f"{rows} rows now, {released} in the release", remedy="give these rows an edition of their own")
    warnings.warn("this edition of the table was released before: that release is fitted, no row was used and nothing was spent. "
                  "If the rows are others now, give another edition", StoredReleaseWarning, stacklevel=3)
