"""A fit to a release of kind adassp."""

from __future__ import annotations

from noisewise.posterior.asked import GAUSSIAN, Asked
from noisewise.posterior.kinds.gram import fit_glm
from noisewise.results import PointEstimate, Posterior


def fit(asked: Asked) -> Posterior | PointEstimate:
    """Estimate the coefficients; without the response's sum of squares, no posterior is possible."""
    if asked.family != GAUSSIAN:
        return fit_glm(asked)
    method = asked.by()
    asked.check_no_sites()
    estimate: PointEstimate = method(asked.formula, asked.release)
    return estimate
