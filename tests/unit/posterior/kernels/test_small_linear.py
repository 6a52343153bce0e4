"""Written-out factorisations against LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.small_linear import MANY, cholesky, solve_lower, written_out


@pytest.mark.parametrize("size", [1, 2, 3, 6, 11])
@pytest.mark.parametrize("copies", [1, MANY])
def test_factors_and_solutions_are_right(size: int, copies: int) -> None:
    generator = np.random.default_rng(size)
    factor = generator.normal(size=(size, size))
    matrix = factor @ factor.T + np.eye(size)
    vector, right = generator.normal(size=size), generator.normal(size=(size, 4))
    with double_precision():
        lower = np.asarray(cholesky(matrix, copies))
        assert np.allclose(lower, np.linalg.cholesky(matrix), rtol=1e-12)
        for known in (vector, right):
            assert np.allclose(lower @ np.asarray(solve_lower(lower, known, copies=copies)), known)
            assert np.allclose(lower.T @ np.asarray(solve_lower(lower, known, transposed=True, copies=copies)), known)


@pytest.mark.parametrize("copies", [1, MANY])
def test_a_matrix_without_a_factor_gives_no_number(copies: int) -> None:
    with double_precision():
        assert np.isnan(np.asarray(cholesky(-np.eye(5), copies))).any()


def test_many_matrices_and_tiny_ones_are_written_out() -> None:
    assert written_out(3, 1) and written_out(8, MANY)
    assert not written_out(8, 1) and not written_out(50, MANY) and not written_out(0, 1)
