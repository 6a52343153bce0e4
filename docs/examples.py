"""The examples of a page, as code: tests run them, and the pages of the gallery get their numbers and pictures from them.

Blocks of one page share their names and their folder. What is run, by the word after the three backticks:

    python                        executed
    toml title="NAME"             written to the file NAME
    console                       each line that begins with "$ noisewise" is given to the command line and must succeed

``python -m docs.examples docs/gallery/01-*.md`` runs pages and writes what they print into them: a block ``text`` that follows
a block ``python`` or ``console`` is what it printed. Pictures that the code wrote go to the folder ``images`` beside the page, if
the page shows them. Privacy noise has no seed, so numbers and pictures are new each time: words must not depend on them.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
PRINTED = re.compile(r"\n\n```text\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = "$ noisewise "
COLOURS = 64
WIDTH = 110
"""Of what is printed into a page: as much as fits beside the table of contents."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the file it is to be written to, its text, where it begins and where it ends."""

    language: str
    title: str | None
    text: str
    line: int
    end: int = 0


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer(page):
        title = re.search(r'title="([^"/]+)"', found["options"])
        indent = len(found["indent"])
        text = "".join(line[indent:] for line in found["text"].splitlines(keepends=True))
        yield Block(found["language"], title and title[1], text, page.count("\n", 0, found.start("text")) + 1, found.end())


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each command of a console block, after the name of the program."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith(COMMAND):
            yield shlex.split(line.removeprefix(COMMAND))


def run(block: Block, page: str, names: dict[str, Any]) -> None:
    """Do what a block says, in the current folder; what it prints goes to standard output."""
    if block.language == "python":
        # Empty lines in front, so that a traceback shows the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), names)
    elif block.language == "toml" and block.title:
        Path(block.title).write_text(block.text, encoding="utf-8")
    elif block.language == "console":
        for words in commands(block):
            print(invoke(words, f"{page}, block at line {block.line}"), end="")


def invoke(words: list[str], where: str) -> str:
    """What a command of noisewise prints; it must succeed."""
    from noisewise.cli.app import app

    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{where}: noisewise {shlex.join(words)}\n{result.output}"
    return result.stdout


def rewrite(page: Path) -> None:
    """Run a page of the gallery; put what it prints and draws in its place."""
    import pandas

    text, names, done = page.read_text(encoding="utf-8"), {"__name__": page.stem}, 0
    written = []
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, pandas.option_context("display.width", WIDTH, "display.max_columns", None):
        os.chdir(folder)
        try:
            for block in blocks(text):
                with redirect_stdout(io.StringIO()) as printed:
                    run(block, page.name, names)
                place = PRINTED.match(text, block.end)
                if block.language in ("python", "console") and place:
                    written += [text[done : place.start("text")], _tidy(printed.getvalue())]
                    done = place.end("text")
        finally:
            os.chdir(home)
        for picture in Path(folder).glob("*.png"):
            if f"](images/{picture.name})" in text:
                _shrink(picture, page.parent / "images" / picture.name)
    page.write_text("".join(written) + text[done:], encoding="utf-8")


def _tidy(printed: str) -> str:
    return "".join(line.rstrip() + "\n" for line in printed.strip("\n").splitlines())


def _shrink(source: Path, target: Path) -> None:
    """A picture in few colours: plots need no more, and take a third of the room."""
    from PIL import Image

    with Image.open(source) as picture:
        picture.convert("RGB").quantize(COLOURS).save(target, optimize=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, flush=True)
        rewrite(Path(name).resolve())
