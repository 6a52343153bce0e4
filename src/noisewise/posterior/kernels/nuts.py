"""NUTS on a density that was whitened at its normal approximation.

BlackJAX does the sampling. In whitened coordinates the mass matrix is the identity, so only the step size is
adapted. The density's arrays are arguments of the compiled function, never constants in it, and one compiled function serves
warm-up and sampling, so that a second fit of the same shape finds it in the cache. Chains run one after the other: side by
side, each step would wait for the longest tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Traced
from noisewise.posterior.kernels.jax_setup import Tree, as_numpy, double_precision
from noisewise.posterior.kernels.mode import LogDensity, Mode
from noisewise.posterior.kernels.stored_program import program_of
from noisewise.progress import Tick
from noisewise.run import nobody

if TYPE_CHECKING:
    import jax
    from jax.stages import Wrapped

Numbers = TypeVar("Numbers", Array, "jax.Array")

CHUNK = 100
"""Draws per compiled call: the progress bar moves and Ctrl-C works between calls."""
TARGET_ACCEPTANCE = 0.95
"""If σ is hardly distinguishable from 0, the curvature varies several-fold, and longer steps are unstable and diverge."""
MAX_DOUBLINGS = 8
MANY = 200
"""From this many parameters on, multiplying by a square matrix dominates the cost of a step and is worth avoiding."""
APART = 2
"""Keep every second draw where steps are that cheap; otherwise some of the many parameters get a large R-hat by chance."""
LOOSE = 3.0
"""Curvatures that differ from 1 by no more than this factor are white enough."""


@dataclass(frozen=True)
class NutsDraws:
    """Draws (chains, draws, parameters), and which of the transitions diverged (chains, draws)."""

    draws: Array
    diverging: npt.NDArray[np.bool_]


def sample_nuts(log_density: LogDensity, data: Mapping[str, Traced], mode: Mode, *, seed: int, chains: int, draws: int,
                warmup: int = 300, tick: Tick = nobody) -> NutsDraws:
    """Sample from ``log_density(x, data, jax.numpy)`` and report progress to ``tick(done, total)``."""
    with double_precision():
        size = len(mode.point)
        positions = np.random.default_rng(seed).normal(size=(chains, size))
        adaptation = first_step_sizes(chains, 0.5 * size**-0.25)
        root = short_root(mode.scale)
        rest = mode.point, root, dict(data)
        apart = APART if root.ndim == 1 else 1
        rounds = [True] * -(-warmup // CHUNK) + [False] * -(-draws * apart // CHUNK)
        kept, diverging = [], []
        for index, adapting in enumerate(rounds):
            arguments = positions, adaptation, np.int64(seed), np.int64(index), np.bool_(adapting), *rest
            # Convert to NumPy: the second call would be compiled again for arguments on a device.
            found = program_of(log_density, "nuts", lambda: stepper(log_density), arguments)(*arguments)
            positions, adaptation, (visited, diverged) = as_numpy(found)
            if not adapting:
                kept.append(visited[:, apart - 1::apart])
                diverging.append(diverged.reshape(chains, -1, apart).any(axis=2))
            tick((index + 1) * CHUNK, len(rounds) * CHUNK)
        standard = np.concatenate(kept, axis=1)[:, :draws]
        diverged_draws = np.concatenate(diverging, axis=1)[:, :draws]
    return NutsDraws(mode.point + stretched(root, standard), diverged_draws)


def first_step_sizes(chains: int | tuple[int, ...], size: float) -> tuple[npt.NDArray[Any], ...]:
    """The state in which dual averaging begins (Hoffman and Gelman 2014, section 3.2.1), for each chain.

    In NumPy, so that a stored program runs without importing BlackJAX.
    """
    logarithm = np.full(chains, np.log(size))
    step, averages = np.ones(chains, dtype=np.int64), np.zeros(chains)
    return logarithm, averages, step, averages, logarithm + np.log(10.0)


@cache
def stepper(log_density: LogDensity) -> Wrapped:
    """Compile ``CHUNK`` transitions of every chain, with or without adapting the step size."""
    import jax
    from blackjax.adaptation.step_size import DualAveragingAdaptationState, dual_averaging_adaptation
    from blackjax.mcmc import hmc, nuts

    kernel = nuts.build_kernel()
    _, update, final = dual_averaging_adaptation(TARGET_ACCEPTANCE)

    @jax.jit
    def run(positions: jax.Array, adaptations: tuple[jax.Array, ...], seed: jax.Array, index: jax.Array, adapting: jax.Array,
            point: jax.Array, scale: jax.Array, data: Mapping[str, jax.Array]) -> Tree:
        density = partial(whitened, log_density, point=point, scale=scale, data=data)
        unit = jax.numpy.ones(len(point))

        def one_chain(inputs: Tree) -> Tree:
            position, adaptation, chain_key = inputs

            def one_step(inner: Tree, step_key: jax.Array) -> tuple[Tree, Tree]:
                current, adapted = inner
                size = jax.numpy.where(adapting, jax.numpy.exp(adapted.log_step_size), final(adapted))
                current, info = kernel(step_key, current, density, size, unit, MAX_DOUBLINGS)
                updated = update(adapted, info.acceptance_rate)
                adapted = jax.tree.map(lambda new, old: jax.numpy.where(adapting, new, old), updated, adapted)
                return (current, adapted), (current.position, info.is_divergent)

            start = hmc.init(position, density), DualAveragingAdaptationState(*adaptation)
            (last, adapted), visited = jax.lax.scan(one_step, start, jax.random.split(chain_key, CHUNK))
            return last.position, tuple(adapted), visited

        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), index), len(positions))
        return jax.lax.map(one_chain, (positions, adaptations, keys))

    return run


def short_root(scale: Array) -> Array:
    """Return only standard deviations if there are many parameters and these whiten nearly as well as the matrix."""
    if len(scale) < MANY:
        return scale
    inverse = np.linalg.inv(scale)
    deviations: Array = 1.0 / np.linalg.norm(inverse, axis=0)
    curvatures = np.linalg.svd(inverse * deviations, compute_uv=False) ** 2
    return deviations if 1 / LOOSE < curvatures[-1] and curvatures[0] < LOOSE else scale


def stretched(scale: Numbers, z: Numbers) -> Numbers:
    """The product with a square matrix, or with a diagonal one that is given as a vector; of a batch of vectors too."""
    product: Numbers = scale * z if scale.ndim == 1 else z @ scale.T
    return product


def whitened(log_density: LogDensity, z: jax.Array, *, point: jax.Array, scale: jax.Array, data: Mapping[str, jax.Array]
             ) -> Traced:
    """The density in coordinates in which it is nearly standard normal."""
    import jax.numpy as jnp

    return log_density(point + stretched(scale, z), data, jnp)
