"""``noisewise reproduce`` as a program: the list, errors, stored verdicts, a quick run, Ctrl-C, and installed wheels."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from noisewise import __version__
from noisewise.cli.reproduce import PROGRAM, studies_root
from noisewise.errors import ResultError

ROOT = Path(__file__).parents[2]
PAPERS = ["000", "001", "002", "003", "004"]


def reproduce(*given: object, code: int = 0, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "noisewise", "reproduce", *map(str, given)], capture_output=True, text=True,
                          env=environment, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def verdicts(folder: Path) -> Any:
    return json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))


def test_the_checkout_is_used() -> None:
    assert studies_root() == ROOT and (ROOT / PROGRAM).exists()


def test_papers_are_listed_with_what_they_need() -> None:
    listed = json.loads(reproduce("--json").stdout)["papers"]
    assert [paper["number"] for paper in listed] == PAPERS
    for paper in listed:
        assert paper["title"] and paper["authors"] and paper["studies"]
        assert all(study["covers"] and study["quick"] and study["full"] for study in paper["studies"])
    assert any("pima.csv.gz" in study["data"] for study in listed[3]["studies"])


def test_missing_data_are_named_with_their_source_and_columns(tmp_path: Path) -> None:
    done = reproduce("glm", "pima", "--data", tmp_path, "-o", tmp_path / "out", code=1)
    assert done.stdout == "" and done.stderr.startswith("Error: ")
    for words in ("pima.csv.gz", "pedigree", "National Institute of Diabetes"):
        assert words in done.stderr
    assert not (tmp_path / "out").exists()
    asked = json.loads(reproduce("003", "--json", code=1).stdout)["error"]
    assert asked["found"] == "no --data" and "adult.csv.gz" in asked["remedy"]


def test_each_missing_file_has_a_line_of_its_own() -> None:
    lines = reproduce("002", "table-1", code=1).stderr.splitlines()
    starts = [line.split(":")[0].strip() for line in lines if ".csv.gz: " in line]
    assert starts == ["power_plant_energy.csv.gz", "bike_sharing.csv.gz", "air_quality.csv.gz"]


@pytest.mark.outer
def test_names_that_are_wrong_or_do_not_go_together_are_told(tmp_path: Path) -> None:
    said = {("005",): "004 (model-uncertainty), or all", ("002", "table-9"): "table-1 (table 1, table 2)",
            ("all", "table-1"): "name the paper", ("000", "--stored", "--quick"): "leave one of them out"}
    for given, words in said.items():
        done = reproduce(*given, "-o", tmp_path / "out", code=1)
        assert done.stdout == "" and done.stderr.startswith("Error: ") and words in done.stderr
    assert not (tmp_path / "out").exists()


def test_all_data_are_asked_for_before_anything_is_run(tmp_path: Path) -> None:
    done = reproduce("all", "--quick", "--data", tmp_path / "nowhere", "-o", tmp_path / "out", code=1)
    assert "papers 002, 003 and 004 need data files" in done.stderr and "which is not a folder" in done.stderr
    assert "hsb2.csv.gz" in done.stderr and not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = reproduce("000", "--quick", "-o", tmp_path / "file", code=1)
    assert done.stderr.startswith("Error: a file or folder cannot be read or written") and str(tmp_path / "file") in done.stderr


def test_help_has_an_example() -> None:
    assert "Example: noisewise reproduce 000 --quick" in reproduce("--help").stdout


@pytest.mark.outer
def test_stored_verdicts_need_no_run() -> None:
    (found,) = json.loads(reproduce("000", "--stored", "--json").stdout)["papers"]
    assert found["name"] == "summaries" and sum(found["verdicts"].values()) == len(found["targets"]) > 20
    assert {"where", "what", "printed", "measured", "verdict", "why"} <= set(found["targets"][0])


@pytest.mark.slow
def test_a_quick_run_from_end_to_end_and_again(tmp_path: Path) -> None:
    """The fastest study; a second call finds all cells there."""
    done = reproduce("000", "figure 1", "--quick", "-o", tmp_path, "--workers", 1)
    folder = tmp_path / "000-summaries-quick"
    assert "reproduced" in done.stdout and str(folder) in done.stdout
    found = {one["what"]: one["verdict"] for one in verdicts(folder)}
    assert found["The reason is that parts are too small for the approximations"] == "not reproduced"
    assert found["Rescaled-normal does not work well with ε = 0.1 for n up to 1,000,000"] == "reproduced"
    assert "undecided" in found.values()
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "data:image/png" in page and "http" not in page
    assert (folder / "page.md").read_text(encoding="utf-8").count("![") == 2
    again = reproduce("000", "--quick", "-o", tmp_path)
    assert "3 of 3 cells are already done" in again.stderr
    assert {one["what"]: one["verdict"] for one in verdicts(folder)} == found


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "noisewise", "reproduce", "000", "--quick", "-o", str(tmp_path), "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    cells = tmp_path / "000-summaries-quick" / "cells"
    while not list(cells.glob("*.json")):
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everybody
    _, words = process.communicate(timeout=600)
    assert process.returncode == 130 and "finished cells are kept" in words and "Traceback" not in words
    kept = list(cells.glob("*.json"))
    assert 1 <= len(kept) < 3 and not list(cells.glob("*.part")) and all(json.loads(path.read_text()) for path in kept)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are watched as Linux shows them")
def test_ctrl_c_while_the_studies_are_imported_prints_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "noisewise", "reproduce", "000", "--quick", "-o", str(tmp_path), "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    started = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not started.read_text():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, words = process.communicate(timeout=600)
    assert process.returncode == 130 and words.startswith("Error: stopped by Ctrl-C") and "Traceback" not in words


def built(source: Path, folder: Path) -> list[str]:
    """The names in a wheel, which is unpacked beside others as an installation would have it."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder / source.name, source], check=True)
    (wheel,) = (folder / source.name).glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder / "installed")
        return file.namelist()


@pytest.mark.slow
def test_studies_come_with_a_wheel_of_their_own(tmp_path: Path) -> None:
    names = built(ROOT, tmp_path)
    assert "noisewise/literature/normal_x.py" in names
    assert not [name for name in names if "__pycache__" in name or "studies" in name]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    alone = [sys.executable, "-m", "noisewise", "reproduce", "002", "--stored", "--json"]
    done = subprocess.run(alone, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 1 and 'pip install "noisewise[studies]"' in json.loads(done.stdout)["error"]["remedy"]

    names = built(ROOT / "studies", tmp_path)
    inside = "noisewise_studies/studies/"
    needed = ("__init__.py", "reproduce.py", "registry.py", "paper_002_page.md", "results/paper_002/table.csv",
              "results/quick.json", "other_systems.R")
    assert {inside + name for name in needed} <= set(names)
    assert all(name.startswith(inside) for name in names if ".dist-info/" not in name)
    assert not [name for name in names if "__pycache__" in name]
    done = subprocess.run(alone, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    assert len(json.loads(done.stdout)["papers"][0]["targets"]) > 50
    where = subprocess.run([sys.executable, "-c", "from noisewise.cli.reproduce import studies_root; print(studies_root())"],
                           capture_output=True, text=True, cwd=tmp_path, env=environment, check=True).stdout.strip()
    assert Path(where) == tmp_path / "installed" / "noisewise_studies"


def test_without_studies_one_sentence_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewise.cli.reproduce.PROGRAM", Path("studies", "nowhere.py"))
    with pytest.raises(ResultError, match=r'from a checkout of noisewise, or install them: pip install "noisewise\[studies\]"'):
        studies_root()


def test_both_distributions_have_one_version() -> None:
    with (ROOT / "studies" / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]
    assert declared["version"] == __version__ and declared["dependencies"] == [f"noisewise=={__version__}"]
