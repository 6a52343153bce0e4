"""`fit_sum`: a column and a release in, the posterior of the column's own distribution out."""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.posterior.fit import whole
from noisewise.posterior.sums import two
from noisewise.posterior.sums.clipped import clipped_normal
from noisewise.posterior.sums.exact import posterior
from noisewise.posterior.sums.families import Normal, family_for
from noisewise.posterior.sums.gibbs import gibbs, naive
from noisewise.posterior.sums.noisy_sum import find_column, noisy_sums
from noisewise.release.combine import Releases, combine
from noisewise.release.model import Release
from noisewise.release.source import source_of
from noisewise.results.parameter import BEFORE, ParameterPosterior
from noisewise.results.records import FitInfo
from noisewise.schema import Categorical, Numeric

Array = npt.NDArray[np.float64]

METHODS: Final = ("exact", "gibbs", "naive")


def fit_sum(
    column: str,
    release: Releases,
    *,
    family: str,
    sigma: float | None = None,
    prior: Any = None,
    method: str = "exact",
    draws: int = 1000,
    chains: int = 4,
    seed: int | None = None,
) -> ParameterPosterior:
    """The posterior of a proportion, a rate or a mean from the noisy sum of one column.

    ``column`` is a released column, or a level of one with three or more: ``"ward[B]"``. ``family``:

    - ``bernoulli``: the proportion of a level (of two levels: of the second), prior Beta(1, 1);
    - ``poisson``: the rate of a count, prior Gamma(½, 1/upper bound);
    - ``exponential``: the mean; one over it has the prior Gamma(½, upper bound/200);
    - ``normal``: the mean of the clipped values, with the standard deviation ``sigma`` before clipping if it is known; otherwise
      both are found, from a release that has the column's sum of squares (kind ``gram``). Priors, before clipping: mean N(middle
      of the bounds, half their distance), sigma half-normal.

    ``prior`` gives the two numbers of the conjugate prior. Rows were clipped to their bounds, and the posterior knows it. The
    rate of ``poisson`` and the mean of ``exponential`` are those before clipping, and rest on the family. Of ``normal`` the
    first term, ``"mean"``, is that of the clipped values (then ``"sd"``, if sigma is not given): a noisy sum is about them, and
    many a column is not normal. ``draws("mean before clipping")`` and ``draws("sd before clipping")`` rest on the family.

    ``method``: ``exact`` (default) has no sampler and no normal approximation of the sum; ``gibbs`` is that of the literature,
    which has the latter and knows of no clipping; ``naive`` takes the noisy sum for the sum.

    >>> import noisewise as nw
    >>> schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"visits": {"bounds": [0, 20]}}})
    >>> rows = {"visits": np.random.default_rng(1).poisson(3.0, 5000)}
    >>> post = nw.fit_sum("visits", nw.release(rows, schema, epsilon=1.0), family="poisson", seed=1)
    >>> bool(2.7 < post.mean < 3.3)
    True
    """
    if method not in METHODS:
        raise FitError("the method is not known", found=repr(method), remedy="known are " + ", ".join(METHODS))
    draws, chains = whole("draws", draws, 1), whole("chains", chains, 1)
    seed = secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0)
    together = release if isinstance(release, Release) else combine(release)
    started = time.perf_counter()
    bounds, categorical = _bounds(together, column)
    sums = noisy_sums(together, column)
    rng = np.random.default_rng(seed)
    terms: tuple[str, ...]
    if family == "normal" and sigma is None and not categorical:
        if method != "exact" or prior is not None:
            raise FitError("where sigma is not known there is one method, with its own prior",
                           found=f"method {method!r}" if prior is None else "a prior", remedy="give sigma, or leave that out")
        before = two.draws(sums, (chains, draws), rng)
        samples = np.concatenate([_after_clipping(before[..., 0], before[..., 1], bounds), before], axis=-1)
        terms = (Normal.term, "sd", Normal.term + BEFORE, "sd" + BEFORE)
    else:
        chosen = family_for(family, bounds, categorical=categorical, prior=prior, sigma=sigma)
        if method == "exact":
            found = chosen.theta(posterior(chosen, sums).draw((chains, draws), rng))
        elif method == "gibbs":
            found = gibbs(chosen, sums, chains, draws, rng)
        else:
            found = naive(chosen, sums, (chains, draws), rng)
        samples, terms = found[..., None], (chosen.term,)
        if isinstance(chosen, Normal) and method == "exact":  # the others know of no clipping: theirs is the mean of the rows
            samples = np.concatenate([_after_clipping(found, chosen.sigma, bounds)[..., :1], samples], axis=-1)
            terms = (chosen.term, chosen.term + BEFORE)
    info = FitInfo(method=method, family=family, formula=column, seed=seed, chains=chains, draws=draws,
                   holders=together.holders, seconds=time.perf_counter() - started, source=source_of(together))
    return ParameterPosterior(samples, terms, info)


def _after_clipping(mean: Array, sd: Array | float, bounds: tuple[float, float]) -> Array:
    """Mean and standard deviation of the clipped values, for every draw."""
    return np.stack(clipped_normal(mean, sd, *bounds), axis=-1)


def _bounds(release: Release, name: str) -> tuple[tuple[float, float], bool]:
    _, found = find_column(release, name)
    declared = release.schema.column(found.factors[0].column)
    if isinstance(declared, Categorical):
        return (0.0, 1.0), True
    assert isinstance(declared, Numeric)
    return (float(declared.lower), float(declared.upper)), False
