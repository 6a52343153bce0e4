"""``noisewise doctor``: check this installation, one small function per check.

It downloads nothing, reads no table and spends no budget.
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
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

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
    "polars": "polars tables",
    "postgres": "rows and ledgers in PostgreSQL",
    "duckdb": "rows in DuckDB files",
    "spark": "Spark tables",
    "sklearn": "scikit-learn estimators",
    "arviz": "ArviZ posteriors",
}
LITTLE: Final = {"memory": 1.0, "disk": 0.5}
"""Warn below this many GB: compilation or a release's temporary files may not fit."""

COLUMNS, DRAWS, NOISE_TOLERANCE = 60, 4, 0.1
"""60 columns have 1,830 sums, drawn four times. That gives the standard deviation to 1 %; being off by 10 % is not chance."""


class Finding(NamedTuple):
    """The outcome of one check: its name, state, what was found, and the remedy if something is wrong."""

    name: str
    state: State
    found: str
    remedy: str = ""

    @classmethod
    def of(cls, name: str, fine: bool, found: str, remedy: str, otherwise: State = "problem") -> Finding:
        """Return an ok finding if fine; otherwise one with the remedy."""
        return cls(name, "ok", found) if fine else cls(name, otherwise, found, remedy)


@guarded(holder=False)
def doctor(
    out: Output,
    ledger: Annotated[str | None, typer.Option(help=(
        "Test file locking in the folder of this ledger instead of the current folder."))] = None,
) -> None:
    """Check this installation: versions, JAX, privacy noise, ledgers, and a tiny release and fit.

    It takes a few seconds, reads no table, spends no budget and needs no network.
    The exit code is 1 if there is a problem. With --quiet it shows only warnings and problems.

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
    """Run every check in turn. A check that raises counts as a problem, and the others still run."""
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "versions": _versions, "extras": _extras, "terminal": _terminal, "clock": _clock, "room": _room, "JAX": _jax,
        "cache": _cache, "linear algebra": _linear_algebra, "random bytes": _random_bytes, "privacy noise": _noise,
        "ledger": lambda: _ledger(ledger), "release and fit": _release_and_fit,
    }
    for name, check in checks.items():
        try:
            yield from check()
        except Exception as error:  # report any error as a finding instead of raising it
            remedy = (isinstance(error, NoisewiseError) and error.advice) or "reinstall noisewise"
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
        yield Finding("packages", "warning", "noisewise is not installed as a package, so versions cannot be checked",
                      "install it: pip install noisewise")
        return
    fits = python in wanted
    yield Finding.of("Python", fits, python + ("" if fits else f", but noisewise requires {wanted}"), "install a newer Python")
    needed = list(_requirements(""))
    wrong = list(filter(None, map(_amiss, needed)))
    yield Finding.of("packages", not wrong, "; ".join(wrong) or f"all {len(needed)} requirements met",
                     "pip install --upgrade noisewise")


def _requirements(extra: str) -> Iterator[Requirement]:
    """Yield the requirements without extras (""), or those that an extra adds."""
    from packaging.requirements import Requirement

    for text in importlib.metadata.requires("noisewise") or ():
        requirement = Requirement(text)
        always = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if wanted and (always == (extra == "")):
            yield requirement


def _amiss(requirement: Requirement) -> str | None:
    """Return what is wrong with the installed version, if anything."""
    version = _version_of(requirement.name)
    if version is None:
        return f"{requirement.name} is missing"
    fits = requirement.specifier.contains(version, prereleases=True)
    return None if fits else f"{requirement.name} {version}, but noisewise requires {requirement.specifier}"


def _version_of(package: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return None


def _extras() -> Iterator[Finding]:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # already reported by _versions
        for extra, purpose in EXTRAS.items():
            needed, how = list(_requirements(extra)), f"pip install 'noisewise[{extra}]'"
            wrong = {requirement.name: words for requirement in needed if (words := _amiss(requirement))}
            if not wrong:
                yield Finding(f"extra {extra}", "ok", f"installed, for {purpose}")
            elif not any(map(_version_of, wrong)):
                yield Finding(f"extra {extra}", "ok", f"not installed; for {purpose}: {how}")
            else:
                yield Finding(f"extra {extra}", "warning", f"{'; '.join(wrong.values())}; for {purpose}", how)


def _terminal() -> Iterator[Finding]:
    encoding = sys.stdout.encoding or "none"
    try:
        "ε ≤ – ×".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        yield Finding("terminal", "warning", f"encoding {encoding} shows some characters as question marks",
                      "set the environment variable PYTHONUTF8=1, or choose a UTF-8 locale")
    else:
        yield Finding("terminal", "ok", f"encoding {encoding}, {shutil.get_terminal_size().columns} characters wide")


def _clock() -> Iterator[Finding]:
    import noisewise.version

    now = time.time()
    words = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    fine = now >= os.path.getmtime(noisewise.version.__file__) - 86_400
    yield Finding.of("clock", fine, words + ("" if fine else ", which is before noisewise was installed"),
                     "set the clock; ledgers and releases use it for their dates", "warning")


def _room() -> Iterator[Finding]:
    memory = _free_memory()
    if memory is not None:
        yield Finding.of("memory", memory >= LITTLE["memory"], f"{memory:.1f} GB free",
                         "close other programs, or fit on a larger machine", "warning")
    for name, folder in (("disk, this folder", "."), ("disk, temporary files", tempfile.gettempdir())):
        free = shutil.disk_usage(folder).free / 1e9
        yield Finding.of(name, free >= LITTLE["disk"], f"{free:,.1f} GB free", "free some disk space", "warning")


def _free_memory() -> float | None:
    """Return the free memory in GB, or None if the system does not say."""
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
        ", in double precision" if fine else f" computes in {third.dtype}, not in double precision"),
        "try setting the environment variable JAX_PLATFORMS=cpu")


def _cache() -> Iterator[Finding]:
    from noisewise.posterior.kernels.jax_setup import cache_folder

    folder = Path(cache_folder())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".noisewise-"):
            pass
    except OSError as error:
        yield Finding("cache", "warning", f"{folder}: {error.strerror}; every fit compiles again, which takes seconds",
                      "set the environment variable NOISEWISE_CACHE_DIR to a writable folder")
    else:
        yield Finding("cache", "ok", f"{folder} is writable")


def _linear_algebra() -> Iterator[Finding]:
    import numpy  # noqa: F401  # loads its BLAS library
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool.get("user_api") == "blas"]
    words = ", ".join(sorted({f"{pool['internal_api']} with {pool['num_threads']} "
                              f"{'thread' if pool['num_threads'] == 1 else 'threads'}" for pool in pools}))
    yield Finding("linear algebra", "ok", f"{words or 'unknown BLAS'}; {os.cpu_count()} processors")


def _random_bytes() -> Iterator[Finding]:
    first, second = os.urandom(32), os.urandom(32)
    fine = first != second and any(first)
    yield Finding.of("random bytes", fine, f"the operating system {'provides them' if fine else 'returns the same bytes twice'}",
                     "do not release anything on this machine")


def _noise() -> Iterator[Finding]:
    """Perturb a matrix of zeros with the real mechanisms and compare the noise with what they promise."""
    import numpy as np

    from noisewise.holder.gram import plan_gram
    from noisewise.privacy.mechanisms.wishart import SymmetricWishart
    from noisewise.schema import Basis, Schema

    names = [f"x{number}" for number in range(COLUMNS)]
    basis = Basis.of(Schema.from_dict({"adjacency": "add-remove", "columns": {name: {"bounds": [0, 1]} for name in names}}))
    zeros = np.zeros((basis.size, basis.size), dtype=np.int64)
    for name, delta in (("gaussian", 1e-6), ("laplace", None)):
        mechanism = plan_gram(basis, 1.0, delta, name)
        assert not isinstance(mechanism, SymmetricWishart)  # which perturbs other matrices
        promised = mechanism.entry_sd()[1]
        sums = np.concatenate([mechanism.perturb(zeros)[np.triu_indices_from(zeros, k=1)] for _ in range(DRAWS)])
        ratio = math.sqrt(float(np.mean(sums**2))) / promised
        yield Finding.of(f"{name} noise", abs(ratio - 1) < NOISE_TOLERANCE,
                         f"standard deviation is {ratio:.3f} times the promised one, in {len(sums):,} draws",
                         "do not release anything; reinstall opendp and report this")


def _ledger(place: str | None) -> Iterator[Finding]:
    """Check that file locking works: without it, two writers could spend the same budget twice."""
    if place is not None and "://" in place:
        yield Finding("ledger", "ok", "on a server, which does its own locking")
        return
    folder = Path("." if place is None else place).resolve()
    folder = folder if place is None else folder.parent
    which = "this folder" if place is None else str(folder)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".noisewise-") as temporary:
            locked = _locks(Path(temporary) / "ledger.db")
    except OSError as error:
        state: State = "warning" if place is None else "problem"
        yield Finding("ledger", state, f"{which}: {error.strerror}", "choose an existing, writable folder")
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
    """Release and fit made-up rows with a known answer: y is 2x, alternately plus and minus 0.5."""
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
