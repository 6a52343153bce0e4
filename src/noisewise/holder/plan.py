"""The plan of a release, which each kind defines from public declarations alone: noise, cost, and how to make it.

Each kind has a function ``plan(kind, schema, epsilon, delta)`` in the file named after it, which returns a `Plan` or refuses.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypedDict, TypeVar

from noisewise.errors import ReleaseWriteError
from noisewise.kinds import Kind
from noisewise.kinds.registry import module_of
from noisewise.privacy.cost import Cost
from noisewise.releases.contribution import Contribution, Head, today
from noisewise.releases.release import Release
from noisewise.run import Run
from noisewise.schema import Schema
from noisewise.schema.schema import Adjacency
from noisewise.version import __version__


class Mechanism(Protocol):
    """The guarantee, as every mechanism states it."""

    @property
    def epsilon(self) -> float:
        """The epsilon of the guarantee."""

    @property
    def delta(self) -> float:
        """The delta of the guarantee; 0 for pure epsilon."""

    @property
    def name(self) -> str:
        """The name that releases state, such as ``gaussian``."""

    def cost(self) -> Cost:
        """The cost, in a form that composes."""

    def statement(self, unit: str | None = None) -> str:
        """The guarantee in words; ``unit`` names the unit column, if any."""


Noise = TypeVar("Noise", bound=Mechanism, covariant=True)


@dataclass(frozen=True)
class Plan(ABC, Generic[Noise]):
    """A release that can be made. Nothing has been read or spent."""

    mechanism: Noise
    blank: Release
    """The release to be made, with zeros in place of its numbers. It proves that the release can be written: whatever a release
    or its file would refuse is refused before a row is read. Its kind has every default filled in."""

    @property
    def kind(self) -> Kind:
        """The kind, with every default filled in."""
        return self.blank.kind

    @property
    def epsilon(self) -> float:
        """The epsilon of the guarantee."""
        return float(self.mechanism.epsilon)

    @property
    def delta(self) -> float:
        """The delta of the guarantee."""
        return float(self.mechanism.delta)

    def cost(self) -> Cost:
        """The cost, in a form that composes."""
        return self.mechanism.cost()

    @abstractmethod
    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], Contribution]:
        """Read the rows. Return a function that draws the noise and returns the contribution; call it once, after the charge."""

    def check_target(self, to: str | os.PathLike[str] | None) -> Path | None:
        """The path to write the release to, if any; refuses a path that cannot be written, before anything is spent."""
        if to is None:
            return None
        if not isinstance(to, (str, os.PathLike)):
            raise ReleaseWriteError("a release can only be written to a path", found=repr(to)[:80],
                                    remedy='for example to="patients.nwr"')
        target = Path(os.path.abspath(os.fsdecode(os.fspath(to))))
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise ReleaseWriteError("the folder of the output file must exist and be writable; nothing was released",
                                    found=str(target.parent), remedy="create the folder, or choose another")
        if target.is_dir():
            raise ReleaseWriteError("the output must be a file, not a folder; nothing was released", found=str(target),
                                    remedy="name a file in it")
        return target

    def keep(self, made: Release, to: Path | None) -> Release:
        """Write a release that was just made."""
        if to is not None:
            made.save(to)
        return made

    def found_again(self, made: Release, to: Path | None) -> Release:
        """Write a release made earlier for the same request."""
        return self.keep(made, to)

    def filled(self, contribution: Contribution) -> Release:
        """The release with this contribution."""
        return self.blank.with_contributions((contribution,))


def plan_of(kind: Kind, schema: Schema, epsilon: float, delta: float | None) -> Plan[Mechanism]:
    """Plan a release, or raise an error that says what is wrong with it."""
    made: Plan[Mechanism] = module_of(kind, "holder").plan(kind, schema, epsilon, delta)
    return made


def blank_release(kind: Kind, schema: Schema, contribution: Contribution) -> Release:
    """A release whose contribution has no numbers yet, checked to be writable."""
    from noisewise.releases.format import encode

    blank = Release(kind, schema, (contribution,))
    encode(blank)
    return blank


def head(mechanism: Mechanism, schema: Schema, sensitivity: float) -> Head:
    """The fields every contribution has, before the rows are known."""
    return {"rows": public_rows(schema, 0), "epsilon": mechanism.epsilon, "delta": mechanism.delta, "mechanism": mechanism.name,
            "sensitivity": sensitivity, "statement": mechanism.statement(schema.unit.column), "created": today(),
            "library": f"noisewise {__version__}"}


class Protected(TypedDict):
    """Who or what a guarantee protects, as arguments of the sensitivities."""

    adjacency: Adjacency
    max_rows: int
    unit_is_row: bool


def protected(schema: Schema) -> Protected:
    """Who or what a guarantee protects, as arguments of the sensitivities."""
    return {"adjacency": schema.adjacency, "max_rows": schema.unit.max_rows, "unit_is_row": schema.unit.is_row}


def public_rows(schema: Schema, rows: int) -> int | None:
    """The number of rows if it is public, else None."""
    return rows if schema.rows_are_public else None
