"""Priors: the densities that are promised, in the units in which they are promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from tests.unit.posterior.glm.made_tables import model, released

import noisewise as nw
from noisewise.errors import FitError
from noisewise.posterior.glm.prior import coefficients, effect_scales
from noisewise.posterior.kernels.jax_setup import double_precision

FORMULA = "y ~ x + w"
RELEASE = released(epsilon=50.0)


def log_prior_of_beta(prior: nw.Prior | None, effects: np.ndarray, formula: str = FORMULA) -> tuple[Any, Any, Any]:
    """β, the log density of the effects, and log |∂β/∂effects|."""
    import jax
    import jax.numpy as jnp

    made = model(formula, RELEASE, prior=prior)
    with double_precision():
        data = {key: jnp.asarray(value) for key, value in made.data.items()}
        moments = data["gram"] / data["rows"]
        beta, log_prior = coefficients(jnp.asarray(effects), moments, data, jnp)
        jacobian = jax.jacobian(lambda x: coefficients(x, moments, data, jnp)[0])(jnp.asarray(effects))
    return np.asarray(beta), float(log_prior), float(np.linalg.slogdet(np.asarray(jacobian))[1])


def test_named_coefficients_have_their_normal_density() -> None:
    """p(β) = p(effects) / |∂β/∂effects|, up to a constant that does not depend on them."""
    prior = nw.Prior(mean={"Intercept": 0.5, "x": 0.2}, sd={"Intercept": 2.0, "x": 0.3, "w": 0.7})
    expected = norm([0.5, 0.2, 0.0], [2.0, 0.3, 0.7])
    gaps = []
    for effects in np.random.default_rng(1).normal(size=(5, 3)):
        beta, log_prior, log_jacobian = log_prior_of_beta(prior, effects)
        gaps.append(log_prior - log_jacobian - expected.logpdf(beta).sum())
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)


def test_the_density_of_named_coefficients_does_not_depend_on_the_predictors_scale() -> None:
    """p(β | moments) must be the same whatever the moments; with a Jacobian forgotten it would be not."""
    import jax.numpy as jnp

    prior = nw.Prior(sd={"Intercept": 2.0, "x": 0.3, "w": 0.7})
    made = model(FORMULA, RELEASE, prior=prior)
    with double_precision():
        data = {key: jnp.asarray(value) for key, value in made.data.items()}
        values = []
        for scale in (0.5, 1.0, 2.0):
            moments = jnp.diag(jnp.array([1.0, 0.1 * scale, 0.2 * scale]))
            deviations = np.asarray(effect_scales(data["features"], moments, data["least_scale"], jnp))[1:]
            effects = np.array([0.1, *(np.array([0.2, -0.4]) * deviations)])
            log_prior = float(coefficients(jnp.asarray(effects), moments, data, jnp)[1])
            values.append(log_prior + np.log(deviations).sum())  # − log |∂β/∂effects|
    np.testing.assert_allclose(values, values[0], atol=1e-9)


def test_the_default_is_normal_in_effects() -> None:
    effects = np.array([1.0, -2.0, 0.5])
    beta, log_prior, _ = log_prior_of_beta(None, effects)
    assert log_prior == pytest.approx(-0.5 * np.sum((effects / 2.5) ** 2))
    deviations = [1.0, 1.0]  # of x and w in the table
    np.testing.assert_allclose(beta[1:], effects[1:] / deviations, rtol=0.1)


def test_a_term_counts_as_varying_at_least_a_little() -> None:
    """A level that hardly ever occurs has a prior of finite width; one that occurs often has nearly that of its deviation."""
    features, least = np.eye(3)[:, 1:], np.array([0.25, 0.25])
    rare, common = 1e-9, 0.5
    moments = np.array([[1.0, rare, common], [rare, rare, 0.0], [common, 0.0, common]])
    np.testing.assert_allclose(effect_scales(features, moments, least, np), [0.25, np.hypot(0.25, 0.5)], rtol=1e-6)
    data = model("y ~ x + g", released(epsilon=50.0)).data
    assert data["least_scale"][2] == pytest.approx(0.25 * 1.0) and data["least_scale"][1] < 0.2


def test_many_coefficients_are_narrower() -> None:
    wide = model("y ~ x + w", RELEASE).data["prior_sd"]
    narrow = model("y ~ x + w + g + h + I(x**2)", released(epsilon=50.0, terms="I(x**2)")).data["prior_sd"]
    assert wide[1] == 2.5 and narrow[1] == pytest.approx(2.5 * 2 / np.sqrt(6))
    assert model("c ~ x", RELEASE, "poisson").data["prior_sd"][1] == 1.5


@pytest.mark.outer
@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_the_ball_prior_is_a_normal_law_within_a_ball(radius: float) -> None:
    """One slope: its density by numerical integration over the effect is that of a normal law cut off at the radius."""
    effects = np.linspace(-60, 60, 2001)
    found = [log_prior_of_beta(nw.Prior(largest_norm=radius), np.array([0.0, effect]), "y ~ x") for effect in effects[::40]]
    size = np.array([4.0 * beta[1] for beta, _, _ in found])  # in units of the declared half width
    assert np.abs(size).max() <= radius and np.abs(size).max() > 0.99 * radius
    gaps = np.array([log_prior - log_jacobian + 0.5 * s**2 for (_, log_prior, log_jacobian), s in zip(found, size, strict=True)])
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-6)


@pytest.mark.outer
def test_the_ball_prior_in_two_dimensions() -> None:
    gaps = []
    for effects in np.random.default_rng(2).normal(size=(6, 3)) * 2:
        beta, log_prior, log_jacobian = log_prior_of_beta(nw.Prior(largest_norm=2.0), effects)
        size = 4.0 * beta[1:]
        assert np.linalg.norm(size) < 2.0
        intercept = norm.logpdf(effects[0], scale=2.5)
        gaps.append(log_prior - log_jacobian + 0.5 * size @ size - intercept)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)


@pytest.mark.parametrize(("prior", "words"), [
    (nw.Prior(sigma=1.0), "no sigma"),
    (nw.Prior(sd={"z": 1.0}), "not in the formula"),
    (nw.Prior(largest_norm=1.0, sd={"x": 1.0}), "all coefficients together"),
    ({"x": 1.0}, "must be a Prior"),
])
def test_wrong_priors_are_refused(prior: Any, words: str) -> None:
    with pytest.raises(FitError, match=words):
        model(FORMULA, RELEASE, prior=prior)


def test_what_is_shown_of_the_prior() -> None:
    from noisewise.schema import Design

    design = Design.of(FORMULA, RELEASE.basis, RELEASE.terms)
    shown = model(FORMULA, RELEASE, prior=nw.Prior(mean={"x": 0.5}, sd={"x": 0.1})).prior_summary(design)
    assert shown is not None and shown.sigma_scale is None
    assert shown.sd["x"] == 0.1 and shown.mean["x"] == 0.5 and shown.sd["w"] == pytest.approx(2.5, rel=0.1)
    assert shown.sd["Intercept"] == pytest.approx(2.5, rel=0.1)
    assert model(FORMULA, RELEASE, prior=nw.Prior(largest_norm=1.0)).prior_summary(design) is None
