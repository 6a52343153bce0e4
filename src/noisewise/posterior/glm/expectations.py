"""Integrals over the rows of a table whose columns have a given distribution, by one-dimensional quadrature.

A row a = (1, b, z) has categories b, which lie in one of a few cells, and numbers z, normal given the cell with a common
covariance. So the linear predictor η = θᵀa is normal in each cell, with the same variance τ², and given η the numbers are normal
with a mean that is linear in η. With ξ = (η − its mean in the cell)/τ and v = Cov(a, η)/τ in a cell,

    E[g(η) a]   = Σ_cells G₀ M + G₁ v,
    E[g(η) aaᵀ] = Σ_cells G₀ MMᵀ + G₁ (Mvᵀ + vMᵀ) + G₂ vvᵀ + G₀ (C − vvᵀ),          G_k = P(cell) E[g(η) ξᵏ | cell],

for any function g, with M the mean of a in the cell and C its covariance there. Nothing is expanded in a series, so that it
holds for any size of θ. The trapezoid rule converges faster than any power of its step for functions like these; the nodes are
dense enough for τ = 10: a Gauss–Hermite rule of a third of the nodes is not.

τ² is taken ``LEAST²`` larger than it is, so that nothing is divided by 0 where the numbers have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

NODES: Final = np.linspace(-8.0, 8.0, 121)
WEIGHTS: Final = np.exp(-0.5 * NODES**2) / np.sum(np.exp(-0.5 * NODES**2))
POWERS: Final = NODES[:, None] ** np.arange(4)
LEAST: Final = 1e-3


@dataclass(frozen=True)
class Expectations:
    """The law of (η, a) at given parameters; functions of η are given by their values at ``eta`` (cells, nodes)."""

    eta: Any
    weights: Any
    """Of the cells and nodes."""
    means: Any
    """Of a in every cell (cells, columns)."""
    direction: Any
    """v."""
    covariance: Any
    """C: that of a in a cell; zero for the constant and for categories."""

    @classmethod
    def of(cls, theta: Any, probabilities: Any, means: Any, covariance: Any, xp: Any) -> Expectations:
        spread = covariance @ theta
        tau = xp.sqrt(theta @ spread + LEAST**2)
        eta = (means @ theta)[:, None] + tau * NODES
        return cls(eta, probabilities[:, None] * WEIGHTS, means, spread / tau, covariance)

    @property
    def centres(self) -> Any:
        """The mean of η in every cell."""
        return self.eta[:, len(NODES) // 2]

    @property
    def tau(self) -> Any:
        """The standard deviation of η in a cell."""
        return (self.eta[0, -1] - self.eta[0, 0]) / (NODES[-1] - NODES[0])

    def of_function(self, values: Any, xp: Any) -> Any:
        """E g(η)."""
        return xp.sum(self.weights * values)

    def powers(self, values: Any, highest: int) -> Any:
        """G_k for k up to ``highest`` (cells, powers)."""
        return (self.weights * values) @ POWERS[:, :highest + 1]

    def with_row(self, values: Any, xp: Any) -> Any:
        """E[g(η) a]."""
        return self.row_from(self.powers(values, 1), xp)

    def with_square(self, values: Any, xp: Any) -> Any:
        """E[g(η) aaᵀ]."""
        return self.square_from(self.powers(values, 2), xp)

    def row_from(self, powers: Any, xp: Any) -> Any:
        """E[g(η) a] from G₀ and G₁."""
        return powers[:, 0] @ self.means + xp.sum(powers[:, 1]) * self.direction

    def square_from(self, powers: Any, xp: Any) -> Any:
        """E[g(η) aaᵀ] from G₀, G₁ and G₂."""
        zeroth, first, second = powers[:, 0], powers[:, 1], powers[:, 2]
        cross = xp.outer(first @ self.means, self.direction)
        along = xp.sum(second - zeroth) * xp.outer(self.direction, self.direction)
        return (self.means.T * zeroth) @ self.means + cross + cross.T + along + xp.sum(zeroth) * self.covariance
