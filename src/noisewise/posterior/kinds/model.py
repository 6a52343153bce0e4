"""A fit to a release of kind model: the regression that it was made for."""

from __future__ import annotations

import time
from typing import Final

from threadpoolctl import threadpool_limits

from noisewise.errors import FitError
from noisewise.kinds import Model
from noisewise.posterior.asked import Asked
from noisewise.posterior.model.problem import ModelProblem
from noisewise.results import Posterior
from noisewise.results.fit_info import ROBUST
from noisewise.schema import Design
from noisewise.words import either, leave_out, option

OWN_REGRESSION: Final = True
"""Such a release is for one regression: its fit needs no formula, and its intervals can be robust."""


def fit(asked: Asked) -> Posterior:
    """Fit the regression of the release."""
    if asked.site is not None:
        raise FitError("random effects by site need releases of kind gram", argument="site", found=option("site", asked.site),
                       remedy=leave_out("site") + "; whether the sites differ shows "
                       + either("post.check(release)", "noisewise check"))
    release = asked.release
    kind = release.kind
    assert isinstance(kind, Model)
    started, method = time.perf_counter(), asked.by()
    if not kind.same_regression(asked.formula, release.schema):
        raise FitError("a model release serves only the regression that it was made for", argument="formula",
                       found=asked.formula, remedy=leave_out("formula") + f" to fit {kind.formula!r}, or ask the data holder for "
                       "a release of this formula")
    if asked.family != kind.family:
        raise FitError("a model release serves only the family that it was made for", argument="family",
                       found=option("family", asked.family), remedy=leave_out("family") + f" to fit {kind.family}")
    if asked.robust and any(one.last.spread is None for one in release.contributions):
        raise FitError(f"a {kind.family} regression has no robust intervals: the variance of two levels follows from "
                       "their chances", argument="robust", found=option("robust", True), remedy=leave_out("robust"))
    design = Design.of(asked.formula, release.basis, release.terms)
    problem = ModelProblem.of(release, design, asked.prior, asked.robust)
    # Matrices are small: BLAS threads would only wait for each other.
    with asked.run.bar("Sampling", "draws of each chain") as tick, threadpool_limits(limits=1, user_api="blas"):
        found = method(problem, asked.draws, asked.chains, asked.seed, tick)
    name = method.name + (ROBUST if asked.robust else "")
    return asked.result(name, design, problem.prior_summary(), found.sampled, started, found.estimand)
