"""Rows of a law have the moments it was made of; laws scatter about them as the posterior does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tests.unit.synthetic.test_moment_posterior import released

from noisewise.synthetic.moment_posterior import NoisyMoments
from noisewise.synthetic.row_law import RowLaw
from noisewise.synthetic.structure import Structure

Array = npt.NDArray[np.float64]


def coded(law: RowLaw, count: int, seed: int) -> Array:
    """Rows in the columns of W: constant, x, smoker, two wards, y."""
    levels, numbers = law.scaled_rows(count, np.random.default_rng(seed))
    ward = levels["ward"]
    return np.column_stack([np.ones(count), numbers["x"], 2.0 * levels["smoker"] - 1.0, ward == 1, ward == 2, numbers["y"]])


def test_rows_have_the_moments_of_the_table() -> None:
    """With very many rows behind W and no noise, law and table agree, and so do many rows of the law."""
    release = released(1e7, count=1000)
    structure = Structure.of(release)
    w = structure.obey(NoisyMoments.of(release.contributions, structure).matrix)
    large = w * 1e6  # as if a million tables of this kind: coefficients are known
    law = RowLaw.drawn(large, structure, np.random.default_rng(1))
    a = coded(law, 400_000, 2)
    np.testing.assert_allclose(a.T @ a / len(a), w / 1000, atol=0.006)


def test_laws_scatter_as_means_and_slopes_do() -> None:
    """Draws given W: the mean of y and its slope on x have their standard errors."""
    release = released(1e7, count=1000)
    structure = Structure.of(release)
    w = structure.obey(NoisyMoments.of(release.contributions, structure).matrix)
    laws = [RowLaw.drawn(w, structure, np.random.default_rng(seed)) for seed in range(800)]
    slope = np.array([(law.root @ law.root.T)[1, 0] / (law.root @ law.root.T)[0, 0] for law in laws])
    before = [0, 2, 3, 4]
    rest = w - w[:, before] @ np.linalg.solve(w[np.ix_(before, before)], w[before])
    expected = rest[5, 1] / rest[1, 1]
    error = np.sqrt((rest[5, 5] - rest[5, 1] ** 2 / rest[1, 1]) / 1000 / rest[1, 1])
    assert abs(slope.mean() - expected) < 0.2 * error
    assert 0.92 < slope.std() / error < 1.08
