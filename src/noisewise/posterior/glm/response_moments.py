"""The sums Σ y a that a model implies for a table whose Σ aaᵀ is given: their mean and covariance.

Given the rows, y has mean f(η) and variance v(η), so that Σ y a scatters around Σ f(η)a with covariance Σ v(η) aaᵀ. The rows are
not given, only their first two moments; f(η)a varies between tables with the same moments as far as it is not a combination of
squares and products of columns:

    Cov(Σ y a | moments) = n ( E[(v + ρ²) aaᵀ] − E[Π(ρa) Π(ρa)ᵀ] ),

where ρ = f − b₀ − b₁η is what the best linear function of η leaves (that function times a is a combination of products), and Π
the projection to the squares and products. In a cell a = M + ζ with normal ζ, and M is linear in the categories b; hence the
combinations of squares and products have three parts that are orthogonal to each other: quadratic functions of b; linear
functions of b times ζ; and ζζᵀ less its mean. So Π is a projection of functions of the cell, three times, and exact; only where
there are too many cells for every function of them to be quadratic (three categories or more) 1, b and the square of η's mean
stand for all quadratic functions, and the covariance is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from noisewise.posterior.glm.expectations import Expectations
from noisewise.posterior.glm.family import Family
from noisewise.posterior.kernels.small_linear import cholesky, solve_lower

FLAT: Final = 1e-6
"""Added to mean squares that may be 0: those of functions of cells that differ in empty cells only."""


def response_moments(family: Family, law: Expectations, data: Mapping[str, Any], xp: Any) -> tuple[Any, Any]:
    """Per row: E[y a], and the covariance of Σ y a given the columns' moments; y in the units of the release.

    In a cell η is linear in ξ, so that only G₀ … G₃ of f and G₀ … G₂ of v + f² are integrals; the rest is algebra with them and
    with the moments 1, 0, 1, 0, 3 of ξ.
    """
    mean, square = scaled_moments(family, law, data, xp)
    return from_powers(law, law.powers(mean, 3), law.powers(square, 2), data, xp)


def from_powers(law: Expectations, mean: Any, square: Any, data: Mapping[str, Any], xp: Any) -> tuple[Any, Any]:
    """The same from the integrals."""
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


def _projected(law: Expectations, rest: Any, shares: Any, data: Mapping[str, Any], xp: Any) -> Any:
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
    return result + 0.5 * xp.outer(b, b) + cross + cross.T + k**2 * (xp.outer(v, v) + law.covariance)


def _within(integrals: Any, shares: Any, functions: Any | None, copies: int, xp: Any) -> Any:
    """Coefficients of functions of the cell, given as P(cell) times their values, in an orthonormal basis of ``functions``.

    Without ``functions``: in one of all functions.
    """
    if functions is None:
        return integrals / xp.sqrt(shares + 1e-300)[:, None]
    lower = cholesky((functions.T * shares) @ functions + FLAT * xp.eye(functions.shape[1]), copies=copies)
    return solve_lower(lower, functions.T @ integrals, copies=copies)


def scaled_moments(family: Family, law: Expectations, data: Mapping[str, Any], xp: Any) -> tuple[Any, Any]:
    """f(η) and v(η) + f(η)² in the units of the release."""
    centre, half = data["response_centre"], data["response_half"]
    mean, square = family.moments(law.eta, data, xp)
    return (mean - centre) / half, (square - 2.0 * centre * mean + centre**2) / half**2


def scaled_mean(family: Family, law: Expectations, data: Mapping[str, Any], xp: Any) -> Any:
    """f(η) in the units of the release."""
    return scaled_moments(family, law, data, xp)[0]
