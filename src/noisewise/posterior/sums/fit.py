"""`fit_sum`: a column and a release in, the posterior of the column's own distribution out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.methods import Method, by_name, from_the_literature
from noisewise.posterior.request import sampling
from noisewise.posterior.sums import two
from noisewise.posterior.sums.exact import posterior
from noisewise.posterior.sums.families import Family, Normal, clipped_normal, family_for
from noisewise.posterior.sums.noisy_sum import NoisySum, find_column, noisy_sums
from noisewise.releases.combine import Releases, combine
from noisewise.releases.source import source_of
from noisewise.results.fit_info import FitInfo
from noisewise.results.parameter_posterior import BEFORE, ParameterPosterior
from noisewise.words import option


def _exact(family: Family, sums: Sequence[NoisySum], chains: int, draws: int, rng: np.random.Generator) -> Array:
    return family.theta(posterior(family, sums).draw((chains, draws), rng))


METHODS: Final = by_name([
    Method("exact", "no sampler; the sum's own distribution wherever it matters; clipping accounted for; the default", _exact),
    Method("gibbs", "the sampler of Bernstein and Sheldon (2018)", "noisewise.literature.noisy_sums:gibbs"),
    Method("naive", "treats the noisy sum as exact", "noisewise.literature.noisy_sums:naive"),
])


def fit_sum(column: str, release: Releases, *, family: str, sigma: float | None = None, prior: Any = None, method: str = "exact",
            draws: int = 1000, chains: int = 4, seed: int | None = None) -> ParameterPosterior:
    """The posterior of a proportion, a rate or a mean from the noisy sum of one column.

    ``column`` is a released column, or a level of one with three or more: ``"ward[B]"``. ``family``:

    - ``bernoulli``: the proportion of a level (of two levels: of the second), prior Beta(1, 1);
    - ``poisson``: the rate of a count, prior Gamma(½, 1/upper bound);
    - ``exponential``: the mean; one over it has the prior Gamma(½, upper bound/200);
    - ``normal``: the mean of the clipped values, with the standard deviation ``sigma`` before clipping if it is known; otherwise
      both are estimated, from a release that has the column's sum of squares (kind ``gram``). Priors, before clipping: mean
      N(middle of the bounds, half their distance), sigma half-normal.

    ``prior`` gives the two numbers of the conjugate prior. Rows were clipped to their bounds, and the posterior accounts for
    that. The rate of ``poisson`` and the mean of ``exponential`` are those before clipping, and rest on the assumed family. For
    ``normal``, ``"mean"`` (and ``"sd"``, if sigma is not given) describe the clipped values: these make up the noisy sum, and
    many columns are not normal. ``draws("mean before clipping")`` and ``draws("sd before clipping")`` rest on the assumed family.

    ``method``: ``exact`` (default) uses no sampler, and the sum's own distribution instead of a normal approximation, unless
    the noise hides its shape or both parameters of ``normal`` are unknown. From the literature, for comparison and not for
    reported results: ``gibbs`` samples from a normal approximation and ignores clipping; ``naive`` treats the noisy sum as
    exact.

    >>> import noisewise as nw
    >>> schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"visits": {"bounds": [0, 20]}}})
    >>> rows = {"visits": np.random.default_rng(1).poisson(3.0, 5000)}
    >>> post = nw.fit_sum("visits", nw.release(rows, schema, epsilon=1.0), family="poisson", seed=1)
    >>> bool(2.7 < post.mean < 3.3)
    True
    """
    if method not in METHODS:
        raise FitError("unknown method", argument="method", found=repr(method), known=METHODS,
                       remedy=from_the_literature(METHODS))
    draws, chains, seed = sampling(draws, chains, seed)
    together = combine(release)
    started = time.perf_counter()
    found_column, sums = find_column(together, column), noisy_sums(together, column)
    bounds, categorical = found_column.bounds, found_column.categorical
    rng = np.random.default_rng(seed)
    terms: tuple[str, ...]
    if family == "normal" and sigma is None and not categorical:
        if METHODS[method].literature or prior is not None:
            raise FitError("an unknown sigma requires the default method and prior",
                           found=f"method {method!r}" if prior is None else "a prior",
                           remedy="give " + option("sigma") + ", or leave it out")
        before = two.draws(sums, (chains, draws), rng)
        samples = np.concatenate([_after_clipping(before[..., 0], before[..., 1], bounds), before], axis=-1)
        terms = (Normal.term, "sd", Normal.term + BEFORE, "sd" + BEFORE)
    else:
        chosen = family_for(family, bounds, categorical=categorical, prior=prior, sigma=sigma)
        found = METHODS[method](chosen, sums, chains, draws, rng)
        samples, terms = found[..., None], (chosen.term,)
        if isinstance(chosen, Normal) and not METHODS[method].literature:  # those ignore clipping
            samples = np.concatenate([_after_clipping(found, chosen.sigma, bounds)[..., :1], samples], axis=-1)
            terms = (chosen.term, chosen.term + BEFORE)
    info = FitInfo(method=method, family=family, formula=column, seed=seed, chains=chains, draws=draws,
                   holders=together.holders, seconds=time.perf_counter() - started, source=source_of(together))
    return ParameterPosterior(samples, terms, info)


def _after_clipping(mean: Array, sd: Array | float, bounds: tuple[float, float]) -> Array:
    """Mean and standard deviation of the clipped values, for every draw."""
    return np.stack(clipped_normal(mean, sd, *bounds), axis=-1)
