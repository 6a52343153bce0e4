"""Fits with more predictors than the latent form takes: when to doubt them, and whether they are what they should be."""

from __future__ import annotations

import numpy as np
import pytest
from studies.large_d import FORMULA, truth, wide_release

import noisewise
from noisewise.errors import ConvergenceWarning
from noisewise.posterior.linear.conditional import FEW, weighted_model
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.methods import hidden_doubts
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.release import Release
from noisewise.results.diagnostics import r_hat
from noisewise.run import QUIET
from noisewise.schema import Design


def doubts(release: Release) -> tuple[str, ...]:
    design = Design.of(FORMULA, release.basis)
    return hidden_doubts(weighted_model(release.contributions, Coordinates.of(design), ResolvedPrior.of(design, None)))


@pytest.mark.parametrize(("d", "noise", "doubtful"), [(30, 0.1, False), (30, 0.5, False), (30, 1.5, True), (FEW - 1, 1.5, False)])
def test_noise_as_large_as_the_moments_of_many_predictors_is_doubtful(d: int, noise: float, doubtful: bool) -> None:
    assert bool(doubts(wide_release(d, noise, 1)[0])) is doubtful


def test_the_doubt_is_a_warning_of_the_fit() -> None:
    release, _ = wide_release(20, 3.0, 1)
    with pytest.warns(ConvergenceWarning, match="too many predictors to treat these moments as unknown"):
        fitted = noisewise.fit(FORMULA, release, method="laplace", seed=1)
    assert any("smallest moment" in doubt for doubt in fitted.info.doubts)


@pytest.mark.outer
def test_a_clear_release_of_many_predictors_is_fitted_like_the_table_behind_it() -> None:
    """With hardly any noise beside the residuals: the coefficients and standard errors of least squares."""
    release, exact = wide_release(40, 1e-5, 1)
    fitted = noisewise.fit(FORMULA, release, seed=1, run=QUIET)
    solved = np.linalg.solve(exact[:-1, :-1], exact[:-1, -1])
    errors = truth(40)[-1] * np.sqrt(np.diag(np.linalg.inv(exact[:-1, :-1])))
    samples = fitted.samples.reshape(-1, 42)
    assert np.abs((samples[:, :-1].mean(axis=0) - solved) / errors).max() < 0.4
    np.testing.assert_allclose(samples[:, :-1].std(axis=0) / errors, 1.0, atol=0.15)
    assert fitted.diagnose() == []


@pytest.mark.slow
def test_a_thousand_predictors_are_fitted() -> None:
    release, _ = wide_release(1000, 0.1, 1)
    fitted = noisewise.fit(FORMULA, release, seed=1, run=QUIET)
    assert r_hat(fitted.samples).max() < 1.01
    low, high = np.quantile(fitted.samples.reshape(-1, 1002), [0.025, 0.975], axis=0)
    inside = (low <= truth(1000)) & (truth(1000) <= high)
    assert 0.92 < inside.mean() < 0.98
    assert inside[-1]
