"""Values, directions of rounding and refusals of the Gram sensitivities. The search for neighbours is in tests/privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import PrivacyError
from noisewise.privacy.rounding import round_up, sqrt_round_up
from noisewise.privacy.sensitivity.gram import (
    GramSensitivity,
    _largest_scalar_change,
    frobenius_without_constant,
    gram_sensitivity,
    l1_without_constant,
)

GRID = 2.0**-16


def scalars_only(scalars: int, adjacency: str, **changes: Any) -> GramSensitivity:
    arguments: dict[str, Any] = {
        "scalars": scalars,
        "blocks": 0,
        "size": scalars + 1,
        "radius": math.sqrt(abs(scalars)),
        "norm_clipped": False,
        "adjacency": adjacency,
    }
    return gram_sensitivity(**{**arguments, **changes})


@pytest.mark.parametrize("q", [1, 2, 3, 10, 200])
def test_closed_forms(q: int) -> None:
    slack_frobenius, slack_l1 = (q + 1) * GRID, (q + 1) * (q + 2) / 2 * GRID
    added, replaced = scalars_only(q, "add-remove"), scalars_only(q, "replace-one")
    assert added.frobenius == pytest.approx(1 + q + slack_frobenius, rel=1e-14)
    assert added.l1 == pytest.approx((q + 1) * (q + 2) / 2 + slack_l1, rel=1e-14)
    assert replaced.frobenius == pytest.approx(math.sqrt(2) * (1 + q) + slack_frobenius, rel=1e-14)
    assert replaced.l1 == pytest.approx(q * (q + 1) / 2 + q + q / (2 * (q + 1)) + slack_l1, rel=1e-14)


def test_closed_forms_without_constant() -> None:
    assert frobenius_without_constant(3.0, "add-remove") == 9.0
    assert frobenius_without_constant(3.0, "replace-one") == pytest.approx(9 * math.sqrt(2), rel=1e-15)
    assert Fraction(frobenius_without_constant(3.0, "replace-one")) ** 2 >= 162
    assert l1_without_constant(4, "add-remove") == l1_without_constant(4, "replace-one") == 10.0


def test_a_small_norm_uses_the_public_corner() -> None:
    assert scalars_only(4, "replace-one", radius=0.5, norm_clipped=True).frobenius == pytest.approx(
        2 * math.sqrt(2) * 0.5 + 5 * GRID, rel=1e-14
    )


def test_the_radius_is_ignored_unless_rows_were_clipped_to_it() -> None:
    assert scalars_only(4, "replace-one", radius=0.5) == scalars_only(4, "replace-one")
    assert scalars_only(4, "replace-one", radius=50.0, norm_clipped=True) == scalars_only(4, "replace-one")


@pytest.mark.parametrize("radius", [0.2, 0.3, 0.5, 1.5])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_unit_that_is_replaced_may_also_come_or_go(radius: float, max_rows: int) -> None:
    """P5: for each of its rows the larger of the two, in both norms. For small norms a row that is added changes more."""
    unit = scalars_only(4, "replace-one", radius=radius, norm_clipped=True, unit_is_row=False, max_rows=max_rows)
    square, frobenius_grid, l1_grid = radius**2, 5 * GRID, 15 * GRID
    replaced = math.sqrt(2) * (1 + square) if radius >= 1 else 2 * math.sqrt(2) * radius
    assert unit.frobenius == pytest.approx(max_rows * max(1 + square, replaced) + frobenius_grid, rel=1e-13)
    row = scalars_only(4, "replace-one", radius=radius, norm_clipped=True).l1 - l1_grid
    added = 1 + 2 * radius + 5 * square / 2
    assert unit.l1 == pytest.approx(max_rows * max(added, row) + l1_grid, rel=1e-13)
    assert unit.max_rows == max_rows and unit.size == 5
    assert unit.spectral == (pytest.approx(1 + square, rel=1e-15) if max_rows == 1 else math.inf)


def changed_entries(scalars: int, blocks: int) -> float:
    """W of P4(c), counted: all blocks differ; an entry off the diagonal, which a Frobenius norm has twice, counts one half."""
    both = range(1 + scalars)  # the constant and the scalars are in both rows
    before = [*both, *(1 + scalars + 2 * block for block in range(blocks))]
    after = [*both, *(2 + scalars + 2 * block for block in range(blocks))]
    entries = {(i, j) for row in (before, after) for i in row for j in row if i <= j} - {(0, 0)}
    return sum(1.0 if i == j else 0.5 for i, j in entries)


def l1_of_replacing(scalars: int, blocks: int, radius: float | None) -> float:
    """Without the allowance for the grid; the norm is clipped to the radius, if there is one."""
    found = gram_sensitivity(scalars=scalars, blocks=blocks, size=20, radius=radius or 1.0, norm_clipped=radius is not None,
                             adjacency="replace-one")
    return found.l1 - 210 * GRID


@pytest.mark.parametrize(("scalars", "blocks", "radius", "least"), [
    (1, 0, 0.3, "triangle"), (5, 0, 0.3, "triangle"), (0, 1, 0.9, "triangle"), (2, 2, 0.9, "triangle"),
    (6, 0, 1.5, "cauchy"), (4, 1, 1.4, "cauchy"), (6, 2, 1.8, "cauchy"), (5, 6, 2.5, "cauchy"),
    (5, 4, 2.9, "box"), (3, 2, 2.1, "box"),
])
def test_l1_of_a_clipped_row_is_the_least_of_three_bounds(scalars: int, blocks: int, radius: float, least: str) -> None:
    b, square = scalars + blocks, radius**2
    frobenius = math.sqrt(2) * (1 + square) if square >= 1 else math.sqrt(8 * square)
    bounds = {"box": l1_of_replacing(scalars, blocks, None), "triangle": 2 * math.sqrt(b * square) + (b + 1) * square,
              "cauchy": math.sqrt(changed_entries(scalars, blocks)) * frobenius}
    assert min(bounds, key=bounds.__getitem__) == least
    assert l1_of_replacing(scalars, blocks, radius) == pytest.approx(bounds[least], rel=1e-12)


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_l1_of_blocks_and_scalars(blocks: int) -> None:
    """P4(b): m(m + 3), and what scalars add."""
    assert l1_of_replacing(0, blocks, None) == pytest.approx(blocks * (blocks + 3), rel=1e-13)
    expected = blocks * (blocks + 3) + float(_largest_scalar_change(3, blocks))
    assert l1_of_replacing(3, blocks, None) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("scalars", [1, 2, 3])
@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 6])
def test_the_largest_change_of_scalars_is_that_of_a_search(scalars: int, blocks: int) -> None:
    """P4(b): the maximum over δ in [0, 1]^q, on a grid that holds the best points of one value and nearly the others."""
    steps = np.linspace(0, 1, {1: 2521, 2: 421, 3: 61}[scalars])
    deltas = np.stack(np.meshgrid(*[steps] * scalars, indexing="ij"), axis=-1).reshape(-1, scalars)
    total = deltas.sum(axis=1)
    change = (2 * (scalars + 2) * total - 2 * total**2 - 2 * (deltas**2).sum(axis=1)
              + 2 * blocks * np.maximum(deltas, 1 - deltas).sum(axis=1))
    assert change.max() * (1 - 1e-12) <= _largest_scalar_change(scalars, blocks) <= change.max() * (1 + 1e-3)


@pytest.mark.parametrize(
    ("adjacency", "unit_is_row", "public"),
    [("replace-one", True, True), ("add-remove", True, False), ("replace-one", False, False), ("add-remove", False, False)],
)
def test_the_corner_is_public_only_if_rows_are_replaced_one_by_one(adjacency: str, unit_is_row: bool, public: bool) -> None:
    assert scalars_only(2, adjacency, unit_is_row=unit_is_row).corner_is_public is public


@given(
    scalars=st.integers(0, 30),
    blocks=st.integers(0, 8),
    radius=st.floats(0.05, 10),
    clipped=st.booleans(),
    unit_is_row=st.booleans(),
    adjacency=st.sampled_from(["replace-one", "add-remove"]),
)
def test_bounds_grow_with_what_a_unit_may_do(
    scalars: int, blocks: int, radius: float, clipped: bool, unit_is_row: bool, adjacency: str
) -> None:
    def bound(**changes: Any) -> GramSensitivity:
        arguments: dict[str, Any] = {
            "scalars": scalars,
            "blocks": blocks,
            "size": 60,
            "radius": radius,
            "norm_clipped": clipped,
            "adjacency": adjacency,
            "unit_is_row": unit_is_row,
        }
        return gram_sensitivity(**{**arguments, **changes})

    this = bound()
    larger = [bound(scalars=scalars + 1), bound(blocks=blocks + 1), bound(radius=radius * 1.1), bound(norm_clipped=False)]
    if scalars:
        larger.append(bound(scalars=scalars - 1, blocks=blocks + 1))  # a block can do all that a scalar can
    if not unit_is_row:
        larger.append(bound(max_rows=2))
    else:
        larger.append(bound(unit_is_row=False))
    for other in larger:
        assert other.frobenius >= this.frobenius
        assert other.l1 >= this.l1
    if adjacency == "replace-one":
        added = bound(adjacency="add-remove")
        assert this.frobenius <= math.nextafter(2 * added.frobenius, math.inf)
        assert this.l1 <= math.nextafter(2 * added.l1, math.inf)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_rounding_is_up_and_by_less_than_two_steps(value: Fraction) -> None:
    up = round_up(value)
    assert Fraction(up) >= value > Fraction(math.nextafter(up, 0))
    root = sqrt_round_up(value)
    assert Fraction(root) ** 2 >= value > Fraction(math.nextafter(math.nextafter(root, 0), 0)) ** 2


@pytest.mark.parametrize(
    "changes",
    [
        {"adjacency": "swap"},
        {"scalars": -1},
        {"size": 2},
        {"radius": 0.0, "norm_clipped": True},
        {"radius": math.nan, "norm_clipped": True},
        {"max_rows": 0, "unit_is_row": False},
        {"max_rows": 3},
    ],
)
def test_wrong_declarations_are_refused_with_rule_value_and_remedy(changes: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"adjacency": "replace-one", **changes}
    with pytest.raises(PrivacyError) as refused:
        scalars_only(arguments.pop("scalars", 2), arguments.pop("adjacency"), **arguments)
    assert refused.value.found and refused.value.advice
