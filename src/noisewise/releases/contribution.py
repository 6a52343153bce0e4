"""The contribution of one data holder to a release: noisy numbers, how they were made, and what was promised.

Each kind has a subclass in `noisewise.releases.contents` with the numbers of that kind.
"""

from __future__ import annotations

import copy
import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypedDict, Unpack

import numpy as np

from noisewise.releases.checks import day_of, number_of, positive, require, settle, text_of, whole_number
from noisewise.schema.basis import BasisColumn
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    from noisewise.releases.fields import RecordFields

PRIVACY: Final = ("epsilon", "delta", "mechanism", "sensitivity", "statement")


class Head(TypedDict):
    """The fields that contributions of every kind have, known before the rows are read."""

    rows: int | None
    epsilon: float
    delta: float
    mechanism: str
    sensitivity: float
    statement: str
    created: str
    library: str


class StoredHead(Head):
    """The same from a file, with the fields of a newer format."""

    extra: Mapping[str, object]


@dataclass(frozen=True, eq=False, kw_only=True)
class Contribution(ABC):
    """One holder's noisy numbers, which anyone may see, and how they were made.

    ``rows`` is the exact number of rows if it is public, else None. ``delta`` is 0 for pure epsilon. ``sensitivity`` is the
    most that one unit can change the numbers, in the norm that the noise is calibrated to. ``created`` is the UTC date,
    ``library`` the program that wrote it, ``extra`` the fields of a newer format that this version does not know.
    """

    FIELDS: ClassVar[type[RecordFields]]
    """The fields of its contents in a file."""
    can_be_pooled: ClassVar[bool] = False
    """Whether such contributions can be added up."""

    rows: int | None
    epsilon: float
    delta: float
    mechanism: str
    sensitivity: float
    statement: str
    created: str
    library: str
    extra: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settle(self, positive, "epsilon", "sensitivity")
        settle(self, number_of, "delta")
        settle(self, text_of, "mechanism", "statement", "library")
        settle(self, day_of, "created")
        if self.rows is not None:
            settle(self, whole_number, "rows", least=0)
        require(0 <= self.delta < 1, "delta must be at least 0 and below 1", self.delta)
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))

    @classmethod
    @abstractmethod
    def from_contents(cls, contents: RecordFields, kind: Any, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution from the validated fields of a file."""

    @classmethod  # noqa: B027 most kinds are no larger than their file
    def check_size(cls, contributions: int, columns: int) -> None:
        """Refuse this many contributions with this many columns before any of them is made."""

    def contents(self) -> dict[str, object]:
        """The fields of this kind, as a file states them."""
        return {name: _plain(getattr(self, name)) for name in self.FIELDS.model_fields}

    @abstractmethod
    def check(self, kind: Any, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse numbers that do not match what this kind asks for."""

    @abstractmethod
    def check_promise(self) -> None:
        """Refuse less noise than epsilon, delta and the sensitivity require, so a file cannot contradict itself."""

    def check_sensitivity(self, expected: float) -> None:
        """Refuse any sensitivity but this one, for kinds whose request determines it."""
        require(math.isclose(self.sensitivity, expected, rel_tol=1e-9), f"the sensitivity of this release must be {expected!r}",
                self.sensitivity)

    @abstractmethod
    def fingerprint(self) -> bytes:
        """A short digest of the noisy numbers: equal for the same contribution, different for others."""

    @abstractmethod
    def lines(self, kind: Any, schema: Schema) -> list[tuple[str, str]]:
        """Labels and texts for a description: what is particular to this contribution."""

    @abstractmethod
    def count(self) -> int:
        """The number of noisy numbers."""

    def common(self) -> dict[str, str]:
        """What several holders' contributions must share to be analysed together, besides schema and columns."""
        return {}

    def fingerprints(self) -> tuple[bytes, ...]:
        """The fingerprint of each holder's contribution."""
        return (self.fingerprint(),)

    @property
    def holders(self) -> int:
        """The number of data holders behind these numbers."""
        return 1

    @property
    def shown_rows(self) -> str:
        """The number of rows, for a description."""
        return "their number is not public" if self.rows is None else f"{self.rows} (public)"

    def rules(self, schema: Schema, columns: Sequence[BasisColumn]) -> list[str]:
        """What was done to rows, in addition to the schema's rules for cells. For people: a reader derives it from the schema."""
        if schema.unit.is_row:
            return []
        return [f"every {schema.unit.column}: at most {schema.unit.max_rows} rows are used"]

    def document(self) -> dict[str, object]:
        """The fields as a file states them."""
        return {
            **({} if self.rows is None else {"rows": self.rows}),
            "privacy": {name: getattr(self, name) for name in PRIVACY},
            "library": self.library,
            "created": self.created,
            "contents": self.contents(),
        }

    def facts(self) -> dict[str, object]:
        """A summary for programs. Matrices and rows are only in the release files, which are JSON and Parquet."""
        return {name: getattr(self, name) for name in ("rows", *PRIVACY, "created", "library")} | self.own_facts()

    def own_facts(self) -> dict[str, object]:
        """The part of the summary that only this kind has."""
        return {}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self) if one.compare)
        return all(np.array_equal(*pair) if isinstance(pair[0], np.ndarray) else pair[0] == pair[1] for pair in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, object]:
        """The state to pickle; read-only views of mappings cannot be pickled."""
        return {name: dict(value) if isinstance(value, MappingProxyType) else value for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore a pickled state; make its arrays and mappings read-only again."""
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) and name != "extra" else value)

    def __repr__(self) -> str:
        rows = "not public" if self.rows is None else self.rows
        return (f"{type(self).__name__}(rows={rows}, epsilon={self.epsilon}, delta={self.delta}, mechanism={self.mechanism!r}, "
                f"created={self.created!r})")


def _plain(value: object) -> object:
    """Records, arrays, mappings and tuples as plain JSON data."""
    if is_dataclass(value) or isinstance(value, Mapping):
        named = value.items() if isinstance(value, Mapping) else ((one.name, getattr(value, one.name)) for one in fields(value))
        return {name: _plain(item) for name, item in named}
    return value.tolist() if isinstance(value, np.ndarray) else list(map(_plain, value)) if isinstance(value, tuple) else value


def today() -> str:
    """The UTC date, as a release states it. The time of day is nobody's business."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()
