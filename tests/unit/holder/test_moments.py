"""The holder's side of a moments release: what it says. What holds for every kind is in `test_contract`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.holder.asked import ROWS, made_table
from tests.unit.holder.one_regression import MOMENTS

import noisewise as nw
from noisewise.errors import DeclarationError
from noisewise.releases.contents.moments import MomentsContribution

make = MOMENTS.release
schema_with = MOMENTS.schema


def part_of(made: nw.Release) -> MomentsContribution:
    [part] = made.contributions
    assert isinstance(part, MomentsContribution)
    return part


def test_too_many_sums_are_refused_with_a_remedy() -> None:
    columns = {f"a{i}": {"bounds": [0, 1]} for i in range(40)} | {"y": {"levels": [0, 1]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    formula = "y ~ " + " + ".join(f"a{i}" for i in range(40))
    with pytest.raises(DeclarationError, match="xxxxxx of 40 columns.*blocks of high order"):
        make({}, schema, formula=formula, blocks={"x": 1, "xxxxxx": 1})


def test_with_hardly_any_noise_it_holds_the_sums() -> None:
    weights = {"x": 1, "xx": 1, "xxx": 1, "y": 1, "yx": 1, "yxx": 1}
    part = part_of(make(epsilon=1e6, delta=0.01, blocks=weights))
    rows = made_table()
    a = np.column_stack([np.ones(ROWS), (rows["age"] - 58) / 40, rows["ward"] == "B", rows["ward"] == "C",
                         (rows["visits"] - 5) / 5]).astype(float)
    expected = a.T @ a
    expected[-1, -1] = 0.0  # Σ y² is not released
    assert all(block.noise < 0.05 for block in part.blocks.values())
    np.testing.assert_allclose(part.matrix, expected, atol=0.2)
    assert part.rows == ROWS and np.isinf(part.variances[-1, -1]) and part.variances[0, 0] == 0
    cubes = part.higher["xxx"].sums
    assert cubes[0] == pytest.approx(np.sum(a[:, 1] ** 3), abs=0.2)
    assert part.higher["yxx"].sums[1] == pytest.approx(np.sum(a[:, 4] * a[:, 1] * a[:, 2]), abs=0.2)


def test_the_number_of_rows_can_have_another_weight() -> None:
    one, four = (part_of(make(schema=schema_with("add-remove"), blocks={"n": weight, "x": 1, "yx": 1})) for weight in (1, 4))
    assert one.blocks["n"].noise / one.blocks["x"].noise == pytest.approx(1.0)
    assert four.blocks["n"].noise / four.blocks["x"].noise == pytest.approx(0.5)


def test_a_norm_bound_on_the_predictors_lowers_the_noise() -> None:
    tight, loose = make(schema=schema_with(norm_bound=0.8)), make()
    assert part_of(tight).noise.diagonal < part_of(loose).noise.diagonal
    assert (tight.clipped_norm, loose.clipped_norm) == (0.8, None)
    # With the response the norm of a row could be √3; the predictors' is at most √2, so this bound shortens nothing.
    assert make(schema=schema_with(norm_bound=1.5)).clipped_norm is None


def test_weights_move_noise_between_blocks() -> None:
    even, uneven = (part_of(make(blocks={"x": 1, "xx": 1, "y": 1, "yx": weight})) for weight in (1, 16))
    assert uneven.blocks["yx"].noise < even.blocks["yx"].noise and uneven.blocks["xx"].noise > even.blocks["xx"].noise
    assert uneven.blocks["xx"].noise / uneven.blocks["yx"].noise == pytest.approx(4.0, rel=1e-6)


def test_a_response_without_predictors() -> None:
    part = part_of(make(formula="visits ~ 1", blocks={"y": 1}, epsilon=1e6, delta=0.01))
    assert part.matrix.shape == (2, 2) and part.matrix[0, 1] == pytest.approx(np.sum((made_table()["visits"] - 5) / 5), abs=0.05)
