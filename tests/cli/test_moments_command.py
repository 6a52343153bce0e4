"""moments on the command line: plan, release, show, batches, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command_line import WARDS, change, declare, one_error, write_rows

import noisewise

FORMULA = "visits ~ age + ward"
BUDGET = ("-e", 1, "-d", "1e-6")


@pytest.fixture
def counts_schema(tmp_path: Path) -> Path:
    return declare(tmp_path / "counts.toml", visits=(0, 10), seen=["no", "yes"], age=(18, 98), ward=WARDS)


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    random, rows = np.random.default_rng(2), 2000
    age = random.uniform(18, 98, rows)
    return write_rows(tmp_path / "counts.parquet", {
        "visits": random.poisson(np.exp(0.01 * (age - 50))), "age": age, "ward": random.choice(WARDS, rows),
        "seen": random.choice(["no", "yes"], rows)})


@pytest.fixture
def made(nw: Any, counts: Path, counts_schema: Path, tmp_path: Path) -> Path:
    path = tmp_path / "visits.nwr"
    result = nw("release", "moments", counts, "-s", counts_schema, *BUDGET, "-o", path, "--formula", FORMULA)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "kind moments: 13 noisy numbers" in words and FORMULA in words and "on yx (the response times each predictor)" in words
    assert f"noisewise fit {path} '{FORMULA}' --family poisson" in words
    return path


def test_show_says_what_it_is_for(nw: Any, made: Path) -> None:
    shown = nw("show", made)
    assert shown.exit_code == 0
    assert "kind moments" in shown.stdout and "Poisson regression" in " ".join(shown.stdout.split())
    document = nw.json("show", made)
    assert (document["kind"]["name"], document["kind"]["formula"], document["format_version"]) == ("moments", FORMULA, "1.0")
    [part] = document["contributions"]
    assert {name: block["weight"] for name, block in part["blocks"].items()} == {"x": 1, "xx": 1, "y": 0.7, "yx": 1.5}
    assert part["blocks"]["yx"]["noise_sd"] == pytest.approx(part["blocks"]["x"]["noise_sd"] / 1.5**0.5)


def test_weights_and_blocks_of_higher_order(nw: Any, counts: Path, counts_schema: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.nwr"
    result = nw("release", "moments", counts, "-s", counts_schema, *BUDGET, "-o", path, "--formula", "seen ~ age",
                "--block", "x=1", "--block", "xx=2", "--block", "yx=.5", "--block", "xxx=1e-1")
    assert result.exit_code == 0, result.output
    assert "--family logistic" in result.stdout and "xxx: this version" in " ".join(result.stdout.split())
    release = noisewise.load(path)
    assert tuple(release.contents.blocks) == ("x", "xx", "xxx", "yx")


def test_the_plan_is_the_noise_that_a_release_has(nw: Any, made: Path, counts_schema: Path) -> None:
    given = ("plan", "moments", "-s", counts_schema, "--formula", FORMULA, *BUDGET)
    document = nw.json(*given)
    [part] = nw.json("show", made)["contributions"]
    assert {one["block"]: one["noise_sd"] for one in document["blocks"]} == {
        name: block["noise_sd"] for name, block in part["blocks"].items()}
    assert document["sensitivity"] == part["sensitivity"]
    assert [one["numbers"] for one in document["blocks"]] == [3, 6, 1, 3]
    squares = {one["block"]: one["relative_to_gram"] for one in document["blocks"]}["xx"]
    assert squares < 1
    shown = nw(*given)
    words = " ".join(shown.stdout.split())
    assert shown.exit_code == 0 and "the response times each" in words and "nothing was spent" in words


def test_the_plan_under_add_remove_and_with_higher_orders(nw: Any, counts_schema: Path) -> None:
    change(counts_schema, "replace-one", "add-remove")
    given = ("plan", "moments", "-s", counts_schema, "--formula", FORMULA, *BUDGET, "--block", "yxx=1", "--block", "xx=1")
    blocks = nw.json(*given)["blocks"]
    assert [one["block"] for one in blocks] == ["n", "xx", "yxx"] and blocks[-1]["gram_noise_sd"] is None
    shown = nw(*given)
    assert "which is not public" in shown.stdout
    assert "cannot be fitted without these missing blocks: x, y, yx" in " ".join(shown.stderr.split())


def test_batches(nw: Any, made: Path, counts: Path, counts_schema: Path) -> None:
    release = ("release", "moments", counts, "-s", counts_schema, *BUDGET, "--append", made)
    assert nw(*release, "--formula", "visits ~ ward + age").exit_code == 0
    assert noisewise.load(made).holders == 2
    refused = " ".join(one_error(nw(*release, "--formula", FORMULA, "--block", "xx=1")).split())
    assert "blocks: x, xx, y, yx and xx" in refused and "nothing was released" in refused
    assert noisewise.load(made).holders == 2


@pytest.mark.parametrize(("options", "words"), [
    (("--formula", "age ~ ward"), "a count"),
    (("--formula", FORMULA, "--block", "xx"), "a block must have the form NAME=WEIGHT and be given once"),
    (("--formula", FORMULA, "--block", "xx=1", "--block", "xx=2"), "a block must have the form NAME=WEIGHT and be given once"),
    (("--formula", FORMULA, "--block", "xz=1"), "a block of moments is"),
    (("--formula", FORMULA, "--block", "xx=0"), "weight of a block"),
])
def test_releases_that_cannot_be_made_are_refused(
    nw: Any, counts: Path, counts_schema: Path, tmp_path: Path, options: Any, words: str
) -> None:
    path = tmp_path / "none.nwr"
    message = one_error(nw("release", "moments", counts, "-s", counts_schema, *BUDGET, "-o", path, *options))
    assert words in " ".join(message.split())
    assert not path.exists()


@pytest.mark.parametrize(("kind", "options", "words"), [
    ("moments", (), "Missing option '--formula'"),
    ("moments", ("--formula", FORMULA, "--mechanism", "laplace"), "No such option: --mechanism"),
    ("gram", ("--block", "xx=1"), "No such option: --block"),
])
def test_options_that_are_missing_or_of_other_kinds(
    nw: Any, counts: Path, counts_schema: Path, tmp_path: Path, kind: str, options: Any, words: str
) -> None:
    result = nw("release", kind, counts, "-s", counts_schema, *BUDGET, "-o", tmp_path / "none.nwr", *options)
    assert result.exit_code == 2 and words in " ".join(result.stderr.split())
    assert not (tmp_path / "none.nwr").exists()
