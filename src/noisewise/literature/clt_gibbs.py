"""``clt-gibbs``: Bernstein and Sheldon's sampler (2019) for several holders, as in appendix C.1 of Alparslan et al. (2023).

It assumes normal predictors and a central limit theorem for the exact Gram matrices. The paper's own algorithm inverts a D×D
matrix per iteration, D = d(d + 3)/2 + 1; ``kernels.clt_conditional`` needs only O(d³). This file builds the sampler's arrays.

Under the model, holders with the same ratio of noise variance to number of rows act as one holder: the sum of their matrices is
sufficient, because each exact matrix is drawn towards its noisy one with the same weights. So they are added up before sampling,
and equal holders cost no more than one. Holders with private numbers of rows are kept separate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import FitError
from noisewise.literature.kernels.clt_gibbs_chain import Data, Parts, Variant, Visited, gibbs_chain
from noisewise.literature.normal_features import FeaturePrior
from noisewise.literature.statistics import HalfNormal, HolderStatistics, LinearProblem
from noisewise.posterior.kernels.jax_setup import as_numpy, double_precision
from noisewise.posterior.kernels.stored_program import stored_program
from noisewise.posterior.request import Request, Sampled

Start = tuple[Array, ...]

CHUNK: Final = 100
"""Iterations per compiled call: the progress bar moves and Ctrl-C works between calls."""
REJECTED_SHARE: Final = 0.05


@dataclass(frozen=True)
class GibbsModel:
    """The arrays of the sampler."""

    data: Mapping[str, Array]
    variant: Variant

    @classmethod
    def of(cls, problem: LinearProblem, features_prior: FeaturePrior | None = None, *, scaled_prior: bool = False,
           merge: bool = True) -> GibbsModel:
        """Build the arrays of a problem.

        ``scaled_prior`` uses the paper's prior, g ~ N(mean, σ²/precision); ``merge`` adds up holders where that is exact.
        """
        statistics, sigma = problem.statistics, problem.sigma_prior
        size = statistics.gram.shape[1]
        holders = _holders(statistics, problem.response_bound)
        private = bool(holders["private"].any())
        if merge and not private:
            holders = _merged(holders)
        split = bool((holders["share"] < 1.0 - 1e-9).any())
        features = features_prior or FeaturePrior.default(size - 1 if statistics.constant else size)
        pair = (sigma.scale, 0.0) if isinstance(sigma, HalfNormal) else (sigma.shape, sigma.rate)
        data = holders | {
            "effects": problem.effects, "offset": problem.offset, "prior_mean": problem.prior_mean,
            "prior_precision": problem.prior_precision, "sigma_prior": pair, "features_scale": features.scale,
            "features_degrees": features.degrees, "mean_weight": features.mean_rows,
        }
        variant = Variant(statistics.constant, private, split, isinstance(sigma, HalfNormal), scaled_prior)
        return cls({key: np.asarray(value, dtype=float) for key, value in data.items()}, variant)

    def start(self, generator: np.random.Generator) -> Start:
        """Draw a first state: the moments of the noisy matrices with the same amount of noise added again, projected to the cone.

        Starting points of different chains are further apart than the posterior is wide, so that their agreement means something.
        """
        data, constant = self.data, self.variant.constant
        size, count, noise = data["matrices"].shape[1], data["rows"].sum(), np.sqrt(data["noise"].sum())
        again = generator.normal(size=(size, size))
        moments = (data["matrices"].sum(axis=0) + noise * (again + again.T) / 2) / count
        mean = np.clip(moments[0, 1:], -1.0, 1.0) if constant else np.zeros(size)
        centred = (moments[1:, 1:] if constant else moments) - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(centred)
        values = np.maximum(values, np.clip(noise / count, 1e-9 * values[-1], 1.0 / 3.0))
        moments = (vectors * values) @ vectors.T + np.outer(mean, mean)
        if constant:
            moments = np.block([[np.ones((1, 1)), mean[None]], [mean[:, None], moments]])
        s, z = moments[:-1, :-1], moments[:-1, -1]
        coefficients, *_ = np.linalg.lstsq(data["effects"], np.linalg.solve(s, z) - data["offset"], rcond=None)
        residual = np.append(data["effects"] @ coefficients + data["offset"], -1.0)
        rows = data["rows"] if self.variant.split_noise else data["rows"].sum(keepdims=True)
        variance = np.array(residual @ moments @ residual)
        return np.asarray(coefficients, dtype=np.float64), variance, s, rows[:, None, None] * moments, data["rows"]


def clt_gibbs(request: Request) -> Sampled:
    """Sample, discarding as many iterations for warm-up as are kept."""
    problem = LinearProblem.of(request)
    draws, rejected = sample_gibbs(GibbsModel.of(problem), request)
    draws[..., -1] *= problem.sigma_scale
    share = float(rejected.mean())
    doubts = () if share <= REJECTED_SHARE else (
        f"{share:.0%} of the drawn Gram matrices were not positive definite and were rejected: the central limit theorem behind "
        'clt-gibbs is a poor approximation here, and its chains move slowly; compare with method="conditional"',)
    return Sampled(request.coordinates.to_user(draws), doubts=doubts)


def sample_gibbs(model: GibbsModel, request: Request) -> tuple[Array, Flags]:
    """Return draws (chains, draws, parameters) of (g, σ) in the problem's units, and flags where the Gram matrix was rejected."""
    starts = [model.start(np.random.default_rng([request.seed, chain])) for chain in range(request.chains)]
    state = tuple(np.array(part, dtype=float) for part in zip(*starts, strict=True))
    rounds = -(-request.draws // CHUNK)
    kept, flags = [], []
    with double_precision():
        for index in range(2 * rounds):
            arguments = state, np.int64(request.seed), np.int64(index), dict(model.data)
            # Back to NumPy arrays; otherwise the second call would be recompiled for arguments on a device.
            state, (visited, rejected) = as_numpy(_program(model.variant, arguments)(*arguments))
            if index >= rounds:
                kept.append(visited)
                flags.append(rejected)
            request.tick((index + 1) * CHUNK, 2 * rounds * CHUNK)
    return np.concatenate(kept, axis=1)[:, :request.draws], np.concatenate(flags, axis=1)[:, :request.draws]


def _program(variant: Variant, arguments: tuple[Any, ...]) -> Any:
    return stored_program(f"clt-gibbs {variant}", lambda: _chains(variant), arguments)


@cache
def _chains(variant: Variant) -> Any:
    """Compile ``CHUNK`` iterations of all chains, run side by side."""
    import jax

    chain = jax.vmap(gibbs_chain(variant, CHUNK), in_axes=(0, 0, None))

    def run(state: Parts, seed: jax.Array, index: jax.Array, data: Data) -> tuple[Parts, Visited]:
        key = jax.random.fold_in(jax.random.key(seed), index)
        return chain(state, jax.random.split(key, state[0].shape[0]), data)

    return jax.jit(run)


def _holders(statistics: HolderStatistics, response_bound: float) -> dict[str, Array]:
    """Return the matrices of (x, y), the numbers of rows, and the noise in two parts.

    The parts are symmetric Gaussian noise of variance ``noise``, and the rest. ``share`` is the symmetric part's share of each
    entry's variance, 1 everywhere if there is no other noise.
    """
    matrices = _bordered(statistics.gram, statistics.cross, statistics.total)
    variances = _bordered(statistics.gram_variance, np.broadcast_to(statistics.cross_variance[:, None], statistics.cross.shape),
                          statistics.total_variance)
    rows = np.maximum(np.asarray(statistics.rows, dtype=float), 1.0)
    private = (variances[:, 0, 0] > 0) & statistics.constant
    comparable = variances * (2.0 - np.eye(variances.shape[1]))
    if statistics.constant:  # an exact corner is the number of rows; noise there makes no difference
        comparable[:, 0, 0] = np.where(private, comparable[:, 0, 0], comparable[:, 1, 1])
    noise = comparable.min(axis=(1, 2))
    if np.any((noise == 0) & (comparable.max(axis=(1, 2)) > 0)):  # the chain would never move
        raise FitError("clt-gibbs needs noise on all statistics or on none", found="noise on some entries only")
    share = np.divide(noise[:, None, None], comparable, out=np.ones_like(comparable), where=comparable > 0)
    # Entries that were not released (share 0) only serve as a starting point.
    matrices = np.where(np.isinf(variances), (rows * response_bound**2 / 3.0)[:, None, None], matrices)
    return {"matrices": matrices, "rows": rows, "noise": noise, "share": share, "private": private.astype(np.float64)}


def _bordered(inner: Array, cross: Array, corner: Array) -> Array:
    above = np.concatenate([inner, cross[:, :, None]], axis=2)
    below = np.concatenate([cross, corner[:, None]], axis=1)
    return np.concatenate([above, below[:, None, :]], axis=1).astype(np.float64)


def _merged(holders: dict[str, Array]) -> dict[str, Array]:
    """Add up holders with the same ratio of noise to rows and the same shares."""
    keys = [(f"{noise / rows:.9e}", np.round(share, 9).tobytes())
            for noise, rows, share in zip(holders["noise"], holders["rows"], holders["share"], strict=True)]
    order = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    member = np.array([order[key] for key in keys])
    first = np.array([keys.index(key) for key in order])
    merged = {name: np.zeros((len(order), *holders[name].shape[1:])) for name in ("matrices", "rows", "noise")}
    for name, target in merged.items():
        np.add.at(target, member, holders[name])
    return merged | {"share": holders["share"][first], "private": holders["private"][first]}
