"""Coverage of regressions on published rows, short; the tables are ``python -m studies.microdata_coverage`` and ``paper_001``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from studies import microdata_report, paper_001_report
from studies.microdata_coverage import FEW, MANY, SETTINGS, TABLES, cells
from studies.paper_001 import BETA, HALF, Cell, moments
from studies.perturbed_rows import Table, make_cells, perturb, simulate, slopes
from studies.rows_many import Length, sample_many

from noisewise.literature.noisy_rows import naive

LEVEL = 1e-4


def too_low(counts: np.ndarray, replicates: int) -> np.ndarray:
    """So few intervals hold the truth by chance less than once in ten thousand; 94 %, because chains are short."""
    return np.asarray(binom.cdf(counts, replicates, 0.94) < LEVEL)


def test_posterior_covers_and_least_squares_does_not() -> None:
    """One predictor, everything unknown, noise nearly as large as the scatter of the numbers."""
    table, replicates = Table(1), 24
    pairs = [simulate(table, 300, table.epsilon_for(0.2), 1, np.random.default_rng(seed)) for seed in range(replicates)]
    problems, truth = [problem for problem, _ in pairs], np.array([truth for _, truth in pairs])
    found = sample_many(problems, seed=1, length=Length(300, 200, 2), chains=1)
    assert not too_low(found.covers(truth).sum(axis=0), replicates).any(), found.covers(truth).mean(axis=0)
    plain = [naive(problem) for problem in problems]
    half = 1.96 * np.array([np.sqrt(one.covariance[1, 1]) for one in plain])
    holds = np.abs(np.array([one.values[1] for one in plain]) - truth[:, 1]) <= half
    assert too_low(holds.sum(), replicates)


def test_noise_is_that_of_the_product() -> None:
    """Three columns share ε: b = 2·3·copies/ε, and the thesis' noise is smaller than what declared bounds need."""
    table = Table(2)
    problem = perturb(table, make_cells(table, 20_000, np.random.default_rng(1)), 6.0, 2, np.random.default_rng(2))
    np.testing.assert_allclose(problem.noise, 2.0)
    apart = problem.observed[0] - problem.observed[1]
    np.testing.assert_allclose(apart.std(axis=0), np.sqrt(2 * 2 * 2.0**2), rtol=0.05)
    np.testing.assert_allclose(Cell("declared", 1, 5.0).scales(), 4 * HALF / 5)
    assert (Cell("thesis", 1, 5.0).scales() < Cell("declared", 1, 5.0).scales()).all()


def test_predictors_explain_what_they_should() -> None:
    made = make_cells(Table(3), 200_000, np.random.default_rng(1))
    assert np.var(made.x @ slopes(3)) / np.var(made.y) == pytest.approx(0.8, abs=0.02)
    assert np.corrcoef(made.x.T)[0, 1] == pytest.approx(0.5, abs=0.02)


def test_thesis_problem_and_its_start() -> None:
    """The same rows for every ε; moments are near the truth where noise is small and no larger than y allows where it is not."""
    one, other = (Cell("thesis", 1, epsilon).problem(3) for epsilon in (1e4, 2e4))
    np.testing.assert_allclose(one.observed, other.observed, atol=0.01)
    np.testing.assert_allclose(moments(one.observed, one.noise), BETA, atol=0.3)
    rough = Cell("thesis", 1, 0.1).problem(3)
    assert abs(moments(rough.observed, rough.noise)[1]) < 60


def test_every_cell_has_its_table_and_information() -> None:
    found = cells([FEW, MANY], [*TABLES])
    assert {cell.table for cell in found} == set(TABLES) == set(SETTINGS)
    assert Cell("unknown", 1, 1.0).to_user(np.array([0.0, 0.8, 0.1])) == pytest.approx(BETA)


def test_pages_are_made_of_the_results() -> None:
    """Pieces come from the files of results, and a printed figure far from ours is said to be."""
    lines = microdata_report.claims(microdata_report.RESULTS)
    assert lines[0].startswith("- With fixed truths, ")
    shown = paper_001_report.thesis_table(paper_001_report.RESULTS, copies=1)
    assert len(shown) == 2 + 7 and shown[2].startswith("| 5 | 0.0280 |")
    line = {"squares": "1.0", "squares_sd": "1.0"}
    assert paper_001_report.away(2.0, line, "squares") == pytest.approx(np.sqrt(50))
