"""Many fits of generalised linear models at once, by the library's own sampler, and how well they find known truths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.glm.columns import distribution
from noisewise.posterior.glm.expectations import NODES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.glm.prior import coefficients
from noisewise.posterior.kernels.batch import sample_batch
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.small_linear import MANY
from studies.many import stacked

Array = npt.NDArray[np.float64]

STEPS = (8, 24)
"""The steps of a trajectory. The posteriors are skewed, and the library's shorter trajectories would need more draws."""
CHAINS = 2
MEMORY = 1_500_000_000
"""Bytes for one such array of all models together."""
UNSETTLED = 1.05
"""A replicate whose R-hat exceeds this for any coefficient is counted as unsettled."""


@dataclass(frozen=True)
class Draws:
    """Coefficients (fits, draws, terms), and which fits did not settle: no mode found, or chains that differ."""

    coefficients: Array
    unsettled: npt.NDArray[np.bool_]


def sample_many(models: Sequence[GlmModel], *, draws: int, seed: int, warmup: int = 300) -> Draws:
    """Draws from models of one shape, in groups of one size (so that one compiled program serves all)."""
    at_once = room(models[0])
    groups = -(-len(models) // at_once)
    size = -(-len(models) // groups)
    found, unsettled = [], []
    for group in (np.arange(groups * size) % len(models)).reshape(groups, size):
        some = [models[k] for k in group]
        data = stacked([dict(model.data) | {"copies": np.zeros(1)} for model in some])
        data["copies"] = np.zeros((size, MANY))
        starts, scales = (np.array(part) for part in zip(*(model.start() for model in some), strict=True))
        result = sample_batch(some[0].log_density, data, starts, scales, seed=seed + int(group[0]), chains=CHAINS, draws=draws,
                              warmup=warmup, steps=STEPS)
        with double_precision():
            users = np.asarray(_to_user()(result.draws, data))
        found.append(users.reshape(size, CHAINS * draws, -1))
        unsettled.append(~result.converged | ~(r_hat(users).max(axis=-1) < UNSETTLED))
    return Draws(np.concatenate(found)[:len(models)], np.concatenate(unsettled)[:len(models)])


def room(model: GlmModel) -> int:
    """The number of models that fit into memory: their curvature takes parameters × cells × nodes (× counts) numbers for each."""
    one = len(model.start()[0]) * len(model.layout.cells) * len(NODES) * len(model.data.get("counts", [0]))
    return max(1, MEMORY // (8 * one))


@cache
def _to_user() -> Any:
    import jax
    import jax.numpy as jnp

    def one(x: Any, data: Any) -> Any:
        terms = data["features"].shape[1]
        return coefficients(x[:terms], distribution(x[terms:], data, jnp)[0].second_moments(), data, jnp)[0]

    over_draws = jax.vmap(jax.vmap(one, in_axes=(0, None)), in_axes=(0, None))
    return jax.jit(lambda draws, data: jax.lax.map(lambda both: over_draws(*both), (draws, data), batch_size=512))


def r_hat(draws: Array) -> Array:
    """Split R-hat of (fits, chains, draws, terms)."""
    half = draws.shape[2] // 2
    parts = np.concatenate([draws[:, :, :half], draws[:, :, half:2 * half]], axis=1)
    within = parts.var(axis=2, ddof=1).mean(axis=1)
    between = parts.mean(axis=2).var(axis=1, ddof=1)
    result: Array = np.sqrt((half - 1) / half + between / np.maximum(within, 1e-300))
    return result


def measures(draws: Array, truth: Array, prior_sd: Array) -> list[dict[str, float]]:
    """Coverage of each term's 95 % interval with its Monte Carlo error, bias, error, width and information.

    ``truth``: (fits, terms). ``information``: the median posterior standard deviation in units of the prior's, 1 where the
    release says nothing.
    """
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    inside = (low <= truth) & (truth <= high)
    mean, sd = draws.mean(axis=1), draws.std(axis=1)
    count = len(draws)
    result = []
    for k in range(truth.shape[1]):
        coverage = float(inside[:, k].mean())
        # A share of 1 would have no error at all: half a miss and half a hit are added.
        smoothed = (inside[:, k].sum() + 0.5) / (count + 1)
        result.append({
            "coverage": coverage,
            "coverage_error": math.sqrt(smoothed * (1 - smoothed) / count),
            "above": float((truth[:, k] > high[:, k]).mean()),
            "true_value": float(truth[:, k].mean()),
            "bias": float((mean - truth)[:, k].mean()),
            "rmse": float(np.sqrt(np.mean((mean - truth)[:, k] ** 2))),
            "width": float((high - low)[:, k].mean()),
            "sd": float(np.median(sd[:, k])),
            "information": float(np.median(sd[:, k]) / prior_sd[k]),
        })
    return result
