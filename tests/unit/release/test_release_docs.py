"""The page about the format keeps its word: its example is a release, and its reader reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from tests.golden.make_gram_1_0 import expected

from noisewise.release import fields, files, json_text, load

PAGE = (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")
GOLDEN = Path(__file__).parents[2] / "golden" / "gram-1.0.nwr"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    assert found
    return found[1]


def reader() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(block("python"), names)
    return names


def test_the_example_is_a_release_as_this_library_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "example.nwr"
    path.write_text(block("json"), encoding="utf-8")
    release = load(path)
    assert release.parts[0].rows == 400
    assert release.basis.names == ("1", "age", "ward[B]", "ward[C]", "T2(age)")
    assert release.save(tmp_path / "again.nwr").read_text(encoding="utf-8") == block("json")


def test_the_reader_of_the_page_finds_what_the_library_finds() -> None:
    found = list(reader()["matrices"](GOLDEN))
    for (matrix, variance), part in zip(found, expected().parts, strict=True):
        assert np.array_equal(matrix, part.matrix)
        assert np.array_equal(variance, part.noise.variances(part.size))


def test_the_columns_of_the_page_are_those_of_the_library() -> None:
    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    rows = [
        {"age": 18.0, "Größe (cm)": 49.5, "ward": "A", "grade": 1, "smoker": False},
        {"age": 71.0, "Größe (cm)": 180.0, "ward": "C", "grade": 2, "smoker": True},
        {"age": 98.0, "Größe (cm)": 230.25, "ward": "B", "grade": 3, "smoker": True},
    ]
    table = {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}
    for name in ("age", "Größe (cm)"):
        table[name] = table[name].astype(float)
    value = reader()["value"]
    by_page = [[value(column, row, document["schema"]["columns"]) for column in document["columns"]] for row in rows]
    np.testing.assert_allclose(by_page, expected().basis.evaluate(table), atol=1e-12)


def test_every_field_and_limit_is_on_the_page() -> None:
    models = [model for model in vars(fields).values() if isinstance(model, type) and issubclass(model, fields.BaseModel)]
    names = {info.alias or name for model in models for name, info in model.model_fields.items()}
    for name in sorted(names - {"max_rows", "privacy", "noise"}):
        assert f"`{name}`" in PAGE or f".{name}`" in PAGE, name
    for limit in (f"{files.SIZE_LIMIT:,} bytes", f"{json_text.MAX_DEPTH} levels"):
        assert limit in PAGE
