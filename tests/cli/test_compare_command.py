"""``noisewise compare``: the tables, the documents, the files, and bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.command_line import WARDS, declare, make_release, one_error

import noisewise

FORMULA = "stay ~ age + ward"


def test_the_tables_are_for_people(nw, release) -> None:
    result = nw("compare", release, FORMULA, "--seed", 1, "--coefficients")
    assert result.exit_code == 0, result.stderr
    for words in (FORMULA, "noise-aware", "4 models", "probability", "from", "to", "log Bayes factor", "age + ward", "ward[T.B]",
                  "seed 1", "without privacy noise", "median probability model", "0.5 or more: stay ~ age + ward"):
        assert words in " ".join(result.stdout.split()), words  # lines are broken at the width of a terminal


def test_json_equals_the_library(nw, release) -> None:
    found = nw.json("compare", release, FORMULA, "--seed", 3, "--draws", 500, "--interval", 0.8, "--prior", "hyper-g",
                    "--model-prior", "bernoulli(0.3)", "--top", 2)
    expected = noisewise.compare(FORMULA, noisewise.load(release), seed=3, draws=500, prior="hyper-g",
                                 model_prior="bernoulli(0.3)")
    table = expected.inclusion(0.8)
    assert [row["term"] for row in found["terms"]] == list(table.index) == ["age", "ward"]
    for name in ("probability", "lower", "upper"):
        assert [row[name] for row in found["terms"]] == list(table[name])
    assert [row["mean"] for row in found["coefficients"]] == list(expected.coefficients(0.8)["mean"])
    assert found["models"][0]["terms"] == ["age", "ward"] and len(found["models"]) == 2
    assert found["models"][1]["log_bayes_factor"] == expected.models(2)["log_bayes_factor"].iloc[1]
    assert (found["prior"], found["model_prior"], found["method"], found["all_models"]) == (
        "hyper-g", "bernoulli(0.3)", "noise-aware", True)
    assert found["median_model"] == FORMULA and found["problems"] == []


def test_quiet_prints_the_tables_only(nw, release) -> None:
    result = nw("compare", release, FORMULA, "-q")
    assert result.stderr == "" and result.stdout.split()[0] == "term" and "median" not in result.stdout


def test_kept_terms_and_several_methods(nw, release) -> None:
    result = nw("compare", release, FORMULA, "--keep", "ward", "-m", "ridge", "-m", "thresholded")
    assert result.exit_code == 0, result.stderr
    for words in ("ward is kept in every model", "thresholded", "agree: in", "not calibrated", "leave --method out"):
        assert words in " ".join(result.stdout.split()), words  # lines are broken at the width of a terminal
    found = nw.json("compare", release, FORMULA, "--keep", "ward", "-m", "ridge", "-m", "thresholded")
    assert found["keep"] == ["Intercept", "ward"] and list(found["other_methods"]) == ["thresholded"]
    assert found["agreement"][0]["verdict"] == "agree: in" and found["terms"][0]["lower"] is None


def test_results_are_written(nw, release, tmp_path) -> None:
    names = {"plot": "p.png", "models-plot": "m.svg", "save": "p.npz", "csv": "p.csv", "export-rows": "rows.csv"}
    paths = {name: tmp_path / file for name, file in names.items()}
    options = [word for name, path in paths.items() for word in (f"--{name}", path)]
    found = nw.json("compare", release, FORMULA, "--seed", 2, *options)
    assert found["files"] == {name.replace("-", "_"): str(path) for name, path in paths.items()}
    table = pd.read_csv(paths["csv"], index_col="term")
    assert np.allclose(table["probability"], [row["probability"] for row in found["terms"]])
    posterior = noisewise.Posterior.load(paths["save"])
    assert np.allclose(posterior.draws("age").mean(), found["coefficients"][1]["mean"])
    assert paths["plot"].read_bytes().startswith(b"\x89PNG") and "<svg" in paths["models-plot"].read_text()
    rows = pd.read_csv(paths["export-rows"])
    assert list(rows.columns) == ["age", "ward[T.B]", "ward[T.C]", "stay"] and len(rows) == 2000
    slope = np.linalg.lstsq(np.column_stack([np.ones(len(rows)), rows.iloc[:, :-1]]), rows["stay"], rcond=None)[0][1]
    assert slope == pytest.approx(0.2, abs=0.03)
    said = nw("compare", release, FORMULA, "--export-rows", tmp_path / "again.csv").stderr
    assert "made up" in said and "method ridge" in said


def test_several_holders_are_compared_together(nw, release, schema, tmp_path) -> None:
    other = make_release(tmp_path / "other.nwr", schema, seed=6)
    result = nw("compare", release, other, FORMULA)
    assert result.exit_code == 0 and "2 holders" in result.stdout and "same rows" in result.stderr


def test_hidden_moments_are_told(nw, schema, tmp_path) -> None:
    from tests.cli.command_line import rows

    faint = tmp_path / "faint.nwr"
    noisewise.release(rows(5, 200), noisewise.Schema.load(schema), epsilon=0.02, delta=1e-6).save(faint)
    result = nw("compare", faint, FORMULA)
    assert result.exit_code == 0 and "noise hides" in result.stderr and ".py" not in result.output


def test_a_band_from_0_to_1_is_told(nw, release, monkeypatch) -> None:
    monkeypatch.setattr("noisewise.results.comparison.ALL_BUT_KNOWN", -1.0)  # as if every band were that wide
    told = nw("compare", release, FORMULA).stderr
    assert "the noise hides too much: without it, the probability of" in told and "could be anything" in told
    assert "could be anything" in nw.json("compare", release, FORMULA)["problems"][-1]


@pytest.mark.parametrize(("arguments", "words"), [
    (("stay ~ 1",), "can be left out"),
    ((FORMULA, "--prior", "flat"), "unknown prior of the coefficients"),
    ((FORMULA, "--model-prior", "flat"), "unknown prior of models"),
    ((FORMULA, "--method", "magic"), "unknown method"),
    ((FORMULA, "--keep", "ward[T.B]"), "keep 'ward'"),
    ((FORMULA, "--interval", "2"), "between 0 and 1"),
    ((FORMULA, "--plot", "p.txt"), ".png, .svg or .pdf"),
    ((FORMULA, "--models-plot", "p.txt"), "--models-plot"),
    ((FORMULA, "--save", "p.txt"), ".npz"),
    ((FORMULA, "--export-rows", "p.txt"), "--export-rows rows.csv"),
    ((FORMULA, "--csv", "no-such-folder/p.csv"), "no-such-folder"),
])
def test_what_cannot_be_done_is_said(nw, release, arguments, words) -> None:
    assert words in one_error(nw("compare", release, *arguments))


def test_wrong_use(nw, release) -> None:
    result = nw("compare", FORMULA, release)
    assert result.exit_code == 2 and "formula last" in result.stderr
    result = nw("compare", FORMULA)
    assert result.exit_code == 2 and "release file" in result.stderr


def model_release(folder: Path, seed: int) -> Path:
    """A release of kind model for FORMULA. Age has an effect of 60 standard errors."""
    from tests.cli.command_line import rows

    schema = noisewise.Schema.load(declare(folder / "schema.toml", stay=(0, 40), age=(18, 98), ward=WARDS))
    path = folder / "stay.nwr"
    noisewise.release(rows(seed, 4000), schema, noisewise.Model(FORMULA), epsilon=20, delta=1e-6).save(path)
    return path


@pytest.fixture(scope="module")
def one_model(tmp_path_factory) -> Path:
    return model_release(tmp_path_factory.mktemp("model"), 5)


def test_a_model_release_needs_no_formula(nw, one_model) -> None:
    result = nw("compare", one_model, "--seed", 1, "--coefficients")
    assert result.exit_code == 0, result.stderr
    for words in (FORMULA, "noise-aware", "4 models", "without privacy noise", "The coefficients describe the mean response"):
        assert words in " ".join(result.stdout.split()), words
    found, again = nw.json("compare", one_model, "--seed", 1), nw.json("compare", one_model, "stay ~ age+ward", "--seed", 1)
    assert found["formula"] == FORMULA and found["family"] == "gaussian" and found["terms"] == again["terms"]
    assert found["terms"][0]["probability"] > 0.99 and found["terms"][0]["lower"] > 0.9
    expected = noisewise.compare(noisewise.load(one_model), seed=1)
    assert [row["mean"] for row in found["coefficients"]] == list(expected.coefficients()["mean"])


def test_several_model_releases_need_no_formula(nw, one_model, tmp_path) -> None:
    result = nw("compare", one_model, model_release(tmp_path, 6))
    assert result.exit_code == 0 and "2 holders" in result.stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (("stay ~ age",), "its own formula"),
    (("--method", "ridge"), "a release of kind gram"),
    (("--export-rows", "rows.csv"), "kind gram only"),
])
def test_what_a_model_release_cannot_do_is_said(nw, one_model, arguments, words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in one_error(nw("compare", one_model, *arguments)) and not list(tmp_path.iterdir())


def test_a_gram_release_needs_a_formula(nw, release) -> None:
    assert "needs a formula" in one_error(nw("compare", release))
