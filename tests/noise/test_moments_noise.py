"""The noise of a moments release: each block its own scale, divided by the root of a monomial's coefficient; all independent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.noise.scale_tests import assert_scale, assert_shape, has_scale

from noisewise.privacy.mechanisms.moments import MomentsMechanism
from noisewise.privacy.sensitivity.moments import moments_sensitivity
from noisewise.schema.moment_blocks import MomentBlock

PREDICTORS = 6
RELEASES = 1700


@pytest.mark.outer(but=["replace-one"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_every_block_has_the_stated_scale(adjacency: str) -> None:
    weights = {"x": 1.0, "xx": 0.5, "xxx": 0.3, "y": 0.7, "yx": 1.5} | ({"n": 2.0} if adjacency == "add-remove" else {})
    sensitivity = moments_sensitivity(weights=weights, scalars=PREDICTORS, groups=0, predictors=PREDICTORS, norm_bound=None,
                                      adjacency=adjacency)
    mechanism = MomentsMechanism.calibrate(sensitivity, 1.0, 1e-6)
    random = np.random.default_rng(4)
    exact = {name: random.integers(-(10**9), 10**9, MomentBlock.named(name).size(PREDICTORS)) for name in weights}
    noisy = [mechanism.perturb(exact) for _ in range(RELEASES)]
    noise = {name: np.array([one[name] for one in noisy]) - exact[name] * 2.0**-16 for name in weights}
    for name, sd in mechanism.block_sds().items():
        coefficients = MomentBlock.named(name).multiplicities(PREDICTORS)
        assert sd == pytest.approx(mechanism.sigma / math.sqrt(weights[name]), rel=1e-6)
        for coefficient in np.unique(coefficients):
            draws = noise[name][:, coefficients == coefficient].ravel()
            assert has_scale("gaussian", draws, sd / math.sqrt(coefficient)), (name, coefficient)
            if coefficient > 1:
                assert not has_scale("gaussian", draws, sd), (name, coefficient)
        scaled = (noise[name] * np.sqrt(coefficients)).ravel()
        if scaled.size > 10_000:
            assert_scale("gaussian", scaled, sd)
            assert_shape("gaussian", scaled, sd)
    assert not has_scale("gaussian", noise["yx"].ravel(), mechanism.block_sds()["x"])

    # Correlations of independent columns have sd 1/√N. Over 780 pairs one exceeds nine of them less than once in 1e15 runs.
    columns = np.concatenate([noise[name] for name in weights], axis=1)[:, :40]
    assert np.abs(np.triu(np.corrcoef(columns, rowvar=False), 1)).max() < 9 / math.sqrt(RELEASES)
