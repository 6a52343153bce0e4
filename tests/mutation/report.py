"""The results of `tests.mutation.run`: a table of files, and the list of survivors with the verdicts on them.

    python -m tests.mutation.report mutation.jsonl > report.md

`verdicts.toml`, next to this file, says why no test notices the survivors that were reviewed. A verdict names the file, the
function and the change as this report prints them, so it becomes void when the source changes. Where a function has the same
change on several lines, ``at`` picks one: it is part of the text of that line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.mutants import mutants

VERDICTS = Path(__file__).with_name("verdicts.toml")
REASONS = ("equivalent", "harmless", "gap")
COMMON = "src/noisewise/"
"""The beginning of most file names."""
Line = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--verdicts", type=Path, default=VERDICTS)
    parser.add_argument("--changes", action="store_true", help="name each change of the survivors too")
    options = parser.parse_args()
    lines = latest(json.loads(line) for line in options.results.read_text().splitlines())
    print("\n".join(report(lines, read_verdicts(options.verdicts), options.changes)))


def latest(lines: Iterable[Line]) -> list[Line]:
    """The last result of each mutant, with ``first``, that of its first run, for the last version of each file."""
    found: dict[tuple[str, int], Line] = {}
    first: dict[tuple[str, str, int], str] = {}
    versions: dict[str, str] = {}
    for line in lines:
        before = first.setdefault((line["file"], line["digest"], line["place"]), line["result"])
        found[line["file"], line["place"]] = {**line, "first": before}
        versions[line["file"]] = line["digest"]
    return [line for _, line in sorted(found.items()) if line["digest"] == versions[line["file"]]]


@dataclass(frozen=True)
class Verdict:
    """The verdict on the changes of one place: ``reason`` is one of `REASONS`, and ``why`` explains it."""

    file: str
    function: str
    at: str
    changes: tuple[str, ...]
    reason: str
    why: str

    def is_about(self, file: str, function: str, change: str, text: str) -> bool:
        return (file, function) == (self.file, self.function) and change in self.changes and self.at in text


class Verdicts:
    """All verdicts. The line of a result is looked up in the source if the source is still the same."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self.every = tuple(verdicts)
        self._sources: dict[str, tuple[str, list[str]]] = {}

    def of(self, line: Line) -> tuple[str, str]:
        """(reason, explanation) of a result, or "not judged"."""
        text = self._text(line)
        for verdict in self.every:
            if verdict.is_about(line["file"], line["function"], line["change"], text):
                return verdict.reason, verdict.why
        return "not judged", ""

    def _text(self, line: Line) -> str:
        if line["file"] not in self._sources:
            path = Path(line["file"])
            source = path.read_text(encoding="utf-8") if path.exists() else ""
            self._sources[line["file"]] = digest(source), source.splitlines()
        version, lines = self._sources[line["file"]]
        return lines[line["line"] - 1] if version == line["digest"] else ""


def read_verdicts(path: Path) -> Verdicts:
    found = []
    for verdict in tomllib.loads(path.read_text(encoding="utf-8")).get("verdict", []):
        if verdict["is"] not in REASONS:
            raise ValueError(f"a verdict is one of {', '.join(REASONS)}, not {verdict['is']}")
        found.append(Verdict(verdict["file"], verdict.get("function", ""), verdict.get("at", ""), tuple(verdict["changes"]),
                             verdict["is"], verdict["why"]))
    return Verdicts(found)


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def report(lines: list[Line], verdicts: Verdicts, changes: bool = False) -> list[str]:
    head = ["file", "mutants", "run", "survived at first", "killed", "timeouts", "equivalent", "harmless", "gap", "not judged",
            "score"]
    rows = []
    for file in sorted({line["file"] for line in lines}):
        own = [line for line in lines if line["file"] == file]
        path = Path(file)
        every = len(mutants(path.read_text(encoding="utf-8"))) if path.exists() else len(own)
        rows.append([f"`{file.removeprefix(COMMON)}`", every, *_numbers(own, verdicts)])
    rows.append(["together", sum(row[1] for row in rows), *_numbers(lines, verdicts)])
    table = ["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---", *["--:"] * (len(head) - 1)], *rows)]
    return [*table, "", *_survivors(lines, verdicts, changes)]


def _numbers(lines: list[Line], verdicts: Verdicts) -> list[Any]:
    results = Counter(line["result"] for line in lines)
    reasons = Counter(verdicts.of(line)[0] for line in lines if line["result"] == "survived")
    noticed = results["killed"] + results["timeout"]
    possible = len(lines) - reasons["equivalent"]
    return [len(lines), sum(line["first"] == "survived" for line in lines), results["killed"], results["timeout"],
            *(reasons[reason] for reason in (*REASONS, "not judged")),
            f"{100 * noticed / possible:.1f} %" if possible else "–"]


def _survivors(lines: list[Line], verdicts: Verdicts, changes: bool) -> list[str]:
    """One line for all survivors of a file with the same verdict, with their changes below it if ``changes`` is set."""
    found: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        if line["result"] == "survived":
            found.setdefault((line["file"], *verdicts.of(line)), []).append(line)
    text = []
    for (file, reason, why), own in sorted(found.items()):
        numbers = Counter(line["line"] for line in own)
        where = ", ".join(f"{number} ({count})" if count > 1 else f"{number}" for number, count in sorted(numbers.items()))
        text.append(f"- `{file.removeprefix(COMMON)}`, line {where}; {reason}{': ' + why if why else ''}")
        if changes or reason in ("gap", "not judged"):
            text += [f"    - line {line['line']}: `{line['change'].replace('`', chr(39))}`" for line in own]
    return text


if __name__ == "__main__":
    main()
