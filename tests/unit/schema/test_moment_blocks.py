"""Blocks of moments: names, sizes, and the identity that their sensitivity rests on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import DeclarationError
from noisewise.schema.moment_blocks import LARGEST_ORDER, MomentBlock, checked_blocks, numbers_in

NAMES = ["n", *("x" * k for k in range(1, LARGEST_ORDER + 1)), *("y" + "x" * k for k in range(LARGEST_ORDER))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("predictors", [1, 2, 5])
def test_names_sizes_and_coefficients_fit_together(name: str, predictors: int) -> None:
    block = MomentBlock.named(name)
    assert block.name == name and block.order == (0 if name == "n" else len(name))
    monomials, coefficients = block.monomials(predictors), block.multiplicities(predictors)
    assert len(monomials) == len(coefficients) == block.size(predictors)
    assert len({tuple(monomial) for monomial in monomials.tolist()}) == len(monomials)
    assert coefficients.sum() == predictors**block.degree  # M5
    assert sum(block.halves()) == block.degree and max(block.halves()[0] + block.response, block.halves()[1]) <= 3
    assert block.describe()


@given(st.integers(1, 4), st.integers(0, 6), st.integers(0, 2**32))
def test_inner_products_of_monomials_are_powers_of_the_inner_product(predictors: int, degree: int, seed: int) -> None:
    """M1."""
    x, other = np.random.default_rng(seed).uniform(-1, 1, (2, predictors))
    block = MomentBlock(False, degree)
    monomials = block.monomials(predictors)
    products = [np.prod(values[monomials], axis=1) for values in (x, other)]
    assert np.sum(block.multiplicities(predictors) * products[0] * products[1]) == pytest.approx((x @ other) ** degree, abs=1e-12)


def test_degree_two_is_the_upper_triangle_row_by_row() -> None:
    assert np.array_equal(MomentBlock.named("xx").monomials(7), np.transpose(np.triu_indices(7)))


@pytest.mark.parametrize("name", ["", "z", "xy", "yy", "yn", "nn", "X", "x" * 7, "y" + "x" * 6, "x\n", None, 3, b"x"])
def test_other_names_are_refused(name: object) -> None:
    with pytest.raises(DeclarationError, match="a block of moments is") as refused:
        MomentBlock.named(name)
    assert refused.value.found and refused.value.advice


def test_blocks_come_in_one_order_with_the_rows_where_they_are_not_public() -> None:
    given_blocks = {"yxx": 2, "xxx": 1, "y": np.float64(0.5), "x": 3}
    public, private = (checked_blocks(given_blocks, rows_are_public=public, predictors=2) for public in (True, False))
    assert list(public.items()) == [("x", 3.0), ("xxx", 1.0), ("y", 0.5), ("yxx", 2.0)]
    assert list(private.items()) == [("n", 1.0), *public.items()]
    assert numbers_in(private, 2) == 1 + 2 + 4 + 1 + 3
    assert numbers_in(["xx"], 10) == math.comb(11, 2)
