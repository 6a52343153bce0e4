"""Entries of a ledger, each chained to the one before by a digest, so that a change of any of them shows.

The digest of an entry covers its own fields and the digest before it. Whoever keeps the last digest elsewhere can prove that
nothing up to there was changed, removed or put in later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from noisewise.privacy.cost import Cost

What: TypeAlias = Literal["opened", "charged", "released"]
FIRST: Final = "0" * 64
"""What stands before the first entry."""


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    ``opened`` states the total budget. ``charged`` is a spending: it counts whatever happens next. ``released`` says that the
    file of an earlier charge (``of``) was made, and its digest. ``partition`` says whom a charge is about: empty for everyone.
    """

    number: int
    what: What
    at: str
    who: str
    description: str
    cost: dict[str, Any] | None
    partition: dict[str, str]
    request: str
    of: int | None
    file_digest: str
    before: str
    digest: str

    @classmethod
    def following(cls, last: Entry | None, **fields: Any) -> Entry:
        """The next entry after another one, with its digest."""
        before = FIRST if last is None else last.digest
        entry = cls(number=1 if last is None else last.number + 1, before=before, digest="", **fields)
        return cls(**{**asdict(entry), "digest": entry.computed_digest()})

    def computed_digest(self) -> str:
        fields = {name: value for name, value in asdict(self).items() if name != "digest"}
        return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()).hexdigest()

    @property
    def charged(self) -> Cost | None:
        """The cost of a charge."""
        return Cost.from_dict(self.cost) if self.what == "charged" and self.cost is not None else None


def problems(entries: Iterable[Entry]) -> Iterator[str]:
    """In words, everything about a chain that is not as it was written."""
    before, number, at = FIRST, 0, ""
    for entry in entries:
        number += 1
        if entry.number != number:
            yield f"entry {number} is missing or out of place (found {entry.number})"
            number = entry.number
        if entry.before != before:
            yield f"entry {entry.number} does not follow the one before it: an entry was changed, removed or put in"
        if entry.computed_digest() != entry.digest:
            yield f"entry {entry.number} was changed after it was written"
        if entry.at < at:
            yield f"entry {entry.number} is dated before the one before it: {entry.at}, after {at}"
        before, at = entry.digest, max(at, entry.at)
