"""The Wishart noise that is drawn: exact laws of its diagonal, its trace and what privacy depends on. Nothing here has a seed."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.noise.scale_tests import LEVEL, has_scale
from tests.noise.scale_tests import power as scale_power

from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.privacy.noise import NORMAL_VARIANCE, wishart_integers
from noisewise.privacy.sensitivity.gram import gram_sensitivity

Array = NDArray[np.float64]
SIZE, DEGREES, MATRICES = 4, 20, 1100


@cache
def drawn() -> Array:
    """Matrices N of Wishart(DEGREES, I)."""
    matrices = [wishart_integers(SIZE, DEGREES) for _ in range(MATRICES)]
    assert all((matrix == matrix.T).all() and isinstance(matrix[0, 1], int) for matrix in matrices)
    return np.array([(matrix / NORMAL_VARIANCE).astype(float) for matrix in matrices])


def sum_fits(values: Array, degrees: float) -> bool:
    """Whether independent chi-square values add up as those of so many degrees of freedom do: exact, at `LEVEL`."""
    law = stats.chi2(degrees * values.size)
    return bool(law.ppf(LEVEL / 2) <= values.sum() <= law.isf(LEVEL / 2))


def power(true: float, claimed: float, count: int) -> float:
    """Probability that `sum_fits` rejects a wrong number of degrees of freedom."""
    law, wrong = stats.chi2(true * count), stats.chi2(claimed * count)
    return float(1 - law.cdf(wrong.isf(LEVEL / 2)) + law.cdf(wrong.ppf(LEVEL / 2)))


def test_the_diagonal_has_the_stated_degrees_of_freedom() -> None:
    """Entries of one matrix's diagonal are independent: each is the squared length of a column of its own."""
    diagonal = np.diagonal(drawn(), axis1=1, axis2=2).ravel()
    assert sum_fits(diagonal, DEGREES)
    for wrong in (0.9 * DEGREES, 1.1 * DEGREES):
        assert power(DEGREES, wrong, diagonal.size) > 1 - 1e-9
        assert not sum_fits(diagonal, wrong)
    assert stats.kstest(diagonal, stats.chi2(DEGREES).cdf).pvalue > LEVEL


def test_the_shape_is_that_of_a_chi_square() -> None:
    """With few degrees of freedom it differs most from a normal one of the same mean and variance."""
    diagonal = np.array([(np.diagonal(wishart_integers(2, 3)) / NORMAL_VARIANCE).astype(float) for _ in range(1000)]).ravel()
    assert stats.kstest(diagonal, stats.chi2(3).cdf).pvalue > LEVEL
    assert stats.kstest(diagonal, stats.norm(3, math.sqrt(6)).cdf).pvalue < LEVEL


def test_what_privacy_depends_on_has_its_law() -> None:
    """1/(N⁻¹)_11 ~ chi-square(k − q + 1) in every direction, here in one that no coordinate has."""
    direction = np.full(SIZE, SIZE**-0.5)
    c = 1 / np.einsum("nij,i,j->n", np.linalg.inv(drawn()), direction, direction)
    degrees = DEGREES - SIZE + 1
    assert sum_fits(c, degrees)
    assert stats.kstest(c, stats.chi2(degrees).cdf).pvalue > LEVEL
    for wrong in (0.85 * degrees, 1.15 * degrees):
        assert power(degrees, wrong, c.size) > 1 - 1e-9
        assert not sum_fits(c, wrong)


def test_entries_off_the_diagonal_have_their_law() -> None:
    """N_ij / sqrt(N_jj) ~ N(0, 1): the part that a column of X shares with another; two pairs of different columns."""
    noise = drawn()
    z = np.concatenate([noise[:, i, j] / np.sqrt(noise[:, j, j]) for i, j in ((0, 1), (2, 3))])
    assert has_scale("gaussian", z, 1.0)
    for wrong in (0.75, 4 / 3):
        assert scale_power("gaussian", z.size, wrong) > 1 - 1e-9
        assert not has_scale("gaussian", z, wrong)
    assert stats.kstest(z, stats.norm.cdf).pvalue > LEVEL


def test_draws_differ_in_their_last_bits_too() -> None:
    """The fine part is there: the lowest 60 of 208 bits are not those of a multiple of a power of two."""
    low = {int(wishart_integers(2, 2)[0, 0]) % 2**60 for _ in range(40)}
    assert len(low) == 40
    assert any(value % 2 for value in low)


@pytest.mark.outer
def test_a_release_has_mean_and_variances_as_stated() -> None:
    sensitivity = gram_sensitivity(scalars=3, blocks=0, size=SIZE, radius=2.0, norm_clipped=False, adjacency="add-remove")
    mechanism = SymmetricWishart(sensitivity=sensitivity, epsilon=1.0, delta=1e-6, degrees=DEGREES)
    exact = np.array([[1000 * (1 + abs(i - j)) for i in range(SIZE)] for j in range(SIZE)], dtype=object)
    noise = np.array([mechanism.perturb(exact * 2**40, 2.0**-40) - exact.astype(float) for _ in range(MATRICES)])
    assert np.array_equal(noise * 2.0**16, np.round(noise * 2.0**16))
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    diagonal, off_diagonal, corner = mechanism.entry_sd()
    assert corner == diagonal and diagonal > math.sqrt(2) * off_diagonal * (1 - 1e-15)
    back = np.diagonal(noise, axis1=1, axis2=2).ravel() / mechanism.scale + DEGREES
    assert sum_fits(back, DEGREES)
    assert not sum_fits(back, 1.1 * DEGREES) and not sum_fits(back - DEGREES + 1, DEGREES)  # the mean was taken out once
    # One mean square for each matrix, since the entries of a matrix are uncorrelated but not independent.
    squares = np.mean(noise[:, *np.triu_indices(SIZE, 1)] ** 2, axis=1) / off_diagonal**2
    assert stats.ttest_1samp(squares, 1.0).pvalue > LEVEL
    assert stats.ttest_1samp(1.5 * squares, 1.0).pvalue < LEVEL
