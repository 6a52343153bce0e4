"""The comparison with other systems, as far as it needs none of them: our rows, naive intervals, missing packages, the page."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from studies import other_systems_fits
from studies.other_systems import (
    DATE_OF,
    NOT_RUN,
    Cell,
    TimeCell,
    describe,
    figures,
    forget_not_run,
    problems,
    run_cell,
    run_time_cell,
)
from studies.other_systems_claims import claims, our_delta
from studies.other_systems_fits import DAPPER, DIFFPRIVLIB, DP_STATSMODELS, EXACT, OURS, OURS_MODEL, SYSTEMS, THEIL_SEN, Where
from studies.other_systems_problem import Fit, Problem, Table, exact_fit, table, textbook_interval, with_constant
from studies.other_systems_r import NotRunError, call_r, read_numbers, write_numbers
from studies.other_systems_report import PIECES, coverage, setting, write_report
from studies.workers import read, write

LINEAR = Problem("linear", 2_000, 5, 10.0)
NOWHERE = Where("no-such-python", "no-such-rscript")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package of the others, whether or not it is installed."""
    for module in ("diffprivlib", "diffprivlib.models", "diffprivlib.accountant", "diffprivlib.mechanisms.laplace",
                   "dp_statsmodels", "dp_statsmodels.api", "sklearn"):
        monkeypatch.setitem(sys.modules, module, None)


def test_tables_are_the_same_for_every_budget_and_differ_between_replicates() -> None:
    again = table(Problem("linear", 2_000, 5, 0.1), 3)
    assert np.array_equal(table(LINEAR, 3).y, again.y)
    assert not np.array_equal(table(LINEAR, 4).y, again.y)


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_the_exact_fit_solves_the_score_equations(family: str) -> None:
    data = table(Problem(family, 2_000, 5, 1.0), 0)
    design = with_constant(data.x)
    value = design @ exact_fit(family, data)
    mean = 1 / (1 + np.exp(-value)) if family == "logistic" else value
    assert np.max(np.abs(design.T @ (data.y - mean))) < 1e-6


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_textbook_intervals_cover_without_noise_and_do_not_with_noise(family: str) -> None:
    """500 slopes: the share that is covered has a standard error of about 1 %."""
    problem = Problem(family, 2_000, 5, 1.0)
    rng = np.random.default_rng(1)
    exact, noisy = [], []
    for replicate in range(100):
        data = table(problem, replicate)
        beta = exact_fit(family, data)
        exact.append(textbook_interval(family, data, beta))
        noisy.append(textbook_interval(family, data, beta + rng.normal(0.0, 0.2, len(beta))))
    assert 0.91 < figures(exact, problem)["coverage"] < 0.99
    assert figures(noisy, problem)["coverage"] < 0.75


def test_the_width_of_a_linear_interval_is_the_one_of_least_squares() -> None:
    data = Table(np.array([[-1.0], [0.0], [1.0], [0.0]]), np.array([0.0, 1.0, 0.0, -1.0]))
    found = textbook_interval("linear", data, np.array([0.0, 0.0]))  # residual sum of squares 2, 2 degrees, Σx² = 2
    assert found.high[0] - found.low[0] == pytest.approx(2 * 1.959964 * math.sqrt(1.0 / 2))


def test_figures_are_those_of_a_small_example() -> None:
    problem = Problem("linear", 10, 1, 1.0)  # the slope is 1
    fits = [Fit(np.array([1.1]), np.array([0.9]), np.array([1.3])), Fit(np.array([1.3]), np.array([1.2]), np.array([1.6]))]
    found = figures(fits, problem)
    assert found["mse"] == pytest.approx(0.05)
    assert found["mse_error"] == pytest.approx(0.04)
    assert (found["coverage"], found["width"]) == (0.5, pytest.approx(0.4))


@pytest.mark.slow
def test_our_rows_cover_and_are_near_the_truth() -> None:
    """At ε = 10 the standard error of the slope, 1, is about 0.006."""
    line, = run_cell(Cell(Problem("linear", 20_000, 1, 10.0), OURS, 20, NOWHERE))
    assert line["status"] == "ran"
    assert line["mse"] < 0.02**2
    assert line["coverage"] >= 0.7  # of 20 intervals: 7 or more misses have a chance below 1 in 20,000
    assert line["width"] < 0.06


def test_the_noise_of_a_release_is_what_another_accountant_asks_for() -> None:
    assert 0.5 < our_delta(NOWHERE) <= 1 + 1e-6


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("system", [DIFFPRIVLIB, DP_STATSMODELS, "d3p", DAPPER, THEIL_SEN])
def test_what_is_missing_is_not_run_and_breaks_nothing(system: str) -> None:
    problem = Problem("linear", 2_000, 1, 1.0)
    line, = run_cell(Cell(problem, system, 2, NOWHERE))
    assert line["status"].startswith(NOT_RUN)
    assert len(line["status"]) > len(NOT_RUN)
    assert "mse" not in line
    timed, = run_time_cell(TimeCell(problem, system, 1, NOWHERE))
    assert timed["status"].startswith(NOT_RUN)


def test_what_a_system_does_not_offer_is_said() -> None:
    line, = run_cell(Cell(LINEAR, THEIL_SEN, 2, NOWHERE))
    assert "one predictor" in line["status"]
    line, = run_cell(Cell(Problem("linear", 100_000, 5, 1.0), DAPPER, 2, NOWHERE))
    assert "every row" in line["status"]


@pytest.mark.usefixtures("without")
def test_claims_about_missing_packages_are_not_made() -> None:
    found = {line["name"]: line for line in claims(NOWHERE)}
    assert found["our_delta"]["status"] == "ran"
    assert all(line["status"].startswith(NOT_RUN) and line["value"] == "" for name, line in found.items() if name != "our_delta")


def test_r_that_is_missing_is_named() -> None:
    with pytest.raises(NotRunError, match="R is not installed"):
        call_r("no-such-rscript", "BAS", Path())


def test_numbers_survive_the_way_to_r_and_back(tmp_path: Path) -> None:
    sent = {"x1": np.array([0.1, 1e-17]), "y": np.array([1.0, 2.0])}
    write_numbers(tmp_path / "rows.csv", sent)
    back = read_numbers(tmp_path / "rows.csv")
    assert back.keys() == sent.keys()
    assert all(np.array_equal(back[name], sent[name]) for name in sent)


def test_rows_that_were_not_run_are_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    before = [("a", "ran"), ("a", "not run: x"), ("b", "not run: x")]
    write([{"system": system, "status": status} for system, status in before], path)
    forget_not_run(path, ["a"])
    assert [(line["system"], line["status"]) for line in read(path)] == [("a", "ran"), ("b", "not run: x")]


def test_a_later_run_of_one_system_enters_its_own_date_alone(tmp_path: Path) -> None:
    path = tmp_path / "versions.csv"
    describe(NOWHERE, list(SYSTEMS), path)
    write([line | {"value": "then"} for line in read(path)], path)
    describe(NOWHERE, [OURS_MODEL], path)
    found = {line["name"]: line["value"] for line in read(path)}
    assert found.pop(f"{DATE_OF}{OURS_MODEL}") != "then"
    assert set(found.values()) == {"then"}
    assert f"*{OURS_MODEL}* was run on " in setting(tmp_path)[0]


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_a_model_release_is_near_the_truth_and_says_how_near(family: str) -> None:
    """At ε = 10 a slope has a standard error of 0.021 or 0.087: the limits are about six of them."""
    fit = SYSTEMS[OURS_MODEL].one(Problem(family, 2_000, 5, 10.0), 0, NOWHERE)
    truth, most = LINEAR.slopes, 0.12 if family == "linear" else 0.55
    assert np.all(np.abs(fit.estimate - truth) < most)
    assert np.all((fit.low < fit.estimate) & (fit.estimate < fit.high))
    assert np.sum((fit.low <= truth) & (truth <= fit.high)) >= 2  # of 5: 4 or more misses have a chance of 3 in 100,000


def test_coverage_is_bold_only_below_what_it_should_be() -> None:
    line = {"coverage": "0.95", "coverage_error": "0.01", "intervals": "own"}
    assert coverage(line) == "95.0 ± 1.0"
    assert coverage(line | {"coverage": "0.6", "intervals": "naive"}) == "**60.0 ± 1.0** (naive)"
    assert "*" not in coverage(line | {"coverage": "0.94"})


def test_the_page_and_its_picture_are_written_from_the_results(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    ran = {"status": "ran", "mse": 0.001, "mse_error": 0.0001, "median": 0.0009, "coverage": 0.951, "coverage_error": 0.01,
           "width": 0.12}
    lines = [{"family": problem.family, "rows": problem.rows, "predictors": problem.predictors, "epsilon": problem.epsilon,
              "system": name, "replicates": 7, "intervals": system.intervals,
              **(ran if name in (OURS, EXACT) else {"status": "not run: it is missing"})}
             for problem in problems() for name, system in SYSTEMS.items()]
    write(lines, results / "figures.csv")
    write([{"family": "linear", "rows": 2000, "predictors": 5, "epsilon": 1.0, "system": DIFFPRIVLIB, "rounds": 5,
            "status": "ran", "ratio": 0.0312, "least": 0.02, "most": 0.04}], results / "times.csv")
    write([{"epsilon": 1.0, "system": "ridge", "replicates": 5, "status": "ran", "false": 3, "of": 5, "all_found": 4},
           {"epsilon": 1.0, "system": "BAS", "replicates": 5, "status": "not run: it is missing"}], results / "selection.csv")
    write([{"name": "dapper_row", "value": 100.0, "status": "ran"}], results / "claims.csv")
    write([{"name": "date", "value": "2026-01-02"}, {"name": "cores", "value": "2"}, {"name": "jax", "value": "9.9"}],
          results / "versions.csv")
    page = tmp_path / "page.md"
    write_report(results, page)
    text = page.read_text(encoding="utf-8")
    assert "{{" not in text
    assert "| 1 | noisewise | 1.0e-03 ± 1e-04 | 9.0e-04 | 95.1 ± 1.0 | 0.12 | 7 |" in text
    assert "- *diffprivlib*: not run: it is missing." in text
    assert "0.031 (0.02–0.04)" in text
    assert "3 of 5" in text
    assert "2026-01-02, 2 cores" in text
    assert (tmp_path / "images" / "other-systems.png").stat().st_size > 10_000
    assert set(PIECES) == {line[2:-2] for line in other_systems_words() if line.startswith("{{")}


def other_systems_words() -> list[str]:
    words = Path(other_systems_fits.__file__).with_name("other_systems_page.md")
    return words.read_text(encoding="utf-8").splitlines()
