"""Many fits of the same shape, one after the other, by the product's own mode search and NUTS kernel.

A model is anything with ``log_density``, ``data`` and ``start()``. Compiled code is shared by all models of a shape. One chain
of a few hundred draws is enough for a study; batching the chains with ``vmap`` was slower, also on a GPU, because every step
then waits for the longest tree of thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.gradients import jax_density
from noisewise.posterior.kernels.mode import find_mode
from noisewise.posterior.kernels.nuts import sample_nuts

Array = npt.NDArray[np.float64]


def sample_batch(models: Sequence[Any], *, seed: int, draws: int = 1000, warmup: int = 300, starts: Array | None = None,
                 tick: Callable[[int, int], None] | None = None) -> Array:
    """Draws in working units, one chain per model: (models, draws, parameters)."""
    kept = []
    for index, model in enumerate(models):
        start, scale = model.start() if starts is None else (starts[index], np.full(len(starts[index]), 0.05))
        mode = find_mode(jax_density(model.log_density, model.data), start, scale)
        result = sample_nuts(model.log_density, model.data, mode, seed=seed + index, chains=1, draws=draws, warmup=warmup)
        kept.append(result.draws[0])
        if tick is not None:
            tick(index + 1, len(models))
    return np.stack(kept)
