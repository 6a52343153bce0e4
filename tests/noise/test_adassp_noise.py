"""The noise of an adassp release: s on the diagonal of S, s/√2 off it and on z, its own on the eigenvalue, all independent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.noise.scale_tests import assert_scale, assert_shape, has_scale

from noisewise.privacy.mechanisms.adassp import AdasspMechanism
from noisewise.privacy.sensitivity.adassp import adassp_sensitivity

SIZE = 11
RELEASES = 1500


def mechanism_for(adjacency: str) -> AdasspMechanism:
    sensitivity = adassp_sensitivity(scalars=SIZE - 1, blocks=0, predictors=SIZE, norm_bound=None, adjacency=adjacency)
    return AdasspMechanism.calibrate(sensitivity, 1.0, 1e-6)


@pytest.mark.outer(but=["add-remove"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_every_number_has_the_stated_scale(adjacency: str) -> None:
    mechanism = mechanism_for(adjacency)
    half = np.random.default_rng(4).integers(-(10**9), 10**9, (SIZE + 1, SIZE + 1))
    statistic = half + half.T + 10**11 * np.eye(SIZE + 1, dtype=np.int64)
    exact = statistic * 2.0**-16
    smallest = np.linalg.eigvalsh(exact[:-1, :-1])[0]
    noisy = [mechanism.perturb(statistic) for _ in range(RELEASES)]
    matrix = np.array([one.matrix for one in noisy]) - exact[:-1, :-1]
    moments = np.array([one.moments for one in noisy]) - exact[:-1, -1]
    eigenvalue = np.array([one.eigenvalue for one in noisy]) - smallest
    diagonal, off_diagonal, corner = mechanism.sums.entry_sd()

    assert np.array_equal(matrix, matrix.transpose(0, 2, 1))
    assert_scale("gaussian", np.diagonal(matrix, axis1=1, axis2=2)[:, 1:].ravel(), diagonal)
    assert_scale("gaussian", matrix[:, *np.triu_indices(SIZE, 1)].ravel(), off_diagonal)
    assert_scale("gaussian", moments.ravel(), off_diagonal)
    assert_shape("gaussian", moments.ravel(), off_diagonal)
    assert not has_scale("gaussian", moments.ravel(), diagonal)  # as if z were on the diagonal
    assert has_scale("gaussian", eigenvalue, mechanism.eigenvalue.sd)
    for wrong in (0.75, 4 / 3):
        assert not has_scale("gaussian", eigenvalue, wrong * mechanism.eigenvalue.sd)
    assert (corner == 0.0) == (adjacency == "replace-one") == bool((matrix[:, 0, 0] == 0).all())

    # Correlations of independent columns have sd 1/√N. Over 91 pairs one exceeds nine of them less than once in 1e16 runs.
    columns = np.column_stack([eigenvalue, moments, matrix[:, 1, 1], matrix[:, 1, 2]])
    largest = np.abs(np.triu(np.corrcoef(columns, rowvar=False), 1)).max()
    assert largest < 9 / math.sqrt(RELEASES)
