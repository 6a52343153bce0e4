"""``fit``: a formula and one or several releases in, a posterior out, and ``compare_methods``: the same by every method.

`posterior.kinds` has one file per kind of release; the mathematics is in the other folders.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, overload

from noisewise.errors import ConvergenceWarning, FitError, FormulaError, IncompatibleReleasesError
from noisewise.kinds.kind import Kind
from noisewise.kinds.registry import has_room, module_of
from noisewise.posterior.asked import GAUSSIAN, Asked, check_family
from noisewise.posterior.methods import CAUTIONS, DEFAULT_METHOD, from_the_literature, known_method, method_for, methods_for
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.posterior.request import sampling
from noisewise.releases.combine import Releases, combine
from noisewise.releases.release import Release
from noisewise.results import PointEstimate, Posterior
from noisewise.results.method_comparison import MethodComparison
from noisewise.run import DEFAULT, Run
from noisewise.schema import Design
from noisewise.words import either, function, leave_out, option


@overload
def fit(formula: str, release: Releases, *, method: Literal["adassp"]) -> PointEstimate: ...  # type: ignore[overload-overlap]


@overload
def fit(formula: str | Releases, release: Releases | None = ..., *, family: str | None = ..., method: str = ...,
        robust: bool = ..., near_normal: bool = ..., site: str | None = ..., prior: Prior | None = ..., draws: int = ...,
        chains: int = ..., seed: int | None = ..., run: Run = ...) -> Posterior: ...


def fit(formula: str | Releases, release: Releases | None = None, *, family: str | None = None, method: str = DEFAULT_METHOD,
        robust: bool = False, near_normal: bool = False, site: str | None = None, prior: Prior | None = None, draws: int = 1000,
        chains: int = 4, seed: int | None = None, run: Run = DEFAULT) -> Posterior | PointEstimate:
    """Fit a regression to one release, or to the releases of several data holders together.

    A release of kind model knows its own regression: ``fit(release)``. For other kinds, ``formula`` may use any released columns,
    and any of them may be the response: ``fit("stay ~ age + ward", release)``. ``method``:

    - ``rounds`` (default for releases of kind model) makes no assumption about the predictors;
    - ``conditional`` (default) makes no assumption about the distribution of the predictors;
    - ``conditional-flat`` is the same with a flat prior on their moments: faster, less careful where the noise is large;
    - ``collapsed`` assumes normal predictors;
    - ``laplace`` is a normal approximation of ``conditional-flat``: instant, without JAX;
    - ``rows`` (default for releases of kind rows) accounts for the noise of every published cell, and assumes that numbers
      are jointly normal given the categories.

    From the literature, for comparison and not for reported results: ``normal-x``, ``normal-x-nuts``, ``fixed-s``, ``fast`` and
    ``clt-gibbs``; ``simex`` and ``naive`` for releases of kind rows; ``adassp`` for releases of that kind, which gives a
    `PointEstimate` without posterior or intervals.

    ``family``: ``gaussian`` is linear regression. ``logistic`` and ``probit`` need a response with two declared levels and give
    the probability of the second; ``poisson`` (log link) needs a count with bounds from 0. The default is the family of a model
    release, and ``gaussian`` for other kinds. ``negative-binomial`` needs a model release.

    From a gram release, ``logistic``, ``probit`` and ``poisson`` have one method, which takes numeric predictors for normal given
    the categories. If they are not, its coefficients and intervals can be far off, so it warns. ``near_normal=True`` says that
    they are near normal: then it does not. Model releases take nothing for normal.

    ``robust=True``, for model releases of numbers and counts, takes the variance from the release instead of from the family: for
    residuals with unequal variances or heavy tails. It does not move the estimate: for counts that vary much more than Poisson's,
    only the family negative-binomial does.

    ``site="random"`` gives every data holder its own coefficients around those of a population of sites, which the result then
    describes. ``site="random-intercept"`` lets only the response's level differ. Without it, all holders share one set of
    coefficients.

    ``prior``: see `Prior`; the default depends on public bounds only. ``seed`` makes the draws reproducible.
    ``run``: see `Run`; ``Run(progress=False)`` shows no bar.
    """
    known_method(method)
    draws, chains, seed = sampling(draws, chains, seed)
    together, wanted = given(formula, release)
    formula = own_formula(together) if wanted is None else wanted
    chosen: str = getattr(together.kind, "family", GAUSSIAN) if family is None else family
    check_family(chosen)
    if not has_room(together.kind, "posterior"):
        raise FitError(f"a release of kind {together.kind.name} does not support regression", found=together.title(),
                       remedy=together.kind.use)
    module = module_of(together.kind, "posterior")
    if robust and not knows_its_regression(together.kind):
        raise FitError(f"a release of kind {together.kind.name} has no robust intervals", argument="robust",
                       found=option("robust", True), remedy=leave_out("robust") + ", or use a release of kind model")
    asked = Asked(formula, together, chosen, method, site, prior, draws, chains, seed, run, robust, near_normal)
    found: Posterior | PointEstimate = module.fit(asked)
    found.warn_if_bad(stacklevel=2)
    return found


def given(formula: str | Releases, release: Releases | None, function: str = "fit") -> tuple[Release, str | None]:
    """The releases together, and the formula if there is one: with a release alone it comes first."""
    if release is not None:
        if not isinstance(formula, str):
            raise FormulaError("the formula comes first, then the release", argument="formula", found=type(formula).__name__,
                               remedy=f'for example {function}("stay ~ age", release)')
        return combine(release), formula
    if isinstance(formula, str):
        raise IncompatibleReleasesError(f"{function} needs a release", argument="release", found=f"only {formula[:80]!r}",
                                        remedy="read one with noisewise.load(path)")
    return combine(formula), None


def own_formula(release: Release, function: str = "fit") -> str:
    """The formula that a release was made for, if it serves only that one."""
    if release.formula is None or not knows_its_regression(release.kind):
        raise FitError(f"a release of kind {release.kind.name} needs a formula", argument="formula", found="no formula",
                       remedy="for example " + either(f'{function}("stay ~ age", release)',
                                                      f'noisewise {function} FILE "stay ~ age"'))
    return release.formula


def knows_its_regression(kind: Kind) -> bool:
    """True if a release of this kind is for one regression: its fit needs no formula, and can be robust."""
    return has_room(kind, "posterior") and hasattr(module_of(kind, "posterior"), "OWN_REGRESSION")


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
    if knows_its_regression(together.kind):
        raise FitError(f"a release of kind {together.kind.name} has one method", found=together.title(),
                       remedy="fit it: " + function("fit"))
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
