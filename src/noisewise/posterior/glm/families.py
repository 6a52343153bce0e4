"""The families of generalised linear models: how the response depends on the linear predictor.

To add a family, define a record like those below, with an entry in ``FAMILIES`` and one in ``results.families``.

For Poisson counts with mean exp(η), the table has min(count, K) with the declared maximum K. With p_j = P(Y = j), E min(Y, K) =
K − Σ_{j<K} (K − j) p_j, and E min(Y, K)² = K² − Σ_{j<K} (K² − j²) p_j. Since p_j changes with η by λ(p_{j−1} − p_j), λ = exp(η),
a sum Σ c_j p_j changes by λ Σ (c_{j+1} − c_j) p_j, with c_K = 0: a sum of the same kind. So a gradient costs one more sum.
In each block of ``BLOCK`` probabilities the first is computed directly, and each other one from the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from noisewise.arrays import Array, Namespace, Traced

if TYPE_CHECKING:
    import jax

BLOCK: Final = 16
LEAST_ETA: Final = -60.0
LARGEST_ETA: Final = 30.0
"""Beyond this η, every count is cut off."""

Moments: TypeAlias = Callable[[Traced, Mapping[str, Traced], Namespace], tuple[Traced, Traced]]
"""``(eta, constants, xp)``: mean and mean square of the response given the linear predictor, elementwise."""


@dataclass(frozen=True, eq=False)
class Family:
    """One family.

    ``moments`` are those of the recorded response: −1 and +1 for two levels; a count cut off at the declared maximum. They
    determine which moments of the table the model implies, and how these scatter.
    """

    name: str
    response: Literal["two levels", "count"]
    moments: Moments
    constants: Callable[[float], dict[str, Array]]
    """Arrays that the moments need, from the largest declared response."""
    intercept_sd: float
    """Prior standard deviation of the linear predictor in the middle of the predictors."""
    slope_sd: float
    """Prior standard deviation of a coefficient times its predictor's standard deviation."""


def _logistic(eta: Traced, constants: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    """P(second level) = 1 / (1 + exp(−η)): for y = ±1 the mean is tanh(η/2), and the square is 1."""
    return xp.tanh(0.5 * eta), xp.ones_like(eta)


def _probit(eta: Traced, constants: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    """P(second level) = Φ(η), the normal distribution function: for y = ±1 the mean is erf(η/√2)."""
    from jax.scipy.special import erf

    return erf(eta / sqrt(2.0)), xp.ones_like(eta)


def _counts(largest: float) -> dict[str, Array]:
    """The counts below the largest one, in full blocks."""
    size = int(largest)
    counts = np.arange(size if size <= BLOCK else -(-size // BLOCK) * BLOCK, dtype=float)
    return {"largest": np.array(float(largest)), "counts": counts}


def _poisson(eta: Traced, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced]:
    largest, counts = data["largest"], data["counts"]
    below = xp.stack([largest - counts, largest**2 - counts**2])
    missing = _sums()(xp.asarray(eta), xp.maximum(below, 0.0), counts)
    return largest - missing[0], largest**2 - missing[1]


@cache
def _sums() -> Callable[[Traced, Traced, Traced], jax.Array]:
    """``sums(eta, coefficients, counts)[i]`` = Σ_j coefficients[i, j] p_j."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    @jax.custom_jvp
    def sums(eta: Traced, coefficients: Traced, counts: Traced) -> jax.Array:
        kinds, size = coefficients.shape
        eta = jnp.clip(eta, LEAST_ETA, LARGEST_ETA)
        rate = jnp.exp(eta)

        def add(totals: list[jax.Array], block: tuple[jax.Array, jax.Array]) -> tuple[list[jax.Array], None]:
            first, c = block
            probability = jnp.exp(first * eta - rate - gammaln(first + 1.0))
            for place in range(c.shape[1]):
                totals = [total + c[kind, place] * probability for kind, total in enumerate(totals)]
                probability = probability * (rate / (first + place + 1.0))
            return totals, None

        blocks = jnp.asarray(counts[::BLOCK]), jnp.moveaxis(coefficients.reshape(kinds, -1, min(size, BLOCK)), 1, 0)
        totals, _ = jax.lax.scan(add, [jnp.zeros_like(eta)] * kinds, blocks)
        return jnp.stack(totals)

    @sums.defjvp
    def _(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        eta, coefficients, counts = primals
        kinds = len(coefficients)
        after = jnp.concatenate([coefficients[:, 1:], jnp.zeros((kinds, 1))], axis=1)
        both = sums(eta, jnp.concatenate([coefficients, after - coefficients]), counts)
        inside = (eta > LEAST_ETA) & (eta < LARGEST_ETA)
        rate = jnp.where(inside, jnp.exp(jnp.clip(eta, LEAST_ETA, LARGEST_ETA)), 0.0)
        return both[:kinds], rate * tangents[0] * both[kinds:]

    return sums


FAMILIES: Final = {family.name: family for family in (
    Family("logistic", "two levels", _logistic, lambda largest: {}, intercept_sd=2.5, slope_sd=2.5),
    Family("probit", "two levels", _probit, lambda largest: {}, intercept_sd=1.5, slope_sd=1.5),
    Family("poisson", "count", _poisson, _counts, intercept_sd=2.5, slope_sd=1.5),
)}
