"""What a posterior would refuse, refused before the release: a typing error in the prior must not cost budget."""

from __future__ import annotations

from typing import Any

from noisewise.errors import FitError
from noisewise.posterior.fit import GAUSSIAN, whole
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.prior import prior_data
from noisewise.posterior.methods import METHODS
from noisewise.posterior.prior import ResolvedPrior
from noisewise.results.records import check_interval
from noisewise.schema import Basis, Design, Schema


def check_request(formula: str, schema: Schema, *, family: str, method: str, prior: Any, draws: Any, chains: Any, interval: Any
                  ) -> None:
    """Refuse what `noisewise.fit` would refuse, from public declarations alone."""
    whole("draws", draws, 1)
    whole("chains", chains, 1)
    check_interval(interval)
    if method not in METHODS:
        raise FitError("the method is not known", found=repr(method), remedy="known are " + ", ".join(METHODS))
    design = Design.of(formula, Basis.of(schema))
    if family == GAUSSIAN:
        ResolvedPrior.of(design, prior)
    else:
        prior_data(design, FAMILIES[family], prior)
