"""A fit to a release of kind rows."""

from __future__ import annotations

import time

from noisewise.errors import FitError
from noisewise.posterior.asked import GAUSSIAN, Asked
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.request import Sampled
from noisewise.posterior.rows.fit import design_of, problem_of
from noisewise.results import Posterior


def fit(asked: Asked) -> Posterior:
    """Fit a linear regression to published rows."""
    if asked.family != GAUSSIAN:
        raise FitError("perturbed rows support linear regression only", found=f"family {asked.family!r}",
                       remedy="leave family out, or ask the data holder for a release of kind moments")
    asked.check_no_sites()
    started, method = time.perf_counter(), asked.by()
    design = design_of(asked.formula, asked.release)
    resolved = ResolvedPrior.of(design, asked.prior)
    problem = problem_of(design, asked.release, resolved)
    with asked.run.bar("Sampling", "steps of all chains") as tick:
        working = method(problem, asked.draws, asked.chains, asked.seed, tick)
    sampled = Sampled(Coordinates.of(design).to_user(working))
    return asked.result(method.name, design, resolved.summary(design.terms) if method.takes_prior else None, sampled, started)
