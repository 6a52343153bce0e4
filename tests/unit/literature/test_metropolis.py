"""Chains of Metropolis steps: the random numbers of their starts and of their steps are different ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise.literature.kernels.metropolis import CHUNK, Sampler, sample_chains

SUBKEYS = 4


def _start(key: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a start may make of its own, by splitting it twice."""
    import jax

    first = jax.random.split(key)[0]
    mine = jax.vmap(jax.random.key_data)(jax.random.split(first, SUBKEYS))
    return {"start": mine.astype(float), "step": mine[0].astype(float)}


def _step(key: Any, state: dict[str, Any], data: Mapping[str, Any], gain: Any) -> dict[str, Any]:
    import jax

    return state | {"step": jax.random.key_data(key).astype(float)}


def _record(state: dict[str, Any]) -> Any:
    import jax.numpy as jnp

    return jnp.append(state["start"].reshape(-1), state["step"])


def test_no_key_of_a_step_is_one_that_a_start_has_used() -> None:
    """Splitting a key gives what folding in 0, 1, 2, … gives: starts and steps that do both with one key would share some."""
    chains = 3
    found = sample_chains(Sampler(_start, _step, _record), {}, seed=5, chains=chains, draws=3 * CHUNK, warmup=0)
    starts = {tuple(pair) for chain in found for pair in chain[0, :2 * SUBKEYS].reshape(-1, 2)}
    steps = {tuple(pair) for chain in found for pair in chain[:, 2 * SUBKEYS:]}
    assert len(starts) == chains * SUBKEYS and len(steps) == chains * 3 * CHUNK
    assert not starts & steps and np.isfinite(found).all()
