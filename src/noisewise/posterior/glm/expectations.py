"""Integrals over rows with a given distribution of columns, and the sums Σ y a that a model implies.

A row a = (1, b, z) has categories b, which lie in one of a few cells, and numbers z, normal given the cell with a common
covariance. With ξ the standardised η = θᵀa of a cell, M the mean of a there, C its covariance and v = Cov(a, η)/τ,

    E[g(η) a]   = Σ_cells G₀ M + G₁ v,
    E[g(η) aaᵀ] = Σ_cells G₀ MMᵀ + G₁ (Mvᵀ + vMᵀ) + G₂ vvᵀ + G₀ (C − vvᵀ),          G_k = P(cell) E[g(η) ξᵏ | cell],

for any function g. The trapezoid rule converges faster than any power of its step for functions like these. The nodes are dense
enough for τ = 10; a Gauss–Hermite rule with a third of the nodes is not. τ² is increased by ``LEAST²`` to avoid dividing by 0 if
the numbers have no effect.

Given the columns' moments, Σ y a has the covariance n ( E[(v + ρ²) aaᵀ] − E[Π(ρa) Π(ρa)ᵀ] ), where v is now the variance of y
given η, ρ = f − b₀ − b₁η the residual of its mean f from the best linear function of η, and Π the projection onto the squares and
products of columns (docs/glm.md). In a cell a = M + ζ with normal ζ, and M is linear in the categories b. So the combinations of
squares and products have three mutually orthogonal parts: quadratic functions of b; linear functions of b times ζ; and ζζᵀ minus
its mean. Hence Π consists of three exact projections of functions of the cell. The exception is three or more categories, for
which not every function of the cells is quadratic: then 1, b and the square of η's mean replace the quadratic functions, and the
covariance is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.arrays import Namespace, Traced
from noisewise.posterior.glm.families import Family
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower

NODES: Final = np.linspace(-8.0, 8.0, 121)
WEIGHTS: Final = np.exp(-0.5 * NODES**2) / np.sum(np.exp(-0.5 * NODES**2))
POWERS: Final = NODES[:, None] ** np.arange(4)
LEAST: Final = 1e-3


@dataclass(frozen=True)
class Expectations:
    """The distribution of (η, a) at given parameters. Functions of η are given by their values at ``eta`` (cells, nodes)."""

    eta: Traced
    weights: Traced
    """Weights of the cells and nodes."""
    means: Traced
    """The mean of a in every cell (cells, columns)."""
    direction: Traced
    """v."""
    covariance: Traced
    """C, the covariance of a in a cell; zero for the constant and for categories."""

    @classmethod
    def of(cls, theta: Traced, probabilities: Traced, means: Traced, covariance: Traced, xp: Namespace) -> Expectations:
        """Build the law of η = θᵀa from the cells' probabilities, their means of a, and the common covariance."""
        spread = covariance @ theta
        tau = xp.sqrt(theta @ spread + LEAST**2)
        eta = (means @ theta)[:, None] + tau * NODES
        return cls(eta, probabilities[:, None] * WEIGHTS, means, spread / tau, covariance)

    @property
    def centres(self) -> Traced:
        """The mean of η in every cell."""
        return self.eta[:, len(NODES) // 2]

    @property
    def tau(self) -> Traced:
        """The standard deviation of η in a cell."""
        result: Traced = (self.eta[0, -1] - self.eta[0, 0]) / (NODES[-1] - NODES[0])
        return result

    def of_function(self, values: Traced, xp: Namespace) -> Traced:
        """E g(η)."""
        result: Traced = xp.sum(self.weights * values)
        return result

    def powers(self, values: Traced, highest: int) -> Traced:
        """G_k for k up to ``highest`` (cells, powers)."""
        return (self.weights * values) @ POWERS[:, :highest + 1]

    def with_row(self, values: Traced, xp: Namespace) -> Traced:
        """E[g(η) a]."""
        return self.row_from(self.powers(values, 1), xp)

    def row_from(self, powers: Traced, xp: Namespace) -> Traced:
        """E[g(η) a] from G₀ and G₁."""
        result: Traced = powers[:, 0] @ self.means + xp.sum(powers[:, 1]) * self.direction
        return result

    def square_from(self, powers: Traced, xp: Namespace) -> Traced:
        """E[g(η) aaᵀ] from G₀, G₁ and G₂."""
        zeroth, first, second = powers[:, 0], powers[:, 1], powers[:, 2]
        cross = xp.outer(first @ self.means, self.direction)
        along = xp.sum(second - zeroth) * xp.outer(self.direction, self.direction)
        result: Traced = (self.means.T * zeroth) @ self.means + cross + cross.T + along + xp.sum(zeroth) * self.covariance
        return result


def response_moments(family: Family, law: Expectations, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    """Per row: E[y a], and the covariance of Σ y a given the columns' moments; y in the units of the release.

    In a cell η is linear in ξ, so only G₀ … G₃ of f and G₀ … G₂ of v + f² are integrals. The rest is algebra with them and the
    moments 1, 0, 1, 0, 3 of ξ.
    """
    mean, square = scaled_moments(family, law, data, xp)
    return from_powers(law, law.powers(mean, 3), law.powers(square, 2), data, xp)


def from_powers(law: Expectations, mean: Traced, square: Traced, data: Mapping[str, Traced], xp: Namespace
                ) -> tuple[Traced, Traced]:
    """Do the same from the integrals."""
    shares = xp.sum(law.weights, axis=1)
    centre = shares @ law.centres
    away = law.centres - centre
    slope = (away @ mean[:, 0] + law.tau * xp.sum(mean[:, 1])) / (shares @ away**2 + law.tau**2)
    at, gain = xp.sum(mean[:, 0]) + slope * away, slope * law.tau  # f = at + gain · ξ + ρ
    linear = xp.stack([at, gain + 0.0 * at, at, 3.0 * gain + 0.0 * at], axis=1)
    squared = xp.stack([at**2 + gain**2, 2.0 * at * gain, at**2 + 3.0 * gain**2], axis=1)
    spread = square - 2.0 * (at[:, None] * mean[:, :3] + gain * mean[:, 1:]) + shares[:, None] * squared
    known = _projected(law, mean - shares[:, None] * linear, shares, data, xp)
    return law.row_from(mean, xp), law.square_from(spread, xp) - known


def _projected(law: Expectations, rest: Traced, shares: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """E[Π(ρa) Π(ρa)ᵀ] from the integrals of ρ."""
    v, cells, copies = law.direction, data["cells"], data["copies"].shape[0]
    zeroth, first = rest[:, 0], rest[:, 1]
    second, third = rest[:, 2] - zeroth, rest[:, 3] - 3.0 * first  # with Hermite polynomials of ξ
    linear = xp.concatenate([xp.ones_like(shares)[:, None], cells], axis=1)
    quadratic = xp.concatenate([linear, law.centres[:, None] ** 2], axis=1)
    saturated = len(cells) <= 1 + data["cell_basis"].shape[1]

    of_cells = zeroth[:, None] * law.means + first[:, None] * v
    known = _within(of_cells, shares, None if saturated else quadratic, copies, xp)
    result = known.T @ known

    times_number = xp.concatenate([first[:, None] * law.means + second[:, None] * v, zeroth[:, None]], axis=1)
    known = _within(times_number, shares, None if len(cells) == linear.shape[1] else linear, copies, xp)
    along, level = known[:, :-1], known[:, -1]
    cross = xp.outer(level @ along, v)
    result = result + along.T @ along + cross + cross.T + level @ level * law.covariance

    b, k = second @ law.means + xp.sum(third) * v, xp.sum(first)
    cross = k * xp.outer(b, v)
    value: Traced = result + 0.5 * xp.outer(b, b) + cross + cross.T + k**2 * (xp.outer(v, v) + law.covariance)
    return value


FLAT: Final = 1e-6
"""Added to mean squares, which are 0 for functions that differ only in empty cells."""


def _within(integrals: Traced, shares: Traced, functions: Traced | None, copies: int, xp: Namespace) -> Traced:
    """Coefficients of functions of the cell, given as P(cell) times their values, in an orthonormal basis of ``functions``.

    Without ``functions``, the basis spans all functions.
    """
    if functions is None:
        result: Traced = integrals / xp.sqrt(shares + 1e-300)[:, None]
        return result
    lower = cholesky((functions.T * shares) @ functions + FLAT * xp.eye(functions.shape[1]), copies=copies)
    return solve_lower(lower, functions.T @ integrals, copies=copies)


def scaled_moments(family: Family, law: Expectations, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    """f(η) and v(η) + f(η)² in the units of the release."""
    centre, half = data["response_centre"], data["response_half"]
    mean, square = family.moments(law.eta, data, xp)
    return (mean - centre) / half, (square - 2.0 * centre * mean + centre**2) / half**2
