"""The proportion behind synthetic yes-or-no rows (Charest 2010), exactly and without a sampler.

With x ones among n real rows, x ~ Binomial(n, p) and p ~ Beta(a, b), the synthetic counts are beta-binomial given x. So

    P(x | counts) ∝ BetaBinomial(x | n, a, b) · Π_k BetaBinomial(count_k | ñ, α + x, α + n − x)
    p | x ~ Beta(a + x, b + n − x),

a sum over n + 1 numbers. Draws of x and then of p are independent draws from the posterior.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.kinds import Binary
from noisewise.posterior.request import sampling, whole
from noisewise.posterior.sums.families import Bernoulli, prior_numbers
from noisewise.releases.release import Release
from noisewise.releases.source import source_of
from noisewise.results.fit_info import FitInfo
from noisewise.results.parameter_posterior import ParameterPosterior
from noisewise.words import function, leave_out, option

if TYPE_CHECKING:
    from noisewise.releases.contents.binary import BinaryContribution

MOST_COUNTS: Final = 2**21
"""Of more rows than this, only so many evenly spaced numbers of ones are tried."""
METHODS: Final = ("exact", "naive")


def fit_binary(release: Release, *, rows: int | None = None, prior: tuple[float, float] = (1.0, 1.0), method: str = "exact",
               draws: int = 1000, chains: int = 4, seed: int | None = None) -> ParameterPosterior:
    """The posterior of the proportion of the second level, from synthetic rows: a release of kind `Binary`.

    It accounts for the rows' own randomness, for the pseudo-rows and for the synthesis. ``rows``: how many real rows there were;
    needed where the file does not say so (add-remove). ``prior``: the two numbers of a Beta prior. ``method="naive"`` takes
    the synthetic rows for real ones, for comparison.

    >>> from noisewise import Binary, Schema, release
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"smoker": {"levels": ["no", "yes"]}}})
    >>> people = {"smoker": np.repeat(["no", "yes"], [6000, 4000])}
    >>> made = release(people, schema, Binary("smoker", rows=200), epsilon=20.0)
    >>> post = fit_binary(made, seed=1)
    >>> bool(0.1 < post.interval()[0] < post.interval()[1] < 0.9)
    True
    """
    if not isinstance(release, Release) or release.kind.name != Binary.name:
        found = release.kind.name if isinstance(release, Release) else type(release).__name__
        raise FitError("this is for synthetic yes-or-no rows, a release of kind binary", argument="release", found=found,
                       remedy="fit other releases: " + function("fit"))
    synthesis: BinaryContribution = release.contents
    if method not in METHODS:
        raise FitError("the method is not known", argument="method", found=repr(method), known=METHODS)
    draws, chains, seed = sampling(draws, chains, seed)
    started = time.perf_counter()
    a, b = prior_numbers(prior, (1.0, 1.0), Bernoulli)
    rng = np.random.default_rng(seed)
    size = (chains, draws)
    if method == "naive":
        ones, total = sum(synthesis.counts), synthesis.copies * synthesis.synthetic_rows
        p = rng.beta(a + ones, b + total - ones, size=size)
    else:
        n = _rows(synthesis, rows)
        x, weights = ones_posterior(synthesis, n, (a, b))
        chosen = rng.choice(x, size=size, p=weights)
        p = rng.beta(a + chosen, b + n - chosen)
    info = FitInfo(method=method, family="binary synthesis", formula=synthesis.column, seed=seed, chains=chains, draws=draws,
                   seconds=time.perf_counter() - started, source=source_of(release))
    return ParameterPosterior(p[..., None], ("proportion",), info)


def ones_posterior(synthesis: BinaryContribution, rows: int, prior: tuple[float, float]) -> tuple[Array, Array]:
    """How many ones the real rows may have had, and how probable that is."""
    x = np.arange(rows + 1.0) if rows < MOST_COUNTS else np.unique(np.round(np.linspace(0.0, rows, MOST_COUNTS)))
    logs = log_beta_binomial(x, rows, *prior)
    for count, copies in zip(*np.unique(synthesis.counts, return_counts=True), strict=True):
        logs += copies * log_beta_binomial(float(count), synthesis.synthetic_rows, synthesis.alpha + x,
                                           synthesis.alpha + rows - x)
    weights = np.exp(logs - logs.max())
    return x, weights / weights.sum()


def log_beta_binomial(x: Any, rows: float, a: Any, b: Any) -> Array:
    """The log probability of x ones among so many rows, the proportion being Beta(a, b).

    >>> float(np.round(np.exp(log_beta_binomial(np.arange(3.0), 2, 1.0, 1.0)).sum(), 9))
    1.0
    """
    from scipy.special import betaln, gammaln

    choices = gammaln(rows + 1.0) - gammaln(x + 1.0) - gammaln(rows - x + 1.0)
    return np.asarray(choices + betaln(a + x, b + rows - x) - betaln(a, b))


def _rows(synthesis: BinaryContribution, given: int | None) -> int:
    if synthesis.rows is None and given is None:
        raise FitError("the number of real rows is private here, and the posterior depends on it", argument="rows",
                       found="add-remove",
                       remedy="give " + option("rows") + ", as well as it is known publicly")
    if synthesis.rows is not None and given not in (None, synthesis.rows):
        raise FitError("the file states the number of rows", argument="rows",
                       found=f"{given}, in the file {synthesis.rows}", remedy=leave_out("rows"))
    return whole("rows", synthesis.rows if given is None else given, 0)  # type: ignore[arg-type]
