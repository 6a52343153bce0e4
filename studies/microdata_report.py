"""The calibration of regressions on published rows as a page of the documentation.

    python -m studies.microdata_report [--results studies/results/microdata] [-o docs/rows-calibration.md]

The text is in ``studies/microdata_calibration_page.md``, where a line ``{{name}}`` is replaced by the output of the function of
that name.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from studies.microdata_coverage import PRIOR, RESULTS
from studies.page import filled, table
from studies.report import HIGH, LOW
from studies.workers import read

Line = dict[str, str]
WORDS: Final = Path(__file__).parent / "microdata_calibration_page.md"
UNSETTLED: Final = 0.05


def cells_in(results: Path) -> list[list[Line]]:
    """The lines of each cell, in the order of the file."""
    found: dict[tuple[str, ...], list[Line]] = {}
    for line in read(results / "coverage.csv"):
        found.setdefault(tuple(line[name] for name in ("table", "rows", "scale", "copies")), []).append(line)
    return list(found.values())


def slopes_of(cell: Sequence[Line]) -> list[Line]:
    return [line for line in cell if line["term"] not in ("constant", "sigma")]


def mean_coverage(lines: Sequence[Line]) -> float:
    return sum(float(line["coverage"]) for line in lines) / len(lines)


def worst_unsettled(cell: Sequence[Line]) -> float:
    return max(float(line["unsettled"]) for line in cell)


def verdict(cell: Sequence[Line]) -> str:
    """The verdict on the slopes' mean coverage."""
    value = mean_coverage(slopes_of(cell))
    return "within" if LOW <= value <= HIGH else "**below**" if value < LOW else "above"


def coverage_table(results: Path, *, prior: bool) -> list[str]:
    """One line per cell."""
    body = []
    for cell in cells_in(results):
        first, own = cell[0], slopes_of(cell)
        if first["table"].endswith(PRIOR) != prior:
            continue
        constant, sigma = (next(line for line in cell if line["term"] == term) for term in ("constant", "sigma"))
        bias = max(abs(float(line["bias"])) / float(line["sd"]) for line in own)
        body.append([first["table"], f"{int(first['rows']):,}", first["copies"], f"{float(first['epsilon']):g}", first["scale"],
                     f"{max(float(line['information']) for line in own):.2f}", f"{mean_coverage(own):.1%}",
                     f"{min(float(line['coverage']) for line in own):.1%}", f"{float(constant['coverage']):.1%}",
                     f"{float(sigma['coverage']):.1%}", verdict(cell), "" if prior else f"{bias:.2f}", first["replicates"],
                     f"{min(float(line['ess']) for line in cell):.0f}", f"{worst_unsettled(cell):.1%}"])
    return table(["table", "rows", "copies", "ε", "b", "posterior sd / prior sd", "slopes", "lowest slope", "constant", "σ",
                  "slopes, 93–97 %", "largest bias / sd", "replicates", "effective draws", "R̂ > 1.05"], body)


def claims(results: Path) -> list[str]:
    """A summary of the tables, with counts."""
    fixed = [cell for cell in cells_in(results) if not cell[0]["table"].endswith(PRIOR)]
    inside = [cell for cell in fixed if verdict(cell) == "within"]
    all_of = [mean_coverage(slopes_of(cell)) for cell in fixed]
    lines = [f"- With fixed truths, {len(inside)} of {len(fixed)} cells have a mean coverage of the slopes within 93–97 %. The "
             f"lowest is {min(all_of):.1%}, the highest {max(all_of):.1%}."]
    for cell in fixed:
        if verdict(cell) != "within":
            first = cell[0]
            rough = f"; R̂ is above 1.05 in {worst_unsettled(cell):.0%} of its fits" if worst_unsettled(cell) > UNSETTLED else ""
            lines.append(f"- Outside: {first['table']}, {int(first['rows']):,} rows, {first['copies']} cop"
                         f"{'y' if first['copies'] == '1' else 'ies'}, ε = {float(first['epsilon']):g}: "
                         f"{mean_coverage(slopes_of(cell)):.1%}{rough}.")
    return lines


PIECES: Final = {
    "claims": claims,
    "fixed": lambda results: coverage_table(results, prior=False),
    "prior": lambda results: coverage_table(results, prior=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/rows-calibration.md"))
    arguments = parser.parse_args()
    arguments.output.write_text(filled(WORDS.read_text(encoding="utf-8"), PIECES, arguments.results), encoding="utf-8")


if __name__ == "__main__":
    main()
