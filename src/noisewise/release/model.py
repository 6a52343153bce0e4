"""What a release is: frozen records that cannot be built with contents that contradict one another."""

from __future__ import annotations

import copy
import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from noisewise.errors import ReleaseError, ReleaseWriteError
from noisewise.release.adassp import AdasspPart, check_formula, check_regression_columns, regression_columns
from noisewise.release.columns import check_columns
from noisewise.release.json_text import short
from noisewise.release.moments import MomentsPart
from noisewise.release.parts import Distribution, EntryNoise, GramPart
from noisewise.release.pooled import PooledPart
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.schema import Adjacency, Schema

__all__ = [
    "AVERAGED_KIND", "FORMAT_VERSION", "KINDS", "KIND_VERSIONS", "NOISE_VERSIONS", "AdasspPart",
    "Distribution", "EntryNoise", "GramPart", "MomentsPart", "Release", "today",
]

FORMAT_VERSION: Final = "1.4"
"""The newest version of the format. A file states the oldest one that has all it uses."""

KINDS: Final = ("gram", "adassp", "moments")
AVERAGED_KIND: Final = "averaged-gram"
"""What a file calls a ``gram`` release with averaged parts: a reader of version 1.0 refuses it and cannot misread it."""

KIND_VERSIONS: Final[Mapping[str, str]] = {
    "gram": "1.0", AVERAGED_KIND: "1.1", "adassp": "1.1", "moments": "1.3", "partition": "1.4", "microdata": "1.4",
}
"""The version of the format that brought each kind that a file can state."""

NOISE_VERSIONS: Final[Mapping[str, str]] = {"wishart": "1.2"}
"""The version that brought a distribution of the noise, where that was not the first."""

_PARTS: Final[Mapping[str, tuple[type[GramPart], ...]]] = {
    "gram": (GramPart, PooledPart), "adassp": (AdasspPart,), "moments": (MomentsPart,),
}


@dataclass(frozen=True, eq=False)
class Release:
    """A noisy summary of a table that anyone may have: one part per data holder, all from one public schema.

    ``extra`` holds the fields of a newer format (``version``) that this version does not know, in their
    places. ``columns`` are the released columns; by default those that the schema and ``terms`` give. A release of
    kind ``adassp`` or ``moments`` is for one ``formula``; its columns are the predictors' and, last, the response.
    """

    kind: str
    schema: Schema
    terms: str | None
    parts: tuple[GramPart, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    columns: tuple[BasisColumn, ...] = ()
    formula: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))
        if self.kind not in KINDS:
            raise ReleaseError(
                "this kind of release is not known here",
                found=short(self.kind),
                remedy=f"known: {', '.join(KINDS)}; a newer noisewise may know it",
            )
        object.__setattr__(self, "columns", self._checked_columns())
        if not self.parts:
            raise ReleaseError("a release needs at least one part")
        self._check_parts()
        object.__setattr__(self, "version", self.version or self._oldest_version())

    def _oldest_version(self) -> str:
        """The version of the format that has all that this release uses."""
        noises = (NOISE_VERSIONS.get(part.noise.distribution, "1.0") for part in self.parts)
        return max(KIND_VERSIONS[self.kind_in_file], *noises, key=lambda version: int(version.split(".")[1]))

    def _checked_columns(self) -> tuple[BasisColumn, ...]:
        check_formula(self.kind, self.formula)
        if self.formula is None:
            columns = tuple(self.columns) or Basis.of(self.schema, self.terms).columns
            check_columns(self.schema, self.terms, columns)
        else:
            columns = tuple(self.columns) or regression_columns(self.schema, self.terms, self.formula)
            check_regression_columns(self.kind, self.schema, self.terms, columns)
        return columns

    def with_parts(self, parts: tuple[GramPart, ...]) -> Release:
        """Other parts of the same columns. Only they are checked: thousands of files can share what was checked once."""
        made = copy.copy(self)
        object.__setattr__(made, "parts", parts)
        made._check_parts()
        return made

    def _check_parts(self) -> None:
        for number, part in enumerate(self.parts, start=1):
            self._check_part(part, f"part {number}")
        if len(self.parts) > 1 and len({part.fingerprint() for part in self.parts}) < len(self.parts):
            raise ReleaseError(
                "the same part may not be counted twice: it would fake precision",
                found="two parts with identical matrices",
                remedy="give each release once",
            )

    def _check_part(self, part: GramPart, where: str) -> None:
        if type(part) not in _PARTS[self.kind]:
            raise ReleaseError(
                f"{where}: a release of kind {self.kind} has parts of its own kind", found=type(part).__name__
            )
        size = self.basis.size - 1 if self.kind == "adassp" else self.basis.size
        if part.size != size:
            raise ReleaseError(
                f"{where}: the matrix must have one row and column for each released column"
                + (" but the response" if self.kind == "adassp" else ""),
                found=f"size {part.size}, {self.basis.size} columns",
            )
        if _block_names(part) != self.blocks:
            raise ReleaseError(f"{where}: all parts of a release have the same blocks",
                               found=f"{', '.join(self.blocks)} and {', '.join(_block_names(part))}")
        if (part.rows is not None) != self.schema.rows_are_public:
            expected = "stated exactly" if self.schema.rows_are_public else "noisy and not stated"
            raise ReleaseError(
                f"{where}: by this schema ({self.adjacency}) the number of rows is {expected}",
                found=f"rows {part.rows}",
            )

    @cached_property
    def basis(self) -> Basis:
        """The released columns, the constant first."""
        return Basis(self.schema, self.columns)

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of the blocks of a ``moments`` release; none for another kind."""
        return _block_names(self.parts[0])

    @property
    def clipped_norm(self) -> float | None:
        """The norm to which rows were shortened, if they were: of all released columns, for ``moments`` of the predictors."""
        clipped = Basis(self.schema, self.columns[:-1]) if self.kind == "moments" else self.basis
        return clipped.radius if clipped.norm_clipped else None

    @property
    def kind_in_file(self) -> str:
        """The kind that a file states: another one if rows were averaged."""
        return AVERAGED_KIND if self.kind == "gram" and any(part.average > 1 for part in self.parts) else self.kind

    @property
    def adjacency(self) -> Adjacency:
        return self.schema.adjacency

    @property
    def holders(self) -> int:
        """How many data holders contributed: one part each, unless they were added up while they were read."""
        return sum(part.holders for part in self.parts)

    @property
    def pooled(self) -> bool:
        """Whether holders were added up (``load_many`` with ``pooled=True``): what needs each of them apart is then refused."""
        return any(isinstance(part, PooledPart) for part in self.parts)

    def fingerprints(self) -> list[bytes]:
        """Of the noisy numbers of each data holder."""
        return [found for part in self.parts for found in part.fingerprints()]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file, by custom ending in ``.nwr``; an older one is replaced whole or left as it was."""
        from noisewise.release.files import save

        if self.pooled:
            raise ReleaseWriteError("sums of several holders' releases are not written: they are no one's release",
                                    found=f"{self.holders} holders in {len(self.parts)} sums", remedy="keep the holders' files")
        return save(self, path)

    def describe(self) -> str:
        """The release in words: what is protected and how, what was released, how large the noise is."""
        from noisewise.release.describe import describe

        return describe(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Release):
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("kind", "schema", "terms", "parts", "extra", "version", "columns", "formula")
        )

    def __repr__(self) -> str:
        budgets = ", ".join(dict.fromkeys(f"({part.epsilon}, {part.delta})" for part in self.parts[:4]))
        more = ", ..." if self.holders > 4 else ""
        parts = "part" if self.holders == 1 else f"parts (in {len(self.parts)} sums)" if self.pooled else "parts"
        return (
            f"<Release {self.kind}: {self.formula or f'{self.basis.size - 1} columns'}, {self.holders} {parts}, "
            f"{self.adjacency}, (epsilon, delta) = {budgets}{more}>"
        )

    def _repr_html_(self) -> str:
        from noisewise.notebook import described

        return described(self.describe())


def _block_names(part: GramPart) -> tuple[str, ...]:
    return tuple(part.blocks) if isinstance(part, MomentsPart) else ()


def today() -> str:
    """The UTC day, as a release states it: the time of day is nobody's business."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()
