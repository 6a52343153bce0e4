"""model on the command line: release, show, batches, where the next release begins, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command_line import WARDS, change, declare, one_error, write_rows

import noisewise

FORMULA = "sick ~ age + ward"
BUDGET = ("-e", 1, "-d", "1e-6")
MODEL = ("--formula", FORMULA, "--family", "logistic")


@pytest.fixture
def patients_schema(tmp_path: Path) -> Path:
    return declare(tmp_path / "patients.toml", sick=["no", "yes"], age=(18, 98), ward=WARDS, visits=(0, 10))


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    random, rows = np.random.default_rng(2), 3000
    age = random.uniform(18, 98, rows)
    sick = np.where(random.random(rows) < 1 / (1 + np.exp(3 - 0.04 * age)), "yes", "no")
    return write_rows(tmp_path / "patients.parquet", {
        "sick": sick, "age": age, "ward": random.choice(WARDS, rows), "visits": random.poisson(1.0, rows).clip(0, 10)})


@pytest.fixture
def asked(patients: Path, patients_schema: Path) -> tuple[Any, ...]:
    return "release", "model", patients, "-s", patients_schema, *BUDGET


@pytest.fixture
def made(nw: Any, asked: tuple[Any, ...], tmp_path: Path) -> Path:
    path = tmp_path / "sick.nwr"
    result = nw(*asked, *MODEL, "-o", path)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    rounds = len(noisewise.load(path).contents.rounds)
    assert "noisewise release of kind model" in words and FORMULA in words and "4 coefficients" in words
    assert f"read for a first look and for {rounds} rounds" in words and "It needs no formula, because the file has one" in words
    assert words.endswith(f"noisewise fit {path}")
    return path


def test_show_says_what_it_is_for(nw: Any, made: Path) -> None:
    shown = nw("show", made)
    assert shown.exit_code == 0 and "this regression, whatever its predictors look like" in " ".join(shown.stdout.split())
    document = nw.json("show", made)
    assert document["kind"] == {"name": "model", "formula": FORMULA, "family": "logistic"}
    [part] = document["contributions"]
    assert sum(one["share"] for one in (part["look"], *part["rounds"])) == pytest.approx(1.0)
    assert all(one["noise_sd"]["score"] > 0 for one in part["rounds"])


def test_rounds_and_families(nw: Any, asked: tuple[Any, ...], tmp_path: Path) -> None:
    path = tmp_path / "visits.nwr"
    result = nw(*asked, "--formula", "visits ~ I(age**2)", "--terms", "I(age**2)", "-f", "poisson", "--rounds", 0, "-o", path)
    assert result.exit_code == 0, result.output
    release = noisewise.load(path)
    assert (release.kind.family, release.kind.rounds, release.kind.terms) == ("poisson", 0, "I(age**2)")
    assert len(release.contents.rounds) == 1 and "a first look and for one round" in " ".join(result.stdout.split())


def test_the_next_release_begins_where_this_one_ended(nw: Any, asked: tuple[Any, ...], made: Path, tmp_path: Path) -> None:
    path = tmp_path / "next.nwr"
    result = nw(*asked, *MODEL, "--start", made, "-o", path)
    assert result.exit_code == 0 and "1 round, where an earlier release ended" in " ".join(result.stdout.split())
    found = noisewise.load(path)
    assert found.kind.start == noisewise.start(noisewise.load(made)) and len(found.contents.rounds) == 1
    together = noisewise.combine([noisewise.load(made), found])
    assert together.holders == 2 and together.kind.start is None


def test_batches(nw: Any, asked: tuple[Any, ...], made: Path) -> None:
    assert nw(*asked, *MODEL, "--append", made, "--rounds", 0).exit_code == 0
    assert noisewise.load(made).holders == 2
    for options, words in ((("--formula", FORMULA, "-f", "probit"), "family: logistic and probit"),
                           (("--formula", "sick ~ ward + age", "-f", "logistic"), "formula: ")):
        assert words in " ".join(one_error(nw(*asked, *options, "--append", made)).split())
    assert noisewise.load(made).holders == 2


@pytest.mark.parametrize(("options", "words"), [
    (("--formula", "sick ~ age", "-f", "logistic"), "formula: 'sick ~ age + ward' and 'sick ~ age'"),
    (("--formula", "sick ~ visits + ward", "-f", "logistic"), "formula: 'sick ~ age + ward' and 'sick ~ visits + ward'"),
    (("--formula", "sick ~ ward + age", "-f", "logistic"), "formula: "),
    (("--formula", FORMULA, "-f", "probit"), "family: logistic and probit"),
])
def test_a_start_of_another_model_is_refused_before_anything_is_spent(
    nw: Any, asked: tuple[Any, ...], made: Path, tmp_path: Path, options: Any, words: str
) -> None:
    path, ledger = tmp_path / "next.nwr", tmp_path / "table.ledger"
    noisewise.Ledger.open(ledger, epsilon=2.0, delta=1e-5)
    message = " ".join(one_error(nw(*asked, *options, "--start", made, "-o", path, "--ledger", ledger)).split())
    assert f"{made} is not a release of the same model" in message and "nothing was released" in message and words in message
    assert not path.exists() and noisewise.Ledger.open(ledger).spent().epsilon == 0.0


def test_so_is_one_of_another_schema_or_kind_and_what_is_no_release(
    nw: Any, asked: tuple[Any, ...], made: Path, patients: Path, patients_schema: Path, tmp_path: Path
) -> None:
    path = tmp_path / "next.nwr"
    nw("release", "moments", patients, "-s", patients_schema, *BUDGET, "-o", tmp_path / "moments.nwr", "--formula", FORMULA)
    for start, words in ((tmp_path / "moments.nwr", "only a release of kind model can be started from"),
                         (patients, "Parquet"), (tmp_path / "nowhere.nwr", "nowhere.nwr")):
        assert words in " ".join(one_error(nw(*asked, *MODEL, "--start", start, "-o", path)).split())
    change(patients_schema, "98", "90")
    message = " ".join(one_error(nw(*asked, *MODEL, "--start", made, "-o", path)).split())
    assert "column 'age', bounds: [18, 98] and [18, 90]" in message and not path.exists()


@pytest.mark.parametrize(("options", "code", "words"), [
    ((), 2, "Missing option '--formula'"),
    (("--formula", FORMULA, "--family", "cauchy"), 1, "unknown family"),
    (("--formula", FORMULA), 1, "needs a numeric response"),
    (("--formula", "visits ~ age", "-f", "logistic"), 1, "two levels"),
    (("--formula", "age ~ visits", "-f", "poisson"), 1, "needs a count"),
    (("--formula", FORMULA, "-f", "logistic", "--rounds", "9"), 1, "from 0 to 8"),
    (("--formula", FORMULA, "-f", "logistic", "--rounds", "-1"), 2, "--rounds"),
    (("--formula", FORMULA, "-f", "logistic", "--mechanism", "laplace"), 2, "No such option: --mechanism"),
    (("--formula", "sick ~ height", "-f", "logistic"), 1, "was not declared"),
])
def test_releases_that_cannot_be_made_are_refused(
    nw: Any, asked: tuple[Any, ...], tmp_path: Path, options: Any, code: int, words: str
) -> None:
    path = tmp_path / "none.nwr"
    result = nw(*asked, "-o", path, *options)
    assert result.exit_code == code and words in " ".join(result.stderr.split())
    assert not path.exists()
