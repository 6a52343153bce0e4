"""A request: the kind, the schema, the budget and the edition of the table. A ledger recognises it by its digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from numbers import Real
from typing import Final

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.kinds import Kind, kinds
from noisewise.privacy.calibration import SMALL_DELTA
from noisewise.schema import Schema
from noisewise.words import leave_out, option

LARGEST_DELTA: Final = 0.01
"""Catches typos. Below this, how small delta must be depends on the table and is for the holder to judge."""


@dataclass(frozen=True)
class Request:
    """Everything a release depends on besides the rows of the table."""

    kind: Kind
    schema: Schema
    epsilon: float
    delta: float
    edition: str = ""

    def to_dict(self) -> dict[str, object]:
        """Plain data, without the date, the library version or anything that follows from the rest.

        A digest sorts names, so the order of the columns, which is the order of the released numbers, is listed separately.
        """
        return {"kind": self.kind.to_dict(), "schema": self.schema.to_dict(), "columns": list(self.schema.names),
                "epsilon": float(self.epsilon), "delta": float(self.delta), "edition": self.edition}

    def digest(self) -> str:
        """Equal for equal requests; a ledger answers a repeated request with the earlier release."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, allow_nan=False).encode()).hexdigest()

    def describe(self) -> str:
        """One line for a ledger, written before anything is known about the rows."""
        edition = f", edition {self.edition}" if self.edition else ""
        return f"{self.kind.name} release of {self.kind.title(self.schema)}{edition}"

    def neighbours(self) -> str:
        """Which tables count as neighbours, however many rows of a person are used."""
        unit = self.schema.unit
        return f"{self.schema.adjacency}, {'row' if unit.is_row else f'all rows of one {unit.column}'}"


def check_request(kind: object, schema: object, delta: object, edition: object) -> None:
    """Refuse arguments of the wrong type or form, before anything else."""
    if not isinstance(kind, Kind):
        meant = next((one.__name__ for one in kinds() if kind in (one, one.name)), "Gram")
        raise DeclarationError("kind must be an object that holds its options", argument="kind", found=repr(kind)[:80],
                               remedy=f"use for example noisewise.{meant}(...), or " + leave_out("kind") + " for a Gram release")
    if not isinstance(schema, Schema):
        raise DeclarationError("schema must be a Schema", argument="schema", found=type(schema).__name__,
                               remedy="use Schema.load(path) or Schema.from_dict({...})")
    check_delta_size(delta)
    if not (isinstance(edition, str) and len(edition) <= 200 and edition.isprintable()):
        raise DeclarationError("edition must be a short text on one line", argument="edition", found=repr(edition)[:80],
                               remedy="for example " + option("edition", "2026-05"))


def check_delta_size(delta: object) -> None:
    """Refuse a large delta. The mechanisms check everything else about delta."""
    if isinstance(delta, Real) and LARGEST_DELTA < delta < 1:  # type: ignore[operator]
        raise PrivacyError(f"delta must be at most {LARGEST_DELTA:g}; this one would allow a release that publishes every row "
                           f"unchanged in {100 * float(delta):.3g} % of all cases", argument="delta", found=repr(delta),
                           remedy=SMALL_DELTA)
