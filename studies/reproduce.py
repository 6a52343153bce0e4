"""Compare what the five papers print with what we measure, with a verdict: the program behind ``noisewise reproduce``.

    python -m studies.reproduce                            # the papers, and what each needs
    python -m studies.reproduce 002 table-1 --data DIRECTORY --quick
    python -m studies.reproduce all --stored               # from the results stored with the studies; runs nothing
    python -m studies.reproduce all --page                 # docs/paper-*.md and docs/reproductions.md from the stored results
    python -m studies.reproduce 000 --store                # a full run, and store its results

Every cell of a study runs in a separate process, and the output folder keeps its results. A second call with the same settings
resumes where the first one stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from noisewise import __version__
from noisewise.cli.output import Output
from noisewise.cli.program import WORDS, why_stopped, work_begins
from noisewise.errors import DataError, NoisewiseError, ResultError
from noisewise.progress import PATIENCE_SECONDS
from studies import page, reproduce_page, reproduce_quick
from studies.registry import DATA, PAPERS, Cell, Lines, Paper, Study, Task, paper_of, perform
from studies.verdicts import Target
from studies.workers import each_in_a_process, write

TIMEOUT_SECONDS: Final = 6 * 3600.0


def main(given: Sequence[str] | None = None) -> None:
    arguments = _arguments(given)
    out = Output(json=arguments.json, quiet=arguments.quiet)
    work_begins()
    try:
        _serve(arguments, out)
    except NoisewiseError as error:
        out.fail(error.rule, *[(label, words) for label, words in (("found", error.found), ("remedy", error.advice)) if words])
        out.document({"error": {"kind": type(error).__name__, "rule": error.rule, "found": error.found, "remedy": error.advice}})
        sys.exit(1)
    except OSError as error:
        out.fail("a file or folder cannot be read or written", ("found", str(error)))
        out.document({"error": {"kind": "OSError", "rule": "a file or folder cannot be read or written", "found": str(error),
                                "remedy": None}})
        sys.exit(1)
    except KeyboardInterrupt:
        code = why_stopped()
        out.fail(f"{WORDS[code]}; finished cells are kept", ("remedy", "run the same command again to resume"))
        sys.exit(code)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="noisewise reproduce", description="Compare printed results with what we measure.")
    parser.add_argument("paper", nargs="?", help="a number or a name, or all; without it, list the papers")
    parser.add_argument("table", nargs="?", help="a study, table or figure; without it, the whole paper")
    parser.add_argument("--quick", action="store_true", help="minutes on two cores; results that are too noisy are undecided")
    parser.add_argument("--data", type=Path, help="folder with the files that the paper needs")
    parser.add_argument("-o", "--output", type=Path, help="folder for results, pictures and the page")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True, help="keep finished cells")
    parser.add_argument("--stored", action="store_true", help="run nothing and show the results stored with the studies")
    parser.add_argument("--store", action="store_true", help="store the results with the studies")
    parser.add_argument("--page", action="store_true", help="write the pages of the documentation from the stored results")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(given)


def _serve(arguments: argparse.Namespace, out: Output) -> None:
    if arguments.page:
        reproduce_page.write_pages(Path("docs"))
        return
    if arguments.paper is None:
        out.document({"papers": [reproduce_page.described(paper) for paper in PAPERS]})
        for paper in PAPERS:
            out.line(reproduce_page.heading(paper), style="bold")
            out.result(reproduce_page.listing(paper))
        out.text("* processor time: measured if known, otherwise estimated.")
        out.text("noisewise reproduce PAPER [TABLE] --quick runs one, by number or name; --stored shows our full runs at once.")
        return
    if arguments.stored and arguments.quick:
        raise ResultError("only full runs are stored", found="--stored and --quick", remedy="leave one of them out")
    found, chosen = [], _chosen(arguments.paper, arguments.table)
    directory = "" if arguments.stored else _checked(chosen, arguments.data)
    for paper, studies in chosen:
        if arguments.stored:
            results = page.RESULTS / f"paper_{paper.number}"
        else:
            results = run(paper, studies, arguments, directory, out)
            if arguments.store:
                _store(paper, results, arguments)
        found.append(_shown(paper, studies, results, arguments, out))
    out.document({"quick": arguments.quick, "stored": arguments.stored, "papers": found})


def _chosen(name: str, table: str | None) -> list[tuple[Paper, tuple[Study, ...]]]:
    if name == "all" and table is None:
        return [(paper, paper.studies) for paper in PAPERS]
    if name == "all":
        raise ResultError("a table, figure or study belongs to one paper", found=f"all and {table}",
                          remedy="name the paper, or leave the table out")
    paper = paper_of(name)
    if paper is None:
        raise ResultError("no paper has this number or name", found=name,
                          remedy="one of " + ", ".join(f"{one.number} ({one.name})" for one in PAPERS) + ", or all")
    studies = paper.chosen(table)
    if not studies:
        raise ResultError(f"paper {paper.number} has no such table, figure or study", found=str(table),
                          remedy="one of " + ", ".join(f"{one.name} ({one.covers})" for one in paper.studies))
    return [(paper, studies)]


def run(paper: Paper, studies: Sequence[Study], arguments: argparse.Namespace, directory: str, out: Output) -> Path:
    """Run all missing cells and return the folder of the results."""
    folder: Path = _folder(paper, arguments)
    results, cells = folder / "results" / f"paper_{paper.number}", folder / "cells"
    for place in (results, cells):
        place.mkdir(parents=True, exist_ok=True)
    groups = [Cell(study.name, group, cells / _name(study, group)) for study in studies
              for group in study.task_groups(arguments.quick, directory)]
    missing = [one for one in groups if not (arguments.resume and one.path.exists())]
    if len(missing) < len(groups):
        out.note(f"{len(groups) - len(missing)} of {len(groups)} cells are already done ({folder}).")
    failed: list[str] = []
    with out.run().bar(f"Paper {paper.number}", "cells") as tick:
        done = 0
        begun = threading.Timer(PATIENCE_SECONDS + 0.1, lambda: tick(done, len(missing)))  # a bar receives nothing earlier
        begun.daemon = True
        begun.start()

        def keep(cell: Cell, found: tuple[Lines, float] | None, seconds: float) -> None:
            nonlocal done
            done += 1
            if found is None:
                failed.append(cell.study)
            else:
                _write_whole(cell.path, json.dumps({"seconds": found[1], "elapsed": seconds, "lines": found[0]}, default=_plain))
            tick(done, len(missing))

        try:
            each_in_a_process(perform, missing, keep, arguments.workers, TIMEOUT_SECONDS)
        finally:
            begun.cancel()
    for study in studies:
        _assemble(study, [one.path for one in groups if one.study == study.name], results, arguments)
    for name, count in Counter(failed).items():
        out.warn(f"{count} cells of {name} have no result, so it is not judged", ("remedy", "run the same command to try again"))
    return results


def _name(study: Study, group: tuple[Task, ...]) -> str:
    """The name of the file of a group of cells. It depends on the settings, but not on where the data lie."""
    said = [(task.function, {key: value for key, value in task.arguments.items() if key != "directory"}) for task in group]
    return f"{study.name}-{hashlib.sha256(repr((__version__, said)).encode()).hexdigest()[:16]}.json"


def _assemble(study: Study, cells: Sequence[Path], results: Path, arguments: argparse.Namespace) -> None:
    """Write the files of results of a study whose cells are complete."""
    if not cells or not all(path.exists() for path in cells):
        return
    found = [json.loads(path.read_text(encoding="utf-8")) for path in cells]
    together: Lines = {}
    for one in found:
        for name, lines in one["lines"].items():
            together.setdefault(name, []).extend(lines)
    for name, lines in together.items():
        write(lines, results / f"{name}.csv")
    elapsed = [one.get("elapsed") for one in found]
    path = results / page.MEASURED
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    before[study.name] = {"date": datetime.now(UTC).date().isoformat(), "quick": arguments.quick,
                          "seconds": round(sum(one["seconds"] for one in found)),
                          "elapsed": None if None in elapsed else round(sum(elapsed)),
                          "workers": arguments.workers, "settings": dict(study.quick if arguments.quick else study.full)}
    _write_whole(path, json.dumps(before, indent=1, ensure_ascii=False) + "\n")


def _shown(paper: Paper, studies: Sequence[Study], results: Path, arguments: argparse.Namespace, out: Output) -> dict[str, Any]:
    """Print the table, write the page with its pictures, and return the paper's JSON."""
    names = {study.name for study in studies}
    ready = {study.name for study in studies if page.measured(results, study.name)}
    targets = [one for one in paper.report.targets(results) if one.study in names and (one.study in ready or one.measured == "–")]
    out.line(reproduce_page.heading(paper), style="bold")
    out.result(reproduce_page.terminal_table(targets))
    missing = [study.name for study in studies if study.name not in ready]
    if missing:
        out.line(f"Not run: {', '.join(missing)}")
    out.line(reproduce_page.counted(targets))
    said: dict[str, Any] = {"paper": paper.number, "name": paper.name, "targets": [_json(one) for one in targets],
                            "not_run": missing, "verdicts": Counter(str(one.verdict) for one in targets)}
    if not arguments.stored:
        folder = _folder(paper, arguments)
        files = reproduce_page.write_folder(paper, targets, results, folder, arguments.quick)
        out.line(f"Page, pictures and files of results: {folder}")
        said |= {"folder": folder, "files": files}
    return said


def _json(target: Target) -> dict[str, Any]:
    return asdict(target) | {"verdict": str(target.verdict)}


def _folder(paper: Paper, arguments: argparse.Namespace) -> Path:
    base = arguments.output or Path("noisewise-reproduce")
    return Path(base) / (f"{paper.number}-{paper.name}" + ("-quick" if arguments.quick else ""))


def _checked(chosen: Sequence[tuple[Paper, Sequence[Study]]], directory: Path | None) -> str:
    """The folder of the data, if it holds all files needed. Checked before anything runs."""
    needed = list(dict.fromkeys(name for _, studies in chosen for study in studies for name in study.data))
    missing = [DATA[name] for name in needed if directory is None or not (directory / name).exists()]
    if missing:
        names = ", ".join(one.file for one in missing)
        found = "no --data" if directory is None else f"{directory} without {names}" if directory.is_dir() else \
            f"{directory}, which is not a folder"
        papers = [paper.number for paper, studies in chosen if any(study.data for study in studies)]
        who = f"paper {papers[0]} needs" if len(papers) == 1 else f"papers {', '.join(papers[:-1])} and {papers[-1]} need"
        raise DataError(f"{who} data files, which are public and not part of noisewise", found=found,
                        remedy="\n".join(["give --data FOLDER with gzipped CSV files:", *(
                            f"    {one.file}: {one.what}; columns {one.columns}; from {one.source}" for one in missing)]))
    return "" if directory is None else str(directory.resolve())


def _store(paper: Paper, results: Path, arguments: argparse.Namespace) -> None:
    """Store the results of a full run, or the times and verdicts of a quick one."""
    if arguments.quick:
        stored = reproduce_quick.stored() | {paper.number: reproduce_quick.of_run(paper, results)}
        _write_whole(reproduce_quick.FILE, json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False) + "\n")
        return
    kept = page.RESULTS / f"paper_{paper.number}"
    said = json.loads((kept / page.MEASURED).read_text(encoding="utf-8")) if (kept / page.MEASURED).exists() else {}
    said |= json.loads((results / page.MEASURED).read_text(encoding="utf-8"))
    for path in results.glob("*.csv"):
        _write_whole(kept / path.name, path.read_text(encoding="utf-8"))
    _write_whole(kept / page.MEASURED, json.dumps(said, indent=1, ensure_ascii=False) + "\n")


def _write_whole(path: Path, text: str) -> None:
    """Write a file as a whole, so that Ctrl-C leaves no part of one."""
    part = path.with_suffix(path.suffix + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


if __name__ == "__main__":
    main()
