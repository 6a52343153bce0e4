"""The parameters given the rows, from sums over rows alone, in two ways that are interwoven (Yu and Meng 2011).

Centred: given the numbers z, each regression is a conjugate one. That moves freely where the noise is small. Where it is large, z
holds the parameters fast, and it is better to keep the standard normal e of each row and to move the parameters together with
z = z(e): not centred. With u = (d, e), z_l = C_l·u for coefficients C_l that follow from the parameters, and what was published
says

    Σ_l [ C_l·h_l − ½ C_l·G_l C_l ],    G_l = Σ_rows ω_l u uᵀ,   h_l = Σ_rows ω_l w̄_l u,

ω the precision of a number's noise given its W and w̄ the mean of its copies. C is linear in the parameters of each one regression
given the others, so that they are normal in turn: also τ, with a sign that does not matter, for which half-normal is normal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from noisewise.posterior.kernels.small_linear import cholesky, solve_lower


@dataclass(frozen=True)
class Variant:
    """What of the model is fixed when the program is compiled."""

    numbers: int
    exact_response: bool = False
    laplace: bool = True
    cells: int = 1
    features_known: bool = False
    """The law of the predictors is given and stays as it is."""
    scales_known: bool = False
    """So are all τ."""
    marginal: bool = True
    """Hamiltonian steps with the numbers integrated out."""
    collapsed: bool = True
    """W are drawn with the numbers integrated out: better where the noise is larger than the numbers' scatter."""
    gibbs: bool = False
    """The parameters are drawn given the numbers, which needs ``collapsed=False``."""
    interweave: bool = True
    """And so they are given the standardised numbers."""
    double: bool = False
    """Rows in double precision; sums over rows are, always."""

    @property
    def free(self) -> int:
        """How many numbers are hidden by noise."""
        return self.numbers - self.exact_response


class Law(NamedTuple):
    """The parameters: z_k = effects[k]·d + slopes[k]·z + scales[k]·e_k, slopes strictly lower triangular.

    The signs of the scales mean nothing.
    """

    effects: Any
    slopes: Any
    scales: Any
    cells: Any
    working: Any
    """g of the response's regression."""


def draw_normal(key: Any, precision: Any, right: Any) -> Any:
    """A draw from N(precision⁻¹ right, precision⁻¹)."""
    import jax

    lower = cholesky(precision)
    centre = solve_lower(lower, right)
    return solve_lower(lower, centre + jax.random.normal(key, centre.shape, dtype=float), transposed=True)


def with_row(law: Law, k: int, working: Any, scale: Any, data: Mapping[str, Any]) -> Law:
    """The law with other parameters of regression k."""
    columns = law.effects.shape[1]
    coefficients = data["directions"][k] @ working - data["shift"][k]
    last = k == law.effects.shape[0] - 1
    return Law(law.effects.at[k].set(coefficients[:columns]), law.slopes.at[k, :k].set(coefficients[columns:]),
               law.scales.at[k].set(scale), law.cells, working if last else law.working)


def draw_centred(key: Any, law: Law, gram: Any, count: Any, variant: Variant, data: Mapping[str, Any]) -> Law:
    """Given z: ``gram`` is Σ (d, z)(d, z)ᵀ over rows."""
    import jax
    import jax.numpy as jnp

    columns = law.effects.shape[1]
    for k in unknown(variant):
        coefficient_key, scale_key, accept_key, key = jax.random.split(key, 4)
        size = columns + k
        phi, shift = data["directions"][k], data["shift"][k]
        inner, cross, total = gram[:size, :size], gram[:size, size], gram[size, size]
        tau2 = law.scales[k] ** 2
        slope, offset = data["prior_slope"][k], data["prior_offset"][k]
        precision = slope.T @ slope + phi.T @ inner @ phi / tau2
        right = -slope.T @ offset + phi.T @ (cross + inner @ shift) / tau2
        working = draw_normal(coefficient_key, precision, right)
        coefficients = phi @ working - shift
        rate = 0.5 * jnp.maximum(total - 2.0 * coefficients @ cross + coefficients @ inner @ coefficients, 1e-12 * count)
        # p(τ²) ∝ τ⁻¹ exp(−τ²/2s²): an inverse gamma with shape −½ but for the exponential, which the acceptance brings in.
        proposed = rate / jax.random.gamma(scale_key, 0.5 * count - 0.5, dtype=float)
        gain = (tau2 - proposed) / (2.0 * data["prior_scale"][k] ** 2)
        taken = (jnp.log(jax.random.uniform(accept_key, dtype=float)) < gain) & (not variant.scales_known)
        law = with_row(law, k, working, jnp.sign(law.scales[k]) * jnp.sqrt(jnp.where(taken, proposed, tau2)), data)
    return law


def combinations(law: Law, variant: Variant) -> Any:
    """C: each number as a combination of u = (d, e), (numbers, columns + numbers)."""
    import jax.numpy as jnp

    found: list[Any] = []
    size = law.scales.shape[0]
    unit = jnp.eye(size)
    for k in range(size):
        noise = law.scales[k] if k < variant.free else 0.0  # an exact response is not moved: its e is none of u's
        row = jnp.concatenate([law.effects[k], noise * unit[k]])
        for j in range(k):
            row = row + law.slopes[k, j] * found[j]
        found.append(row)
    return jnp.stack(found)


def draw_not_centred(key: Any, law: Law, grams: Any, crosses: Any, variant: Variant, data: Mapping[str, Any]) -> Law:
    """Given e: ``grams`` (numbers, ·, ·) are the G_l and ``crosses`` the h_l; of an exact response with ω = 1."""
    import jax
    import jax.numpy as jnp

    columns, size = law.effects.shape[1], variant.numbers
    identity = jnp.eye(columns + size)
    for k in unknown(variant):
        if k >= variant.free:
            continue
        row_key, key = jax.random.split(key)
        weight = jnp.ones(size)
        if variant.exact_response:
            weight = weight.at[-1].set(1.0 / law.scales[-1] ** 2)
        c = combinations(law, variant)
        before = jnp.concatenate([identity[:columns], c[:k]])
        moved = data["directions"][k].T @ before
        if not variant.scales_known:
            moved = jnp.concatenate([moved, identity[columns + k][None]])
        fixed = -data["shift"][k] @ before
        if variant.scales_known:
            fixed = fixed + law.scales[k] * identity[columns + k]
        passed = _passed_on(law, k)
        rest = c - passed[:, None] * (c[k] - fixed)
        remaining = crosses - jnp.einsum("lij,lj->li", grams, rest)
        precision = moved @ jnp.einsum("l,lij->ij", weight * passed**2, grams) @ moved.T
        right = moved @ ((weight * passed) @ remaining)
        slope, offset = data["prior_slope"][k], data["prior_offset"][k]
        own = slope.shape[1]
        precision = precision.at[:own, :own].add(slope.T @ slope)
        right = right.at[:own].add(-slope.T @ offset)
        if not variant.scales_known:
            precision = precision.at[own, own].add(data["prior_scale"][k] ** -2)
        drawn = draw_normal(row_key, precision, right)
        scale = law.scales[k] if variant.scales_known else drawn[own]
        law = with_row(law, k, drawn[:own], scale, data)  # with its sign, that of the e that go with it
    return law


def _passed_on(law: Law, k: int) -> Any:
    """How much of a change of z_k is in each number: itself, and what follows from it."""
    import jax.numpy as jnp

    found: list[Any] = []
    size = law.scales.shape[0]
    for number in range(size):
        value = jnp.ones(()) if number == k else jnp.zeros(())
        for j in range(k, number):
            value = value + law.slopes[number, j] * found[j]
        found.append(value)
    return jnp.stack(found)


def unknown(variant: Variant) -> range:
    return range(variant.numbers - 1 if variant.features_known else 0, variant.numbers)


def draw_cells(key: Any, counts: Any, weight: float) -> Any:
    """Probabilities of the cells given how many rows are in each: Dirichlet."""
    import jax
    import jax.numpy as jnp

    gammas = jax.random.loggamma(key, counts + weight, dtype=float)
    return jnp.exp(gammas - jax.scipy.special.logsumexp(gammas))
