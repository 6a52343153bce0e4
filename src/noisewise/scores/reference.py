"""Made-up rows that look like the table as far as noisy sums tell.

A round's sums are those of rows that nobody may see. To predict them for other coefficients, the analyst needs rows: these are
made up from the first look, column by column, with the correlations that a round shows, and turned into the terms of the formula,
so that powers and products keep their shape. Each has a weight. The weights are as even as they can be while they reproduce the
noisy matrices of all rounds, as far as the noise allows; so the rows learn which predictors go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array
from noisewise.schema.basis import Basis
from noisewise.schema.columns import Categorical
from noisewise.scores.looks import Known, names_of

ROWS: Final = 1024
MOST_ROWS: Final = 4096
MISMATCH: Final = 0.03
"""How exactly made-up rows should reproduce a matrix without noise: to this share of its diagonal."""
EVENNESS: Final = 8.0
"""What uneven weights cost: this times the Kullback-Leibler divergence from even ones."""
STEPS: Final = 60


@dataclass(frozen=True, eq=False)
class Reference:
    """Made-up rows of the released columns of the predictors, and their weights, which sum to 1."""

    rows: Array
    weights: Array

    @classmethod
    def of(cls, basis: Basis, known: Known, correlations: Array | None = None) -> Reference:
        """Even weights. ``basis`` has the response last; ``correlations`` are those of `names_of` its predictors."""
        predictors = basis.columns[:-1]
        names = names_of(predictors)
        count = ROWS
        while count < min(16 * len(predictors), MOST_ROWS):
            count *= 2
        uniform = spread_out(count, len(names))
        if correlations is not None:
            from scipy.special import ndtr, ndtri

            uniform = ndtr(ndtri(uniform) @ np.linalg.cholesky(correlations).T)
        values: dict[str, Array] = {}
        for name, share in zip(names, uniform.T, strict=True):
            if name in known.numbers:
                values[name] = _beta_quantiles(share, *known.numbers[name])
            else:
                chances = known.chances[name]
                starts = np.cumsum(np.concatenate([[1.0 - chances.sum()], chances]))
                values[name] = np.searchsorted(starts[:-1], share, side="right").astype(float)
        rows = np.ones((count, len(predictors)))
        for index, column in enumerate(predictors):
            for factor in column.factors:
                declared = basis.schema.column(factor.column)
                if not isinstance(declared, Categorical):
                    one = np.polynomial.chebyshev.chebval(values[factor.column], [0.0] * factor.degree + [1.0])
                elif factor.level is None:
                    one = np.where(values[factor.column] == 1.0, 1.0, -1.0)
                else:
                    one = (values[factor.column] == declared.levels.index(factor.level)).astype(float)
                rows[:, index] *= one
        return cls(rows, np.full(count, 1.0 / count))

    def reweighted(self, seen: Sequence[Seen]) -> Reference:
        """Weights that reproduce these matrices, starting from the present ones."""
        if not seen:
            return self
        from scipy.optimize import minimize

        expected = [one.of(self.weights) for one in seen]
        slack = []
        for one, matrix in zip(seen, expected, strict=True):
            scale = np.sqrt(np.maximum(np.diag(matrix), 1e-12))
            slack.append(1.0 / (one.variance + (MISMATCH * np.outer(scale, scale)) ** 2))
        count = len(self.weights)

        def cost(logs: Array) -> tuple[float, Array]:
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            total, gradient = 0.0, np.zeros(count)
            for one, precision in zip(seen, slack, strict=True):
                apart = one.of(weights) - one.matrix
                total += 0.5 * float(np.sum(apart**2 * precision))
                gradient += one.rates * np.einsum("ri,ri->r", one.directions @ (apart * precision), one.directions)
            uneven = np.log(np.maximum(weights * count, 1e-300))
            total += EVENNESS * float(weights @ uneven)
            gradient += EVENNESS * (uneven + 1.0)
            return total, weights * (gradient - weights @ gradient)

        found = minimize(cost, np.log(self.weights), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        weights = np.exp(found.x - found.x.max())
        return replace(self, weights=weights / weights.sum())


class Seen(NamedTuple):
    """A round's noisy matrix for one row of the table, with the variance of its noise, and what each made-up row adds to it."""

    matrix: Array
    variance: Array
    directions: Array
    rates: Array

    def of(self, weights: Array) -> Array:
        """The matrix of the made-up rows."""
        found: Array = (self.directions * (weights * self.rates)[:, None]).T @ self.directions
        return found


def spread_out(count: int, dimensions: int) -> Array:
    """Points that fill the unit cube evenly, without its faces; the same every time."""
    from scipy.stats import qmc

    points = qmc.Sobol(max(dimensions, 1), scramble=False).random(count)
    shift = np.random.default_rng(0).random(max(dimensions, 1))
    return np.clip((points + shift) % 1.0, 1e-6, 1.0 - 1e-6)[:, :dimensions]


def _beta_quantiles(share: Array, mean: float, variance: float) -> Array:
    """Quantiles of the beta law on [−1, 1] with this mean and variance: skewed near an end, almost two points if it must be."""
    from scipy.special import betaincinv

    centre, spread = (mean + 1.0) / 2.0, variance / 4.0
    size = max(centre * (1.0 - centre) / spread - 1.0, 1e-2)
    found = betaincinv(centre * size, (1.0 - centre) * size, share)
    if not np.all(np.isfinite(found)):  # far too narrow or too wide for the inverse: a normal variable is as good
        from scipy.special import ndtri

        found = np.clip(centre + np.sqrt(spread) * ndtri(share), 0.0, 1.0)
    return 2.0 * found - 1.0
