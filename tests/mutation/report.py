"""What a run of `tests.mutation.run` found: a table of files, and the list of survivors with what was said about them.

    python -m tests.mutation.report mutation.jsonl > report.md

`verdicts.toml`, beside this file, says of survivors that were looked at why no test notices them. A verdict names the file, the
function and the change as this report prints them, so that it is void when the source changes.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.mutation.mutants import mutants

VERDICTS = Path(__file__).with_name("verdicts.toml")
REASONS = ("equivalent", "harmless", "gap")
Line = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--verdicts", type=Path, default=VERDICTS)
    options = parser.parse_args()
    lines = latest(json.loads(line) for line in options.results.read_text().splitlines())
    print("\n".join(report(lines, read_verdicts(options.verdicts))))


def latest(lines: Iterable[Line]) -> list[Line]:
    """Of each mutant the last result, and of each file the last version."""
    found: dict[tuple[str, int], Line] = {}
    versions: dict[str, str] = {}
    for line in lines:
        found[line["file"], line["place"]] = line
        versions[line["file"]] = line["digest"]
    return [line for _, line in sorted(found.items()) if line["digest"] == versions[line["file"]]]


def read_verdicts(path: Path) -> dict[tuple[str, str, str], tuple[str, str]]:
    """(file, function, change) to (reason, explanation); an empty function or change stands for all."""
    found = {}
    for verdict in tomllib.loads(path.read_text(encoding="utf-8")).get("verdict", []):
        if verdict["is"] not in REASONS:
            raise ValueError(f"a verdict is one of {', '.join(REASONS)}, not {verdict['is']}")
        for change in verdict["changes"]:
            found[verdict["file"], verdict.get("function", ""), change] = verdict["is"], verdict["why"]
    return found


def verdict_of(line: Line, verdicts: Mapping[tuple[str, str, str], tuple[str, str]]) -> tuple[str, str]:
    return verdicts.get((line["file"], line["function"], line["change"]), ("not judged", ""))


def report(lines: list[Line], verdicts: Mapping[tuple[str, str, str], tuple[str, str]]) -> list[str]:
    head = ["file", "mutants", "run", "killed", "timeouts", "equivalent", "harmless", "gap", "not judged", "score"]
    rows = []
    for file in sorted({line["file"] for line in lines}):
        own = [line for line in lines if line["file"] == file]
        path = Path(file)
        rows.append([f"`{file}`", len(mutants(path.read_text(encoding="utf-8"))) if path.exists() else len(own),
                     *_numbers(own, verdicts)])
    rows.append(["together", sum(row[1] for row in rows), *_numbers(lines, verdicts)])
    table = ["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---", *["--:"] * (len(head) - 1)], *rows)]
    return [*table, "", *_survivors(lines, verdicts)]


def _numbers(lines: list[Line], verdicts: Mapping[tuple[str, str, str], tuple[str, str]]) -> list[Any]:
    results = Counter(line["result"] for line in lines)
    reasons = Counter(verdict_of(line, verdicts)[0] for line in lines if line["result"] == "survived")
    noticed = results["killed"] + results["timeout"]
    possible = len(lines) - reasons["equivalent"]
    return [len(lines), results["killed"], results["timeout"], *(reasons[reason] for reason in (*REASONS, "not judged")),
            f"{100 * noticed / possible:.1f} %" if possible else "–"]


def _survivors(lines: list[Line], verdicts: Mapping[tuple[str, str, str], tuple[str, str]]) -> list[str]:
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for line in lines:
        if line["result"] == "survived":
            key = (line["file"], line["function"] or "(outside of functions)", *verdict_of(line, verdicts))
            found.setdefault(key, []).append(f"line {line['line']}: `{line['change'].replace('`', chr(39))}`")
    text = []
    for (file, function, reason, why), changes in found.items():
        text += [f"- `{file}`, `{function}`, {reason}{': ' + why if why else ''}", *(f"    - {change}" for change in changes)]
    return text


if __name__ == "__main__":
    main()
