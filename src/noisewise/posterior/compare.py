"""``compare_methods``: the same regression on the same release by every method, side by side."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Sequence
from typing import Final

from noisewise.errors import ConvergenceWarning, FitError
from noisewise.posterior.adassp import check_method
from noisewise.posterior.fit import GAUSSIAN, fit, whole
from noisewise.posterior.methods import DEFAULT, METHODS
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.progress import Tick
from noisewise.release.combine import Releases, combine
from noisewise.release.model import Release
from noisewise.results.comparison import MethodComparison
from noisewise.schema import Design

CAUTIONS: Final[dict[str, str]] = {
    "conditional-flat": "leans towards zero, or is too wide, where the noise is larger than the predictors' moments",
    "collapsed": "assumes normal predictors; with others its intervals can be too short",
    "laplace": "a normal approximation of conditional; too short or too wide where the noise hides sigma",
    "normal-x": "assumes normal predictors; with others its intervals can be too short",
    "normal-x-nuts": "assumes normal predictors; with others its intervals can be too short",
    "fixed-s": "takes the noisy matrix of the predictors for exact: its intervals are too short",
    "fast": "takes the noisy matrix of the predictors for exact, and is a normal approximation: its intervals are not calibrated",
    "simex": "extrapolates to no noise by a quadratic curve: it falls short where the noise is large, and its intervals do too",
    "naive": "takes noisy rows for exact: slopes are far too small and intervals too short",
    "clt-gibbs": "assumes normal predictors; with others its intervals can be too short",
}
"""What is known against a method's intervals, in one sentence each; see the documentation's calibration page."""


def compare_methods(
    formula: str,
    release: Releases,
    methods: Sequence[str] | None = None,
    *,
    family: str = GAUSSIAN,
    prior: Prior | None = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    progress: Tick | bool | None = None,
) -> MethodComparison:
    """Fit the formula by each of ``methods`` (by default by all of them) to the same release.

    A method that refuses the release, for example because it does not know Laplace noise, is listed with its reason. The
    result has ``table()``, ``methods()`` (time, effective draws, notes), ``plot()`` and the fits themselves.
    """
    if family != GAUSSIAN:
        raise FitError("methods are compared for linear regression; every other family has one method",
                       found=f"family {family!r}", remedy="use fit(..., family=...)")
    names = tuple(dict.fromkeys(METHODS if methods is None else [methods] if isinstance(methods, str) else methods))
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise FitError("the method is not known", found=", ".join(map(repr, unknown)) or "no method",
                       remedy="known are " + ", ".join(METHODS))
    together = release if isinstance(release, Release) else combine(release)
    check_method(DEFAULT, together)
    draws, chains = whole("draws", draws, 1), whole("chains", chains, 1)
    seed = secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0)
    ResolvedPrior.of(Design.of(formula, together.basis, together.terms), prior)  # what is wrong for every method is told once
    posteriors, refused = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # each fit's own problems are in the notes
        for name in names:
            try:
                found = fit(formula, together, method=name, prior=prior, draws=draws, chains=chains, seed=seed, progress=progress)
            except FitError as error:
                refused[name] = error.rule + (f" (found: {error.found})" if error.found else "")
                continue
            posteriors[name] = found
    if not posteriors:
        raise FitError("none of the methods can fit this release",
                       found="; ".join(f"{name}: {reason}" for name, reason in refused.items()))
    return MethodComparison(formula, posteriors, refused, {name: CAUTIONS[name] for name in names if name in CAUTIONS}, DEFAULT)
