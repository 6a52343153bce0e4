"""``noisewise doctor``: whether this installation does what it should, line by line, with one small function for each.

Nothing is downloaded, no table is read, nothing is spent.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import typer

from noisewise.cli.guard import FAILED, guarded
from noisewise.cli.output import Output
from noisewise.errors import NoisewiseError
from noisewise.run import QUIET

if TYPE_CHECKING:
    from packaging.requirements import Requirement

State: TypeAlias = Literal["ok", "warning", "problem"]
STYLES: Final = {"ok": "green", "warning": "yellow", "problem": "bold red"}

EXTRAS: Final = {
    "polars": "tables of polars",
    "postgres": "rows and ledgers in PostgreSQL",
    "duckdb": "rows in DuckDB files",
    "spark": "tables of Spark",
    "sklearn": "estimators for scikit-learn",
    "arviz": "posteriors for ArviZ",
}
LITTLE: Final = {"memory": 1.0, "disk": 0.5}
"""In GB: less may be too little for compiling and for a release's temporary files."""

COLUMNS, DRAWS, NOISE_TOLERANCE = 60, 4, 0.1
"""60 columns have 1,830 sums, drawn four times: the standard deviation of so many is known to 1 %, so 10 % is no chance."""


class Finding(NamedTuple):
    """One line: what was looked at, whether it is well, what was found, and what to do about it."""

    name: str
    state: State
    found: str
    remedy: str = ""

    @classmethod
    def of(cls, name: str, fine: bool, found: str, remedy: str, otherwise: State = "problem") -> Finding:
        """The remedy only where it is not well."""
        return cls(name, "ok", found) if fine else cls(name, otherwise, found, remedy)


@guarded(holder=False)
def doctor(
    out: Output,
    ledger: Annotated[str | None, typer.Option(help=(
        "Also see whether files can be locked in the folder of this ledger; by default in the present folder."))] = None,
) -> None:
    """Check this installation: versions, JAX, privacy noise, ledgers, and a tiny release and fit.

    It takes some seconds, reads no table, spends nothing and needs no network.
    The exit code is 1 if there is a problem. With --quiet only warnings and problems are shown.

    Example: noisewise doctor --ledger budget.db
    """
    findings = []
    checks = all_checks(ledger)
    while finding := _next(out, checks):
        findings.append(finding)
        if finding.state != "ok" or not out.quiet:
            out.labelled(f"{finding.state:<8} ", STYLES[finding.state], f"{finding.name}: {finding.found}")
        if finding.remedy:
            out.labelled("         ", "dim", f"remedy: {finding.remedy}")
    count = Counter(finding.state for finding in findings)
    words = (f"{count[state] or 'no'} {state}{'' if count[state] == 1 else 's'}" for state in ("problem", "warning"))
    out.explain()
    out.heading(f"{len(findings)} checks: {', '.join(words)}.",
                style=STYLES["problem" if count["problem"] else "warning" if count["warning"] else "ok"])
    out.document({"checks": [finding._asdict() for finding in findings], "problems": count["problem"],
                  "warnings": count["warning"]})
    if count["problem"]:
        raise typer.Exit(FAILED)


def _next(out: Output, checks: Iterator[Finding]) -> Finding | None:
    with out.working("Checking"):
        return next(checks, None)


def all_checks(ledger: str | None) -> Iterator[Finding]:
    """Every check in turn; one that breaks is a problem itself, and the others go on."""
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "versions": _versions, "extras": _extras, "terminal": _terminal, "clock": _clock, "room": _room, "JAX": _jax,
        "cache": _cache, "linear algebra": _linear_algebra, "random bytes": _random_bytes, "privacy noise": _noise,
        "ledger": lambda: _ledger(ledger), "release and fit": _release_and_fit,
    }
    for name, check in checks.items():
        try:
            yield from check()
        except Exception as error:  # whatever it is: it must be told, not raised
            remedy = (isinstance(error, NoisewiseError) and error.advice) or "install noisewise again"
            yield Finding(name, "problem", f"{type(error).__name__}: {error}", remedy)


def _versions() -> Iterator[Finding]:
    from packaging.specifiers import SpecifierSet

    from noisewise.version import __version__

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("noisewise", "ok", __version__)
    try:
        wanted = SpecifierSet(importlib.metadata.metadata("noisewise")["Requires-Python"])
    except importlib.metadata.PackageNotFoundError:
        yield Finding("Python", "ok", python)
        yield Finding("packages", "warning", "noisewise is not installed as a package, so that versions cannot be compared",
                      "install it: pip install noisewise")
        return
    fits = python in wanted
    yield Finding.of("Python", fits, python + ("" if fits else f", where noisewise asks for {wanted}"), "install a newer Python")
    needed = list(_requirements(""))
    wrong = list(filter(None, map(_amiss, needed)))
    yield Finding.of("packages", not wrong, "; ".join(wrong) or f"all {len(needed)} as asked for",
                     "pip install --upgrade noisewise")


def _requirements(extra: str) -> Iterator[Requirement]:
    """What is asked for without any extra, or what this one adds."""
    from packaging.requirements import Requirement

    for text in importlib.metadata.requires("noisewise") or ():
        requirement = Requirement(text)
        always = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if wanted and (always == (extra == "")):
            yield requirement


def _amiss(requirement: Requirement) -> str | None:
    """What is wrong with the installed version, if anything."""
    version = _version_of(requirement.name)
    if version is None:
        return f"{requirement.name} is missing"
    fits = requirement.specifier.contains(version, prereleases=True)
    return None if fits else f"{requirement.name} {version}, where {requirement.specifier} is asked for"


def _version_of(package: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return None


def _extras() -> Iterator[Finding]:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # which has been told
        for extra, purpose in EXTRAS.items():
            needed, how = list(_requirements(extra)), f"pip install 'noisewise[{extra}]'"
            wrong = {requirement.name: words for requirement in needed if (words := _amiss(requirement))}
            if not wrong:
                yield Finding(f"extra {extra}", "ok", f"installed, for {purpose}")
            elif not any(map(_version_of, wrong)):
                yield Finding(f"extra {extra}", "ok", f"not installed; it is for {purpose}: {how}")
            else:
                yield Finding(f"extra {extra}", "warning", f"{'; '.join(wrong.values())}; it is for {purpose}", how)


def _terminal() -> Iterator[Finding]:
    encoding = sys.stdout.encoding or "none"
    try:
        "ε ≤ – ×".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        yield Finding("terminal", "warning", f"its encoding is {encoding}, so that some signs become question marks",
                      "set the environment variable PYTHONUTF8=1, or choose a UTF-8 locale")
    else:
        yield Finding("terminal", "ok", f"encoding {encoding}, {shutil.get_terminal_size().columns} characters wide")


def _clock() -> Iterator[Finding]:
    import noisewise.version

    now = time.time()
    words = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    fine = now >= os.path.getmtime(noisewise.version.__file__) - 86_400
    yield Finding.of("clock", fine, words + ("" if fine else ", which is before noisewise was installed"),
                     "set the clock: ledgers and releases are dated by it", "warning")


def _room() -> Iterator[Finding]:
    memory = _free_memory()
    if memory is not None:
        yield Finding.of("memory", memory >= LITTLE["memory"], f"{memory:.1f} GB free",
                         "close other programs, or fit on a larger machine", "warning")
    for name, folder in (("disk, this folder", "."), ("disk, temporary files", tempfile.gettempdir())):
        free = shutil.disk_usage(folder).free / 1e9
        yield Finding.of(name, free >= LITTLE["disk"], f"{free:,.1f} GB free", "make room", "warning")


def _free_memory() -> float | None:
    """In GB, where the system tells."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return float(lines["MemAvailable"].split()[0]) * 1024 / 1e9
    except (OSError, KeyError, ValueError):
        return None


def _jax() -> Iterator[Finding]:
    import jax

    from noisewise.posterior.kernels.jax_setup import double_precision

    devices = ", ".join(sorted({f"{device.platform} ({device.device_kind})" for device in jax.devices()}))
    with double_precision():
        third = jax.numpy.asarray(1.0) / 3.0
    fine = third.dtype == "float64" and float(third) == 1 / 3
    yield Finding.of("JAX", fine, f"{jax.__version__} on {devices}" + (
        ", in double precision" if fine else f" computes {third.dtype}, not in double precision"),
        "try with the environment variable JAX_PLATFORMS=cpu")


def _cache() -> Iterator[Finding]:
    from noisewise.posterior.kernels.jax_setup import cache_folder

    folder = Path(cache_folder())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".noisewise-"):
            pass
    except OSError as error:
        yield Finding("cache", "warning", f"{folder}: {error.strerror}, so that every fit is compiled anew, which takes seconds",
                      "set the environment variable NOISEWISE_CACHE_DIR to a folder that can be written to")
    else:
        yield Finding("cache", "ok", f"{folder} can be written to")


def _linear_algebra() -> Iterator[Finding]:
    import numpy  # noqa: F401  # so that its library is loaded
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool.get("user_api") == "blas"]
    words = ", ".join(sorted({f"{pool['internal_api']} with {pool['num_threads']} "
                              f"{'thread' if pool['num_threads'] == 1 else 'threads'}" for pool in pools}))
    yield Finding("linear algebra", "ok", f"{words or 'no BLAS that can be asked'}; {os.cpu_count()} processors")


def _random_bytes() -> Iterator[Finding]:
    first, second = os.urandom(32), os.urandom(32)
    fine = first != second and any(first)
    yield Finding.of("random bytes", fine, f"the operating system {'gives them' if fine else 'repeats itself'}",
                     "do not release anything on this machine")


def _noise() -> Iterator[Finding]:
    """Draws noise for sums that are all zero, by the mechanisms themselves, and compares it with what they promise."""
    import numpy as np

    from noisewise.holder.gram import plan_gram
    from noisewise.schema import Basis, Schema

    names = [f"x{number}" for number in range(COLUMNS)]
    basis = Basis.of(Schema.from_dict({"adjacency": "add-remove", "columns": {name: {"bounds": [0, 1]} for name in names}}))
    zeros: Any = np.zeros((basis.size, basis.size), dtype=np.int64)
    for name, delta in (("gaussian", 1e-6), ("laplace", None)):
        mechanism = plan_gram(basis, 1.0, delta, name)
        promised = mechanism.entry_sd()[1]
        sums = np.concatenate([mechanism.perturb(zeros)[np.triu_indices_from(zeros, k=1)]  # type: ignore[call-arg]
                               for _ in range(DRAWS)])
        ratio = math.sqrt(float(np.mean(sums**2))) / promised
        yield Finding.of(f"{name} noise", abs(ratio - 1) < NOISE_TOLERANCE,
                         f"its standard deviation is {ratio:.3f} times what is promised, in {len(sums):,} draws",
                         "do not release anything; install opendp again, and report this")


def _ledger(place: str | None) -> Iterator[Finding]:
    """Whether of two who want to write, one has to wait: a budget could be spent twice otherwise."""
    if place is not None and "://" in place:
        yield Finding("ledger", "ok", "on a server, which locks by itself")
        return
    folder = Path("." if place is None else place).resolve()
    folder = folder if place is None else folder.parent
    which = "this folder" if place is None else str(folder)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".noisewise-") as temporary:
            locked = _locks(Path(temporary) / "ledger.db")
    except OSError as error:
        state: State = "warning" if place is None else "problem"
        yield Finding("ledger", state, f"{which}: {error.strerror}", "choose a folder that exists and can be written to")
        return
    yield Finding.of("ledger", locked, f"SQLite {sqlite3.sqlite_version} {'locks' if locked else 'cannot lock'} files in {which}",
                     "keep the ledger on a local disk, or in PostgreSQL")


def _locks(path: Path) -> bool:
    with (contextlib.closing(sqlite3.connect(path, isolation_level=None)) as first,
          contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as second):
        first.execute("CREATE TABLE t (x)")
        first.execute("BEGIN IMMEDIATE")
        try:
            second.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def _release_and_fit() -> Iterator[Finding]:
    """The whole way, with made-up rows that have an answer: y is twice x, and then a little more or less in turn."""
    import numpy as np

    import noisewise

    x = np.linspace(0, 1, 2000)
    y = 2 * x + np.resize([-0.5, 0.5], len(x))
    schema = noisewise.Schema.from_dict({"adjacency": "replace-one",
                                         "columns": {"x": {"bounds": [0, 1]}, "y": {"bounds": [-1, 3]}}})
    with tempfile.TemporaryDirectory(prefix="noisewise-") as folder:
        file = Path(folder) / "doctor.nwr"
        noisewise.release({"x": x, "y": y}, schema, epsilon=1e6, delta=1e-6, run=QUIET).save(file)
        found = noisewise.fit("y ~ x", noisewise.load(file), method="laplace", draws=250, seed=1, run=QUIET)
    slope = float(found.draws("x").mean())
    yield Finding.of("release and fit", abs(slope - 2) < 0.1, f"a made-up table with slope 2 gives {slope:.2f}",
                     "please report this with the output of noisewise doctor --json")
