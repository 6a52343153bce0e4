"""``noisewise fit``: the table, the documents, and bad input."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.command_line import change, make_release, one_error
from tests.only_methods import only_methods

import noisewise
from noisewise.posterior.methods import METHODS
from noisewise.posterior.request import Request, Sampled

FORMULA = "stay ~ age + ward"
METHODS_BEFORE = dict(METHODS)


def test_the_table_is_for_people(nw, release) -> None:
    result = nw("fit", release, FORMULA, "--method", "laplace", "--seed", 1)
    assert result.exit_code == 0, result.stderr
    for words in (FORMULA, "2.5%", "97.5%", "P(>0)", "R-hat", "ward[T.B]", "sigma", "seed 1", "privacy noise"):
        assert words in result.stdout


@pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")  # few draws, which is not the point here
def test_json_equals_the_library(nw, release) -> None:
    found = nw.json("fit", release, FORMULA, "-m", "laplace", "--seed", 3, "--draws", 300, "--chains", 2, "--interval", 0.8)
    expected = noisewise.fit(FORMULA, noisewise.load(release), method="laplace", seed=3, draws=300, chains=2).summary(0.8)
    assert [row["term"] for row in found["terms"]] == list(expected.index)
    assert [row["mean"] for row in found["terms"]] == list(expected["mean"])
    assert [row["lower"] for row in found["terms"]] == list(expected["10%"])
    assert (found["seed"], found["draws"], found["chains"], found["interval"]) == (3, 300, 2, 0.8)


def test_quiet_prints_the_table_only(nw, release) -> None:
    result = nw("fit", release, FORMULA, "-m", "laplace", "-q")
    assert result.stderr == ""
    assert result.stdout.split()[0] == "term" and result.stdout.strip().splitlines()[-1].split()[0] == "sigma"


def test_results_are_written(nw, release, tmp_path) -> None:
    names = {"plot": tmp_path / "p.png", "save": tmp_path / "p.npz", "csv": tmp_path / "p.csv"}
    options = [word for name, path in names.items() for word in (f"--{name}", path)]
    found = nw.json("fit", release, FORMULA, "-m", "laplace", *options)
    assert found["files"] == {name: str(path) for name, path in names.items()}
    table = pd.read_csv(names["csv"], index_col="term")
    posterior = noisewise.Posterior.load(names["save"])
    assert np.allclose(table["mean"], posterior.summary()["mean"]) and list(table.index) == list(posterior.terms)
    assert names["plot"].read_bytes().startswith(b"\x89PNG")


def test_several_holders_are_fitted_together(nw, release, schema, tmp_path) -> None:
    other = make_release(tmp_path / "other.nwr", schema, seed=6)
    result = nw("fit", release, other, FORMULA, "-m", "laplace")
    assert result.exit_code == 0 and "2 holders" in result.stdout and "same rows" in result.stderr
    assert nw.json("fit", release, other, FORMULA, "-m", "laplace")["holders"] == 2


def test_a_bad_fit_warns_in_words_and_says_what_to_do(nw, release) -> None:
    result = nw("fit", release, FORMULA, "-m", "laplace", "--draws", 20, "--chains", 2, "-q")
    assert result.exit_code == 0
    assert "do not trust" in result.stderr and "--draws 80" in result.stderr
    assert "ConvergenceWarning" not in result.output and ".py" not in result.output
    assert nw.json("fit", release, FORMULA, "-m", "laplace", "--draws", 20, "--chains", 2)["problems"]


@pytest.mark.outer
def test_much_noise_and_many_predictors_ask_for_another_release_not_for_more_draws(nw, many_predictors) -> None:
    told = nw("fit", many_predictors, "y ~ .", "--draws", 400, "--seed", 1, "-q").stderr
    assert "as large as the smallest moment" in told and "fewer predictors, or a release with a larger epsilon" in told


def test_a_picture_of_too_many_terms_is_refused_before_anything_is_fitted_or_written(nw, many_predictors, tmp_path) -> None:
    formula, save = "y ~ (" + " + ".join(f"x{number}" for number in range(14)) + ")**2", tmp_path / "fit.npz"
    told = one_error(nw("fit", many_predictors, formula, "--plot", tmp_path / "fit.png", "--save", save))
    assert "at most 100 terms" in told and "--csv" in told and not save.exists()


@pytest.fixture
def many_predictors(tmp_path: Path) -> Path:
    """Fourteen predictors, with their products, that noise hides."""
    random, names = np.random.default_rng(1), [f"x{number}" for number in range(14)]
    columns = {name: {"bounds": [-1, 1]} for name in ["y", *names]}
    declared = noisewise.Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    made = noisewise.release({name: random.uniform(-1, 1, 500) for name in columns}, declared,
                             noisewise.Gram(terms="(" + " + ".join(names) + ")**2"), epsilon=1, delta=1e-6)
    return made.save(tmp_path / "many.nwr")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("stay ~ beds", "beds"),
        ("beds ~ age", "beds"),
        ("stay ~ log(age)", "not evaluated"),
        ("stay ~ __import__('os').system('true')", "cannot be read"),
        ("stay ~ age + stay", "own predictors"),
        ("stay ~ age + I(2*age)", "combination of the others"),
        ("stay ~ age:ward", "not in the release"),
        ("stay ~ age +", "cannot be read"),
        ("~ age", "response"),
    ],
)
def test_bad_formulas(nw, release, formula, said) -> None:
    assert said in one_error(nw("fit", release, formula))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "magic"], "magic"),
        (["--interval", "1.5"], "1.5"),
        (["--plot", "x.txt"], ".png"),
        (["--save", "x.txt"], ".npz"),
        (["--plot", "missing/x.png"], "missing"),
        (["--csv", "patients.nwr"], "replace a release"),
        (["--csv", "a.npz", "--save", "a.npz"], "a.npz, a.npz"),
    ],
)
def test_bad_options_are_refused_before_the_work(nw, release, monkeypatch, options, said) -> None:
    monkeypatch.chdir(release.parent)
    before = release.read_bytes()
    assert said in one_error(nw("fit", "patients.nwr", FORMULA, *options))
    assert release.read_bytes() == before


@pytest.mark.parametrize(("old", "new", "said"), [
    ("[0, 60]", "[0, 90]", "bounds"), ('["A", "B", "C"]', '["A", "C", "B"]', "levels"),
    ("replace-one", "add-remove", "adjacency")])
def test_releases_that_do_not_belong_together(nw, release, schema, tmp_path, old, new, said) -> None:
    change(schema, old, new)
    other = make_release(tmp_path / "other.nwr", schema, seed=6)
    assert said in one_error(nw("fit", release, other, FORMULA))


def test_the_same_release_twice_is_refused(nw, release) -> None:
    assert "once" in one_error(nw("fit", release, release, FORMULA))


def test_a_noisy_matrix_that_is_not_positive_definite_still_fits(nw, release, tmp_path) -> None:
    made = noisewise.load(release)
    matrix = made.contributions[0].matrix.copy()
    matrix[1, 1] = -20.0  # a sum of squares that noise has made negative
    assert np.linalg.eigvalsh(matrix).min() < 0
    odd = dataclasses.replace(made.contributions[0], matrix=matrix)
    dataclasses.replace(made, contributions=(odd,)).save(tmp_path / "odd.nwr")
    assert len(nw.json("fit", tmp_path / "odd.nwr", FORMULA, "-m", "laplace")["terms"]) == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["patients.nwr"], "not a formula"),
        ([FORMULA, "patients.nwr"], "formula last"),
        ([FORMULA], "release file"),
        ([], "FORMULA"),
        (["patients.nwr", FORMULA, "--draws", "0"], "draws"),
        (["patients.nwr", FORMULA, "--nonsense"], "nonsense"),
    ],
)
def test_wrong_use_is_exit_code_2(nw, release, monkeypatch, arguments, said) -> None:
    monkeypatch.chdir(release.parent)
    result = nw("fit", *arguments)
    assert result.exit_code == 2 and result.stdout == "" and said in result.stderr


def test_an_error_is_also_a_document(nw, release) -> None:
    result = nw("fit", release, "stay ~ beds", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["kind"] == "FormulaError"


@pytest.fixture
def two_methods() -> Iterator[None]:
    """The sampler takes seconds to compile; a quick method stands for the default here."""
    laplace = METHODS["laplace"]
    with only_methods({"conditional": laplace, "laplace": laplace}):
        yield


@pytest.mark.parametrize(("method", "calibrated", "said"), [
    ("laplace", True, "a normal approximation: too narrow"), ("fast", False, "treats the noisy matrix of the predictors"),
])
def test_what_is_known_against_a_method_is_told_with_its_result(nw, release, method, calibrated, said) -> None:
    result = nw("fit", release, "stay ~ age", "--method", method, "--seed", 1)
    assert result.exit_code == 0, result.stderr
    assert said in result.stdout and ("Each interval contains its coefficient" in result.stdout) == calibrated
    assert "10.0000" not in result.stdout  # the sigma of fast, a constant with as many digits as there are


@pytest.mark.parametrize(("count", "said"), [(0, "no transition diverged"), (1, "1 transition diverged"), (3, "3 transitions")])
def test_divergences_that_are_too_few_to_matter_are_not_denied(nw, release, count, said) -> None:
    diverging = np.arange(4000).reshape(4, 1000) < count

    def sampled(request: Request) -> Sampled:
        return dataclasses.replace(METHODS_BEFORE["laplace"](request), diverging=diverging)

    with only_methods({"conditional": sampled}):
        assert said in nw("fit", release, "stay ~ age", "--seed", 1).stdout


def test_methods_side_by_side(nw, release, tmp_path, two_methods) -> None:
    picture, table = tmp_path / "m.png", tmp_path / "m.csv"
    result = nw("fit", release, FORMULA, "--compare-methods", "--seed", 1, "--plot", picture, "--csv", table)
    assert result.exit_code == 0, result.stderr
    for words in ("conditional *", "laplace", "width", "ESS per second", "the default", "normal approximation"):
        assert words in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG") and list(pd.read_csv(table).columns[:3]) == ["term", "method", "mean"]
    found = nw.json("fit", release, FORMULA, "--compare-methods", "--seed", 1)
    assert [row["method"] for row in found["methods"]] == ["conditional", "laplace"] and found["default"] == "conditional"
    assert len(found["terms"]) == 10 and found["methods"][1]["caution"] and found["methods"][0]["refused"] is None


def test_a_comparison_takes_no_method_and_keeps_no_draws(nw, release, tmp_path) -> None:
    for options in (["--method", "laplace"], ["--save", tmp_path / "x.npz"]):
        result = nw("fit", release, FORMULA, "--compare-methods", *options)
        assert result.exit_code == 2 and "--compare-methods" in result.stderr
