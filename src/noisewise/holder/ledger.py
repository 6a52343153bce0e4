"""Between a release and the ledger of its table: what was released before is handed out again, all else is charged first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder.interrupts import finished_first
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import BudgetLedger
from noisewise.release.model import Release
from noisewise.release.single import SingleRelease
from noisewise.schema import Schema

Made = TypeVar("Made")
AnyRelease = TypeVar("AnyRelease", bound=Release | SingleRelease)

NO_PART_OF_A_REQUEST: Final = frozenset({"format", "version", "rules", "parts"})
DERIVED: Final = frozenset({"rows", "noise", "created", "library", "statistic", "moments", "smallest_eigenvalue"})
"""Of a part: what follows from the rest, the rows, the noise or the day. What is not listed is part of the request."""
DERIVED_PRIVACY: Final = frozenset({"sensitivity", "statement"})
MOST_NAMES: Final = 8
KEPT: Final = "the ledger keeps the release; ask for it again, which costs nothing"


def check_ledger(ledger: object) -> None:
    """Refuse what is no ledger before any row is read."""
    if ledger is not None and not all(callable(getattr(ledger, name, None)) for name in ("earlier", "charge", "complete")):
        raise PrivacyError("a ledger must be able to charge, to complete and to hand out earlier releases",
                           found=type(ledger).__name__, remedy="give noisewise.Ledger.open(path, epsilon=..., delta=...)")


def check_edition(edition: object) -> None:
    """Refuse an edition that could not be shown in a line."""
    if not (isinstance(edition, str) and len(edition) <= 200 and edition.isprintable()):
        raise DeclarationError("an edition is a short text in one line", found=repr(edition)[:80],
                               remedy='give for example edition="2026-05"')


def request_digest(blank: Release | SingleRelease, edition: str) -> str:
    """A digest of all that a release depends on besides its rows: declarations, statistic, noise, budget, the table's edition.

    The day and the version of the library are no part of it, nor are numbers and words that follow from the rest.
    """
    asked = blank.request(edition) if isinstance(blank, SingleRelease) else _asked(blank, edition)
    return hashlib.sha256(json.dumps(asked, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _asked(blank: Release, edition: str) -> dict[str, Any]:
    from noisewise.release.format import document_of

    document = document_of(blank)
    asked = {name: value for name, value in document.items() if name not in NO_PART_OF_A_REQUEST}
    return {**asked, "parts": [_asked_of(part) for part in document["parts"]], "edition": edition}


def _asked_of(part: Mapping[str, Any]) -> dict[str, Any]:
    asked = {name: value for name, value in part.items() if name not in DERIVED}
    if "blocks" in asked:  # their weights are asked for; noise and sums follow
        asked["blocks"] = {name: block["weight"] for name, block in asked["blocks"].items()}
    return {**asked, "privacy": {name: value for name, value in part["privacy"].items() if name not in DERIVED_PRIVACY}}


def neighbours(schema: Schema) -> str:
    """Between which tables a release cannot be told apart. How many rows of a person are used makes no difference to that.

    >>> neighbours(Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}}))
    'replace-one, row'
    """
    return f"{schema.adjacency}, {'row' if schema.unit.is_row else f'all rows of one {schema.unit.column}'}"


def released(ledger: BudgetLedger | None, blank: AnyRelease, cost: Cost, edition: str,
             read: Callable[[], Callable[[], AnyRelease]]) -> AnyRelease:
    """Make a release, or hand out the one that was made for the same request before: see `once`."""
    from noisewise.release.format import decode, encode

    def stored(content: bytes) -> AnyRelease:
        return cast(AnyRelease, decode(content))  # the digest of the request says which kind it is

    check_edition(edition)
    return once(ledger, cost=cost, description=_description(blank, edition), request=request_digest(blank, edition),
                partition=dict(blank.schema.partition), neighbours=neighbours(blank.schema), read=read, encode=encode,
                decode=stored)


def once(ledger: BudgetLedger | None, *, cost: Cost, description: str, request: str, partition: Mapping[str, str],
         neighbours: str, read: Callable[[], Callable[[], Made]], encode: Callable[[Made], bytes],
         decode: Callable[[bytes], Made]) -> Made:
    """Make something that costs budget, or hand out what was made for the same request before.

    ``read`` reads and sums the rows; what it returns draws the noise, and is called once, after the budget was charged. Ctrl-C
    stops the reading, which costs nothing; from the charge on it waits for the record, and asking again gets what was recorded.
    """
    if ledger is None:
        return read()()
    before = ledger.earlier(request)
    if before is not None:
        return decode(before)
    perturb = read()
    with finished_first(KEPT):
        entry = ledger.charge(cost, description=description, request=request, partition=partition, neighbours=neighbours)
        before = ledger.earlier(request)  # another process may have made it while the rows were read: then nothing was charged
        if before is not None:
            return decode(before)
        made = perturb()
        ledger.complete(entry, encode(made))
    return made


def _description(blank: Release | SingleRelease, edition: str) -> str:
    if isinstance(blank, SingleRelease):
        return f"{blank.kind} release of {blank.title_before_reading()}" + (f", edition {edition}" if edition else "")
    names = blank.basis.names[1:]
    shown = ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
    return f"{blank.kind_in_file} release of {blank.formula or shown}" + (f", edition {edition}" if edition else "")
