"""Tables of coefficients and of ratios, and the problems with the draws in plain words."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import ResultError
from noisewise.results import diagnostics
from noisewise.results.families import LARGEST, RESULT_FAMILIES, ResultFamily
from noisewise.results.fit_info import INTERCEPT, SCALES, check_interval

if TYPE_CHECKING:
    import pandas

R_HAT_LIMIT = 1.01  # Vehtari et al. (2021), section 4
ESS_LIMIT = 400.0  # enough for a stable R-hat and for intervals to about 0.1 sd in the tails
DIVERGENCE_LIMIT = 0.002
"""Tolerated share of divergent transitions. A few occur by chance where sigma is close to 0, and do no harm."""
NAMED_TERMS = 5


def percent_label(probability: float) -> str:
    """Name a column after a quantile.

    >>> percent_label(0.025), percent_label(0.95)
    ('2.5%', '95%')
    """
    return f"{100 * probability:.6g}%"


def summary_table(samples: Array, terms: Sequence[str], interval: float) -> pandas.DataFrame:
    """Tabulate mean, sd, interval, effective sizes, R-hat and the probability of being positive, one row per term."""
    import pandas

    low, high = check_interval(interval)
    pooled = samples.reshape(-1, samples.shape[2])
    lower, upper = np.quantile(pooled, [low, high], axis=0)
    moves = (pooled != pooled[0]).any(axis=0)  # otherwise the sd would be a rounding error, with many digits
    columns = {
        "mean": pooled.mean(axis=0),
        "sd": np.where(moves, pooled.std(axis=0, ddof=1), 0.0) if len(pooled) > 1 else np.full(pooled.shape[1], np.nan),
        percent_label(low): lower,
        percent_label(high): upper,
        "ess_bulk": diagnostics.ess_bulk(samples),
        "ess_tail": diagnostics.ess_tail(samples),
        "r_hat": diagnostics.r_hat(samples),
        "P(>0)": (pooled > 0).mean(axis=0),
    }
    return pandas.DataFrame(columns, index=pandas.Index(list(terms), name="term"))


def too_few_independent(samples: Array) -> list[str]:
    """Check the number of independent draws. With no chains that could disagree or lag, nothing else can go wrong."""
    total = samples.shape[0] * samples.shape[1]
    return [] if total >= ESS_LIMIT else [f"too few draws ({total}; need at least {ESS_LIMIT:.0f})"]


def problems(samples: Array, terms: Sequence[str], divergences: int) -> list[str]:
    """List the reasons not to trust the draws yet, one sentence each. Empty if there are none."""
    found = []
    moved = ~(samples == samples[:1, :1]).all(axis=(0, 1))
    if not moved.all():
        found.append(f"all draws of {_names(terms, ~moved)} are the same")
    ratio = diagnostics.r_hat(samples)
    disagree = moved & ~(ratio <= R_HAT_LIMIT)
    if disagree.any():
        worst = np.nanmax(np.where(disagree, np.nan_to_num(ratio, nan=np.inf), -np.inf))
        found.append(f"the chains disagree on {_names(terms, disagree)} (R-hat up to {worst:.3f}; should be at most "
                     f"{R_HAT_LIMIT})")
    size = np.fmin(diagnostics.ess_bulk(samples), diagnostics.ess_tail(samples))
    few = moved & ~(size >= ESS_LIMIT)
    if few.any():
        least = np.min(np.where(few, np.nan_to_num(size, nan=0.0), np.inf))
        found.append(f"too few effective draws for {_names(terms, few)} (at worst {least:.0f}; need at least "
                     f"{ESS_LIMIT:.0f})")
    total = samples.shape[0] * samples.shape[1]
    if divergences > DIVERGENCE_LIMIT * total:
        found.append(f"{divergences} divergent transitions in {total} draws; the sampler may have missed part of the posterior")
    return found


def _names(terms: Sequence[str], chosen: Flags) -> str:
    names = [term for term, is_chosen in zip(terms, chosen, strict=True) if is_chosen]
    if len(names) <= NAMED_TERMS:
        return ", ".join(names)
    return ", ".join(names[:NAMED_TERMS]) + f" and {len(names) - NAMED_TERMS} more"


def ratio_table(draws: Array, terms: tuple[str, ...], family: ResultFamily, interval: float,
                per: Mapping[str, float] | None) -> pandas.DataFrame:
    """Tabulate exp(coefficient × step) for every predictor: median, interval and the probability that it exceeds 1."""
    import pandas

    tails = check_interval(interval)
    if family.ratio is None:
        known = ", ".join(f"{other.ratio}s ({other.name})" for other in RESULT_FAMILIES.values() if other.ratio)
        raise ResultError(f"a {family.name} regression has no ratios", found=f"family {family.name!r}",
                          remedy=f"ratios exist as {known}; otherwise use summary() and predict()")
    chosen = [term for term in terms if term not in (INTERCEPT, *SCALES)]
    if not chosen:
        raise ResultError("ratios require a predictor", found="a formula without predictors")
    given = _steps(per, chosen)
    steps = np.array([given.get(term, 1.0) for term in chosen])
    logs = draws[:, [terms.index(term) for term in chosen]] * steps
    # exp maps the median and interval ends to the median and interval ends of the ratio, but not the mean.
    lower, middle, upper = np.exp(np.minimum(np.quantile(logs, [tails[0], 0.5, tails[1]], axis=0), LARGEST))
    columns = {"per": steps, family.ratio: middle, percent_label(tails[0]): lower, percent_label(tails[1]): upper,
               "P(>1)": (logs > 0).mean(axis=0)}
    return pandas.DataFrame(columns, index=pandas.Index(chosen, name="term"))


def _steps(per: Mapping[str, float] | None, terms: list[str]) -> dict[str, float]:
    if per is None:
        return {}
    if not isinstance(per, Mapping):
        raise ResultError("per must map predictors to numbers", argument="per", found=repr(per),
                          remedy=f"for example per={{{terms[0]!r}: 10}}")
    unknown = [str(term) for term in per if term not in terms]
    if unknown:
        raise ResultError("per must name predictors", argument="per", found=", ".join(unknown), known=terms)
    for term, step in per.items():
        if isinstance(step, bool) or not isinstance(step, numbers.Real) or not math.isfinite(step) or step == 0:
            raise ResultError("per must give a finite change other than 0", argument="per", found=f"{term}: {step!r}")
    return {term: float(step) for term, step in per.items()}
