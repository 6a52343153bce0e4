"""Many densities of one shape at once: modes by Newton's method, then Hamiltonian Monte Carlo, side by side.

Trees of different depth would wait for each other, so every trajectory has the same number of steps; only the step size is
adapted for each density. The number of steps varies between transitions, to avoid resonance. The same code runs on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from noisewise.arrays import Array, Flags, Namespace, Traced
from noisewise.posterior.kernels.jax_setup import Program, Tree, double_precision
from noisewise.posterior.kernels.mode import LogDensity
from noisewise.posterior.kernels.nuts import first_step_sizes, whitened

if TYPE_CHECKING:
    import jax

Keep: TypeAlias = Callable[[Traced, Mapping[str, Traced], Namespace], Traced]

NEWTON_STEPS: Final = 60
TARGET_ACCEPTANCE: Final = 0.9
CHUNK: Final = 100


@dataclass(frozen=True)
class BatchDraws:
    """Draws (densities, chains, draws, parameters), which transitions diverged, and whether each mode was found.

    ``r_hat`` (densities, parameters) is computed from halves of chains without ranks, in whole rounds; NaN for a single round.
    """

    draws: Array
    diverging: Flags
    converged: Flags
    r_hat: Array


def sample_batch(log_density: LogDensity, data: Mapping[str, Traced], starts: Array, scales: Array, *, seed: int, chains: int,
                 draws: int, warmup: int = 300, steps: tuple[int, int] = (3, 9), shown: Shown | None = None) -> BatchDraws:
    """Sample from ``log_density(x, data[k], jax.numpy)`` for every k along the first axis of the arrays in ``data``.

    ``steps``: the minimum and maximum number of steps of a trajectory. ``shown``: what to keep of a draw, see `Shown`.

    Results are fetched one round late, so that a device computes the next draws while the last ones are copied from it.
    """
    shown = shown or Shown(_as_sampled, {})
    with double_precision():
        import jax

        arrays = {key: jax.numpy.asarray(value) for key, value in data.items()}
        point, scale, converged = find_modes(log_density, arrays, starts, scales)
        count, size = starts.shape
        random = np.random.default_rng(seed)
        rounds = [True] * -(-warmup // CHUNK) + [False] * -(-draws // CHUNK)
        run, show = _transitions(log_density), _show(shown.function)

        def sampled() -> Iterator[tuple[jax.Array, ...]]:
            state: Tree = (random.normal(size=(count, chains, size)), *first_step_sizes((count, chains), 0.5 * size**-0.25))
            for index, adapting in enumerate(rounds):
                lengths = random.integers(steps[0], steps[1] + 1, CHUNK)
                state, visited, diverged = run(state, jax.random.key(seed + index), lengths, adapting, point, scale, arrays)
                if not adapting:
                    yield *show(visited, point, scale, shown.arrays), diverged

        return _gathered(_one_late(sampled()), draws, np.asarray(converged))


def _one_late(rounds: Iterator[tuple[jax.Array, ...]]) -> Iterator[list[Array]]:
    """Yield each round as NumPy arrays once the next one has been sent off."""
    last: tuple[jax.Array, ...] = ()
    for found in rounds:
        if last:
            yield [np.asarray(each) for each in last]
        last = found
    yield [np.asarray(each) for each in last]


def _gathered(rounds: Iterator[list[Array]], draws: int, converged: Flags) -> BatchDraws:
    """Collect all rounds in one array."""
    means, variances, done = [], [], 0
    for shown, mean, variance, diverged in rounds:
        if not done:
            kept = np.empty((*shown.shape[:2], draws, shown.shape[3]))
            diverging = np.empty(kept.shape[:3], dtype=bool)
        stop = min(done + CHUNK, draws)
        kept[:, :, done:stop] = shown[:, :, :stop - done]
        diverging[:, :, done:stop] = np.moveaxis(diverged, 0, 2)[:, :, :stop - done]
        means.append(mean)
        variances.append(variance)
        done = stop
    kept.setflags(write=False)  # so that results can share them
    diverging.setflags(write=False)
    return BatchDraws(kept, diverging, converged, _r_hat(means, variances))


def _r_hat(means: Sequence[Array], variances: Sequence[Array]) -> Array:
    """Compute R-hat from the rounds' means and variances. Halves consist of whole rounds; an odd one in the middle is dropped."""
    half = len(means) // 2
    if not half:
        return np.full(means[0].shape[::2], np.nan)
    halves = [slice(None, half), slice(-half, None)]
    centres = np.concatenate([np.mean(means[part], axis=0) for part in halves], axis=1)
    spread = [np.mean(variances[part], axis=0) + np.var(means[part], axis=0) for part in halves]
    within = np.mean(spread, axis=(0, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(1.0 + np.var(centres, axis=1, ddof=1) / within))


@dataclass(frozen=True)
class Shown:
    """What to keep of a draw x of density k: ``function(x, arrays[k], jax.numpy)``, computed on the draws' device."""

    function: Keep
    arrays: Mapping[str, Traced]


def _as_sampled(x: Traced, arrays: Mapping[str, Traced], xp: Namespace) -> Traced:
    return x


@cache
def _show(function: Keep) -> Program:
    """Compile the step from a round's positions (draws, densities, chains, parameters) to what is kept of them, densities first,
    with the mean and variance of each chain."""
    import jax
    import jax.numpy as jnp

    def of_density(visited: jax.Array, point: jax.Array, scale: jax.Array, arrays: Mapping[str, jax.Array]) -> Traced:
        return function(jnp.einsum("...j,ij->...i", visited, scale) + point, arrays, jnp)

    @jax.jit
    def show(visited: jax.Array, point: jax.Array, scale: jax.Array, arrays: Mapping[str, jax.Array]) -> tuple[jax.Array, ...]:
        shown = jnp.asarray(jax.vmap(of_density)(jnp.moveaxis(visited, 0, 2), point, scale, arrays))
        return shown, jnp.mean(shown, axis=2), jnp.var(shown, axis=2)

    return show


def find_modes(log_density: LogDensity, data: Mapping[str, Traced], starts: Array, scales: Array
               ) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Minimise every negative log density by Levenberg–Marquardt, and take a square root of the inverse curvature there."""
    step, finish = _newton(log_density)
    z, value, damping = np.zeros_like(starts), np.full(len(starts), np.inf), np.ones(len(starts))
    for _ in range(NEWTON_STEPS):  # not in the compiled code, where a scan over eigendecompositions can stall
        z, value, damping, gain = step(z, value, damping, starts, scales, data)
        if np.max(gain) < 1e-6:
            break
    found: tuple[jax.Array, jax.Array, jax.Array] = finish(z, starts, scales, data)
    return found


@cache
def _newton(log_density: LogDensity) -> tuple[Program, Program]:
    import jax
    import jax.numpy as jnp

    def negative(z: jax.Array, start: jax.Array, scale: jax.Array, data: Mapping[str, jax.Array]) -> Traced:
        return -log_density(start + scale * z, data, jnp)

    gradient, hessian = jax.grad(negative), jax.hessian(negative)

    def step(z: jax.Array, value: jax.Array, damping: jax.Array, *rest: Tree) -> tuple[jax.Array, ...]:
        value = jnp.where(jnp.isfinite(value), value, negative(z, *rest))
        slope = gradient(z, *rest)
        values, vectors = jnp.linalg.eigh(hessian(z, *rest))
        along = vectors.T @ slope
        moved = z - vectors @ (along / (jnp.abs(values) + damping))
        better = negative(moved, *rest)
        accept = jnp.isfinite(better) & (better < value)
        gain = jnp.sum(along**2 / (jnp.abs(values) + 1e-9))
        return (jnp.where(accept, moved, z), jnp.where(accept, better, value),
                jnp.where(accept, damping * 0.2, jnp.minimum(damping * 5.0, 1e9)) + 1e-12, gain)

    def finish(z: jax.Array, start: jax.Array, scale: jax.Array, data: Mapping[str, jax.Array]) -> tuple[jax.Array, ...]:
        values, vectors = jnp.linalg.eigh(hessian(z, start, scale, data))
        root = vectors / jnp.sqrt(jnp.clip(jnp.abs(values), 1e-9, 1e15))
        converged = jnp.max(jnp.abs(root.T @ gradient(z, start, scale, data))) < 1e-2
        return start + scale * z, scale[:, None] * root, converged

    return jax.jit(jax.vmap(step)), jax.jit(jax.vmap(finish))


@cache
def _transitions(log_density: LogDensity) -> Program:
    """Compile ``CHUNK`` transitions of every chain of every density."""
    import jax
    import jax.numpy as jnp
    from blackjax.adaptation.step_size import DualAveragingAdaptationState, dual_averaging_adaptation
    from blackjax.mcmc import hmc

    kernel = hmc.build_kernel()
    _, update, final = dual_averaging_adaptation(TARGET_ACCEPTANCE)

    def one_chain(key: jax.Array, current: Tree, adapted: Tree, length: jax.Array, adapting: jax.Array, point: jax.Array,
                  scale: jax.Array, data: Mapping[str, jax.Array]) -> tuple[Tree, Tree, jax.Array]:
        density = partial(whitened, log_density, point=point, scale=scale, data=data)
        size = jnp.where(adapting, jnp.exp(adapted.log_step_size), final(adapted))
        current, info = kernel(key, current, density, size, jnp.ones(len(point)), length)
        updated = update(adapted, info.acceptance_rate)
        return current, jax.tree.map(lambda new, old: jnp.where(adapting, new, old), updated, adapted), info.is_divergent

    over_chains = jax.vmap(one_chain, in_axes=(0, 0, 0, None, None, None, None, None))
    over_densities: Program = jax.vmap(over_chains, in_axes=(0, 0, 0, None, None, 0, 0, 0))

    def begin(position: jax.Array, point: jax.Array, scale: jax.Array, data: Mapping[str, jax.Array]) -> Tree:
        return hmc.init(position, partial(whitened, log_density, point=point, scale=scale, data=data))

    start_all: Program = jax.vmap(jax.vmap(begin, in_axes=(0, None, None, None)))

    @jax.jit
    def run(state: Tree, key: jax.Array, lengths: jax.Array, adapting: jax.Array, point: jax.Array, scale: jax.Array,
            data: Mapping[str, jax.Array]) -> Tree:
        positions, *adaptation = state
        count, chains, _ = positions.shape
        start = start_all(positions, point, scale, data)

        def transition(carry: Tree, inputs: tuple[jax.Array, jax.Array]) -> tuple[Tree, Tree]:
            key, length = inputs
            keys = jax.random.split(key, (count, chains))
            current, adapted, diverging = over_densities(keys, *carry, length, adapting, point, scale, data)
            return (current, adapted), (current.position, diverging)

        carry = start, DualAveragingAdaptationState(*adaptation)
        (last, adapted), (visited, diverging) = jax.lax.scan(transition, carry, (jax.random.split(key, CHUNK), lengths))
        return (last.position, *adapted), visited, diverging

    return run
