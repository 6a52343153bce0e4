"""moments on the command line: plan, release, show, batches, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command_line import one_error

import noisewise

SCHEMA = """\
adjacency = "replace-one"

[columns.visits]
bounds = [0, 10]

[columns.seen]
levels = ["no", "yes"]

[columns.age]
bounds = [18, 98]

[columns.ward]
levels = ["A", "B", "C"]
"""
FORMULA = "visits ~ age + ward"
BUDGET = ("-e", 1, "-d", "1e-6")


@pytest.fixture
def counts_schema(tmp_path: Path) -> Path:
    path = tmp_path / "counts.toml"
    path.write_text(SCHEMA)
    return path


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    random, rows = np.random.default_rng(2), 2000
    age = random.uniform(18, 98, rows)
    path = tmp_path / "counts.parquet"
    pq.write_table(pa.table({"visits": random.poisson(np.exp(0.01 * (age - 50))), "age": age,
                             "ward": random.choice(["A", "B", "C"], rows), "seen": random.choice(["no", "yes"], rows)}), path)
    return path


@pytest.fixture
def made(nw: Any, counts: Path, counts_schema: Path, tmp_path: Path) -> Path:
    path = tmp_path / "visits.nwr"
    result = nw("release", counts, "-s", counts_schema, *BUDGET, "-o", path, "--kind", "moments", "--formula", FORMULA)
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
    assert (document["kind"], document["formula"], document["format_version"]) == ("moments", FORMULA, "1.3")
    [part] = document["parts"]
    assert {name: block["weight"] for name, block in part["blocks"].items()} == {"x": 1, "xx": 1, "y": 0.7, "yx": 1.5}
    assert part["blocks"]["yx"]["noise_sd"] == pytest.approx(part["blocks"]["x"]["noise_sd"] / 1.5**0.5)


def test_weights_and_blocks_of_higher_order(nw: Any, counts: Path, counts_schema: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.nwr"
    result = nw("release", counts, "-s", counts_schema, *BUDGET, "-o", path, "--kind", "moments", "--formula", "seen ~ age",
                "--block", "x=1", "--block", "xx=2", "--block", "yx=.5", "--block", "xxx=1e-1")
    assert result.exit_code == 0, result.output
    assert "--family logistic" in result.stdout and "xxx: no fit" in " ".join(result.stdout.split())
    release = noisewise.load(path)
    assert release.blocks == ("x", "xx", "xxx", "yx")


def test_the_plan_is_the_noise_that_a_release_has(nw: Any, made: Path, counts_schema: Path) -> None:
    given = ("plan", "moments", "-s", counts_schema, "--formula", FORMULA, *BUDGET)
    document = nw.json(*given)
    [part] = nw.json("show", made)["parts"]
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
    counts_schema.write_text(SCHEMA.replace("replace-one", "add-remove"))
    given = ("plan", "moments", "-s", counts_schema, "--formula", FORMULA, *BUDGET, "--block", "yxx=1", "--block", "xx=1")
    blocks = nw.json(*given)["blocks"]
    assert [one["block"] for one in blocks] == ["n", "xx", "yxx"] and blocks[-1]["gram_noise_sd"] is None
    shown = nw(*given)
    assert "which is not public" in shown.stdout
    assert "cannot be fitted without the blocks that are not there: x, y, yx" in " ".join(shown.stderr.split())


def test_batches(nw: Any, made: Path, counts: Path, counts_schema: Path) -> None:
    release = ("release", counts, "-s", counts_schema, *BUDGET, "--kind", "moments", "--append", made)
    assert nw(*release, "--formula", "visits ~ ward + age").exit_code == 0
    assert noisewise.load(made).holders == 2
    refused = " ".join(one_error(nw(*release, "--formula", FORMULA, "--block", "xx=1")).split())
    assert "blocks: x, xx, y, yx and xx" in refused and "nothing was released" in refused
    assert noisewise.load(made).holders == 2


@pytest.mark.parametrize(("options", "words"), [
    (("--kind", "moments"), "needs its formula"),
    (("--kind", "moments", "--formula", "age ~ ward"), "or a count"),
    (("--kind", "moments", "--formula", FORMULA, "--block", "xx"), "a block is given once"),
    (("--kind", "moments", "--formula", FORMULA, "--block", "xx=1", "--block", "xx=2"), "a block is given once"),
    (("--kind", "moments", "--formula", FORMULA, "--block", "xz=1"), "a block of moments is"),
    (("--kind", "moments", "--formula", FORMULA, "--block", "xx=0"), "weight of a block"),
    (("--kind", "moments", "--formula", FORMULA, "--mechanism", "laplace"), "is gaussian"),
    (("--block", "xx=1"), "blocks are those of a release of kind moments"),
])
def test_releases_that_cannot_be_made_are_refused(
    nw: Any, counts: Path, counts_schema: Path, tmp_path: Path, options: Any, words: str
) -> None:
    path = tmp_path / "none.nwr"
    message = one_error(nw("release", counts, "-s", counts_schema, *BUDGET, "-o", path, *options))
    assert words in " ".join(message.split())
    assert not path.exists()
