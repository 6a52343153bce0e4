"""``noisewise fit`` of published rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisewise.kinds import Rows
from noisewise.run import QUIET

SCHEMA = """adjacency = "replace-one"
unit = "row"

[columns.stay]
bounds = [-20, 30]

[columns.age]
bounds = [10, 90]
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from noisewise import Schema, release

    folder = tmp_path_factory.mktemp("rows")
    random = np.random.default_rng(1)
    age = random.normal(50, 10, 500)
    pq.write_table(pa.table({"stay": 5 + 0.4 * (age - 50) + random.normal(0, 3, 500), "age": age}), folder / "table.parquet")
    (folder / "schema.toml").write_text(SCHEMA)
    release(folder / "table.parquet", Schema.load(folder / "schema.toml"), Rows(), epsilon=2000.0,
            to=folder / "rows.nwr", run=QUIET)
    return folder / "rows.nwr"


def test_published_rows_are_fitted_from_the_command_line(nw: Any, rows: Path, tmp_path: Path) -> None:
    result = nw("fit", rows, "stay ~ age", "--method", "naive", "--csv", tmp_path / "fit.csv", "--seed", 1)
    assert result.exit_code == 0, result.output
    assert "method naive" in result.stdout and (tmp_path / "fit.csv").exists()
    slope = {term["term"]: term for term in nw.json("fit", rows, "stay ~ age", "--method", "naive", "--seed", 1)["terms"]}["age"]
    assert abs(slope["mean"] - 0.4) < 0.08  # there is hardly any noise: six standard errors of least squares


@pytest.mark.parametrize(("options", "words"), [
    (("--site", "random"), "linear regression only"),
    (("--family", "poisson"), "linear regression only"),
    (("--compare-methods",), "linear regression only"),
    (("--method", "nonsense"), "method"),
])
def test_what_published_rows_cannot_do_is_refused(nw: Any, rows: Path, options: tuple[str, ...], words: str) -> None:
    result = nw("fit", rows, "stay ~ age", *options)
    assert result.exit_code != 0 and words in " ".join(result.stderr.replace("│", " ").split())


def test_published_rows_are_not_fitted_together(nw: Any, rows: Path) -> None:
    result = nw("fit", rows, rows, "stay ~ age")
    assert result.exit_code == 1 and "one release at a time" in result.stderr
