"""Mean and mean square of the responses, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm, poisson

from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.kernels.jax_setup import double_precision

ETA = np.linspace(-9.0, 9.0, 73)


def moments(name: str, largest: float, eta: Any) -> Any:
    import jax.numpy as jnp

    family = FAMILIES[name]
    return family.moments(eta, {key: jnp.asarray(value, dtype=float) for key, value in family.constants(largest).items()}, jnp)


@pytest.mark.outer(but=["10"])
@pytest.mark.parametrize("largest", [1, 10, 16, 17, 200, 1000])
def test_counts_are_cut_off(largest: int) -> None:
    counts = np.arange(30_000)
    law = poisson.pmf(counts, np.exp(ETA)[:, None])
    cut = np.minimum(counts, largest)
    with double_precision():
        mean, square = map(np.asarray, moments("poisson", largest, ETA))
    np.testing.assert_allclose(mean, law @ cut, rtol=1e-9, atol=1e-9 * largest)
    np.testing.assert_allclose(square, law @ cut**2, rtol=1e-9, atol=1e-9 * largest**2)
    near = np.log(largest)  # cutting the mean off is not the same
    with double_precision():
        assert float(moments("poisson", largest, near)[0]) < largest - 0.2


@pytest.mark.outer
@pytest.mark.parametrize("largest", [10, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 200))])
def test_derivatives_of_any_order_are_right(largest: int) -> None:
    import jax

    with double_precision():
        for which in (0, 1):
            first = jax.vmap(jax.grad(lambda eta, which=which: moments("poisson", largest, eta)[which]))
            second = jax.vmap(jax.grad(jax.grad(lambda eta, which=which: moments("poisson", largest, eta)[which])))
            inside = np.linspace(-3.0, 6.0, 19)
            scale = float(largest ** (which + 1))
            step = 1e-4
            difference = (moments("poisson", largest, inside + step)[which] - moments("poisson", largest, inside - step)[which])
            np.testing.assert_allclose(first(inside), difference / (2 * step), atol=1e-6 * scale)
            difference = first(inside + step) - first(inside - step)
            np.testing.assert_allclose(second(inside), difference / (2 * step), atol=1e-6 * scale)
            assert np.abs(first(inside)).max() > 0.1 * scale  # so that these tolerances say something


@pytest.mark.parametrize("eta", [-800.0, -61.0, 31.0, 800.0])
def test_far_away_everything_is_finite(eta: float) -> None:
    import jax

    with double_precision():
        for name in FAMILIES:
            value, slope = jax.value_and_grad(lambda x, name=name: moments(name, 10, x)[0])(eta)
            assert np.isfinite(value) and abs(slope) < 1e-12
            assert value == pytest.approx({True: 10.0, False: 0.0}[eta > 0] if name == "poisson" else np.sign(eta), abs=1e-12)


@pytest.mark.parametrize(("name", "distribution"), [("logistic", expit), ("probit", norm.cdf)])
def test_two_levels_are_plus_and_minus_one(name: str, distribution: Any) -> None:
    import jax.numpy as jnp

    with double_precision():
        mean, square = map(np.asarray, moments(name, 1.0, jnp.asarray(ETA)))
    p = distribution(ETA)
    np.testing.assert_allclose(mean, 2 * p - 1, atol=1e-14)
    np.testing.assert_array_equal(square, np.ones_like(ETA))
    np.testing.assert_allclose(square - mean**2, 4 * p * (1 - p), atol=1e-14)
