"""Holders whose noise per row is alike, added up: what most fits need of thousands of releases, in the memory of a few.

The sum of J noisy Gram matrices is the noisy Gram matrix of all their rows, with J times the variance. Fits weigh a holder by the
variance of its noise per row, which is the same for the sum as for each of its members, so that nothing is lost by adding
up holders that are alike in this. `Pool` takes those for alike that differ by less than ``STEP``: then no holder's weight is
further than 2.2 % from its best, which costs at most about one part in ten thousand of the result's precision.

Where numbers of rows are noisy, fits draw them together, and a holder's weight follows its noise more than its noisy number of
rows. Then holders that are added up must be alike in the noise itself too. Otherwise those of two budgets would be in one sum, or
in two, as the noise of their numbers of rows has it; weights would depend on that noise, and the weighted number of rows would be
off by many of its standard deviations.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from noisewise.errors import ReleaseError
from noisewise.release.checks import FloatMatrix
from noisewise.release.parts import EntryNoise, GramPart

STEP: Final = 2.0 ** (1.0 / 32.0)
"""The largest ratio of the noise per row (and of the noise, where rows are not public) within one sum.

So there are at most 32 matrices for each doubling of the noise per row, and, where rows are not public, for each budget.
"""

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False)
class PooledPart(GramPart):
    """The sum of several holders' parts. ``counts`` are the numbers of rows of each, ``groups`` those of all together,
    ``digests`` the fingerprints of each, one after the other.

    ``epsilon``, ``delta`` and ``sensitivity`` are the largest of any of them. The sum of Laplace noise is taken for normal.
    """

    members: FloatMatrix = field(kw_only=True)
    residuals: int | None = field(kw_only=True)
    digests: bytes = field(kw_only=True)

    @property
    def holders(self) -> int:
        return len(self.members)

    @property
    def counts(self) -> FloatMatrix:
        return self.members

    @property
    def groups(self) -> int | None:
        return self.residuals

    def fingerprints(self) -> tuple[bytes, ...]:
        size = len(self.digests) // self.holders
        return tuple(self.digests[place:place + size] for place in range(0, len(self.digests), size))

    def _check_privacy(self) -> None:
        """Each member was checked when it was read; their largest epsilon and delta need not belong together."""

    def _plain(self) -> dict[str, Any]:
        return {**super()._plain(), "members": self.members.tolist()}


class Pool:
    """Adds up parts as they come. Memory: one matrix for each different noise per row, whatever the number of holders."""

    def __init__(self) -> None:
        self._sums: dict[Key, _Sum] = {}

    def add(self, part: GramPart) -> None:
        if type(part) is not GramPart:
            raise ReleaseError("only releases of kind gram are added up while they are read", found=type(part).__name__,
                               remedy="leave pooled=True out")
        key = _alike(part)
        known = self._sums.get(key)
        if known is None:
            self._sums[key] = _Sum(part)
        else:
            known.add(part)

    def parts(self) -> tuple[GramPart, ...]:
        """The sums, in the order of their first members; a part that is like no other is itself."""
        return tuple(found.part() for found in self._sums.values())


class _Sum:
    def __init__(self, first: GramPart) -> None:
        self.first = first
        self.matrix: FloatMatrix | None = None
        self.counts = [float(first.matrix[0, 0])]
        self.digests = [first.fingerprint()]
        self.groups = first.groups
        self.variances = _variances(first)
        self.largest = [first.epsilon, first.delta, first.sensitivity]
        self.created = first.created
        self.mechanisms = {first.mechanism: None}
        self.libraries = {first.library: None}
        self.statements = {first.statement: None}

    def add(self, part: GramPart) -> None:
        if self.matrix is None:
            self.matrix = self.first.matrix.copy()
        self.matrix += part.matrix
        self.counts.append(float(part.matrix[0, 0]))
        self.digests.append(part.fingerprint())
        if self.groups is not None and part.groups is not None:
            self.groups += part.groups
        self.variances = self.variances + _variances(part)
        self.largest = [max(pair) for pair in zip(self.largest, (part.epsilon, part.delta, part.sensitivity), strict=True)]
        self.created = max(self.created, part.created)
        self.mechanisms[part.mechanism] = self.libraries[part.library] = self.statements[part.statement] = None

    def part(self) -> GramPart:
        if self.matrix is None:
            return self.first
        epsilon, delta, sensitivity = self.largest
        return PooledPart(
            rows=None if self.first.rows is None else int(self.matrix[0, 0]), matrix=self.matrix, noise=self._noise(),
            epsilon=epsilon, delta=delta, mechanism=" and ".join(self.mechanisms), sensitivity=sensitivity,
            statement=self._statement(), created=self.created, library=" and ".join(self.libraries), average=self.first.average,
            members=np.array(self.counts), residuals=self.groups, digests=b"".join(self.digests),
        )

    def _noise(self) -> EntryNoise:
        first = self.first.noise
        diagonal, off_diagonal, corner, degrees = self.variances
        if first.distribution == "wishart":
            return dataclasses.replace(first, diagonal=math.sqrt(diagonal), off_diagonal=math.sqrt(off_diagonal),
                                       corner=math.sqrt(corner), degrees=int(degrees))
        return EntryNoise("gaussian", math.sqrt(diagonal), math.sqrt(off_diagonal), math.sqrt(corner))

    def _statement(self) -> str:
        of_each = next(iter(self.statements)) if len(self.statements) == 1 else "epsilon and delta are the largest of any."
        return f"The sum of the releases of {len(self.counts)} holders. Of each: {of_each}"


def _variances(part: GramPart) -> FloatMatrix:
    noise = part.noise
    return np.array([noise.diagonal**2, noise.off_diagonal**2, noise.corner**2, noise.degrees or 0])


def _alike(part: GramPart) -> Key:
    """Equal for parts that may be added up: noise of one law and shape, rows averaged alike, nearly the same noise per row."""
    noise = part.noise
    variance = noise.off_diagonal**2
    return (noise.distribution, noise.scale, f"{noise.off_diagonal / noise.diagonal:.9g}", f"{noise.corner / noise.diagonal:.9g}",
            part.average, _steps(variance / max(float(part.matrix[0, 0]), 1.0)), _steps(variance) if noise.corner else 0)


def _steps(value: float) -> int:
    return math.floor(math.log(value) / math.log(STEP))
