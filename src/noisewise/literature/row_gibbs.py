"""Perturbed rows: draw the parameters given the numbers, in two ways that can be interwoven (Yu and Meng 2011).

Both need only sums over rows. The first is that of thesis 001 (chapter 3); ``rows.Variant`` accepts either.

Centred: given the numbers z, each regression is conjugate. This moves freely where the noise is small. Where it is large, z
pins the parameters down, and it is better to keep the standard normal e of each row and to move the parameters together with
z = z(e): not centred. With u = (d, e), z_l = C_l·u for coefficients C_l that follow from the parameters, and the log density of
the published numbers is

    Σ_l [ C_l·h_l − ½ C_l·G_l C_l ],    G_l = Σ_rows ω_l u uᵀ,   h_l = Σ_rows ω_l w̄_l u,

ω the precision of a number's noise given its W and w̄ the mean of its copies. C is linear in the parameters of each regression
given the others, so each is normal in turn. This includes τ: its sign does not matter, which turns its half-normal prior into a
normal one.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from noisewise.literature.fixed_moments import draw_normal
from noisewise.literature.kernels.metropolis import Data
from noisewise.posterior.rows.chain import State, regressors
from noisewise.posterior.rows.problem import Law, Variant, unknown, with_row


def gibbs(key: jax.Array, state: State, hidden: jax.Array, variant: Variant, data: Data, interweave: bool = False
          ) -> tuple[State, jax.Array]:
    """Draw the parameters given the numbers (centred); with ``interweave`` then given e (not centred), moving the numbers too."""
    centred_key, other_key = jax.random.split(key)
    known = regressors(state.cell, variant, data)
    numbers = [*hidden, data["response"]] if variant.exact_response else list(hidden)
    count = jnp.asarray(hidden.shape[1], dtype=float)
    law = draw_centred(centred_key, state.law, gram_of([*known, *numbers]), count, variant, data)
    if not interweave:
        return state._replace(law=law), hidden
    columns = [*known, *standardised(law, known, numbers, variant)]
    grams, crosses = weighted_grams(columns, state.precision, variant, data)
    law = draw_not_centred(other_key, law, grams, crosses, variant, data)
    moved = combinations(law, variant).astype(hidden.dtype)
    hidden = jnp.stack([sum(moved[k, c] * column for c, column in enumerate(columns[: len(known) + k + 1]))
                        for k in range(variant.free)])
    return state._replace(law=law), hidden


interwoven = partial(gibbs, interweave=True)


def draw_centred(key: jax.Array, law: Law, gram: jax.Array, count: jax.Array, variant: Variant, data: Data) -> Law:
    """Draw the parameters given z; ``gram`` is Σ (d, z)(d, z)ᵀ over rows."""
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
        # p(τ²) ∝ τ⁻¹ exp(−τ²/2s²): an inverse gamma with shape −½, except for the exponential, which the acceptance adds.
        proposed = rate / jax.random.gamma(scale_key, 0.5 * count - 0.5, dtype=float)
        gain = (tau2 - proposed) / (2.0 * data["prior_scale"][k] ** 2)
        taken = (jnp.log(jax.random.uniform(accept_key, dtype=float)) < gain) & (not variant.scales_known)
        law = with_row(law, k, working, jnp.sign(law.scales[k]) * jnp.sqrt(jnp.where(taken, proposed, tau2)), data)
    return law


def combinations(law: Law, variant: Variant) -> jax.Array:
    """Return C, each number as a combination of u = (d, e), (numbers, columns + numbers); d are the known columns."""
    found: list[jax.Array] = []
    size = law.scales.shape[0]
    unit = jnp.eye(size)
    for k in range(size):
        noise = law.scales[k] if k < variant.free else 0.0  # an exact response does not move; its e is not in u
        row = jnp.concatenate([law.effects[k], noise * unit[k]])
        for j in range(k):
            row = row + law.slopes[k, j] * found[j]
        found.append(row)
    return jnp.stack(found)


def draw_not_centred(key: jax.Array, law: Law, grams: jax.Array, crosses: jax.Array, variant: Variant, data: Data) -> Law:
    """Draw the parameters given e; ``grams`` (numbers, ·, ·) are the G_l, ``crosses`` the h_l; ω = 1 for an exact response."""
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
        law = with_row(law, k, drawn[:own], scale, data)  # keep the sign: it belongs to these e
    return law


def _passed_on(law: Law, k: int) -> jax.Array:
    """Return how much of a change in z_k reaches each number: z_k itself and the numbers that depend on it."""
    found: list[jax.Array] = []
    size = law.scales.shape[0]
    for number in range(size):
        value = jnp.ones(()) if number == k else jnp.zeros(())
        for j in range(k, number):
            value = value + law.slopes[number, j] * found[j]
        found.append(value)
    return jnp.stack(found)


def standardised(law: Law, known: list[jax.Array], numbers: list[jax.Array], variant: Variant) -> list[jax.Array]:
    """Return e of every hidden number; 0 for an exact response, as a placeholder."""
    found = []
    for k in range(variant.numbers):
        if k >= variant.free:
            found.append(jnp.zeros_like(numbers[k]))
            continue
        dtype = numbers[k].dtype
        effects, slopes, scale = law.effects[k].astype(dtype), law.slopes[k].astype(dtype), law.scales[k].astype(dtype)
        zero = jnp.zeros_like(numbers[k])
        expected = sum((effects[c] * column for c, column in enumerate(known)), zero)
        expected = expected + sum((slopes[j] * numbers[j] for j in range(k)), zero)
        found.append((numbers[k] - expected) / scale)
    return found


def gram_of(columns: list[jax.Array]) -> jax.Array:
    """Sum the products of columns over rows, in double precision."""
    stacked = jnp.stack(columns).astype(float)
    return stacked @ stacked.T


def weighted_grams(columns: list[jax.Array], precision: jax.Array, variant: Variant, data: Data) -> tuple[jax.Array, jax.Array]:
    """Return G_l and h_l, with ω = 1 for an exact response."""
    stacked = jnp.stack(columns).astype(float)
    total, target = jnp.sum(precision, axis=0), jnp.sum(precision * data["observed"], axis=0)
    grams = [(stacked * total[number].astype(float)) @ stacked.T for number in range(variant.free)]
    crosses = [stacked @ target[number].astype(float) for number in range(variant.free)]
    if variant.exact_response:
        grams.append(stacked @ stacked.T)
        crosses.append(stacked @ data["response"].astype(float))
    return jnp.stack(grams), jnp.stack(crosses)
