"""The audit of every mechanism and every kind of release, and its page of the documentation.

    python -m studies.audit [--processes 2]        # writes studies/results/audit.csv; a few minutes
    python -m studies.audit --kind model           # only the releases of one kind
    python -m studies.audit_misprints              # writes studies/results/audit_misprints.csv
    python -m studies.audit --page                 # writes docs/audit.md from these files and studies/audit_page.md

`noisewise audit` prints the same table. Here each release is a cell that can be run by itself, and a second call fills in what is
missing. All bounds of the file hold together with 99 % confidence, as long as the list of releases stays the same. If it grows
and the file is only filled in, give the new ones what the others have left of the level: ``--confidence 0.998``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisewise.audits.audit import DRAWS, FEWEST, SECONDS, audit_one_run, standard_requests
from noisewise.audits.report import number, share
from noisewise.audits.request import Request, subject_of
from noisewise.audits.trial import draw_many, judge, seconds_of_a_draw
from studies.page import filled, table
from studies.workers import add_options, read, run_cells

CONFIDENCE = 0.99
ONE_RUN = (1.0, 4.0)
OUTPUT = Path("studies/results/audit.csv")
WORDS = Path(__file__).parent / "audit_page.md"


@dataclass(frozen=True)
class Cell:
    """One of the standard releases or, past their end, one that is audited by a single run."""

    number: int
    draws: int
    confidence: float = CONFIDENCE

    def columns(self) -> dict[str, Any]:
        return {"number": self.number}


def requests() -> list[Request]:
    return list(standard_requests())


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    every = requests()
    level = (1 - cell.confidence) / (len(every) + len(ONE_RUN))
    if cell.number >= len(every):
        epsilon = ONE_RUN[cell.number - len(every)]
        (found,) = audit_one_run(epsilon=epsilon, delta=1e-6, confidence=1 - level).findings
    else:
        subject = subject_of(every[cell.number])
        count = min(cell.draws, max(FEWEST, int(SECONDS / seconds_of_a_draw(subject))))
        found = judge(subject, draw_many(subject, count), level)
    return [cell.columns() | {name: float(f"{value:.6g}") if isinstance(value, float) else value
                              for name, value in found.as_dict().items()}]


def released(results: Path) -> list[str]:
    """The table of the library's own releases."""
    lines = sorted(read(results / "audit.csv"), key=lambda line: int(line["number"]))
    body = [[line["kind"], line["mechanism"], f"{line['adjacency']}, {line['unit']}", f"{float(line['epsilon']):g}",
             f"{float(line['delta']):g}", number(float(line["epsilon_any"])), number(float(line["epsilon_law"])),
             share(float(line["noise_at_most"])), "noticed" if line["notices_0.7"] == "True" else "missed",
             "**too little**" if line["flagged"] == "True" else "kept", line["draws"]] for line in lines]
    return table(["release", "noise", "neighbours", "ε", "δ", "ε ≥, any mechanism", "ε ≥, this noise", "noise ≤", "0.7 × noise",
                  "promise", "draws"], body)


def mechanism_of(request: Request) -> str | None:
    """The requested noise, if any."""
    return getattr(request.kind, "mechanism", None)


def missing(results: Path) -> list[str]:
    """The releases that were left out, as text."""
    there = {int(line["number"]) for line in read(results / "audit.csv")}
    left = [request for place, request in enumerate(requests()) if place not in there]
    if not left:
        return ["None was left out."]
    names = "; ".join(f"{mechanism_of(request)} at ε = {request.epsilon:g}, {request.schema.adjacency}" for request in left)
    return [f"Left out, because a single draw takes seconds: {names}."]


def misprints(results: Path) -> list[str]:
    """The table of releases that are known to be wrong."""
    lines = sorted(read(results / "audit_misprints.csv"), key=lambda line: (line["source"], line["what"]))
    body = [[line["source"], line["what"], line["mechanism"], f"{float(line['epsilon']):g}", f"{float(line['delta']):g}",
             number(float(line["epsilon_any"])), number(float(line["epsilon_law"])), share(float(line["noise_at_most"])),
             "**flagged**" if line["flagged"] == "True" else "kept"] for line in lines]
    return table(["source", "as printed", "noise", "ε", "δ", "ε ≥, any mechanism", "ε ≥, this noise", "noise ≤", "verdict"], body)


def largest(lines: Iterable[dict[str, str]]) -> float:
    """The largest measured epsilon, as a share of the claimed one."""
    return max(max(float(line["epsilon_any"]), float(line["epsilon_law"])) / float(line["epsilon"]) for line in lines)


def smallest(lines: Iterable[dict[str, str]]) -> float:
    """The smallest measured epsilon, as a share of the claimed one."""
    return min(max(float(line["epsilon_any"]), float(line["epsilon_law"])) / float(line["epsilon"]) for line in lines)


def in_words(results: Path) -> list[str]:
    lines = read(results / "audit.csv")
    many = [line for line in lines if line["draws"] != "1"]
    noticed = sum(line["notices_0.7"] == "True" for line in many)
    flagged = sum(line["flagged"] == "True" for line in lines)
    return [f"Of {len(lines)} audits {flagged} found a broken promise; the largest measured ε is {100 * largest(lines):.0f} % of "
            f"the claimed one. With 0.7 times the noise {noticed} of the {len(many)} that draw many releases would have been "
            "flagged."]


def models(results: Path) -> list[str]:
    """What the audit found about model releases."""
    lines = [line for line in read(results / "audit.csv") if line["kind"].startswith("model")]
    noise = max(float(line["noise_at_most"]) for line in lines)
    noticed = sum(line["notices_0.7"] == "True" for line in lines)
    return [f"For the {len(lines)} `model` releases (every family, both adjacencies, units of one row and of three) the sharper "
            f"bound is {100 * smallest(lines):.0f} to {100 * largest(lines):.0f} % of the claimed ε. Their noise is at most "
            f"{share(noise)} times the promised noise, and 0.7 times the noise would have been noticed in {noticed} of them."]


PIECES = {"released": released, "missing": missing, "misprints": misprints, "in_words": in_words, "models": models}


def main() -> None:
    parser = argparse.ArgumentParser(description="The audit of every mechanism and every kind of release.")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--kind", help="only the releases of this kind")
    parser.add_argument("--confidence", type=float, default=CONFIDENCE, help="of all bounds together")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--page", type=Path, nargs="?", const=Path("docs/audit.md"), help="write the page instead")
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.page is not None:
        arguments.page.write_text(filled(WORDS.read_text(encoding="utf-8"), PIECES, arguments.output.parent), encoding="utf-8")
        return
    every = requests()
    once = range(len(every), len(every) + len(ONE_RUN))
    slow_last = sorted(range(len(every)),
                       key=lambda place: (mechanism_of(every[place]) == "wishart-paper", -every[place].epsilon))
    wanted = [place for place in (*once, *slow_last)
              if arguments.kind is None or (place < len(every) and every[place].kind.name == arguments.kind)]
    cells = [Cell(place, arguments.draws, arguments.confidence) for place in wanted]
    run_cells(run_cell, cells, arguments, arguments.output)
    print("\n".join(released(arguments.output.parent)))


if __name__ == "__main__":
    main()
