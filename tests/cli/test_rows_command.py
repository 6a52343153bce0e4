"""Published rows on the command line: plan, release, show, ledger, audit, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command_line import WARDS, declare, one_error, rows, write_rows

import noisewise


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    return declare(tmp_path / "schema.toml", age=(18, 98), stay=(0, 40), ward=WARDS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "patients.parquet", rows(3, 400))


def release(nw: Any, table: Path, declared: Path, target: Path, *more: Any) -> Any:
    return nw("release", "rows", table, "-s", declared, "-e", 8, "-o", target, *more)


def test_release_and_show(nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    target = tmp_path / "patients.nwr"
    result = release(nw, table, declared, target, "--copies", 2, "--share", "age=2")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "patients.rows.parquet in the same folder" in words and "3 columns, 2 copies" in words
    found = noisewise.load(target)
    assert found.kind.name == "rows" and found.contents.rows == 400
    assert [noise.share for noise in found.contents.columns.values()] == [0.5, 0.25, 0.25]
    shown = nw("show", target)
    assert shown.exit_code == 0 and "kept with probability" in shown.stdout and "patients.rows.parquet" in shown.stdout
    document = json.loads(nw("show", target, "--json").stdout)
    assert document["kind"]["copies"] == 2 and document["contributions"][0]["columns"]["age"]["scale"] == 1.0


def test_release_as_json(nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    document = json.loads(release(nw, table, declared, tmp_path / "p.nwr", "--json", "-d", "1e-6").stdout)
    [one] = document["contributions"]
    assert document["kind"]["name"] == "rows" and one["mechanism"] == "gaussian"
    assert document["file"] == str(tmp_path / "p.nwr") and (tmp_path / one["rows_file"]["name"]).exists()


def test_the_plan_is_what_is_released(nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    settings = ("--copies", 2, "--share", "age=2")
    result = nw("plan", "rows", "-s", declared, "-e", 8, *settings, "--rows", 10_000, "--json")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    release(nw, table, declared, tmp_path / "p.nwr", *settings)
    found = noisewise.load(tmp_path / "p.nwr").contents
    for column in plan["columns"]:
        name = column["column"]
        if "noise_sd" in column:
            assert column["noise_sd"] == pytest.approx(found.sd_in_units(name))
            assert column["mean_sd"] == pytest.approx(found.sd_in_units(name) / np.sqrt(20_000))
        else:
            assert column["keep"] == found.levels[name].keep
        assert column["relative_to_gram"] > 10
    words = " ".join(nw("plan", "rows", "-s", declared, "-e", 8).stdout.split())
    assert "Nothing was read and nothing was spent" in words and "18 to 98" in words and "kept 0." in words


def test_the_plan_of_a_share_by_simulation(nw: Any, declared: Path) -> None:
    """The standard deviation of the share of a level that half of the rows have, estimated from answers."""
    plan = json.loads(nw("plan", "rows", "-s", declared, "-e", 8, "--rows", 500, "--json").stdout)
    keep, mean_sd = next((column["keep"], column["mean_sd"]) for column in plan["columns"] if "keep" in column)
    random, other = np.random.default_rng(1), (1 - keep) / 2
    answers = random.binomial(250, keep, 20_000) + random.binomial(250, other, 20_000)
    assert np.std((answers / 500 - other) / (keep - other)) == pytest.approx(mean_sd, rel=0.03)


def test_the_ledger_answers_a_repetition(nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    ledger = ("--ledger", tmp_path / "budget.db")
    first = release(nw, table, declared, tmp_path / "p.nwr", *ledger, "--total-epsilon", 10)
    assert first.exit_code == 0 and "A ledger stores the release file only" in " ".join(first.stdout.split())
    again = release(nw, table, declared, tmp_path / "q.nwr", *ledger)
    assert again.exit_code == 0, again.output
    assert noisewise.load(tmp_path / "p.nwr") == noisewise.load(tmp_path / "q.nwr")
    (tmp_path / "p.rows.parquet").unlink()
    assert "its rows are not here" in one_error(release(nw, table, declared, tmp_path / "r.nwr", *ledger))
    assert "budget" in one_error(release(nw, table, declared, tmp_path / "s.nwr", *ledger, "--edition", "2"))


@pytest.mark.parametrize(("more", "words"), [
    (("--share", "age"), "a share must have the form COLUMN=WEIGHT and be given once"),
    (("--share", "age=2", "--share", "age=3"), "a share must have the form COLUMN=WEIGHT and be given once"),
    (("--share", "age=2_0"), "a share must have the form COLUMN=WEIGHT and be given once"),
    (("--share", "height=2"), "height"),
    (("--mechanism", "wishart", "-d", "1e-6"), "known: gaussian, laplace"),
])
def test_refusals(more: tuple[Any, ...], words: str, nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    assert words in one_error(release(nw, table, declared, tmp_path / "p.nwr", *more))
    assert not list(tmp_path.glob("p.*"))


@pytest.mark.parametrize("more", [("--terms", "I(age**2)"), ("--formula", "stay ~ age"), ("--average", 2), ("--block", "xx=1")])
def test_options_of_other_kinds_are_refused(more: tuple[Any, ...], nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    result = release(nw, table, declared, tmp_path / "p.nwr", *more)
    assert result.exit_code == 2 and "No such option" in " ".join(result.output.split())


def test_a_batch_of_rows_is_refused(nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    result = nw("release", "rows", table, "-s", declared, "-e", 8, "--append", tmp_path / "p.nwr")
    assert result.exit_code == 2 and "No such option: --append" in result.output and not (tmp_path / "p.nwr").exists()


def test_rows_are_not_replaced_by_force(nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    assert release(nw, table, declared, tmp_path / "p.nwr").exit_code == 0
    before = (tmp_path / "p.rows.parquet").read_bytes()
    assert "already" in one_error(release(nw, table, declared, tmp_path / "p.nwr"))
    assert "remove it yourself" in one_error(release(nw, table, declared, tmp_path / "p.nwr", "--force"))
    assert (tmp_path / "p.rows.parquet").read_bytes() == before


def test_options_of_published_rows_are_refused_elsewhere(nw: Any, table: Path, declared: Path, tmp_path: Path) -> None:
    result = nw("release", table, "-s", declared, "-e", 8, "-o", tmp_path / "p.nwr", "--copies", 2)
    assert result.exit_code == 2 and "No such option: --copies" in result.output


def test_audit(nw: Any, declared: Path) -> None:
    options = ("audit", "rows", "-s", declared, "-e", 8, "--copies", 2, "--draws", 200)
    result = nw(*options)
    assert result.exit_code == 0 and "Nothing contradicts the claims" in " ".join(result.stdout.split()), result.output
    assert nw.json(*options)["findings"][0]["kind"] == "rows, 2 copies"  # a narrow table may cut it
