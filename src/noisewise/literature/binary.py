"""The exact posterior of the proportion behind synthetic yes-or-no rows (Charest 2010), without a sampler.

With x ones among n real rows, x ~ Binomial(n, p) and p ~ Beta(a, b), the synthetic counts are beta-binomial given x. So

    P(x | counts) ∝ BetaBinomial(x | n, a, b) · Π_k BetaBinomial(count_k | ñ, α + x, α + n − x)
    p | x ~ Beta(a + x, b + n − x),

a sum over n + 1 numbers. Draws of x and then of p are independent draws from the posterior.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

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
"""Above this many rows, try only this many evenly spaced counts of ones."""
METHODS: Final = ("exact", "naive")


def fit_binary(release: Release, *, rows: int | None = None, prior: tuple[float, float] = (1.0, 1.0), method: str = "exact",
               draws: int = 1000, chains: int = 4, seed: int | None = None) -> ParameterPosterior:
    """Compute the posterior of the second level's proportion from synthetic rows, a release of kind `Binary`.

    It accounts for the sampling of the rows, for the pseudo-rows and for the synthesis.

    Args:
        release: A release of kind `Binary`.
        rows: Number of real rows; required if the file does not state it (add-remove).
        prior: The two parameters of the Beta prior.
        method: ``"exact"``, or ``"naive"`` to treat the synthetic rows as real, for comparison.
        draws: Draws per chain.
        chains: Number of chains.
        seed: Seed of the random numbers.

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
        raise FitError("fit_binary needs a release of kind binary (synthetic yes-or-no rows)", argument="release", found=found,
                       remedy="for other releases use " + function("fit"))
    synthesis: BinaryContribution = release.contents
    if method not in METHODS:
        raise FitError("unknown method", argument="method", found=repr(method), known=METHODS)
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
    """Return the possible counts of ones among the real rows, and their probabilities."""
    x = np.arange(rows + 1.0) if rows < MOST_COUNTS else np.unique(np.round(np.linspace(0.0, rows, MOST_COUNTS)))
    logs = log_beta_binomial(x, rows, *prior)
    for count, copies in zip(*np.unique(synthesis.counts, return_counts=True), strict=True):
        logs += copies * log_beta_binomial(float(count), synthesis.synthetic_rows, synthesis.alpha + x,
                                           synthesis.alpha + rows - x)
    weights = np.exp(logs - logs.max())
    return x, weights / weights.sum()


def log_beta_binomial(x: Array | float, rows: float, a: Array | float, b: Array | float) -> Array:
    """Return the log probability of x ones among ``rows`` rows if the proportion is Beta(a, b).

    >>> float(np.round(np.exp(log_beta_binomial(np.arange(3.0), 2, 1.0, 1.0)).sum(), 9))
    1.0
    """
    from scipy.special import betaln, gammaln

    choices = gammaln(rows + 1.0) - gammaln(x + 1.0) - gammaln(rows - x + 1.0)
    return np.asarray(choices + betaln(a + x, b + rows - x) - betaln(a, b))


def _rows(synthesis: BinaryContribution, given: int | None) -> int:
    if synthesis.rows is None and given is None:
        raise FitError("the posterior depends on the number of real rows, which is private here", argument="rows",
                       found="add-remove",
                       remedy="set " + option("rows") + " to your best public estimate")
    if synthesis.rows is not None and given not in (None, synthesis.rows):
        raise FitError("rows must match the number of rows in the file", argument="rows",
                       found=f"{given}, in the file {synthesis.rows}", remedy=leave_out("rows"))
    return whole("rows", synthesis.rows if given is None else given, 0)  # type: ignore[arg-type]
