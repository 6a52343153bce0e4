"""``noisewise synthesize``, ``release binary`` and ``estimate``: files, words, JSON and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command_line import one_error

import noisewise
from noisewise.run import QUIET

DECLARED = """\
adjacency = "replace-one"

[columns.smoker]
levels = ["no", "yes"]

[columns.visits]
bounds = [0, 10]
"""


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Path]:
    """A table and its schema."""
    data, schema = tmp_path / "people.parquet", tmp_path / "people.toml"
    pq.write_table(pa.table({"smoker": ["yes"] * 300 + ["no"] * 700, "visits": [2.0] * 500 + [4.0] * 500}), data)
    schema.write_text(DECLARED)
    return data, schema


@pytest.fixture
def smokers(nw: Any, people: tuple[Path, Path], tmp_path: Path) -> Path:
    path = tmp_path / "smokers.nwr"
    result = nw("release", "binary", people[0], "-s", people[1], "-c", "smoker", "-e", 1, "--rows", 200, "--copies", 2,
                "-o", path)
    assert result.exit_code == 0, result.output
    assert "2 copies of 200 synthetic rows" in result.stdout
    return path


def test_tables_of_a_release(nw: Any, release: Path, tmp_path: Path) -> None:
    found = nw.json("synthesize", release, "--sets", 3, "--rows", 50, "--out", tmp_path / "made", "--seed", 1)
    assert found["tables"] == 3 and found["rows"] == 50 and set(found["cut_off"]) == {"stay", "age"}
    assert [Path(file).name for file in found["files"]] == [f"synthetic-0{k}.parquet" for k in (1, 2, 3)]
    table = pq.read_table(found["files"][0])
    assert table.num_rows == 50 and table.column_names == ["stay", "age", "ward"]
    again = nw("synthesize", release, "--sets", 3, "--out", tmp_path / "made")
    assert "empty folder" in one_error(again)
    text = nw("synthesize", release, "--sets", 2, "--csv", "--out", tmp_path / "text")
    assert text.exit_code == 0 and "2 tables of 2,000 synthetic rows" in text.stdout
    assert (tmp_path / "text" / "synthetic-02.csv").read_text().startswith('"stay","age","ward"\n')


def test_binary_rows_as_tables_and_their_proportion(nw: Any, smokers: Path, tmp_path: Path) -> None:
    made = noisewise.load(smokers).contents
    found = nw.json("synthesize", smokers, "--out", tmp_path / "made")
    tables = [pq.read_table(file) for file in found["files"]]
    assert [table["smoker"].to_pylist().count("yes") for table in tables] == list(made.counts)
    estimate = nw.json("estimate", smokers, "--seed", 1)
    assert estimate["family"] == "binary synthesis" and 0 < estimate["terms"]["proportion"]["lower"] < 0.5
    assert nw("estimate", smokers, "--method", "naive").stderr.startswith("Warning: naive")
    for more in (("--sets", 3), ("--rows", 3)):
        assert nw("synthesize", smokers, "--out", tmp_path / "other", *more).exit_code == 2
    assert nw("estimate", smokers, "--column", "smoker").exit_code == 2


def test_an_older_file_is_not_replaced(nw: Any, people: tuple[Path, Path], smokers: Path) -> None:
    asked = ("release", "binary", people[0], "-s", people[1], "-c", "smoker", "-e", 1, "--rows", 200)
    assert "--force" in one_error(nw(*asked, "-o", smokers))
    assert nw(*asked, "-o", smokers, "--force").exit_code == 0
    assert ".nwr" in one_error(nw(*asked, "-o", smokers.with_suffix(".csv")))
    assert "two levels" in one_error(nw(*asked[:6], "visits", *asked[7:], "-o", smokers, "--force"))


def test_binary_rows_with_a_ledger(nw: Any, people: tuple[Path, Path], tmp_path: Path) -> None:
    ledger = tmp_path / "people.ledger"
    assert nw("ledger", "open", ledger, "-e", 1).exit_code == 0
    asked = ("release", "binary", people[0], "-s", people[1], "-c", "smoker", "-e", 0.6, "--rows", 100, "--ledger", ledger)
    first = nw.json(*asked, "-o", tmp_path / "a.nwr")
    assert nw.json(*asked, "-o", tmp_path / "b.nwr")["contributions"] == first["contributions"]
    assert "budget" in one_error(nw(*asked, "--edition", "2", "-o", tmp_path / "c.nwr"))
    assert not (tmp_path / "c.nwr").exists()


@pytest.mark.outer
def test_a_rate_and_a_mean(nw: Any, people: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "people.nwr"
    noisewise.release(str(people[0]), noisewise.Schema.load(people[1]), epsilon=10, run=QUIET).save(path)
    result = nw("estimate", path, "--column", "visits", "--family", "poisson", "--csv", tmp_path / "visits.csv")
    assert result.exit_code == 0 and result.stdout.startswith("visits: rate, if the column is Poisson: ")
    assert (tmp_path / "visits.csv").read_text().startswith("term,mean,sd")
    found = nw.json("estimate", path, "-c", "visits", "-f", "normal")
    assert list(found["terms"]) == ["mean", "sd", "mean before clipping", "sd before clipping"]
    assert 2.5 < found["terms"]["mean"]["mean"] < 3.5
    lines = nw("estimate", path, "-c", "visits", "-f", "normal").stdout.splitlines()
    assert lines[0].startswith("visits: mean ") and "if the column" not in lines[0]
    assert lines[2].startswith("visits: mean before clipping, if the column is normal: ")
    assert "if no row was clipped" in nw("estimate", path, "-c", "visits", "-f", "poisson", "-m", "naive").stdout
    assert "if " not in nw("estimate", path, "-c", "smoker", "-f", "bernoulli").stdout.splitlines()[0]
    assert nw("estimate", path).exit_code == 2
    assert nw("estimate", path, "-c", "visits", "-f", "poisson", "--rows", 5).exit_code == 2
    assert "bounds 0 and 1" in one_error(nw("estimate", path, "-c", "visits", "-f", "bernoulli"))
