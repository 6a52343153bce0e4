"""What an analysis without privacy noise might have said: its inclusion probabilities for draws of the table's own moments.

*The table's own moments, given the release.* Given a draw of model, coefficients and σ, h = Ŵ_av − Ŵ_aa β and the noisy sum of
squared residuals consist of residuals and noise. The noise E of the release is drawn from its distribution and then corrected so
that both take their observed values. As all are normal, this gives exactly the distribution of E given the release. Ŵ − E is a
draw of the table's moments, and its inclusion probabilities are a draw of those of the analysis without privacy. Their mean is
the inclusion probability given the release.

*Making them positive definite.* Where the noise hides the predictors' moments S, a draw of all moments has negative eigenvalues.
Raising only these would create predictors that explain the response completely. But more is known about a draw: its coefficients
β, σ, the residuals' sums of products with the predictors r = W_av − S β, where S^(−½) r / σ is standard normal, and the sum of
squared residuals q. So S is made positive definite, r is carried over to the new S, and the response's moments are rebuilt:

    W_av = S β + r,      W_vv = q + 2 βᵀr + βᵀS β.

If S is positive definite and equals the S in the residuals' covariance, this changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.progress import Tick
from noisewise.selection.averaged import AveragedDraws
from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import exact_moments, without_leading
from noisewise.selection.probabilities import MOST_EXACT, Weighed, probabilities
from noisewise.selection.subsets import all_subsets, sizes

MOST_DRAWS: Final = 400
FEWEST_DRAWS: Final = 50
WORK: Final = 2**22
"""Weigh about this many models in total for a band, which takes a few seconds."""
LOT: Final = 2**20
"""Weigh this many together, so that the shared integrals over g are computed once."""
MOST_FOUND: Final = 2**13
"""Weigh again this many of the most probable models that a walk has found."""
ONE_BY_ONE: Final = 16
"""How many times as long a single model takes as one in a list of all."""


def affordable_draws(models: int, most: int) -> int:
    """How many matrices to analyse if ``models`` models are weighed for each."""
    return min(most, int(np.clip(WORK // models, FEWEST_DRAWS, MOST_DRAWS)))


def inclusion_without_noise(evidence: Evidence, weighed: Weighed, drawn: AveragedDraws, log_prior: Array, seed: int,
                            tick: Tick) -> Array:
    """Draws of the inclusion probabilities that the table itself would give: (draws, terms).

    If there are too many models to list, the most probable of those found are weighed again.
    """
    terms = len(evidence.groups)
    listed = terms <= MOST_EXACT
    models = 2**terms if listed else ONE_BY_ONE * min(len(weighed.members), MOST_FOUND)
    count = affordable_draws(models, len(drawn.working))
    matrices = possible_tables(evidence, drawn, count, seed)
    found = _of_all_models(evidence, matrices, log_prior) if listed else _of_found_models(evidence, matrices, weighed, log_prior)
    rows = np.empty((0, terms))
    for lot in found:
        rows = np.concatenate([rows, lot])
        tick(len(rows), count)
    return rows


def _of_all_models(evidence: Evidence, matrices: Iterator[Array], log_prior: Array) -> Iterator[Array]:
    """Inclusion probabilities, for a lot of matrices at a time."""
    columns, priors = sizes([len(group) for group in evidence.groups]), log_prior[sizes([1] * len(evidence.groups))]
    together = max(1, LOT // len(columns))
    while lot := list(itertools.islice(matrices, together)):
        rests = np.array([all_subsets(without_leading(matrix, evidence.kept), evidence.groups) for matrix in lot])
        unexplained = np.minimum(rests / rests[:, :1], 1.0)
        logs = evidence.exact_factors(unexplained.ravel(), np.tile(columns, len(lot))).reshape(rests.shape) + priors
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        bits = [shares.reshape(len(lot), -1, 2, 2**place)[:, :, 1].sum(axis=(1, 2)) for place in range(len(evidence.groups))]
        yield np.minimum(np.column_stack(bits), 1.0)


def _of_found_models(evidence: Evidence, matrices: Iterator[Array], weighed: Weighed, log_prior: Array) -> Iterator[Array]:
    members = weighed.members[np.argsort(-weighed.probabilities)[:MOST_FOUND]]
    for matrix in matrices:
        own = Evidence(exact_moments(evidence.moments, matrix), evidence.groups, evidence.prior)
        yield (probabilities(own.log_bayes_factors(members), members, log_prior) @ members)[None]


LEAST: Final = 1e-6
"""The smallest eigenvalue, as a share of the largest."""
LEAST_REST: Final = 0.01
"""The unexplained sum of squares is at least this share of n σ²."""


def possible_tables(evidence: Evidence, drawn: AveragedDraws, count: int, seed: int) -> Iterator[Array]:
    """Positive definite matrices in the formula's columns, the response last, for the first ``count`` draws."""
    rng = np.random.default_rng([seed, 1])
    values, vectors = np.linalg.eigh(evidence.spread)
    seen = values > LEAST * values[-1]
    whiten = vectors.T / np.sqrt(np.where(seen, values, 1.0))[:, None]
    for matrix, row in zip(moment_draws(evidence, drawn, count, seed), drawn.working, strict=False):
        beta, sigma = row[:-1], float(row[-1])
        features = evidence.moments.features
        residual = evidence.moments.target - features @ beta
        across = features.T @ matrix @ residual
        standard = np.where(seen, whiten @ across / sigma, rng.normal(size=len(across)))
        rest = float(residual @ matrix @ residual) - sigma**2 * float(standard[seen] @ standard[seen])
        rest = max(rest, LEAST_REST * evidence.moments.rows * sigma**2)
        yield _table(features.T @ matrix @ features, beta, sigma * vectors @ standard, rest)


def _table(gram: Array, beta: Array, standard: Array, rest: float) -> Array:
    """``standard``: S^(−½) r. Eigenvalues keep their size and lose their sign, like a normal number about 0 made positive."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    values = np.maximum(np.abs(values), LEAST * np.abs(values).max())
    positive = (vectors * values) @ vectors.T
    across = (vectors * np.sqrt(values)) @ (vectors.T @ standard)
    cross = positive @ beta + across
    total = rest + float(standard @ standard) + float(beta @ (cross + across))
    return np.block([[positive, cross[:, None]], [cross[None], np.array([[total]])]])


def moment_draws(evidence: Evidence, drawn: AveragedDraws, count: int, seed: int) -> Iterator[Array]:
    """Matrices of the released columns without noise, for the first ``count`` draws."""
    rng = np.random.default_rng(seed)
    moments = evidence.moments
    root = np.linalg.cholesky(evidence.spread + 1e-12 * np.trace(evidence.spread) * np.eye(len(evidence.spread)))
    sd = np.sqrt(moments.variances)
    for row in drawn.working[:count]:
        beta, variance = row[:-1], row[-1] ** 2
        c = moments.target - moments.features @ beta
        drawn_noise = np.triu(sd * rng.normal(size=sd.shape))
        noise = drawn_noise + np.triu(drawn_noise, 1).T
        residuals = np.sqrt(variance) * root @ rng.normal(size=len(root))
        free = max(moments.rows - len(beta), 1.0)
        squares = variance * rng.chisquare(free)
        seen = moments.matrix @ c
        gap = np.append(moments.features.T @ (seen - noise @ c) - residuals, c @ seen - c @ noise @ c - squares)
        yield moments.matrix - noise - _correction(evidence, c, variance, free, gap)


def _correction(evidence: Evidence, c: Array, variance: float, free: float, gap: Array) -> Array:
    """The correction to the noise that makes it explain its share of ``gap``."""
    moments = evidence.moments
    sides = np.column_stack([moments.features, c])  # h and the sum of squares are sidesᵀ E c
    covariance = moments.variances * np.outer(c, c)
    np.fill_diagonal(covariance, moments.variances @ c**2)
    total = sides.T @ covariance @ sides
    total[:-1, :-1] += variance * evidence.spread
    total[-1, -1] += 2.0 * free * variance**2
    scale = np.sqrt(np.diagonal(total))  # the sum of squares may be orders of magnitude larger, and nearly determined by h
    correlation = total / np.outer(scale, scale) + 1e-12 * np.eye(len(scale))
    direction = sides @ (np.linalg.solve(correlation, gap / scale) / scale)
    result = moments.variances * (np.outer(direction, c) + np.outer(c, direction))
    np.fill_diagonal(result, np.diag(moments.variances) * direction * c)
    return np.asarray(result)
