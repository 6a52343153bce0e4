"""The methods of ``fit`` by name, each with a description, the kind of release it takes, its weakness and its function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Final

from noisewise.errors import FitError
from noisewise.posterior.linear.methods import collapsed, conditional, conditional_flat, laplace
from noisewise.posterior.model.fit import fit_model
from noisewise.posterior.rows.fit import rows
from noisewise.words import leave_out, option

LITERATURE: Final = "from the literature, for comparison"
DEFAULT_METHOD: Final = "conditional"


@dataclass(frozen=True)
class Method:
    """One way from a release to a result.

    ``function`` is the function, or its import path, ``"package.module:function"``, imported on the first call. The methods in
    ``noisewise.literature`` are given by path, since nothing may import that room.
    """

    name: str
    about: str
    """One line for help pages."""
    function: Callable[..., Any] | str
    kind: str = "gram"
    """The kind of release it takes."""
    takes_prior: bool = True
    caution: str = ""
    """The known weakness of its intervals, in one sentence; see the documentation's calibration page."""

    @property
    def literature(self) -> bool:
        """True for methods from the literature, which are for comparison and not for reported results."""
        return isinstance(self.function, str)

    def __call__(self, *arguments: Any) -> Any:
        return (resolve_name(self.function) if isinstance(self.function, str) else self.function)(*arguments)


def by_name(methods: Iterable[Method]) -> dict[str, Method]:
    """Index methods by name, in the order given."""
    return {method.name: method for method in methods}


def from_the_literature(methods: Mapping[str, Method]) -> str | None:
    """Say which of the methods are from the literature, for a message that lists the names."""
    others = [name for name, method in methods.items() if method.literature]
    return f"of these, {', '.join(others)} come{'s' * (len(others) == 1)} {LITERATURE}" if others else None


NORMAL_PREDICTORS: Final = "assumes normal predictors; with others its intervals can be too narrow"

METHODS: Final = by_name([
    Method("conditional", "no assumption about the distribution of the predictors; the default", conditional),
    Method("conditional-flat", "the same with a flat prior on their moments: faster, less careful where the noise is large",
           conditional_flat,
           caution="leans towards zero, or is too wide, where the noise is larger than the predictors' moments"),
    Method("collapsed", "normal predictors, integrated out", collapsed, caution=NORMAL_PREDICTORS),
    Method("laplace", "a normal approximation of conditional-flat: instant, without JAX", laplace,
           caution="a normal approximation: too narrow or too wide where the noise hides sigma"),
    Method("rows", "accounts for the noise of every published cell; the default for published rows", rows, kind="rows"),
    Method("rounds", "the rounds of a model release, for any predictors; the default for them", fit_model, kind="model"),
    Method("normal-x", "normal predictors, by Gibbs and Metropolis steps (Alparslan et al. 2023)",
           "noisewise.literature.normal_x:normal_x", caution=NORMAL_PREDICTORS),
    Method("normal-x-nuts", "the same posterior by NUTS", "noisewise.literature.normal_x_nuts:normal_x_nuts",
           caution=NORMAL_PREDICTORS),
    Method("fixed-s", "the noisy matrix of the predictors treated as exact (Alparslan et al. 2023)",
           "noisewise.literature.fixed_moments:fixed_s",
           caution="treats the noisy matrix of the predictors as exact: its intervals are too narrow"),
    Method("fast", "the same in closed form, with sigma fixed (Alparslan et al. 2023)", "noisewise.literature.fixed_moments:fast",
           caution="treats the noisy matrix of the predictors as exact, and is a normal approximation: its intervals are not "
                   "calibrated"),
    Method("clt-gibbs", "normal predictors, by the sampler of Bernstein and Sheldon (2019)",
           "noisewise.literature.clt_gibbs:clt_gibbs", caution=NORMAL_PREDICTORS),
    Method("adassp", "a point estimate without intervals (Wang 2018)", "noisewise.literature.adassp:point_estimate",
           kind="adassp", takes_prior=False),
    Method("simex", "extrapolates from more noise to none (Cook and Stefanski 1994)",
           "noisewise.literature.noisy_rows:simex_draws", kind="rows", takes_prior=False,
           caution="extrapolates to no noise by a quadratic curve: it falls short where the noise is large, and so do "
                   "its intervals"),
    Method("naive", "least squares, as if rows had no noise", "noisewise.literature.noisy_rows:naive_draws", kind="rows",
           takes_prior=False, caution="treats noisy rows as exact: slopes are far too small and intervals too narrow"),
])
DEFAULTS: Final = {"gram": DEFAULT_METHOD, "model": "rounds", "rows": "rows"}
"""The method that the default stands for, by kind of release. A point estimate must be requested by name."""
CAUTIONS: Final = {name: method.caution for name, method in METHODS.items() if method.caution}


def methods_for(kind: str) -> dict[str, Method]:
    """Return the methods for linear regression that take this kind of release."""
    return {name: method for name, method in METHODS.items() if method.kind == kind}


def known_method(name: str) -> Method:
    """Return the method of this name."""
    if name not in METHODS:
        raise FitError("unknown method", argument="method", found=repr(name), known=METHODS,
                       remedy=from_the_literature(METHODS))
    return METHODS[name]


def method_for(name: str, kind: str) -> Method:
    """Return the method of this name, resolving the default, after checking that it takes this kind of release."""
    method, able = known_method(DEFAULTS.get(kind, name) if name == DEFAULT_METHOD else name), methods_for(kind)
    if not able:
        raise FitError(f"a release of kind {kind} has no sum of squares of its response, which a linear regression needs",
                       argument="family", found=option("family", "gaussian"),
                       remedy="give " + option("family", "logistic") + ", probit or poisson, or use a release of kind gram")
    if method.kind == kind:
        return method
    if DEFAULT_METHOD in able:
        raise FitError(f"the method {name} needs a release of kind {method.kind}", argument="method",
                       found=f"a release of kind {kind}",
                       remedy=leave_out("method") + f": {DEFAULT_METHOD} gives a posterior from this release")
    raise FitError(f"a release of kind {kind} supports only the method{'s' * (len(able) > 1)} {', '.join(able)}",
                   argument="method", found=f"method {name!r}",
                   remedy=option("method", next(iter(able))) + f": {next(iter(able.values())).about}; for other methods the data "
                   "holder makes a gram release")
