"""What a release is: frozen records that cannot be built with contents that contradict one another."""

from __future__ import annotations

import copy
import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from noisewise.errors import ReleaseError
from noisewise.release.checks import LARGEST_ENTRY, FloatMatrix, check_day, number_of, symmetric
from noisewise.release.columns import check_columns
from noisewise.release.json_text import short
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.schema import Adjacency, Schema

Distribution: TypeAlias = Literal["gaussian", "laplace"]

KINDS: Final = ("gram",)
FORMAT_VERSION: Final = "1.0"
LARGEST_COUNT: Final = 2**53
"""Whole numbers up to here are exact as doubles, so the corner of the matrix can equal the rows."""


@dataclass(frozen=True)
class EntryNoise:
    """The noise of a symmetric matrix: its distribution, and one standard deviation per class of entries.

    ``corner`` is the entry [0, 0], the number of rows; it is 0 where that number is public and therefore
    exact. Entries of the upper triangle are independent; the lower triangle mirrors them. For ``laplace`` the
    standard deviation is √2 times the scale.

    >>> EntryNoise("gaussian", diagonal=2.0, off_diagonal=1.0, corner=0.0).variances(2)
    array([[0., 1.],
           [1., 4.]])
    """

    distribution: Distribution
    diagonal: float
    off_diagonal: float
    corner: float

    def __post_init__(self) -> None:
        if self.distribution not in ("gaussian", "laplace"):
            raise ReleaseError(
                "the noise must be gaussian or laplace",
                found=short(self.distribution),
                remedy="a newer noisewise may know this distribution",
            )
        for name in ("diagonal", "off_diagonal", "corner"):
            sd = number_of(getattr(self, name), f"noise: the standard deviation '{name}'")
            public_corner = name == "corner" and sd == 0
            if not public_corner and not 1 / LARGEST_ENTRY <= sd <= LARGEST_ENTRY:
                allowed = "0, or positive" if name == "corner" else "positive"
                raise ReleaseError(
                    f"noise: the standard deviation '{name}' must be {allowed} and of ordinary size",
                    found=repr(sd),
                )
            object.__setattr__(self, name, sd)

    def variances(self, size: int) -> FloatMatrix:
        """The variance of the noise in each entry of a ``size`` by ``size`` matrix."""
        variances = np.full((size, size), self.off_diagonal**2)
        np.fill_diagonal(variances, self.diagonal**2)
        variances[0, 0] = self.corner**2
        return variances


@dataclass(frozen=True, eq=False)
class GramPart:
    """One holder's noisy Gram matrix Σ aaᵀ + E of the scaled rows a = (1, u), and how it was made.

    ``rows`` is the exact number of rows where it is public, else None. ``sensitivity`` is in the Frobenius
    norm for Gaussian noise and in the L1 norm of the upper triangle for Laplace noise. ``delta`` is 0 for
    pure ε. ``created`` is the UTC day, ``library`` the program that wrote it, ``extra`` the fields of a newer
    format that this version does not know.
    """

    rows: int | None
    matrix: FloatMatrix
    noise: EntryNoise
    epsilon: float
    delta: float
    mechanism: str
    sensitivity: float
    statement: str
    created: str
    library: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "sensitivity"):
            object.__setattr__(self, name, number_of(getattr(self, name), name))
        object.__setattr__(self, "matrix", symmetric(self.matrix))
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))
        self._check_privacy()
        self._check_rows()
        for name in ("mechanism", "statement", "library"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ReleaseError(f"{name} must be a text that is not empty", found=short(value))
        check_day(self.created)

    def _check_privacy(self) -> None:
        for name in ("epsilon", "sensitivity"):
            if getattr(self, name) <= 0:
                raise ReleaseError(f"{name} must be positive", found=repr(getattr(self, name)))
        if not 0 <= self.delta < 1:
            raise ReleaseError("delta must be at least 0 and below 1", found=repr(self.delta))
        if self.noise.distribution == "gaussian" and self.delta == 0:
            raise ReleaseError(
                "gaussian noise gives no guarantee with delta = 0",
                found=repr(self.delta),
                remedy="state the delta that the noise was calibrated for",
            )

    def _check_rows(self) -> None:
        if (self.rows is None) != (self.noise.corner > 0):
            raise ReleaseError(
                "the number of rows is stated if, and only if, the corner of the matrix carries no noise",
                found=f"rows {self.rows}, corner noise {self.noise.corner}",
            )
        if self.rows is None:
            return
        if (
            isinstance(self.rows, bool)
            or not isinstance(self.rows, int | np.integer)
            or not 0 <= self.rows <= LARGEST_COUNT
        ):
            raise ReleaseError("rows must be a whole number, 0 or more", found=short(self.rows))
        object.__setattr__(self, "rows", int(self.rows))
        if self.matrix[0, 0] != self.rows:
            raise ReleaseError(
                "the corner of the matrix must equal the public number of rows",
                found=f"corner {self.matrix[0, 0]}, rows {self.rows}",
            )

    @property
    def size(self) -> int:
        """The number of columns of the matrix, the constant included."""
        return int(self.matrix.shape[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GramPart):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix) and self._plain() == other._plain()

    def _plain(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "matrix"}

    def __repr__(self) -> str:
        rows = "noisy" if self.rows is None else self.rows
        return (
            f"GramPart(size={self.size}, rows={rows}, epsilon={self.epsilon}, delta={self.delta}, "
            f"mechanism={self.mechanism!r}, created={self.created!r})"
        )


@dataclass(frozen=True, eq=False)
class Release:
    """A noisy summary of a table that anyone may have: one part per data holder, all from one public schema.

    ``extra`` holds the fields of a newer format (``version``) that this version does not know, in their
    places. ``columns`` are the released columns; by default those that the schema and ``terms`` give.
    """

    kind: str
    schema: Schema
    terms: str | None
    parts: tuple[GramPart, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    version: str = FORMAT_VERSION
    columns: tuple[BasisColumn, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))
        if self.kind not in KINDS:
            raise ReleaseError(
                "this kind of release is not known here",
                found=short(self.kind),
                remedy=f"known: {', '.join(KINDS)}; a newer noisewise may know it",
            )
        columns = tuple(self.columns) or Basis.of(self.schema, self.terms).columns
        check_columns(self.schema, self.terms, columns)
        object.__setattr__(self, "columns", columns)
        if not self.parts:
            raise ReleaseError("a release needs at least one part")
        for number, part in enumerate(self.parts, start=1):
            self._check_part(part, f"part {number}")
        if len({part.matrix.tobytes() for part in self.parts}) < len(self.parts):
            raise ReleaseError(
                "the same part may not be counted twice: it would fake precision",
                found="two parts with identical matrices",
                remedy="give each release once",
            )

    def _check_part(self, part: GramPart, where: str) -> None:
        if part.size != self.basis.size:
            raise ReleaseError(
                f"{where}: the matrix must have one row and column for each released column",
                found=f"size {part.size}, {self.basis.size} columns",
            )
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
    def adjacency(self) -> Adjacency:
        return self.schema.adjacency

    @property
    def holders(self) -> int:
        """How many data holders contributed: one part each."""
        return len(self.parts)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file, by custom ending in ``.nwr``; an older one is replaced whole or left as it was."""
        from noisewise.release.files import save

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
            for name in ("kind", "schema", "terms", "parts", "extra", "version", "columns")
        )

    def __repr__(self) -> str:
        budgets = ", ".join(dict.fromkeys(f"({part.epsilon}, {part.delta})" for part in self.parts[:4]))
        more = ", ..." if self.holders > 4 else ""
        parts = "part" if self.holders == 1 else "parts"
        return (
            f"<Release {self.kind}: {self.basis.size - 1} columns, {self.holders} {parts}, "
            f"{self.adjacency}, (epsilon, delta) = {budgets}{more}>"
        )


def today() -> str:
    """The UTC day, as a release states it: the time of day is nobody's business."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()
