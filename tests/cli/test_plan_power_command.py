"""``noisewise plan power``: from the schema alone, for people, spreadsheets and machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.cli.command_line import one_error

FORMULA = "stay ~ age + ward"
GIVEN = ("-d", "1e-6", "--effect", "age=0.1", "--effect", "ward[T.B]=3", "--assume", "sigma=6", "--repeats", 20,
         "--method", "fast")


def test_widths_and_powers_for_every_reader(nw: Any, schema: Path, tmp_path: Path) -> None:
    picture, table = tmp_path / "plan.png", tmp_path / "plan.csv"
    result = nw("plan", "power", FORMULA, "-s", schema, "-n", "2000,1e4", "-e", "3", "-e", 10, *GIVEN, "--plot", picture,
                "--csv", table, "--assume", "ward: A=0.5 B=0.3 C=0.2", "--assume", "age: mean=60 sd=12 shape=uniform",
                "--assume", "age,ward=0.2")
    assert result.exit_code == 0, result.output
    for words in ("10,000", "power", "privacy", "age: uniform, mean 60, sd 12\n", "ward: A 0.5, B 0.3, C 0.2\n",
                  "correlation of age and ward: 0.2", "Nothing was read and nothing was spent"):
        assert words in result.stdout
    assert picture.stat().st_size > 10_000 and "Wrote" in result.stderr
    written = pd.read_csv(table)
    assert len(written) == 2 * 2 * 4 and set(written["rows"]) == {2_000, 10_000}
    assert written.loc[written["term"] == "age", "width"].is_monotonic_decreasing


@pytest.mark.outer
def test_a_model_release_is_planned_and_compared(nw: Any, schema: Path) -> None:
    given = ("-s", schema, "-n", 2_000, "-e", 1, "-d", "1e-6", "--repeats", 20)
    result = nw("plan", "power", "stay ~ age", "--kind", "model", *given, "--assume", "sigma=6")
    assert result.exit_code == 0, result.output
    assert "20 simulated model releases" in result.stdout and "with" in result.stdout
    assert "than a gram release for this question" in " ".join(result.stdout.split())
    document = nw.json("plan", "power", "stay ~ age", "--kind", "model", *given)
    assert (document["kind"], document["other"]) == ("model", "gram")
    assert all(line["width_other"] > 0 for line in document["cells"][0]["lines"])
    assert nw("plan", "power", "stay ~ age", "--kind", "rows", *given).exit_code == 2
    assert "mechanism" in one_error(nw("plan", "power", "stay ~ age", "--kind", "model", "--mechanism", "gaussian", *given))


def test_a_plan_of_a_model_release_tells_how_the_budget_is_split(nw: Any, schema: Path) -> None:
    given = ("-s", schema, "--formula", "stay ~ age", "-e", 1, "-d", "1e-6")
    result = nw("plan", "model", *given, "--rows", 2_000)
    words = " ".join(result.stdout.split())
    assert result.exit_code == 0 and "4 % for the first look" in words and "than a gram release" in words
    document = nw.json("plan", "model", *given, "--rounds", 2)
    assert document["kind"]["rounds"] == 2 and document["noise"]["look"]["noise_sd"] > 0 and document["widths"] == {}
    assert "family" in one_error(nw("plan", "model", *given, "-f", "odd"))


@pytest.mark.outer
def test_the_document_and_the_least_epsilon(nw: Any, schema: Path) -> None:
    document = nw.json("plan", "power", FORMULA, "-s", schema, "-n", 3_000, "--power", 0.8, *GIVEN)
    assert [(one["term"], one["quantity"]) for one in document["needed"]] == [("age", "epsilon"), ("ward[T.B]", "epsilon")]
    assert all(0 < one["lower"] < one["value"] < one["upper"] for one in document["needed"])
    assert {cell["epsilon"] for cell in document["cells"]} == {one["value"] for one in document["needed"]}
    assert document["assumptions"][0].startswith("age: normal, mean 58")


@pytest.mark.parametrize("wrong", [
    ("-n", "many", "-e", 1), ("-n", 100, "-e", "x"), ("-n", 100, "-e", 1, "--effect", "age"),
    ("-n", 100, "-e", 1, "--assume", "age"), ("-n", 100, "-e", 1, "--assume", "age=1"),
    ("-n", 100, "-e", 1, "--repeats", 2)])
def test_wrong_use_is_exit_code_2(nw: Any, schema: Path, wrong: tuple[object, ...]) -> None:
    assert nw("plan", "power", FORMULA, "-s", schema, "-d", "1e-6", *wrong).exit_code == 2


def test_what_cannot_be_planned_is_an_error(nw: Any, schema: Path) -> None:
    start = ("plan", "power", FORMULA, "-s", schema, "-n", 100)
    assert "terms of the formula" in one_error(nw(*start, "-e", 1, "--effect", "bmi=1"))
    assert "a number of rows and an epsilon" in one_error(nw(*start))
