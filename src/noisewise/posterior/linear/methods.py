"""The methods for linear regression from noisy sums: each takes a request and returns draws."""

from __future__ import annotations

from typing import Final

import numpy as np

from noisewise.posterior.contributions import Contributions
from noisewise.posterior.kernels.mode import Mode, find_mode, jax_density
from noisewise.posterior.kernels.nuts import NutsDraws, sample_nuts
from noisewise.posterior.linear.collapsed import CollapsedModel
from noisewise.posterior.linear.conditional import FEW, ConditionalModel, weighted_model
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.latent import LatentModel
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.request import Request, Sampled

CLEAR: Final = 2.0
MOST_LATENT: Final = FEW
HIDDEN: Final = 1.0
TOO_MANY_TO_BE_UNKNOWN: Final = (
    "the noise is as large as the smallest moment of the predictors, and there are too many predictors to treat these moments "
    "as unknown: intervals of coefficients are much wider than they need be, and sigma can be far off")
NORMALITY_DRAWS: Final = 200
NORMALITY_SHARE: Final = 0.1
SIGMA_AWAY: Final = 3.0


def conditional(request: Request) -> Sampled:
    """The default method: S is sampled if the noise hides it, and otherwise integrated out."""
    model = default_model(request.release.contributions, request.coordinates, request.prior)
    if isinstance(model, ConditionalModel):
        return _flat(request, model)
    mode = find_mode(jax_density(model.log_density, model.data), *model.start())
    result = _nuts(request, model, mode)
    working = model.coefficients(result.draws, request.seed + 1)  # not the stream that started the chains
    return Sampled(model.coordinates.to_user(working), result.diverging, mode.doubts)


def conditional_flat(request: Request) -> Sampled:
    """Integrate S out, for any noise."""
    return _flat(request, weighted_model(request.release.contributions, request.coordinates, request.prior))


def _flat(request: Request, model: ConditionalModel) -> Sampled:
    mode = find_mode(model.density_with_gradient, *model.start())
    result = _nuts(request, model, mode)
    return Sampled(model.coordinates.to_user(result.draws), result.diverging, mode.doubts + hidden_doubts(model))


def _nuts(request: Request, model: ConditionalModel | LatentModel, mode: Mode) -> NutsDraws:
    return sample_nuts(model.log_density, model.data, mode, seed=request.seed, chains=request.chains, draws=request.draws,
                       tick=request.tick)


def default_model(contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior
                  ) -> ConditionalModel | LatentModel:
    """The model of the default method, in which S is sampled if the noise hides it."""
    model = weighted_model(contributions, coordinates, prior)
    return LatentModel.of(contributions, coordinates, prior, model.weights) if needs_latent(model) else model


def needs_latent(model: ConditionalModel) -> bool:
    """True if the noise is of the order of the predictors' smallest moment, so that it matters that S is positive definite.

    The largest eigenvalue of symmetric Gaussian noise is about its standard deviation times √(2d). Beyond ``MOST_LATENT`` columns
    the unknown S has too many entries to be sampled in reasonable time.
    """
    return len(model.data["cross"]) <= MOST_LATENT and _clearance(model) < CLEAR


def _clearance(model: ConditionalModel) -> float:
    """The predictors' smallest released moment in units of noise·√d, which is about 0.7 of the noise's largest eigenvalue."""
    noise = np.sqrt(model.data["noise"] if model.rotated else np.mean(model.data["diagonal_variances"][1:]))
    values, _ = model.spectrum()
    return float(values[0] / max(float(noise), 1e-300) / np.sqrt(len(values)))


def hidden_doubts(model: ConditionalModel) -> tuple[str, ...]:
    """Return a doubt if there are too many predictors for the latent form and enough noise to need it."""
    if len(model.data["cross"]) <= MOST_LATENT or _clearance(model) >= HIDDEN:
        return ()
    return (TOO_MANY_TO_BE_UNKNOWN,)


def laplace(request: Request) -> Sampled:
    """Independent draws from the normal approximation of the posterior of ``conditional-flat``."""
    model = weighted_model(request.release.contributions, request.coordinates, request.prior)
    mode = find_mode(model.density_with_gradient, *model.start())
    standard = np.random.default_rng(request.seed).normal(size=(request.chains, request.draws, len(mode.point)))
    draws = mode.point + standard @ mode.scale.T
    doubts = mode.doubts + _normality_doubts(model, mode, request.seed) + hidden_doubts(model)
    return Sampled(model.coordinates.to_user(draws), doubts=doubts)


def _normality_doubts(model: ConditionalModel, mode: Mode, seed: int) -> tuple[str, ...]:
    """Return doubts about a normal approximation of the posterior, from importance weights and the mode of ±σ."""
    sigma, sd = abs(float(mode.point[-1])), float(np.linalg.norm(mode.scale[-1]))
    if sigma < SIGMA_AWAY * sd:  # the density has a second mode at −σ, or its only one at 0, where its curvature says little
        return (f"sigma cannot be distinguished from 0 (mode {sigma / sd:.1f} standard deviations away): a normal "
                "approximation of it, and of whatever depends on it, can be far off",)
    z = np.random.default_rng(seed).normal(size=(NORMALITY_DRAWS, len(mode.point)))
    with np.errstate(all="ignore"):
        logs = np.array([model.log_density(mode.point + mode.scale @ row, model.data, np) + 0.5 * row @ row for row in z])
    weights = np.exp(np.nan_to_num(logs, nan=-np.inf) - np.nanmax(logs))
    share = np.sum(weights) ** 2 / np.sum(weights**2) / NORMALITY_DRAWS
    if share >= NORMALITY_SHARE:
        return ()
    return (f"the posterior is not close to a normal one (effective share of importance weights {share:.0%}): "
            "its intervals may be too narrow here",)


def collapsed(request: Request) -> Sampled:
    """Assume normal predictors, and sample their mean and covariance too."""
    model = CollapsedModel.of(request.release.contributions, request.coordinates, request.prior)
    result = model.sample(seed=request.seed, chains=request.chains, draws=request.draws, tick=request.tick)
    doubts = ("the noise is as large as the smallest moment of the predictors, and there are many of them: sigma can be far off, "
              "intervals of coefficients are wider than they need be",) if model.hidden and len(request.prior.sd) > FEW else ()
    return Sampled(model.coordinates.to_user(result.draws), result.diverging, doubts)
