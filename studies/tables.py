"""Made-up tables in scaled units, and simulated releases of them: many replicates at once.

The true noise of a release comes from OpenDP and cannot be seeded. Studies need thousands of repeatable releases of made-up
tables, so they draw the same distribution with JAX's generator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from noisewise.privacy.calibration import analytic_gaussian_sigma, laplace_scale
from noisewise.privacy.sensitivity.gram import gram_sensitivity
from noisewise.releases.contents.gram import Distribution, EntryNoise

Array = npt.NDArray[np.float64]
DELTA = 1e-6
SIGMA = 0.2
INTERCEPT = 0.1
SIGNAL = 0.15


@dataclass(frozen=True)
class Setting:
    """One cell of a study."""

    features: str
    d: int
    rows: int
    epsilon: float
    holders: int
    adjacency: str
    mechanism: str

    def noise(self) -> EntryNoise:
        """The noise that each holder adds: every column is a scalar in [−1, 1]."""
        q = self.d + 1
        sensitivity = gram_sensitivity(scalars=q, blocks=0, size=q + 1, radius=math.sqrt(q), norm_clipped=False,
                                       adjacency=self.adjacency)
        if self.mechanism == "gaussian":
            sd = analytic_gaussian_sigma(self.epsilon, DELTA, sensitivity.frobenius)
            off_diagonal = sd / math.sqrt(2)
        else:
            sd = off_diagonal = math.sqrt(2) * laplace_scale(self.epsilon, sensitivity.l1)
        return EntryNoise(cast(Distribution, self.mechanism), sd, off_diagonal, 0.0 if sensitivity.corner_is_public else sd)


@dataclass(frozen=True)
class SimulatedPart:
    """The part of a release that a likelihood needs."""

    matrix: Array
    rows: int | None
    noise: EntryNoise


def true_coefficients(features: str, d: int) -> Array:
    """Intercept and slopes: alternating signs, and each feature explains the same share."""
    sd = np.array([_SD[kind] for kind in feature_kinds(features, d)])
    slopes = SIGNAL / math.sqrt(d) * np.where(np.arange(d) % 2 == 0, 1.0, -1.0) / sd
    return np.append(INTERCEPT, slopes)


def feature_kinds(features: str, d: int) -> list[str]:
    """Normal features, or a mixture of typical columns."""
    if features == "normal":
        return ["normal"] * d
    return [("binary", "skewed", "uniform", "normal")[j % 4] for j in range(d)]


_SKEW = 0.6
_SKEW_RANGE = 8.0  # a lognormal with this shape exceeds 8 about twice in ten thousand times; it is clipped there
_SD = {
    "normal": 0.3,
    "binary": 2 * math.sqrt(0.3 * 0.7),
    "uniform": 1 / math.sqrt(3),
    "skewed": 2 / _SKEW_RANGE * math.sqrt((math.exp(_SKEW**2) - 1) * math.exp(_SKEW**2)),
}


def simulate_rows(key: Any, kinds: tuple[str, ...], rows: int, beta: Any) -> Any:
    """One table of scaled rows (1, x, y); the features are correlated through a normal copula."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import ndtr, ndtri

    feature_key, error_key = jax.random.split(key)
    latent = jax.random.normal(feature_key, (rows, len(kinds)), dtype=float)
    columns = [latent[:, 0]]
    for j in range(1, len(kinds)):
        columns.append(0.4 * columns[-1] + math.sqrt(1 - 0.16) * latent[:, j])
    threshold = ndtri(jnp.asarray(0.7))
    shapes = {
        "normal": lambda z: jnp.clip(0.3 * z, -1.0, 1.0),
        "binary": lambda z: jnp.where(z > threshold, 1.0, -1.0),
        "uniform": lambda z: 2.0 * ndtr(z) - 1.0,
        "skewed": lambda z: jnp.clip(2.0 * jnp.exp(_SKEW * z) / _SKEW_RANGE - 1.0, -1.0, 1.0),
    }
    x = jnp.stack([shapes[kind](column) for kind, column in zip(kinds, columns, strict=True)], axis=1)
    centre = jnp.asarray([_MEAN[kind] for kind in kinds])
    y = beta[0] + (x - centre) @ beta[1:] + SIGMA * jax.random.normal(error_key, (rows,), dtype=float)
    return jnp.concatenate([jnp.ones((rows, 1)), x, jnp.clip(y, -1.0, 1.0)[:, None]], axis=1)


_MEAN = {"normal": 0.0, "binary": -0.4, "uniform": 0.0, "skewed": 2 * math.exp(_SKEW**2 / 2) / _SKEW_RANGE - 1.0}


def exact_matrices(seed: int, setting: Setting, replicates: int) -> Array:
    """The exact Gram matrices of many tables: (replicates, d + 2, d + 2)."""
    import jax

    kinds = tuple(feature_kinds(setting.features, setting.d))
    beta = true_coefficients(setting.features, setting.d)
    keys = jax.random.split(jax.random.key(seed), replicates)
    return np.asarray(_grams(kinds, setting.rows)(keys, beta))


@cache
def _grams(kinds: tuple[str, ...], rows: int) -> Any:
    import jax

    def one(key: Any, beta: Any) -> Any:
        table = simulate_rows(key, kinds, rows, beta)
        return table.T @ table

    at_once = max(1, 2_000_000 // rows)
    return jax.jit(lambda keys, beta: jax.lax.map(lambda key: one(key, beta), keys, batch_size=at_once))


def truth_in_table(setting: Setting) -> Array:
    """Intercept at x = 0, slopes and sigma, as a fit reports them (`simulate_rows` centres the features)."""
    beta = true_coefficients(setting.features, setting.d)
    centre = np.array([_MEAN[kind] for kind in feature_kinds(setting.features, setting.d)])
    return np.concatenate([[beta[0] - centre @ beta[1:]], beta[1:], [SIGMA]])


def simulated_noise(rng: np.random.Generator, noise: EntryNoise, size: int) -> Array:
    """Symmetric noise with the distribution of a release, from a seeded generator: for studies only."""
    draw = rng.normal if noise.distribution == "gaussian" else lambda size: rng.laplace(scale=math.sqrt(0.5), size=size)
    upper = np.triu(draw(size=(size, size)) * np.sqrt(noise.variances(size)))
    return upper + np.triu(upper, 1).T
