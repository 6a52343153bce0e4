"""Values, direction of rounding and refusals of the sensitivity of averaged rows. The search is in tests/privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import PrivacyError
from noisewise.privacy.mechanisms.gram import SymmetricLaplace
from noisewise.privacy.sensitivity.averaged import averaged_sensitivity
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity

GRID = Fraction(1, 2**16)


def averaged(group: Any, scalars: int = 3, **changes: Any) -> GramSensitivity:
    shape: dict[str, Any] = {"scalars": scalars, "blocks": 0, "size": scalars + 1 + changes.get("blocks", 0), "radius": 1.0,
                             "norm_clipped": False}
    return averaged_sensitivity(group=group, **{**shape, **changes})


@given(st.integers(2, 10_000), st.integers(1, 300))
def test_the_closed_form_is_rounded_up_and_hardly(group: int, scalars: int) -> None:
    found = averaged(group, scalars)
    squared = 8 * scalars + 16 * (1 - Fraction(1, group)) ** 2 * scalars**2
    slack = (scalars + 1) * GRID
    assert (Fraction(found.frobenius) - slack) ** 2 >= squared
    assert found.frobenius <= (math.sqrt(squared) + float(slack)) * (1 + 1e-14)
    assert found.corner_is_public and found.unit_is_row and found.adjacency == "replace-one"


@given(st.integers(2, 50), st.integers(0, 6), st.integers(1, 6), st.floats(0.01, 4.0), st.booleans())
def test_indicators_never_raise_the_bound_and_it_grows_with_the_group(
    group: int, scalars: int, blocks: int, radius: float, clipped: bool
) -> None:
    shape: dict[str, Any] = {"blocks": blocks, "size": 1 + scalars + 2 * blocks, "radius": radius, "norm_clipped": clipped}
    any_value = averaged(group, scalars, **shape).frobenius
    indicators = averaged(group, scalars, **shape, indicators=blocks).frobenius
    ordinary = gram_sensitivity(scalars=scalars, adjacency="replace-one", **shape).frobenius
    assert ordinary <= indicators <= any_value * (1 + 1e-12)
    assert averaged(group + 1, scalars, **shape, indicators=blocks).frobenius >= indicators * (1 - 1e-12)


def test_the_bound_with_indicators_is_not_below_the_exact_one() -> None:
    """By exact comparison: (frobenius − slack)² − 8S² − 16S²(r² + S²/k²) ≥ −32 S² rS/k, squared."""
    for group in (2, 3, 11):
        for scalars, blocks in ((0, 3), (2, 1), (5, 4)):
            size = 1 + scalars + 2 * blocks
            found = Fraction(averaged(group, scalars, blocks=blocks, size=size, indicators=blocks).frobenius) - size * GRID
            r2, s2 = Fraction(scalars + blocks), scalars + Fraction(blocks, 2)
            missing = 8 * s2 + 16 * s2 * (r2 + s2 / group**2) - found**2
            assert missing > 0 and missing**2 <= (32 * s2 / group) ** 2 * r2 * s2


@pytest.mark.parametrize("group", [2, 7])
@pytest.mark.parametrize(("scalars", "blocks", "indicators", "radius", "r2", "s2"), [
    (3, 0, 0, 1.5, 2.25, 2.25),  # clipped: both are the norm's
    (3, 0, 0, 9.0, 3.0, 3.0),  # a norm that clips nothing
    (1, 4, 4, 1.9, 3.61, 3.0),  # indicators keep rows nearer to each other than the norm does
    (1, 4, 4, 1.5, 2.25, 2.25),  # and here the norm does
    (1, 4, 2, 2.1, 4.41, 4.0),
    (2, 3, 1, None, 5.0, 4.5),
])
def test_the_bound_of_rows_that_are_clipped(group: int, scalars: int, blocks: int, indicators: int, radius: float | None,
                                            r2: float, s2: float) -> None:
    """A2, with r² and S² by hand."""
    size = 1 + scalars + 2 * blocks
    found = averaged(group, scalars, blocks=blocks, size=size, indicators=indicators, radius=radius or 1.0,
                     norm_clipped=radius is not None)
    expected = math.sqrt(8 * s2 + 16 * s2 * (math.sqrt(r2) - math.sqrt(s2) / group) ** 2)
    assert found.frobenius == pytest.approx(expected + size * float(GRID), rel=1e-12)


def test_no_laplace_noise_can_be_calibrated_to_it() -> None:
    assert averaged(2).l1 == math.inf
    with pytest.raises(PrivacyError):
        SymmetricLaplace.calibrate(averaged(2), 1.0)


@pytest.mark.parametrize("group", [1, 0, -2, 2.0, True, "2", None])
def test_groups_of_fewer_than_two_rows_are_refused(group: Any) -> None:
    with pytest.raises(PrivacyError, match="average"):
        averaged(group)


@pytest.mark.parametrize("changes", [{"blocks": 1, "indicators": 2}, {"indicators": -1}, {"size": 2},
                                     {"radius": 0.0, "norm_clipped": True}, {"radius": math.inf, "norm_clipped": True}])
def test_impossible_shapes_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(PrivacyError):
        averaged(2, **changes)
