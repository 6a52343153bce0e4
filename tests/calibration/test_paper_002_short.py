"""The studies of paper 002, with short chains and few runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies.many import Length, groups, in_order
from studies.method_coverage import cells as coverage_cells
from studies.method_coverage import coverage_of, posterior_draws, simulated
from studies.page import filled
from studies.paper_002 import Budget, Tables, multiplier, random_scale, their_multiplier
from studies.paper_002 import posterior_draws as paper_draws
from studies.paper_002_report import PIECES, agrees
from studies.paper_002_simulation import mmd2
from studies.paper_002_table import Cell, run_cell
from studies.tables import Setting, truth_in_table
from studies.workers import read, write

from noisewise.privacy.calibration import log_delta_of_gaussian


@pytest.mark.parametrize(("epsilon", "printed"), [(0.1, 5.04), (1.0, 1.487), (10.0, 0.441)])
def test_the_authors_noise_is_what_their_code_gives_and_is_not_private(epsilon: float, printed: float) -> None:
    found = their_multiplier(epsilon, 1e-5)
    assert found == pytest.approx(printed, rel=1e-3)
    assert log_delta_of_gaussian(epsilon, found) > np.log(1e-5) + 1
    assert log_delta_of_gaussian(epsilon, multiplier("correct", epsilon, 1e-5)) <= np.log(1e-5)


def made_up(holders: int) -> tuple[Tables, np.ndarray]:
    rng = np.random.default_rng(1)
    theta = np.array([0.2, -0.1])
    x = rng.normal(size=(20_000, 2))
    return Tables.of(x, x @ theta + 0.1 * rng.normal(size=20_000), holders, random_scale(2, rng)), theta


@pytest.mark.parametrize("method", [
    "fast", "fixed-s", "adassp", "clt-gibbs", pytest.param("normal-x", marks=pytest.mark.slow)])
def test_every_method_of_the_paper_finds_the_coefficients_where_there_is_little_noise(method: str) -> None:
    tables, theta = made_up(2)
    draws = paper_draws(method, tables, [Budget("correct", 10.0, 1e-5)] * 2, 1, Length(200, 200))
    assert np.all(np.abs(draws.mean(axis=1)[:, :-1] - theta) < 0.03)  # predicting zero would be off by 0.2


@pytest.mark.slow
def test_conditional_beats_predicting_zero_in_the_setting_of_the_paper() -> None:
    tables, theta = made_up(1)
    draws = paper_draws("conditional-flat", tables, [Budget("correct", 1.0, 1e-5)] * 4, 1, Length(1, 1), Length(100, 100))
    assert np.all(np.abs(draws.mean(axis=1)[:, :-1] - theta) < 0.06)


@pytest.mark.slow
def test_fast_is_overconfident_and_the_default_is_not() -> None:
    setting = Setting("mixed", 2, 10_000, 1.0, 10, "replace-one", "gaussian")
    parts, errors = simulated(setting, 60)
    found = {}
    for method in ("fast", "conditional-flat"):
        draws = posterior_draws(method, parts, setting.d, 1, Length(100, 200), Length(100, 200))
        found[method] = coverage_of(draws, errors, truth_in_table(setting))["coverage"]
    assert found["conditional-flat"] > 0.9
    assert found["fast"] < 0.6


def test_grid_of_coverage_has_every_method() -> None:
    chosen = coverage_cells(10, ["normal-x", "conditional"])
    assert {cell.method for cell in chosen} == {"normal-x", "conditional"}
    assert all(cell.replicates > 0 for cell in chosen)


def test_the_discrepancy_is_zero_for_equal_distributions_only() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 300, 2))
    assert abs(mmd2(first, second)) < 0.02
    assert mmd2(first, second + 1.0) > 0.1


def test_a_table_cell_reads_the_data(tmp_path: Path) -> None:
    import gzip

    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(size=(500, 2)), rng.uniform(-1, 1, 500)])
    with gzip.open(tmp_path / "power_plant_energy.csv.gz", "wt") as file:
        file.write("a,b,y\n" + "\n".join(",".join(map(str, row)) for row in rows))
    (line,) = run_cell(Cell(str(tmp_path), "power", 2, "correct", "fast", 3, 40))
    assert line["low"] <= line["mse"] <= line["high"]


def test_the_page_is_made_from_files(tmp_path: Path) -> None:
    entry = {"data": "power", "holders": 1, "noise": "theirs", "method": "fast", "mse": 0.0129, "low": 0.0128, "high": 0.0130}
    write([entry, entry | {"holders": 5, "mse": 0.02, "low": 0.0199, "high": 0.0201}], tmp_path / "table.csv")
    text = filled("{{agreement}}\n", PIECES, tmp_path)
    assert "`fast`: 1 of 2" in text
    assert not agrees(read(tmp_path / "table.csv")[1], 0.0134, 0.0002)


def test_groups_cover_all_places_in_order() -> None:
    parts = groups(50, 10)
    assert len({len(part) for part in parts}) == 1
    np.testing.assert_array_equal(in_order([part[:, None].astype(float) for part in parts], 50)[:, 0], np.arange(50))
