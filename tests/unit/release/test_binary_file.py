"""Files of synthetic yes-or-no rows: what was written comes back, and what is wrong is one error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise.errors import ReleaseError, ReleaseFormatError
from noisewise.release.binary import BinarySynthesis

MADE = BinarySynthesis(column="smoker", levels=("no", "yes"), rows=1000, synthetic_rows=200, counts=(80, 75), alpha=309,
                       epsilon=1.0, adjacency="replace-one", partition={"year": "2026"}, statement="A promise.",
                       created="2026-11-15", library="noisewise 0.1.0")


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    path = MADE.save(tmp_path / "smokers.nwb")
    assert BinarySynthesis.load(path) == MADE
    assert path.read_bytes().startswith(b'{\n  "format": "noisewise-binary",\n  "version": "1.0"')
    private = replace(MADE, rows=None, adjacency="add-remove", levels=(0, 1))
    assert BinarySynthesis.decode(private.encode()) == private


@pytest.mark.parametrize("change", [
    {"counts": [201]}, {"counts": [-1]}, {"counts": []}, {"counts": [True]}, {"counts": [1.5]}, {"counts": "80"},
    {"counts": [None]}, {"alpha": 308}, {"alpha": 0}, {"alpha": 1e9}, {"epsilon": 0.9}, {"epsilon": 0}, {"epsilon": None},
    {"epsilon": "1"},
    {"rows": None}, {"rows": -1}, {"rows": 2.5}, {"adjacency": "add-remove"}, {"adjacency": "none"}, {"adjacency": []},
    {"levels": ["no"]}, {"levels": ["no", "no"]}, {"levels": ["no", []]}, {"levels": None}, {"levels": ["a", "b", "c"]},
    {"column": ""}, {"column": 3}, {"column": "a\x1b[31m"}, {"statement": ""}, {"statement": 7}, {"library": []},
    {"created": "yesterday"}, {"partition": []}, {"partition": {"year": 3}}, {"synthetic_rows": 0}, {"synthetic_rows": 10**30},
    {"format": "noisewise-release"}, {"version": "9.0"}, {"extra": 1},
], ids=str)
def test_a_changed_file_is_refused(change: dict[str, Any]) -> None:
    document = {**json.loads(MADE.encode()), **change}
    with pytest.raises(ReleaseFormatError):
        BinarySynthesis.decode(json.dumps(document).encode())


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"\x80\x04", b"PK\x03\x04", b'{"format": "noisewise-binary"}'])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ReleaseFormatError):
        BinarySynthesis.decode(content)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.nwb"
    path.write_bytes(b" " * (2**22 + 1))
    with pytest.raises(ReleaseFormatError, match="at most"):
        BinarySynthesis.load(path)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damage_is_one_error_or_nothing(data: st.DataObject) -> None:
    content = bytearray(MADE.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = BinarySynthesis.decode(bytes(content))
    except ReleaseFormatError:
        return
    assert all(0 <= count <= found.synthetic_rows for count in found.counts)


def test_records_are_checked_when_they_are_made() -> None:
    with pytest.raises(ReleaseError, match="guarantee"):
        replace(MADE, alpha=100)


def test_levels_of_two_kinds_are_written_as_texts() -> None:
    mixed = replace(MADE, levels=("none", 1))
    assert set(mixed.table(0).column("smoker").to_pylist()) == {"none", "1"}
    assert mixed.table(1).num_rows == 200
