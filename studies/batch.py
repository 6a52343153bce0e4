"""Many fits of the same shape at once: the product's densities and its NUTS kernel, batched with ``jax.vmap``.

A model object is anything with ``log_density``, ``data``, ``coordinates`` and ``start()``. All models of a batch must have the same
shapes. Runs on a GPU unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.nuts import CHUNK, starter, stepper

Array = npt.NDArray[np.float64]


def sample_batch(models: Sequence[Any], *, seed: int, draws: int = 1000, warmup: int = 300, newton_steps: int = 60,
                 starts: Array | None = None, tick: Callable[[int, int], None] | None = None) -> Array:
    """Draws in working units, one chain per model: (models, draws, parameters)."""
    import jax
    import jax.numpy as jnp

    log_density = models[0].log_density
    data = {key: jnp.asarray(np.stack([model.data[key] for model in models])) for key in models[0].data}
    start = jnp.asarray(np.stack([model.start()[0] for model in models]) if starts is None else starts)
    point, scale = _modes(log_density)(start, data, newton_steps)
    rng = np.random.default_rng(seed)
    whitened = jnp.asarray(rng.normal(size=(len(models), 1, start.shape[1])))
    carry = jax.vmap(starter(log_density))(whitened, point, scale, data)
    step = _batched_step(log_density)
    rounds = [True] * -(-warmup // CHUNK) + [False] * -(-draws // CHUNK)
    kept = []
    for index, adapting in enumerate(rounds):
        keys = jax.random.split(jax.random.key(seed * 1000 + index), len(models))
        carry, (positions, _) = step(carry, keys, adapting, point, scale, data)
        if not adapting:
            kept.append(np.asarray(positions[:, 0]))
        if tick is not None:
            tick(index + 1, len(rounds))
    z = np.concatenate(kept, axis=1)[:, :draws]
    return np.asarray(point)[:, None] + np.einsum("bij,bdj->bdi", np.asarray(scale), z)


@cache
def _batched_step(log_density: Any) -> Any:
    import jax

    return jax.jit(jax.vmap(stepper(log_density), in_axes=(0, 0, None, 0, 0, 0)))


@cache
def _modes(log_density: Any) -> Any:
    """Damped Newton steps with the eigenvalues of the curvature made positive; the best of several step lengths each time."""
    import jax
    import jax.numpy as jnp

    lengths = jnp.asarray([1.0, 0.5, 0.2, 0.05, 0.01, 0.0])

    def one(start: Any, data: Any, steps: Any) -> Any:
        def value(x: Any) -> Any:
            return log_density(x, data, jnp)

        def square_root(x: Any) -> Any:
            values, vectors = jnp.linalg.eigh(-jax.hessian(value)(x))
            return vectors / jnp.sqrt(jnp.clip(jnp.abs(values), 1e-6, 1e14))

        def improve(_: Any, x: Any) -> Any:
            root = square_root(x)
            direction = root @ (root.T @ jax.grad(value)(x))
            tried = x + lengths[:, None] * direction
            values = jax.vmap(value)(tried)
            return tried[jnp.argmax(jnp.where(jnp.isfinite(values), values, -jnp.inf))]

        point = jax.lax.fori_loop(0, steps, improve, start)
        return point, square_root(point)

    return jax.jit(jax.vmap(one, in_axes=(0, 0, None)))
