"""Independence Metropolis steps: each proposal comes from a normal approximation with a heavier tail mixed in.

The posterior of a regression is close to normal unless its rounds say little. All proposals are evaluated together. Where the
approximation is poor, a better one is fitted to the weighted proposals, a few times. The share of proposals that are accepted,
and the usual diagnostics of the chains, show how well it went.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.progress import Tick

HEAVY: Final = 0.2
"""The share of proposals from the t distribution."""
FREEDOM: Final = 5.0
WIDER: Final = 1.5
GOOD: Final = 0.6
"""Enough: the effective share of weighted proposals."""
ADAPTATIONS: Final = 6
AMPLE: Final = 1.5
"""A fitted covariance is too small, since its draws did not reach far: make it larger by this."""
POOR: Final = 0.1
"""Below this share, walkers take over."""
WALKERS: Final = 8
"""The fewest walkers of a chain."""
THIN: Final = 8
WARM_UP: Final = 200
"""Steps between recorded ones, and before the first."""
NEAR: Final = 0.5
"""How far walkers start from a mode, in its standard deviations."""
JUMP: Final = 0.1
"""The share of steps that are as long as a whole difference, which carry a walker from one mode to another."""
FEWEST: Final = 200
"""Proposals in a stratum."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A normal distribution, and a wider t distribution mixed in. ``root`` is a square root of the covariance."""

    centre: Array
    root: Array

    @classmethod
    def of(cls, centre: Array, covariance: Array) -> Proposal:
        """With this mean and covariance."""
        scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
        return cls(centre, scale[:, None] * vectors * np.sqrt(np.maximum(values, 1e-9)))

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Independent draws, one for each row."""
        normal = rng.normal(size=(count, len(self.centre)))
        heavy = rng.random(count) < HEAVY
        stretch = WIDER * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, size=count))
        return self.centre + (normal * np.where(heavy, stretch, 1.0)[:, None]) @ self.root.T

    def log_density(self, values: Array) -> Array:
        """The log density, up to a constant that is the same for all proposals of this dimension."""
        from scipy.special import gammaln

        size = len(self.centre)
        away = np.linalg.solve(self.root, (values - self.centre).T)
        squares = np.sum(away**2, axis=0)
        normal = math.log(1 - HEAVY) - 0.5 * squares - 0.5 * size * math.log(2 * math.pi)
        heavy = (math.log(HEAVY) + gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2)
                 - 0.5 * size * math.log(FREEDOM * math.pi) - size * math.log(WIDER)
                 - 0.5 * (FREEDOM + size) * np.log1p(squares / (FREEDOM * WIDER**2)))
        return np.asarray(np.logaddexp(normal, heavy) - np.linalg.slogdet(self.root)[1])


LogDensity = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Draws (chains, draws, dimension), the stratum that each came from, and the share of proposals that were accepted."""

    draws: Array
    strata: npt.NDArray[np.intp]
    accepted: float


def sample(densities: Sequence[LogDensity], proposals: Sequence[Proposal], *, draws: int, chains: int, seed: int,
           tick: Tick) -> Drawn:
    """Draw from a mixture of equally likely strata, each with its own density and a first proposal."""
    rng = np.random.default_rng(seed)
    strata = len(densities)
    count = max(-(-chains * draws // strata), FEWEST)
    values, weights, worst = [], [], 1.0
    for number, (density, proposal) in enumerate(zip(densities, proposals, strict=True)):
        tick(number * draws // strata // 2, draws)
        share, found, logs = _weighted(density, proposal, count, rng)
        worst = min(worst, share)
        values.append(found)
        weights.append(logs)
    if worst < POOR:
        return _walked(densities, proposals, rng, draws=draws, chains=chains, tick=tick)
    order = rng.permutation(count * strata)[: chains * draws]
    values_of, logs = np.concatenate(values)[order], np.concatenate(weights)[order]
    strata_of = np.repeat(np.arange(strata), count)[order]
    chances = np.exp(logs - logs.max())
    now = rng.choice(len(logs), size=chains, p=chances / chances.sum())
    places = np.arange(chains * draws).reshape(chains, draws)
    kept = np.empty((chains, draws), dtype=np.intp)
    coins = np.log(rng.random((chains, draws)))
    accepted = 0
    for step in range(draws):
        taken = coins[:, step] < logs[places[:, step]] - logs[now]
        now = np.where(taken, places[:, step], now)
        accepted += int(taken.sum())
        kept[:, step] = now
    tick(draws, draws)
    return Drawn(values_of[kept], strata_of[kept], accepted / (chains * draws))


def _walked(densities: Sequence[LogDensity], proposals: Sequence[Proposal], rng: np.random.Generator, *, draws: int, chains: int,
            tick: Tick) -> Drawn:
    """Walkers that start near the modes, each in one stratum. A chain is some of them, one after the other."""
    strata, size = len(densities), len(proposals[0].centre)
    each = max(WALKERS, -(-2 * size // chains))
    each = -(-each * chains // strata) * strata // chains if (each * chains) % strata else each
    walkers = each * chains
    own = np.arange(walkers) % strata
    now = np.stack([proposals[one].centre + NEAR * proposals[one].root @ rng.normal(size=size) for one in own.tolist()])
    log_now = _densities_at(densities, own, now)
    recorded = -(-draws // each)
    kept = np.empty((recorded, walkers, size))
    accepted, steps = 0, WARM_UP + THIN * recorded
    for step in range(steps):
        tick(draws // 2 + step * draws // (2 * steps), draws)
        for half in (np.arange(walkers // 2), np.arange(walkers // 2, walkers)):  # each moves along differences in the other
            others = np.setdiff1d(np.arange(walkers), half)
            first, second = others[rng.integers(0, len(others), size=(2, len(half)))]
            usual = 2.38 / math.sqrt(2 * size) * rng.uniform(0.6, 1.2, size=len(half))
            length = np.where(rng.random(len(half)) < JUMP, 1.0, usual)[:, None]
            proposed = now[half] + length * (now[first] - now[second]) * (1.0 + 1e-4 * rng.normal(size=(len(half), size)))
            log_proposed = _densities_at(densities, own[half], proposed)
            taken = np.log(rng.random(len(half))) < log_proposed - log_now[half]
            now[half] = np.where(taken[:, None], proposed, now[half])
            log_now[half] = np.where(taken, log_proposed, log_now[half])
            accepted += int(taken.sum())
        if step >= WARM_UP and (step - WARM_UP) % THIN == THIN - 1:
            kept[(step - WARM_UP) // THIN] = now
    tick(draws, draws)
    # Every chain has walkers of all strata; each walker's draws stay in their order.
    order = np.arange(walkers).reshape(each, chains).T
    found = kept[:, order].transpose(1, 2, 0, 3).reshape(chains, each * recorded, size)[:, :draws]
    strata_of = np.repeat(own[order], recorded, axis=1)[:, :draws]
    return Drawn(found, strata_of, accepted / (steps * walkers))


def _densities_at(densities: Sequence[LogDensity], strata: npt.NDArray[np.intp], values: Array) -> Array:
    found = np.empty(len(values))
    for number, density in enumerate(densities):
        own = strata == number
        if own.any():
            found[own] = density(values[own])
    return np.where(np.isfinite(found), found, -np.inf)


def _weighted(density: LogDensity, proposal: Proposal, count: int, rng: np.random.Generator) -> tuple[float, Array, Array]:
    """How good the proposals are, the proposals, and the logs of their weights, with mean weight 1.

    A poor proposal is replaced by one fitted to its own draws.
    """
    best: tuple[float, Array, Array] | None = None
    for _ in range(ADAPTATIONS):
        values = proposal.draw(rng, count)
        logs = density(values) - proposal.log_density(values)
        logs = np.where(np.isfinite(logs), logs, -np.inf)
        weights = np.exp(logs - logs.max())
        share = float(weights.sum() ** 2 / (weights**2).sum() / count)
        if best is None or share > best[0]:
            best = share, values, np.log(np.maximum(weights / weights.mean(), 1e-300))
        if share > GOOD:
            break
        # Weights cut off at a high quantile: one lucky proposal must not determine the next covariance.
        most = min(count, max(2 * len(proposal.centre), 20))
        weights = np.minimum(weights, max(float(np.sort(weights)[-most]), 1e-300))
        weights = weights / weights.sum()
        centre = weights @ values
        covariance = (weights[:, None] * (values - centre)).T @ (values - centre)
        proposal = Proposal.of(centre, AMPLE * (0.9 * covariance + 0.1 * np.diag(np.diag(covariance))))
    assert best is not None
    return best
