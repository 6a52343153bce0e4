"""Audit from a single release: many canaries in one table, each present or absent by its own coin.

Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023. In a Gram matrix the canaries are
orthogonal rows (those of a Hadamard matrix): each moves its own direction by as much as any row can, and no other direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.audits.laws import Gaussian
from noisewise.audits.lower_bounds import epsilon_of_one_run
from noisewise.audits.report import Finding, Released
from noisewise.audits.trial import BOUNDS, LESS_NOISE, shift_between

GUESSED: Final = 0.4
"""Guess about this share of the canaries, half from the top and half from the bottom."""
CLEAREST: Final = 2.0
"""How far a canary should move its direction, in standard deviations: a compromise between the two bounds."""


@dataclass(frozen=True)
class OneRun:
    """Canaries for a release of a symmetric matrix with Gaussian noise.

    Attributes:
        rows: the scaled rows (1, ±1, …), orthogonal to one another.
        group: how often each row is in the table if it is present.
        there: the coins.
    """

    rows: Array
    group: int
    there: npt.NDArray[np.int64]

    @classmethod
    def of(cls, size: int, promised: float) -> OneRun:
        """For a matrix of ``size`` columns, a power of two; ``promised`` is the distance of one row in units of the noise."""
        group = max(1, round(CLEAREST / promised))
        return cls(hadamard(size), group, np.random.default_rng().integers(0, 2, size))  # coins, not noise

    def table(self) -> Array:
        """All rows of the table."""
        return np.repeat(self.rows[self.there == 1], self.group, axis=0)

    def judge(self, noisy: Array, sd: float, released: Released, promised: float, level: float) -> Finding:
        """Judge the noisy matrix; ``sd`` is the standard deviation that the noise of a diagonal entry should have."""
        size = len(self.rows)
        scores = np.einsum("ci,ij,cj->c", self.rows, noisy, self.rows, optimize=True) / (sd * size)
        shift = self.group * size / sd

        def bounds(share: float) -> tuple[float, float]:
            seen = self.there * shift + share * (scores - self.there * shift)
            measured = shift_between(self.there, seen, shift / 2, Gaussian(), level / BOUNDS)
            most = round(GUESSED * size / 2)
            order = np.argsort(seen)
            correct = int(np.sum(self.there[order[-most:]] == 1) + np.sum(self.there[order[:most]] == 0))
            epsilon = epsilon_of_one_run(correct, 2 * most, size, delta=released.delta, level=level / BOUNDS, group=self.group)
            return epsilon, measured / self.group

        (epsilon, distance), less = bounds(1.0), bounds(LESS_NOISE)
        return Finding(
            released=released, draws=1, group=self.group, epsilon_any=epsilon,
            epsilon_law=Gaussian().epsilon(distance, released.delta),
            noise_at_most=promised / distance if distance > 0 else math.inf,
            flagged=epsilon > released.epsilon or distance > promised,
            notices_less=less[0] > released.epsilon or less[1] > promised,
        )


def hadamard(size: int) -> Array:
    """Sylvester's matrix of ones and minus ones: its rows are orthogonal and start with one.

    >>> hadamard(2).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    rows = np.ones((1, 1))
    while len(rows) < size:
        rows = np.block([[rows, rows], [rows, -rows]])
    return rows
