"""The base class of kinds of release: frozen records of all options.

A kind validates itself on creation, converts to a dictionary and back, and has a digest. The same object goes to `release`,
`plan` and `audit`, into the ledger and into the file. It uses only public declarations. The holder
(`noisewise.holder`) decides on its noise, the release (`noisewise.releases.contents`) on the meaning of its numbers.
"""

from __future__ import annotations

import hashlib
import json
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.schema.basis import BasisColumn
    from noisewise.schema.schema import Schema


@dataclass(frozen=True)
class Kind(ABC):
    """All options of one kind of release.

    A subclass is a frozen dataclass whose fields are the options. An option added later must default to None: `to_dict` leaves
    out what is None, so the digests of earlier requests stay the same.
    """

    name: ClassVar[str]
    """The name in files, in ledgers and on the command line."""
    literature: ClassVar[bool] = False
    """True if it is only for reproducing a paper, not for reporting results."""
    purpose: ClassVar[str]
    """The purpose, in a few words."""
    use: ClassVar[str]
    """How to use such a release: advice for someone who tried something else."""
    holders: ClassVar[bool] = False
    """True if the releases of several holders can be analysed together."""
    has_columns: ClassVar[bool] = False
    """True if its statistic is a matrix of columns."""
    needs_bounds: ClassVar[bool] = True
    """True if every numeric column of the schema must have bounds."""
    needs_file: ClassVar[bool] = False
    """True if its numbers may not fit into memory, so that they are written as they are drawn."""

    def to_dict(self) -> dict[str, object]:
        """The kind as plain data, without options that are None."""
        options = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"name": self.name, **{name: value for name, value in options.items() if value is not None}}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The kind with these options, as `to_dict` writes them."""
        known = [field.name for field in fields(cls)]
        unknown = [str(name) for name in options if name not in known]
        if unknown:
            raise DeclarationError(f"unknown option of kind {cls.name}", argument="kind", found=", ".join(unknown)[:200],
                                   known=known)
        try:
            return cls(**options)
        except TypeError:
            missing = [field.name for field in fields(cls) if field.name not in options]
            raise DeclarationError(f"kind {cls.name} lacks a required option", found=", ".join(options) or "none",
                                   remedy="its other options are " + ", ".join(missing)) from None

    def digest(self) -> str:
        """A digest of all options."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, allow_nan=False).encode()).hexdigest()

    def columns(self, schema: Schema) -> tuple[BasisColumn, ...]:
        """The columns of the statistic, with the constant first. Empty if the statistic is not a matrix of columns."""
        return ()

    def check_columns(self, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse columns read from a file that this kind cannot have, without parsing a formula."""
        require(not columns, f"a release of kind {self.name} has no columns", len(columns))

    @property
    def variant(self) -> str:
        """The name of the kind, with any options that change its noise."""
        return self.name

    def room(self, schema: Schema) -> int:
        """The most bytes that the numbers of such a release may take in a file."""
        return 65_536 + 32 * len(self.columns(schema)) ** 2

    def price(self, schema: Schema, *, epsilon: float, delta: float | None = None) -> Any:
        """The cost of such a release, as a ledger charges it. Raises an error if it cannot be made. Reads and spends nothing.

        The holder's room computes it, and is imported only when this is called.
        """
        from noisewise.kinds.registry import module_of

        return module_of(self, "holder").plan(self, schema, epsilon, delta).cost()

    @abstractmethod
    def title(self, schema: Schema) -> str:
        """A short description of the request, for a ledger to show."""

    def joined(self, other: Kind) -> Self:
        """The options that two holders' requests have in common; those that differ are reset."""
        differing = [field.name for field in fields(self) if getattr(self, field.name) != getattr(other, field.name)]
        return replace(self, **dict.fromkeys(differing)) if differing else self

    def differing(self, other: Kind, schema: Schema, same_columns: bool) -> str | None:
        """How this differs from another request of the same kind, in words, if their releases cannot be combined; else None."""
        return None if same_columns else f"terms: {getattr(self, 'terms', None)!r} and {getattr(other, 'terms', None)!r}"

    def common(self, schema: Schema) -> dict[str, str]:
        """Everything besides schema and columns that several holders' releases must share to be analysed together."""
        return {}


class Options(Mapping[str, Any]):
    """The value of an option that is itself a mapping: immutable, and equal to any mapping with the same items.

    >>> Options({"x": 1.0}) == {"x": 1.0}, hash(Options({"x": 1, "y": 2})) == hash(Options({"y": 2, "x": 1}))
    (True, True)
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, object]) -> None:
        self._items = tuple(items.items())

    def __getitem__(self, name: str) -> Any:
        return dict(self._items)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_items"):
            raise AttributeError("the options of a kind cannot be changed; create another kind")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[type[Options], tuple[dict[str, object]]]:
        return Options, (dict(self._items),)

    def __repr__(self) -> str:
        return repr(dict(self._items))


def _plain(value: Any) -> Any:
    """An option as plain data."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return list(map(_plain, value)) if isinstance(value, tuple) else value.to_dict() if hasattr(value, "to_dict") else value


def require(holds: bool, rule: str, found: object, remedy: str | None = None, argument: str | None = None) -> None:
    """Raise a `DeclarationError` unless ``holds``. ``found`` is a text, or the value of ``argument``."""
    if holds:
        return
    try:
        shown = found if isinstance(found, str) and argument is None else reprlib.repr(found)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        shown = "a number with thousands of digits"
    raise DeclarationError(rule, argument=argument, found=shown[:200], remedy=remedy)


def checked_text(kind: str, option: str, value: object, example: str) -> str:
    """A formula or a list of terms, without surrounding blanks."""
    require(isinstance(value, str) and value.strip() != "", f"{option} of a release of kind {kind} must be a non-empty string",
            value, f"for example {example}", option)
    return cast(str, value).strip()


def check_mechanism(value: object, example: str) -> None:
    """Refuse anything that cannot be the name of a mechanism. The holder checks that it exists."""
    require(value is None or isinstance(value, str), "mechanism must be a name", value, f"for example {example}", "mechanism")


def shown_names(names: Sequence[str], most: int = 8) -> str:
    """The first few names and the number of the others, for a line of text.

    >>> shown_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
