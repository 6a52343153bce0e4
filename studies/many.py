"""Many fits of one method at once, for studies: the library's own samplers, mapped over replicates.

Each function takes a list of problems of the same shape and returns draws of (coefficients, sigma): (problems, draws, p + 1).
Replicates go through a compiled call in groups: in large batches of small matrices jaxlib's triangular solver can stall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.literature.clt_gibbs import GibbsModel
from noisewise.literature.fixed_moments import FIXED_S, draw_normal, fast_posterior, fixed_s_arrays
from noisewise.literature.kernels.clt_gibbs_chain import gibbs_chain
from noisewise.literature.kernels.metropolis import Sampler, chain
from noisewise.literature.normal_features import FeaturePrior, assemble_all, model_arrays, normal_equations
from noisewise.literature.normal_x import NORMAL_X, TARGET_ACCEPTANCE, gibbs_arrays
from noisewise.literature.normal_x_nuts import log_density, start, unpacked
from noisewise.literature.statistics import LinearProblem
from noisewise.posterior.kernels.batch import find_modes, sample_batch
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.kernels.small_linear import MANY
from noisewise.posterior.linear.collapsed import CollapsedModel
from noisewise.posterior.linear.conditional import ConditionalModel, weighted_model
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.latent import LatentModel
from noisewise.posterior.linear.methods import needs_latent
from noisewise.posterior.prior import ResolvedPrior

Array = npt.NDArray[np.float64]
Problems = Sequence[LinearProblem]

AT_ONCE = 100
"""Matrices that are handled side by side."""
BATCHED = 8
"""Up to this many predictors, including the constant, the latent form is compiled for many fits at once."""
LATENT_GROUP = 50
"""A fixed number, so that a study compiles it once."""
LARGE = 60
"""Parameters of ``collapsed`` above which fits are done one by one: the curvature would be the longest part of a batch."""


@dataclass(frozen=True)
class Length:
    """Steps discarded and kept."""

    warmup: int
    draws: int


LATENT = Length(500, 4_000)
"""In batches the latent form mixes slowly: run this many steps in any case, and keep the requested number."""


def fast(problems: Problems, sigma: float, draws: int, seed: int) -> Array:
    """Independent draws; sigma is a constant."""
    generator, found = np.random.default_rng(seed), []
    for problem in problems:
        mean, covariance = fast_posterior(problem, sigma)
        g = mean + generator.normal(size=(draws, len(mean))) @ np.linalg.cholesky(covariance).T
        found.append(np.column_stack([g, np.full(draws, sigma)]))
    return np.array(found)


def fixed_s(problems: Problems, length: Length, seed: int, ridge: float = 0.0) -> Array:
    return metropolis(FIXED_S, [fixed_s_arrays(problem, ridge) for problem in problems], length, seed)


def normal_x(problems: Problems, length: Length, seed: int, prior: FeaturePrior | None = None, sampler: Sampler = NORMAL_X,
             target: float = TARGET_ACCEPTANCE) -> Array:
    return metropolis(sampler, [gibbs_arrays(problem, prior, target) for problem in problems], length, seed)


def metropolis(sampler: Sampler, arrays: Sequence[Mapping[str, Array]], length: Length, seed: int) -> Array:
    """Chains of a sampler, one per problem."""
    with double_precision():
        import jax

        run = _mapped(sampler, length)
        holders = len(arrays[0]["cross"])
        keys = jax.random.split(jax.random.key(seed), len(arrays))
        found = [np.asarray(run(keys[group], stacked([arrays[k] for k in group]))) for group in groups(len(arrays), holders)]
    return in_order(found, len(arrays))


@cache
def _mapped(sampler: Sampler, length: Length) -> Any:
    import jax

    return jax.jit(jax.vmap(lambda key, data: chain(sampler, key, data, length.warmup, length.draws)))


def clt_gibbs(problems: Problems, length: Length, seed: int, prior: FeaturePrior | None = None, *,
              scaled_prior: bool = False) -> Array:
    models = [GibbsModel.of(problem, prior, scaled_prior=scaled_prior) for problem in problems]
    starts = [model.start(np.random.default_rng([seed, index])) for index, model in enumerate(models)]
    states = [{str(place): np.asarray(part, dtype=float) for place, part in enumerate(state)} for state in starts]
    with double_precision():
        import jax

        run = _gibbs(models[0].variant, length)
        keys = jax.random.split(jax.random.key(seed), len(models))
        found = []
        for group in groups(len(models), len(models[0].data["rows"])):
            state = tuple(stacked([states[k] for k in group]).values())
            found.append(np.asarray(run(state, keys[group], stacked([models[k].data for k in group]))))
    return in_order(found, len(models))


@cache
def _gibbs(variant: Any, length: Length) -> Any:
    import jax

    steps = gibbs_chain(variant, length.warmup + length.draws)
    return jax.jit(jax.vmap(lambda state, key, data: steps(state, key, data)[1][0][length.warmup:]))


def normal_x_hmc(problems: Problems, length: Length, seed: int, prior: FeaturePrior | None = None) -> Array:
    """The posterior of ``normal-x-nuts``."""
    arrays = [model_arrays(problem, prior) for problem in problems]
    starts, scales = (np.array(part) for part in zip(*map(start, arrays), strict=True))
    points = hmc(log_density, arrays, starts, scales, length, seed, len(arrays[0]["rows"]))
    with double_precision():
        draws = [_coefficients()(np.int64(seed + index), one, dict(data))
                 for index, (one, data) in enumerate(zip(points, arrays, strict=True))]
    return np.concatenate([np.array(draws), np.abs(points[..., :1])], axis=2)


@cache
def _coefficients() -> Any:
    """Draws of g given the other unknowns of ``normal-x-nuts``."""
    import jax
    import jax.numpy as jnp

    def one(key: Any, x: Any, data: Any) -> Any:
        means, _, lower = unpacked(x[1:], data, jnp)
        return draw_normal(key, *normal_equations(assemble_all(lower, means, data, jnp), x[0] ** 2, data, jnp)[:2])

    def run(seed: Any, points: Any, data: Any) -> Any:
        keys = jax.random.split(jax.random.key(seed), points.shape[0])
        return jax.lax.map(lambda both: one(both[0], both[1], data), (keys, points))

    return jax.jit(run)


@dataclass(frozen=True)
class Units:
    """Working units and prior; for the latent form they may differ, with ``hide`` applied to the parts.

    That is for releases without a constant: the latent form then gets an intercept, which is dropped from its draws.
    """

    coordinates: Coordinates
    prior: ResolvedPrior
    hide: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    latent: tuple[Coordinates, ResolvedPrior] | None = None


def ours(method: str, parts: Sequence[Sequence[Any]], units: Units, length: Length, seed: int) -> Array:
    """``conditional``, ``conditional-flat`` or ``collapsed``, in the user's units."""
    if method == "collapsed":
        return _collapsed(parts, units, length, seed)
    models = [weighted_model(each, units.coordinates, units.prior) for each in parts]
    points = conditional_modes(models)
    latent = [index for index, model in enumerate(models) if method == "conditional" and needs_latent(model)]
    rest = [index for index in range(len(models)) if index not in latent]
    users = np.empty((len(models), length.draws, len(units.prior.sd) + 1))
    if latent:
        weights = [models[k].weights for k in latent]
        users[latent] = _latent([parts[k] for k in latent], weights, units, points[latent, -1], length, seed)
    if rest:
        some = [models[k] for k in rest]
        starts, scales = (np.array(part) for part in zip(*(model.start() for model in some), strict=True))
        draws = hmc(some[0].log_density, [model.data for model in some], starts, scales, length, seed, 1)
        users[rest] = [model.coordinates.to_user(chain) for model, chain in zip(some, draws, strict=True)]
    return users


def conditional_modes(models: Sequence[ConditionalModel]) -> Array:
    with double_precision():
        starts, scales = (np.array(part) for part in zip(*(model.start() for model in models), strict=True))
        return np.asarray(find_modes(models[0].log_density, stacked([model.data for model in models]), starts, scales)[0])


def _latent(parts: Sequence[Sequence[Any]], weights: Sequence[Array | None], units: Units, sigmas: Array, length: Length,
            seed: int) -> Array:
    coordinates, prior = units.latent or (units.coordinates, units.prior)
    hidden = parts if units.hide is None else [units.hide(each) for each in parts]
    models = [LatentModel.of(each, coordinates, prior, weight) for each, weight in zip(hidden, weights, strict=True)]
    begin = [model.start(max(abs(float(sigma)), 0.05)) for model, sigma in zip(models, sigmas, strict=True)]
    if len(models[0].data["gram"]) > BATCHED:
        draws = _one_by_one(models, begin, length, seed)
    else:  # copies: the curvature needs the factors of very many matrices, which have to be written out
        arrays = [dict(model.data) | {"copies": np.zeros(MANY)} for model in models]
        starts, scales = (np.array(part) for part in zip(*begin, strict=True))
        place = np.arange(-(-len(models) // LATENT_GROUP) * LATENT_GROUP) % len(models)
        draws = hmc(models[0].log_density, [arrays[k] for k in place], starts[place], scales[place], LATENT, seed,
                    AT_ONCE // LATENT_GROUP)[:len(models), ::max(1, LATENT.draws // length.draws)][:, :length.draws]
    working = [model.coefficients(chain, seed + k) for k, (model, chain) in enumerate(zip(models, draws, strict=True))]
    return np.array([coordinates.to_user(each) for each in working])[:, :, len(prior.sd) - len(units.prior.sd):]


def _one_by_one(models: Sequence[Any], begin: Sequence[tuple[Array, Array]], length: Length, seed: int) -> Array:
    """Sample as a fit does, for models that take long to compile in batches."""
    found = []
    for index, (model, start_and_scale) in enumerate(zip(models, begin, strict=True)):
        mode = find_mode(jax_density(model.log_density, model.data), *start_and_scale)
        result = sample_nuts(model.log_density, model.data, mode, seed=seed + index, chains=1, draws=length.draws,
                             warmup=length.warmup)
        found.append(result.draws[0])
    return np.array(found)


def _collapsed(parts: Sequence[Sequence[Any]], units: Units, length: Length, seed: int) -> Array:
    models = [CollapsedModel.of(each, units.coordinates, units.prior) for each in parts]
    starts, scales = (np.array(part) for part in zip(*(model.start() for model in models), strict=True))
    if len(starts[0]) > LARGE:
        working = [model.sample(seed=seed + index, chains=1, draws=length.draws, warmup=length.warmup).draws[0]
                   for index, model in enumerate(models)]
    else:
        draws = hmc(models[0].log_density, [model.data for model in models], starts, scales, length, seed, len(parts[0]))
        working = [model.coefficients(chain) for model, chain in zip(models, draws, strict=True)]
    return np.array([units.coordinates.to_user(chain) for chain in working])


def hmc(density: Any, arrays: Sequence[Mapping[str, Array]], starts: Array, scales: Array, length: Length, seed: int,
        holders: int) -> Array:
    """One chain for each density: (densities, draws, parameters)."""
    found = []
    for group in groups(len(arrays), holders):
        data = stacked([arrays[k] for k in group])
        result = sample_batch(density, data, starts[group], scales[group], seed=seed + int(group[0]), chains=1,
                              draws=length.draws, warmup=length.warmup)
        bad = [k for k, fine in enumerate(result.converged & np.isfinite(result.draws).all(axis=(1, 2, 3))) if not fine]
        chains = np.array(result.draws[:, 0])
        if bad:  # a rare start from which Newton's method gets lost
            models = [SimpleNamespace(log_density=density, data=arrays[group[k]]) for k in bad]
            chains[bad] = _one_by_one(models, [(starts[group[k]], scales[group[k]]) for k in bad], length, seed)
        found.append(chains)
    return in_order(found, len(arrays))


def stacked(arrays: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {key: np.stack([np.asarray(one[key], dtype=float) for one in arrays]) for key in arrays[0]}


def groups(count: int, holders: int) -> list[npt.NDArray[np.int64]]:
    """Places 0 … count − 1 in groups of one size, so that one compiled program serves all; the last may start over at 0."""
    size = min(count, max(1, AT_ONCE // holders))
    number = -(-count // size)
    size = -(-count // number)
    return list((np.arange(number * size) % count).reshape(number, size))


def in_order(found: Sequence[Array], count: int) -> Array:
    return np.concatenate(found)[:count]
