"""Values, directions of rounding and refusals of the moments mechanism. The search for neighbours is in tests/privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.privacy.events import event

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.mechanisms.moments import MomentsMechanism
from noisewise.privacy.sensitivity.moments import MomentsSensitivity, largest_value, moments_sensitivity
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS

GRID = 2.0**-16


def sensitivity(predictors: int = 2, adjacency: str = "replace-one", **changes: Any) -> MomentsSensitivity:
    weights = dict(DEFAULT_BLOCKS) if adjacency == "replace-one" else {"n": 1.0, **DEFAULT_BLOCKS}
    arguments = {"weights": weights, "scalars": predictors, "groups": 0, "predictors": predictors, "norm_bound": None,
                 "adjacency": adjacency}
    return moments_sensitivity(**{**arguments, **changes})


@pytest.mark.parametrize("predictors", [1, 3, 30])
def test_an_added_row_has_the_norm_of_its_monomials(predictors: int) -> None:
    square = 1.0 + predictors + predictors**2 + 0.7 + 1.5 * predictors  # n, x, xx, y, yx
    slack = GRID * math.sqrt(square)  # the same with the number of columns in the place of the squared norm
    assert sensitivity(predictors, "add-remove").norm == pytest.approx(math.sqrt(square) + slack, rel=1e-13)


def test_a_replaced_row_by_hand() -> None:
    """With ρ = 2 the maximum is at t = −5/4 for equal responses; opposite ones, with t = 1/4, come to 20.925."""
    rho, t = 2.0, -1.25
    by_hand = (2 + 3) * (rho - t) + 2 * (rho**2 - t**2)
    assert by_hand == 21.125
    slack = GRID * math.sqrt(2 + 4 + 0.7 + 3)
    assert sensitivity().norm == pytest.approx(math.sqrt(by_hand) + slack, rel=1e-9)
    opposite = sensitivity(weights={**DEFAULT_BLOCKS, "y": 0.8}).norm - slack  # 0.4 more, which makes them the worse ones
    assert opposite**2 == pytest.approx(4 * 0.8 + 2 * (rho - 0.25) + 3 * (rho + 0.25) + 2 * (rho**2 - 0.0625), rel=1e-5)


def test_groups_count_once_and_a_smaller_norm_is_used() -> None:
    assert sensitivity(5, scalars=1, groups=1).norm == pytest.approx(sensitivity(2).norm, abs=1e-3)
    assert sensitivity(5, norm_bound=math.sqrt(2)).norm == pytest.approx(sensitivity(2).norm, abs=1e-3)
    assert sensitivity(4, norm_bound=50.0) == sensitivity(4)


def test_units_multiply() -> None:
    weights = {"n": 1.0, **DEFAULT_BLOCKS}
    slack = GRID * math.sqrt(1 + 2 + 4 + 0.7 + 3)
    for adjacency in ("replace-one", "add-remove"):
        one, three = (sensitivity(2, adjacency, weights=weights, max_rows=rows, unit_is_row=False).norm for rows in (1, 3))
        assert three - slack == pytest.approx(3 * (one - slack), rel=1e-9)


def test_a_small_row_that_is_replaced_changes_less_than_one_that_comes() -> None:
    """M4: a unit may come or go, a row that is replaced may not. The weights 1, 1, 1 and ‖x‖² = t by hand."""
    t, weights = 0.01, {"n": 1.0, "x": 1.0, "xx": 1.0}
    shape: dict[str, Any] = {"scalars": 2, "groups": 0, "predictors": 2, "norm_bound": 0.1, "adjacency": "replace-one"}
    added = math.sqrt(1 + t + t**2)
    person = moments_sensitivity(weights=weights, unit_is_row=False, max_rows=2, **shape)
    assert person.norm == pytest.approx(2 * added, rel=1e-4)  # but for the grid
    row = moments_sensitivity(weights={"x": 1.0, "xx": 1.0}, **shape)
    # The squared distance of two rows with scalar product p is 2(t + t²) − 2(p + p²), most at p = −t.
    assert row.norm == pytest.approx(math.sqrt(2 * (t + t**2) + 2 * (t - t**2)), rel=1e-3)


def test_rounded_monomials_cost_a_little_more() -> None:
    """M5: γ + 2β for orders above two, per row of a unit."""
    def slack(rows: int) -> float:
        base = {"weights": {"n": 1.0, "xxx": 1.0}, "unit_is_row": False, "adjacency": "add-remove"}
        return sensitivity(3, max_rows=rows, **base).norm - rows * math.sqrt(1 + 27)
    expected = [math.sqrt(GRID**2 + 27 * (GRID + 2 * rows * 2.0**-19) ** 2) for rows in (1, 4)]
    assert [slack(1), slack(4)] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("changes", [
    {"adjacency": "swap"}, {"max_rows": 0}, {"max_rows": 2}, {"weights": {}}, {"weights": {"xx": 0.0}},
    {"weights": {"xx": math.inf}}, {"weights": {"n": 1.0, "xx": 1.0}}, {"norm_bound": 0.0},
    {"norm_bound": math.nan}, {"norm_bound": math.inf}, {"norm_bound": -1.0}, {"unit_is_row": False},
])
def test_wrong_declarations_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(PrivacyError) as refused:
        sensitivity(**changes)
    assert refused.value.found and refused.value.advice


FRACTIONS = st.fractions(-4, 4, max_denominator=1000)


@given(st.lists(FRACTIONS, min_size=1, max_size=7), st.fractions(Fraction(1, 50), 3, max_denominator=50))
def test_the_bound_on_a_polynomial_is_above_all_its_values_and_close(polynomial: list[Fraction], reach: Fraction) -> None:
    tolerance = Fraction(1, 1000)
    found = largest_value(polynomial, reach, tolerance)
    points = [reach * Fraction(step, 200) for step in range(-200, 201)]
    values = [sum(c * t**k for k, c in enumerate(polynomial)) for t in points]
    assert found >= max(values)
    # Between two points a polynomial of such coefficients cannot rise by more than its slope allows.
    slope = sum(k * abs(c) * reach ** (k - 1) for k, c in enumerate(polynomial) if k)
    assert found <= max(values) + slope * reach / 400 + tolerance


def test_the_maximum_is_met_to_many_digits() -> None:
    """1 − (t − 1/3)²: neither an end nor a point that halving meets."""
    third = Fraction(1, 3)
    found = largest_value([1 - third**2, 2 * third, Fraction(-1)], Fraction(2), Fraction(1, 2**32))
    assert 1 <= found <= 1 + Fraction(1, 2**32)


def test_the_noise_of_a_block_is_that_of_weight_one_divided_by_the_root_of_its_weight() -> None:
    mechanism = MomentsMechanism.calibrate(sensitivity(), 0.9, 3e-6)
    sigma = analytic_gaussian_sigma(0.9, 3e-6, sensitivity().norm)
    assert mechanism.sigma == sigma
    for name, sd in mechanism.block_sds().items():
        assert sd == pytest.approx(sigma / math.sqrt(DEFAULT_BLOCKS[name]), rel=1e-7)
        assert Fraction(sd) ** 2 >= Fraction(sigma) ** 2 / Fraction(DEFAULT_BLOCKS[name]) + 16 * Fraction(GRID) ** 2


def test_small_noise_has_room_for_the_grid_on_every_monomial() -> None:
    """M6: with a coefficient of up to 720 an entry still has the variance of its continuous noise and 16 grid steps squared."""
    weights = {"x" * 6: 1.0}
    mechanism = MomentsMechanism.calibrate(sensitivity(6, weights=weights), 1e6, 0.5)
    variance = Fraction(mechanism.block_sds()["xxxxxx"]) ** 2
    for coefficient in (1, 720):
        assert variance / coefficient >= Fraction(mechanism.sigma) ** 2 / coefficient + 16 * Fraction(GRID) ** 2


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.2, 1e-5)])
def test_an_accountant_finds_what_was_promised(epsilon: float, delta: float) -> None:
    cost = MomentsMechanism.calibrate(sensitivity(), epsilon, delta).cost()
    found = PLDAccountant().compose(event(cost)).get_epsilon(delta)
    assert 0.99 * epsilon < found <= epsilon * 1.002  # the accountant rounds up


def test_noise_is_for_all_sums_of_its_own_blocks() -> None:
    mechanism = MomentsMechanism.calibrate(sensitivity(), 1.0, 1e-6)
    sums = {name: np.zeros(size, dtype=np.int64) for name, size in (("x", 2), ("xx", 3), ("y", 1), ("yx", 2))}
    assert {name: len(values) for name, values in mechanism.perturb(sums).items()} == {"x": 2, "xx": 3, "y": 1, "yx": 2}
    for wrong in ({**sums, "x": sums["xx"]}, {name: sums[name] for name in ("x", "xx", "y")}, {**sums, "xxx": sums["x"]}):
        with pytest.raises(PrivacyError, match="blocks"):
            mechanism.perturb(wrong)


def test_the_statement_names_neighbours_and_budget() -> None:
    statement = MomentsMechanism.calibrate(sensitivity(), 1.0, 1e-6).statement()
    assert statement.startswith("Replacing any one row changes") and "epsilon = 1 and delta = 1e-06" in statement
