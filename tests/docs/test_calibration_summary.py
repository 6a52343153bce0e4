"""The summary of all calibrations is what its command writes, and its verdicts can be bad as well as good."""

from __future__ import annotations

import pytest
from docs.calibration_cells import Cell, percentages
from docs.calibration_summary import PAGE, SECTIONS, counted, page


def test_the_committed_page_is_what_the_command_writes() -> None:
    """If results have changed: python -m docs.calibration_summary."""
    text, _ = page(today="a day that no page has")
    assert PAGE.read_text(encoding="utf-8") == text


def test_every_line_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| [{line.what}]({line.link}) |" in text for _, lines in SECTIONS.values() for line in lines)


@pytest.mark.parametrize("coverages, numbers, verdict", [
    ([0.95, 0.96, 0.99], "2 / 1 / 0", "holds"),
    ([0.95] * 19 + [0.80], "19 / 0 / 1", "mostly holds"),
    ([0.95] * 3 + [0.80], "3 / 0 / 1", "*fails in places*"),
    ([0.95, 0.80, 0.70], "1 / 0 / 2", "**fails**"),
])
def test_verdicts(coverages: list[float], numbers: str, verdict: str) -> None:
    assert counted([Cell.of(coverage, 500) for coverage in coverages]) == [numbers, verdict]


def test_a_coverage_that_chance_explains_is_no_failure() -> None:
    assert counted([Cell.of(0.92, 50)])[1] == "holds"
    assert counted([Cell.of(0.92, 5000)])[1] == "**fails**"


def test_all_percentages_of_a_cell_are_read() -> None:
    cells = percentages("a", 100)([{"a": "91% 97% 96%"}, {"a": "95 %, 0.160"}])
    assert [cell.coverage for cell in cells] == [0.91, 0.97, 0.96, 0.95]
