"""Summarise a log of slow tests as Markdown: `python -m tests.slow_report .slow-log.jsonl [more logs]`.

The last outcome of a test counts. `docs/slow-tests.md` shows the table of the last whole run.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.resume import records


def last_outcomes(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The newest record of each test, in the order of the tests' names."""
    found = {one["test"]: one for path in paths for one in records(path)}
    return [found[test] for test in sorted(found)]


def table(outcomes: Iterable[dict[str, Any]]) -> Iterator[str]:
    """One line per file of tests, then the total."""
    files: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in outcomes:
        files[one["test"].partition("::")[0]].append(one)
    yield "| file | tests | passed | skipped | failed | minutes |"
    yield "| --- | --: | --: | --: | --: | --: |"
    everything = [one for each in files.values() for one in each]
    for name, group in (*files.items(), ("all", everything)):
        counts = [sum(one["outcome"] == outcome for one in group) for outcome in ("passed", "skipped", "failed")]
        minutes = sum(one["seconds"] for one in group) / 60
        yield f"| `{name}` | {len(group)} | {' | '.join(map(str, counts))} | {minutes:.1f} |"


def main(paths: list[str]) -> None:
    """Print the table, then the tests that failed."""
    outcomes = last_outcomes(map(Path, paths))
    print("\n".join(table(outcomes)))
    for one in outcomes:
        if one["outcome"] == "failed":
            print(f"\nFailed: `{one['test']}`")


if __name__ == "__main__":
    main(sys.argv[1:])
