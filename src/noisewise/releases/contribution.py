"""What one data holder contributes to a release: noisy numbers, how they were made, and what was promised.

Each kind has a subclass in `noisewise.releases.contents`, with the numbers that only it has.
"""

from __future__ import annotations

import copy
import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from noisewise.releases.checks import day_of, number_of, positive, require, settle, text_of, whole_number
from noisewise.schema.basis import BasisColumn
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    from noisewise.releases.fields import Fields

PRIVACY: Final = ("epsilon", "delta", "mechanism", "sensitivity", "statement")


@dataclass(frozen=True, eq=False, kw_only=True)
class Contribution(ABC):
    """One holder's noisy numbers that anyone may have, and how they were made.

    ``rows`` is the exact number of rows where it is public, else None. ``delta`` is 0 for pure epsilon. ``sensitivity`` is the
    most that one unit can change the numbers, in the norm that the noise is calibrated to. ``created`` is the UTC day,
    ``library`` the program that wrote it, ``extra`` the fields of a newer format that this version does not know.
    """

    FIELDS: ClassVar[type[Fields]]
    """What the file states of it."""
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
    extra: Mapping[str, Any] = field(default_factory=dict)

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
    def from_contents(cls, contents: Any, kind: Any, schema: Schema, columns: Sequence[BasisColumn], **head: Any) -> Self:
        """The contribution with these validated fields of a file."""

    @classmethod  # noqa: B027 most kinds are no larger than their file
    def check_size(cls, contributions: int, columns: int) -> None:
        """Refuse so many contributions of so many columns before one is made."""

    def contents(self) -> dict[str, Any]:
        """What only this kind has, as a file states it."""
        return {name: _plain(getattr(self, name)) for name in self.FIELDS.model_fields}

    @abstractmethod
    def check(self, kind: Any, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse numbers that are not what this kind asks for."""

    @abstractmethod
    def check_promise(self) -> None:
        """Refuse less noise than epsilon, delta and the sensitivity need: what a file states must agree with itself."""

    def check_sensitivity(self, expected: float) -> None:
        """Refuse another sensitivity than the one that follows from what was asked for, where one does."""
        require(math.isclose(self.sensitivity, expected, rel_tol=1e-9), f"the sensitivity of such a release is {expected!r}",
                self.sensitivity)

    @abstractmethod
    def fingerprint(self) -> bytes:
        """Of the noisy numbers: equal for the same contribution, different for others; short whatever their number."""

    @abstractmethod
    def lines(self, kind: Any, schema: Schema) -> list[tuple[str, str]]:
        """Label and text of what is particular to it, for a description."""

    @abstractmethod
    def count(self) -> int:
        """How many noisy numbers there are."""

    def common(self) -> dict[str, str]:
        """What must be the same for several holders' contributions to be analysed together, beside schema and columns."""
        return {}

    def fingerprints(self) -> tuple[bytes, ...]:
        """Those of each holder."""
        return (self.fingerprint(),)

    @property
    def holders(self) -> int:
        """How many data holders' numbers these are."""
        return 1

    @property
    def shown_rows(self) -> str:
        """The number of rows, in words."""
        return "their number is not public" if self.rows is None else f"{self.rows} (public)"

    def rules(self, schema: Schema, columns: Sequence[BasisColumn]) -> list[str]:
        """What was done to rows beside what the schema says of cells: for people; a reader derives it from the schema."""
        if schema.unit.is_row:
            return []
        return [f"every {schema.unit.column}: at most {schema.unit.max_rows} rows are used"]

    def document(self) -> dict[str, Any]:
        """The fields of a file."""
        return {
            **({} if self.rows is None else {"rows": self.rows}),
            "privacy": {name: getattr(self, name) for name in PRIVACY},
            "library": self.library,
            "created": self.created,
            "contents": self.contents(),
        }

    def facts(self) -> dict[str, Any]:
        """What machines may want to know of it. Matrices and rows are in the files alone, of which one is JSON itself."""
        return {name: getattr(self, name) for name in ("rows", *PRIVACY, "created", "library")} | self.own_facts()

    def own_facts(self) -> dict[str, Any]:
        """Those that only this kind has."""
        return {}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self) if one.compare)
        return all(np.array_equal(*pair) if isinstance(pair[0], np.ndarray) else pair[0] == pair[1] for pair in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """For another process; views of mappings cannot go there."""
        return {name: dict(value) if isinstance(value, MappingProxyType) else value for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From another process; arrays and mappings come from there without their protection."""
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            protected = isinstance(value, dict) and name != "extra"
            object.__setattr__(self, name, MappingProxyType(value) if protected else value)

    def __repr__(self) -> str:
        rows = "not public" if self.rows is None else self.rows
        return (f"{type(self).__name__}(rows={rows}, epsilon={self.epsilon}, delta={self.delta}, mechanism={self.mechanism!r}, "
                f"created={self.created!r})")


def _plain(value: Any) -> Any:
    """Records, arrays, mappings and tuples as JSON has them."""
    if is_dataclass(value) or isinstance(value, Mapping):
        named = value.items() if isinstance(value, Mapping) else ((one.name, getattr(value, one.name)) for one in fields(value))
        return {name: _plain(item) for name, item in named}
    return value.tolist() if isinstance(value, np.ndarray) else list(map(_plain, value)) if isinstance(value, tuple) else value


def today() -> str:
    """The UTC day, as a release states it: the time of day is nobody's business."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()
