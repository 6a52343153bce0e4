"""``noisewise demo``: the whole story, and that its table is what it says."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest
from tests.cli.command_line import one_error

import noisewise
from noisewise.cli.demo import FORMULA, SCHEMA, TRUTH, WARDS, made_up_patients

QUICK = ("--rows", 3000, "--epsilon", 200)
"""With so little noise the sampler is soon done; more noise is in the examples of the documentation."""
FILES = {"patients.parquet", "schema.toml", "patients.nwr", "summary.csv", "coefficients.png"}


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    return pd.DataFrame(made_up_patients(200_000, seed=11))


def test_the_whole_story(nw, tmp_path) -> None:
    folder = tmp_path / "demo"
    result = nw("demo", "--output", folder, *QUICK)
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in folder.iterdir()} == FILES
    for words in ("What just happened", "covers", "ward[T.geriatrics]", "What to try next", "noisewise fit"):
        assert words in result.stdout
    summary = pd.read_csv(folder / "summary.csv", index_col="term")
    assert list(summary.index) == list(TRUTH) and (summary["true_value"] == list(TRUTH.values())).all()
    # At epsilon 200 the noise moves a coefficient by some hundredths (at most 0.08 in three runs): 1 is a mistake.
    assert (abs(summary["private_estimate"] - summary["least_squares_estimate"]) < 1.0).all()
    assert (summary["private_lower"] < summary["private_estimate"]).all()
    assert (folder / "coefficients.png").read_bytes().startswith(b"\x89PNG")
    assert nw("show", folder / "patients.nwr").exit_code == 0
    assert nw("schema", "check", folder / "schema.toml", folder / "patients.parquet").exit_code == 0


@pytest.mark.outer
def test_it_runs_again_in_its_own_folder_but_replaces_nobody_elses_files(nw, tmp_path, schema) -> None:
    before = schema.read_text()
    assert "schema.toml" in one_error(nw("demo", "--output", tmp_path, "--rows", 100))
    assert schema.read_text() == before
    for _ in range(2):
        found = nw.json("demo", "--output", tmp_path / "own", *QUICK)
    assert [row["term"] for row in found["terms"]] == list(TRUTH) and found["delta"] == 1e-6
    assert {name.rsplit("/")[-1] for name in found["files"].values()} == FILES


@pytest.mark.outer
def test_the_seed_is_for_the_table_and_never_for_the_noise(nw, tmp_path) -> None:
    first, again = (nw.json("demo", "-o", tmp_path / name, *QUICK, "--seed", 5) for name in "ab")
    assert [row["least_squares_estimate"] for row in first["terms"]] == [row["least_squares_estimate"] for row in again["terms"]]
    one, two = (noisewise.load(tmp_path / name / "patients.nwr").contributions[0].matrix for name in "ab")
    assert not np.array_equal(one, two)


def test_a_folder_that_cannot_be_made(nw, schema) -> None:
    assert "folder" in one_error(nw("demo", "--output", schema / "below-a-file"))


def test_bad_epsilon_and_rows(nw, tmp_path) -> None:
    assert "epsilon" in one_error(nw("demo", "-o", tmp_path / "x", "--epsilon", 0))
    assert nw("demo", "-o", tmp_path / "x", "--rows", 5).exit_code == 2


def test_the_table_fits_its_schema(patients: pd.DataFrame) -> None:
    schema = tomllib.loads(SCHEMA)["columns"]
    for name in ("age", "procedures", "stay"):
        low, high = schema[name]["bounds"]
        assert patients[name].between(low, high).mean() > 0.9999
        assert patients[name].min() >= low
    for name in ("sex", "ward", "emergency"):
        assert set(patients[name]) == set(schema[name]["levels"])
    assert noisewise.Schema.from_dict(tomllib.loads(SCHEMA)).column("ward").levels == WARDS


def test_least_squares_finds_the_documented_truth(patients: pd.DataFrame) -> None:
    """Within four standard errors, which are so small that a coefficient 30 % off could not pass: it is eight or more away."""
    design = np.column_stack(
        [np.ones(len(patients)), patients["age"], patients["sex"] == "male"]
        + [patients["ward"] == ward for ward in WARDS[1:]]
        + [patients["procedures"], patients["emergency"] == "yes"]
    ).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ patients["stay"].to_numpy()
    rest = patients["stay"].to_numpy() - design @ found
    error = np.sqrt(np.diag(inverse) * rest.var())
    truth = np.array(list(TRUTH.values())[:-1])
    assert (abs(found - truth) < 4 * error).all()
    assert (0.3 * truth > 8 * error).all()
    assert abs(rest.std() - TRUTH["sigma"]) < 0.05


def test_the_table_is_skewed_and_correlated(patients: pd.DataFrame) -> None:
    assert patients["stay"].skew() > 1
    assert patients["procedures"].skew() > 1
    assert patients[["age", "stay"]].corr().iloc[0, 1] > 0.2
    age = patients.groupby("ward")["age"].mean()
    assert age["geriatrics"] > age["general"] + 15
    procedures = patients.groupby("ward")["procedures"].mean()
    assert procedures["surgery"] > 2 * procedures["general"]


@pytest.mark.outer
@pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")  # fifty rows say little
def test_the_formula_has_the_terms_of_the_truth(patients: pd.DataFrame) -> None:
    release = noisewise.release(patients.head(50), noisewise.Schema.from_dict(tomllib.loads(SCHEMA)), epsilon=1, delta=1e-6)
    assert noisewise.fit(FORMULA, release, method="laplace").terms == tuple(TRUTH)
