"""adassp on the command line: release, show and fit, and what a point estimate cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import one_error

FORMULA = "stay ~ age + ward"


@pytest.fixture
def adassp(nw: Any, table: Path, schema: Path, tmp_path: Path) -> Path:
    path = tmp_path / "stay.nwr"
    made = nw("release", "adassp", table, "-s", schema, "-e", 100, "-d", "1e-6", "-o", path, "--formula", FORMULA)
    assert made.exit_code == 0, made.output
    assert FORMULA in made.stdout and "smallest eigenvalue" in made.stdout and "fit this regression" in made.stdout
    return path


def test_show_says_what_it_is_for(nw: Any, adassp: Path) -> None:
    shown = nw("show", adassp)
    assert shown.exit_code == 0
    assert "kind adassp" in shown.stdout and FORMULA in shown.stdout and "point estimate" in shown.stdout
    document = nw.json("show", adassp)
    assert (document["kind"], document["format_version"]) == ({"name": "adassp", "formula": FORMULA}, "1.0")
    assert document["contributions"][0]["smallest_eigenvalue"]["noise"] > 0


@pytest.mark.parametrize("method", [(), ("--method", "adassp")])
def test_fit_gives_a_table_and_says_that_it_has_no_intervals(
    nw: Any, adassp: Path, method: tuple[str, ...], tmp_path: Path
) -> None:
    csv = tmp_path / "stay.csv"
    shown = nw("fit", adassp, FORMULA, *method, "--csv", csv)
    assert shown.exit_code == 0, shown.output
    assert "estimate" in shown.stdout and "ward[T.B]" in shown.stdout
    assert "use a release of kind gram" in shown.output
    assert csv.read_text().splitlines()[0] == "term,estimate"
    document = nw.json("fit", adassp, FORMULA, *method)
    assert document["method"] == "adassp" and document["point_estimate"] is True
    found = {term["term"]: term["estimate"] for term in document["terms"]}
    assert found["age"] == pytest.approx(0.2, abs=0.05) and found["ward[T.B]"] == pytest.approx(4, abs=1.5)


def test_two_holders(nw: Any, adassp: Path, table: Path, schema: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.nwr"
    nw("release", "adassp", table, "-s", schema, "-e", 1, "-d", "1e-6", "-o", other, "--formula", FORMULA)
    assert nw.json("fit", adassp, other, FORMULA)["holders"] == 2


@pytest.mark.parametrize("options", [("--plot", "x.png"), ("--save", "x.npz")])
def test_what_needs_draws_is_refused(nw: Any, adassp: Path, options: tuple[str, str], tmp_path: Path) -> None:
    message = one_error(nw("fit", adassp, FORMULA, options[0], tmp_path / options[1]))
    assert "point estimate only" in " ".join(message.split()) and "kind gram" in " ".join(message.split())


def test_wrong_methods_formulas_and_files_are_refused(nw: Any, adassp: Path, release: Path) -> None:
    assert "supports only the method adassp" in " ".join(one_error(nw("fit", adassp, FORMULA, "-m", "collapsed")).split())
    assert "needs a release of kind adassp" in " ".join(one_error(nw("fit", release, FORMULA, "-m", "adassp")).split())
    assert "its own formula" in " ".join(one_error(nw("fit", adassp, "stay ~ age")).split())
    assert "kind: adassp and gram" in " ".join(one_error(nw("fit", adassp, release, FORMULA)).split())


@pytest.mark.parametrize(("kind", "options", "code", "words"), [
    ("adassp", (), 2, "Missing option '--formula'"),
    ("gram", ("--formula", FORMULA), 2, "No such option: --formula"),
    ("adassp", ("--formula", "stay ~ height"), 1, "was not declared"),
])
def test_releases_that_cannot_be_made_are_refused(
    nw: Any, table: Path, schema: Path, tmp_path: Path, kind: str, options: Any, code: int, words: str
) -> None:
    path = tmp_path / "none.nwr"
    result = nw("release", kind, table, "-s", schema, "-e", 1, "-d", "1e-6", "-o", path, *options)
    assert result.exit_code == code and words in " ".join(result.stderr.split())
    assert not path.exists()
