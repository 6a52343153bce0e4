"""The parts of a release: one holder's noisy numbers, their noise, and how they were made."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from noisewise.errors import ReleaseError
from noisewise.release.checks import LARGEST_ENTRY, FloatMatrix, check_day, number_of, plain_bytes, symmetric
from noisewise.release.json_text import short

Distribution: TypeAlias = Literal["gaussian", "laplace", "wishart"]

LARGEST_COUNT: Final = 2**53
"""Whole numbers up to here are exact as doubles, so the corner of the matrix can equal the rows."""


@dataclass(frozen=True)
class EntryNoise:
    """The noise of a symmetric matrix: its distribution, and one standard deviation per class of entries.

    ``corner`` is the entry [0, 0], the number of rows; it is 0 where that number is public and therefore
    exact. Entries of the upper triangle are independent; the lower triangle mirrors them. For ``laplace`` the
    standard deviation is √2 times the scale.

    ``wishart`` noise is N − E N with N ~ Wishart(``degrees``, ``scale`` · I), which only it states. Its entries are uncorrelated
    but not independent, and those on the diagonal are skewed; mean and variances are those of Gaussian noise.

    >>> EntryNoise("gaussian", diagonal=2.0, off_diagonal=1.0, corner=0.0).variances(2)
    array([[0., 1.],
           [1., 4.]])
    """

    distribution: Distribution
    diagonal: float
    off_diagonal: float
    corner: float
    degrees: int | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if self.distribution not in ("gaussian", "laplace", "wishart"):
            raise ReleaseError(
                "the noise must be gaussian, laplace or wishart",
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
        if self.distribution == "wishart":
            self._check_wishart()
        elif self.degrees is not None or self.scale is not None:
            raise ReleaseError("noise: only wishart noise has degrees of freedom and a scale", found=self.distribution)

    def _check_wishart(self) -> None:
        if (
            isinstance(self.degrees, bool)
            or not isinstance(self.degrees, int | np.integer)
            or not 1 <= self.degrees <= LARGEST_COUNT
        ):
            raise ReleaseError("noise: the degrees of freedom must be a whole number, 1 or more", found=short(self.degrees))
        object.__setattr__(self, "degrees", int(self.degrees))
        scale = number_of(self.scale, "noise: the scale")
        object.__setattr__(self, "scale", scale)
        expected = scale * math.sqrt(2 * self.degrees), scale * math.sqrt(self.degrees), scale * math.sqrt(2 * self.degrees)
        found = self.diagonal, self.off_diagonal, self.corner or expected[2]
        if not (scale > 0 and np.allclose(found, expected, rtol=1e-9, atol=0.0)):
            raise ReleaseError(
                "noise: the standard deviations of wishart noise are √(2k), √k and √(2k) or 0 times its scale",
                found=f"{self.diagonal!r}, {self.off_diagonal!r}, {self.corner!r} for {self.degrees} and {scale!r}",
            )

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
    norm for Gaussian noise, in the L1 norm of the upper triangle for Laplace noise, and the largest eigenvalue for
    Wishart noise. ``delta`` is 0 for pure ε. ``created`` is the UTC day, ``library`` the program that wrote it, ``extra``
    the fields of a newer format that this version does not know. With ``average`` k > 1 the rows were averaged in random
    groups of k: the matrix is Σ_groups (1/k)(Σa)(Σa)ᵀ + E, whose first row is still (n, Σu).
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
    average: int = 1

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "sensitivity"):
            object.__setattr__(self, name, number_of(getattr(self, name), name))
        object.__setattr__(self, "matrix", symmetric(self.matrix))
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))
        self._check_privacy()
        self._check_rows()
        self._check_average()
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
        if self.noise.distribution != "laplace" and self.delta == 0:
            raise ReleaseError(
                f"{self.noise.distribution} noise gives no guarantee with delta = 0",
                found=repr(self.delta),
                remedy="state the delta that the noise was calibrated for",
            )

        if self.noise.degrees is not None and self.noise.degrees < self.size:
            raise ReleaseError("noise: there are at least as many degrees of freedom as columns",
                               found=f"{self.noise.degrees} for {self.size} columns")

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

    def _check_average(self) -> None:
        if isinstance(self.average, bool) or not isinstance(self.average, int) or not 1 <= self.average <= LARGEST_COUNT:
            raise ReleaseError("average must be a whole number, 1 or more", found=short(self.average))
        if self.average > 1 and (self.rows is None or self.noise.distribution != "gaussian"):
            raise ReleaseError(
                "rows are averaged only where their number is public and the noise is gaussian",
                found=f"rows {self.rows}, {self.noise.distribution} noise",
            )

    @property
    def groups(self) -> int | None:
        """The number of averaged rows: that of the rows if they were not averaged; None where it is not public."""
        return None if self.rows is None else -(-self.rows // self.average)

    @property
    def holders(self) -> int:
        """How many data holders' numbers these are."""
        return 1

    @property
    def counts(self) -> FloatMatrix:
        """The number of rows of each holder: exact where it is public, else the noisy one."""
        return self.matrix[:1, 0]

    def fingerprint(self) -> bytes:
        """Equal for the same part, and different for different ones as far as they carry noise; short even for a large part."""
        return self._digest

    def fingerprints(self) -> tuple[bytes, ...]:
        """Those of each holder."""
        return (self._digest,)

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.sha256(b"".join(self._noisy_bytes())).digest()

    def _noisy_bytes(self) -> Iterator[bytes]:
        yield plain_bytes(self.matrix)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From another process; arrays come from there without their protection."""
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """The number of columns of the matrix, the constant included."""
        return int(self.matrix.shape[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GramPart) or type(other) is not type(self):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix) and self._plain() == other._plain()

    def _plain(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("matrix", "_digest")}

    def __repr__(self) -> str:
        rows = "noisy" if self.rows is None else self.rows
        return (
            f"{type(self).__name__}(size={self.size}, rows={rows}, epsilon={self.epsilon}, delta={self.delta}, "
            f"mechanism={self.mechanism!r}, created={self.created!r})"
        )
