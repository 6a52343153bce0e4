"""Scales of noise to the last bit: a rounding in the wrong direction shows."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from noisewise.privacy.calibration import laplace_scale


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1.1, 3.0])
@pytest.mark.parametrize("sensitivity", [0.9, 1.3, 2.0])
def test_a_scale_is_the_smallest_float_that_is_not_below(epsilon: float, sensitivity: float) -> None:
    scale, exact = laplace_scale(epsilon, sensitivity), Fraction(sensitivity) / Fraction(epsilon)
    assert Fraction(math.nextafter(scale, 0)) < exact <= Fraction(scale)
