"""The methods by name: each takes a request and returns draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.posterior.clt_gibbs import clt_gibbs
from noisewise.posterior.collapsed import CollapsedModel
from noisewise.posterior.conditional import ConditionalModel, weighted_model
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.fixed_moments import fast, fixed_s
from noisewise.posterior.kernels.gradients import autograd_density, jax_density
from noisewise.posterior.kernels.mode import Mode, find_mode
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.latent import LatentModel
from noisewise.posterior.normal_features_gibbs import normal_x
from noisewise.posterior.normal_features_nuts import normal_x_nuts
from noisewise.posterior.parts import Part
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.request import Request, Sampled

Array = npt.NDArray[np.float64]

DEFAULT: Final = "conditional"
CLEAR: Final = 2.0
MOST_LATENT: Final = 13
NORMALITY_DRAWS: Final = 200
NORMALITY_SHARE: Final = 0.1
SIGMA_AWAY: Final = 3.0


def _conditional(request: Request) -> Sampled:
    """The default: with S as an unknown where the noise hides it, and integrated out where it does not matter."""
    model = default_model(request.release.parts, request.coordinates, request.prior)
    if isinstance(model, ConditionalModel):
        return _flat(request, model)
    mode = find_mode(jax_density(model.log_density, model.data), *model.start())
    result = sample_nuts(model.log_density, model.data, mode, seed=request.seed, chains=request.chains, draws=request.draws,
                         tick=request.tick)
    working = model.coefficients(result.draws, request.seed + 1)  # not the stream that started the chains
    return Sampled(model.coordinates.to_user(working), result.diverging, _doubts(mode))


def _conditional_flat(request: Request) -> Sampled:
    return _flat(request, weighted_model(request.release.parts, request.coordinates, request.prior))


def _flat(request: Request, model: ConditionalModel) -> Sampled:
    mode = find_mode(autograd_density(model.log_density, model.data), *model.start())
    return _nuts(request, model, mode, len(mode.point))


def default_model(parts: Sequence[Part], coordinates: Coordinates, prior: ResolvedPrior) -> ConditionalModel | LatentModel:
    """The model of the default method: with S as an unknown where the noise hides it."""
    model = weighted_model(parts, coordinates, prior)
    return LatentModel.of(parts, coordinates, prior, model.weights) if needs_latent(model) else model


def needs_latent(model: ConditionalModel) -> bool:
    """Whether the noise is of the order of the predictors' smallest moment, so that it matters that S is positive definite.

    The largest eigenvalue of symmetric Gaussian noise is about its standard deviation times √(2d). Beyond ``MOST_LATENT`` columns
    the unknown S has too many entries to be sampled in reasonable time.
    """
    gram = model.data["gram"]
    noise = np.sqrt(model.data["noise"] if model.rotated else np.mean(model.data["diagonal_variances"][1:]))
    smallest = np.linalg.eigvalsh((gram + gram.T) / 2)[0]
    return len(gram) <= MOST_LATENT and bool(smallest < CLEAR * noise * np.sqrt(len(gram)))


def _laplace(request: Request) -> Sampled:
    """Independent draws from the normal approximation of the conditional posterior."""
    model, mode = _conditional_mode(request)
    standard = np.random.default_rng(request.seed).normal(size=(request.chains, request.draws, len(mode.point)))
    draws = mode.point + standard @ mode.scale.T
    return Sampled(model.coordinates.to_user(draws), doubts=_doubts(mode) + _normality_doubts(model, mode, request.seed))


def _collapsed(request: Request) -> Sampled:
    rough, rough_mode = _conditional_mode(request)
    beta = rough.coordinates.to_user(rough_mode.point)[:-1]
    g: Array = np.linalg.solve(request.coordinates.slope, beta - request.coordinates.offset).astype(np.float64)
    model = CollapsedModel.of(request.release.parts, request.coordinates, request.prior)
    mode = find_mode(jax_density(model.log_density, model.data), *model.start(g, float(rough_mode.point[-1])))
    return _nuts(request, model, mode, len(g) + 1)


METHODS: Final[dict[str, Callable[[Request], Sampled]]] = {
    "conditional": _conditional,
    "conditional-flat": _conditional_flat,
    "collapsed": _collapsed,
    "laplace": _laplace,
    "normal-x": normal_x,
    "normal-x-nuts": normal_x_nuts,
    "fixed-s": fixed_s,
    "fast": fast,
    "clt-gibbs": clt_gibbs,
}


def _conditional_mode(request: Request) -> tuple[ConditionalModel, Mode]:
    model = weighted_model(request.release.parts, request.coordinates, request.prior)
    return model, find_mode(autograd_density(model.log_density, model.data), *model.start())


def _nuts(request: Request, model: Any, mode: Mode, size: int) -> Sampled:
    """Sample; the first ``size`` parameters are the coefficients and ±sigma."""
    result = sample_nuts(model.log_density, model.data, mode, seed=request.seed, chains=request.chains, draws=request.draws,
                         tick=request.tick)
    return Sampled(model.coordinates.to_user(result.draws[..., :size]), result.diverging, _doubts(mode))


def _doubts(mode: Mode) -> tuple[str, ...]:
    return () if mode.converged else ("the search for the posterior's mode did not settle",)


def _normality_doubts(model: ConditionalModel, mode: Mode, seed: int) -> tuple[str, ...]:
    """Whether a normal approximation may stand for the posterior: the share of importance weights, and where ±σ lies."""
    sigma, sd = abs(float(mode.point[-1])), float(np.linalg.norm(mode.scale[-1]))
    if sigma < SIGMA_AWAY * sd:  # the density has a second mode at −σ, or its only one at 0, where its curvature says little
        return (f"sigma is not told from 0 (mode {sigma / sd:.1f} standard deviations away): a normal approximation of it, and "
                "of what depends on it, can be far off",)
    z = np.random.default_rng(seed).normal(size=(NORMALITY_DRAWS, len(mode.point)))
    with np.errstate(all="ignore"):
        logs = np.array([model.log_density(mode.point + mode.scale @ row, model.data, np) + 0.5 * row @ row for row in z])
    weights = np.exp(np.nan_to_num(logs, nan=-np.inf) - np.nanmax(logs))
    share = np.sum(weights) ** 2 / np.sum(weights**2) / NORMALITY_DRAWS
    if share >= NORMALITY_SHARE:
        return ()
    return (f"the posterior is not close to a normal one (effective share of importance weights {share:.0%}): "
            "its intervals may be too short here",)
