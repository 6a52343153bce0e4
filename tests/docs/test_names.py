"""What the documentation names is there: commands, options, modules, files. Examples are run; this is about the words between."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from noisewise.cli.app import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "noisewise"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted((ROOT / "docs").rglob("*.md")),
         *sorted((ROOT / "studies").glob("*_page.md")), *sorted((ROOT / "src").rglob("*.md"))]

INLINE = re.compile(r"`(noisewise [a-z][^`]*)`")
LINE = re.compile(r"^(?: {4})?(?:\$ )?(noisewise (?:[^\n\\]|\\\n)*)", re.MULTILINE)
DOTTED = re.compile(r"\b(?:noisewise|nw)((?:\.[A-Za-z_]\w*)+)")
PLACE = re.compile(r"`((?:src|studies|tests|benchmarks|docs|fuzz)/[\w./-]+)`|"
                   r"python (?:-m )?((?:studies|benchmarks|docs|tests)[./][\w./]+)")
NO_MODULES = ("duckdb", "nwr", "db", "html", "md")


@cache
def commands() -> dict[str, set[str]]:
    """Every command by its words, with its options; where no kind is named, those of gram are meant."""
    found: dict[str, set[str]] = {}

    def visit(command: Any, words: tuple[str, ...]) -> None:
        found[" ".join(words)] = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        names = command.list_commands(typer.Context(command)) if hasattr(command, "list_commands") else ()
        for name in names:
            visit(command.get_command(typer.Context(command), name), (*words, name))
        if "gram" in names and words in (("release",), ("audit",)):
            found[" ".join(words)] |= found[" ".join((*words, "gram"))]

    visit(typer.main.get_command(app), ())
    return found


def written(text: str) -> Iterator[str]:
    """The commands that a page writes: in code between words, and at the beginning of a line of a block."""
    yield from (found[1] for found in INLINE.finditer(text))
    for block in re.finditer(r"^ *```[^\n]*\n(.*?)^ *```$", text, flags=re.DOTALL | re.MULTILINE):
        yield from (found[1] for found in LINE.finditer(block[1]))


def wrong(line: str) -> str | None:
    """What is wrong with a command, if anything."""
    line = " ".join(line.replace("\\\n", " ").split(" #")[0].split())
    try:
        words = shlex.split(line)[1:]
    except ValueError:  # a quotation that was left open to show what the tab key does
        words = line.split()[1:]
    name = ""
    while words and f"{name} {words[0]}".strip() in commands():
        name = f"{name} {words.pop(0)}".strip()
    if not name and not words[0].startswith("-"):
        return f"no command {words[0]}: {line}"
    known = commands()[name] | commands()[""] | {"--help", "-h"}
    options = [found[0] for word in words if (found := re.match(r"--?[a-z][\w-]*", word))]
    unknown = [option for option in options if option not in known]
    return f"no option {unknown[0]} of {name}: {line}" if unknown else None


@cache
def exists(dotted: str) -> bool:
    """Whether a name of the library is there: a module, or something in one."""
    names = ["noisewise", *dotted.strip(".").split(".")]
    for count in range(len(names), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(names[:count]))
        except ModuleNotFoundError:
            continue
        for name in names[count:]:
            if not hasattr(found, name):
                return isinstance(found, type) and any(name in vars(one).get("__annotations__", ()) for one in found.__mro__)
            found = getattr(found, name)
        return True
    return False


def there(place: str) -> bool:
    """Whether a file, a folder or a module of the repository exists."""
    plain = ROOT / place.rstrip(".").replace(".", "/")
    return (ROOT / place).exists() or (ROOT / place).with_suffix(".py").exists() or plain.with_suffix(".py").exists()


def on_pages(find: Callable[[str], Iterator[str]], but: str = "") -> list[str]:
    """What is found on each page, with the name of the page."""
    return [f"{page.relative_to(ROOT)}: {found}" for page in PAGES if page.name != but
            for found in find(page.read_text(encoding="utf-8"))]


def test_commands_and_their_options_exist() -> None:
    assert on_pages(lambda text: filter(None, map(wrong, written(text)))) == []


def test_every_command_is_on_the_page_of_the_command_line() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    inner = {name for name in commands() if any(other.startswith(f"{name} ") for other in commands())} | {""}
    usual = {name for name in commands() if name.startswith("audit ")} | {"release gram"}  # one line stands for them
    ledger = re.search(r"`noisewise ledger show`[^|]*", page)
    assert ledger
    for name in set(commands()) - inner - usual:
        assert f"`noisewise {name}" in page or f"`{name.removeprefix('ledger ')}`" in ledger[0], name


def test_names_of_the_library_exist() -> None:
    assert on_pages(lambda text: (name for name in sorted({found[1] for found in DOTTED.finditer(text)})
                                  if name.rpartition(".")[2] not in NO_MODULES and not exists(name))) == []


def test_files_and_programs_exist() -> None:
    assert on_pages(lambda text: (place for place in sorted({found[1] or found[2] for found in PLACE.finditer(text)})
                                  if not there(place))) == []


def test_places_in_the_source_exist() -> None:
    """Those that are named from a room on: `posterior/prior`. A record of a day that is past has the names of that day."""
    rooms = "|".join(path.name for path in SOURCE.iterdir() if path.is_dir() and not path.name.startswith("__"))
    place = re.compile(rf"`(?:noisewise/)?((?:{rooms})/[\w./]*)`")
    assert on_pages(lambda text: (found[1] for found in place.finditer(text) if not there(str(SOURCE / found[1]))),
                    but="mutation.md") == []


def test_what_is_not_there_is_noticed() -> None:
    assert wrong("noisewise frobnicate DATA") and wrong("noisewise release DATA --kind moments")
    assert wrong("noisewise release binary DATA --terms x") and wrong("noisewise plan microdata -s S")
    assert not wrong("noisewise release partition DATA -s S -e 1 --parts 10 \\\n    --ask 'bic of=x' -o FILE  # a remark")
    assert not wrong("noisewise --install-completion")
    assert list(written("`noisewise show FILE`\n\n```console\n$ noisewise fit F \\\n    --json\nnoise\n```\n")) == [
        "noisewise show FILE", "noisewise fit F \\\n    --json"]
    assert exists(".releases.files.load") and exists(".Release.save") and not exists(".private_bounds")
    assert not exists(".releases.model") and there("studies.audit") and not there("studies/no_such.py")
