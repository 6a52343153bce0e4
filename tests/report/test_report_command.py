"""``noisewise report``, and that the commands which a page gives for doing it again really do it again."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.report.made_for_reports import made_comparison, made_fit, made_release
from typer.testing import CliRunner

import noisewise
from noisewise.cli.app import app


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a release, a fit and a comparison, to work in."""
    monkeypatch.chdir(tmp_path)
    release = made_release()
    release.save("patients.nwr")
    made_fit(release).save("stay.npz")
    made_comparison(release).save("models.npz")
    return tmp_path


def test_a_page_is_written_and_told(folder: Path) -> None:
    result = run("report", "patients.nwr", "stay.npz", "models.npz", "-o", "stay.html", "--title", "Length of stay")
    assert result.exit_code == 0 and result.stdout.startswith("Wrote stay.html") and result.stderr == ""
    text = (folder / "stay.html").read_text(encoding="utf-8")
    assert "<h1>Length of stay</h1>" in text and "Model comparison" in text
    assert run("report", "patients.nwr", "--quiet").stdout == "Wrote report.html\n" and (folder / "report.html").exists()


def test_a_folder_of_releases_and_json(folder: Path) -> None:
    (folder / "sites").mkdir()
    for seed in (1, 2):
        made_release(library=f"noisewise 0.{seed}.0", matrix=made_release().contents.matrix + seed * _symmetric()).save(
            folder / "sites" / f"{seed}.nwr")
    result = run("report", "sites", "--json")
    found = json.loads(result.stdout)
    assert found["file"] == "report.html" and found["bytes"] == (folder / "report.html").stat().st_size
    assert [one["file"] for one in found["releases"]] == ["1.nwr", "2.nwr"] and found["warnings"] == [] and found["fits"] == []


def _symmetric() -> Any:
    """A little more in one entry and its mirror image, so that a holder's is not another one's copy."""
    import numpy as np

    change = np.zeros_like(made_release().contents.matrix)
    change[1, 2] = change[2, 1] = 1.0
    return change


def test_warnings_are_told(folder: Path) -> None:
    made_fit(made_release(), draws=250, chains=4, doubts=("the moon is full",)).save("doubtful.npz")
    result = run("report", "patients.nwr", "doubtful.npz")
    assert result.exit_code == 0 and "Warning: doubtful.npz: do not trust its draws yet: the moon is full." in result.stderr


@pytest.mark.parametrize(("words", "code", "message"), [
    (("stay.npz",), 2, "requires release files"),
    (("patients.nwr", "-o", "patients.nwr"), 1, "a report must end in .html"),
    (("patients.nwr", "-o", "report.txt"), 1, "for example -o report.html"),
    (("nothing.nwr",), 1, "does not exist"),
    (("patients.nwr", "--interval", "95"), 1, "between 0 and 1"),
    (("patients.nwr", "nothing.npz"), 1, "no such file"),
    (("patients.nwr", "-o", "nowhere/report.html"), 1, "folder"),
])
def test_what_cannot_be_done_is_one_error(folder: Path, words: tuple[str, ...], code: int, message: str) -> None:
    before = {path.name for path in folder.iterdir()}
    result = run("report", *words)
    assert result.exit_code == code and message in " ".join(result.stderr.replace("│", " ").split()), result.stderr
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.filterwarnings("default::noisewise.errors.ConvergenceWarning")
def test_the_commands_of_a_page_make_it_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("fit", "patients.nwr", "stay ~ age + ward", "--method", "laplace", "--draws", 200, "--chains", 2, "--seed", 5,
               "--save", "stay.npz").exit_code == 0
    assert run("compare", "patients.nwr", "stay ~ age + ward", "--keep", "ward", "-m", "ridge", "-m", "thresholded",
               "--draws", 50, "--seed", 2, "--save", "models.npz").exit_code == 0
    assert run("report", "patients.nwr", "stay.npz", "models.npz", "--interval", 0.9, "--title", "It's a \"test\"").exit_code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    shown = re.findall(r"<pre [^>]*role[^>]*>(noisewise .*?)</pre>", page, re.DOTALL)
    commands = [html.unescape(text).replace("\\\n", " ") for text in shown]
    assert [shlex.split(command)[1] for command in commands] == ["fit", "compare", "report"]
    again = folder / "again"
    again.mkdir()
    shutil.copy("patients.nwr", again)
    monkeypatch.chdir(again)
    for command in commands:
        result = run(*shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
    first, second = (noisewise.Posterior.load(place / "stay.npz") for place in (folder, again))
    assert first.samples.tobytes() == second.samples.tobytes()
    assert (again / "report.html").read_text(encoding="utf-8") == page
