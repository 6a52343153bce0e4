"""The noise of a partition release as the analyst sees it: its density and draws, in units of a mean over the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.release.partition import Number, PartitionRelease

Array = npt.NDArray[np.float64]

NODES: Final = 120
SHARP: Final = 0.02
"""An error of less than this share of the noise's scale makes no difference."""


@dataclass(frozen=True)
class MeanNoise:
    """Noise on the mean over the parts of one number: ``k-norm`` of ``numbers`` numbers together, or ``gaussian``."""

    mechanism: str
    scale: float
    numbers: int

    @classmethod
    def of(cls, release: PartitionRelease, number: Number) -> MeanNoise:
        return cls(release.mechanism, number.width * release.noise / release.parts, len(release.numbers))

    @property
    def sd(self) -> float:
        if self.mechanism == "gaussian":
            return self.scale
        return self.scale * float(np.sqrt((self.numbers + 1) * (self.numbers + 2) / 3.0))

    def density(self, distance: Array, blur: Array | float = 0.0) -> Array:
        """Of noise plus an independent normal error of standard deviation ``blur``, at a distance from the truth."""
        from scipy.special import gammaincc, ndtr
        from scipy.stats import gamma, norm

        distance, blur = np.broadcast_arrays(np.asarray(distance, dtype=np.float64), np.asarray(blur, dtype=np.float64))
        if self.mechanism == "gaussian":
            return np.asarray(norm.pdf(distance, scale=np.hypot(self.scale, blur)))
        sharp = gammaincc(self.numbers, np.abs(distance) / self.scale) / (2.0 * self.numbers * self.scale)
        if not np.any(blur > SHARP * self.scale):
            return np.asarray(sharp)
        # a uniform point of an interval of random size, blurred: an average over sizes
        sizes = gamma.ppf((np.arange(NODES) + 0.5) / NODES, self.numbers + 1, scale=self.scale)
        wide = np.maximum(blur, 1e-300)[..., None]
        away = np.abs(distance)[..., None]  # both terms are lower tails then, and keep their digits
        inside = ndtr((sizes - away) / wide) - ndtr((-sizes - away) / wide)
        return np.where(blur > SHARP * self.scale, np.mean(inside / (2.0 * sizes), axis=-1), sharp)

    def draws(self, size: int, random: np.random.Generator) -> Array:
        if self.mechanism == "gaussian":
            return random.normal(0.0, self.scale, size)
        return random.gamma(self.numbers + 1, self.scale, size) * random.uniform(-1.0, 1.0, size)
