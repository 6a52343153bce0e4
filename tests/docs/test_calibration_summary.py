"""The summary of all calibrations is what its command writes, and its verdicts can be bad as well as good."""

from __future__ import annotations

import numpy as np
import pytest
from docs.calibration_cells import percentages, shares
from docs.calibration_summary import PAGE, SECTIONS, judged, page
from docs.calibration_verdict import Cell, Verdict
from scipy.stats import binom


def verdict(coverages: list[float], replicates: int, together: int = 1) -> Verdict:
    return Verdict(tuple(Cell.of(coverage, replicates) for coverage in coverages), together)


def test_the_committed_page_is_what_the_command_writes() -> None:
    """If results have changed: python -m docs.calibration_summary."""
    text, _ = page(today="a day that no page has")
    assert PAGE.read_text(encoding="utf-8") == text


def test_every_line_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| [{line.what}]({line.link}) |" in text for _, lines in SECTIONS.values() for line in lines)


@pytest.mark.parametrize("coverages, numbers, words", [
    ([0.95, 0.96, 0.99], "2 / 1 / 0", "holds"),
    ([0.95] * 58 + [0.80] * 2, "58 / 0 / 2", "holds"),
    ([0.95] * 95 + [0.80] * 5, "95 / 0 / 5", "mostly holds"),
    ([0.95] * 3 + [0.80], "3 / 0 / 1", "*fails in places*"),
    ([0.95, 0.80, 0.70], "1 / 0 / 2", "**fails**"),
])
def test_verdicts(coverages: list[float], numbers: str, words: str) -> None:
    _, found, _, said = judged(verdict(coverages, 1000 if len(coverages) < 50 else 500))
    assert (found, said) == (numbers, words)


def test_a_coverage_that_chance_explains_is_no_failure() -> None:
    assert verdict([0.92], 5000).words == "**fails**"
    assert verdict([0.92], 50).words == "not enough replicates to tell"
    assert verdict([0.95] * 12, 100).words == "not enough replicates to tell"
    assert verdict([0.95] * 12, 1000).words == "holds"


@pytest.mark.parametrize("settings, replicates", [(12, 100), (188, 200), (8, 40), (400, 60)])
def test_an_exact_method_rarely_fails_and_one_of_92_rarely_holds(settings: int, replicates: int) -> None:
    random, kinds = np.random.default_rng(1), {}
    for truth in (0.95, 0.92):
        drawn = random.binomial(replicates, truth, (300, settings)) / replicates
        kinds[truth] = [verdict(list(one), replicates).words for one in drawn]
    failed = [words not in ("holds", "not enough replicates to tell") for words in kinds[0.95]]
    assert sum(failed) <= binom.ppf(0.999, 300, 0.05)
    assert kinds[0.92].count("holds") <= binom.ppf(0.999, 300, 0.2)


def test_pooled_errors_know_clusters() -> None:
    coverage, error = verdict([0.9, 1.0, 0.9, 1.0], 100).pooled()
    assert coverage == pytest.approx(0.95)
    assert error == pytest.approx((2 * 0.09 / 100) ** 0.5 / 4)
    assert verdict([0.9, 1.0, 0.9, 1.0], 100, together=2).pooled()[1] == pytest.approx(2**0.5 * error)
    assert Cell.of(0.9, 100, error=0.015).worth == 400


def test_errors_of_model_averaging_are_those_of_whole_fits() -> None:
    """Fifty fits with two coefficients each, which always hold together: worth fifty intervals."""
    squares = 45 * (2 - 1.9) ** 2 + 5 * 1.9**2
    row = {"predictors": "2", "features": "", "truth": "", "mechanism": "", "epsilon": "1", "measure": "m", "count": "100",
           "sum": "90", "squares": str(squares)}
    (cell,) = shares("m")([row])
    assert (cell.coverage, cell.replicates) == (0.9, 100)
    assert 45 <= cell.worth <= 50


def test_all_percentages_of_a_cell_are_read() -> None:
    cells = percentages("a", 100)([{"a": "91% 97% 96%"}, {"a": "95 %, 0.160"}])
    assert [cell.coverage for cell in cells] == [0.91, 0.97, 0.96, 0.95]
