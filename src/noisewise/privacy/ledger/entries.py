"""Entries of a ledger, each chained to the previous one by a digest, so that any later change shows.

The digest of an entry covers its own fields and the previous digest. Whoever keeps the last digest elsewhere can prove that
nothing up to there was changed, removed or inserted later.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from noisewise.checks import is_number
from noisewise.errors import BudgetError, PrivacyError
from noisewise.privacy.accounting import RULES, Rule
from noisewise.privacy.cost import Cost
from noisewise.words import option

What: TypeAlias = Literal["opened", "charged", "released"]
KNOWN: Final[tuple[str, ...]] = get_args(What)
FORMAT: Final = 1
"""Format of the entries, stated by the first one. A ledger of a later format is refused: it may hold charges unknown here."""
FIRST: Final = "0" * 64
"""The digest before the first entry."""


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    ``opened`` states the total budget. ``charged`` is a charge; it counts whatever happens next. ``released`` says that the
    file of an earlier charge (``of``) was made, and gives its digest. ``stratum`` says who a charge is about; empty for everyone.
    ``neighbours`` names the tables it cannot tell apart: a row or a person, replaced or added.
    """

    number: int
    what: What
    at: str
    who: str
    description: str
    cost: dict[str, Any] | None
    stratum: dict[str, str]
    neighbours: str
    request: str
    of: int | None
    file_digest: str
    before: str
    digest: str

    @classmethod
    def following(cls, last: Entry | None, *, what: What, at: str, who: str, description: str, cost: dict[str, Any] | None = None,
                  stratum: Mapping[str, str] | None = None, neighbours: str = "", request: str = "", of: int | None = None,
                  file_digest: str = "") -> Entry:
        """The next entry, with its digest. It is never dated before the last one, even if the clock was set back."""
        fields: dict[str, Any] = {
            "number": 1 if last is None else last.number + 1, "what": what, "at": at if last is None else max(at, last.at),
            "who": who, "description": description, "cost": cost, "stratum": dict(stratum or {}), "neighbours": neighbours,
            "request": request, "of": of, "file_digest": file_digest, "before": FIRST if last is None else last.digest}
        return cls(**fields, digest=cls(**fields, digest="").computed_digest())

    def computed_digest(self) -> str:
        """The digest of the entry as it is now."""
        fields = {name: value for name, value in vars(self).items() if name != "digest"}
        return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=True).encode()).hexdigest()

    @property
    def spending(self) -> Cost:
        """The cost of a charge."""
        if self.what != "charged" or self.cost is None:
            raise PrivacyError("a charge must have a cost", found=f"entry {self.number} has none")
        return Cost.from_dict(self.cost)


@dataclass(frozen=True)
class Total:
    """The total budget of a ledger and its rule (`noisewise.privacy.accounting`)."""

    epsilon: float
    delta: float
    rule: Rule

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as the first entry states it."""
        return {**asdict(self), "format": FORMAT}

    def __post_init__(self) -> None:
        good = is_number(self.epsilon) and is_number(self.delta) and 0 < self.epsilon < math.inf and 0 <= self.delta < 1
        if not good:
            raise BudgetError("a total budget must have a positive epsilon and a delta between 0 and 1",
                              found=f"epsilon {self.epsilon!r}, delta {self.delta!r}",
                              remedy="for example " + option("epsilon", 3) + " and " + option("delta", 1e-6))
        if self.rule not in RULES:
            raise BudgetError("unknown rule", argument="rule", found=repr(self.rule), known=RULES)
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Total:
        """The total, as the first entry states it."""
        stated = entries[0].cost if entries and entries[0].what == "opened" else None
        if not isinstance(stated, dict) or not isinstance(stated.get("format"), int):
            raise PrivacyError("a ledger must begin with its total budget", found="a different first entry")
        if stated["format"] > FORMAT:
            raise PrivacyError(f"this noisewise reads ledgers of format {FORMAT}", found=f"format {stated['format']}",
                               remedy="upgrade noisewise")
        try:
            return cls(stated["epsilon"], stated["delta"], stated["rule"])
        except KeyError as error:
            raise PrivacyError("a ledger must begin with its total budget", found=f"no {error.args[0]}") from None


def problems(entries: Iterable[Entry]) -> Iterator[str]:
    """Describe everything in a chain that differs from what was written."""
    before, number, at = FIRST, 0, ""
    for entry in entries:
        number += 1
        if entry.number != number:
            yield f"entry {number} is missing or out of place (found {entry.number})"
            number = entry.number
        if entry.before != before:
            yield f"entry {entry.number} does not follow the previous one: an entry was changed, removed or inserted"
        if entry.computed_digest() != entry.digest:
            yield f"entry {entry.number} was changed after it was written"
        if entry.what not in KNOWN:
            yield f"entry {entry.number} is of an unknown kind: {entry.what}"
        if entry.at < at:
            yield f"entry {entry.number} is dated {entry.at}, before the previous one ({at})"
        before, at = entry.digest, max(at, entry.at)
