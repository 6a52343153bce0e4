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

from collections.abc import Sequence
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import FitError
from noisewise.schema.bayes_factors import CRITERIA, exact_log_bayes_factors, information_criterion
from noisewise.selection.moments import Moments, without_leading
from noisewise.selection.subsets import all_subsets, sizes
from noisewise.selection.weigher import Effective, Places, Weigher, floored, log_determinants
from noisewise.selection.weighing import weighing

ROUNDS: Final = 20
OWN_ROUNDS: Final = 5
SETTLED: Final = 1e-6
MOST_DEGREES: Final = 1e8
INDEPENDENT: Final = 1e-12
"""The least eigenvalue allowed for the correlations of a table without noise."""


class Evidence(Weigher):
    """Weighs models by released moments. Its ``prior_moments`` are those of the columns in question about the kept ones."""

    def __init__(self, moments: Moments, groups: Sequence[Sequence[int]], prior: str) -> None:
        moments = moments if moments.exact else moments.possible()
        self.moments = moments
        both = np.column_stack([moments.features, moments.target])
        self.table = both.T @ moments.matrix @ both
        self.gram, self.cross, self.total = self.table[:-1, :-1], self.table[:-1, -1], float(self.table[-1, -1])
        if moments.exact:
            _check_independent(self.table)
        super().__init__(groups, prior, without_leading(self.gram, moments.kept), moments.kept, moments.rows)
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

    @property
    def exact(self) -> bool:
        """True if the moments have no noise."""
        return self.moments.exact

    @property
    def width(self) -> int:
        """The coefficients, and σ."""
        return len(self.gram) + 1

    def all_models(self) -> Array:
        """Log Bayes factors of all models against that with only the kept columns; model i has group k if bit k of i is set."""
        if not self.moments.exact:
            return super().all_models()
        rest = all_subsets(without_leading(self.table, self.kept), self.groups)
        return self._exactly(rest, sizes([len(group) for group in self.groups]))

    def _exactly(self, rest: Array, columns: Places) -> Array:
        return self.exact_factors(np.minimum(rest / without_leading(self.table, self.kept)[-1, -1], 1.0), columns)

    def exact_factors(self, unexplained: Array, columns: Places) -> Array:
        """Log Bayes factors of models of a table without noise, from the share of the response they leave unexplained."""
        if self.prior in CRITERIA:
            return information_criterion(self.prior, unexplained, columns, self.moments.rows)
        return exact_log_bayes_factors(unexplained, columns, self.moments.rows - self.kept, self.moments.rows, self.prior)

    def log_bayes_factors(self, members: Flags) -> Array:
        """Log Bayes factors of these models against the one with only the kept columns."""
        if self.moments.exact:
            return self._exactly(self._rests(members), self.mask(members).sum(axis=1))
        return super().log_bayes_factors(members)

    def _rests(self, members: Flags) -> Array:
        """Sums of squared residuals in a table without noise."""
        moments = without_leading(self.table, self.kept)
        result = np.empty(len(members))
        for mine, places in self.by_size(members):
            cross = moments[places, -1]
            gram = moments[places[:, :, None], places[:, None, :]]
            result[mine] = moments[-1, -1] - np.einsum("mi,mi->m", cross, np.linalg.solve(gram, cross[..., None])[..., 0])
        return result

    def by_node(self, effective: Effective) -> Array:
        """Log evidence of each model for each g, including its weight in the mixture: (models, nodes)."""
        g = self.nodes.g[None, :, None]
        values, cross = effective.values[:, None, :], effective.cross[:, None, :]
        stretched = g * values + 1.0
        rest = np.maximum(effective.total[:, None] - np.sum(g * cross**2 / stretched, axis=2), self.total_scale)
        exponent = -log_determinants(stretched) - 0.5 * (self.degrees + self.columns) * np.log(rest / self.total_scale)
        return np.asarray(exponent + effective.log_scale[:, None] + self.nodes.log_weight)

    def _criterion(self, effective: Effective) -> Array:
        values = floored(effective.values)
        rest = np.maximum(effective.total - np.sum(effective.cross**2 / values, axis=1), self.total_scale)
        gain = -0.5 * (self.degrees + len(self.gram)) * np.log(rest / self.total_scale)
        return self.by_criterion(values, gain + effective.log_scale)

    def variances(self, rest: Array, rng: np.random.Generator) -> Array:
        """σ², known as well as from m residuals."""
        rest = np.maximum(rest, self.total_scale)
        return np.asarray(rest / rng.chisquare(self.degrees + self.columns, size=len(rest)))

    def scales(self, variances: Array, rng: np.random.Generator) -> Array:
        """σ. If there is noise, it differs from the scale of the noise in h."""
        if self.moments.exact:
            return np.sqrt(variances)[:, None]
        free = 2.0 * self.variance**2 / self.variance_spread
        return np.asarray(np.sqrt(self.variance * free / rng.chisquare(free, size=len(variances))))[:, None]

    def _effective(self, places: Places) -> Effective:
        kept = self.kept
        moments = self.prior_moments[places[:, :, None], places[:, None, :]]
        columns = self.with_kept(places)
        if self.weighing is None:
            table = self.table.copy()
            table[-1, -1] -= self.total_scale
            whole, log_scale = table[columns[:, :, None], columns[:, None, :]], np.zeros(len(places))
        else:
            whole, log_scale = self._at_own_coefficients(columns, moments / self.moments.rows)
        rest = without_leading(whole, kept)
        if kept:
            log_scale = log_scale - 0.5 * np.linalg.slogdet(whole[:, :kept, :kept])[1]
        values, cross, back = self.in_coordinates(rest, places)
        return Effective(values, cross, back, self.total_scale + rest[:, -1, -1], log_scale, whole[:, :kept])

    def _at_own_coefficients(self, columns: Places, prior: Array) -> tuple[Array, Array]:
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
