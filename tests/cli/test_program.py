"""The program as a whole, in processes of its own: exit codes, pure JSON, no colour and no traceback, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings

import pytest
from tests.cli.command_line import one_error

import noisewise
from noisewise.errors import NoisewiseWarning

HEAVY = ("jax", "pandas", "pyarrow", "matplotlib", "opendp", "scipy", "pydantic", "formulaic")
INTERRUPT = "import os, signal, noisewise\ndef stop(*_, **__): os.kill(os.getpid(), signal.SIGINT)\nnoisewise.{name} = stop"


def test_help_is_fast_and_lists_the_commands_in_order(process) -> None:
    report = f"import atexit, sys; atexit.register(lambda: print(sorted(set(sys.modules) & set({HEAVY})), file=sys.stderr))"
    finished = process("--help", before=report)
    assert finished.returncode == 0 and finished.stderr.strip() == "[]"
    places = [finished.stdout.index(f"│ {name} ") for name in ("demo", "schema", "release", "show", "fit")]
    assert places == sorted(places)


def test_without_arguments_there_is_help(nw) -> None:
    result = nw()
    assert "noisewise demo" in result.output and result.exit_code == 2


def test_version(nw) -> None:
    assert nw("--version").stdout == f"noisewise {noisewise.__version__}\n"


@pytest.mark.parametrize("command", ["demo", "schema", "schema init", "schema check", "release", "show", "fit"])
def test_every_command_has_help(nw, command) -> None:
    assert nw(*command.split(), "--help").exit_code == 0


@pytest.mark.outer
def test_json_is_one_pure_document_with_the_sampler_and_all(process, release) -> None:
    finished = process("fit", release, "stay ~ age + ward", "--json", "--draws", 100, "--chains", 2)
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["terms"][-1]["term"] == "sigma"
    assert "Traceback" not in finished.stderr


def test_an_error_has_three_lines_and_no_traceback_and_no_colour(process, release) -> None:
    finished = process("fit", release, "stay ~ beds")
    assert (finished.returncode, finished.stdout) == (1, "")
    first, second, third = finished.stderr.splitlines()
    assert first.startswith("Error: ") and second.startswith("  found:") and third.startswith("  remedy:")
    assert "\x1b" not in finished.stderr


def test_output_that_is_no_terminal_has_no_colour(process, release) -> None:
    finished = process("show", release)
    assert finished.returncode == 0 and "\x1b" not in finished.stdout + finished.stderr


def test_a_terminal_that_knows_only_ascii(process, release) -> None:
    finished = process("fit", release, "stay ~ age", "-m", "laplace", PYTHONIOENCODING="ascii")
    assert finished.returncode == 0, finished.stderr


def test_wrong_use_is_exit_code_2(process) -> None:
    finished = process("fit")
    assert finished.returncode == 2 and finished.stdout == "" and "Traceback" not in finished.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_while_fitting(process, release) -> None:
    finished = process("fit", release, "stay ~ age", "--json", before=INTERRUPT.format(name="fit"))
    assert (finished.returncode, finished.stdout) == (130, "")
    assert finished.stderr.splitlines() == ["Error: stopped by Ctrl-C"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_while_releasing_leaves_nothing_behind(process, table, schema, tmp_path) -> None:
    given = ("release", table, "--schema", schema, "--epsilon", 1, "-o", tmp_path / "out.nwr")
    finished = process(*given, before=INTERRUPT.format(name="release"))
    assert finished.returncode == 128 + signal.SIGINT and "Traceback" not in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.parquet", "schema.toml"]


def test_an_unexpected_error_asks_for_a_report(nw, release, monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(noisewise, "fit", broken)
    message = one_error(nw("fit", release, "stay ~ age"))
    assert "RuntimeError: a mistake of ours" in message and "--traceback" in message
    assert "Traceback (most recent call last)" in nw("fit", release, "stay ~ age", "--traceback").stderr
    assert "Traceback (most recent call last)" in nw("--traceback", "fit", release, "stay ~ age").stderr
    monkeypatch.setenv("NOISEWISE_TRACEBACK", "1")
    assert "Traceback (most recent call last)" in nw("fit", release, "stay ~ age").stderr


def test_a_warning_is_a_readable_note(nw, release, monkeypatch) -> None:
    def warns(path: object) -> object:
        warnings.warn("something is odd", NoisewiseWarning, stacklevel=2)
        return load(path)

    load = noisewise.load
    monkeypatch.setattr(noisewise, "load", warns)
    result = nw("show", release)
    assert result.exit_code == 0 and result.stderr == "Warning: something is odd\n"


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_a_reader_that_goes_away_is_no_error(release, tmp_path) -> None:
    import subprocess

    command = f"{sys.executable} -m noisewise show {release} --json | head -c 1"
    finished = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600)
    assert finished.stdout == "{" and "Traceback" not in finished.stderr
