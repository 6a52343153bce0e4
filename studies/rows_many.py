"""Many fits to perturbed rows at once, for studies: the library's own chains, mapped over simulated problems of one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.rows.chain import chain
from noisewise.posterior.rows.problem import RowProblem, Variant
from noisewise.posterior.rows.sampler import arrays, start, variant_of
from noisewise.results.diagnostics import ess_bulk, r_hat

Array = npt.NDArray[np.float64]
Transform = Callable[[Array], Array]

CHAINS = 2
BLOCK = 50
"""Records of one compiled call."""
AT_ONCE = 2**23
"""Approximate rows times numbers² of the problems in one call: their small matrices fill memory."""


@dataclass(frozen=True)
class Length:
    """Sweeps discarded, records kept of each chain, and sweeps between records."""

    warmup: int = 600
    draws: int = 500
    thin: int = 3


@dataclass(frozen=True)
class Found:
    """Posterior mean, standard deviation, ends of the 95 % interval, ranks and diagnostics of every problem and quantity."""

    mean: Array
    sd: Array
    low: Array
    high: Array
    ess: Array
    r_hat: Array

    def covers(self, truth: Array) -> npt.NDArray[np.bool_]:
        return (self.low <= truth) & (truth <= self.high)


def found_of(draws: Array) -> Found:
    """From draws (chains, draws, quantities) of each problem: (problems, chains, draws, quantities)."""
    flat = draws.reshape(len(draws), -1, draws.shape[-1])
    low, high = np.quantile(flat, [0.025, 0.975], axis=1)
    return Found(flat.mean(axis=1), flat.std(axis=1), low, high, np.array([ess_bulk(one) for one in draws]),
                 np.array([r_hat(one) for one in draws]))


def sample_many(problems: Sequence[RowProblem], *, seed: int, length: Length, transform: Transform | None = None,
                chains: int = CHAINS, at_once: int = AT_ONCE, **changes: bool) -> Found:
    """The posterior of g and σ of every problem, or of their ``transform``."""
    draws = draws_of_many(problems, seed=seed, length=length, chains=chains, at_once=at_once, **changes)
    return found_of(draws if transform is None else transform(draws))


def draws_of_many(problems: Sequence[RowProblem], *, seed: int, length: Length, chains: int = CHAINS,
                  at_once: int = AT_ONCE, **changes: bool) -> Array:
    """Draws of g and σ, (problems, chains, draws, quantities); compiled calls take problems in groups of one size."""
    variant = variant_of(problems[0], **changes)
    if not variant.collapsed:  # as the stored results were made, before the sampler had its smallest scale
        variant = replace(variant, double=True)
    size = max(1, at_once // (chains * problems[0].rows * variant.numbers**2))
    number = -(-len(problems) // size)
    size = -(-len(problems) // number)
    places = (np.arange(number * size) % len(problems)).reshape(number, size)  # the last group may start over: one shape for all
    draws = [_group([problems[k] for k in group], variant, seed + index, length, chains) for index, group in enumerate(places)]
    return np.concatenate(draws)[: len(problems)]


def _group(problems: Sequence[RowProblem], variant: Variant, seed: int, length: Length, chains: int) -> Array:
    working = problems[0].priors()[-1].directions.shape[1] + 1
    with double_precision():
        import jax

        starts = [start(problem, variant, np.random.default_rng([seed, place, number]))
                  for place, problem in enumerate(problems) for number in range(chains)]
        data = [arrays(problem, variant) for problem in problems for _ in range(chains)]
        state: Any = jax.tree.map(_stacked, *starts)
        inputs = jax.device_put(jax.tree.map(_stacked, *data))
        key, run, kept = jax.random.key(seed), _mapped(variant), []
        for sweep in range(0, length.warmup, BLOCK):
            state, _ = run(state, jax.random.split(jax.random.fold_in(key, sweep), len(starts)), 1, True, inputs)
        for record in range(0, length.draws, BLOCK):
            keys = jax.random.split(jax.random.fold_in(key, length.warmup + record), len(starts))
            state, visited = run(state, keys, length.thin, False, inputs)
            kept.append(np.asarray(visited[:, :, :working]))
    return np.concatenate(kept, axis=1)[:, : length.draws].reshape(len(problems), chains, length.draws, working)


def _stacked(*parts: Any) -> Array:
    return np.stack([np.asarray(part) for part in parts])


@cache
def _mapped(variant: Variant) -> Any:
    import jax

    def run(state: Any, keys: Any, thin: Any, warming: Any, data: Any) -> Any:
        return jax.vmap(partial(_one, variant), in_axes=(0, 0, None, None, 0))(state, keys, thin, warming, data)

    return jax.jit(run)


def _one(variant: Variant, state: Any, key: Any, thin: Any, warming: Any, data: Any) -> Any:
    return chain(variant, BLOCK)(state, key, thin, warming, data)
