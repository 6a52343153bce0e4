"""A fit to a release of kind gram: every family, and linear regression by the requested method."""

from __future__ import annotations

import time
from dataclasses import replace

from noisewise.errors import FitError
from noisewise.posterior.asked import GAUSSIAN, Asked, check_glm
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel, doubts_about_numbers
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.methods import DEFAULT_METHOD
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.request import Request
from noisewise.posterior.sites.population import random_sites
from noisewise.results import Posterior
from noisewise.schema import Design


def fit(asked: Asked) -> Posterior:
    """Fit a regression of any family; a linear one by the requested method."""
    if asked.family != GAUSSIAN:
        return fit_glm(asked)
    method, release = asked.by(), asked.release
    if asked.site is not None and asked.method != DEFAULT_METHOD:
        raise FitError("random effects by site use their own method", found=f"method {asked.method!r}",
                       remedy="leave method out")
    design = Design.of(asked.formula, release.basis, release.terms)
    resolved = ResolvedPrior.of(design, asked.prior)
    started = time.perf_counter()
    with asked.run.bar("Sampling", "steps of each chain") as tick:
        request = Request(release, Coordinates.of(design), resolved, asked.draws, asked.chains, asked.seed, tick)
        sampled = method(request) if asked.site is None else random_sites(request, design.terms, asked.site)
    return asked.result(asked.method, design, resolved.summary(design.terms), sampled, started)


def fit_glm(asked: Asked) -> Posterior:
    """Fit a regression of another family, which has one method and no sigma."""
    check_glm(asked.family, asked.method, asked.site)
    started, release = time.perf_counter(), asked.release
    design = Design.of(asked.formula, release.basis, release.terms)
    model = GlmModel.of(release, design, FAMILIES[asked.family], asked.prior)
    with asked.run.bar("Sampling", "steps of each chain") as tick:
        sampled = model.sample(draws=asked.draws, chains=asked.chains, seed=asked.seed, tick=tick)
    sampled = replace(sampled, doubts=sampled.doubts + doubts_about_numbers(design, asked.near_normal))
    return asked.result(DEFAULT_METHOD, design, model.prior_summary(design), sampled, started)
