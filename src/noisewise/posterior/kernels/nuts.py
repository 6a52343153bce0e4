"""NUTS on a density that was whitened at its normal approximation.

BlackJAX does the sampling. In whitened coordinates the mass matrix is the identity, so only the step size is
adapted. The density's arrays are arguments of the compiled function, never constants in it, and one compiled function serves warm-up and
sampling, so that a second fit of the same shape finds it in the cache. Chains run one after the other: side by side,
each step would wait for the longest tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import Mode

Array = npt.NDArray[np.float64]
LogDensity = Callable[..., Any]

CHUNK = 100
"""Draws per compiled call: the progress bar moves and Ctrl-C works between calls."""
TARGET_ACCEPTANCE = 0.95
"""Where σ is hardly told from 0 the curvature varies several-fold; longer steps are unstable there and end in divergences."""
MAX_DOUBLINGS = 8


@dataclass(frozen=True)
class NutsDraws:
    """Draws (chains, draws, parameters), and how many of the transitions diverged."""

    draws: Array
    divergences: int


def sample_nuts(
    log_density: LogDensity,
    data: Mapping[str, Any],
    mode: Mode,
    *,
    seed: int,
    chains: int,
    draws: int,
    warmup: int = 300,
    tick: Callable[[int, int], None] | None = None,
) -> NutsDraws:
    """Sample from ``log_density(x, data, jax.numpy)``; ``tick(done, total)`` is told how far it is."""
    with double_precision():
        import jax

        arrays = {key: jax.numpy.asarray(value) for key, value in data.items()}
        point, scale = jax.numpy.asarray(mode.point), jax.numpy.asarray(mode.scale)
        key = jax.random.key(seed)
        start = np.random.default_rng(seed).normal(size=(chains, len(mode.point)))
        carry = starter(log_density)(start, point, scale, arrays)
        step = stepper(log_density)
        rounds = [True] * -(-warmup // CHUNK) + [False] * -(-draws // CHUNK)
        kept, divergences = [], 0
        for index, adapting in enumerate(rounds):
            carry, (positions, diverged) = step(carry, jax.random.fold_in(key, index), adapting, point, scale, arrays)
            if not adapting:
                kept.append(np.asarray(positions))
                divergences += int(np.sum(diverged))
            if tick is not None:
                tick(index + 1, len(rounds))
        whitened = np.concatenate(kept, axis=1)[:, :draws]
    return NutsDraws(mode.point + whitened @ mode.scale.T, divergences)


@cache
def starter(log_density: LogDensity) -> Any:
    import jax
    from blackjax.adaptation.step_size import dual_averaging_adaptation
    from blackjax.mcmc import hmc

    @jax.jit
    def start(positions: Any, point: Any, scale: Any, data: Any) -> Any:
        density = partial(_whitened, log_density, point=point, scale=scale, data=data)
        states = jax.vmap(lambda position: hmc.init(position, density))(positions)
        adaptation = dual_averaging_adaptation(TARGET_ACCEPTANCE)[0](0.5 * positions.shape[1] ** -0.25)

        def for_each_chain(leaf: Any) -> Any:  # with a definite type, or the first step would be compiled twice
            array = jax.numpy.asarray(leaf)
            return jax.numpy.full(len(positions), array, dtype=array.dtype)

        return states, jax.tree.map(for_each_chain, adaptation)

    return start


@cache
def stepper(log_density: LogDensity) -> Any:
    import jax
    from blackjax.adaptation.step_size import dual_averaging_adaptation
    from blackjax.mcmc import nuts

    kernel = nuts.build_kernel()
    _, update, final = dual_averaging_adaptation(TARGET_ACCEPTANCE)

    @jax.jit
    def run(carry: Any, key: Any, adapting: Any, point: Any, scale: Any, data: Any) -> Any:
        density = partial(_whitened, log_density, point=point, scale=scale, data=data)
        unit = jax.numpy.ones(len(point))

        def one_chain(inputs: Any) -> Any:
            state, adaptation, chain_key = inputs

            def one_step(inner: Any, step_key: Any) -> Any:
                current, adapted = inner
                size = jax.numpy.where(adapting, jax.numpy.exp(adapted.log_step_size), final(adapted))
                current, info = kernel(step_key, current, density, size, unit, MAX_DOUBLINGS)
                updated = update(adapted, info.acceptance_rate)
                adapted = jax.tree.map(lambda new, old: jax.numpy.where(adapting, new, old), updated, adapted)
                return (current, adapted), (current.position, info.is_divergent)

            return jax.lax.scan(one_step, (state, adaptation), jax.random.split(chain_key, CHUNK))

        states, adaptations = carry
        keys = jax.random.split(key, states.position.shape[0])
        return jax.lax.map(one_chain, (states, adaptations, keys))

    return run


def _whitened(log_density: LogDensity, z: Any, *, point: Any, scale: Any, data: Any) -> Any:
    import jax.numpy as jnp

    return log_density(point + scale @ z, data, jnp)
