"""Every kind of release has a proper report, also one that the report knows nothing of."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from tests.report.made_for_reports import KINDS, Reader, made_fit, made_release, real_release

import noisewise
from noisewise.kinds import Gram, kinds, register
from noisewise.kinds.registry import forget, has_room
from noisewise.releases import Release
from noisewise.reports.given import read_release, subjects_of
from noisewise.reports.kinds.view import KindView, view_of
from noisewise.reports.redo import redo
from noisewise.reports.write import report

WORDS = {
    "gaussian": ["(kind gram)", "Rows were clipped where necessary, so that their scaled columns", "Normal (Gaussian) noise"],
    "laplace": ["Laplace noise", "Calibrating noise to sensitivity"],
    "wishart": ["Wishart noise"],
    "averaged": ["averaged in random groups of"],
    "adassp": ["point estimate of one regression", "smallest eigenvalue", "Revisiting differentially private",
               "The choice of the regression"],
    "model": ["(kind model)", "in a first look and", "describe the log rate of events", "What was asked, in how many rounds",
              "first look", ", the last", "about the weight of", "Balle", "The choice of the regression", "fit model.nwr"],
    "moments": ["(kind moments)", "--family poisson", "Kulkarni", "their scaled predictors"],
    "partition": ["Answers to 2 questions about the regression visits ~ age", "20 random parts", "clipped to the limits",
                  "noisewise answer", "Released numbers"],
    "rows": ["2 times", "not a person's data", "Noise in each cell", "kept with probability", ".rows.parquet",
             "What the rows look like"],
    "bounds": ["1 bound of 1 column", "Bounds as released", "lie beyond the upper bound"],
    "binary": ["2 copies of 40 synthetic rows", "pseudo-rows of each level", "noisewise estimate"],
}
NO_TESTS = "No tests: tests take a while (a short test)."


@pytest.fixture
def without_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    from noisewise.answers import hypothesis_test as tests_of_releases
    from noisewise.errors import FitError

    def refuse(release: object) -> None:
        raise FitError("tests take a while", found="a short test")

    monkeypatch.setattr(tests_of_releases, "hypothesis_test", refuse)


def test_every_kind_is_tried() -> None:
    assert {kind.name for kind, _ in KINDS.values()} == {kind.name for kind in kinds()} and WORDS.keys() == KINDS.keys()
    assert all(has_room(kind, "report") for kind in kinds())


@pytest.mark.parametrize("name", WORDS)
def test_a_release_alone(name: str, tmp_path: Path, without_tests: None) -> None:
    release = real_release(name, tmp_path)
    path = tmp_path / f"{name}.nwr"
    found = report(path)
    text = Reader(found.html).text
    assert found.title == f"Report on {name}.nwr" and len(found.html) < 300_000
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest in text and found.digests == ((f"{name}.nwr", digest),)
    for words in ("What is not protected", "How large the noise is", release.contents.statement, *WORDS[name]):
        assert words in text, words
    assert all(column in text for column in release.schema.names)
    assert not [flag for flag in found.flags if "Do not rely" in flag]


@dataclass(frozen=True)
class Stranger(Gram):
    """A kind of another package, which has a file for contents and none for reports."""

    name: ClassVar[str] = "stranger"
    purpose: ClassVar[str] = "whatever strangers do"


@pytest.fixture
def stranger() -> Iterator[Release]:
    register(Stranger, contents="noisewise.releases.contents.gram")
    made = made_release()
    yield Release(Stranger(), made.schema, made.contributions)
    forget(Stranger)


def test_a_kind_that_the_report_does_not_know_has_a_page(stranger: Release) -> None:
    assert type(view_of(stranger.kind)) is KindView and type(view_of(Gram())) is not KindView
    one = stranger.contents
    matrix = one.matrix + 1.0
    matrix[0, 0] = one.rows
    other = replace(one, matrix=matrix, noise=replace(one.noise, off_diagonal=9.0))
    page = report([stranger, stranger.with_contributions((other,))], fits=made_fit(stranger))
    text = Reader(page.html).text
    for words in ("A release of kind stranger, 5 columns: whatever strangers do.", "9 off it", "becomes the nearer bound",
                  "release 2: Noise: gaussian; standard deviation", "Replacing any one row changes little.", "2 data holders",
                  "ε = 1, δ = 10⁻⁶"):
        assert words in text, words
    assert "noisewise show release-1.nwr" in Reader(report(stranger).html).text


def test_the_example_command_is_one_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For adassp the point estimate is made at once; the formula comes from the file."""
    from typer.testing import CliRunner

    from noisewise.cli.app import app

    real_release("adassp", tmp_path)
    monkeypatch.chdir(tmp_path)
    (_, command), *_ = redo(subjects_of([read_release("adassp.nwr", 1)]), "report.html", None, 0.95)["commands"]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["noisewise", "fit"]
    assert CliRunner().invoke(app, words[1:]).exit_code == 0


@pytest.mark.filterwarnings("ignore::noisewise.errors.NoisewiseWarning")
def test_a_point_estimate_has_no_intervals(tmp_path: Path) -> None:
    release = real_release("adassp", tmp_path)
    estimate = noisewise.fit("visits ~ age + ward", release, method="adassp")
    text = Reader(report(release, fits=estimate).html).text
    assert "point estimate: no posterior, no intervals" in text and "Estimated coefficients" in text


def test_a_model_release_of_two_holders_says_what_each_was_asked(tmp_path: Path) -> None:
    """Means are those of the first looks together; the table has a line for each round of each holder."""
    first, second = real_release("model", tmp_path), real_release("model", tmp_path)
    alone = second.with_contributions((replace(second.contents, rounds=second.contents.rounds[-1:], sensitivity=2.086),))
    together = noisewise.combine([first, alone])
    text = Reader(report(together).html).text
    rounds = len(first.contents.rounds)
    assert f"in a first look and 1 to {rounds} rounds" in text
    for words in ("Holder 1, first look", f"Holder 1, round {rounds}, the last", "Holder 2, round 1, the last"):
        assert words in text, words
    moments = view_of(together.kind).moments(together)
    age, ward = moments["age", None], moments["ward", "B"]
    assert abs(age.mean) < 6 * age.noise + 0.1 and abs(ward.mean - 1 / 3) < 6 * ward.noise + 0.1  # fails once in 1e8 runs
    assert age.noise == pytest.approx(first.contents.look.noise * 2**0.5 / 1200) and age.square is not None
    assert ("visits", None) not in moments  # a count has ranges in its place


def test_a_partition_release_answers_its_questions(tmp_path: Path, without_tests: None) -> None:
    release = real_release("partition", tmp_path)
    numbers = [replace(one, sum=20.0) if one.name.startswith("location") else one for one in release.contents.numbers]
    release = release.with_contributions((replace(release.contents, numbers=tuple(numbers)),))
    found = report(release, interval=0.9)
    text = Reader(found.html).text
    for answer in noisewise.answer(release, probability=0.9):
        assert " ".join(answer.sentence.split()) in text
    assert found.flags and all("missed it" in flag for flag in found.flags)  # all parts lie at the upper limit that was found
    assert NO_TESTS in text and len(found.html) < 300_000


def test_partition_releases_of_one_table_are_told_apart(tmp_path: Path) -> None:
    release = real_release("partition", tmp_path)
    again = release.with_contributions((replace(release.contents, created="2026-11-16"),))
    assert len(subjects_of([read_release(one, place) for place, one in enumerate((release, again), start=1)])) == 2


@pytest.mark.slow
def test_a_partition_release_has_tests(tmp_path: Path) -> None:
    assert "rejected at 5 %" in Reader(report(real_release("partition", tmp_path)).html).text
