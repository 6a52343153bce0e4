"""Averaging rows, short; the full table is ``python -m studies.averaging``."""

from __future__ import annotations

import numpy as np
import pytest
from studies.averaging import AveragedPart, Cell, averaged_gram, entry_noise, printed, run_cell, scaled_rows, simulated

from noisewise.data import averaged_gram_sum
from noisewise.schema import Basis, Schema


def test_the_statistic_is_the_one_that_a_release_makes() -> None:
    rows = scaled_rows("skewed", 60, np.random.default_rng(1))
    schema = Schema.from_dict({"adjacency": "replace-one", "unit": "row",
                               "columns": {name: {"bounds": [-1, 1]} for name in ("x1", "x2", "y")}})
    table = dict(zip(("x1", "x2", "y"), rows.T[1:], strict=True))
    released = averaged_gram_sum(table, schema, Basis.of(schema), 5, groups=np.arange(60) // 5).to_grid() / 2**16
    np.testing.assert_allclose(averaged_gram(rows, 5), released, atol=1e-3)
    assert np.abs(averaged_gram(rows, 1) - released).max() > 1.0


@pytest.mark.slow
def test_averaging_costs_noise_and_precision() -> None:
    assert entry_noise(1.0, 10).diagonal > 1.3 * entry_noise(1.0, 1).diagonal
    errors = {}
    for average in (1, 10):
        cell = Cell("binary", 10.0, 1, "conditional", average, 40)
        assert all(isinstance(part, AveragedPart) and part.groups == 10_000 // average for part in simulated(cell)[0])
        [found] = run_cell(cell)
        errors[average] = found["error"]
        # Of 80 intervals that cover with probability 0.95, 65 or fewer hold the truth with probability 1e-5.
        assert found["coverage"] > 65 / 80
    assert errors[10] > 2 * errors[1]  # √10 from the fewer averages alone, and the error of each is known to 8 %


def test_the_table_relates_errors_to_no_averaging() -> None:
    lines = [{"predictors": "binary", "epsilon": "1.0", "holders": "1", "method": method, "average": str(average),
              "coverage": "0.951", "error": str(0.01 * average)}
             for method in ("collapsed", "conditional") for average in (1, 2, 5, 10)]
    assert "| binary | 1 | 1 | `collapsed` | 95.1 % · 1 | 95.1 % · 2 | 95.1 % · 5 | 95.1 % · 10 |" in printed(lines)
