"""Every sensitivity of the Gram matrix against a search for worse neighbours.

The search must never find a change above the bound; and where gram.md calls a bound tight it must find one above 99 %
of it, so that a value lowered by 1 % would be caught.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.privacy.neighbour_search import Rows, frobenius, largest_change, upper_l1

from noisewise.privacy.sensitivity.gram import (
    GramSensitivity,
    frobenius_without_constant,
    gram_sensitivity,
    l1_without_constant,
)

ROUNDING = 1 + 1e-12
TIGHT = 0.99
AFTER = {"add-remove": 0, "replace-one": 1}
ADJACENCIES = tuple(AFTER)


def bound_of(rows: Rows, adjacency: str, **unit: int | bool) -> GramSensitivity:
    size = 1 + rows.scalars + 2 * rows.blocks
    clipped = rows.radius is not None
    return gram_sensitivity(
        scalars=rows.scalars,
        blocks=rows.blocks,
        size=size,
        radius=rows.radius if rows.radius is not None else (rows.scalars + rows.blocks) ** 0.5,
        norm_clipped=clipped,
        adjacency=adjacency,
        **unit,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("scalars", [1, 2, 3, 4, 5])
def test_l1_of_scalars_is_never_exceeded_and_tight(scalars: int, adjacency: str) -> None:
    rows = Rows(scalars, after=AFTER[adjacency])
    found = largest_change(rows, upper_l1)
    assert TIGHT * bound_of(rows, adjacency).l1 < found <= bound_of(rows, adjacency).l1


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("scalars", [1, 2, 3, 4, 5])
def test_l1_without_constant_is_never_exceeded_and_tight(scalars: int, adjacency: str) -> None:
    bound = l1_without_constant(scalars, adjacency)
    found = largest_change(Rows(scalars, after=AFTER[adjacency], constant=False), upper_l1)
    assert TIGHT * bound < found <= bound * ROUNDING


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("scalars", [2, 3, 5])
def test_frobenius_without_constant_is_never_exceeded_and_tight(scalars: int, adjacency: str) -> None:
    for norm in (0.5, 1.7):
        bound = frobenius_without_constant(norm, adjacency)
        rows = Rows(scalars, after=AFTER[adjacency], constant=False, radius=norm, box=False)
        assert TIGHT * bound < largest_change(rows, frobenius) <= bound * ROUNDING


@pytest.mark.parametrize("radius", [0.3, 0.6, 0.9, 1.0, 1.2, 1.6, 2.0])
@pytest.mark.parametrize(("scalars", "adjacency"), [(4, "add-remove"), (4, "replace-one"), (5, "replace-one")])
def test_frobenius_of_a_ball_is_never_exceeded_and_tight(scalars: int, adjacency: str, radius: float) -> None:
    rows = Rows(scalars, after=AFTER[adjacency], radius=radius, box=False)
    bound = bound_of(rows, adjacency).frobenius
    assert TIGHT * bound < largest_change(rows, frobenius) <= bound


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("scalars", [1, 2, 3, 4, 5])
def test_frobenius_of_the_box_is_never_exceeded_and_tight_for_odd_sizes(scalars: int, adjacency: str) -> None:
    rows = Rows(scalars, after=AFTER[adjacency])
    bound = bound_of(rows, adjacency).frobenius
    found = largest_change(rows, frobenius)
    assert found <= bound
    if scalars % 2 or adjacency == "add-remove":
        assert found > TIGHT * bound


@pytest.mark.parametrize("binary", [False, True], ids=["any-value", "indicator"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("scalars", "blocks"), [(0, 1), (0, 3), (1, 1), (2, 1), (2, 2), (3, 2), (4, 1), (5, 1)])
def test_blocks_are_never_exceeded_and_tight_in_l1(scalars: int, blocks: int, adjacency: str, binary: bool) -> None:
    rows = Rows(scalars, blocks, after=AFTER[adjacency], binary_blocks=binary)
    bound = bound_of(rows, adjacency)
    assert TIGHT * bound.l1 < largest_change(rows, upper_l1) <= bound.l1
    assert largest_change(rows, frobenius, steps=80) <= bound.frobenius


@pytest.mark.parametrize("blocks", [0, 1])
@pytest.mark.parametrize(("scalars", "radius"), [(2, 0.3), (2, 1.0), (2, 1.3), (4, 0.3), (4, 1.0), (4, 1.6)])
def test_norm_clipped_l1_is_never_exceeded(scalars: int, blocks: int, radius: float) -> None:
    for adjacency in ADJACENCIES:
        rows = Rows(scalars, blocks, after=AFTER[adjacency], radius=radius)
        bound = bound_of(rows, adjacency)
        found = largest_change(rows, upper_l1)
        assert found <= bound.l1
        assert found > (TIGHT if adjacency == "add-remove" else 0.6) * bound.l1


@pytest.mark.outer(but=["1-0-2", "3-0-3", "2-1-3"])
@pytest.mark.parametrize("rows_of_unit", [2, 3])
@pytest.mark.parametrize(("scalars", "blocks"), [(1, 0), (3, 0), (2, 1)])
def test_units_are_never_exceeded_and_tight(scalars: int, blocks: int, rows_of_unit: int) -> None:
    unit = {"max_rows": rows_of_unit, "unit_is_row": False}
    found = {}
    for after in range(rows_of_unit + 1):  # after = 0 is also add-remove
        rows = Rows(scalars, blocks, before=rows_of_unit, after=after)
        found[after] = np.array([largest_change(rows, norm, steps=180) for norm in (frobenius, upper_l1)])

    added = bound_of(Rows(scalars, blocks), "add-remove", **unit)
    assert np.all(found[0] <= [added.frobenius, added.l1])
    assert np.all(found[0] > TIGHT * np.array([added.frobenius, added.l1]))

    replaced = bound_of(Rows(scalars, blocks), "replace-one", **unit)
    worst = np.max(list(found.values()), axis=0)
    assert np.all(worst <= [replaced.frobenius, replaced.l1])
    assert np.all(worst > TIGHT * np.array([replaced.frobenius, replaced.l1]))


@pytest.mark.parametrize("radius", [0.3, 0.7])
def test_units_with_small_norms_are_never_exceeded_and_tight(radius: float) -> None:
    unit = {"max_rows": 2, "unit_is_row": False}
    pairs = [Rows(2, before=2, after=after, radius=radius) for after in (0, 1, 2)]
    bound = bound_of(pairs[0], "replace-one", **unit).frobenius
    worst = max(largest_change(rows, frobenius) for rows in pairs)
    assert TIGHT * bound < worst <= bound


def test_flooring_adds_less_than_the_grid_allowance() -> None:
    """The bounds are for floored sums: push the worst pair of real rows over grid lines as often as possible."""
    random = np.random.default_rng(7)
    step, scalars = 2.0**-16, 2
    bound = bound_of(Rows(scalars), "replace-one")
    best = 0.0
    for _ in range(2000):
        others = random.uniform(0, 1, (scalars + 1, scalars + 1))
        one = np.ones(scalars + 1)
        other = np.r_[1.0, np.full(scalars, -1 / (scalars + 1))]
        sums = [np.floor((others + np.outer(row, row)) / step) for row in (one, other)]
        change = (sums[0] - sums[1]) * step
        best = max(best, float(np.abs(np.triu(change)).sum()))
    exact = scalars * (scalars + 2) ** 2 / (2 * (scalars + 1))
    assert exact < best <= bound.l1  # flooring does add to the change, and the allowance covers it
