"""Bayes factors of models from released moments, the noise taken account of.

The default likelihood of the library (``posterior/conditional``) says that at the right coefficients β and with c = (−β, 1)

    h = Ŵ_av − Ŵ_aa β ~ N(0, Ω),     Ω = σ² S + Cov(E c),

S being the table's own W_aa. Within a model Ω is taken at that model's estimate of β: a model with small coefficients
expects less noise in h than one with large ones, and is believed less if h is large. Then h is linear and normal in β, as in
a regression on exact data with the effective moments

    A = σ² Ŵ_aa Ω⁻¹ Ŵ_aa,      b = σ² Ŵ_aa Ω⁻¹ Ŵ_av,

and without noise A is S and b is W_av: then all this is the textbook analysis of the table. The constant, and whatever else is
kept in every model, is eliminated afterwards, so that centring costs no privacy. Given g, the prior N(0, g σ² S⁻¹) has the
table's own centred S and not A: noise takes information away, it does not change which coefficients are plausible. With ν,
the number of residuals from which Ω's scale would be known as well, T = νσ² + σ² Ŵ_avᵀ Ω⁻¹ Ŵ_av and m = ν + number of predictors,

    log evidence = ½ log|S/g| − ½ log|A + S/g| − (m/2) log(T − bᵀ(A + S/g)⁻¹b) − ½ log|Ω/σ²|.

The criteria have no prior: BIC has −½ log|n S⁻¹A| (never positive) in place of the first two, −(k/2) log n without noise; AIC −k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.selection.coefficient_priors import CRITERIA, LAPLACE, Mixture, mixture
from noisewise.selection.exact import exact_log_bayes_factors, information_criterion
from noisewise.selection.moments import Moments, without_leading
from noisewise.selection.subsets import all_subsets, memberships, sizes

Array = npt.NDArray[np.float64]
Members = npt.NDArray[np.bool_]

ROUNDS: Final = 20
OWN_ROUNDS: Final = 5
SETTLED: Final = 1e-6
MOST_DEGREES: Final = 1e8
LOT: Final = 1024
"""Models that are weighed together: bounds the memory."""


@dataclass(frozen=True)
class Effective:
    """The effective moments of several models, each column that is not in a model having none; see the text above.

    In coordinates in which the prior's precision is 1/g times the identity: A has the eigenvalues ``values``, b is ``cross``,
    and the slopes are ``back`` times the coordinates. ``head`` are the rows of the kept columns, (A₀₀, A₀ₓ, b₀): given the
    slopes their coefficients are N(A₀₀⁻¹(b₀ − A₀ₓ slopes), σ² A₀₀⁻¹).
    """

    values: Array
    cross: Array
    back: Array
    total: Array
    log_scale: Array
    head: Array


class Evidence:
    """Weighs models: rows of yes and no, one for each of ``groups`` of columns, which are counted without the kept ones."""

    def __init__(self, moments: Moments, groups: Sequence[Sequence[int]], prior: str) -> None:
        self.moments, self.groups, self.prior = moments, [list(group) for group in groups], prior
        both = np.column_stack([moments.features, moments.target])
        seen = both.T @ moments.matrix @ both
        self.gram, self.cross, self.total = seen[:-1, :-1], seen[:-1, -1], float(seen[-1, -1])
        self.kept = moments.kept
        self.columns = len(self.gram) - self.kept
        positive = self.gram if moments.exact else moments.positive_gram()
        self.prior_moments = without_leading(positive, self.kept)
        self.spread = positive if moments.exact else _cone(moments.features.T @ moments.spread @ moments.features)
        self.variance, self.variance_spread, self.degrees = self._scale(positive)

    def _scale(self, positive: Array) -> tuple[float, float, float]:
        """σ², its uncertainty, and the number of residuals from which the scale of Ω would be known as well as it is.

        At the coefficients that all predictors together suggest; a prior of unit information keeps them sane.
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
            omega = variance * self.spread + self.moments.noise_covariance(beta)
            solved = variance * self.gram @ np.linalg.solve(omega, np.column_stack([self.gram, self.cross]))
            before, beta = beta, np.asarray(np.linalg.solve(solved[:, :-1] + prior, solved[:, -1]), dtype=np.float64)
            variance, uncertainty = self.moments.residual_variance(beta)
            if np.max(np.abs(beta - before)) <= SETTLED:
                break
        share = float(np.trace(np.linalg.solve(omega, variance * self.spread))) / len(omega)
        return variance, uncertainty, min(2.0 * variance**2 / (uncertainty * min(share, 1.0) ** 2), MOST_DEGREES)

    @cached_property
    def nodes(self) -> Mixture:
        return mixture(self.prior, self.moments.rows)

    def all_models(self) -> Array:
        """Log Bayes factors of all models against that with the kept columns only; model i has group k if bit k of i is set."""
        if not self.moments.exact:
            return self.log_bayes_factors(memberships(len(self.groups)))
        matrix = np.block([[self.gram, self.cross[:, None]], [self.cross[None], np.array([[self.total]])]])
        _, rest = all_subsets(without_leading(matrix, self.kept), self.groups)
        columns = sizes([len(group) for group in self.groups])
        return self._exactly(rest / rest[0], columns)

    def _exactly(self, unexplained: Array, columns: npt.NDArray[np.int64]) -> Array:
        degrees = self.moments.rows - self.kept
        if self.prior in CRITERIA:
            return information_criterion(self.prior, unexplained, columns, degrees, self.moments.rows)
        return exact_log_bayes_factors(unexplained, columns, degrees, self.moments.rows, self.prior)

    def log_bayes_factors(self, members: Members) -> Array:
        """Of these models against that with the kept columns only."""
        empty = np.zeros((1, len(self.groups)), dtype=bool)
        lots = [self._log_evidence(members[start:start + LOT]) for start in range(0, len(members), LOT)]
        found = np.concatenate([*lots, self._log_evidence(empty)])
        return np.asarray(found[:-1] - found[-1])

    def _log_evidence(self, members: Members) -> Array:
        effective = self.effective(members)
        if self.prior == LAPLACE:  # only for moments without noise
            rest = effective.total - np.sum(effective.cross**2, axis=1)
            return self._exactly(rest / effective.total, self.mask(members).sum(axis=1))
        if self.prior in CRITERIA:
            return self._criteria(effective, members)
        return np.asarray(np.logaddexp.reduce(self.by_node(effective), axis=1))

    def by_node(self, effective: Effective) -> Array:
        """Log evidence of each model for each g, its weight in the mixture included: (models, nodes)."""
        g = self.nodes.g[None, :, None]
        values, cross = effective.values[:, None, :], effective.cross[:, None, :]
        determinant = np.sum(np.log1p(g * values), axis=2)
        rest = effective.total[:, None] - np.sum(cross**2 / (values + 1.0 / g), axis=2)
        exponent = -0.5 * determinant - 0.5 * (self.degrees + self.columns) * np.log(rest / self.total_scale)
        return np.asarray(exponent + effective.log_scale[:, None] + self.nodes.log_weight)

    def _criteria(self, effective: Effective, members: Members) -> Array:
        columns = self.mask(members).sum(axis=1)
        present = np.arange(self.columns) >= self.columns - columns[:, None]  # absent columns have the eigenvalue 0, the least
        values = np.where(present, np.maximum(effective.values, 1e-300), 1.0)
        explained = np.sum(np.where(present, effective.cross**2 / values, 0.0), axis=1)
        gain = -0.5 * (self.degrees + self.columns) * np.log((effective.total - explained) / self.total_scale)
        units = np.sum(np.where(present, np.log(self.moments.rows * values), 0.0), axis=1)
        penalty = columns if self.prior == "aic" else 0.5 * np.maximum(units, 0.0)
        return np.asarray(gain + effective.log_scale - penalty)

    @property
    def total_scale(self) -> float:
        return self.degrees * self.variance

    def mask(self, members: Members) -> Members:
        """Which columns, without the kept ones, each model has."""
        chosen = np.zeros((len(members), self.columns), dtype=bool)
        for index, group in enumerate(self.groups):
            chosen[:, group] = members[:, index, None]
        return chosen

    def effective(self, members: Members) -> Effective:
        """The effective moments of each model, at its own coefficients."""
        chosen = self.mask(members)
        slopes = chosen.astype(float)
        full = np.column_stack([np.ones((len(chosen), self.kept)), slopes])
        within = full[:, :, None] * full[:, None, :]
        moments = self.prior_moments * slopes[:, :, None] * slopes[:, None, :]
        absent = np.eye(self.columns) * (1.0 - slopes)[:, None, :]
        if self.moments.exact:
            gram, cross = self.gram * within, self.cross * full
            whole = float(self.cross @ np.linalg.solve(self.gram, self.cross)) if len(self.gram) else 0.0
            quadratic, log_scale = np.full(len(chosen), whole), np.zeros(len(chosen))
        else:
            prior = np.zeros((len(chosen), *self.gram.shape))
            prior[:, self.kept:, self.kept:] = moments / self.moments.rows + absent
            gram, cross, quadratic, log_scale = self._at_own_coefficients(full, within, prior)
        head = np.concatenate([gram, cross[..., None]], axis=2)[:, :self.kept]
        if self.kept:
            corner = head[:, :, :self.kept]
            quadratic = quadratic - np.einsum("mi,mi->m", head[:, :, -1], np.linalg.solve(corner, head[:, :, -1:])[..., 0])
            log_scale = log_scale - 0.5 * np.linalg.slogdet(corner)[1]
            gain = np.linalg.solve(corner, head[:, :, self.kept:])
            cross = cross[:, self.kept:] - np.einsum("mki,mk->mi", head[:, :, self.kept:-1], gain[:, :, -1])
            gram = gram[:, self.kept:, self.kept:] - np.swapaxes(head[:, :, self.kept:-1], 1, 2) @ gain[:, :, :-1]
        lower = np.linalg.cholesky(moments + absent)
        inverse = np.linalg.inv(lower) if self.columns else lower
        values, vectors = np.linalg.eigh(inverse @ gram @ np.swapaxes(inverse, 1, 2))
        turned = np.swapaxes(vectors, 1, 2) @ inverse
        return Effective(np.maximum(values, 0.0), np.einsum("mij,mj->mi", turned, cross),
                         np.swapaxes(turned, 1, 2) * slopes[:, :, None],
                         self.total_scale + quadratic, log_scale, head)

    def _at_own_coefficients(self, full: Array, within: Array, prior: Array) -> tuple[Array, Array, Array, Array]:
        """A, b, σ² Ŵ_avᵀ Ω⁻¹ Ŵ_av and −½ log|Ω/σ²| of each model."""
        beta: Array = np.zeros((len(full), len(self.gram)))
        both = np.column_stack([self.gram, self.cross])
        for _ in range(OWN_ROUNDS):
            omega = self.spread + self.moments.noise_covariance(beta) / self.variance
            solved = np.linalg.solve(omega, np.broadcast_to(both, (len(full), *both.shape)))
            found = self.gram @ solved
            gram, cross = found[:, :, :-1] * within, found[:, :, -1] * full
            beta = np.asarray(np.linalg.solve(gram + prior, cross[..., None])[..., 0], dtype=np.float64)
        quadratic = np.einsum("i,mi->m", self.cross, solved[:, :, -1])
        return gram, cross, quadratic, -0.5 * np.linalg.slogdet(omega)[1]


def _cone(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
