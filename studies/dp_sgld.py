"""DP-SGLD for logistic regression: the private baseline of Kulkarni et al. (2021, paper 003), for the studies only.

Stochastic gradient Langevin dynamics (Welling and Teh 2011) on clipped gradients of single rows, with Gaussian noise for privacy
(Wang et al. 2015, Li et al. 2019). Each step samples every row with probability b/N and moves by

    θ ← θ − (rate / b) (Σ clipped gradients + C · multiplier · N(0, I)) − (rate / N) ∇(−log prior).

The step is that of the *mean* gradient, for which Langevin dynamics needs noise of variance 2 · rate / N. If the privacy noise
is smaller, it is raised to that. If it is larger, as in all settings of the paper, the draws are wider than the
posterior, and nothing corrects for it. The paper does not print its update; with the sum of gradients in place of the mean its
learning rates (0.1 and 0.01) would make steps of hundreds in length.

**Accounting.** Neighbours differ in one replaced row, as in the paper: then a sampled gradient changes by up to 2C. A step is a
Gaussian mechanism of sensitivity 2C, amplified by sampling; `noise_multiplier` composes its privacy loss distribution
(dp-accounting, rounded up). For rows added or removed half of this noise would do.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.privacy.calibration import analytic_gaussian_sigma

Array = npt.NDArray[np.float64]

STEPS: Final = 10_000
BURN_IN: Final = 6_000
INTERVAL: Final = 1e-5
"""The step of the grid of privacy losses. A tenth of it changes the multipliers of the paper's settings by less than 0.01 %."""


def batch_size(rows: int) -> int:
    """√N, rounded to a whole number as in the captions of the paper.

    >>> batch_size(8000), batch_size(758)
    (89, 28)
    """
    return round(math.sqrt(rows))


@cache
def noise_multiplier(batch: int, rows: int, epsilon: float, delta: float, steps: int = STEPS) -> float:
    """The noise's standard deviation as a multiple of the clipping norm C, for (ε, δ) after all steps; one row is replaced.

    >>> round(noise_multiplier(89, 8000, 0.1, 1e-5), 1)
    68.5
    """
    from scipy.optimize import brentq

    # Many steps with a small part of a row in each are nearly one Gaussian mechanism with b/N of the row in every step.
    guess = 2.0 * batch / rows * math.sqrt(steps) * analytic_gaussian_sigma(epsilon, delta, 1.0)

    def excess(multiplier: float) -> float:
        return math.log(spent_delta(multiplier, batch, rows, epsilon, steps) / delta)

    return float(brentq(excess, 0.5 * guess, 3.0 * guess, xtol=1e-4 * guess))


def spent_delta(multiplier: float, batch: int, rows: int, epsilon: float, steps: int) -> float:
    """δ at ε after all steps."""
    from dp_accounting.pld import privacy_loss_distribution

    one = privacy_loss_distribution.from_gaussian_mechanism(multiplier, sensitivity=2.0, sampling_prob=batch / rows,
                                                            value_discretization_interval=INTERVAL)
    return float(one.self_compose(steps).get_delta_for_epsilon(epsilon))


def dp_sgld(x: Array, y: Array, *, batch: int, multiplier: float, rate: float, seed: int, repeats: int = 1, prior_sd: float = 1.0,
            clip: float = 1.0, steps: int = STEPS, burn_in: int = BURN_IN) -> Array:
    """Draws after the burn-in: (repeats, draws, coefficients); y = ±1. A multiplier of 0 is plain SGLD, without privacy."""
    import jax

    from noisewise.posterior.kernels.jax_setup import double_precision

    with double_precision():
        keys = jax.random.split(jax.random.key(seed), repeats)
        found = _run(steps)(keys, x, y, batch, multiplier, rate, prior_sd, clip)
    return np.asarray(found)[:, burn_in:]


@cache
def _run(steps: int) -> Any:
    import jax
    import jax.numpy as jnp

    def run(key: Any, x: Any, y: Any, batch: Any, multiplier: Any, rate: Any, prior_sd: Any, clip: Any) -> Any:
        rows, terms = x.shape
        private = rate / batch * clip * multiplier
        noise = jnp.maximum(private, jnp.sqrt(2.0 * rate / rows))

        def step(theta: Any, key: Any) -> Any:
            sampling_key, noise_key = jax.random.split(key)
            sampled = jax.random.uniform(sampling_key, (rows,), dtype=jnp.float32) < batch / rows
            sizes = jax.nn.sigmoid(-y * (x @ theta))  # the gradient of a row is −y σ(−yη) x
            kept = jnp.minimum(sizes, clip / norms) * sampled
            moved = theta + rate * ((y * kept) @ x / batch - theta / prior_sd**2 / rows)
            moved = moved + noise * jax.random.normal(noise_key, (terms,))
            return moved, moved

        norms = jnp.linalg.norm(x, axis=1) + 1e-300
        return jax.lax.scan(step, jnp.zeros(terms), jax.random.split(key, steps))[1]

    return jax.jit(lambda keys, *rest: jax.lax.map(lambda key: run(key, *rest), keys))
