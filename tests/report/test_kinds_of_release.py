"""Every kind of release has a proper report: the golden files, which hold odd names and all that the format allows."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import pytest
from tests.report.made_for_reports import Reader

import noisewise
from noisewise.report.write import report

GOLDEN = Path(__file__).parents[1] / "golden"
WORDS = {
    "gram-1.0": ["2 data holders", "Every row was shortened", "Laplace noise", "Größe (cm)"],
    "gram-1.2": ["Wishart noise"],
    "averaged-gram-1.1": ["averaged in random groups of"],
    "adassp-1.1": ["point estimate of one regression", "smallest eigenvalue", "Revisiting differentially private"],
    "moments-1.3": ["(kind moments)", "--family", "Kulkarni"],
    "microdata-1.4": ["not a person's data", "Noise in each cell", "kept with probability", ".rows.parquet"],
}


@pytest.mark.parametrize("name", WORDS)
def test_a_release_alone(name: str) -> None:
    path = GOLDEN / f"{name}.nwr"
    found = report(path)
    text = Reader(found.html).text
    assert found.title == f"Report on {name}.nwr" and len(found.html) < 60_000
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest in text and found.digests == ((f"{name}.nwr", digest),)
    for words in ("What is not protected", "How large the noise is", *WORDS[name]):
        assert words in text, words
    release = noisewise.load(path)
    assert all(column in text for column in release.schema.names)
    # The golden files of sums are made up, and so is their noise: too little of it. That of other kinds is not checked.
    assert any("too small for the ε, δ and sensitivity" in flag for flag in found.flags) == (release.kind != "microdata")


def test_the_example_command_is_one_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """For adassp the point estimate is made at once; the formula comes from the file."""
    from typer.testing import CliRunner

    from noisewise.cli.app import app
    from noisewise.report.given import Subject, read_release
    from noisewise.report.redo import redo

    monkeypatch.chdir(GOLDEN)
    file = read_release("adassp-1.1.nwr", 1)
    (_, command), *_ = redo([Subject([file], file.release)], "report.html", None, 0.95).commands
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["noisewise", "fit"]
    assert CliRunner().invoke(app, words[1:]).exit_code == 0


@pytest.mark.filterwarnings("ignore::noisewise.errors.NoisewiseWarning")
def test_a_point_estimate_has_no_intervals() -> None:
    release = noisewise.load(GOLDEN / "adassp-1.1.nwr")
    assert isinstance(release, noisewise.Release) and release.formula is not None
    estimate = noisewise.fit(release.formula, release, method="adassp")
    text = Reader(report(release, fits=estimate).html).text
    assert "point estimate: no posterior, no intervals" in text and "Estimated coefficients" in text


def test_a_partition_release_answers_its_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    from noisewise.answers import test as tests_of_releases
    from noisewise.errors import FitError

    def refuse(release: object) -> None:
        raise FitError("tests take a while", found="a short test")

    monkeypatch.setattr(tests_of_releases, "test", refuse)
    release = noisewise.load(GOLDEN / "partition-1.4.nwr")
    assert isinstance(release, noisewise.PartitionRelease)
    found = report(release, interval=0.9)
    text = Reader(found.html).text
    for answer in noisewise.answer(release, probability=0.9):
        assert " ".join(answer.sentence.split()) in text
    assert found.flags and all("missed it" in flag for flag in found.flags)  # its limits were searched for, in vain
    assert "No tests: tests take a while (a short test)." in text and len(found.html) < 300_000


@pytest.mark.slow
def test_a_partition_release_has_tests() -> None:
    text = Reader(report(GOLDEN / "partition-1.4.nwr").html).text
    assert "rejected at 5 %" in text
