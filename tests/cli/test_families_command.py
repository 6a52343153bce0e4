"""``noisewise fit --family`` and ``noisewise check`` for outcomes with two levels and for counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.command_line import one_error

import noisewise
from noisewise.run import QUIET

SCHEMA: dict[str, Any] = {"adjacency": "replace-one", "columns": {
    "back": {"levels": ["no", "yes"]}, "visits": {"bounds": [0, 8]}, "age": {"bounds": [18, 98]},
    "ward": {"levels": ["A", "B", "C"]}}}
LOGISTIC = ("back ~ age + ward", "--family", "logistic", "--seed", "1", "--draws", "200", "--chains", "2")
POISSON = ("visits ~ age + ward", "-f", "poisson", "--seed", "1", "--draws", "200", "--chains", "2")
# Few draws, so that the sampler may ask for more: that is not the point here.
pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")


def hospital(seed: int, shift: float = 0.0, rows: int = 3000) -> noisewise.Release:
    random = np.random.default_rng(seed)
    age, ward = np.clip(random.normal(58, 12, rows), 18, 98), random.choice(["A", "B", "C"], rows)
    eta = 0.04 * (age - 58) + 0.8 * (ward == "B") + shift
    table = {"back": np.where(random.random(rows) < 1 / (1 + np.exp(0.5 - eta)), "yes", "no"),
             "visits": np.minimum(random.poisson(np.exp(0.5 * eta)), 8), "age": age, "ward": ward}
    return noisewise.release(table, noisewise.Schema.from_dict(SCHEMA), epsilon=50, delta=1e-6, run=QUIET)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hospitals; the last one has more of everything."""
    made = tmp_path_factory.mktemp("hospitals")
    for number, shift in enumerate((0.0, 0.0, 1.0), start=1):
        hospital(number, shift).save(made / f"site-{number}.nwr")
    return made


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.slow
def test_a_logistic_regression_for_people(nw) -> None:
    result = nw("fit", "site-1.nwr", *LOGISTIC, "--per", "age=10")
    assert result.exit_code == 0, result.stderr
    for words in ("logistic regression", "odds ratio", "P(>1)", "ward[T.B]"):
        assert words in result.stdout
    assert "sigma" not in result.stdout
    assert "odds ratio" not in nw("fit", "site-1.nwr", *LOGISTIC, "-q").stdout


@pytest.mark.outer
def test_json_equals_the_library(nw) -> None:
    found = nw.json("fit", "site-1.nwr", *LOGISTIC, "--per", "age=10", "--interval", 0.9)
    post = noisewise.fit("back ~ age + ward", noisewise.load("site-1.nwr"), family="logistic", seed=1, draws=200, chains=2)
    assert found["family"] == "logistic" and [row["mean"] for row in found["terms"]] == list(post.summary()["mean"])
    ratios = post.ratios(0.9, {"age": 10})
    assert [row["ratio"] for row in found["ratios"]] == list(ratios["odds ratio"])
    assert [row["per"] for row in found["ratios"]] == [10.0, 1.0, 1.0] and found["ratios"][0]["kind"] == "odds ratio"
    assert [row["upper"] for row in found["ratios"]] == list(ratios["95%"])
    assert "ratios" not in nw.json("fit", "site-1.nwr", *LOGISTIC)


@pytest.mark.slow
def test_a_poisson_regression_is_written_loaded_and_checked(nw) -> None:
    result = nw("fit", "site-1.nwr", "site-2.nwr", *POISSON, "--ratios", "--save", "a.npz", "--csv", "a.csv", "--plot", "a.png")
    assert result.exit_code == 0 and "incidence-rate ratio" in result.stdout
    assert list(pd.read_csv("a.csv")["term"]) == list(noisewise.Posterior.load("a.npz").terms)
    result = nw("check", "a.npz", "site-1.nwr", "site-2.nwr", "--plot", "c.png", "--csv", "c.csv")
    assert result.exit_code == 0 and "mean response" in result.stdout and "dispersion" in result.stdout
    assert Path("c.png").read_bytes().startswith(b"\x89PNG") and "dispersion" in Path("c.csv").read_text()


@pytest.mark.outer
def test_the_site_with_another_level_is_named(nw) -> None:
    files = ("site-1.nwr", "site-2.nwr", "site-3.nwr")
    nw("fit", *files, *LOGISTIC, "--save", "b.npz")
    result = nw("check", "b.npz", *files)
    assert result.exit_code == 0 and "site-3.nwr does not fit the others: the mean response is higher" in result.stderr


@pytest.mark.parametrize(("words", "said"), [
    (("visits ~ age", "--family", "logistic"), "two levels"),
    (("ward ~ age", "--family", "logistic"), "3 levels"),
    (("age ~ ward", "--family", "poisson"), "must be a count"),
    (("back ~ age", "--family", "poisson"), "must be a count"),
    (("back ~ age", "--family", "logistic", "--method", "laplace"), "one method"),
    (("back ~ age", "--family", "logistic", "--site", "random"), "linear regression"),
])
def test_what_does_not_go_together_is_refused_in_one_sentence(nw, words, said) -> None:
    assert said in one_error(nw("fit", "site-1.nwr", *words))


@pytest.mark.parametrize(("words", "said"), [
    (("--family", "gamma"), "gaussian, logistic, probit, poisson"),
    (("--family", "logistic", "--compare-methods"), "linear regression"),
    (("--ratios",), "logistic, poisson or negative-binomial"),
    (("--family", "probit", "--per", "age=10"), "logistic, poisson or negative-binomial"),
    (("--family", "logistic", "--per", "age"), "age=10"),
    (("--family", "logistic", "--per", "age=ten"), "age=10"),
    (("--family", "logistic", "--per", "=10"), "age=10"),
])
def test_a_command_that_is_written_wrongly(nw, words, said) -> None:
    result = nw("fit", "site-1.nwr", "back ~ age + ward", *words)
    assert result.exit_code == 2 and said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.outer(but=["age=nan"])
@pytest.mark.parametrize("per", ["Intercept=2", "size=1", "age=0", "age=nan"])
def test_a_change_that_makes_no_sense_leaves_no_files(nw, per) -> None:
    one_error(nw("fit", "site-1.nwr", *LOGISTIC, "--per", per, "--csv", "never.csv"))
    assert not Path("never.csv").exists()
