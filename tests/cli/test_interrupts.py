"""Ctrl-C in the middle of ``noisewise release``: a real signal to a real process, while it reads and after the charge."""

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

from noisewise.privacy.ledger import Ledger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

SLOWLY = """
import os, time
from noisewise.data.progress import RowCounter
usual = RowCounter.add
def slowly(self, rows):
    usual(self, rows)
    os.write(2, b"reading\\n")
    time.sleep(0.3)
RowCounter.add = slowly
"""
"""Each batch is told, so that the signal comes in the middle; in one piece, because two threads tell."""

NOISE = """
import os, time
from noisewise.privacy import noise
usual = noise._add_noise
def slowly(*given):
    os.write(2, b"drawing\\n")
    time.sleep(0.5)
    return usual(*given)
noise._add_noise = slowly
"""

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
    "gram": (),
    "averaged": ("--delta", "1e-7", "--average", "5"),
    "moments": ("--delta", "1e-7", "--kind", "moments", *FORMULA),
    "adassp": ("--delta", "1e-7", "--kind", "adassp", *FORMULA),
    "partition": ("--kind", "partition", *FORMULA, "--parts", "20", "--ask", "posterior-probability of=age at=0"),
    "microdata": ("--kind", "microdata"),
    "unit": (),
}


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, rng = tmp_path_factory.mktemp("big") / "rows.parquet", np.random.default_rng(1)
    pq.write_table(pa.table({"visits": rng.integers(0, 5, 600_000).astype(float), "age": rng.uniform(18, 98, 600_000),
                             "person": rng.integers(0, 200_000, 600_000)}), path, row_group_size=65_536)
    return path


def schema_in(folder: Path, kind: str) -> Path:
    path = folder / "schema.toml"
    path.write_text(SCHEMA.format(unit='unit = { column = "person", max_rows = 2 }' if kind == "unit" else ""))
    return path


def interrupted(before: str, word: str, *args: object) -> tuple[int, list[str]]:
    """Run ``noisewise ARGS``, press Ctrl-C once when the process has said a word; its exit code and what else it said."""
    process = subprocess.Popen([sys.executable, "-c", f"{before}\nfrom noisewise.cli import main; main()", *map(str, args)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = []
    with process:
        for line in process.stderr:
            said.append(line.rstrip("\n"))
            if said.count(word) == 1 and said[-1] == word:
                process.send_signal(signal.SIGINT)
    return process.returncode, [line for line in said if line != word]


@pytest.mark.parametrize("kind", KINDS)
def test_while_reading_nothing_is_spent_and_nothing_is_written(kind: str, big: Path, tmp_path: Path) -> None:
    schema, output, budget = schema_in(tmp_path, kind), tmp_path / "out.nwr", tmp_path / "budget.db"
    force = ()
    if kind != "microdata":  # which replaces no file
        output.write_bytes(b"of an earlier day")
        force = ("--force",)
    Ledger.open(budget, epsilon=3.0, delta=1e-6)
    before = {path.name for path in tmp_path.iterdir()}
    code, said = interrupted(SLOWLY, "reading", "release", big, "-s", schema, "-e", 1, "-o", output, "--ledger", budget, *force,
                             *KINDS[kind])
    assert (code, said) == (130, ["Error: stopped by Ctrl-C; files are written whole or not at all"])
    assert [entry.what for entry in Ledger.open(budget).entries()] == ["opened"]
    assert {path.name for path in tmp_path.iterdir()} == before
    assert not force or output.read_bytes() == b"of an earlier day"


@pytest.mark.parametrize("kind", ["gram", "microdata"])
def test_after_the_charge_the_release_is_kept_and_asking_again_is_free(kind: str, nw: Any, tmp_path: Path) -> None:
    schema, output, budget = schema_in(tmp_path, kind), tmp_path / "out.nwr", tmp_path / "budget.db"
    rows = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"visits": np.ones(50), "age": np.full(50, 40.0)}), rows)
    Ledger.open(budget, epsilon=3.0, delta=1e-6)
    command = ("release", rows, "-s", schema, "-e", 1, "-o", output, "--ledger", budget, *KINDS[kind])
    code, said = interrupted(NOISE, "drawing", *command)
    assert (code, said) == (130, ["Error: stopped by Ctrl-C; the ledger keeps the release; ask for it again, which costs "
                                  "nothing"])
    assert [entry.what for entry in Ledger.open(budget).entries()] == ["opened", "charged", "released"]
    assert not output.exists() and not list(tmp_path.glob(".noisewise-*"))
    assert nw(*command).exit_code == 0
    assert output.exists() and len(Ledger.open(budget).entries()) == 3
