"""Schema files that are not complete: which bounds are open, and what is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewise.errors import DeclarationError
from noisewise.schema.toml import OpenBounds

TEXT = """\
adjacency = "add-remove"
unit = {column = "person", max_rows = 3}
stratum = {year = "2024"}
[columns.age]
bounds = [18, 98]
[columns.stay]
bounds = [0, "?"]
[columns.weight]
bounds = ["?", "?"]
[columns.ward]
levels = ["?"]
"""


def test_open_bounds_are_those_with_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(TEXT)
    found = OpenBounds.load(path)
    assert found.columns == {"stay": (0, None), "weight": (None, None)}
    assert found.people == {"adjacency": "add-remove", "unit": {"column": "person", "max_rows": 3}, "stratum": {"year": "2024"}}


@pytest.mark.parametrize("text", ["", "columns = 3", "[columns]\nage = 5", "[columns.age]\nbounds = 3",
                                  "[columns.age]\nlevels = ['A']"])
def test_what_leaves_nothing_open_has_no_columns(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    assert OpenBounds.load(path).columns == {}


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="cannot be read"):
        OpenBounds.load(tmp_path / "none.toml")
    for content, words in ((b"[columns", "not valid TOML"), (b"\xff\xfe\xfa", "must be UTF-8 text")):
        (tmp_path / "bad.toml").write_bytes(content)
        with pytest.raises(DeclarationError, match=words):
            OpenBounds.load(tmp_path / "bad.toml")
