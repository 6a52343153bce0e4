"""Tables whose model and coefficients are drawn from the prior: inclusion probabilities must then come true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tests.unit.selection.made_moments import Array, from_matrix, single_columns

from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments
from noisewise.selection.probabilities import log_prior_by_size
from noisewise.selection.subsets import memberships, sizes

SIGMA = 0.3


def drawn_truth(rng: np.random.Generator, rows: int, count: int) -> tuple[Array, Array]:
    """Moments of rows (1, x, y) and which slopes are not 0: beta-binomial models, Zellner–Siow slopes."""
    x = rng.uniform(-0.4, 0.4, size=(rows, 1)) + rng.uniform(-0.6, 0.6, size=(rows, count))
    members = rng.uniform(size=count) < rng.uniform()
    chosen = x[:, members] - x[:, members].mean(axis=0)
    g = rows / rng.chisquare(1)
    slopes = np.linalg.solve(np.linalg.cholesky(chosen.T @ chosen).T, rng.normal(size=members.sum())) * np.sqrt(g) * SIGMA
    table = np.column_stack([np.ones(rows), x, x[:, members] @ slopes + SIGMA * rng.normal(size=rows)])
    return table.T @ table, members


def inclusion(evidence: Evidence) -> Array:
    count = len(evidence.groups)
    logs = evidence.all_models() + log_prior_by_size("beta-binomial", count)[sizes([1] * count)]
    weights = np.exp(logs - logs.max())
    return np.asarray(weights @ memberships(count) / weights.sum())


def noise_aware(moments: Moments) -> Array:
    return inclusion(single_columns(moments, "zellner-siow"))


def plug_in(moments: Moments) -> Array:
    """As if the released moments, made positive definite, were the table's own."""
    evidence = single_columns(moments, "zellner-siow")
    return as_if_exact(evidence, moments.matrix)


def as_if_exact(evidence: Evidence, matrix: Array) -> Array:
    both = np.column_stack([evidence.moments.features, evidence.moments.target])
    values, vectors = np.linalg.eigh(both.T @ matrix @ both)
    repaired = (vectors * np.maximum(values, 1e-6 * values[-1])) @ vectors.T
    exact = from_matrix(repaired, np.zeros_like(repaired), evidence.moments.rows, evidence.kept)
    return inclusion(single_columns(exact, "zellner-siow"))


@dataclass(frozen=True)
class Calibration:
    """What was said about terms and what was true, in five bins of what was said."""

    said: Array
    gaps: Array
    """Sums of (true − said)."""
    variances: Array

    @property
    def chi2(self) -> float:
        """With five degrees of freedom if the probabilities are right."""
        return float(np.sum(self.gaps**2 / np.maximum(self.variances, 1e-3)))

    @property
    def mean_gap(self) -> float:
        """How far what is said is from what comes true, on average over terms."""
        return float(np.abs(self.gaps).sum() / len(self.said))


def calibration(method: Callable[[Moments], Array], release: Callable[[np.random.Generator, Array], Moments], replicates: int,
                rows: int, count: int, seed: int) -> Calibration:
    rng = np.random.default_rng(seed)
    said, true = [], []
    for _ in range(replicates):
        matrix, members = drawn_truth(rng, rows, count)
        said.append(method(release(rng, matrix)))
        true.append(members)
    p, y = np.concatenate(said), np.concatenate(true).astype(float)
    bins = np.minimum((5 * p).astype(int), 4)
    return Calibration(p, np.bincount(bins, y - p, minlength=5), np.bincount(bins, p * (1 - p), minlength=5))
