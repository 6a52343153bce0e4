"""Compare quick runs with full ones: how long they took, what they could decide, and where the two disagree.

``python -m studies.reproduce PAPER --quick --store`` keeps the times and verdicts of a quick run in ``results/quick.json``.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from studies import page, verdicts
from studies.page import table
from studies.registry import PAPERS, Paper
from studies.verdicts import Target, Verdict

FILE: Final = page.RESULTS / "quick.json"
OPEN: Final = (Verdict.UNDECIDED, Verdict.NOT_RUN, Verdict.INCOMPARABLE)
MISSES: Final = (Verdict.NOT, Verdict.IN_PART, Verdict.ONLY_WITH_ERROR)
"""Verdicts of what does not hold, or not wholly, when it is measured correctly."""
SAME, SAME_NUMBERS, BOTH_OPEN = "the same, from other numbers", "the same, from the same numbers", "open in both"
LEFT_OPEN, NOT_RUN = "left open by the quick run", "not run"
OTHER_MISS, CLOSED, AGAINST = (
    "missed by both, in different ways", "left open by the full run", "one says yes and the other no")
TOLD: Final = (OTHER_MISS, CLOSED, AGAINST)
RELATIONS: Final = (SAME, SAME_NUMBERS, BOTH_OPEN, LEFT_OPEN, NOT_RUN, *TOLD)


def stored() -> dict[str, Any]:
    """The stored quick runs, by paper."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def rule() -> str:
    """A digest that changes with the rule of verdicts."""
    return hashlib.sha256(repr((verdicts.__doc__, verdicts.LIMIT, verdicts.RELEVANT)).encode()).hexdigest()[:12]


def of_run(paper: Paper, results: Path) -> dict[str, Any]:
    """The record to keep of the quick run in this folder, with all studies of the paper that are in it."""
    ran = {study.name: said for study in paper.studies if (said := page.measured(results, study.name))}
    return {"rule": rule(), "studies": {name: {key: said[key] for key in ("date", "seconds", "elapsed", "workers", "settings")}
                                        for name, said in ran.items()},
            "targets": [{"where": one.where, "what": one.what, "verdict": str(one.verdict), "measured": one.measured,
                         "why": one.why} for one in paper.report.targets(results) if one.study in ran]}


def relation(quick: Verdict, full: Verdict, *, same_numbers: bool = False) -> str:
    """How two verdicts on a target are related.

    >>> relation(Verdict.NOT, Verdict.ONLY_WITH_ERROR)
    'missed by both, in different ways'
    """
    if quick == full:
        return BOTH_OPEN if quick in OPEN else SAME_NUMBERS if same_numbers else SAME
    if quick == Verdict.NOT_RUN:
        return NOT_RUN
    if quick in OPEN:
        return LEFT_OPEN
    if full in OPEN:
        return CLOSED
    return OTHER_MISS if quick in MISSES and full in MISSES else AGAINST


def compared(paper: Paper, results: Path) -> Iterator[tuple[Target, Mapping[str, str] | None, str]]:
    """Every target of the full run, the quick run's verdict (None if it was not run), and how the two are related."""
    said = {(one["where"], one["what"]): one for one in stored().get(paper.number, {}).get("targets", [])}
    for target in paper.report.targets(results / f"paper_{paper.number}"):
        one = said.get((target.where, target.what))
        yield target, one, NOT_RUN if one is None else relation(Verdict(one["verdict"]), target.verdict,
                                                                same_numbers=one["measured"] == target.measured)


def times_table(results: Path) -> list[str]:
    body = []
    for paper in PAPERS:
        one = stored().get(paper.number)
        if one is None:
            body.append([paper.number, "–", "not measured yet", "–", "–", "–"])
            continue
        ran = one["studies"]
        took = "; ".join(f"{study.name} " + (in_minutes(ran[study.name]["seconds"]) if study.name in ran else "not run")
                         for study in paper.studies)
        counts = Counter(Verdict(target["verdict"]) for target in one["targets"])
        decided = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
        body.append([paper.number, " and ".join(sorted({said["date"] for said in ran.values()})), took,
                     in_minutes(sum(said["seconds"] for said in ran.values())),
                     "not recorded" if any(said["elapsed"] is None for said in ran.values()) else
                     in_minutes(sum(said["elapsed"] for said in ran.values())),
                     decided + ("" if one["rule"] == rule() else " (by an earlier rule)")])
    return table(["paper", "on", "processor time of each study", "together", "wall-clock time", "verdicts"], body)


def against_full(results: Path) -> list[str]:
    """How often the two agree, and every target on which they disagree."""
    body, told = [], []
    for paper in PAPERS:
        found = list(compared(paper, results))
        counts = Counter(how for *_, how in found)
        body.append([paper.number, *(str(counts[how] or "–") for how in RELATIONS), str(len(found))])
        told += [f"- {paper.number}, {_plain(full.where)}, {_plain(full.what)}: {how}. Quick: **{quick['verdict']}**, "
                 f"{_plain(quick['why'])}. Full: **{full.verdict}**, {_plain(full.why)}."
                 for full, quick, how in found if quick is not None and how in TOLD]
    return [*table(["paper", *RELATIONS, "targets"], body), "",
            *(["Targets on which the verdicts differ although neither is open, or only the quick run decides:", "", *told]
              if told else ["The two agree on every target that both decide."])]


def _plain(text: str) -> str:
    return text.replace("*", "\\*")


def settings_table(results: Path) -> list[str]:
    """The settings that a quick run reduces."""
    body = [[paper.number, study.name, *(said_settings(one) for one in (study.quick, study.full))]
            for paper in PAPERS for study in paper.studies]
    return table(["paper", "study", "quick", "full"], body)


def said_settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_setting(value)}" for name, value in settings.items()) or "–"


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return " and ".join(f"{count} ({name})" for name, count in value.items())
    return "all" if value is None else " and ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(
        value, str) else str(value)


def in_minutes(seconds: float) -> str:
    """
    >>> in_minutes(40), in_minutes(200), in_minutes(9000)
    ('40 s', '3.3 min', '2.5 h')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
