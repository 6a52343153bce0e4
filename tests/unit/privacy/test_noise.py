"""What the noise source refuses. Its distribution is tested in tests/noise."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from noisewise.errors import PrivacyError
from noisewise.privacy import noise
from noisewise.privacy.noise import gaussian_integers, laplace_integers

ADDERS = pytest.mark.parametrize("add", [gaussian_integers, laplace_integers])


@ADDERS
@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 2.0**60])
def test_scale_must_be_positive_and_fit(add: Any, scale: float) -> None:
    with pytest.raises(PrivacyError, match="the noise scale must be positive") as refused:
        add(np.zeros(3, dtype=np.int64), scale)
    assert refused.value.remedy


@ADDERS
@pytest.mark.parametrize("values", [np.zeros(3), np.zeros(3, dtype=np.int32), np.zeros((2, 2), dtype=np.int64), [1, 2]])
def test_values_must_be_integers_in_one_dimension(add: Any, values: Any) -> None:
    with pytest.raises(PrivacyError, match="one-dimensional array of 64-bit integers"):
        add(values, 10.0)


@ADDERS
def test_values_must_leave_room(add: Any) -> None:
    with pytest.raises(PrivacyError, match="room for noise") as refused:
        add(np.array([0, 2**63 - 1]), 10.0)
    assert str(2**63 - 1) not in str(refused.value)  # a value of the data is never shown


@ADDERS
def test_nothing_to_do_and_large_values(add: Any) -> None:
    assert add(np.array([], dtype=np.int64), 10.0).size == 0
    values = np.array([2**61, -(2**61)])
    noisy = add(values, 1e6)
    assert noisy.dtype == np.int64
    assert np.all(np.abs(noisy - values) < 10**9)
    assert values.tolist() == [2**61, -(2**61)]


def test_there_is_no_seed() -> None:
    source = inspect.getsource(noise)
    assert "np.random" not in source
    for add in (gaussian_integers, laplace_integers):
        assert list(inspect.signature(add).parameters) == ["values", "scale_units"]
