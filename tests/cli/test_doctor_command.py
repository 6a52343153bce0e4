"""``noisewise doctor``: what is well, what is not, and that it would notice."""

from __future__ import annotations

import importlib.metadata
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noisewise.cli import doctor as doctor_checks
from noisewise.privacy.mechanisms.gram import SymmetricLaplace


def found(name: str, ledger: str | None = None) -> doctor_checks.Finding:
    return next(finding for finding in doctor_checks.all_checks(ledger) if finding.name == name)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what takes long."""
    monkeypatch.setattr(doctor_checks, "_release_and_fit", lambda: iter(()))
    monkeypatch.setattr(doctor_checks, "_jax", lambda: iter(()))


def test_this_installation_is_well(nw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    document = nw.json("doctor")
    assert document["problems"] == 0
    checks = {check["name"]: check for check in document["checks"]}
    assert {"noisewise", "Python", "JAX", "clock", "cache", "random bytes", "gaussian noise", "laplace noise", "ledger",
            "release and fit", "extra polars"} <= set(checks)
    assert "slope 2 gives 2.0" in checks["release and fit"]["found"] or "gives 1.9" in checks["release and fit"]["found"]
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]  # nothing else is left behind


@pytest.mark.usefixtures("quick")
def test_a_problem_is_exit_code_1_and_comes_with_a_remedy(nw: Any, tmp_path: Path) -> None:
    result = nw("doctor", "--quiet", "--ledger", tmp_path / "nosuch" / "budget.db")
    assert result.exit_code == 1
    first, second = (line for line in result.stdout.splitlines() if "nosuch" in line or "remedy: choose" in line)
    assert first.startswith("problem  ledger: ") and second.strip().startswith("remedy: ")
    assert not any(line.startswith("ok ") for line in result.stdout.splitlines())


@pytest.mark.usefixtures("quick")
def test_too_little_noise_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("laplace noise").state == "ok"
    usual = SymmetricLaplace.perturb
    monkeypatch.setattr(SymmetricLaplace, "perturb", lambda self, matrix: 0.8 * usual(self, matrix))
    weak = found("laplace noise")
    assert weak.state == "problem" and "do not release" in weak.remedy


@pytest.mark.usefixtures("quick")
def test_an_old_package_is_a_problem_and_a_missing_extra_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = importlib.metadata.version

    def version(name: str) -> str:
        if name == "polars":
            raise importlib.metadata.PackageNotFoundError
        return "0.1" if name == "numpy" else usual(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert found("packages").state == "problem" and "numpy 0.1, " in found("packages").found
    assert found("extra polars").state == "ok" and "pip install 'noisewise[polars]'" in found("extra polars").found


@pytest.mark.usefixtures("quick")
def test_a_folder_without_locks_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert found("ledger", str(tmp_path / "budget.db")).state == "ok"
    usual = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: usual(":memory:", **more))  # where nobody meets anybody
    assert found("ledger", str(tmp_path / "budget.db")).state == "problem"


@pytest.mark.usefixtures("quick")
def test_a_check_that_breaks_is_told_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: 1 / 0)
    findings = list(doctor_checks.all_checks(None))
    [broken] = [finding for finding in findings if finding.name == "random bytes"]
    assert broken.state == "problem" and "ZeroDivisionError" in broken.found and findings[-1].name == "ledger"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "path", "value"), [
    ("clock", "time.time", lambda: 1e9), ("memory", "_free_memory", lambda: 0.1),
    ("random bytes", "os.urandom", lambda size: b"\1" * size)])
def test_what_is_amiss_is_seen(name: str, path: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(name).state == "ok"
    owner, _, attribute = path.rpartition(".")
    monkeypatch.setattr(getattr(doctor_checks, owner) if owner else doctor_checks, attribute, value)
    assert found(name).state != "ok" and found(name).remedy


@pytest.mark.usefixtures("quick")
def test_a_cache_that_cannot_be_written_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert found("cache").state == "warning" and "NOISEWISE_CACHE_DIR" in found("cache").remedy


def test_the_tolerance_is_far_from_chance() -> None:
    """Of Laplace noise, whose fourth moment is 6 sd**4, the sd of n draws has the relative error sqrt(5 / (4 n))."""
    draws = doctor_checks.DRAWS * doctor_checks.COLUMNS * (doctor_checks.COLUMNS + 1) / 2
    assert doctor_checks.NOISE_TOLERANCE > 6 * np.sqrt(5 / 4 / draws)
