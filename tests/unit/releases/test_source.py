"""The source of a result: the same for the same releases, however they are given, and another one for any other release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import EXAMPLES, binary, binary_of, document, gram_of, release_of, schema_with

import noisewise as nw
from noisewise.releases import append
from noisewise.releases.contents.gram import EntryNoise
from noisewise.releases.release import Release
from noisewise.releases.source import digest_of, source_of


def test_order_and_combining_make_no_difference(tmp_path: Path) -> None:
    releases = [release_of(seed=seed) for seed in (1, 2, 3)]
    expected = source_of(nw.combine(releases))
    assert len(expected) == 64 and set(expected) <= set("0123456789abcdef")
    assert source_of(nw.combine(releases[::-1])) == source_of(nw.combine([nw.combine(releases[1:]), releases[0]])) == expected
    nw.combine(releases).save(tmp_path / "all.nwr")
    releases[0].save(tmp_path / "batches.nwr")
    for release in (releases[2], releases[1]):
        append(tmp_path / "batches.nwr", release)
    assert {source_of(nw.load(tmp_path / f"{name}.nwr")) for name in ("all", "batches")} == {expected}


def test_holders_that_are_added_up_while_they_are_read_count_one_by_one(tmp_path: Path) -> None:
    """Three of them are one sum, and the fourth is one by itself."""
    for seed, sd in enumerate((8.0, 8.0, 8.0, 80.0)):
        release_of(seed=seed, noise=EntryNoise("gaussian", sd, sd / np.sqrt(2), 0.0)).save(tmp_path / f"{seed}.nwr")
    added = nw.load_many(tmp_path, pooled=True)
    assert [one.holders for one in added.contributions] == [3, 1]
    assert source_of(added) == source_of(nw.load_many(tmp_path)) and len(set(added.fingerprints())) == 4


def matrix_in(found: dict[str, Any], size: int) -> bytes:
    matrix = np.zeros((size, size), dtype="<f8")
    matrix[np.triu_indices(size)] = found["statistic"]
    return (np.triu(matrix) + np.triu(matrix, 1).T).tobytes()


def numbers_in(*values: Any) -> bytes:
    return np.array(values, dtype="<f8").tobytes()


def everything_of_a_binary_release(file: dict[str, Any], found: dict[str, Any]) -> bytes:
    kind = file["kind"]
    known = [kind["column"], file["schema"]["columns"][kind["column"]]["levels"], kind["rows"], file["contributions"][0]]
    return json.dumps(known, sort_keys=True).encode()


def look_and_rounds_in(file: dict[str, Any], found: dict[str, Any]) -> bytes:
    look, rounds = found["look"], found["rounds"]
    pieces = [numbers_in(*look["sums"]), *([numbers_in(look["rows"])] if "rows" in look else [])]
    for one in rounds:
        size = len(one["score"])
        pieces += [numbers_in(*one["score"]), matrix_in({"statistic": one["matrix"]}, size)]
        pieces += [numbers_in(one["square"])] if "square" in one else []
        pieces += [matrix_in({"statistic": one["spread"]}, size)] if "spread" in one else []
    return b"".join(pieces)


BYTES: dict[str, Callable[[dict[str, Any], dict[str, Any]], bytes]] = {
    "gram": lambda file, found: matrix_in(found, len(file["columns"])),
    "model": look_and_rounds_in,
    "adassp": lambda file, found: matrix_in(found, len(file["columns"]) - 1) + numbers_in(*found["moments"]),
    "moments": lambda file, found: b"".join(
        name.encode() + numbers_in(*block["sums"]) for name, block in found["blocks"].items()),
    "partition": lambda file, found: numbers_in(*(number["sum"] for number in found["numbers"])),
    "bounds": lambda file, found: numbers_in(*(column[side] for column in found["columns"] for side in ("lower", "upper")))
    + file["contributions"][0]["privacy"]["statement"].encode(),
    "binary": everything_of_a_binary_release,
}
"""What is digested, computed from the file alone; that of rows is the digest of the file of rows."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_can_be_computed_from_a_file_without_noisewise(name: str) -> None:
    """A fit of today is told from others by a later version, so this may never change."""
    made = EXAMPLES[name]()
    file = document(made)
    found = file["contributions"][0]["contents"]
    if made.kind.name == "rows":
        expected = bytes.fromhex(found["rows_file"]["sha256"])
    else:
        expected = hashlib.sha256(BYTES[made.kind.name](file, found)).digest()
    assert source_of(made) == hashlib.sha256(expected).hexdigest()


def test_several_holders_are_sorted_by_their_digests() -> None:
    file = document(nw.combine([release_of(seed=1), release_of(seed=2)]))
    prints = [hashlib.sha256(matrix_in(one["contents"], len(file["columns"]))).digest() for one in file["contributions"]]
    assert source_of(nw.combine([release_of(seed=2), release_of(seed=1)])) == hashlib.sha256(b"".join(sorted(prints))).hexdigest()


def test_another_release_has_another_one() -> None:
    mine = release_of()
    matrix = mine.contents.matrix.copy()
    matrix[1, 2] = matrix[2, 1] = np.nextafter(matrix[1, 2], np.inf)
    sources = [source_of(release) for release in (
        mine, release_of(matrix=matrix), release_of(seed=2), nw.combine([mine, release_of(seed=2)]))]
    assert len(set(sources)) == 4


def test_the_same_counts_of_another_column_are_another_release() -> None:
    """A few counts alone may be those of other rows by chance."""
    schema = schema_with(columns={"drinker": {"levels": ["no", "yes"]}})
    drinkers = Release(nw.Binary("drinker", 200, 2), schema, (binary_of(column="drinker"),))
    assert drinkers.contents.counts == binary().contents.counts and source_of(drinkers) != source_of(binary())


def test_a_zero_with_a_sign_is_a_zero() -> None:
    matrix = gram_of().matrix.copy()
    matrix[1, 2] = matrix[2, 1] = 0.0
    signed = matrix.copy()
    signed[1, 2] = -0.0
    assert gram_of(matrix=matrix).fingerprint() == gram_of(matrix=signed).fingerprint()


def test_a_known_fingerprint_is_no_part_of_what_is_compared() -> None:
    one, other = gram_of(), gram_of()
    assert one.fingerprint() == one.fingerprint() and one == other and other == one
    assert digest_of(one.fingerprints()) == digest_of([other.fingerprint()])
