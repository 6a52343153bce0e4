"""Mutation testing: which small faults in a folder of the source do the tests notice?

    python -m tests.mutation.run --source src/noisewise/privacy --results mutation.jsonl [--minutes 60] [--only sensitivity]
    python -m tests.mutation.report mutation.jsonl

No file is changed: a fault is put into the memory of a process that is split off (Linux and macOS). First all tests run once, to
learn how long each takes and which lines it reaches; ``--map`` keeps that, and only files of tests that have changed run again.
Then, for each mutant, the tests that reach its line run, those that are about little else first, until one fails. All is imported
once; only a fault outside of functions costs an import.

Mutants are taken by turns from all files in a random order of a fixed seed, so that a run that ends early (``--minutes``) is a
sample of each file. With the same results file a run goes on where the last one ended; a source that has changed is run again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from tests.mutation.live import MutatedImport, put_into_function
from tests.mutation.mutants import Mutant, mutants, mutated
from tests.mutation.report import VERDICTS, digest, read_verdicts

TESTS = ("tests/privacy", "tests/unit/privacy", "tests/noise", "tests/contract/test_mechanisms.py", "src/noisewise/privacy")
LEFT_OUT = ("test_postgres.py",)
"""Tests that start a server, which a process that is killed would leave behind."""
LOOK = 1.0
"""Seconds that a test takes at most which runs no function of the source and only looks at a constant."""
MEMORY = 12 * 2**30
SEED = 20_261_116
PASSED, FAILED, NOT_LOADED = 0, 10, 11


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--source", type=Path, default=Path("src/noisewise/privacy"), help="the folder or file to mutate")
    parser.add_argument("--root", type=Path, default=Path("src"), help="the folder that modules are imported from")
    parser.add_argument("--tests", nargs="+", default=list(TESTS), help="files and folders of tests")
    parser.add_argument("--results", type=Path, required=True, help="a file to add results to, one line of JSON for each mutant")
    parser.add_argument("--map", type=Path, default=None, help="which test reaches which line (default: beside the results)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seconds", type=float, default=45.0, help="of tests for one mutant at most, as they took at first")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the paths of the files to mutate")
    parser.add_argument("--again", nargs="*", default=None, metavar="RESULT", help="run again mutants with these results and "
                        "without a verdict, for example survived, after tests were added")
    options = parser.parse_args(arguments)
    options.map = options.map or options.results.with_suffix(".map.json")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    known, again = _known(options.results) if options.results.exists() else {}, None
    if options.again is not None:
        judged = read_verdicts(VERDICTS)
        again = {key for key, line in known.items() if line["result"] in options.again
                 and judged.of(line)[0] == "not judged"}
    if _in_child(lambda: _pytest(options.tests, _Mapper(options))) not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit("the tests fail without any fault, or could not be run")
    found = json.loads(options.map.read_text())
    reached = _Reached(found["lines"], found["times"], found["set_up"])
    code = _pytest(options.tests, _Runner(options, reached, lambda key: key in again if again is not None else key not in known))
    raise SystemExit(code)


def _pytest(tests: list[str], plugin: object) -> int:
    left_out = [f"--ignore-glob=*{name}" for name in LEFT_OUT]
    options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]  # both rings
    return int(pytest.main([*options, *left_out, *tests], plugins=[plugin]))


def _known(results: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return {(line["file"], line["digest"], line["place"]): line for line in lines}


class _Quick:
    """Hypothesis looks the same way each time, remembers nothing and does not simplify what it finds."""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("mutation", parent=settings(), database=None, derandomize=True,
                                  phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutation")


class _Mapper(_Quick):
    """Runs tests once and writes down which lines of the source each reaches, and how long it takes.

    What is known of a file of tests is kept as long as neither it nor the source has changed.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        import coverage

        self.options = options
        self.coverage = coverage.Coverage(data_file=None, config_file=False,
                                          include=[str(path.resolve()) for path in _sources(options.source)])
        self.source = digest("".join(path.read_text(encoding="utf-8") for path in _sources(options.source)))
        known = json.loads(options.map.read_text()) if options.map.exists() else {}
        self.known = known if known.get("source") == self.source else {"files": {}, "times": {}, "set_up": {}, "lines": {}}
        self.files: dict[str, str] = {}
        self.times: dict[str, float] = defaultdict(float)
        self.set_up: dict[str, str] = {}
        self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.files = {str(item.path): digest(item.path.read_text(encoding="utf-8")) for item in items}
        items[:] = [item for item in items if self.known["files"].get(str(item.path)) != self.files[str(item.path)]]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(f"file {item.path}")  # what a fixture of a module does is for all of its tests
        _forget_in("".join(Path(self.options.source).parts[-1:]))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        self.set_up[item.nodeid] = f"file {item.path}"
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.times[report.nodeid] += report.duration

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.coverage.stop()
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return
        new = {file for file, digest in self.files.items() if self.known["files"].get(file) != digest}
        kept = {test: file for test, file in self.known["set_up"].items() if file.removeprefix("file ") not in new}
        contexts = {*kept, *kept.values()}
        lines: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for file, reached in self.known["lines"].items():
            for line, tests in reached.items():
                lines[file][line] |= contexts & set(tests)
        data = self.coverage.get_data()
        for file in data.measured_files():
            for number, tests in data.contexts_by_lineno(file).items():
                lines[file][str(number)] |= set(tests)
        self.options.map.write_text(json.dumps({
            "source": self.source, "files": {**self.known["files"], **self.files},
            "times": {**{test: self.known["times"][test] for test in kept}, **self.times}, "set_up": {**kept, **self.set_up},
            "lines": {file: {line: sorted(tests) for line, tests in reached.items()} for file, reached in lines.items()}}))


def _forget_in(part: str) -> None:
    """A function that remembers its results would only be reached by the first test that calls it."""
    import functools

    for name, module in list(sys.modules.items()):
        if part.removesuffix(".py") in name:
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


class _Reached:
    def __init__(self, lines: dict[str, dict[str, list[str]]], times: dict[str, float], set_up: dict[str, str]) -> None:
        self.lines, self.times = lines, times
        self.of_file: dict[str, list[str]] = defaultdict(list)
        for test, file in set_up.items():
            self.of_file[file].append(test)
        self.breadth: Counter[str] = Counter()
        for reached in lines.values():
            self.breadth.update({test for found in reached.values() for test in found})

    def tests(self, file: str, mutant: Mutant) -> list[str]:
        """Those that reach it: first those that reach few files, which are about this one, and the fast ones.

        A fault outside of functions is reached by whoever reaches its file, and by tests that only look at a constant.
        """
        lines = self.lines.get(file, {})
        wanted = range(mutant.line, mutant.last_line + 1) if mutant.function else map(int, lines)
        contexts = {context for line in wanted for context in lines.get(str(line), [])}
        found = {test for context in contexts for test in self.of_file.get(context, [context])}
        if not mutant.function:
            found |= {test for test in self.times.keys() - self.breadth.keys() if self.times[test] < LOOK}
        return sorted(found & self.times.keys(), key=lambda test: (self.breadth[test], self.times[test], test))


class _Runner(_Quick):
    """In place of running the tests: one process for each mutant, which runs those that reach it."""

    def __init__(self, options: argparse.Namespace, reached: _Reached, wanted: Callable[[tuple[str, str, int]], bool]) -> None:
        self.options, self.reached, self.wanted = options, reached, wanted
        self.killers: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.until = time.monotonic() + 60 * options.minutes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        waiting = self._waiting()
        with session.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            for number, (file, source, mutant) in enumerate(waiting):
                if time.monotonic() > self.until:
                    break
                result = self._judge(file, source, mutant, items)
                with self.options.results.open("a") as results:
                    results.write(json.dumps(result) + "\n")
                print(f"{number + 1}/{len(waiting)} {result['result']:9} {result['seconds']:6.1f} s  "
                      f"{file}:{mutant.line}  {mutant.change}", flush=True)
        return True

    def _waiting(self) -> list[tuple[Path, str, Mutant]]:
        """What is to be done: from each file in turn, in proportion to its number of mutants, in a random order."""
        found = []
        for path in _sources(self.options.source):
            if any(part in str(path) for part in self.options.only):
                source = path.read_text(encoding="utf-8")
                every = mutants(source)
                random.Random(f"{SEED} {path.name}").shuffle(every)
                found += [((number + 0.5) / len(every), str(path), source, mutant) for number, mutant in enumerate(every)
                          if self.wanted((str(path), digest(source), mutant.place))]
        return [(Path(path), source, mutant) for _, path, source, mutant in sorted(found, key=lambda one: one[:2])]

    def _judge(self, path: Path, source: str, mutant: Mutant, items: dict[str, pytest.Item]) -> dict[str, Any]:
        killers = self.killers[str(path), mutant.function]
        every = [test for test in self.reached.tests(str(path.resolve()), mutant) if test in items]
        first = [test for test in killers if test in every]
        tests, total = [], 0.0
        for test in [*first, *(test for test in every if test not in first)]:
            if total + self.reached.times[test] > self.options.seconds and tests:
                continue  # a slow one is left out, and not the quick ones behind it
            total += self.reached.times[test]
            tests.append(test)
        began = time.monotonic()
        answer, killer = self._in_process(path, source, mutant, [items[test] for test in tests]) if tests else ("survived", "")
        if answer == "not loaded" or (answer == "survived" and tests and not mutant.function):
            answer, killer = self._imported(path, source, mutant, tests)
        if killer in killers:
            killers.remove(killer)
        if killer:
            killers.insert(0, killer)
            del killers[5:]
        return {"file": str(path), "digest": digest(source), **asdict(mutant), "result": answer, "killer": killer,
                "tests": len(tests), "left_out": len(every) - len(tests), "seconds": round(time.monotonic() - began, 2)}

    def _in_process(self, path: Path, source: str, mutant: Mutant, tests: list[pytest.Item]) -> tuple[str, str]:
        """Put into a copy of this process, where everything is loaded."""
        if not mutant.function:
            return "not loaded", ""

        def work(tell: Any) -> int:
            module = sys.modules.get(_module(path, self.options.root))
            if module is None or not put_into_function(module, mutated(source, mutant.place), mutant.function):
                return NOT_LOADED
            for test, following in zip(tests, [*tests[1:], None], strict=True):
                tell(test.nodeid)
                _end_after(self._limit(test.nodeid))
                if any(report.failed for report in runtestprotocol(test, log=False, nextitem=following)):
                    return FAILED
            return PASSED

        return _outcome(work)

    def _imported(self, path: Path, source: str, mutant: Mutant, tests: list[str]) -> tuple[str, str]:
        """Put into a module before it is imported, in a copy of this process that has forgotten the package."""
        runner = self

        class Watch(_Quick):
            failed = False

            def __init__(self, tell: Any, mutant: MutatedImport) -> None:
                self.tell, self.mutant = tell, mutant

            def pytest_collection(self) -> None:
                self.mutant.install()  # again, before the hook that would import a file that is named from its source
                super().pytest_collection()

            def pytest_runtest_logstart(self, nodeid: str) -> None:
                self.tell(nodeid)
                _end_after(runner._limit(nodeid))

            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                self.failed |= report.failed

            def pytest_collectreport(self, report: pytest.CollectReport) -> None:
                self.failed |= report.failed

        def work(tell: Any) -> int:
            _end_after(120.0)
            name = _module(path, self.options.root)
            for loaded, module in list(sys.modules.items()):  # forget the package and the tests, but not this tool
                here = str(getattr(module, "__file__", None)).startswith(f"{Path.cwd()}{os.sep}")
                if (here or loaded.split(".")[0] == name.split(".")[0]) and not loaded.startswith("tests.mutation"):
                    del sys.modules[loaded]
            fault = MutatedImport(name, str(path.resolve()), mutated(source, mutant.place))
            fault.install()
            watch = Watch(tell, fault)
            code = _pytest(tests, watch)
            return PASSED if code == 0 and not watch.failed else FAILED

        return _outcome(work)

    def _limit(self, test: str) -> float:
        return 5 + 6 * self.reached.times.get(test, 1.0)


def _outcome(work: Any) -> tuple[str, str]:
    """What became of a process: the name of a result, and the test that it was busy with when it failed."""
    read, write = os.pipe()
    last = ""

    def tell(test: str) -> None:
        os.write(write, test.encode() + b"\n")

    status = _in_child(lambda: work(tell), wait=False)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        for line in pipe:
            last = line.decode().strip()
    _, status = os.waitpid(status, 0)
    if os.WIFSIGNALED(status):
        return ("timeout" if os.WTERMSIG(status) == signal.SIGALRM else "error"), last
    names = {PASSED: "survived", FAILED: "killed", NOT_LOADED: "not loaded"}
    result = names.get(os.WEXITSTATUS(status), "error")  # what no test reported is nobody's merit
    return result, last if result == "killed" else ""


def _in_child(work: Any, wait: bool = True) -> int:
    """Run a function in a copy of this process; its exit status, or its number if it is not waited for."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 99
        with contextlib.suppress(BaseException):
            if not wait:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                silent = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(silent, stream)
            code = work()
        os._exit(code)
    if not wait:
        return child
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _end_after(seconds: float) -> None:
    """A mutant that never ends is ended by the system, wherever it is."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _module(path: Path, root: Path) -> str:
    parts = path.resolve().relative_to(root.resolve()).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _sources(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


if __name__ == "__main__":
    main()
