"""Pages of the documentation from files of results: Markdown tables, and words in which {{name}} stands for a piece."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

Pieces = Mapping[str, Callable[[Path], list[str]]]


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body)]


def filled(words: str, pieces: Pieces, results: Path) -> str:
    """The words with every line {{name}} replaced by what the piece of that name makes of the results."""
    return re.sub(r"^\{\{(\w+)\}\}$", lambda match: "\n".join(pieces[match[1]](results)), words, flags=re.MULTILINE)


def write_page(paper: str, pieces: Pieces, results: Path) -> None:
    """The command of a paper's page: its words are in ``paper_….md`` beside this file, the page in the documentation."""
    parser = argparse.ArgumentParser(description=f"The page of paper {paper} from the files of results.")
    parser.add_argument("--results", type=Path, default=results)
    parser.add_argument("-o", "--output", type=Path, default=Path(f"docs/paper-{paper}.md"))
    arguments = parser.parse_args()
    words = (Path(__file__).parent / f"paper_{paper}_page.md").read_text(encoding="utf-8")
    arguments.output.write_text(filled(words, pieces, arguments.results), encoding="utf-8")
