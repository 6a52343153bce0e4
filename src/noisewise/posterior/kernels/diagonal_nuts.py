"""NUTS for many parameters that are nearly independent: a scale for each of them, and no matrix over all of them.

The scales are guessed beforehand and corrected twice during the warm-up, from the draws of all chains, which also share one step
size. The integrator has two stages (McLachlan 1995): with thousands of parameters it takes steps several times as long as the
leapfrog's at the same energy error. Chains run in threads, each doing its own linear algebra: LAPACK releases
Python's lock, and nothing is batched that could wait for another thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.arrays import Array, Traced
from noisewise.posterior.kernels.jax_setup import Program, Tree, as_numpy, double_precision
from noisewise.posterior.kernels.mode import LogDensity
from noisewise.posterior.kernels.nuts import NutsDraws, first_step_sizes
from noisewise.posterior.kernels.stored_program import program_of
from noisewise.progress import Tick
from noisewise.run import nobody

if TYPE_CHECKING:
    import jax
    from jax.stages import Wrapped

CHUNK: Final = 50
"""Transitions per compiled call: the progress bar moves and Ctrl-C works between calls."""
ACCEPTANCE: Final = 0.8
CAREFUL_ACCEPTANCE: Final = 0.95
"""If the curvature varies several-fold, longer steps are unstable and diverge."""
MAX_DOUBLINGS: Final = 8
FIRST_STEP: Final = 0.5


def sample_diagonal(log_density: LogDensity, data: Mapping[str, Traced], point: Array, scale: Array, *, seed: int, chains: int,
                    draws: int, warmup: int = 300, acceptance: float = ACCEPTANCE,
                    shown: Callable[[Array], Array] | None = None, tick: Tick = nobody) -> NutsDraws:
    """Sample from ``log_density(x, data, jax.numpy)``, near ``point`` with about the standard deviations ``scale``.

    ``acceptance``: the mean acceptance rate that the step size aims for. ``shown``: what is kept of draws (chains, some draws,
    parameters), if not all parameters.
    """
    arrays = dict(data)
    guess, deviations = scale**2, scale
    positions = list(point + scale * np.random.default_rng(seed).normal(size=(chains, len(point))))
    adaptation = first_step_sizes((), FIRST_STEP)
    warm_rounds, rounds = -(-warmup // CHUNK), -(-warmup // CHUNK) + -(-draws // CHUNK)
    kept, diverging = [], []
    with ThreadPoolExecutor(max(1, min(chains, os.cpu_count() or 1))) as pool:
        for index in range(rounds):
            adapting = index < warm_rounds
            calls = [(position, adaptation, np.int64(seed), np.int64(index * chains + chain), np.bool_(adapting),
                      np.float64(acceptance), point, deviations, arrays) for chain, position in enumerate(positions)]
            with double_precision():
                step = program_of(log_density, "diagonal nuts", lambda: stepper(log_density), calls[0])
            found = list(pool.map(lambda arguments, step=step: _called(step, arguments), calls))
            positions = [position for position, _, _ in found]
            visited = np.stack([positions for _, _, (positions, _) in found])
            if adapting:
                adaptation = tuple(np.mean(values, axis=0, dtype=np.asarray(values[0]).dtype)
                                   for values in zip(*(state for _, state, _ in found), strict=True))
            else:
                kept.append(visited if shown is None else shown(visited))
                diverging.append(np.stack([diverged for _, _, (_, diverged) in found]))
            if adapting and index + 1 in (warm_rounds // 3, 2 * warm_rounds // 3):
                deviations = _corrected(guess, visited)
            tick((index + 1) * CHUNK, rounds * CHUNK)
    return NutsDraws(np.concatenate(kept, axis=1)[:, :draws], np.concatenate(diverging, axis=1)[:, :draws])


GUESS_WORTH: Final = 10.0
"""A guessed variance weighs as much as this many independent draws."""
CORRELATED: Final = 4.0
"""This many warm-up draws weigh as much as one independent draw."""


def _corrected(guess: Array, visited: Array) -> Array:
    """Standard deviations from the draws (chains, draws, parameters) and the guess."""
    spread = visited.var(axis=1).mean(axis=0) + visited.mean(axis=1).var(axis=0)
    worth = visited.shape[0] * visited.shape[1] / CORRELATED
    result: Array = np.sqrt((worth * spread + GUESS_WORTH * guess) / (worth + GUESS_WORTH))
    return result


def _called(step: Program, arguments: tuple[object, ...]) -> Tree:
    with double_precision():  # the setting is per thread
        return as_numpy(step(*arguments))


@cache
def stepper(log_density: LogDensity) -> Wrapped:
    """Compile ``CHUNK`` transitions of a chain, with or without adapting the step size."""
    import jax
    import jax.numpy as jnp
    from blackjax.adaptation.step_size import DualAveragingAdaptationState, dual_averaging_adaptation
    from blackjax.mcmc import hmc, nuts
    from blackjax.mcmc.integrators import mclachlan

    kernel = nuts.build_kernel(mclachlan)

    @jax.jit
    def run(position: jax.Array, adaptation: tuple[jax.Array, ...], seed: jax.Array, index: jax.Array, adapting: jax.Array,
            acceptance: jax.Array, point: jax.Array, scale: jax.Array, data: Mapping[str, jax.Array]) -> Tree:
        _, update, final = dual_averaging_adaptation(acceptance)

        def density(z: jax.Array) -> Traced:
            return log_density(point + scale * z, data, jnp)

        def one_step(inner: Tree, key: jax.Array) -> tuple[Tree, Tree]:
            current, adapted = inner
            size = jnp.where(adapting, jnp.exp(adapted.log_step_size), final(adapted))
            current, info = kernel(key, current, density, size, jnp.ones(len(point)), MAX_DOUBLINGS)
            updated = update(adapted, info.acceptance_rate)
            adapted = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), updated, adapted)
            return (current, adapted), (point + scale * current.position, info.is_divergent)

        start = hmc.init((position - point) / scale, density), DualAveragingAdaptationState(*adaptation)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), index), CHUNK)
        (_, adapted), (visited, diverging) = jax.lax.scan(one_step, start, keys)
        return visited[-1], tuple(adapted), (visited, diverging)

    return run
