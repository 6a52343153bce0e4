"""The proportion behind synthetic yes-or-no rows (Charest 2010), exactly and without a sampler.

With x ones among n real rows, x ~ Binomial(n, p) and p ~ Beta(a, b), the synthetic counts are beta-binomial given x. So

    P(x | counts) ∝ BetaBinomial(x | n, a, b) · Π_k BetaBinomial(count_k | ñ, α + x, α + n − x)
    p | x ~ Beta(a + x, b + n − x),

a sum over n + 1 numbers. Draws of x and then of p are independent draws from the posterior.
"""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.posterior.fit import whole
from noisewise.release.binary import BinarySynthesis
from noisewise.release.source import source_of
from noisewise.results.parameter import ParameterPosterior
from noisewise.results.records import FitInfo

Array = npt.NDArray[np.float64]

MOST_COUNTS: Final = 2**21
"""Of more rows than this, only so many evenly spaced numbers of ones are tried."""
METHODS: Final = ("exact", "naive")


def fit_binary(
    synthesis: BinarySynthesis,
    *,
    rows: int | None = None,
    prior: tuple[float, float] = (1.0, 1.0),
    method: str = "exact",
    draws: int = 1000,
    chains: int = 4,
    seed: int | None = None,
) -> ParameterPosterior:
    """The posterior of the proportion of the second level, from synthetic rows of `synthesize_binary`.

    It accounts for the rows' own randomness, for the pseudo-rows and for the synthesis. ``rows``: how many real rows there were;
    needed where the file does not say so (add-remove). ``prior``: the two numbers of a Beta prior. ``method="naive"`` takes
    the synthetic rows for real ones, for comparison.

    >>> made = BinarySynthesis("smoker", ("no", "yes"), 1000, 200, (80,), 117, 1.0, "replace-one", {}, "-", "2026-01-01", "-")
    >>> post = fit_binary(made, seed=1)
    >>> bool(0.15 < post.interval()[0] < 80 / 200 < post.interval()[1])
    True
    """
    if method not in METHODS:
        raise FitError("the method is not known", found=repr(method), remedy="known are " + ", ".join(METHODS))
    draws, chains = whole("draws", draws, 1), whole("chains", chains, 1)
    seed = secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0)
    started = time.perf_counter()
    a, b = _checked_prior(prior)
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
                   seconds=time.perf_counter() - started, source=source_of(synthesis))
    return ParameterPosterior(p[..., None], ("proportion",), info)


def ones_posterior(synthesis: BinarySynthesis, rows: int, prior: tuple[float, float]) -> tuple[Array, Array]:
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


def _rows(synthesis: BinarySynthesis, given: int | None) -> int:
    if synthesis.rows is None and given is None:
        raise FitError("the number of real rows is private here, and the posterior depends on it", found="add-remove",
                       remedy="give rows, as well as it is known publicly")
    if synthesis.rows is not None and given not in (None, synthesis.rows):
        raise FitError("the file states the number of rows", found=f"{given}, in the file {synthesis.rows}",
                       remedy="leave rows out")
    return whole("rows", synthesis.rows if given is None else given, 0)  # type: ignore[arg-type]


def _checked_prior(prior: Any) -> tuple[float, float]:
    try:
        a, b = (float(number) for number in prior)
    except (TypeError, ValueError):
        a = b = np.nan
    if not (np.isfinite([a, b]).all() and a > 0 and b > 0):
        raise FitError("the prior of a proportion is the two positive numbers of a Beta distribution", found=repr(prior))
    return a, b
