"""``fit``: a formula and one or several releases in, a posterior out. This file wires; the others hold the mathematics."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Final, Literal, overload

import numpy as np

from noisewise.errors import FitError
from noisewise.posterior import adassp
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.methods import DEFAULT, METHODS
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.posterior.request import Request, Sampled
from noisewise.posterior.sites import random_sites
from noisewise.progress import Tick, progress_bar
from noisewise.release.combine import combine
from noisewise.release.model import Release
from noisewise.results import FitInfo, PointEstimate, Posterior, PriorSummary
from noisewise.schema import Design

FAMILIES: Final = ("gaussian",)


@overload
def fit(  # type: ignore[overload-overlap]
    formula: str, release: Release | Sequence[Release], *, method: Literal["adassp"]
) -> PointEstimate: ...


@overload
def fit(
    formula: str,
    release: Release | Sequence[Release],
    *,
    family: str = ...,
    method: str = ...,
    site: str | None = ...,
    prior: Prior | None = ...,
    draws: int = ...,
    chains: int = ...,
    seed: int | None = ...,
    progress: Tick | bool | None = ...,
) -> Posterior: ...


def fit(
    formula: str,
    release: Release | Sequence[Release],
    *,
    family: str = "gaussian",
    method: str = DEFAULT,
    site: str | None = None,
    prior: Prior | None = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    progress: Tick | bool | None = None,
) -> Posterior | PointEstimate:
    """Fit a regression to one release, or to the releases of several data holders together.

    ``formula`` may use any released columns, each of them also as the response: ``"stay ~ age + ward"``. ``method``:

    - ``conditional`` (default) makes no assumption about the distribution of the predictors;
    - ``conditional-flat`` is the same with a flat prior on their moments: faster, less careful where the noise is large;
    - ``collapsed`` assumes that they are normal;
    - ``laplace`` is a normal approximation of ``conditional-flat``: instant, without JAX;
    - ``normal-x``, ``normal-x-nuts``, ``fixed-s``, ``fast``, ``clt-gibbs``: the methods of the literature, for comparison;
    - ``adassp``, for releases of that kind: a `PointEstimate` without posterior or intervals.

    ``site="random"`` gives every data holder coefficients of its own around those of a population of sites, which are then
    what the result is about; ``site="random-intercept"`` lets only the response's level differ. Without it all holders share one
    set of coefficients.

    ``prior``: see `Prior`; the default depends on public bounds only. ``seed`` makes the draws reproducible.
    ``progress``: True or False, or None for a bar on a terminal.
    """
    if family not in FAMILIES:
        raise FitError("the family is not known", found=repr(family), remedy="known are " + ", ".join(FAMILIES))
    if method not in (adassp.METHOD, *METHODS):
        raise FitError("the method is not known", found=repr(method), remedy="known are " + ", ".join((*METHODS, adassp.METHOD)))
    draws, chains = whole("draws", draws, 1), whole("chains", chains, 1)
    seed = secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0)
    together = release if isinstance(release, Release) else combine(release)
    adassp.check_method(method, together)
    if site is not None and method != DEFAULT:
        raise FitError("random effects by site have a method of their own", found=f"method {method!r}", remedy="leave method out")
    if method == adassp.METHOD:
        if prior is not None:
            raise FitError("a point estimate has no prior", found="a prior", remedy="leave prior out")
        estimate = adassp.point_estimate(formula, together)
        estimate.warn_if_bad(stacklevel=2)
        return estimate
    design = Design.of(formula, together.basis, together.terms)
    resolved = ResolvedPrior.of(design, prior)
    started = time.perf_counter()
    with progress_bar(progress, "Sampling", "steps of each chain") as tick:
        request = Request(together, Coordinates.of(design), resolved, draws, chains, seed, tick)
        sampled = METHODS[method](request) if site is None else random_sites(request, design.terms, site)
    seconds = time.perf_counter() - started
    posterior = assemble(formula, method, together, design, resolved, sampled, seed=seed, seconds=seconds)
    posterior.warn_if_bad(stacklevel=2)
    return posterior


def assemble(formula: str, method: str, release: Release, design: Design, prior: ResolvedPrior, sampled: Sampled, *, seed: int,
             seconds: float) -> Posterior:
    """Draws with everything that is to be known about them."""
    chains, draws, _ = sampled.samples.shape
    info = FitInfo(
        method=method,
        family=FAMILIES[0],
        formula=formula,
        seed=seed,
        chains=chains,
        draws=draws,
        divergences=0 if sampled.diverging is None else int(sampled.diverging.sum()),
        holders=release.holders,
        seconds=seconds,
        doubts=sampled.doubts,
    )
    return Posterior(sampled.samples, (*design.terms, "sigma"), design, info, _prior_summary(design, prior), sampled.diverging,
                     sampled.sites)


def whole(name: str, value: int, least: int) -> int:
    """A whole number, also one of NumPy's."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value < 2**63:
        raise FitError(f"{name} must be a whole number of at least {least}", found=repr(value))
    return int(value)


def _prior_summary(design: Design, prior: ResolvedPrior) -> PriorSummary:
    mean, sd = prior.marginals()
    return PriorSummary(
        mean=dict(zip(design.terms, map(float, mean), strict=True)),
        sd=dict(zip(design.terms, map(float, sd), strict=True)),
        sigma_scale=prior.sigma,
    )
