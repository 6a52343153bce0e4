"""Compiled Metropolis and Gibbs chains, run side by side, with proposals that adapt during warm-up and are then fixed.

A sampler is three pure functions of arrays. ``start(key, data)`` returns a state (a dictionary of arrays), ``step(key, state,
data, gain)`` the next state, ``record(state)`` the vector to keep. ``gain`` limits how far a step changes the proposals: it falls
during warm-up (Andrieu and Thoms 2008, section 4) and is 0 afterwards, so that all draws kept come from one fixed kernel.
``chain`` runs one chain and can be mapped over replicates with ``jax.vmap``; a fit calls ``sample_chains``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noisewise.arrays import Array, Traced
from noisewise.posterior.kernels.jax_setup import as_numpy, double_precision
from noisewise.posterior.kernels.stored_program import program_of
from noisewise.progress import Tick
from noisewise.run import nobody

if TYPE_CHECKING:
    import jax

State: TypeAlias = "dict[str, jax.Array]"
Data: TypeAlias = "Mapping[str, jax.Array]"

CHUNK = 250
"""Steps per compiled call: the progress bar moves and Ctrl-C works between calls."""
GAIN_POWER = 0.6


@dataclass(frozen=True)
class Sampler:
    """The three functions of a sampler, defined at module level so that their compiled form can be stored by name."""

    start: Callable[[jax.Array, Data], State]
    step: Callable[[jax.Array, State, Data, jax.Array], State]
    record: Callable[[State], jax.Array]


def gains(warmup: int, draws: int) -> Array:
    """Return the gain of every step: t to the power −0.6 during warm-up, 0 afterwards."""
    return np.concatenate([np.arange(1.0, warmup + 1.0) ** -GAIN_POWER, np.zeros(draws)])


def chain(sampler: Sampler, key: jax.Array, data: Data, warmup: int, draws: int) -> jax.Array:
    """Run one chain and return its draws, (draws, recorded numbers). A pure function of arrays."""
    import jax

    start_key, warm_key, key = jax.random.split(key, 3)
    state = sampler.start(start_key, data)
    schedule = gains(warmup, draws)
    state, _ = advance(sampler, warm_key, state, data, schedule[:warmup])
    return advance(sampler, key, state, data, schedule[warmup:])[1]


def advance(sampler: Sampler, key: jax.Array, state: State, data: Data, schedule: Traced) -> tuple[State, jax.Array]:
    """Take one step per gain in ``schedule``; return the last state and the records."""
    import jax

    def one(current: State, inputs: tuple[jax.Array, jax.Array]) -> tuple[State, jax.Array]:
        step_key, gain = inputs
        current = sampler.step(step_key, current, data, gain)
        return current, sampler.record(current)

    return jax.lax.scan(one, state, (jax.random.split(key, len(schedule)), jax.numpy.asarray(schedule)))


def sample_chains(sampler: Sampler, data: Mapping[str, Array], *, seed: int, chains: int, draws: int, warmup: int,
                  tick: Tick = nobody) -> Array:
    """Return draws (chains, draws, recorded numbers), reporting progress to ``tick(done, total)``."""
    with double_precision():
        arrays = {key: np.asarray(value, dtype=float) for key, value in data.items()}
        arguments: tuple[Any, ...] = np.int64(seed), np.zeros(chains), arrays
        states = as_numpy(_compiled(_starter, sampler, arguments)(*arguments))
        warm, kept = -(-warmup // CHUNK), -(-draws // CHUNK)
        schedule = gains(warm * CHUNK, kept * CHUNK).reshape(-1, CHUNK)
        records = []
        for index, part in enumerate(schedule):
            arguments = states, np.int64(seed), np.int64(index), part, arrays
            # Back to NumPy arrays; otherwise the second call would be recompiled for arguments on a device.
            states, found = as_numpy(_compiled(_stepper, sampler, arguments)(*arguments))
            if index >= warm:
                records.append(found)
            tick((index + 1) * CHUNK, len(schedule) * CHUNK)
    return np.concatenate(records, axis=1)[:, :draws]


def _compiled(build: Callable[[Sampler], Any], sampler: Sampler, arguments: tuple[Any, ...]) -> Any:
    return program_of(sampler.step, build.__name__, lambda: build(sampler), arguments)


@cache
def _starter(sampler: Sampler) -> Any:
    import jax

    def run(seed: jax.Array, chains: jax.Array, data: Data) -> State:
        # Fold in 0, as the steps fold in 1 and up: splitting a key directly gives the same keys as folding it.
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 0), chains.shape[0])
        return jax.vmap(sampler.start, in_axes=(0, None))(keys, data)

    return jax.jit(run)


@cache
def _stepper(sampler: Sampler) -> Any:
    import jax

    def run(states: State, seed: jax.Array, index: jax.Array, schedule: jax.Array, data: Data) -> tuple[State, jax.Array]:
        count = jax.tree.leaves(states)[0].shape[0]
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), index + 1), count)
        return jax.vmap(lambda key, state: advance(sampler, key, state, data, schedule))(keys, states)

    return jax.jit(run)


def accept(key: jax.Array, log_ratio: Traced) -> jax.Array:
    """Decide whether Metropolis accepts the proposal; a NaN ratio is rejected."""
    import jax
    import jax.numpy as jnp

    return jnp.log(jax.random.uniform(key, log_ratio.shape)) < jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio)


def acceptance(log_ratio: Traced) -> jax.Array:
    """Return the acceptance probability; 0 for a NaN ratio."""
    import jax.numpy as jnp

    return jnp.exp(jnp.minimum(jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio), 0.0))
