"""Draws of a table's own moments W given a noisy release of them: Gibbs, one entry at a time, many chains side by side.

The release is Ŵ = W + E. W is positive definite and obeys its ``structure``. Along one entry, or several tied ones, the possible
W form an interval: with P = W⁻¹ and the direction U K Uᵀ of rank two, |W + t U K Uᵀ| = |W| (1 + t tr(KG) + t² |K| |G|) where
G = Uᵀ P U, and the bounds are linear. The noise is normal, so the entry is drawn from a truncated normal distribution.

Laplace noise of scale b is normal with its own variance v, which is drawn too: v is exponential with mean 2b², and given the
noise e, 1/v is inverse Gaussian with mean 1/(b|e|) and shape 1/b². For several holders the noise of the sum is first divided
among them. For Wishart noise only the variances are used.

Prior: flat, times C_ii^(−k/2) for the variance C_ii of each number, with k columns besides the constant. A flat density of a
covariance matrix alone would favour large variances, the more so the more columns there are. With this factor, standard
deviations are uniform and all correlation matrices are equally likely. A Metropolis step applies the factor to the entries that
change C_ii. If the noise is large, scale and correlations depend on each other so strongly that single entries move slowly. So
the scale of each number is also changed as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.synthetic.structure import Direction, Structure

if TYPE_CHECKING:
    from noisewise.releases.contents.gram import GramContribution

WARM_SWEEPS: Final = 400
STEPS: Final = (0.03, 0.2, 1.0)
"""Step sizes for the logarithm of a number's scale: small, medium or large, at random."""
INSIDE: Final = 1.0 - 1e-9
REGULAR: Final = 1e-10
"""What the other columns leave of a second moment stays above this share of it: W must not be singular to rounding."""
LEAST: Final = 1e-12


@dataclass(frozen=True)
class NoisyMoments:
    """Ŵ summed over holders, in the columns of a structure, and the variances and kind of each holder's noise."""

    matrix: Array
    variances: Array
    """(holders, columns, columns)."""
    laplace: npt.NDArray[np.bool_]
    """(holders,)"""
    public_rows: bool

    @classmethod
    def of(cls, parts: Sequence[GramContribution], structure: Structure) -> NoisyMoments:
        """Add up the holders' matrices in the columns of a structure."""
        block = np.ix_(structure.released, structure.released)
        matrices = [part.matrix[block] for part in parts]
        variances = [part.noise.variances(part.matrix.shape[0])[block] for part in parts]
        return cls(np.sum(matrices, axis=0), np.array(variances),
                   np.array([part.noise.distribution == "laplace" for part in parts]), parts[0].rows is not None)


def draw_moments(noisy: NoisyMoments, structure: Structure, chains: int, seed: int, sweeps: int = WARM_SWEEPS) -> Array:
    """Run the chains and return the last state of each: (chains, columns, columns)."""
    sampler = MomentSampler(noisy, structure, chains, seed)
    for _ in range(sweeps):
        sampler.sweep()
    return np.moveaxis(sampler.state, -1, 0).copy()


class MomentSampler:
    """Chains of W. The chains are the last axis of all arrays."""

    def __init__(self, noisy: NoisyMoments, structure: Structure, chains: int, seed: int) -> None:
        self.noisy, self.structure, self.chains = noisy, structure, chains
        self.rng = np.random.default_rng(seed)
        self.directions = structure.directions(corner=not noisy.public_rows)
        bounds = structure.bounds()
        moves = np.array([direction.matrix(structure.size) for direction in self.directions])
        slopes = np.einsum("kij,fij->fk", bounds, moves)
        self.slopes = [(np.flatnonzero(row), row[row != 0.0]) for row in slopes]
        self.state = np.repeat(self._start(bounds)[..., None], chains, axis=2)
        self.room = np.einsum("kij,ijc->kc", bounds, self.state)
        self.variances = np.repeat(noisy.variances[..., None], chains, axis=3)
        self.numbers = np.array(structure.numbers, dtype=int)
        self.row_bounds = {place: bounds[:, place] + bounds[:, :, place] for place in structure.numbers}
        """(bounds, columns): how much each bound changes with the entries of a row, and of the same column, of W."""
        for place, change in self.row_bounds.items():
            change[:, place] = bounds[:, place, place]
        self.power = -0.5 * (structure.size - 1)

    def _start(self, bounds: Array) -> Array:
        """Start from possible moments, as near to the released ones as possible."""
        inside = self.structure.independent(self.noisy.matrix)
        aim = self.structure.obey(self.noisy.matrix)

        def possible(share: float) -> bool:
            mixed = (1.0 - share) * inside + share * aim
            scale = np.sqrt(np.maximum(np.diag(mixed), 1e-300))
            least = np.linalg.eigvalsh(mixed / np.outer(scale, scale))[0]
            return bool(least > 1e-9 and np.all(np.einsum("kij,ij->k", bounds, mixed) > 1e-9 * inside[0, 0]))

        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2.0
            low, high = (middle, high) if possible(middle) else (low, middle)
        share = 0.9 * low
        return np.asarray((1.0 - share) * inside + share * aim)

    def sweep(self) -> None:
        """Update the scale of every number, then every direction once, then the variances of Laplace noise."""
        for place in self.numbers.tolist():
            self._rescale(place)
        self._refresh()
        for number, direction in enumerate(self.directions):
            self._move(number, direction)
        if self.noisy.laplace.any():
            self._divide_noise()

    def _rescale(self, place: int) -> None:
        """Scale a number's deviations from its mean by c, which changes a whole row of W at once.

        The row's volume grows by c^(k+1) and the prior's factor by c^(−k), so the step is accepted by the likelihood times c.
        """
        factor = np.exp(self.rng.choice(STEPS, size=self.chains) * self.rng.normal(size=self.chains))
        mean = self.state[0, place] / self.state[0, 0]
        row = self.state[place].copy()
        central = row - mean * self.state[0]
        moved = row + (factor - 1.0) * central
        moved[place] = row[place] + (factor**2 - 1.0) * central[place]
        change = moved - row
        variance = self.variances[:, place].sum(axis=0)
        gap = self.noisy.matrix[place][:, None] - row
        used = np.arange(self.structure.size) != 0
        ratio = np.log(factor) - 0.5 * np.sum(((gap - change) ** 2 - gap**2)[used] / variance[used], axis=0)
        room = self.room + self.row_bounds[place] @ change
        accepted = (np.log(self.rng.uniform(size=self.chains)) < ratio) & np.all(room > 0.0, axis=0)
        self.state[place] = self.state[:, place] = np.where(accepted, moved, row)
        self.room = np.where(accepted, room, self.room)

    def _refresh(self) -> None:
        inverse = np.linalg.inv(np.moveaxis(self.state, -1, 0))
        self.inverse = np.ascontiguousarray(np.moveaxis((inverse + np.swapaxes(inverse, 1, 2)) / 2.0, 0, -1))

    def _move(self, number: int, direction: Direction) -> None:
        low, high = self._interval(direction)
        places, slope = self.slopes[number]
        if len(places):
            ends = -self.room[places] / slope[:, None]
            up = slope > 0.0
            low = np.maximum(low, ends[up].max(axis=0, initial=-np.inf))
            high = np.minimum(high, ends[~up].min(axis=0, initial=np.inf))
        most = np.max([self.inverse[k, k] * self.state[k, k] for k in direction.pair], axis=0)
        inside = np.clip(1.0 - REGULAR * most, 0.0, INSIDE)
        low, high = np.minimum(low * inside, 0.0), np.maximum(high * inside, 0.0)
        precision, pull = np.zeros(self.chains), np.zeros(self.chains)
        for i, j in direction.entries:
            variance = self.variances[:, i, j].sum(axis=0)
            precision += 1.0 / variance
            pull += (self.noisy.matrix[i, j] - self.state[i, j]) / variance
        sd, mean = 1.0 / np.sqrt(precision), pull / precision
        step = mean + sd * cut_normal((low - mean) / sd, (high - mean) / sd, self.rng.uniform(size=self.chains))
        step = np.clip(step, low, high)
        step = np.where(self._accepted(direction, step), step, 0.0)
        for i, j in direction.entries:
            self.state[i, j] += step
            if i != j:
                self.state[j, i] += step
        self.room[places] += slope[:, None] * step
        if direction.corner:
            self._refresh()
        else:
            self._update_inverse(direction, step)

    def _interval(self, direction: Direction) -> tuple[Array, Array]:
        """The interval of steps that keep W positive definite."""
        (i, j), p = direction.pair, self.inverse
        everything = np.full(self.chains, np.inf)
        if direction.corner:
            rows = [entry[0] for entry in direction.entries]
            largest = np.linalg.eigvalsh(np.moveaxis(p[np.ix_(rows, rows)], -1, 0))[:, -1]
            return -1.0 / largest, everything
        if i == j:
            return -1.0 / p[i, i], everything
        trace = 2.0 * p[i, j] + (p[j, j] if len(direction.entries) > 1 else 0.0)
        determinant = np.maximum(p[i, i] * p[j, j] - p[i, j] ** 2, 1e-300)
        root = np.sqrt(trace**2 + 4.0 * determinant)
        return -2.0 / np.maximum(root + trace, 1e-300), 2.0 / np.maximum(root - trace, 1e-300)

    def _accepted(self, direction: Direction, step: Array) -> npt.NDArray[np.bool_]:
        """Accept by the prior's factor, for steps that change variances."""
        i, j = direction.pair
        moved = self.numbers if direction.corner else np.array([j]) if i in (0, j) and j in self.numbers else self.numbers[:0]
        if not len(moved):
            return np.ones(self.chains, dtype=bool)
        change = np.zeros((3, self.chains))
        before = self._spread(moved, change)
        change[0 if direction.corner else 1 if i == 0 else 2] = step
        after = self._spread(moved, change)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.power * np.sum(np.log(np.maximum(after, 1e-300)) - np.log(before), axis=0)
        return np.asarray(np.log(self.rng.uniform(size=self.chains)) < ratio)

    def _spread(self, moved: npt.NDArray[np.int_], change: Array) -> Array:
        """Sums of squares about the mean, after changes to the number of rows, the sum and the sum of squares."""
        rows, sums = self.state[0, 0] + change[0], self.state[0, moved] + change[1]
        return np.asarray(self.state[moved, moved] + change[2] - sums**2 / rows)

    def _update_inverse(self, direction: Direction, step: Array) -> None:
        """Update P after the step (Woodbury)."""
        (i, j), p = direction.pair, self.inverse
        x = p[i].copy()
        if i == j:
            p -= x[:, None] * (step / (1.0 + step * x[i]) * x)
            return
        y = p[j].copy()
        a, g, c, tied = x[i], x[j], y[j], float(len(direction.entries) > 1)
        # t K (I + t G K)⁻¹ for K = [[0, 1], [1, tied]], G = [[a, g], [g, c]]
        m00, m01 = 1.0 + step * g, step * (a + tied * g)
        m10, m11 = step * c, 1.0 + step * (g + tied * c)
        ratio = step / (m00 * m11 - m01 * m10)
        to_x = ratio * (-m10 * x + m00 * y)
        to_y = ratio * ((m11 - tied * m10) * x + (tied * m00 - m01) * y)
        p -= x[:, None] * to_x
        p -= y[:, None] * to_y

    def _divide_noise(self) -> None:
        """Draw each holder's share of the noise given the sum, then the variances of those with Laplace noise."""
        noise = self.noisy.matrix[..., None] - self.state
        rows, columns = np.triu_indices(self.structure.size)
        variance, total = self.variances[:, rows, columns], noise[rows, columns]
        drawn = np.sqrt(variance) * self.rng.normal(size=variance.shape)
        summed = np.maximum(variance.sum(axis=0), 1e-300)
        shares = drawn + variance / summed * (total - drawn.sum(axis=0))
        scale = np.sqrt(self.noisy.variances[:, rows, columns] / 2.0)[..., None]
        known = scale == 0.0
        scale = np.where(known, 1.0, scale)
        size = np.maximum(np.abs(shares), LEAST * scale)
        fresh = 1.0 / np.maximum(self.rng.wald(1.0 / (scale * size), 1.0 / scale**2), 1e-300)
        fresh = np.where(known | ~self.noisy.laplace[:, None, None], variance, fresh)
        self.variances[:, rows, columns] = self.variances[:, columns, rows] = fresh


def cut_normal(low: Array, high: Array, uniform: Array) -> Array:
    """Standard normal draws between ``low`` and ``high``, also far out: uses the tail in which the logarithms are exact."""
    from scipy.special import log_ndtr, ndtri_exp

    flipped = low > 0.0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    bottom, top = log_ndtr(low), log_ndtr(high)
    drawn = ndtri_exp(np.minimum(top + np.log(uniform + (1.0 - uniform) * np.exp(bottom - top)), 0.0))
    drawn = np.clip(drawn, low, high)
    return np.asarray(np.where(flipped, -drawn, drawn))
