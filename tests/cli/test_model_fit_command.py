"""``noisewise fit`` and ``check`` for releases of kind model: the file alone is enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import one_error
from tests.unit.posterior.model import made_models as made

import noisewise
from noisewise.run import QUIET


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    made.release("logistic", 1).save(path / "back.nwr")
    made.release("logistic", 2, shift=0.8).save(path / "other.nwr")
    made.release("poisson", 1, epsilon=5.0, law="negative-binomial", rows=30_000).save(path / "visits.nwr")
    made.usual("negative-binomial").save(path / "counts.nwr")
    noisewise.release(made.table("logistic", 1, 300), made.schema("logistic"), epsilon=1, delta=1e-6, run=QUIET,
                      to=path / "gram.nwr")
    return path


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_file_is_enough(nw: Any) -> None:
    result = nw("fit", "back.nwr", "--per", "dose=2", "--seed", 1)
    assert result.exit_code == 0, result.stderr
    shown = words(result.stdout)
    for found in ("back ~ dose + ward", "logistic regression", "The coefficients describe the log odds", "odds ratio",
                  "independent draws", "A coefficient is a change in the log odds of back being yes"):
        assert found in shown
    assert result.stderr == "" and "sigma" not in shown


def test_json_equals_the_library(nw: Any) -> None:
    found = nw.json("fit", "visits.nwr", "--robust", "--seed", 3)
    post = noisewise.fit(noisewise.load("visits.nwr"), robust=True, seed=3, run=QUIET)
    assert [one["mean"] for one in found["terms"]] == list(post.summary()["mean"])
    facts = {name: found[name] for name in ("formula", "family", "method", "robust", "estimand", "problems")}
    assert facts == {"formula": "visits ~ dose + ward", "family": "poisson", "method": "rounds-robust", "robust": True,
                     "estimand": post.info.estimand, "problems": []}
    [site] = found["sites"]
    assert site["rows"] == 30_000 and site["noise_sd"] == noisewise.load("visits.nwr").contents.last.noise.score


def test_the_formula_may_still_be_given(nw: Any) -> None:
    found = nw.json("fit", "counts.nwr", "visits ~ dose + ward", "-f", "negative-binomial", "--ratios", "--seed", 1)
    assert found["terms"][-1]["term"] == "dispersion" and found["ratios"][0]["kind"] == "incidence-rate ratio"
    assert found["robust"] is False
    shown = words(nw("fit", "counts.nwr", "--seed", 1).stdout)
    assert "negative-binomial regression" in shown and "variance m + dispersion × m²" in shown


def test_a_check_of_a_saved_fit(nw: Any) -> None:
    assert nw("fit", "visits.nwr", "--save", "visits.npz", "--seed", 1).exit_code == 0
    found = nw("check", "visits.npz", "visits.nwr")
    assert "times as much as Poisson counts" in words(found.stderr) and "rounds" in found.stdout
    assert "worst site" not in words(found.stdout)
    assert nw("fit", "visits.nwr", "--robust", "--save", "robust.npz", "--seed", 1).exit_code == 0
    calm = nw("check", "robust.npz", "visits.nwr")
    assert calm.stderr == "" and "only rounds that disagree" in words(calm.stdout)


def test_several_sites(nw: Any) -> None:
    result = nw("fit", "back.nwr", "other.nwr", "--sites", "--save", "two.npz", "--plot", "two.png", "--seed", 1)
    assert result.exit_code == 0 and "other.nwr" in result.stdout and Path("two.png").exists()
    found = nw.json("check", "two.npz", "back.nwr", "other.nwr", "--plot", "check.png")
    assert found["problems"][0].startswith("the two holders differ") and Path("check.png").exists()


@pytest.mark.parametrize(("arguments", "said"), [
    (["back.nwr", "--family", "poisson"], "--family poisson"),
    (["back.nwr", "back ~ dose"], "only the regression"),
    (["back.nwr", "--robust"], "--robust"),
    (["back.nwr", "--site", "random"], "--site random"),
    (["gram.nwr", "back ~ dose", "-f", "negative-binomial"], "kind model"),
    (["gram.nwr", "back ~ dose", "-f", "logistic", "--robust"], "--robust"),
])
def test_what_makes_no_sense_is_refused(nw: Any, arguments: list[str], said: str) -> None:
    assert said in one_error(nw("fit", *arguments))


@pytest.mark.parametrize(("arguments", "said"), [
    (["gram.nwr"], "'gram.nwr' is not a formula"), (["gram.nwr", "back"], "'back' is not a formula"),
    (["back.nwr", "--compare-methods"], "one method"), (["gram.nwr", "back ~ dose", "--ratios"], "negative-binomial"),
])
def test_what_is_written_wrongly(nw: Any, arguments: list[str], said: str) -> None:
    result = nw("fit", *arguments)
    assert result.exit_code == 2 and said in words(result.stderr.replace("│", " "))


def test_a_folder_of_files(nw: Any, tmp_path: Path) -> None:
    for name in ("back.nwr", "other.nwr"):
        (tmp_path / name).write_bytes(Path(name).read_bytes())
    assert nw.json("fit", tmp_path, "--draws", 500, "--seed", 1)["holders"] == 2


@pytest.mark.outer
def test_numbers_are_taken_for_normal_unless_one_says_so(nw: Any) -> None:
    asked = ("fit", "gram.nwr", "back ~ dose", "-f", "logistic", "--seed", 1)
    doubtful = nw(*asked)
    assert "taken for normal (dose)" in words(doubtful.stderr) and "--near-normal" in doubtful.stderr
    assert "taken for normal" not in nw(*asked, "--near-normal").stderr
