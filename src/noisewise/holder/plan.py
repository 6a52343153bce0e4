"""What a kind says of itself to the data holder, from public declarations alone: its noise, its price, how it is made.

Each kind has a function ``plan(kind, schema, epsilon, delta)`` in the file of its stem, which gives a `Plan`, or refuses.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from noisewise.errors import ReleaseWriteError
from noisewise.kinds import Kind
from noisewise.kinds.registry import module_of
from noisewise.privacy.cost import Cost
from noisewise.releases.contribution import today
from noisewise.releases.release import Release
from noisewise.run import Run
from noisewise.schema import Schema
from noisewise.version import __version__


class Mechanism(Protocol):
    """What every mechanism says of its guarantee."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def name(self) -> str: ...
    def cost(self) -> Cost: ...
    def statement(self, unit: str | None = None) -> str: ...


Noise = TypeVar("Noise", bound=Mechanism, covariant=True)


@dataclass(frozen=True)
class Plan(ABC, Generic[Noise]):
    """A release that can be made: nothing was read, nothing is spent."""

    mechanism: Noise
    blank: Release
    """The release as it will be, with zeros for numbers, and proof that it can be written: whatever a release or its file would
    refuse is refused before a row is read. Its kind has every default filled in."""

    @property
    def kind(self) -> Kind:
        return self.blank.kind

    @property
    def epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @property
    def delta(self) -> float:
        return float(self.mechanism.delta)

    def cost(self) -> Cost:
        """The price, in a form that composes."""
        return self.mechanism.cost()

    @abstractmethod
    def read(self, data: Any, to: Path | None, run: Run) -> Callable[[], Any]:
        """Read the rows. What is returned draws the noise and gives the contribution: it is called once, after the charge."""

    def check_target(self, to: str | os.PathLike[str] | None) -> Path | None:
        """Where the release will be written, if anywhere; refused if it cannot be, before anything is paid for."""
        if to is None:
            return None
        if not isinstance(to, (str, os.PathLike)):
            raise ReleaseWriteError("a release is written to a path", found=repr(to)[:80], remedy='for example to="patients.nwr"')
        target = Path(os.path.abspath(os.fsdecode(os.fspath(to))))
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise ReleaseWriteError("the folder of the output file must exist and be writable; nothing was done yet",
                                    found=str(target.parent), remedy="make the folder, or choose another one")
        if target.is_dir():
            raise ReleaseWriteError("a release is written to a file; nothing was done yet", found=f"{target} is a folder",
                                    remedy="name a file in it")
        return target

    def keep(self, made: Release, to: Path | None) -> Release:
        """Write the release that was made just now."""
        if to is not None:
            made.save(to)
        return made

    def found_again(self, made: Release, to: Path | None) -> Release:
        """Write the release that was made before for the same request."""
        return self.keep(made, to)

    def filled(self, contribution: Any) -> Release:
        """The release with this contribution."""
        return self.blank.with_contributions((contribution,))


def plan_of(kind: Kind, schema: Schema, epsilon: float, delta: float | None) -> Plan[Any]:
    """The plan of a release, or what is wrong with it."""
    made: Plan[Any] = module_of(kind, "holder").plan(kind, schema, epsilon, delta)
    return made


def blank_release(kind: Kind, schema: Schema, contribution: Any) -> Release:
    """The release with a contribution that has no numbers yet, and proof that it can be written."""
    from noisewise.releases.format import encode

    blank = Release(kind, schema, (contribution,))
    encode(blank)
    return blank


def head(mechanism: Mechanism, schema: Schema, sensitivity: float) -> dict[str, Any]:
    """What every contribution states, before the rows are known."""
    return {"rows": public_rows(schema, 0), "epsilon": mechanism.epsilon, "delta": mechanism.delta, "mechanism": mechanism.name,
            "sensitivity": sensitivity, "statement": mechanism.statement(schema.unit.column), "created": today(),
            "library": f"noisewise {__version__}"}


def protected(schema: Schema) -> dict[str, Any]:
    """Whom a guarantee is about, in the words of the sensitivities."""
    return {"adjacency": schema.adjacency, "max_rows": schema.unit.max_rows, "unit_is_row": schema.unit.is_row}


def public_rows(schema: Schema, rows: int) -> int | None:
    """The number of rows, where it is public."""
    return rows if schema.rows_are_public else None
