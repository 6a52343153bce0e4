"""What is special to a binary release: how many synthetic rows have the second level, and the rows themselves."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.releases.examples_of_releases import binary, binary_of, decoded, document, schema_with

import noisewise as nw
from noisewise.errors import ReleaseError, ReleaseFormatError
from noisewise.releases.release import Release


@pytest.mark.parametrize(("changes", "words"), [
    ({"counts": (201, 1)}, "a count must be a whole number from 0 to 200"), ({"counts": (-1, 1)}, "a count"),
    ({"counts": ()}, "copies must be from 1 to 10000"), ({"counts": (True, 1)}, "a count"), ({"counts": (1.5, 1)}, "a count"),
    ({"counts": (None, 1)}, "a count"), ({"counts": (80,)}, "numbers of copies and rows must match"),
    ({"alpha": 0}, "alpha must be a whole number"), ({"alpha": 1e9}, "alpha must be a whole number"),
    ({"synthetic_rows": 0}, "synthetic_rows must be"), ({"synthetic_rows": 10**30}, "synthetic_rows must be"),
    ({"synthetic_rows": 201}, "numbers of copies and rows must match"), ({"column": "drinker"}, "must match the request"),
    ({"levels": ("no", "perhaps")}, "levels must be those of the schema"),
    ({"levels": ("yes", "no")}, "levels must be those of the schema"),
    ({"delta": 1e-6}, "delta must be 0"),
])
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        binary(**changes)


def test_the_column_has_two_levels() -> None:
    for column in ("age", "ward"):
        with pytest.raises(ReleaseError, match=rf"a column with two levels \(found: '{column}'\); declare levels"):
            Release(nw.Binary(column, 200, 2), schema_with(), (binary_of(column=column),))


@pytest.mark.parametrize("change", [
    {"alpha": 308}, {"alpha": 0}, {"alpha": 1e9}, {"counts": [201, 1]}, {"counts": [-1, 1]}, {"counts": []},
    {"counts": [True, 1]}, {"counts": [1.5, 1]}, {"counts": "80"}, {"counts": [None, 1]}, {"counts": [80]}], ids=str)
def test_a_changed_file_is_refused(change: dict[str, Any]) -> None:
    changed = document(binary())
    changed["contributions"][0]["contents"] |= change
    with pytest.raises(ReleaseFormatError):
        decoded(changed)


def test_so_few_pseudo_rows_do_not_keep_the_promise() -> None:
    binary().contents.check_promise()
    with pytest.raises(ReleaseError, match="too small"):
        binary(alpha=308).contents.check_promise()


def test_the_rows_of_a_copy() -> None:
    table = binary().contents.table(1)
    assert table.num_rows == 200 and table.column("smoker").to_pylist() == ["no"] * 124 + ["yes"] * 76


def test_levels_of_two_types_are_written_as_texts() -> None:
    mixed = binary_of(levels=("none", 1))
    assert set(mixed.table(0).column("smoker").to_pylist()) == {"none", "1"} and mixed.table(1).num_rows == 200
    numbers = binary_of(levels=(0, 1))
    assert set(numbers.table(0).column("smoker").to_pylist()) == {0, 1}


def test_another_column_with_the_same_counts_is_another_release() -> None:
    """A few counts alone may be those of other rows by chance."""
    assert binary_of(statement="Of others.").fingerprint() != binary_of().fingerprint()
    assert binary_of(extra={"note": 1}).fingerprint() == binary_of().fingerprint()
