"""The contents of an `AdaSSP` release: sums for one regression, and the smallest eigenvalue of the predictors' matrix.

All of it is noisy: the Gram matrix of the predictors, their products with the response, and the smallest eigenvalue of that
matrix, from which an analyst chooses the ridge of a point estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Self, Unpack

from noisewise.arrays import Vector
from noisewise.kinds import AdaSSP
from noisewise.releases.checks import LARGEST_ENTRY, number_of, numbers_of, ordinary, plain_bytes, positive, require, settle
from noisewise.releases.contents.gram import MATRIX_FIELDS, MatrixContribution, matrix_and_noise
from noisewise.releases.contribution import StoredHead
from noisewise.releases.fields import RecordFields, items, known_part, shape, shape_of
from noisewise.releases.promises import check_gaussian
from noisewise.schema.basis import BasisColumn
from noisewise.schema.schema import Schema


@dataclass(frozen=True)
class SmallestEigenvalue:
    """The noisy smallest eigenvalue of the predictors' Gram matrix, the standard deviation of its noise, and its cost."""

    value: float
    noise: float
    epsilon: float
    delta: float
    sensitivity: float

    def __post_init__(self) -> None:
        where = "smallest_eigenvalue: {}"
        settle(self, number_of, "value", where=where, most=LARGEST_ENTRY)
        settle(self, ordinary, "noise", where="smallest_eigenvalue: the standard deviation of the {}")
        settle(self, positive, "epsilon", "delta", "sensitivity", where=where)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AdasspContribution(MatrixContribution):
    """One holder's noisy sums for one regression.

    ``matrix`` is the Gram matrix of the predictors' rows a = (1, u), and ``moments`` are their products with the scaled response,
    Σ ay, whose noise has the standard deviation ``noise.off_diagonal``. ``epsilon`` and ``delta`` are the total;
    ``smallest_eigenvalue`` states its share of them. ``sensitivity`` is that of (matrix, moments).
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("AdasspFields", **MATRIX_FIELDS, moments=items(float),
                                           smallest_eigenvalue=shape_of(SmallestEigenvalue))
    APART: ClassVar[int] = 1

    moments: Vector
    smallest_eigenvalue: SmallestEigenvalue

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, numbers_of, "moments", where="the {}", size=self.size)
        share = self.smallest_eigenvalue
        require(isinstance(share, SmallestEigenvalue), "an adassp release must state the smallest eigenvalue", share)
        require((self.noise.distribution, self.average) == ("gaussian", 1),
                "an adassp release must have gaussian noise, and rows that are not averaged",
                f"{self.noise.distribution}, average {self.average}")
        require(share.epsilon < self.epsilon and share.delta < self.delta,
                "smallest_eigenvalue: epsilon and delta must be below the totals of the release",
                f"({share.epsilon}, {share.delta}) of ({self.epsilon}, {self.delta})")

    def check_promise(self) -> None:
        """Refuse too little noise on everything together, or on the smallest eigenvalue for its own share of the budget."""
        super().check_promise()
        share = self.smallest_eigenvalue
        check_gaussian(share.sensitivity / share.noise, share.epsilon, share.delta)

    def distance(self) -> float:
        """The distances of the sums and of the smallest eigenvalue together: the root of the sum of their squares."""
        return math.hypot(super().distance(), self.smallest_eigenvalue.sensitivity / self.smallest_eigenvalue.noise)

    def column_sums(self, place: int) -> tuple[float, float, float, float]:
        """The sums of a column. If ``place`` is ``size``, it is the response, whose sum of squares was not released."""
        if place == self.size:  # the response: its products with the predictors were released, its square was not
            return float(self.moments[0]), self.noise.off_diagonal**2, 0.0, math.inf
        return super().column_sums(place)

    def _noisy_bytes(self) -> Iterator[bytes]:
        """Include the noisy sums: for ``y ~ 1`` the matrix alone is just the public number of rows."""
        yield from super()._noisy_bytes()
        yield plain_bytes(self.moments)

    def count(self) -> int:
        """The number of entries in the upper triangle and of products with the response, plus 1 for the smallest eigenvalue."""
        return super().count() + self.size + 1

    def contents(self) -> dict[str, object]:
        """The fields of the matrix, the smallest eigenvalue with its noise and cost, and the products with the response."""
        return {**super().contents(), "smallest_eigenvalue": asdict(self.smallest_eigenvalue), "moments": self.moments.tolist()}

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: AdaSSP, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution. The last of ``columns`` is the response, which is not in the matrix."""
        return cls(**matrix_and_noise(contents, len(columns) - 1), moments=contents.moments,
                   smallest_eigenvalue=SmallestEigenvalue(**known_part(contents.smallest_eigenvalue)), **head)

    def lines(self, kind: AdaSSP, schema: Schema) -> list[tuple[str, str]]:
        """Describe the noise of the sums, then the smallest eigenvalue with its noise and cost."""
        found = self.smallest_eigenvalue
        return [*super().lines(kind, schema),
                ("ridge", f"smallest eigenvalue of the predictors' matrix {found.value:.4g}, with noise of standard "
                          f"deviation {found.noise:.4g}; cost: epsilon {found.epsilon!r}, delta {found.delta!r}")]

    def own_facts(self) -> dict[str, object]:
        """The facts of the sums, and the smallest eigenvalue with its noise and cost."""
        return {**super().own_facts(), "smallest_eigenvalue": asdict(self.smallest_eigenvalue)}


CONTRIBUTION = AdasspContribution
