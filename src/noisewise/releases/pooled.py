"""Add up holders with similar noise per row: most fits of thousands of releases then need the memory of a few.

The sum of J noisy Gram matrices is the noisy Gram matrix of all their rows, with J times the variance. Fits weight a holder by
the variance of its noise per row. That is the same for a sum as for each of its members, so adding up holders that agree in it
loses nothing. `Pool` adds up holders that differ in it by less than ``STEP``. No holder's weight is then more than 2.2 % from its
optimum, which costs at most about one in ten thousand of the result's precision.

Where numbers of rows are noisy, fits draw them jointly, and a holder's weight depends more on its noise than on its noisy number
of rows. Holders that are added up must then have similar noise too. Otherwise the noise in the numbers of rows would decide
whether holders with two different budgets end up in one sum or in two. Weights would depend on that noise, and the weighted
number of rows would be off by many of its standard deviations.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np

from noisewise.arrays import Matrix, Vector
from noisewise.errors import ReleaseError
from noisewise.kinds import Gram
from noisewise.releases.contents.gram import EntryNoise, GramContribution
from noisewise.releases.contribution import Contribution
from noisewise.schema.basis import BasisColumn
from noisewise.schema.schema import Schema
from noisewise.words import leave_out

STEP: Final = 2.0 ** (1.0 / 32.0)
"""The largest ratio of the noise per row within one sum (and of the noise itself, where rows are not public).

There are thus at most 32 matrices per doubling of the noise per row and, where rows are not public, per budget.
"""

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PooledContribution(GramContribution):
    """The sum of several holders' contributions.

    ``counts`` are the numbers of rows of each holder, ``groups`` is their total number of averaged rows, and ``digests`` holds
    their fingerprints, one after the other. ``epsilon``, ``delta`` and ``sensitivity`` are the largest of any holder. A sum of
    Laplace noise is treated as normal.
    """

    members: Vector
    residuals: int | None
    digests: bytes

    @property
    def holders(self) -> int:
        """The number of holders that were added up."""
        return len(self.members)

    @property
    def counts(self) -> Vector:
        """The number of rows of each holder in the order of reading: exact if it is public, else noisy."""
        return self.members

    @property
    def groups(self) -> int | None:
        """The total number of averaged rows of all holders; None if their numbers of rows are not public."""
        return self.residuals

    def fingerprints(self) -> tuple[bytes, ...]:
        """The fingerprint of each holder's contribution, in the order of reading."""
        size = len(self.digests) // self.holders
        return tuple(self.digests[place:place + size] for place in range(0, len(self.digests), size))

    def _check_delta(self) -> None:
        """Members with Laplace noise need no delta."""

    def check_promise(self) -> None:
        """Each member was checked when it was read. Their largest epsilon and delta need not belong together."""

    def check(self, kind: Gram, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Each member was checked against its request."""


class Pool:
    """Adds up contributions as they are read. Holds one matrix per level of noise per row, whatever the number of holders."""

    def __init__(self) -> None:
        self._sums: dict[Key, _Sum] = {}

    def add(self, one: Contribution) -> None:
        """Add a contribution to the sum of those like it."""
        if not one.can_be_pooled or one.holders > 1:
            raise ReleaseError("only releases of kind gram can be pooled", found=type(one).__name__, remedy=leave_out("pooled"))
        matrix = cast(GramContribution, one)
        self._sums.setdefault(_alike(matrix), _Sum(matrix)).add(matrix)

    def contributions(self) -> tuple[GramContribution, ...]:
        """The sums, in the order of their first members; a contribution unlike all others is returned unchanged."""
        return tuple(found.one() for found in self._sums.values())


class _Sum:
    """The sum of similar matrices; ``notes`` holds what else is kept of each member."""

    def __init__(self, first: GramContribution) -> None:
        self.first = first
        self.matrix: Matrix | None = None
        self.notes: list[tuple[Any, ...]] = []

    def add(self, one: GramContribution) -> None:
        if self.matrix is not None:
            self.matrix += one.matrix
        elif self.notes:
            self.matrix = self.first.matrix + one.matrix
        noise = one.noise
        variances = np.array([noise.diagonal**2, noise.off_diagonal**2, noise.corner**2, noise.degrees or 0])
        self.notes.append((float(one.matrix[0, 0]), one.fingerprint(), one.groups or 0, variances, one.epsilon, one.delta,
                           one.sensitivity, one.created, one.mechanism, one.library, one.statement))

    def one(self) -> GramContribution:
        if self.matrix is None:
            return self.first
        counts, digests, groups, variances, epsilons, deltas, sensitivities, days, *texts = zip(*self.notes, strict=True)
        mechanisms, libraries, statements = (list(dict.fromkeys(text)) for text in texts)
        of_each = statements[0] if len(statements) == 1 else "epsilon and delta are the largest of any."
        public = self.first.rows is not None
        return PooledContribution(
            rows=int(self.matrix[0, 0]) if public else None, matrix=self.matrix, noise=self._noise(*sum(variances)),
            epsilon=max(epsilons), delta=max(deltas), mechanism=" and ".join(mechanisms), sensitivity=max(sensitivities),
            statement=f"The sum of the releases of {len(counts)} holders. Of each: {of_each}", created=max(days),
            library=" and ".join(libraries), average=self.first.average, members=np.array(counts),
            residuals=sum(groups) if public else None, digests=b"".join(digests))

    def _noise(self, *variances: float) -> EntryNoise:
        first, (diagonal, off_diagonal, corner), degrees = self.first.noise, map(math.sqrt, variances[:3]), int(variances[3])
        if first.distribution == "wishart":
            return dataclasses.replace(first, diagonal=diagonal, off_diagonal=off_diagonal, corner=corner, degrees=degrees)
        return EntryNoise("gaussian", diagonal, off_diagonal, corner)


def _alike(one: GramContribution) -> Key:
    """A key, equal for contributions that may be added up: same law and shape of noise, same averaging, similar noise per row."""
    noise = one.noise
    variance = noise.off_diagonal**2
    return (noise.distribution, noise.scale, f"{noise.off_diagonal / noise.diagonal:.9g}", f"{noise.corner / noise.diagonal:.9g}",
            one.average, _steps(variance / max(float(one.matrix[0, 0]), 1.0)), _steps(variance) if noise.corner else 0)


def _steps(value: float) -> int:
    return math.floor(math.log(value) / math.log(STEP))
