"""Coverage of random effects by site, short; the full grid is ``python -m studies.random_sites``."""

from __future__ import annotations

import pytest
from studies.random_sites import Cell, run_cell

REPLICATES = 20
TOO_FEW = 13 / REPLICATES
# Of 20 intervals that cover with probability 0.95, 13 or fewer hold the truth with probability 3e-5. One set of coefficients for
# sites whose slopes differ by 0.15 covers the population's slope about once in ten times: 2 of 20.


@pytest.mark.slow  # 20 replicates of what `test_sites_that_are_alike_and_sites_that_differ` sees in one
def test_the_population_is_covered_where_one_set_of_coefficients_does_not() -> None:
    found = run_cell(Cell(5, 0.15, 10_000, 1.0), REPLICATES, seed=1, draws=300)
    assert found["slope_binary"] > TOO_FEW
    assert found["slope_skewed"] > TOO_FEW
    assert found["omega_covered"] > TOO_FEW
    assert found["pooled_slope_binary"] <= TOO_FEW
    assert found["width"] < 2.0  # the prior's interval is ten units wide, and would cover too


@pytest.mark.slow
@pytest.mark.parametrize("cell", [Cell(sites, omega, rows, epsilon) for sites in (5, 20, 50) for omega in (0.0, 0.05, 0.15)
                                  for rows, epsilon in ((10_000, 1.0), (1_000, 10.0))], ids=str)
def test_no_cell_with_clear_sites_is_overconfident(cell: Cell) -> None:
    """40 replicates: 31 or fewer of 40 at 0.95 have probability 2e-5."""
    found = run_cell(cell, 40, seed=2)
    assert min(found[name] for name in ("intercept", "slope_binary", "slope_skewed")) > 31 / 40
