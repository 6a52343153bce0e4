"""What was asked for: the kind, the schema, the budget and the edition of the table. Its digest is what a ledger knows it by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.kinds import Kind, kinds
from noisewise.privacy.calibration import SMALL_DELTA
from noisewise.schema import Schema
from noisewise.words import leave_out, option

LARGEST_DELTA: Final = 0.01
"""A slip of the keyboard is refused; below it, what is small depends on the table, and is the holder's to judge."""


@dataclass(frozen=True)
class Request:
    """All that a release depends on besides the rows of the table."""

    kind: Kind
    schema: Schema
    epsilon: float
    delta: float
    edition: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data: neither the day nor the version of the library, nor anything that follows from the rest.

        A digest sorts names, so the order of the columns, which is that of the released numbers, is said by itself.
        """
        return {"kind": self.kind.to_dict(), "schema": self.schema.to_dict(), "columns": list(self.schema.names),
                "epsilon": float(self.epsilon), "delta": float(self.delta), "edition": self.edition}

    def digest(self) -> str:
        """Equal for the same request; a ledger answers a repetition with what was released before."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, allow_nan=False).encode()).hexdigest()

    def describe(self) -> str:
        """In a line, for a ledger: before anything is known of the rows."""
        edition = f", edition {self.edition}" if self.edition else ""
        return f"{self.kind.name} release of {self.kind.title(self.schema)}{edition}"

    def neighbours(self) -> str:
        """Between which tables the release cannot be told apart, however many rows of a person are used."""
        unit = self.schema.unit
        return f"{self.schema.adjacency}, {'row' if unit.is_row else f'all rows of one {unit.column}'}"


def check_request(kind: object, schema: object, delta: object, edition: object) -> None:
    """Refuse what is no request, before anything else."""
    if not isinstance(kind, Kind):
        meant = next((one.__name__ for one in kinds() if kind in (one, one.name)), "Gram")
        raise DeclarationError("a kind of release is an object with its options", argument="kind", found=repr(kind)[:80],
                               remedy=f"for example noisewise.{meant}(...), or " + leave_out("kind") + " for a Gram release")
    if not isinstance(schema, Schema):
        raise DeclarationError("a release needs a Schema", argument="schema", found=type(schema).__name__,
                               remedy="use Schema.load(path) or Schema.from_dict({...})")
    check_delta_size(delta)
    if not (isinstance(edition, str) and len(edition) <= 200 and edition.isprintable()):
        raise DeclarationError("an edition is a short text in one line", argument="edition", found=repr(edition)[:80],
                               remedy="give for example " + option("edition", "2026-05"))


def check_delta_size(delta: object) -> None:
    """With a probability of delta nothing is promised. What else delta must be is for the mechanisms to say."""
    if isinstance(delta, Real) and LARGEST_DELTA < delta < 1:  # type: ignore[operator]
        raise PrivacyError(f"the delta of a release is at most {LARGEST_DELTA:g}: one that publishes every row, as it is, in "
                           f"{float(delta):.3g} of all cases would satisfy this one", argument="delta", found=repr(delta),
                           remedy=SMALL_DELTA)
