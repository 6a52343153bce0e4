"""Settings of a study and their coverage, read from its committed results: for ``docs/calibration_summary.py``."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from docs.calibration_verdict import Cell

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "studies" / "results"

Row = dict[str, str]


Cells = Callable[[list[Row]], list[Cell]]


def each(column: str = "coverage", error: str | None = "standard_error", replicates: str = "replicates") -> Cells:
    """A setting is a line of the file."""
    return lambda rows: [
        Cell.of(float(row[column]), float(row[replicates]), float(row.get(error) or 0) if error else None)
        for row in rows
        if row[column] not in ("", "nan")
    ]


def by_setting(rows: Iterable[Row], keys: Iterable[str]) -> list[list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return list(found.values())


def mean_over_terms(*keys: str, chosen: Callable[[list[Row]], bool] = lambda setting: True) -> Cells:
    """A setting has a line for each coefficient, and counts by their mean."""
    return lambda rows: [
        Cell.of(sum(float(row["coverage"]) for row in one) / len(one), float(one[0]["replicates"]))
        for one in by_setting(rows, keys)
        if chosen(one)
    ]


def batches(*keys: str) -> Cells:
    """A setting has lines for batches of fits; each says how many intervals of each coefficient ``held`` the truth."""

    def cells(rows: list[Row]) -> list[Cell]:
        found = []
        for one in by_setting(rows, keys):
            fits = sum(int(row["replicates"]) for row in one)
            coefficients = len(one[0]["held"].split())
            coverage = sum(int(held) for row in one for held in row["held"].split()) / (fits * coefficients)
            between = sum(float(row["squares"]) for row in one) / fits - coverage**2
            error = max(between, coverage * (1 - coverage) / coefficients) / fits
            found.append(Cell.of(coverage, fits, error**0.5))
        return found

    return cells


def measured_last(rows: list[Row]) -> list[Cell]:
    """Settings that were measured twice count by the second measurement."""

    def key(row: Row) -> tuple[object, ...]:
        numbers = tuple(float(row[name]) for name in ("d", "rows", "epsilon", "holders"))
        return (*numbers, row["features"], row["adjacency"], row["mechanism"])

    return each()(list({key(row): row for row in rows}.values()))


def shares(measure: str) -> Cells:
    """Counts and sums of the study of model averaging, over its parts; ``squares`` are of deviations of whole fits."""

    def cells(rows: list[Row]) -> list[Cell]:
        settings = by_setting(
            (row for row in rows if row["measure"] == measure), ("predictors", "features", "truth", "mechanism", "epsilon")
        )
        sums = [[sum(float(row[name]) for row in one) for name in ("sum", "count", "squares")] for one in settings]
        return [Cell.of(held / count, count, squares**0.5 / count) for held, count, squares in sums]

    return cells


def percentages(column: str, replicates: int) -> Cells:
    """All percentages of a column of a table in a page."""
    return lambda rows: [
        Cell.of(float(number) / 100, replicates) for row in rows for number in re.findall(r"(\d+) ?%", row[column])
    ]


def read(source: str) -> list[Row]:
    """The lines of a file of results, or of the first table of a page that has the named column: ``sums.md#column``."""
    if "#" not in source:
        with (RESULTS / source).open(encoding="utf-8", newline="") as opened:
            return list(csv.DictReader(opened))
    page, column = source.split("#")
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|") and f" {column} " in line)
    head = _cells(lines[start])
    return [dict(zip(head, _cells(line), strict=True)) for line in _until_blank(lines[start + 2 :])]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _until_blank(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        if not line.startswith("|"):
            return
        yield line
