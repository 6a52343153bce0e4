"""Calibration of partition releases on made-up tables, short; in full: ``python -m studies.partition_coverage``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from studies.page import filled
from studies.partition_coverage import STUDIES, Cell, hypotheses, probabilities, quantiles, rejection_rates
from studies.partition_report import PIECES, WORDS
from studies.workers import write

LEVEL = 1e-4


def overconfident(coverage: float, replicates: int, nominal: float = 0.93) -> bool:
    """Whether so few are covered that a true coverage of 93 % has probability below ``LEVEL``."""
    return bool(binom.cdf(round(coverage * replicates), replicates, nominal) < LEVEL)


def test_the_limit_rejects_intervals_of_four_fifths() -> None:
    assert overconfident(0.8, 200) and not overconfident(0.9, 200)


@pytest.mark.parametrize("cell", [Cell("probabilities", 50, 50),
                                  pytest.param(Cell("probabilities", 100, 1000), marks=pytest.mark.slow)], ids=str)
def test_intervals_of_probabilities_cover(cell: Cell) -> None:
    """All ways to combine, every epsilon and mechanism, five b."""
    lines = probabilities(cell, 200, 3)
    assert len(lines) == 3 * 3 * 3 * 5
    for line in lines:
        assert not overconfident(line["coverage"], 200), line
    informative = [line for line in lines if line["epsilon_asked"] == 10.0 and line["mechanism_asked"] == "k-norm"]
    assert np.mean([line["width"] for line in informative]) < 0.4  # nor are they as wide as everything
    assert np.mean([line["coverage"] for line in informative]) < 0.99


@pytest.mark.slow  # test_answers.py has some of both
@pytest.mark.parametrize("question", ["found", "declared"])
def test_intervals_of_coefficients_cover(question: str) -> None:
    [line] = quantiles(Cell("quantiles", 100, 100, epsilon=3.0, question=question), 60, 4)
    assert not overconfident(line["coverage"], 60) and line["width"] < 2.5 and line["missed_in_silence"] == 0.0


def test_a_search_that_is_lost_says_so() -> None:
    [line] = quantiles(Cell("quantiles", 10, 100, epsilon=1.0, question="found"), 30, 5)
    assert line["limits_hold"] < 0.8 and line["says_missed"] == 1.0 and not overconfident(line["coverage"], 30)


def test_means_of_log_bayes_factors_are_in_their_intervals() -> None:
    [line] = hypotheses(Cell("hypotheses", 50, 100, epsilon=1.0, question="null"), 100, 6)
    assert not overconfident(line["coverage"], 100) and line["width"] < 0.5


def test_true_hypotheses_are_rejected_as_often_as_the_level_says() -> None:
    for line in rejection_rates(Cell("tests", 2, 40, epsilon=0.5), 4000, 7):
        rejected = round(line["rejected"] * 4000)
        assert LEVEL < binom.cdf(rejected, 4000, line["level"]) < 1.0 - LEVEL, line
        assert line["censored"] <= line["level"] + 0.01
        assert line["uncalibrated"] == "" or line["uncalibrated"] > 0.2


def test_the_page_is_made_of_the_results(tmp_path: Path) -> None:
    write(rejection_rates(Cell("tests", 2, 40, epsilon=5.0), 500, 1), tmp_path / "tests.csv")
    write(hypotheses(Cell("hypotheses", 10, 100, epsilon=1.0, question="null"), 5, 1), tmp_path / "hypotheses.csv")
    write(quantiles(Cell("quantiles", 10, 100, epsilon=1.0, question="found"), 5, 1), tmp_path / "quantiles.csv")
    write(probabilities(Cell("probabilities", 10, 50), 20, 1), tmp_path / "probabilities.csv")
    page = filled(WORDS.read_text(encoding="utf-8"), PIECES, tmp_path)
    assert "{{" not in page and "| found | 10 | 100 | normal | k-norm | 1 |" in page and "nothing known" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_whole_study_runs(name: str, tmp_path: Path) -> None:
    """With few tables in each cell."""
    subprocess.run([sys.executable, "-m", "studies.partition_coverage", "--only", name, "--replicates", "20", "--results",
                    str(tmp_path)], check=True, cwd=Path(__file__).parents[2])
    from studies.workers import read

    cells = STUDIES[name][0]()
    done = {tuple(line[key] for key in cells[0].columns()) for line in read(tmp_path / f"{name}.csv")}
    assert done == {tuple(str(value) for value in cell.columns().values()) for cell in cells}


@pytest.mark.slow
@pytest.mark.parametrize("cell", STUDIES["quantiles"][0](), ids=str)
def test_intervals_of_coefficients_cover_everywhere(cell: Cell) -> None:
    [line] = quantiles(cell, 150, 8)
    assert not overconfident(line["coverage"], 150) and line["missed_in_silence"] < 0.02
