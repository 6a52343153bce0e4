"""``fit``: a formula and one or several releases in, a posterior out. This file wires; the others hold the mathematics."""

from __future__ import annotations

import secrets
import time
from typing import Final, Literal, overload

import numpy as np

from noisewise.errors import FitError
from noisewise.posterior import adassp
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.glm.families import FAMILIES as GLM_FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.glm.fit import sample as sample_glm
from noisewise.posterior.methods import DEFAULT, METHODS
from noisewise.posterior.microdata import fit as microdata
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.posterior.request import Request, Sampled
from noisewise.posterior.sites import random_sites
from noisewise.progress import Tick, progress_bar
from noisewise.release.combine import Releases, combine
from noisewise.release.microdata import MicrodataRelease
from noisewise.release.model import Release
from noisewise.release.source import source_of
from noisewise.results import FitInfo, PointEstimate, Posterior, PriorSummary
from noisewise.schema import Design

GAUSSIAN: Final = "gaussian"
FAMILIES: Final = (GAUSSIAN, *GLM_FAMILIES)


@overload
def fit(  # type: ignore[overload-overlap]
    formula: str, release: Releases, *, method: Literal["adassp"]
) -> PointEstimate: ...


@overload
def fit(
    formula: str,
    release: Releases,
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
    release: Releases,
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
    - ``adassp``, for releases of that kind: a `PointEstimate` without posterior or intervals;
    - ``rows`` (default for releases of kind microdata) takes the noise of every published cell into account, with numbers that
      are jointly normal given the categories; ``simex`` and ``naive``, for comparison, correct for it by extrapolation, or not.

    ``family``: ``gaussian`` (default) is linear regression. ``logistic`` and ``probit`` need a response with two declared levels
    and give the probability of the second; ``poisson`` (log link) needs a count with bounds from 0. They assume that numeric
    predictors are normal given the categories, and have one method.

    ``site="random"`` gives every data holder coefficients of its own around those of a population of sites, which are then
    what the result is about; ``site="random-intercept"`` lets only the response's level differ. Without it all holders share one
    set of coefficients.

    ``prior``: see `Prior`; the default depends on public bounds only. ``seed`` makes the draws reproducible.
    ``progress``: True or False, or None for a bar on a terminal.
    """
    check_family(family)
    known = (*METHODS, adassp.METHOD, *microdata.METHODS)
    if method not in known:
        raise FitError("the method is not known", found=repr(method), remedy="known are " + ", ".join(known))
    draws, chains = whole("draws", draws, 1), whole("chains", chains, 1)
    seed = secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0)
    if isinstance(release, MicrodataRelease):
        microdata.check_request(family, method, site)
        return _fit_rows(formula, release, method, prior, draws, chains, seed, progress)
    if method in microdata.METHODS:
        raise FitError(f"the method {method!r} is for releases of kind microdata", found="another kind",
                       remedy="leave method out")
    together = release if isinstance(release, Release) else combine(release)
    if family != GAUSSIAN:
        check_glm(family, method, site)
        return _fit_glm(formula, together, family, prior, draws, chains, seed, progress)
    _check_linear(together)
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
    posterior = assemble(formula, method, together, design, linear_prior_summary(design, resolved), sampled, seed=seed,
                         seconds=seconds)
    posterior.warn_if_bad(stacklevel=2)
    return posterior


def _fit_glm(formula: str, release: Release, family: str, prior: Prior | None, draws: int, chains: int, seed: int,
             progress: Tick | bool | None) -> Posterior:
    """The other families: one method, and no sigma."""
    started = time.perf_counter()
    design = Design.of(formula, release.basis, release.terms)
    model = GlmModel.of(release, design, GLM_FAMILIES[family], prior)
    with progress_bar(progress, "Sampling", "steps of each chain") as tick:
        sampled = sample_glm(model, draws=draws, chains=chains, seed=seed, tick=tick)
    posterior = assemble(formula, DEFAULT, release, design, model.prior_summary(design), sampled, family=family, seed=seed,
                         seconds=time.perf_counter() - started)
    posterior.warn_if_bad(stacklevel=3)
    return posterior


def _fit_rows(formula: str, release: MicrodataRelease, method: str, prior: Prior | None, draws: int, chains: int, seed: int,
              progress: Tick | bool | None) -> Posterior:
    """Published rows: a linear regression by methods of their own."""
    started = time.perf_counter()
    chosen = microdata.ROWS if method == DEFAULT else method
    design = microdata.design_of(formula, release)
    with progress_bar(progress, "Sampling", "steps of all chains") as tick:
        sampled, resolved = microdata.sample_release(design, release, chosen, prior, draws=draws, chains=chains, seed=seed,
                                                     tick=tick)
    shown = linear_prior_summary(design, resolved) if chosen == microdata.ROWS else None
    posterior = assemble(formula, chosen, release, design, shown, sampled, seed=seed, seconds=time.perf_counter() - started)
    posterior.warn_if_bad(stacklevel=3)
    return posterior


def check_family(family: str) -> None:
    if family not in FAMILIES:
        raise FitError("the family is not known", found=repr(family), remedy="known are " + ", ".join(FAMILIES))


def check_glm(family: str, method: str, site: str | None = None) -> None:
    """What there is for linear regression only."""
    if method != DEFAULT:
        raise FitError(f"a {family} regression has one method", found=f"method {method!r}", remedy="leave method out")
    if site is not None:
        raise FitError("random effects by site exist for linear regression", found=f"family {family!r}", remedy="leave site out")


def _check_linear(release: Release) -> None:
    if release.kind == "moments":
        raise FitError("a release of kind moments has no sum of squares of its response, which a linear regression needs",
                       found='family="gaussian"',
                       remedy="give family=\"logistic\", \"probit\" or \"poisson\", or use a release of kind gram")


def assemble(formula: str, method: str, release: Release | MicrodataRelease, design: Design, prior: PriorSummary | None,
             sampled: Sampled, *, seed: int, seconds: float, family: str = GAUSSIAN) -> Posterior:
    """Draws with everything that is to be known about them."""
    chains, draws, _ = sampled.samples.shape
    info = FitInfo(
        method=method,
        family=family,
        formula=formula,
        seed=seed,
        chains=chains,
        draws=draws,
        divergences=0 if sampled.diverging is None else int(sampled.diverging.sum()),
        holders=release.holders if isinstance(release, Release) else 1,
        seconds=seconds,
        doubts=sampled.doubts,
        source=source_of(release),
    )
    terms = (*design.terms, "sigma") if family == GAUSSIAN else design.terms
    return Posterior(sampled.samples, terms, design, info, prior, sampled.diverging, sampled.sites)


def whole(name: str, value: int, least: int) -> int:
    """A whole number, also one of NumPy's."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value < 2**63:
        raise FitError(f"{name} must be a whole number of at least {least}", found=repr(value))
    return int(value)


def linear_prior_summary(design: Design, prior: ResolvedPrior) -> PriorSummary:
    """The prior of a linear regression as its result shows it."""
    mean, sd = prior.marginals()
    return PriorSummary(
        mean=dict(zip(design.terms, map(float, mean), strict=True)),
        sd=dict(zip(design.terms, map(float, sd), strict=True)),
        sigma_scale=prior.sigma,
    )
