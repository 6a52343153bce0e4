"""Shared by the studies of model averaging: moments of made-up tables, releases of them, and the methods applied to these.

Columns are in units of half their declared ranges, [−1, 1]. Neighbours differ by one replaced row, as in paper 004, whose
analyses all use the number of rows. A table is never made: given the predictors' moments S, those with the response are
Sβ + N(0, σ²S), and the sum of squared residuals is σ² χ²: the distribution of a table's moments, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.literature.noise_laws import NoiseLaw, independent, wishart
from noisewise.literature.plug_in import regularised
from noisewise.literature.regions import Region
from noisewise.privacy.mechanisms.gram import SymmetricMechanism, choose_mechanism
from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.privacy.sensitivity.gram import (
    GramSensitivity,
    frobenius_without_constant,
    gram_sensitivity,
    l1_without_constant,
)
from noisewise.schema.bayes_factors import CRITERIA
from noisewise.selection.averaged import AveragedDraws, averaged_draws
from noisewise.selection.bands import inclusion_without_noise
from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments, without_leading
from noisewise.selection.probabilities import Weighed, log_prior_by_size
from noisewise.selection.subsets import memberships, sizes
from studies import page

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

RESULTS: Final = page.RESULTS / "paper_004"
IMAGES: Final = Path("docs/images")
DELTA: Final = math.exp(-10)
ADJACENCY: Final = "replace-one"
MODEL_PRIOR: Final = "beta-binomial"
PLUG_INS: Final = ("ridge", "thresholded")
REGION_DRAWS: Final = 100


@dataclass(frozen=True)
class Table:
    """Moments of (constant, predictors, response), or without the constant, and the truth behind them."""

    matrix: Array
    rows: int
    beta: Array
    constant: bool

    @property
    def active(self) -> Flags:
        return np.asarray(self.beta != 0.0)

    @property
    def predictors(self) -> int:
        return len(self.beta)


@dataclass(frozen=True)
class Noise:
    """A calibrated mechanism, and the law of what it adds."""

    mechanism: SymmetricMechanism
    law: NoiseLaw

    @property
    def variances(self) -> Array:
        return self.law.variances

    def draw(self, rng: np.random.Generator) -> Array:
        """Simulated noise, which protects nobody."""
        return np.asarray(self.law.draw(1, rng)[0])


def noise_of(mechanism: str, columns: int, constant: bool, epsilon: float, delta: float = DELTA) -> Noise:
    """For ``columns`` predictors and responses with values in [−1, 1], with or without a released constant column."""
    if constant:
        sensitivity = gram_sensitivity(scalars=columns, blocks=0, size=columns + 1, radius=math.sqrt(columns),
                                       norm_clipped=False, adjacency=ADJACENCY)
    else:
        sensitivity = GramSensitivity(
            frobenius=frobenius_without_constant(math.sqrt(columns), ADJACENCY), l1=l1_without_constant(columns, ADJACENCY),
            corner_is_public=False, adjacency=ADJACENCY, unit_is_row=True, max_rows=1, size=columns, spectral=float(columns))
    chosen = choose_mechanism(sensitivity, epsilon, None if mechanism == "laplace" else delta, mechanism)
    size, public = columns + int(constant), sensitivity.corner_is_public
    if isinstance(chosen, SymmetricWishart):
        return Noise(chosen, wishart(chosen.degrees, chosen.scale, size, delta, public))
    diagonal, off_diagonal, corner = chosen.entry_sd()
    variances = np.full((size, size), off_diagonal**2)
    np.fill_diagonal(variances, diagonal**2)
    if public:
        variances[0, 0] = corner**2
    return Noise(chosen, independent(chosen.distribution, variances))


def table_of(s: Array, sums: Array, beta: Array, variance: float, rows: int, mean: float, rng: np.random.Generator) -> Table:
    """With a constant: ``s`` are the predictors' centred moments, ``sums`` their sums, ``mean`` is the response's mean."""
    p = len(beta)
    cross = s @ beta + math.sqrt(variance) * np.linalg.cholesky(s) @ rng.normal(size=p)
    total = cross @ np.linalg.solve(s, cross) + variance * rng.chisquare(rows - 1 - p)
    all_sums = np.append(sums, rows * mean + math.sqrt(rows * variance) * rng.normal())
    centred = np.block([[s, cross[:, None]], [cross[None], np.array([[total]])]])
    matrix = np.zeros((p + 2, p + 2))
    matrix[0, 0] = rows
    matrix[0, 1:] = matrix[1:, 0] = all_sums
    matrix[1:, 1:] = centred + np.outer(all_sums, all_sums) / rows
    return Table(matrix, rows, beta, True)


def table_without_constant(s: Array, beta: Array, variance: float, rows: int, rng: np.random.Generator) -> Table:
    p = len(beta)
    cross = s @ beta + math.sqrt(variance) * np.linalg.cholesky(s) @ rng.normal(size=p)
    total = cross @ np.linalg.solve(s, cross) + variance * rng.chisquare(rows - p)
    return Table(np.block([[s, cross[:, None]], [cross[None], np.array([[total]])]]), rows, beta, False)


@dataclass(frozen=True)
class Analysis:
    """A method's answer: model ``i`` contains predictor ``k`` if bit k of i is set."""

    probabilities: Array
    inclusion: Array
    averaged: Array
    full: Array


def moments_of(table: Table, matrix: Array, variances: Array) -> Moments:
    size = len(matrix)
    both = np.eye(size)
    return Moments(matrix, matrix, variances, float(table.rows), both[:, :-1], both[:, -1], int(table.constant))


def evidence_of(table: Table, matrix: Array, variances: Array, prior: str) -> Evidence:
    return Evidence(moments_of(table, matrix, variances), [[k] for k in range(table.predictors)], prior)


def weights(log_bayes_factors: Array) -> Array:
    """Posterior probabilities of all models under the hierarchical uniform prior."""
    count = int(math.log2(len(log_bayes_factors)))
    exponents = log_bayes_factors + log_prior_by_size(MODEL_PRIOR, count)[sizes([1] * count)]
    found = np.exp(exponents - exponents.max())
    return np.asarray(found / found.sum())


def as_if_exact(table: Table, matrix: Array, prior: str) -> Analysis:
    """The textbook analysis of a positive definite matrix.

    The mean within a model is g/(1 + g) times that of least squares; g is of the order of n, so that the factor is taken as 1.
    """
    found = weights(evidence_of(table, matrix, np.zeros_like(matrix), prior).all_models())
    centred = without_leading(matrix, int(table.constant))
    members = memberships(table.predictors)
    inside = members.astype(float)
    systems = centred[:-1, :-1] * inside[:, :, None] * inside[:, None, :] + np.eye(table.predictors) * (1.0 - inside)[:, None, :]
    slopes = np.linalg.solve(systems, (centred[:-1, -1] * inside)[..., None])[..., 0]
    return Analysis(found, found @ members, found @ slopes, slopes[-1])


def plug_in(table: Table, matrix: Array, noise: Noise, kind: str, prior: str) -> Analysis:
    """Paper 004's LM and WM (``ridge``), LMT and WMT (``thresholded``)."""
    repaired = regularised(moments_of(table, matrix, noise.variances), noise.law, threshold=kind == "thresholded")
    return as_if_exact(table, repaired.matrix, prior)


def region_analyses(table: Table, matrix: Array, noise: Noise, prior: str, count: int, seed: int) -> list[Analysis]:
    """Analyses of matrices from the 95 % confidence region of the table's own, each as if it were that."""
    drawn = Region(moments_of(table, matrix, noise.variances), noise.law).draws(count, seed)
    return [as_if_exact(table, possible, prior) for possible in drawn.matrices]


def histogram(table: Table, matrix: Array, noise: Noise, prior: str, seed: int, count: int = REGION_DRAWS) -> Analysis:
    """The paper's hLM and hWM: means over the confidence region."""
    found = region_analyses(table, matrix, noise, prior, count, seed)
    return Analysis(*(np.mean([getattr(one, name) for one in found], axis=0)
                      for name in ("probabilities", "inclusion", "averaged", "full")))


def noise_aware(evidence: Evidence) -> Analysis:
    """The library's default."""
    members = memberships(len(evidence.groups))
    effective = evidence.effective(members)
    if evidence.prior in CRITERIA:
        log_bayes_factors = evidence.log_bayes_factors(members)
        known = effective.values > 1e-12 * np.maximum(effective.values.max(axis=1, keepdims=True), 1e-300)
        coordinates = np.where(known, effective.cross / np.where(known, effective.values, 1.0), 0.0)
    else:
        by_node = evidence.by_node(effective)
        log_bayes_factors = np.logaddexp.reduce(by_node, axis=1)
        of_node = np.exp(by_node - log_bayes_factors[:, None])
        shrunk = 1.0 / (effective.values[:, None, :] + 1.0 / evidence.nodes.g[None, :, None])
        coordinates = effective.cross * np.einsum("mn,mnk->mk", of_node, shrunk)
    found = weights(log_bayes_factors)
    slopes = np.einsum("mij,mj->mi", effective.back, coordinates)
    return Analysis(found, found @ members, found @ slopes, slopes[-1])


def draws_of(evidence: Evidence, analysis: Analysis, count: int, seed: int) -> AveragedDraws:
    return averaged_draws(evidence, memberships(len(evidence.groups)), analysis.probabilities, count, seed)


def oracle_draws(evidence: Evidence, analysis: Analysis, drawn: AveragedDraws, count: int, seed: int) -> Array:
    """Inclusion probabilities that the analysis without privacy may have given: (draws, predictors)."""
    members = memberships(len(evidence.groups))
    weighed = Weighed(members, np.zeros(len(members)), analysis.probabilities)  # the Bayes factors are not needed again
    some = AveragedDraws(drawn.members[:count], drawn.working[:count])
    return inclusion_without_noise(evidence, weighed, some, log_prior_by_size(MODEL_PRIOR, len(evidence.groups)), seed, unheard)


def unheard(done: int, of: int | None) -> None:
    """Progress that is not reported."""
