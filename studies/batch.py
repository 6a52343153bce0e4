"""Many models of a study at once, by the library's own vectorised sampler.

A model is anything with ``log_density``, ``data`` and ``start()``. Models of the same kind are sampled together, except those of
normal predictors (an eigendecomposition in every gradient), which NUTS samples one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels import batch
from noisewise.posterior.kernels.diagonal_nuts import CAREFUL_ACCEPTANCE, sample_diagonal
from noisewise.posterior.linear.collapsed import CollapsedModel
from noisewise.posterior.linear.latent import LatentModel

Array = npt.NDArray[np.float64]
LOT = 128


def sample_batch(models: Sequence[Any], *, seed: int, draws: int = 1000, warmup: int = 300, starts: Array | None = None,
                 tick: Callable[[int, int], None] | None = None) -> Array:
    """Draws in working units, one chain per model: (models, draws, parameters); for a latent S the coefficients and ±σ only."""
    kept: dict[int, Array] = {}
    for kind in dict.fromkeys(map(_kind, models)):
        members = [index for index, model in enumerate(models) if _kind(model) == kind]
        for first in range(0, len(members), LOT):
            lot = members[first:first + LOT]
            sample = _one_by_one if kind[0] is CollapsedModel else _side_by_side
            found = sample([models[index] for index in lot], None if starts is None else starts[lot], seed + first, draws, warmup)
            kept.update(zip(lot, found, strict=True))
            if tick is not None:
                tick(len(kept), len(models))
    return np.stack([kept[index] for index in range(len(models))])


def _kind(model: Any) -> tuple[Any, ...]:
    """A key: models with the same key have arrays of the same shapes, which can be stacked."""
    return type(model), *((name, np.shape(value)) for name, value in sorted(model.data.items()))


def _start(model: Any, start: Array | None) -> tuple[Array, Array]:
    point, scale = model.start()
    if start is None:
        return point, scale
    return start, scale if isinstance(model, CollapsedModel) else np.full(len(start), 0.05)


def _side_by_side(models: list[Any], starts: Array | None, seed: int, draws: int, warmup: int) -> list[Array]:
    pairs = [_start(model, None if starts is None else starts[index]) for index, model in enumerate(models)]
    data = {key: np.stack([model.data[key] for model in models]) for key in models[0].data}
    if "copies" in data:
        data["copies"] = np.zeros((len(models), max(len(models), 64)))
    found = batch.sample_batch(models[0].log_density, data, np.stack([start for start, _ in pairs]),
                               np.stack([scale for _, scale in pairs]), seed=seed, chains=1, draws=draws, warmup=warmup)
    return [model.coefficients(chain, seed) if isinstance(model, LatentModel) else chain
            for model, chain in zip(models, found.draws[:, 0], strict=True)]


def _one_by_one(models: list[Any], starts: Array | None, seed: int, draws: int, warmup: int) -> list[Array]:
    found = []
    for index, model in enumerate(models):
        result = sample_diagonal(model.log_density, model.data, *_start(model, None if starts is None else starts[index]),
                                 seed=seed + index, chains=1, draws=draws, warmup=warmup,
                                 acceptance=CAREFUL_ACCEPTANCE)
        found.append(result.draws[0])
    return found
