"""Every example of the documentation runs: the README and each page, from top to bottom, in a folder of its own.

Blocks of one page share their names and their folder. What is run, by the word after the three backticks:

    python                        executed
    toml title="NAME"             written to the file NAME
    console                       each line that begins with "$ noisewise" is given to the command line and must succeed

Privacy noise has no seed, so what a block prints is not compared with the page. Where all methods are compared, only some are:
each of the others is compiled for many seconds, and `test_every_method_fits_or_says_why_not` has them all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.only_methods import only_methods
from typer.testing import CliRunner

from noisewise.cli.app import app
from noisewise.posterior.methods import METHODS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
COMMAND = "$ noisewise "
COMPARED = ("conditional", "laplace", "fast")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the file it is to be written to, its text, and where it begins."""

    language: str
    title: str | None
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer(page):
        title = re.search(r'title="([^"/]+)"', found["options"])
        indent = len(found["indent"])
        text = "".join(line[indent:] for line in found["text"].splitlines(keepends=True))
        yield Block(found["language"], title and title[1], text, page.count("\n", 0, found.start("text")) + 1)


def run(block: Block, page: str, names: dict[str, Any]) -> None:
    if block.language == "python":
        # Empty lines in front, so that a traceback shows the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), names)
    elif block.language == "toml" and block.title:
        Path(block.title).write_text(block.text, encoding="utf-8")
    elif block.language == "console":
        for line in block.text.replace("\\\n", " ").splitlines():
            if line.startswith(COMMAND):
                words = shlex.split(line.removeprefix(COMMAND))
                some = only_methods({name: METHODS[name] for name in COMPARED}) if "--compare-methods" in words else nullcontext()
                with some:
                    result = CliRunner().invoke(app, words)
                assert result.exit_code == 0, f"{page}, block at line {block.line}: {line}\n{result.output}"


# With noise that differs in every run, a short example may now and then be told to take more draws. That is no failure.
@pytest.mark.filterwarnings("default::noisewise.errors.ConvergenceWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page.read_text(encoding="utf-8")):
        run(block, page.name, names)


def test_blocks_are_found_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner sees indented blocks and shares names, and it does fail on a wrong example."""
    monkeypatch.chdir(tmp_path)
    page = '```python\na = 1\n```\n\n- item\n\n    ```python\n    b = a + 1\n    ```\n\n```toml title="x.toml"\nk = 1\n```\n'
    found = list(blocks(page))
    names: dict[str, Any] = {}
    for block in found:
        run(block, "page", names)
    assert names["b"] == 2 and Path("x.toml").read_text() == "k = 1\n" and [block.line for block in found] == [2, 8, 12]
    with pytest.raises(AssertionError, match="no-such-command"):
        run(Block("console", None, "$ noisewise no-such-command\n", 1), "page", {})
    with pytest.raises(ZeroDivisionError):
        run(Block("python", None, "1 / 0", 1), "page", {})


def test_readme_names_both_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text and "make test" in text
