"""``fit``: a formula and one or several releases in, a posterior out, and ``compare_methods``: the same by every method.

`posterior.kinds` has one file per kind of release; the mathematics is in the other folders.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, overload

from noisewise.errors import ConvergenceWarning, FitError
from noisewise.kinds.registry import has_room, module_of
from noisewise.posterior.asked import GAUSSIAN, Asked, check_family
from noisewise.posterior.methods import CAUTIONS, DEFAULT_METHOD, from_the_literature, known_method, method_for, methods_for
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.posterior.request import sampling
from noisewise.releases.combine import Releases, combine
from noisewise.results import PointEstimate, Posterior
from noisewise.results.method_comparison import MethodComparison
from noisewise.run import DEFAULT, Run
from noisewise.schema import Design


@overload
def fit(formula: str, release: Releases, *, method: Literal["adassp"]) -> PointEstimate: ...  # type: ignore[overload-overlap]


@overload
def fit(formula: str, release: Releases, *, family: str = ..., method: str = ..., site: str | None = ...,
        prior: Prior | None = ..., draws: int = ..., chains: int = ..., seed: int | None = ..., run: Run = ...) -> Posterior: ...


def fit(formula: str, release: Releases, *, family: str = GAUSSIAN, method: str = DEFAULT_METHOD, site: str | None = None,
        prior: Prior | None = None, draws: int = 1000, chains: int = 4, seed: int | None = None, run: Run = DEFAULT
        ) -> Posterior | PointEstimate:
    """Fit a regression to one release, or to the releases of several data holders together.

    ``formula`` may use any released columns, and any of them may be the response: ``"stay ~ age + ward"``. ``method``:

    - ``conditional`` (default) makes no assumption about the distribution of the predictors;
    - ``conditional-flat`` is the same with a flat prior on their moments: faster, less careful where the noise is large;
    - ``collapsed`` assumes normal predictors;
    - ``laplace`` is a normal approximation of ``conditional-flat``: instant, without JAX;
    - ``rows`` (default for releases of kind rows) accounts for the noise of every published cell, and assumes that numbers
      are jointly normal given the categories.

    From the literature, for comparison and not for reported results: ``normal-x``, ``normal-x-nuts``, ``fixed-s``, ``fast`` and
    ``clt-gibbs``; ``simex`` and ``naive`` for releases of kind rows; ``adassp`` for releases of that kind, which gives a
    `PointEstimate` without posterior or intervals.

    ``family``: ``gaussian`` (default) is linear regression. ``logistic`` and ``probit`` need a response with two declared levels
    and give the probability of the second; ``poisson`` (log link) needs a count with bounds from 0. They assume that numeric
    predictors are normal given the categories, and have one method.

    ``site="random"`` gives every data holder its own coefficients around those of a population of sites, which the result then
    describes. ``site="random-intercept"`` lets only the response's level differ. Without it, all holders share one set of
    coefficients.

    ``prior``: see `Prior`; the default depends on public bounds only. ``seed`` makes the draws reproducible.
    ``run``: see `Run`; ``Run(progress=False)`` shows no bar.
    """
    check_family(family)
    known_method(method)
    draws, chains, seed = sampling(draws, chains, seed)
    together = combine(release)
    if not has_room(together.kind, "posterior"):
        raise FitError(f"a release of kind {together.kind.name} does not support regression", found=together.title(),
                       remedy=together.kind.use)
    asked = Asked(formula, together, family, method, site, prior, draws, chains, seed, run)
    found: Posterior | PointEstimate = module_of(together.kind, "posterior").fit(asked)
    found.warn_if_bad(stacklevel=2)
    return found


def compare_methods(formula: str, release: Releases, methods: Sequence[str] | None = None, *, family: str = GAUSSIAN,
                    prior: Prior | None = None, draws: int = 1000, chains: int = 4, seed: int | None = None, run: Run = DEFAULT
                    ) -> MethodComparison:
    """Fit the formula to one release by each of ``methods``; by default all for noisy sums, including those from the literature.

    A method that refuses the release, for example because it does not support Laplace noise, is listed with its reason. The
    result has ``table()``, ``methods()`` (time, effective draws, notes), ``plot()`` and the fits themselves.
    """
    if family != GAUSSIAN:
        raise FitError("methods can be compared for linear regression only; other families have one method",
                       found=f"family {family!r}", remedy="use fit(..., family=...)")
    able = methods_for("gram")
    names = tuple(dict.fromkeys(able if methods is None else [methods] if isinstance(methods, str) else methods))
    unknown = [name for name in names if name not in able]
    if unknown or not names:
        raise FitError("unknown method", argument="methods", found=", ".join(map(repr, unknown)) or "no method",
                       known=able, remedy=from_the_literature(able))
    together = combine(release)
    method_for(DEFAULT_METHOD, together.kind.name)
    draws, chains, seed = sampling(draws, chains, seed)
    ResolvedPrior.of(Design.of(formula, together.basis, together.terms), prior)  # raise only once what every method would raise
    posteriors, refused = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # each fit's own problems are in the notes
        for name in names:
            try:
                posteriors[name] = fit(formula, together, method=name, prior=prior, draws=draws, chains=chains, seed=seed,
                                       run=run)
            except FitError as error:
                refused[name] = error.rule + (f" (found: {error.found})" if error.found else "")
    if not posteriors:
        raise FitError("none of the methods can fit this release",
                       found="; ".join(f"{name}: {reason}" for name, reason in refused.items()))
    cautions = {name: CAUTIONS[name] for name in names if name in CAUTIONS}
    return MethodComparison(formula, posteriors, refused, cautions, DEFAULT_METHOD)
