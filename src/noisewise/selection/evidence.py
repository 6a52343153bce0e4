"""Bayes factors of models from released moments, accounting for the noise.

As docs/model-averaging.md explains ("How it is computed"), at the true coefficients β and with c = (−β, 1)

    h = Ŵ_av − Ŵ_aa β ~ N(0, Ω),     Ω = σ² S + Cov(E c),     A = σ² Ŵ_aa Ω⁻¹ Ŵ_aa,      b = σ² Ŵ_aa Ω⁻¹ Ŵ_av,

where S is the table's own W_aa. (If the noise is so large that no table can have Ŵ_aa, the expected value of a table's own,
which is positive definite and bounded, replaces it. Otherwise noise would count as information.) Within a model Ω is taken at
that model's estimate of β: a model with small coefficients expects less noise in h than one with large ones, and is less credible
if h is large. The constant, and any other term kept in every model, is eliminated afterwards, so centring costs no privacy. Given
g, the prior N(0, g σ² S⁻¹) uses the table's own centred S and not A: noise removes information, but does not change which
coefficients are plausible. Let ν be the number of residuals that would determine Ω's scale as well, T = νσ² + σ² Ŵ_avᵀ Ω⁻¹ Ŵ_av,
and m = ν + number of predictors. Then

    log evidence = ½ log|S/g| − ½ log|A + S/g| − (m/2) log(T − bᵀ(A + S/g)⁻¹b) − ½ log|Ω/σ²|.

The criteria have no prior. For BIC, −½ log|n S⁻¹A| (never positive; −(k/2) log n without noise) replaces the first two terms,
for AIC −k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Flags
from noisewise.errors import FitError
from noisewise.schema.bayes_factors import CRITERIA, Mixture, exact_log_bayes_factors, information_criterion, mixture
from noisewise.selection.moments import Moments, without_leading
from noisewise.selection.subsets import all_subsets, memberships, sizes
from noisewise.selection.weighing import weighing

ROUNDS: Final = 20
OWN_ROUNDS: Final = 5
SETTLED: Final = 1e-6
MOST_DEGREES: Final = 1e8
INDEPENDENT: Final = 1e-12
"""The least eigenvalue allowed for the correlations of a table without noise."""
LOT: Final = 1024
"""Models weighed together. This bounds the memory."""


@dataclass(frozen=True)
class Effective:
    """The effective moments of several models, zero for columns that are not in a model; see the text above.

    In coordinates in which the prior's precision is 1/g times the identity, A has the eigenvalues ``values``, b is ``cross``,
    and the slopes are ``back`` times the coordinates. ``head`` has the rows of the kept columns, (A₀₀, A₀ₓ, b₀). Given the
    slopes, their coefficients are N(A₀₀⁻¹(b₀ − A₀ₓ slopes), σ² A₀₀⁻¹).
    """

    values: Array
    cross: Array
    back: Array
    total: Array
    log_scale: Array
    head: Array


class Evidence:
    """Weighs models, given as rows of flags, one for each of ``groups``: indices of columns, not counting the kept ones."""

    def __init__(self, moments: Moments, groups: Sequence[Sequence[int]], prior: str) -> None:
        moments = moments if moments.exact else moments.possible()
        self.moments, self.groups, self.prior = moments, [list(group) for group in groups], prior
        both = np.column_stack([moments.features, moments.target])
        self.table = both.T @ moments.matrix @ both
        self.gram, self.cross, self.total = self.table[:-1, :-1], self.table[:-1, -1], float(self.table[-1, -1])
        self.kept = moments.kept
        self.columns = len(self.gram) - self.kept
        if moments.exact:
            _check_independent(self.table)
        self.prior_moments = without_leading(self.gram, self.kept)
        self.spread = self.gram if moments.exact else _cone(moments.features.T @ moments.spread @ moments.features)
        self.variance, self.variance_spread, self.degrees = self._scale()
        self.total_scale = self.degrees * self.variance
        self.weighing = None if moments.exact else weighing(moments, self.table[:-1], self.spread, self.variance)

    def _scale(self) -> tuple[float, float, float]:
        """σ², its uncertainty, and the number of residuals that would determine the scale of Ω as well.

        They are taken at the coefficients of the full model, which a unit information prior regularises.
        """
        free = max(self.moments.rows - len(self.gram), 1.0)
        if self.moments.exact:
            rest = self.total - float(self.cross @ np.linalg.solve(self.gram, self.cross)) if len(self.gram) else self.total
            variance = max(rest, 1e-12 * abs(self.total)) / free
            return variance, 2.0 * variance**2 / free, free
        prior = np.zeros_like(self.gram)
        prior[self.kept:, self.kept:] = self.prior_moments / self.moments.rows
        beta: Array = np.zeros(len(self.gram))
        variance, uncertainty = self.moments.residual_variance(beta)
        for _ in range(ROUNDS):
            omega = variance * self.spread + self.moments.noise_covariance(self.moments.target - self.moments.features @ beta)
            solved = variance * self.gram @ np.linalg.solve(omega, np.column_stack([self.gram, self.cross]))
            before, beta = beta, np.asarray(np.linalg.solve(solved[:, :-1] + prior, solved[:, -1]), dtype=np.float64)
            variance, uncertainty = self.moments.residual_variance(beta)
            if np.max(np.abs(beta - before)) <= SETTLED:
                break
        share = float(np.trace(np.linalg.solve(omega, variance * self.spread))) / len(omega)
        return variance, uncertainty, min(2.0 * variance**2 / (uncertainty * min(share, 1.0) ** 2), MOST_DEGREES)

    @cached_property
    def nodes(self) -> Mixture:
        """The prior of g as values and weights; not used by criteria."""
        return mixture(self.prior, self.moments.rows, self.columns)

    def all_models(self) -> Array:
        """Log Bayes factors of all models against that with only the kept columns; model i has group k if bit k of i is set."""
        if not self.moments.exact:
            return self.log_bayes_factors(memberships(len(self.groups)))
        rest = all_subsets(without_leading(self.table, self.kept), self.groups)
        return self._exactly(rest, sizes([len(group) for group in self.groups]))

    def _exactly(self, rest: Array, columns: npt.NDArray[np.int64]) -> Array:
        return self.exact_factors(np.minimum(rest / without_leading(self.table, self.kept)[-1, -1], 1.0), columns)

    def exact_factors(self, unexplained: Array, columns: npt.NDArray[np.int64]) -> Array:
        """Log Bayes factors of models of a table without noise, from the share of the response they leave unexplained."""
        if self.prior in CRITERIA:
            return information_criterion(self.prior, unexplained, columns, self.moments.rows)
        return exact_log_bayes_factors(unexplained, columns, self.moments.rows - self.kept, self.moments.rows, self.prior)

    def log_bayes_factors(self, members: Flags) -> Array:
        """Log Bayes factors of these models against the one with only the kept columns."""
        if self.moments.exact:
            return self._exactly(self._rests(members), self.mask(members).sum(axis=1))
        found = np.empty(len(members))
        for mine, places in self._by_size(members):
            found[mine] = self._log_evidence(self._effective(places))
        return found - self._of_nothing

    @cached_property
    def _of_nothing(self) -> float:
        return float(self._log_evidence(self._effective(np.zeros((1, 0), dtype=np.int64)))[0])

    def _rests(self, members: Flags) -> Array:
        """Sums of squared residuals in a table without noise."""
        moments = without_leading(self.table, self.kept)
        result = np.empty(len(members))
        for mine, places in self._by_size(members):
            cross = moments[places, -1]
            gram = moments[places[:, :, None], places[:, None, :]]
            result[mine] = moments[-1, -1] - np.einsum("mi,mi->m", cross, np.linalg.solve(gram, cross[..., None])[..., 0])
        return result

    def _by_size(self, members: Flags) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Models with equal numbers of columns, a lot at a time: their indices, and the indices of their columns."""
        chosen = self.mask(members)
        count = chosen.sum(axis=1)
        for size in np.unique(count):
            same = np.flatnonzero(count == size)
            for start in range(0, len(same), LOT):
                mine = same[start:start + LOT]
                yield mine, np.nonzero(chosen[mine])[1].reshape(len(mine), size)

    def _log_evidence(self, effective: Effective) -> Array:
        if self.prior in CRITERIA:
            return self._criterion(effective)
        return np.asarray(np.logaddexp.reduce(self.by_node(effective), axis=1))

    def by_node(self, effective: Effective) -> Array:
        """Log evidence of each model for each g, including its weight in the mixture: (models, nodes)."""
        g = self.nodes.g[None, :, None]
        values, cross = effective.values[:, None, :], effective.cross[:, None, :]
        stretched = g * values + 1.0
        fours = range(0, stretched.shape[2], 4)  # logarithms are expensive, and products of four cannot overflow
        determinant = np.sum(np.log(np.multiply.reduceat(stretched, fours, axis=2)), axis=2) if fours else 0.0
        rest = np.maximum(effective.total[:, None] - np.sum(g * cross**2 / stretched, axis=2), self.total_scale)
        exponent = -0.5 * determinant - 0.5 * (self.degrees + self.columns) * np.log(rest / self.total_scale)
        return np.asarray(exponent + effective.log_scale[:, None] + self.nodes.log_weight)

    def _criterion(self, effective: Effective) -> Array:
        values = np.maximum(effective.values, 1e-12 * effective.values.max(axis=1, keepdims=True, initial=1e-300))
        rest = np.maximum(effective.total - np.sum(effective.cross**2 / values, axis=1), self.total_scale)
        gain = -0.5 * (self.degrees + len(self.gram)) * np.log(rest / self.total_scale)
        units = np.sum(np.log(self.moments.rows * values), axis=1)
        penalty = values.shape[1] if self.prior == "aic" else 0.5 * np.maximum(units, 0.0)
        return np.asarray(gain + effective.log_scale - penalty)

    def mask(self, members: Flags) -> Flags:
        """Flags for the columns of each model, without the kept ones."""
        chosen = np.zeros((len(members), self.columns), dtype=bool)
        for index, group in enumerate(self.groups):
            chosen[:, group] = members[:, index, None]
        return chosen

    def effective(self, members: Flags) -> Effective:
        """The effective moments of each model at its own coefficients; columns that it lacks are zero."""
        count, size, kept = len(members), self.columns, self.kept
        result = Effective(np.zeros((count, size)), np.zeros((count, size)), np.zeros((count, size, size)),
                           np.zeros(count), np.zeros(count), np.zeros((count, kept, kept + size + 1)))
        for mine, places in self._by_size(members):
            one, width = self._effective(places), places.shape[1]
            result.values[mine, :width], result.cross[mine, :width] = one.values, one.cross
            result.back[mine[:, None], places, :width] = one.back
            result.total[mine], result.log_scale[mine] = one.total, one.log_scale
            columns = self._with_kept(places)
            result.head[mine[:, None, None], np.arange(kept)[:, None], columns[:, None, :]] = one.head
        return result

    def _with_kept(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Indices among all columns, with the kept ones first and the response last."""
        count = len(places)
        return np.column_stack([np.tile(np.arange(self.kept), (count, 1)), places + self.kept, np.full(count, len(self.gram))])

    def _effective(self, places: npt.NDArray[np.int64]) -> Effective:
        kept, size = self.kept, places.shape[1]
        moments = self.prior_moments[places[:, :, None], places[:, None, :]]
        columns = self._with_kept(places)
        if self.weighing is None:
            table = self.table.copy()
            table[-1, -1] -= self.total_scale
            whole, log_scale = table[columns[:, :, None], columns[:, None, :]], np.zeros(len(places))
        else:
            whole, log_scale = self._at_own_coefficients(columns, moments / self.moments.rows)
        rest = without_leading(whole, kept)
        if kept:
            log_scale = log_scale - 0.5 * np.linalg.slogdet(whole[:, :kept, :kept])[1]
        inverse = np.linalg.inv(np.linalg.cholesky(moments)) if size else moments
        values, vectors = np.linalg.eigh(inverse @ rest[:, :-1, :-1] @ np.swapaxes(inverse, 1, 2))
        turned = np.swapaxes(vectors, 1, 2) @ inverse
        return Effective(np.maximum(values, 0.0), np.einsum("mij,mj->mi", turned, rest[:, :-1, -1]), np.swapaxes(turned, 1, 2),
                         self.total_scale + rest[:, -1, -1], log_scale, whole[:, :kept])

    def _at_own_coefficients(self, columns: npt.NDArray[np.int64], prior: Array) -> tuple[Array, Array]:
        """((A, b), (bᵀ, σ² Ŵ_avᵀ Ω⁻¹ Ŵ_av)) and −½ log|Ω/σ²| for each model."""
        assert self.weighing is not None
        features = np.swapaxes(self.moments.features.T[columns[:, :-1]], 1, 2)
        residual = np.tile(self.moments.target, (len(columns), 1))
        for _ in range(OWN_ROUNDS):
            whole, log_determinant = self.weighing(residual, columns)
            precision = whole[:, :-1, :-1].copy()
            precision[:, self.kept:, self.kept:] += prior
            if columns.shape[1] > 1:
                residual = self.moments.target - (features @ np.linalg.solve(precision, whole[:, :-1, -1:]))[..., 0]
        return whole, -0.5 * log_determinant


def _check_independent(table: Array) -> None:
    """Refuse collinear columns: without noise their determinants are 0."""
    scale = np.sqrt(np.diagonal(table))
    if not np.all(scale > 0.0) or np.linalg.eigvalsh(table / np.outer(scale, scale))[0] < INDEPENDENT:
        raise FitError("without noise no column may be constant, or a combination of the others",
                       remedy="leave out one of the redundant terms, or check the response")


def _cone(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
