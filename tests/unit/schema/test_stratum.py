"""Which stratum of the population a table is: declared in the schema, kept by a release, and never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.errors import DeclarationError
from noisewise.run import QUIET

DECLARED = {"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}}


def test_a_stratum_is_read_written_and_kept(tmp_path: Path) -> None:
    schema = nw.Schema.from_dict({**DECLARED, "stratum": {"year": "2024", "site": "north"}})
    assert schema.stratum == (("year", "2024"), ("site", "north"))
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    assert nw.Schema.load(tmp_path / "schema.toml") == schema
    made = nw.release({"age": np.array([30.0, 40.0])}, schema, epsilon=1, run=QUIET)
    assert nw.load(made.save(tmp_path / "a.nwr")).schema == schema
    assert nw.Schema.from_dict(DECLARED).stratum == () and "stratum" not in nw.Schema.from_dict(DECLARED).to_dict()


@pytest.mark.parametrize("wrong", ["2024", ["year"], {"year": 2024}, {"": "2024"}, {"year": " "}, {"year": "20\x1b24"}, None])
def test_what_is_no_stratum_is_refused(wrong: Any) -> None:
    with pytest.raises(DeclarationError, match="stratum"):
        nw.Schema.from_dict({**DECLARED, "stratum": wrong})


def test_a_name_has_one_value() -> None:
    columns = nw.Schema.from_dict(DECLARED).columns
    with pytest.raises(DeclarationError, match="given only once"):
        nw.Schema(columns, "replace-one", stratum=(("year", "2023"), ("year", "2024")))
