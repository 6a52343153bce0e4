"""Releases that are no matrices: each kind has contents of its own, and the same heading, guarantee and rules of reading.

They are one holder's. A kind is a subclass of `SingleRelease` and a pydantic model of its fields, entered in
`noisewise.release.kinds`.
"""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from noisewise.errors import ReleaseError
from noisewise.release.checks import check_day, number_of
from noisewise.release.json_text import short
from noisewise.release.parts import LARGEST_COUNT
from noisewise.schema.schema import Adjacency, Schema

if TYPE_CHECKING:
    from noisewise.release.single_fields import SingleFields

FORMAT: Final = "noisewise-release"


@dataclass(frozen=True, eq=False, kw_only=True)
class SingleRelease(ABC):
    """One holder's noisy numbers that anyone may have, and how they were made.

    ``rows`` is the exact number of rows where it is public, else None. ``delta`` is 0 for pure epsilon. ``created`` is the UTC
    day, ``library`` the program that wrote it, ``extra`` the fields of a newer format (``version``) that this version does not
    know.
    """

    kind: ClassVar[str]
    remedy_for_fit: ClassVar[str]
    """What to do with it instead of a fit."""
    FIRST_VERSION: ClassVar[str]

    schema: Schema
    rows: int | None
    epsilon: float
    delta: float
    mechanism: str
    statement: str
    created: str
    library: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, number_of(getattr(self, name), name))
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise ReleaseError("epsilon must be positive and delta at least 0 and below 1",
                               found=f"({self.epsilon!r}, {self.delta!r})")
        if (self.rows is not None) != self.schema.rows_are_public:
            expected = "stated exactly" if self.schema.rows_are_public else "not stated"
            raise ReleaseError(f"by this schema ({self.adjacency}) the number of rows is {expected}", found=f"rows {self.rows}")
        if self.rows is not None:
            object.__setattr__(self, "rows", whole_number(self.rows, "rows", least=0))
        for name in ("mechanism", "statement", "library"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ReleaseError(f"{name} must be a text that is not empty", found=short(value))
        check_day(self.created)
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))
        object.__setattr__(self, "version", self.version or self.FIRST_VERSION)

    @abstractmethod
    def contents(self) -> dict[str, Any]:
        """What only this kind has, as a file states it."""

    @classmethod
    @abstractmethod
    def own_arguments(cls, given: Any, schema: Schema) -> dict[str, Any]:
        """What only this kind has, from the validated fields of a file."""

    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """What of the contents was asked for: it decides, with the schema and the budget, whether a request is a repetition."""

    @abstractmethod
    def summary_lines(self) -> list[tuple[str, str]]:
        """Label and text of what is particular to this release, for `describe`."""

    @abstractmethod
    def fingerprints(self) -> tuple[bytes, ...]:
        """Of the noisy numbers: equal for the same release, different for others."""

    @property
    def adjacency(self) -> Adjacency:
        return self.schema.adjacency

    def rules(self) -> list[str]:
        """What was done to cells that do not fit: for people; a reader derives it from the schema."""
        return self.schema.rules()

    def document(self) -> dict[str, Any]:
        """The fields of the file."""
        from noisewise.release.unknown_fields import put_back

        known = {
            "format": FORMAT,
            "version": self.version,
            "kind": self.kind,
            "schema": self.schema.to_dict(),
            "rules": self.rules(),
            **({} if self.rows is None else {"rows": self.rows}),
            "privacy": {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism, "statement": self.statement},
            "library": self.library,
            "created": self.created,
            **self.contents(),
        }
        merged: dict[str, Any] = put_back(known, dict(self.extra))
        return merged

    @classmethod
    def from_fields(cls, given: SingleFields) -> Self:
        """The release of a file's validated fields."""
        from noisewise.release.unknown_fields import known_part, unknown_part

        schema = Schema.from_dict(known_part(given.declared))
        return cls(schema=schema, rows=given.rows, **known_part(given.privacy), created=given.created, library=given.library,
                   extra=unknown_part(given), version=given.version, **cls.own_arguments(given, schema))

    def request(self, edition: str) -> dict[str, Any]:
        """All that the release depends on besides the rows of the table, and nothing that follows from the rest."""
        return {"kind": self.kind, "schema": self.schema.to_dict(), "epsilon": self.epsilon, "delta": self.delta,
                "mechanism": self.mechanism, **self.asked(), "edition": edition}

    def placed_at(self, path: str | os.PathLike[str]) -> Self:
        """The release that was read from this path: for kinds with further files beside it."""
        return self

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file, by custom ending in ``.nwr``; an older one is replaced whole or left as it was."""
        from noisewise.release.files import save

        return save(self, path)

    def describe(self) -> str:
        """The release in words: what is protected and how, what was released, how large the noise is."""
        from noisewise.release.describe import describe_single

        return describe_single(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self) if one.compare)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Release {self.kind}: {self.title()}, {self.adjacency}, (epsilon, delta) = ({self.epsilon}, {self.delta})>"

    def _repr_html_(self) -> str:
        from noisewise.notebook import described

        return described(self.describe())

    @abstractmethod
    def title(self) -> str:
        """What it is of, in a few words."""

    def title_before_reading(self) -> str:
        """The same for a ledger, which is charged before anything is known of the rows."""
        return self.title()


def whole_number(value: object, what: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """A whole number within limits, or a `ReleaseError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ReleaseError(f"{what} must be a whole number from {least} to {most}", found=short(value))
    return int(value)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
