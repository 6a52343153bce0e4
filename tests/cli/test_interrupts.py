"""Ctrl-C in the middle of every command that takes long: a real signal to a real process, while it reads and after the charge."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.running import HEEDS_CTRL_C, interrupted

import noisewise
from noisewise.privacy.ledger import Ledger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

SLOWLY = """
import os, time
from noisewise.data.reading import RowCounter
usual = RowCounter.add
def slowly(self, rows):
    usual(self, rows)
    os.write(2, b"reading\\n")
    time.sleep(0.3)
RowCounter.add = slowly
"""
"""Each batch is told, so that the signal comes in the middle; in one piece, because two threads tell."""

CHARGED = """
import os, time
from noisewise.privacy.ledger import Ledger
usual = Ledger.charge
def slowly(*given, **more):
    entry = usual(*given, **more)
    os.write(2, b"charged\\n")
    time.sleep(0.5)
    return entry
Ledger.charge = slowly
"""
"""The signal comes after the charge, before any noise is drawn."""

WORK = """
import os, time, noisewise
def work(*given, **more):
    os.write(2, b"working\\n")
    time.sleep(60)
"""
"""In the place of what takes long."""

SCHEMA = """
adjacency = "replace-one"
{unit}
[columns.visits]
bounds = [0, 4]

[columns.age]
bounds = [18, 98]
"""
FORMULA = ("--formula", "visits ~ age")
KINDS: dict[str, tuple[str, ...]] = {
    "gram": ("gram",),
    "averaged": ("gram", "--delta", "1e-7", "--average", "5"),
    "moments": ("moments", "--delta", "1e-7", *FORMULA),
    "adassp": ("adassp", "--delta", "1e-7", *FORMULA),
    "partition": ("partition", *FORMULA, "--parts", "20", "--ask", "posterior-probability of=age at=0"),
    "rows": ("rows",),
    "unit": ("gram",),
}


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, rng = tmp_path_factory.mktemp("big") / "rows.parquet", np.random.default_rng(1)
    pq.write_table(pa.table({"visits": rng.integers(0, 5, 600_000).astype(float), "age": rng.uniform(18, 98, 600_000),
                             "person": rng.integers(0, 200_000, 600_000), "smoker": rng.choice(["no", "yes"], 600_000)}), path,
                   row_group_size=65_536)
    return path


def schema_in(folder: Path, kind: str) -> Path:
    path = folder / "schema.toml"
    path.write_text(SCHEMA.format(unit='unit = { column = "person", max_rows = 2 }' if kind == "unit" else ""))
    return path


@pytest.mark.outer(but=["gram"])
@pytest.mark.parametrize("kind", KINDS)
def test_while_reading_nothing_is_spent_and_nothing_is_written(kind: str, big: Path, tmp_path: Path) -> None:
    schema, output, budget = schema_in(tmp_path, kind), tmp_path / "out.nwr", tmp_path / "budget.db"
    force = ()
    if kind != "rows":  # which replaces no file
        output.write_bytes(b"of an earlier day")
        force = ("--force",)
    Ledger.open(budget, epsilon=3.0, delta=1e-6)
    before = {path.name for path in tmp_path.iterdir()}
    code, said = interrupted(SLOWLY, "reading", "release", *KINDS[kind], big, "-s", schema, "-e", 1, "-o", output,
                             "--ledger", budget, *force)
    assert (code, said) == (130, ["Error: stopped by Ctrl-C; no file was left half-written"])
    assert [entry.what for entry in Ledger.open(budget).entries()] == ["opened"]
    assert {path.name for path in tmp_path.iterdir()} == before
    assert not force or output.read_bytes() == b"of an earlier day"


HOLDERS: dict[str, tuple[object, ...]] = {
    "bounds": ("bounds", "--column", "visits", "--adjacency", "replace-one", "--lower", 0),
    "binary": ("release", "binary", "--column", "smoker", "--rows", 20, "-s", "schema.toml", "-o", "out.nwr"),
}
"""The other commands that are charged to a ledger."""


def holder_command(name: str, table: Path, folder: Path) -> tuple[object, ...]:
    (folder / "schema.toml").write_text(SCHEMA.format(unit="") + '\n[columns.smoker]\nlevels = ["no", "yes"]\n')
    return (*(folder / word if word in ("schema.toml", "out.nwr") else word for word in HOLDERS[name]), table, "-e", 1,
            "--ledger", folder / "budget.db")


@pytest.mark.outer
@pytest.mark.parametrize("name", HOLDERS)
def test_other_commands_that_read_rows(name: str, big: Path, tmp_path: Path) -> None:
    Ledger.open(tmp_path / "budget.db", epsilon=3.0, delta=1e-6)
    command = holder_command(name, big, tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    code, said = interrupted(SLOWLY, "reading", *command)
    assert (code, said) == (130, ["Error: stopped by Ctrl-C; no file was left half-written"])
    assert [entry.what for entry in Ledger.open(tmp_path / "budget.db").entries()] == ["opened"]
    assert {path.name for path in tmp_path.iterdir()} == before


def small_table(folder: Path) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"visits": np.ones(900), "age": np.full(900, 40.0), "smoker": np.resize(["no", "yes"], 900)}), path)
    return path


@pytest.mark.outer(but=["gram"])
@pytest.mark.parametrize("kind", ["gram", pytest.param("rows", marks=pytest.mark.slow), *HOLDERS])
def test_after_the_charge_the_release_is_kept_and_asking_again_is_free(kind: str, nw: Any, tmp_path: Path) -> None:
    rows, output, budget = small_table(tmp_path), tmp_path / "out.nwr", tmp_path / "budget.db"
    Ledger.open(budget, epsilon=3.0, delta=1e-6)
    command: tuple[object, ...]
    if kind in HOLDERS:
        command, output = holder_command(kind, rows, tmp_path), tmp_path / "out.nwr"
    else:
        command = ("release", *KINDS[kind], rows, "-s", schema_in(tmp_path, kind), "-e", 1, "-o", output, "--ledger", budget)
    code, said = interrupted(CHARGED, "charged", *command)
    assert (code, said) == (130, ["Error: stopped by Ctrl-C; the ledger keeps the release; request it again at no cost"])
    assert [entry.what for entry in Ledger.open(budget).entries()] == ["opened", "charged", "released"]
    assert not output.exists() and not list(tmp_path.glob(".noisewise-*"))
    assert nw(*command).exit_code == 0
    assert (output.exists() or kind == "bounds") and len(Ledger.open(budget).entries()) == 3


THIRD_TABLE = """
from noisewise.synthetic.sets import SyntheticData
usual = SyntheticData.batches
SyntheticData.batches = lambda self, number: work() if number == 2 else usual(self, number)
"""
"""Two tables are written before."""

ANALYSTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fit": ("noisewise.fit = work", ("fit", "RELEASE", "stay ~ age", "--save", "NEW/a.npz", "--csv", "NEW/a.csv")),
    "synthesize": (THIRD_TABLE, ("synthesize", "RELEASE", "--out", "NEW/folder", "--rows", "10")),
    "compare": ("noisewise.compare = work", ("compare", "RELEASE", "stay ~ age", "--csv", "NEW/a.csv")),
    "estimate": ("noisewise.fit_sum = work", ("estimate", "RELEASE", "-c", "age", "-f", "normal", "--csv", "NEW/a.csv")),
    "plan partition": ("noisewise.suggest_parts = work", ("plan", "partition", "--rows", "9000", "--predictors", "2", "-e", "1")),
    "audit": ("noisewise.audit = work", ("audit",)),
    "show": ("noisewise.load = work", ("show", "RELEASE")),
    "doctor": ("noisewise.fit = work", ("doctor",)),
}
"""What takes long in a command, and the command; the first two are tried every time."""


@pytest.mark.outer
@pytest.mark.parametrize("name", [name if place < 2 else pytest.param(name, marks=pytest.mark.slow)
                                  for place, name in enumerate(ANALYSTS)])
def test_commands_that_spend_nothing_stop_in_one_line_and_leave_no_file(name: str, release: Path, tmp_path: Path) -> None:
    long_work, command = ANALYSTS[name]
    new = tmp_path / "new"
    new.mkdir()
    given = [str(release) if word == "RELEASE" else word.replace("NEW", str(new)) for word in command]
    code, said = interrupted(f"{WORK}\n{long_work}", "working", *given)
    assert code == 130 and len(said) == 1 and said[0].startswith("Error: stopped by Ctrl-C")
    assert not list(new.iterdir())


AT_ONCE = """
import os, signal, sys
class Now:
    def find_spec(self, name, path=None, target=None):
        if name == "noisewise.cli.app":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Now())
"""
"""The signal comes when the commands are about to be imported."""


def test_before_anything_that_takes_a_moment_is_imported() -> None:
    program = f"{HEEDS_CTRL_C}\n{AT_ONCE}\nfrom noisewise.cli.program import main; main()"
    finished = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, timeout=600)
    assert (finished.returncode, finished.stdout, finished.stderr) == (130, "", "Error: stopped by Ctrl-C\n")


def test_a_library_that_makes_another_error_of_it(nw: Any, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half_imported(*_: object, **__: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("the extension could not be loaded")  # noqa: B904  # as libraries do

    monkeypatch.setattr(noisewise, "load", half_imported)
    result = nw("show", release)
    assert (result.exit_code, result.stderr) == (130, "Error: stopped by Ctrl-C\n")


IN_A_CALLBACK = """
import os, signal, time, noisewise
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
def work(*given, **more):
    Last()
    time.sleep(60)
noisewise.load = work
"""
"""The signal comes where Python drops what is raised, as in the callbacks of the garbage collector that JAX has."""


def test_one_that_python_drops_is_heard_nevertheless(process: Any, release: Path) -> None:
    finished = process("show", release, before=f"{HEEDS_CTRL_C}\n{IN_A_CALLBACK}")
    assert (finished.returncode, finished.stderr) == (130, "Error: stopped by Ctrl-C\n")


@pytest.mark.outer
def test_a_request_of_the_system_to_end_is_the_same_while_reading(big: Path, tmp_path: Path) -> None:
    schema, output, budget = schema_in(tmp_path, "gram"), tmp_path / "out.nwr", tmp_path / "budget.db"
    Ledger.open(budget, epsilon=3.0, delta=1e-6)
    before = {path.name for path in tmp_path.iterdir()}
    code, said = interrupted(SLOWLY, "reading", "release", big, "-s", schema, "-e", 1, "-o", output, "--ledger", budget,
                             by=signal.SIGTERM)
    assert (code, said) == (143, ["Error: stopped by the system (SIGTERM); no file was left half-written"])
    assert [entry.what for entry in Ledger.open(budget).entries()] == ["opened"]
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.outer
def test_and_after_the_charge_the_release_is_kept(tmp_path: Path) -> None:
    rows, output, budget = small_table(tmp_path), tmp_path / "out.nwr", tmp_path / "budget.db"
    Ledger.open(budget, epsilon=3.0, delta=1e-6)
    code, said = interrupted(CHARGED, "charged", "release", rows, "-s", schema_in(tmp_path, "gram"), "-e", 1, "-o", output,
                             "--ledger", budget, by=signal.SIGTERM)
    assert code == 143 and said[0].startswith("Error: stopped by the system (SIGTERM); the ledger keeps the release")
    assert [entry.what for entry in Ledger.open(budget).entries()] == ["opened", "charged", "released"]


OTHER_PROCESS = """
import noisewise.cli.reproduce as command
command.SECONDS = 0.2
command.START = '''
import os, time
program.work_begins()
os.write(2, b"working\\\\n")
try:
    time.sleep(60)
except KeyboardInterrupt:
    os.write(2, b"stopped too\\\\n")
'''
"""


@pytest.mark.outer
@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)])
def test_reproduce_ends_its_other_process_when_it_alone_is_told(by: signal.Signals, code: int) -> None:
    assert interrupted(OTHER_PROCESS, "working", "reproduce", "000", by=by) == (code, ["stopped too"])
