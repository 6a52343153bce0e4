"""Draw the noise given that the matrix it was added to is positive definite and that the noise is not too unlikely.

Rejection sampling is hopeless where the noise is large: with nine predictors at ε = 0.1 practically no draw leaves a positive
definite matrix. Here one entry of the noise is drawn at a time, given all others (Gibbs). Along one entry, the positive definite
matrices form an interval: with P = G⁻¹, G − t (b_i b_jᵀ + b_j b_iᵀ) has the determinant |G| ((1 − t P_ij)² − t² P_ii P_jj),
which must stay positive. For Gaussian and Laplace noise, the values that are likely enough form an interval too. The entry is
drawn from its own distribution, truncated to both intervals, and P is updated. For Wishart noise, a single entry has no such
distribution; a Gaussian proposal is accepted or rejected (Metropolis-Hastings).

Many chains run side by side, along the last axis of all arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.literature.noise_laws import GAUSSIAN, LAPLACE, WISHART, Component, NoiseLaw
from noisewise.synthetic.moment_posterior import cut_normal

COLD: Final = 0.3
"""Factor by which the noise is first drawn too small, to find matrices for which it is not too unlikely."""
COLD_SWEEPS: Final = 20
MOST_COLD_SWEEPS: Final = 150
COOLING: Final = 0.97
INSIDE: Final = 1.0 - 1e-9
"""Draws stay inside the cone by this factor."""


def loss(component: Component, noise: Array, scatter: Array | None = None) -> Array:
    """Return minus the log density of noise (columns, columns, chains), up to a constant."""
    variances = component.variances
    if component.distribution == WISHART:
        assert scatter is not None
        half = (component.degrees - len(variances) - 1) / 2.0
        share = np.moveaxis(scatter, -1, 0) / (component.degrees * component.scale)  # of the mean: then the loss is not huge
        excess = np.trace(share, axis1=1, axis2=2) - len(variances)
        return np.asarray(0.5 * component.degrees * excess - half * np.linalg.slogdet(share)[1])
    i, j = np.nonzero(np.triu(variances > 0.0))
    standard = np.abs(noise[i, j]) / np.sqrt(variances[i, j])[:, None]
    return np.asarray(np.sum(0.5 * standard**2 if component.distribution == GAUSSIAN else math.sqrt(2.0) * standard, axis=0))


@dataclass
class _Noise:
    """One component's noise in all chains; for Wishart noise also N = noise + E N and its inverse, with the public corner."""

    component: Component
    values: Array
    scatter: Array | None = None
    """N, the sum of values and mean."""
    inverse: Array | None = None

    def refresh(self) -> None:
        if self.scatter is not None:
            self.inverse = _inverses(self.scatter)

    def loss(self) -> Array:
        return loss(self.component, self.values, self.scatter)


class ConeSampler:
    """Chains of noise with ``columnsᵀ (released − noise) columns`` positive definite and a loss of at most ``bound``."""

    def __init__(self, released: Array, columns: Array, noise: NoiseLaw, bound: float, chains: int, seed: int) -> None:
        self.released, self.columns, self.bound = released, columns, bound
        self.chains, self.rng = chains, np.random.default_rng(seed)
        self.parts = [self._at(component, 0.0) for component in noise.components]
        self._start()
        self.proposed = self.accepted = 0
        self._enter()

    def _enter(self) -> None:
        """Enter the region by drawing smaller and smaller noise; chains that do not find it copy one that does."""
        heat = COLD
        for sweep in range(MOST_COLD_SWEEPS):
            self.sweep(heat)
            if sweep >= COLD_SWEEPS:
                if np.all(self.losses() <= self.bound):
                    return
                heat *= COOLING
        inside = np.flatnonzero(self.losses() <= self.bound)
        if not len(inside):
            raise FitError("found no positive definite matrix in the confidence region",
                           found=f"loss {self.losses().min():.4g}, at most {self.bound:.4g}",
                           remedy="use a smaller alpha, for a larger region")
        follow = np.where(self.losses() <= self.bound, np.arange(self.chains), inside[np.arange(self.chains) % len(inside)])
        for part in self.parts:
            part.values = part.values[..., follow]
            part.scatter = None if part.scatter is None else part.scatter[..., follow]

    def losses(self) -> Array:
        """Return each chain's loss."""
        return np.asarray(sum(part.loss() for part in self.parts))

    def matrices(self) -> Array:
        """Return each chain's moments of the table in the formula's columns: (chains, columns, columns)."""
        total = self.released[..., None] - sum(part.values for part in self.parts)
        return np.asarray(self.columns.T @ np.moveaxis(total, -1, 0) @ self.columns)

    def sweep(self, heat: float = 1.0) -> None:
        """Draw every entry of every component once. ``heat`` < 1 draws noise that is too small, with no bound on its loss."""
        self.inverse = _inverses(np.moveaxis(self.matrices(), 0, -1))
        self.total = self.losses()
        for part in self.parts:
            part.refresh()
            variances = part.component.variances
            for i, j in np.argwhere(np.triu((variances > 0.0) | (part.scatter is not None))).tolist():
                self._entry(part, i, j, bool(variances[i, j] > 0.0), heat)

    def _at(self, component: Component, ridge: float) -> _Noise:
        size = len(component.spread)
        values = np.where(component.variances > 0.0, -ridge * np.eye(size), 0.0)[..., None] + np.zeros(self.chains)
        if component.distribution != WISHART:
            return _Noise(component, values)
        scatter = (component.degrees * component.scale - ridge) * np.eye(size)
        return _Noise(component, values, scatter[..., None] + np.zeros(self.chains))

    def _start(self) -> None:
        """Start from a ridge on the diagonal in place of noise: large enough, and for Wishart noise below its mean."""
        first = self.parts[0].component
        most = np.inf if first.distribution != WISHART else first.degrees * first.scale
        ridge = 1e-3 * float(np.sqrt(first.variances.max()))
        while np.any(np.linalg.eigvalsh(self.matrices()[0]) <= 1e-9 * np.abs(self.released).max()):
            ridge *= 1.3
            if ridge >= most or ridge > 1e6 * np.abs(self.released).max():
                raise FitError("found no positive definite matrix that this noise could have been added to",
                               remedy="the release has too much noise for this formula; use fewer terms")
            self.parts[0] = self._at(first, ridge)

    def _entry(self, part: _Noise, i: int, j: int, seen: bool, heat: float) -> None:
        """Draw one entry. ``seen`` is false only for the corner of Wishart noise where the count is public."""
        component = part.component
        line = _Line(self.inverse, self.columns[i], self.columns[j], i == j) if seen else None
        low, high = (np.full(self.chains, -np.inf), np.full(self.chains, np.inf)) if line is None else line.interval(-1.0)
        if part.scatter is None or part.inverse is None:
            before, sd = part.values[i, j].copy(), math.sqrt(component.variances[i, j])
            after = self._drawn(component, before, before + low, before + high, sd, heat)
            self.total += _entry_loss(component, after, sd) - _entry_loss(component, before, sd)
            step = after - before
        else:
            own = _Line(part.inverse, i, j, i == j)
            own_low, own_high = own.interval(1.0)
            before = part.scatter[i, j] - (component.degrees * component.scale if i == j else 0.0)
            sd = component.scale * math.sqrt(component.degrees * (2.0 if i == j else 1.0))
            low, high = np.maximum(low, own_low), np.minimum(high, own_high)
            after = self._drawn(component, before, before + low, before + high, sd, heat)
            step = (after - before) * self._accepted(component, own, before, after, sd, i == j, heat)
            _add(part.scatter, i, j, step)
            own.update(step)
        if line is not None:
            _add(part.values, i, j, step)
            line.update(-step)

    def _drawn(self, component: Component, before: Array, low: Array, high: Array, sd: float, heat: float) -> Array:
        uniform = self.rng.uniform(size=self.chains)
        if heat == 1.0 and component.distribution != WISHART:
            room = np.maximum(self.bound - self.total, 0.0) + _entry_loss(component, before, sd)
            end = sd * np.sqrt(2.0 * room) if component.distribution == GAUSSIAN else sd * math.sqrt(0.5) * room
            low, high = np.maximum(low, -end), np.minimum(high, end)
        width = heat * sd
        if component.distribution == LAPLACE:
            return width * math.sqrt(0.5) * cut_laplace(low / width * math.sqrt(2.0), high / width * math.sqrt(2.0), uniform)
        return width * cut_normal(low / width, high / width, uniform)

    def _accepted(self, component: Component, own: _Line, before: Array, after: Array, sd: float, diagonal: bool,
                  heat: float) -> npt.NDArray[np.bool_]:
        if heat != 1.0:
            return np.ones(self.chains, dtype=bool)
        half = (component.degrees - len(component.spread) - 1) / 2.0
        change = -half * np.log(np.maximum(own.determinant(after - before), 1e-300))
        if diagonal:
            change = change + (after - before) / (2.0 * component.scale)
        chance = -change + (after**2 - before**2) / (2.0 * sd**2)
        accepted = (np.log(self.rng.uniform(size=self.chains)) < chance) & (self.total + change <= self.bound)
        self.total += np.where(accepted, change, 0.0)
        self.proposed, self.accepted = self.proposed + self.chains, self.accepted + int(accepted.sum())
        return np.asarray(accepted)


class _Line:
    """Matrices M + t (b_i b_jᵀ + b_j b_iᵀ), or M + t b_i b_iᵀ, with the inverses P of M; ``b`` may be a unit vector's place."""

    def __init__(self, inverse: Array, first: Array | int, second: Array | int, diagonal: bool) -> None:
        self.inverse, self.diagonal = inverse, diagonal
        self.x, self.a = _along(inverse, first, first)
        if not diagonal:
            self.y, self.c = _along(inverse, second, second)
            self.g = self.x[second] if isinstance(second, int) else np.asarray(second @ self.x)

    def interval(self, sign: float) -> tuple[Array, Array]:
        """Return the interval of steps that keep M + sign · step · (…) positive definite."""
        if self.diagonal:
            low, high = -INSIDE / self.a, np.full_like(self.a, np.inf)
        else:
            middle = np.sqrt(np.maximum(self.a * self.c, 0.0))  # rounded below 0 close to the boundary
            low, high = -INSIDE / np.maximum(middle + self.g, 1e-300), INSIDE / np.maximum(middle - self.g, 1e-300)
        return (low, high) if sign > 0 else (-high, -low)

    def determinant(self, step: Array) -> Array:
        """Return the factor by which the determinant grows."""
        if self.diagonal:
            return np.asarray(1.0 + step * self.a)
        return np.asarray((1.0 + step * self.g) ** 2 - step**2 * self.a * self.c)

    def update(self, step: Array) -> None:
        """Update the inverse in place after the step (Woodbury)."""
        ratio = step / self.determinant(step)
        if self.diagonal:
            self.inverse -= self.x[:, None] * (ratio * self.x)
            return
        cross = -ratio * (1.0 + step * self.g)
        to_x = ratio * step * self.c * self.x + cross * self.y
        to_y = ratio * step * self.a * self.y + cross * self.x
        self.inverse += self.x[:, None] * to_x
        self.inverse += self.y[:, None] * to_y


def _along(inverse: Array, first: Array | int, second: Array | int) -> tuple[Array, Array]:
    if isinstance(first, int):
        return inverse[first].copy(), inverse[first, second].copy()
    x = np.tensordot(first, inverse, axes=(0, 0))
    return x, np.asarray(second @ x)


def _add(matrices: Array, i: int, j: int, step: Array) -> None:
    matrices[i, j] += step
    if i != j:
        matrices[j, i] += step


def _entry_loss(component: Component, value: Array, sd: float) -> Array:
    return np.asarray(0.5 * (value / sd) ** 2 if component.distribution == GAUSSIAN else math.sqrt(2.0) * np.abs(value) / sd)


def _inverses(matrices: Array) -> Array:
    inverse = np.linalg.inv(np.moveaxis(matrices, -1, 0))
    return np.ascontiguousarray(np.moveaxis((inverse + np.swapaxes(inverse, 1, 2)) / 2, 0, -1))


def cut_laplace(low: Array, high: Array, uniform: Array) -> Array:
    """Draw from the density ½ exp(−|x|) truncated to [``low``, ``high``]."""
    flipped = low > 0.0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    below = np.minimum(high, 0.0)
    left = 0.5 * (np.exp(below) - np.exp(low))  # the weight of each side
    right = 0.5 * (1.0 - np.exp(-np.maximum(high, 0.0)))
    share = left / np.maximum(left + right, 1e-300)
    far = (right == 0.0) | (uniform < share)
    within = np.where(right == 0.0, uniform, np.where(far, uniform / np.maximum(share, 1e-300),
                                                      (uniform - share) / np.maximum(1.0 - share, 1e-300)))
    negative = below + np.log(within + (1.0 - within) * np.exp(low - below))
    positive = -np.log1p(-within * 2.0 * right)
    drawn = np.clip(np.where(far, negative, positive), low, high)
    return np.asarray(np.where(flipped, -drawn, drawn))
