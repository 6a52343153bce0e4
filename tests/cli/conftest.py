"""A small table, its schema and a release of it, and a runner that keeps the two output streams apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import WARDS, declare, make_release, rows, write_rows
from typer.testing import CliRunner

from noisewise.cli.app import app


class Command:
    """Runs ``noisewise ARGS`` in this process."""

    def __call__(self, *args: object) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in args])

    def json(self, *args: object, code: int = 0) -> Any:
        result = self(*args, "--json")
        assert result.exit_code == code, result.stderr
        return json.loads(result.stdout)


@pytest.fixture
def nw() -> Command:
    return Command()


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``noisewise ARGS`` as a program of its own; ``before`` is Python that runs first."""

    def run(*args: object, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        program = f"{before}\nfrom noisewise.cli.program import main; main()"
        unwanted = ("FORCE_COLOR", "COLUMNS", "NOISEWISE_TRACEBACK")
        clean = {name: value for name, value in os.environ.items() if name not in unwanted}
        return subprocess.run(
            [sys.executable, "-c", program, *map(str, args)], capture_output=True, text=True, timeout=120,
            encoding="utf-8", env={**clean, "PYTHONIOENCODING": "utf-8", **environment},
        )

    return run


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    return declare(tmp_path / "schema.toml", stay=(0, 60), age=(18, 98), ward=WARDS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "patients.parquet", rows(5))


@pytest.fixture
def release(tmp_path: Path, schema: Path) -> Path:
    return make_release(tmp_path / "patients.nwr", schema, seed=5)
