"""What a kind of release is: a frozen record of everything that can be asked for.

A kind checks itself when it is made, turns into a dictionary and back, and has a digest. The same object goes to `release`,
`plan` and `audit`, into the ledger and into the file. It knows public declarations only: what its noise must be is the holder's
business (`noisewise.holder`), what its numbers mean the release's (`noisewise.releases.contents`).
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
    out what is None, so the digests of requests made before stay the same.
    """

    name: ClassVar[str]
    """As files, ledgers and the command line call it."""
    literature: ClassVar[bool] = False
    """Whether it is kept to reproduce a paper, not to be reported with."""
    purpose: ClassVar[str]
    """What it is for, in a few words."""
    use: ClassVar[str]
    """What to do with such a release, for someone who tries something else."""
    holders: ClassVar[bool] = False
    """Whether the releases of several holders can be analysed together."""
    has_columns: ClassVar[bool] = False
    """Whether its statistic is a matrix of columns."""
    needs_bounds: ClassVar[bool] = True
    """Whether every numeric column of the schema must have bounds."""
    needs_file: ClassVar[bool] = False
    """Whether its numbers are too many to be kept in memory: they are written while they are made."""

    def to_dict(self) -> dict[str, Any]:
        """The kind as plain data, without options that were not asked for."""
        options = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"name": self.name, **{name: value for name, value in options.items() if value is not None}}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The kind with these options, as `to_dict` writes them."""
        known = [field.name for field in fields(cls)]
        unknown = [str(name) for name in options if name not in known]
        if unknown:
            raise DeclarationError(f"kind {cls.name} has no such option", argument="kind", found=", ".join(unknown)[:200],
                                   known=known)
        try:
            return cls(**options)
        except TypeError:
            missing = [field.name for field in fields(cls) if field.name not in options]
            raise DeclarationError(f"kind {cls.name} lacks an option", found=", ".join(options) or "none",
                                   remedy="it also has " + ", ".join(missing)) from None

    def digest(self) -> str:
        """A digest of all options."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, allow_nan=False).encode()).hexdigest()

    def columns(self, schema: Schema) -> tuple[BasisColumn, ...]:
        """The columns of the statistic, the constant first; none if it is no matrix of columns."""
        return ()

    def check_columns(self, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse columns, read from a file, that this kind cannot have. No formula is parsed."""
        require(not columns, f"a release of kind {self.name} has no columns", len(columns))

    @property
    def variant(self) -> str:
        """The kind, and what makes its noise another one."""
        return self.name

    def room(self, schema: Schema) -> int:
        """Bytes that the numbers of such a release may take in a file."""
        return 65_536 + 32 * len(self.columns(schema)) ** 2

    def price(self, schema: Schema, *, epsilon: float, delta: float | None = None) -> Any:
        """What such a release costs, as a ledger charges it; or why it cannot be had. Nothing is read and nothing is spent.

        The holder's room computes it: it is asked when this is called, and not before.
        """
        from noisewise.kinds.registry import module_of

        return module_of(self, "holder").plan(self, schema, epsilon, delta).cost()

    @abstractmethod
    def title(self, schema: Schema) -> str:
        """What is asked for, in a few words that a ledger can show."""

    def joined(self, other: Kind) -> Self:
        """What is common to what two holders were asked for: options that differ are left out."""
        differing = [field.name for field in fields(self) if getattr(self, field.name) != getattr(other, field.name)]
        return replace(self, **dict.fromkeys(differing)) if differing else self

    def differing(self, other: Kind, schema: Schema, same_columns: bool) -> str | None:
        """In words, why holders who were asked for this and for another of the same kind did not release the same."""
        return None if same_columns else f"terms: {getattr(self, 'terms', None)!r} and {getattr(other, 'terms', None)!r}"

    def common(self, schema: Schema) -> dict[str, str]:
        """What must be the same for several holders' releases to be analysed together, beside schema and columns."""
        return {}


class Options(Mapping[str, Any]):
    """An option with names of its own: a mapping that cannot be changed, equal to any other with the same items.

    >>> Options({"x": 1.0}) == {"x": 1.0}, hash(Options({"x": 1, "y": 2})) == hash(Options({"y": 2, "x": 1}))
    (True, True)
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = tuple(items.items())

    def __getitem__(self, name: str) -> Any:
        return dict(self._items)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, "_items"):
            raise AttributeError("the options of a kind cannot be changed: make another kind")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[type[Options], tuple[dict[str, Any]]]:
        return Options, (dict(self._items),)

    def __repr__(self) -> str:
        return repr(dict(self._items))


def _plain(value: Any) -> Any:
    """An option as plain data."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return list(map(_plain, value)) if isinstance(value, tuple) else value.to_dict() if hasattr(value, "to_dict") else value


def require(holds: bool, rule: str, found: object, remedy: str | None = None, argument: str | None = None) -> None:
    """Refuse what breaks a rule of kinds. ``found`` are words, or the value of an ``argument``."""
    if holds:
        return
    try:
        shown = found if isinstance(found, str) and argument is None else reprlib.repr(found)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        shown = "a number with thousands of digits"
    raise DeclarationError(rule, argument=argument, found=shown[:200], remedy=remedy)


def checked_text(kind: str, option: str, value: object, example: str) -> str:
    """A formula or a list of terms, without blanks around it."""
    require(isinstance(value, str) and value.strip() != "", f"{option} of a release of kind {kind} is a text that is not empty",
            value, f"for example {example}", option)
    return cast(str, value).strip()


def check_mechanism(value: object, example: str) -> None:
    """Refuse what is no name of a mechanism; which there are is for the holder to say."""
    require(value is None or isinstance(value, str), "mechanism is a name", value, f"for example {example}", "mechanism")


def shown_names(names: Sequence[str], most: int = 8) -> str:
    """Names for a line: the first few, and how many more.

    >>> shown_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
