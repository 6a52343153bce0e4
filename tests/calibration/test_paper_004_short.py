"""The studies of paper 004, with few replicates."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from studies.inclusion_calibration import Cell as CalibrationCell
from studies.inclusion_calibration import cells as calibration_cells
from studies.inclusion_calibration import expected_calibration_error, mean_score, reliability, run_cell, score_lines
from studies.model_averaging import as_if_exact, evidence_of, noise_aware, noise_of, plug_in, table_without_constant
from studies.model_consistency import Cell as ConsistencyCell
from studies.model_consistency import run_cell as run_consistency
from studies.page import filled
from studies.paper_004_diabetes import BOUNDS, FILE, TERMS, oracle_lines, table_in
from studies.paper_004_findings import Found, judged
from studies.paper_004_report import PIECES
from studies.paper_004_simulation import Cell as SimulationCell
from studies.paper_004_simulation import drawn_table, measures
from studies.paper_004_simulation import run_cell as run_simulation
from studies.workers import write


@pytest.mark.parametrize(("mechanism", "epsilon", "sd"), [
    ("laplace", 0.5, math.sqrt(2) * 55 / 0.5), ("wishart-paper", 1.0, 10 * 328**0.5)])
def test_the_noise_is_that_of_the_corrected_paper(mechanism: str, epsilon: float, sd: float) -> None:
    noise = noise_of(mechanism, 10, False, epsilon)
    assert math.sqrt(noise.variances[0, 1]) == pytest.approx(sd, rel=1e-3)  # without ε, or without the square, far off
    drawn = np.array([noise.draw(np.random.default_rng(seed))[0, 1] for seed in range(400)])
    assert drawn.std() == pytest.approx(sd, rel=0.2)


def test_moments_are_those_of_the_model_that_made_them() -> None:
    table = drawn_table(0.5, 3, np.random.default_rng(1))
    estimate = np.linalg.solve(table.matrix[:-1, :-1], table.matrix[:-1, -1])
    rest = table.matrix[-1, -1] - table.matrix[-1, :-1] @ estimate
    signal = table.beta @ table.matrix[:-1, :-1] @ table.beta
    assert signal / rest == pytest.approx(0.5, rel=0.03)
    assert np.abs(estimate - table.beta).max() < 0.01 < np.abs(table.beta[table.active]).min()


def test_every_method_finds_the_model_where_there_is_little_noise_and_the_measures_know_it() -> None:
    rng = np.random.default_rng(2)
    table = table_without_constant(np.eye(9) * 5e6, np.array([0.2, -0.2] + [0.0] * 7), 0.02, 10**8, rng)
    oracle = as_if_exact(table, table.matrix, "bic")
    noise = noise_of("gaussian", 10, False, 10.0)
    matrix = table.matrix + noise.draw(rng)
    for found in (noise_aware(evidence_of(table, matrix, noise.variances, "bic")), plug_in(table, matrix, noise, "ridge", "bic")):
        assert measures(table, found, oracle)["distance"] < 0.05
        assert measures(table, found, oracle)["mse"] < 1e-6
    wrong = as_if_exact(table, np.diag(np.diag(table.matrix)), "bic")
    assert measures(table, wrong, oracle)["distance"] > 0.4


def test_a_part_of_the_simulation_has_every_method() -> None:
    lines = run_simulation(SimulationCell("zellner-siow", "all", 0), 1, kinds=[(0.5, 0)], epsilons=(1.0,))
    found = {(line["release"], line["method"]) for line in lines}
    assert found >= {("laplace", "ridge"), ("wishart-paper", "thresholded"), ("gaussian", "noise-aware"), ("", "oracle")}
    ours = next(line for line in lines if line["release"] == "gaussian" and line["method"] == "noise-aware")
    assert float(ours["mse_behind"]) == 0.0 < float(ours["mse"])


def test_scores_tell_a_calibrated_forecast_from_one_that_is_sure() -> None:
    rng = np.random.default_rng(3)
    said = rng.uniform(size=(400, 5))
    truth = rng.uniform(size=(400, 5)) < said
    honest, sure = score_lines("honest", said, truth), score_lines("sure", np.round(said), truth)
    error, spread, chance = expected_calibration_error(reliability(honest))
    assert error < chance + 3 * spread
    assert expected_calibration_error(reliability(sure))[0] > 0.2
    assert mean_score(honest, "brier")[0] < mean_score(sure, "brier")[0]
    assert mean_score(honest, "log score")[0] > mean_score(sure, "log score")[0]


def test_the_default_is_calibrated_where_the_plug_in_is_sure_of_too_much() -> None:
    lines = run_cell(CalibrationCell(3, "normal", "prior", "gaussian", 0.3, 0), 40, bands=2)
    found = {method: expected_calibration_error(reliability([line for line in lines if line["method"] == method]))
             for method in ("noise-aware", "ridge")}
    assert found["noise-aware"][0] < 0.12
    assert found["ridge"][0] > 0.2


def test_parts_of_the_calibration_study_are_those_that_are_asked_for() -> None:
    assert {cell.part for cell in calibration_cells(100)} == {0, 1}


def test_the_true_model_becomes_likely_as_the_table_grows() -> None:
    lines = run_consistency(ConsistencyCell("gaussian", 1.0, 3), (10**3, 10**6))
    found = {line["rows"]: line["probability"] for line in lines
             if line["method"] == "noise-aware" and line["prior"] == "bic" and line["strength"] == 1.0}
    assert found[10**3] < 0.5 < 0.9 < found[10**6]


def test_the_diabetes_study_reads_its_table_and_no_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = np.column_stack([rng.integers(low, high + 1, 400) for low, high in BOUNDS.values()])
    rows[:, -1] = np.clip(rows[:, 1] * 90 + rng.integers(-50, 50, 400), 1, 999)
    right = written(tmp_path / "right", ",".join(BOUNDS) + "\n" + "\n".join(",".join(map(str, row)) for row in rows))
    table = table_in(str(right))
    found = {line["term"]: line["probability"] for line in oracle_lines(table) if line["prior"] == "bic"}
    assert table.rows == 400
    assert found["age"] > 0.99 > 0.5 > found["gender_male"]
    assert len(found) == len(TERMS)
    with pytest.raises(SystemExit):
        table_in(str(written(tmp_path / "wrong", "a,b\n1,2")))


def written(directory: Path, text: str) -> Path:
    directory.mkdir()
    with gzip.open(directory / FILE, "wt") as file:
        file.write(text + "\n")
    return directory


def test_verdicts_need_more_than_chance(tmp_path: Path) -> None:
    entry = {"prior": "zellner-siow", "snr": "0.5", "active": "3", "epsilon": "1.0", "release": "laplace", "method": "ridge",
             "replicates": "10", "mse": "1", "mse_behind": "0.5", "mse_behind_squares": "0.03"}
    cell, which = (0.5, 1.0, 3), ("laplace", "ridge")
    assert judged(Found.of([entry], "zellner-siow"), "mse", which, cell) == "better"
    assert judged(Found.of([entry | {"mse_behind": "-0.5"}], "zellner-siow"), "mse", which, cell) == "worse"
    assert judged(Found.of([entry | {"mse_behind_squares": "10"}], "zellner-siow"), "mse", which, cell) == "even"
    write([{"prior": "bic", "term": "gender_male", "probability": 0.1377},
           {"prior": "zellner-siow", "term": "age", "probability": 0.9}], tmp_path / "diabetes_oracle.csv")
    text = filled("{{oracle}}\n", PIECES, tmp_path)
    assert "| bic | gender_male | 0.138 | 0.138 | yes |" in text
    assert "| zellner-siow | age | 1.000 | 0.900 | **no** |" in text
