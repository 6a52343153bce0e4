"""The questions of a `Partition` release, the noisy numbers that answer them, and their noise as the analyst sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import ReleaseError
from noisewise.kinds import Partition
from noisewise.releases.release import Release
from noisewise.schema.partition import part_design
from noisewise.schema.questions import Question
from noisewise.schema.schema import Schema
from noisewise.words import function

if TYPE_CHECKING:
    from noisewise.releases.contents.partition import Number, PartitionContribution

NODES: Final = 120
SHARP: Final = 0.02
"""Errors below this share of the noise's scale are ignored."""


def without_questions(release: object) -> ReleaseError:
    """The error for a release without questions."""
    found = release.kind.name if isinstance(release, Release) else type(release).__name__
    return ReleaseError("only releases of kind partition answer questions", found=found,
                        remedy="fit a regression instead: " + function("fit"))


@dataclass(frozen=True)
class Asked:
    """The kind, schema and contents of a release."""

    kind: Partition
    schema: Schema
    contents: PartitionContribution

    @classmethod
    def of_release(cls, release: object) -> Asked:
        """Unpack a release; refuse one without questions."""
        if not isinstance(release, Release) or release.kind.name != Partition.name:
            raise without_questions(release)
        return cls(cast(Partition, release.kind), release.schema, release.contents)

    @property
    def parts(self) -> int:
        """The number of random parts."""
        return self.kind.parts

    @property
    def part_rows(self) -> float | None:
        """The average number of rows in a part; None if it is not public."""
        return None if self.contents.rows is None else self.contents.rows / self.parts

    @property
    def coefficients(self) -> int:
        """The number of coefficients of the regression."""
        return len(part_design(self.schema, self.kind.formula, ()).terms)

    def of(self, question: Question) -> tuple[Number, ...]:
        """The released numbers of one question."""
        return self.contents.of(self.kind, question)


@dataclass(frozen=True)
class MeanNoise:
    """Noise on the mean of one number over the parts: ``k-norm`` of ``numbers`` numbers together, or ``gaussian``."""

    mechanism: str
    scale: float
    numbers: int

    @classmethod
    def of(cls, asked: Asked, number: Number) -> MeanNoise:
        """The noise on the parts' mean of this number, in the number's own units."""
        return cls(asked.contents.mechanism, number.width * asked.contents.noise / asked.parts, len(asked.contents.numbers))

    @property
    def sd(self) -> float:
        """The standard deviation of the noise."""
        if self.mechanism == "gaussian":
            return self.scale
        return self.scale * float(np.sqrt((self.numbers + 1) * (self.numbers + 2) / 3.0))

    def density(self, distance: Array, blur: Array | float = 0.0) -> Array:
        """The density of noise plus an independent normal error of standard deviation ``blur``, at a distance from the truth."""
        from scipy.special import gammaincc, ndtr
        from scipy.stats import gamma, norm

        distance, blur = np.broadcast_arrays(np.asarray(distance, dtype=np.float64), np.asarray(blur, dtype=np.float64))
        if self.mechanism == "gaussian":
            return np.asarray(norm.pdf(distance, scale=np.hypot(self.scale, blur)))
        sharp = gammaincc(self.numbers, np.abs(distance) / self.scale) / (2.0 * self.numbers * self.scale)
        if not np.any(blur > SHARP * self.scale):
            return np.asarray(sharp)
        # a blurred uniform point of an interval of random size: average over sizes
        sizes = gamma.ppf((np.arange(NODES) + 0.5) / NODES, self.numbers + 1, scale=self.scale)
        wide = np.maximum(blur, 1e-300)[..., None]
        away = np.abs(distance)[..., None]  # so both terms are lower tails, which keep their digits
        inside = ndtr((sizes - away) / wide) - ndtr((-sizes - away) / wide)
        return np.where(blur > SHARP * self.scale, np.mean(inside / (2.0 * sizes), axis=-1), sharp)

    def draws(self, size: int, random: np.random.Generator) -> Array:
        """Independent draws of the noise on one number; several numbers of one release have dependent noise."""
        if self.mechanism == "gaussian":
            return random.normal(0.0, self.scale, size)
        return random.gamma(self.numbers + 1, self.scale, size) * random.uniform(-1.0, 1.0, size)
