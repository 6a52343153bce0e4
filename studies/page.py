"""Pages of the documentation from files of results: Markdown tables, and templates in which {{name}} stands for a piece."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

Pieces = Mapping[str, Callable[[Path], list[str]]]

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "results"
MEASURED: Final = "measured.json"
"""The file in every folder of a paper's results that records when each study was measured, and with which settings."""


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body)]


def filled(words: str, pieces: Pieces, results: Path) -> str:
    """The template with every line {{name}} replaced by the output of the piece of that name."""
    return re.sub(r"^\{\{(\w+)\}\}$", lambda match: "\n".join(pieces[match[1]](results)), words, flags=re.MULTILINE)


def words_of(paper: str) -> Path:
    return HERE / f"paper_{paper}_page.md"


def measured(results: Path, study: str) -> dict[str, Any]:
    """``date``, ``seconds`` (if known), ``quick`` and ``settings`` of a study; empty if it was not run."""
    path = results / MEASURED
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")).get(study, {}) if path.exists() else {}
    return found
