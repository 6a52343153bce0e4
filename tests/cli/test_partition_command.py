"""partition on the command line: plan, release, show, answer, test, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command_line import WARDS, declare, one_error, write_rows

import noisewise
from noisewise.releases.release import Release

FORMULA = "income ~ age + years + ward"
KIND = ("--formula", FORMULA, "--parts", 40)
ASKED = ("--ask", "posterior-probability of=age at=0,3", "--ask", "bayes-factor of=age,years prior=hyper-g",
         "--ask", 'posterior-quantile of="age - years"', "--ask", "likelihood-ratio of=ward")


@pytest.fixture
def open_schema(tmp_path: Path) -> Path:
    return declare(tmp_path / "open.toml", income="unknown", age="unknown", years="unknown", ward=WARDS)


@pytest.fixture
def incomes(tmp_path: Path) -> Path:
    random, rows = np.random.default_rng(2), 4000
    age, years = random.normal(50, 10, rows), random.exponential(5, rows)
    return write_rows(tmp_path / "incomes.parquet", {
        "income": 3 * age + random.normal(0, 20, rows), "age": age, "years": years, "ward": random.choice(WARDS, rows)})


@pytest.fixture
def made(nw: Any, incomes: Path, open_schema: Path, tmp_path: Path) -> Path:
    path = tmp_path / "incomes.nwr"
    result = nw("release", "partition", incomes, "-s", open_schema, *KIND, *ASKED, "-e", 200, "-o", path)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "kind partition" in words and FORMULA in words and "40 random parts of about 100 rows" in words
    assert f"noisewise answer {path}" in words and f"noisewise hypothesis-test {path}" in words
    assert "no --delta was given" in result.stderr
    return path


def test_the_release_is_that_of_the_library(made: Path) -> None:
    release = noisewise.load(made)
    assert isinstance(release, Release)
    kind, one = release.kind, release.contents
    assert [question.ask for question in kind.ask] == [
        "posterior-probability", "bayes-factor", "posterior-quantile", "likelihood-ratio"]
    assert kind.ask[1].to_dict()["prior"] == "hyper-g"
    assert (kind.parts, one.epsilon, one.delta, kind.prior.name) == (40, 200.0, 0.0, "flat")
    assert [name for term in kind.ask[3].of for name, _ in term] == ["ward[T.B]", "ward[T.C]"]  # type: ignore[misc]


def test_show_says_what_it_is_for(nw: Any, made: Path) -> None:
    shown = nw("show", made)
    words = " ".join(shown.stdout.split())
    assert shown.exit_code == 0 and "kind partition" in words and "age: as it is" in words
    assert "P(age <= 0), clipped to [-1.5, 1.5]" in words
    document = nw.json("show", made)
    assert (document["kind"]["name"], document["kind"]["parts"], len(document["kind"]["ask"])) == ("partition", 40, 4)


def test_show_of_several_lists_them(nw: Any, made: Path, release: Path) -> None:
    other = made.with_name("other.nwr")
    other.write_bytes(made.read_bytes())
    shown = nw("show", made, other, release)
    assert shown.exit_code == 0 and shown.stdout.count("kind partition") == 2 and str(release) in shown.stderr
    assert len(nw.json("show", made, other, release)["releases"]) == 2


def test_answers_are_near_the_truth_and_in_words(nw: Any, made: Path, tmp_path: Path) -> None:
    picture = tmp_path / "answers.png"
    result = nw("answer", made, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert "The posterior probability that age is at most 0 is about" in " ".join(result.stdout.split())
    assert picture.read_bytes().startswith(b"\x89PNG")
    document = nw.json("answer", made, "--probability", 0.9)
    found = {one["name"]: one for one in document["answers"]}
    assert found["P(age <= 0)"]["point"] < 0.01 and 0.0 < found["P(age <= 3)"]["point"] < 1.0
    wide = {one["name"]: one for one in nw.json("answer", made, "--probability", 0.99999)["answers"]}["age - years"]
    assert wide["lower"] < 3 < wide["upper"] and wide["limits"] is None  # noise has no seed, so the interval is a wide one
    assert found["log Bayes factor of age, years"]["point"] > 3 and found["P(age, years not zero)"]["point"] > 0.9
    assert found["log Bayes factor of age, years"]["limits"] == pytest.approx([-np.log(99), np.log(99)])
    assert document["probability"] == 0.9 and all(one["lower"] <= one["point"] <= one["upper"] for one in found.values())
    sceptical = nw.json("answer", made, "--prior-probability", 0.001)
    assert sceptical["answers"][3]["point"] < found["P(age, years not zero)"]["point"]


def test_quiet_answers_are_the_table_alone(nw: Any, made: Path) -> None:
    result = nw("answer", made, "--quiet")
    assert "P(age <= 3)" in result.stdout and "posterior probability that" not in result.stdout and result.stderr == ""


def test_calibrated_tests_with_the_uncalibrated_value_beside(nw: Any, made: Path) -> None:
    result = nw("hypothesis-test", made, "--level", 0.05)
    words = " ".join(result.stdout.split())
    assert result.exit_code == 0, result.output
    assert "age = 0: rejected at 0.05" in words and "age = 3: not rejected at 0.05" in words and "≥ 5.99" in words
    document = nw.json("hypothesis-test", made, "--level", 0.05, "--level", 0.01)
    ratio = {one["name"]: one for one in document["tests"]}["2 log likelihood ratio of ward[T.B], ward[T.C]"]
    [five, one] = ratio["levels"]
    assert five["uncalibrated"] == pytest.approx(5.991, abs=1e-3) and one["uncalibrated"] == pytest.approx(9.210, abs=1e-3)
    assert 2.0 < five["reject_at_or_above"] < one["reject_at_or_above"] < 5.0  # the mean of 40 parts varies less than one
    assert five["reject_at_or_below"] is None and len(document["tests"]) == 4


def test_a_censored_test_may_never_reject(nw: Any, incomes: Path, open_schema: Path, tmp_path: Path) -> None:
    path = tmp_path / "noisy.nwr"
    result = nw("release", "partition", incomes, "-s", open_schema, "--formula", FORMULA, "--parts", 2,
                "--ask", "likelihood-ratio of=age", "-e", 0.1, "-o", path)
    assert result.exit_code == 0, result.output
    assert "never" in nw("hypothesis-test", path, "--censored").stdout and "never" not in nw("hypothesis-test", path).stdout
    censored, free = (nw.json("hypothesis-test", path, *option)["tests"][0]["levels"][0]["reject_at_or_above"]
                      for option in (("--censored",), ()))
    assert censored is None and free > 7


def test_the_alternative_decides_which_side_rejects(nw: Any, made: Path) -> None:
    sides = {side: nw.json("hypothesis-test", made, "--alternative", side)["tests"][0]["p_value"] for side in ("greater", "less")}
    assert sides["greater"] < 0.01 and sides["less"] > 0.99


@pytest.mark.parametrize(("command", "options", "words"), [
    ("answer", ("--probability", "1.5"), "strictly between 0 and 1"),
    ("answer", ("--prior-probability", "0"), "strictly between 0 and 1"),
    ("answer", ("--plot", "x.gif"), ".png, .svg or .pdf"),
    ("hypothesis-test", ("--level", "0.7"), "levels of a test"),
    ("hypothesis-test", ("--alternative", "sideways"), "unknown alternative"),
    ("hypothesis-test", ("--rows", "nan"), "must be positive"),
    ("hypothesis-test", ("--rows", "-5"), "must be positive"),
])
def test_wrong_options_of_the_analyst_are_refused(nw: Any, made: Path, command: str, options: Any, words: str) -> None:
    assert words in " ".join(one_error(nw(command, made, *options)).split())


def test_other_kinds_are_not_answered_and_this_one_is_not_fitted(nw: Any, made: Path, release: Path) -> None:
    for command in ("answer", "hypothesis-test"):
        assert "kind partition" in one_error(nw(command, release))
    assert "noisewise answer" in one_error(nw("fit", made, "income ~ age"))


def test_questions_from_a_file_and_a_prior(nw: Any, incomes: Path, open_schema: Path, tmp_path: Path) -> None:
    file, path = tmp_path / "questions.toml", tmp_path / "file.nwr"
    file.write_text('[[questions]]\nask = "bic"\nof = ["age", "years"]\n\n[[questions]]\nask = "posterior-probability"\n'
                    'of = "age - years"\nat = [0, 1.5]\ncombine = "fisher"\n')
    result = nw("release", "partition", incomes, "-s", open_schema, *KIND, "--ask", file, "--ask", "aic of=age", "-e", 1,
                "-d", "1e-6", "--prior", "zellner g=4000", "-o", path, "--quiet")
    assert result.exit_code == 0 and result.stdout == "", result.output
    release = noisewise.load(path)
    assert isinstance(release, Release)
    assert [number.name for number in release.contents.numbers] == [
        "BIC difference of age, years", "P(age - years <= 0)", "P(age - years <= 1.5)", "AIC difference of age"]
    assert release.kind.prior.to_dict() == {"name": "zellner", "g": 4000.0} and release.contents.mechanism == "gaussian"


def test_the_ledger_is_charged_once(nw: Any, incomes: Path, open_schema: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "incomes.ledger"
    given = ("release", "partition", incomes, "-s", open_schema, *KIND, "--ask", "aic of=age", "-e", 1, "--ledger", ledger)
    first = nw(*given, "--total-epsilon", 1.5, "-o", tmp_path / "one.nwr")
    assert first.exit_code == 0, first.output
    again = nw(*given, "-o", tmp_path / "two.nwr")
    assert again.exit_code == 0 and "nothing was spent" in again.stderr
    assert (tmp_path / "one.nwr").read_bytes() == (tmp_path / "two.nwr").read_bytes()
    other = list(given)
    other[other.index("aic of=age")] = "bic of=age"
    assert "budget" in one_error(nw(*other, "-o", tmp_path / "three.nwr"))


def test_a_release_that_cannot_be_written_is_rescued(
    nw: Any, incomes: Path, open_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "lost.nwr", Release.save

    def save(self: Release, target: Path) -> Path:
        if Path(target) == path:
            raise OSError("no room")
        return real(self, target)

    monkeypatch.setattr(Release, "save", save)
    message = one_error(nw("release", "partition", incomes, "-s", open_schema, *KIND, "--ask", "aic of=age", "-e", 1, "-o", path))
    rescued = message.split("move it to a safe place: ")[1].strip()
    assert isinstance(noisewise.load(rescued), Release)


def test_warnings_about_small_parts_and_large_delta(nw: Any, incomes: Path, open_schema: Path, tmp_path: Path) -> None:
    result = nw("release", "partition", incomes, "-s", open_schema, "--formula", FORMULA, "--parts", 300,
                "--ask", "aic of=age", "-e", 1, "-d", 0.01, "-o", tmp_path / "small.nwr")
    words = " ".join(result.stderr.split())
    assert result.exit_code == 0 and "about 13 rows for 5 coefficients" in words and "delta is larger than 1/4000" in words


def test_json_of_a_release_is_one_document(nw: Any, incomes: Path, open_schema: Path, tmp_path: Path) -> None:
    document = nw.json("release", "partition", incomes, "-s", open_schema, *KIND, "--ask", "aic of=age", "-e", 1,
                       "-o", tmp_path / "j.nwr")
    assert document["kind"]["name"] == "partition" and document["kind"]["parts"] == 40
    assert document["contributions"][0]["epsilon"] == 1


@pytest.mark.parametrize(("options", "words"), [
    (("--formula", FORMULA, "--parts", 1, "--ask", "aic of=age"), "a whole number from 2"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "aic of=height"), "known: Intercept, age, years"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "aic of=age", "--ask", "aic of=age"), "asked only once"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "aic of=age", "--prior", "zellner"), "the prior zellner takes g"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "aic of=age", "--prior", "flat g=1"), "leave g out"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "aic of=age", "--mechanism", "wishart"), "known: k-norm, gaussian"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "why of=age"), "must begin with the name of its kind"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "no-such.toml"), "the file of questions cannot be read"),
])
def test_releases_that_cannot_be_made_are_refused(
    nw: Any, incomes: Path, open_schema: Path, tmp_path: Path, options: Any, words: str
) -> None:
    path = tmp_path / "none.nwr"
    message = one_error(nw("release", "partition", incomes, "-s", open_schema, *options, "-e", 1, "-o", path))
    assert words in " ".join(message.split())
    assert not path.exists()


@pytest.mark.parametrize(("options", "words"), [
    ((), "Missing option '--formula'"),
    (("--formula", FORMULA), "Missing option '--parts'"),
    (("--formula", FORMULA, "--parts", 40), "Missing option '--ask'"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "aic of=age", "--terms", "age:years"), "No such option: --terms"),
    (("--formula", FORMULA, "--parts", 40, "--ask", "aic of=age", "--average", 2), "No such option: --average"),
])
def test_options_that_are_missing_or_of_other_kinds(
    nw: Any, incomes: Path, open_schema: Path, tmp_path: Path, options: Any, words: str
) -> None:
    result = nw("release", "partition", incomes, "-s", open_schema, *options, "-e", 1, "-o", tmp_path / "none.nwr")
    assert result.exit_code == 2 and words in " ".join(result.stderr.split())
    assert not (tmp_path / "none.nwr").exists()


def test_batches_are_refused(nw: Any, incomes: Path, open_schema: Path, made: Path) -> None:
    before = made.read_bytes()
    result = nw("release", "partition", incomes, "-s", open_schema, *KIND, "--ask", "aic of=age", "-e", 1, "--append", made)
    assert result.exit_code == 2 and "No such option: --append" in result.stderr and made.read_bytes() == before


def test_other_kinds_take_no_questions_and_need_bounds(
    nw: Any, incomes: Path, open_schema: Path, table: Path, schema: Path, tmp_path: Path
) -> None:
    path = tmp_path / "none.nwr"
    result = nw("release", table, "-s", schema, "-e", 1, "-o", path, "--ask", "aic of=age")
    assert result.exit_code == 2 and "No such option: --ask" in result.stderr
    assert "this kind of release needs them" in one_error(nw("release", incomes, "-s", open_schema, "-e", 1, "-o", path))
    assert not path.exists()


def test_checking_a_schema_without_bounds_says_what_it_serves(nw: Any, incomes: Path, open_schema: Path) -> None:
    result = nw("schema", "check", open_schema, incomes)
    words = " ".join(result.stdout.split())
    assert result.exit_code == 0, result.output
    assert "kind partition, bounds, binary only: the bounds of income, age, years are unknown" in words
    assert "every declared column" in words
    document = nw.json("schema", "check", open_schema)
    assert document["kinds"] == ["partition", "bounds", "binary"] and "noise" not in document
    assert "bounds are unknown" in one_error(nw("schema", "check", open_schema, "--terms", "age:years"))


def test_checking_a_schema_with_bounds_is_as_before(nw: Any, schema: Path) -> None:
    document = nw.json("schema", "check", schema)
    assert document["kinds"][0] == "gram" and document["noise"]["sd"]["diagonal"] > 0


def test_the_template_names_unknown_bounds(nw: Any, incomes: Path) -> None:
    assert 'bounds = "unknown"' in nw("schema", "init", incomes, "-o", "-").stdout


def test_the_plan_suggests_what_can_be_released(nw: Any, incomes: Path, open_schema: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    given = ("plan", "partition", "--rows", 4000, "--predictors", 4, "-e", 2, "--ask", "posterior-probability of=age at=0",
             "--ask", "likelihood-ratio of=age,years", "--parts", 10, "--parts", 50)
    shown = nw(*given, "--plot", picture)
    words = " ".join(shown.stdout.split())
    assert shown.exit_code == 0 and "nothing was spent" in words and "power at 5 se" in words
    assert picture.read_bytes().startswith(b"\x89PNG")
    plan = nw.json(*given)
    assert plan["parts"] in (10, 50) and len(plan["lines"]) == 2
    asks = [word for text in plan["ask"] for word in ("--ask", text)]
    result = nw("release", "partition", incomes, "-s", open_schema, "--formula", FORMULA, "--parts", plan["parts"],
                *asks, "-e", 2, "-o", tmp_path / "planned.nwr")
    assert result.exit_code == 0, result.output
    release = noisewise.load(tmp_path / "planned.nwr")
    assert isinstance(release, Release)
    assert release.kind.ask[0].to_dict() == plan["questions"][0]


@pytest.mark.parametrize(("options", "words"), [
    (("--rows", 50, "--predictors", 3), "about 30 rows plus one for each coefficient"),
    (("--rows", 0, "--predictors", 3), "rows must be a whole number"),
    (("--rows", 5000, "--predictors", 0), "predictors must be a whole number"),
    (("--rows", 5000, "--predictors", 3, "--parts", 1), "from 2 to 147"),
    (("--rows", 5000, "--predictors", 3, "--parts", 900), "from 2 to 147"),
    (("--rows", 5000, "--predictors", 3, "--ask", "aic"), "requires of="),
])
def test_plans_that_cannot_be_made_are_refused(nw: Any, options: Any, words: str) -> None:
    assert words in " ".join(one_error(nw("plan", "partition", *options, "-e", 1)).split())
