"""``fit``: a formula and one or several releases in, a posterior out. This file wires; the others hold the mathematics."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.posterior.collapsed import CollapsedModel
from noisewise.posterior.conditional import ConditionalModel, weighted_model
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.kernels.gradients import autograd_density, jax_density
from noisewise.posterior.kernels.mode import Mode, find_mode
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.progress import Tick, progress_bar
from noisewise.release.combine import combine
from noisewise.release.model import Release
from noisewise.results import FitInfo, Posterior, PriorSummary
from noisewise.schema import Design

Array = npt.NDArray[np.float64]

FAMILIES: Final = ("gaussian",)
NORMALITY_DRAWS: Final = 200
NORMALITY_SHARE: Final = 0.1


@dataclass(frozen=True)
class Request:
    """One regression to be sampled, everything public and checked."""

    release: Release
    coordinates: Coordinates
    prior: ResolvedPrior
    draws: int
    chains: int
    seed: int
    tick: Tick


@dataclass(frozen=True)
class Sampled:
    """Draws in the user's units (chains, draws, coefficients and sigma) and what is to be said about them."""

    samples: Array
    diverging: npt.NDArray[np.bool_] | None = None
    doubts: tuple[str, ...] = ()


def fit(
    formula: str,
    release: Release | Sequence[Release],
    *,
    family: str = "gaussian",
    method: str = "conditional",
    prior: Prior | None = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    progress: Tick | bool | None = None,
) -> Posterior:
    """Fit a regression to one release, or to the releases of several data holders together.

    ``formula`` may use any released columns, each of them also as the response: ``"stay ~ age + ward"``. ``method``:

    - ``conditional`` (default) makes no assumption about the distribution of the predictors;
    - ``collapsed`` assumes that they are normal;
    - ``laplace`` is a normal approximation of ``conditional``: instant, without JAX.

    ``prior``: see `Prior`; the default depends on public bounds only. ``seed`` makes the draws reproducible.
    ``progress``: True or False, or None for a bar on a terminal.
    """
    if family not in FAMILIES:
        raise FitError("the family is not known", found=repr(family), remedy="known are " + ", ".join(FAMILIES))
    if method not in METHODS:
        raise FitError("the method is not known", found=repr(method), remedy="known are " + ", ".join(METHODS))
    draws, chains = _whole("draws", draws, 1), _whole("chains", chains, 1)
    seed = secrets.randbelow(2**31) if seed is None else _whole("seed", seed, 0)
    together = release if isinstance(release, Release) else combine(release)
    design = Design.of(formula, together.basis, together.terms)
    resolved = ResolvedPrior.of(design, prior)
    started = time.perf_counter()
    with progress_bar(progress, "Sampling", "steps of each chain") as tick:
        request = Request(together, Coordinates.of(design), resolved, draws, chains, seed, tick)
        sampled = METHODS[method](request)
    info = FitInfo(
        method=method,
        family=family,
        formula=formula,
        seed=seed,
        chains=chains,
        draws=draws,
        divergences=0 if sampled.diverging is None else int(sampled.diverging.sum()),
        holders=together.holders,
        seconds=time.perf_counter() - started,
        doubts=sampled.doubts,
    )
    posterior = Posterior(sampled.samples, (*design.terms, "sigma"), design, info, _prior_summary(design, resolved),
                          sampled.diverging)
    posterior.warn_if_bad(stacklevel=2)
    return posterior


def _whole(name: str, value: int, least: int) -> int:
    """A whole number, also one of NumPy's."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value < 2**63:
        raise FitError(f"{name} must be a whole number of at least {least}", found=repr(value))
    return int(value)


def _conditional(request: Request) -> Sampled:
    model, mode = _conditional_mode(request)
    return _nuts(request, model, mode, len(mode.point))


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
    "collapsed": _collapsed,
    "laplace": _laplace,
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
    """Whether a normal approximation may stand for the posterior: the effective share of importance weights."""
    z = np.random.default_rng(seed).normal(size=(NORMALITY_DRAWS, len(mode.point)))
    with np.errstate(all="ignore"):
        logs = np.array([model.log_density(mode.point + mode.scale @ row, model.data, np) + 0.5 * row @ row for row in z])
    weights = np.exp(np.nan_to_num(logs, nan=-np.inf) - np.nanmax(logs))
    share = np.sum(weights) ** 2 / np.sum(weights**2) / NORMALITY_DRAWS
    if share >= NORMALITY_SHARE:
        return ()
    return (f"the posterior is not close to a normal one (effective share of importance weights {share:.0%}): "
            "its intervals may be too short here",)


def _prior_summary(design: Design, prior: ResolvedPrior) -> PriorSummary:
    mean, sd = prior.marginals()
    return PriorSummary(
        mean=dict(zip(design.terms, map(float, mean), strict=True)),
        sd=dict(zip(design.terms, map(float, sd), strict=True)),
        sigma_scale=prior.sigma,
    )
