"""The page about the format names every field of published rows, its limits are those of the code, and its reader reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from noisewise.release import MicrodataRelease, load
from noisewise.release.microdata import MOST_CELLS, MOST_COPIES
from noisewise.release.microdata_fields import CellNoiseFields, MicrodataFields, RowsFileFields
from noisewise.release.single_fields import SingleFields

PAGE = (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Rows: kind `microdata`")[2].partition("\n## ")[0]
GOLDEN = Path(__file__).parents[2] / "golden" / "microdata-1.4.nwr"


def reader() -> dict[str, Any]:
    found = re.search(r"```python\n(.*?)```", SECTION, flags=re.DOTALL)
    assert found
    names: dict[str, Any] = {}
    exec(found[1], names)
    return names


def test_every_field_is_on_the_page() -> None:
    own = set(MicrodataFields.model_fields) - set(SingleFields.model_fields)
    assert own == {"copies", "columns", "rows_file"}
    for name in (own - {"rows_file"}) | {"rows", "privacy", "library", "created"}:
        assert f"`{name}`" in SECTION, name
    for name in CellNoiseFields.model_fields:
        assert f"`columns.*.{name}`" in SECTION, name
    for name in RowsFileFields.model_fields:
        assert f"`rows_file.{name}`" in SECTION, name


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    assert f"from 1 to {MOST_COPIES}" in SECTION and f"({MOST_CELLS:,})" in SECTION


def test_the_reader_of_the_page_finds_what_the_library_finds() -> None:
    names, found = reader(), load(GOLDEN)
    assert isinstance(found, MicrodataRelease)
    release, table = names["noisy_rows"](GOLDEN)
    assert table.to_pylist() == found.table().to_pylist() and release == found.document()
    keep = found.levels["ward"].keep
    other = (1 - keep) / 2
    assert names["share_of_level"](release, table, "ward", "A") == pytest.approx((2 / 6 - other) / (keep - other))
