"""One estimate out of those from m synthetic tables, with an interval that holds what it promises.

All tables come from one release. Table k is drawn from the distribution θ_k, and θ_1, …, θ_m are independent draws from the
posterior given the release; Q(θ) is what is asked for, q_k its estimate from table k, with variance u. Then

    E(q_k | release) = E(Q | release),      Var(q_k | release) = V + u,      V = Var(Q | release),

so that B, the variance between the q_k, estimates V + u, and their mean q̄ estimates E(Q | release) with variance B/m. What is
not known about Q is V + B/m, estimated by

    T = (1 + 1/m) B − ū

(Raghunathan, Reiter and Rubin 2003, for fully synthetic data). The variance u of a table's own rows is subtracted: it is in B,
and says nothing about Q. V includes the privacy noise, because the θ_k are draws from a posterior that knows of it. Two other
rules are wrong here: B/m + ū (Liu 2016), for tables that were sanitised one by one, each with a part of the budget, because here
the noise is the same in all of them and does not average out; (1 + 1/m) B + ū (Rubin 1987), for imputed values in real rows,
because here u is no knowledge that is added to B, but a part of B.

T can be negative if m is small. V is at least what the real rows themselves leave unknown, u times synthetic over real rows, so
that T is at least that plus B/m. The interval is Student's, with the degrees of freedom (m − 1) (T / ((1 + 1/m) B))².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import ResultError
from noisewise.results.records import check_interval

if TYPE_CHECKING:
    import pandas

Array = npt.NDArray[np.float64]

RULES: Final = ("one-release", "separate", "imputation")


@dataclass(frozen=True, eq=False)
class CombinedEstimate:
    """Estimates from all tables together: their mean, its standard deviation, and the degrees of freedom of its intervals."""

    names: tuple[str, ...]
    estimate: Array
    sd: Array
    degrees: Array
    sets: int

    def summary(self, interval: float = 0.95) -> pandas.DataFrame:
        """One row for each estimate, with its interval."""
        import pandas
        from scipy.stats import t

        from noisewise.results.summary import percent_label

        low, high = check_interval(interval)
        columns = {"estimate": self.estimate, "sd": self.sd, "df": self.degrees,
                   percent_label(low): self.estimate + self.sd * t.ppf(low, self.degrees),
                   percent_label(high): self.estimate + self.sd * t.ppf(high, self.degrees)}
        return pandas.DataFrame(columns, index=pandas.Index(list(self.names), name="estimate of"))

    def interval(self, probability: float = 0.95) -> Array:
        """(estimates, 2)."""
        from scipy.stats import t

        return np.asarray(self.estimate[:, None] + self.sd[:, None] * t.ppf(check_interval(probability), self.degrees[:, None]))


def combine_synthetic(
    estimates: npt.ArrayLike,
    variances: npt.ArrayLike,
    *,
    names: Sequence[str] | None = None,
    rows_ratio: float = 1.0,
    rule: str = "one-release",
) -> CombinedEstimate:
    """Combine the results of one analysis of each synthetic table.

    ``estimates`` and ``variances`` (squared standard errors) have one row for each table and, if there are several estimates, one
    column for each. ``rows_ratio``: rows of a synthetic table over rows of the real one. ``rule``: ``one-release`` is right for
    `synthesize`; ``separate`` (Liu: each table has its own noise) and ``imputation`` (Rubin) are there for comparison.

    >>> combined = combine_synthetic([1.2, 0.9, 1.1, 1.0, 0.8], [0.01] * 5)
    >>> combined.estimate.round(2), combined.sd.round(3)
    (array([1.]), array([0.141]))
    """
    q, u = _checked(estimates, variances, rows_ratio)
    if rule not in RULES:
        raise ResultError("the rule is not known", found=repr(rule), remedy="known are " + ", ".join(RULES))
    m = len(q)
    between, within = q.var(axis=0, ddof=1), u.mean(axis=0)
    more = (1.0 + 1.0 / m) * between
    if rule == "one-release":
        total, uncertain = np.maximum(more - within, between / m + rows_ratio * within), more
    elif rule == "separate":
        total, uncertain = between / m + within, between / m
    else:
        total, uncertain = more + within, more
    degrees = (m - 1.0) * (total / np.maximum(uncertain, 1e-9 * total + 1e-300)) ** 2
    chosen = tuple(names) if names is not None else tuple(f"q{k + 1}" for k in range(q.shape[1]))
    if len(chosen) != q.shape[1]:
        raise ResultError("each estimate has a name", found=f"{len(chosen)} names, {q.shape[1]} estimates")
    return CombinedEstimate(chosen, q.mean(axis=0), np.sqrt(total), np.clip(degrees, 1.0, 1e9), m)


def _checked(estimates: npt.ArrayLike, variances: npt.ArrayLike, ratio: float) -> tuple[Array, Array]:
    q, u = (np.atleast_1d(np.asarray(given, dtype=float)) for given in (estimates, variances))
    q, u = (given[:, None] if given.ndim == 1 else given for given in (q, u))
    if q.shape != u.shape or q.ndim != 2 or len(q) < 2:
        raise ResultError("there are estimates from two or more tables, each with its variance", found=f"{q.shape}, {u.shape}")
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise ResultError("estimates are finite numbers, and variances are not negative")
    if not (np.isfinite(ratio) and ratio >= 0):
        raise ResultError("rows_ratio is synthetic rows over real rows", found=repr(ratio))
    return q, u
