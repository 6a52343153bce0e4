"""The two log densities: their gradients, the noise that the flat one passes on, and that both say the same where they must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.posterior.glm.made_laws import LAWS, Array, direction, size_of
from tests.unit.posterior.glm.made_tables import model, released

from noisewise.posterior.glm.densities import flat_density, latent_density, passed_on, possible_moments
from noisewise.posterior.glm.expectations import Expectations, scaled_moments
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import find_mode, jax_density

CASES = {"logistic": "y ~ x + g", "probit": "y ~ x + w", "poisson": "c ~ x + w + g"}


def flat_data(data: Any) -> dict[str, Array]:
    """The same release as the flat density sees it: all columns are numbers."""
    return {**data, "moments": possible_moments(data["gram"] / data["rows"]), "cells": np.zeros((1, 0)),
            "cell_basis": np.zeros((1, 0))}


@pytest.mark.outer(but=["logistic-replace-one"])
@pytest.mark.parametrize(("family", "adjacency"), [
    ("logistic", "replace-one"), ("poisson", "add-remove"),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in [
        ("logistic", "add-remove"), ("poisson", "replace-one"), ("probit", "replace-one"), ("probit", "add-remove")])])
def test_gradients_are_those_of_finite_differences(family: str, adjacency: str) -> None:
    made = model(CASES[family], released(adjacency=adjacency), family)
    terms = made.data["features"].shape[1]
    start = made.start()[0]
    assert made.latent and len(start) == terms + size_of(made.layout) + (adjacency == "add-remove")
    generator = np.random.default_rng(1)
    for density, point in ((jax_density(made.log_density, made.data), start + 0.1 * generator.normal(size=len(start))),
                           (jax_density(flat_density(FAMILIES[family]), flat_data(made.data)), generator.normal(size=terms))):
        value, gradient = density(point)
        assert np.isfinite(value)
        for _ in range(3):
            step = 1e-5 * generator.normal(size=len(point))
            difference = density(point + step)[0] - density(point - step)[0]
            assert difference == pytest.approx(2 * gradient @ step, rel=1e-4, abs=1e-7 * abs(value))


@pytest.mark.outer(but=["0.5-False"])
@pytest.mark.parametrize("rows_are_noisy", [False, True])
@pytest.mark.parametrize("norm", [0.5, 3.0])
def test_noise_is_passed_on(norm: float, rows_are_noisy: bool) -> None:
    """Against the implied sums of many matrices with noise, each computed anew."""
    import jax
    import jax.numpy as jnp

    law, family = LAWS["normal"], FAMILIES["logistic"]
    theta, rows, sd = direction(law, norm), 10_000.0, 8.0
    exact = rows * (law.means.T @ law.means + law.covariance)
    variances = np.full(exact.shape, sd**2) * (0.5 + 0.5 * np.eye(len(theta)))
    variances[0, 0] = sd**2 * 100 if rows_are_noisy else 0.0
    data = {"response_centre": 0.0, "response_half": 1.0}

    def implied(gram: Any) -> Any:
        moments = gram / gram[0, 0]
        found = Expectations.of(jnp.asarray(theta), jnp.ones(1), moments[:1], moments - jnp.outer(moments[0], moments[0]), jnp)
        mean, _ = scaled_moments(family, found, data, jnp)
        return gram[0, 0] * found.with_row(mean, jnp), found, found.powers(mean, 3)[0]

    noise = np.triu(np.random.default_rng(2).normal(size=(20_000, *exact.shape)) * np.sqrt(variances))
    noise = noise + np.triu(noise, 1).transpose(0, 2, 1)
    with double_precision():
        many = np.asarray(jax.jit(jax.vmap(lambda gram: implied(gram)[0]))(exact + noise))
        _, found, powers = implied(jnp.asarray(exact))
        ours = np.asarray(passed_on(found, powers, jnp.asarray(theta), jnp.asarray(variances), jnp))
        ignoring = np.asarray(passed_on(found, powers, jnp.asarray(theta), jnp.asarray(variances).at[0, 0].set(0.0), jnp))
    root = np.linalg.inv(np.linalg.cholesky(np.cov(many.T)))
    ratio = np.linalg.eigvalsh(root @ ours @ root.T)
    assert 0.93 < ratio[0] and ratio[-1] < 1.07  # 20 000 draws: 1 ± 2√(4/20000) = 1 ± 0.03
    assert (np.linalg.eigvalsh(root @ ignoring @ root.T)[0] < 0.8) == rows_are_noisy


@pytest.mark.outer
@pytest.mark.parametrize(("family", "formula"), [("logistic", "y ~ x + w"), ("poisson", "c ~ x + w")])
def test_flat_and_latent_agree_where_there_is_little_noise(family: str, formula: str) -> None:
    made = model(formula, released(epsilon=300.0, rows=20_000), family)
    latent = find_mode(jax_density(made.log_density, made.data), *made.start())
    data = flat_data(made.data)
    flat = find_mode(jax_density(flat_density(FAMILIES[family]), data), np.zeros(3), np.full(3, 0.1))
    deviations = [np.sqrt(np.diag(mode.scale @ mode.scale.T))[:3] for mode in (latent, flat)]
    assert latent.converged and flat.converged
    assert np.abs((latent.point[:3] - flat.point) / deviations[1]).max() < 0.2
    np.testing.assert_allclose(deviations[0], deviations[1], rtol=0.1)
    noisy = {**data, "gram_variance": data["gram_variance"] * 1e6, "cross_variance": data["cross_variance"] * 1e6}
    wider = find_mode(jax_density(flat_density(FAMILIES[family]), noisy), np.zeros(3), np.full(3, 0.1))
    assert np.all(np.sqrt(np.diag(wider.scale @ wider.scale.T)) > 1.5 * deviations[1])


def test_the_densities_are_the_same_function_every_time() -> None:
    """Otherwise every fit would be compiled anew."""
    for density in (latent_density, flat_density):
        assert density(FAMILIES["probit"]) is density(FAMILIES["probit"])
        assert "probit" in density(FAMILIES["probit"]).__qualname__


def test_moments_are_made_possible() -> None:
    broken = np.array([[1.3, 0.2, 0.1], [0.2, 0.01, 0.5], [0.1, 0.5, 0.3]])
    mended = possible_moments(broken)
    assert mended[0, 0] == 1.0 and np.linalg.eigvalsh(mended)[0] > 0
    np.testing.assert_array_equal(mended[0, 1:], broken[0, 1:])
    fine = np.array([[1.0, 0.2, 0.1], [0.2, 0.4, 0.1], [0.1, 0.1, 0.3]])
    np.testing.assert_allclose(possible_moments(fine), fine, atol=1e-12)
