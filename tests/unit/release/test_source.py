"""The source of a result: the same for the same releases, however they are given, and another one for any other release."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.release.examples_of_releases import part_of, release_of, schema_with

import noisewise as nw
from noisewise.release import append
from noisewise.release.source import digest_of, source_of

GOLDEN = Path(__file__).parents[2] / "golden"
KINDS = ("gram-1.0", "gram-1.2", "averaged-gram-1.1", "adassp-1.1", "moments-1.3", "microdata-1.4", "partition-1.4")


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
    changes = [{}, {}, {}, {"noise": nw.load(GOLDEN / "gram-1.2.nwr").parts[0].noise}]  # type: ignore[union-attr, index]
    for seed, change in enumerate(changes):
        release_of(seed=seed, **change).save(tmp_path / f"{seed}.nwr")
    added = nw.load_many(tmp_path, pooled=True)
    assert [part.holders for part in added.parts] == [3, 1]
    assert source_of(added) == source_of(nw.load_many(tmp_path)) and len(set(added.fingerprints())) == 4


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_one_that_its_file_keeps(name: str, tmp_path: Path) -> None:
    release = nw.load(GOLDEN / f"{name}.nwr")
    release.save(tmp_path / "again.nwr")
    assert source_of(nw.load(tmp_path / "again.nwr")) == source_of(release)


def test_the_golden_files_have_the_digests_of_the_first_version() -> None:
    """A fit of today is told from others by a later version, so these may never change."""
    found = {name: source_of(nw.load(GOLDEN / f"{name}.nwr"))[:16] for name in KINDS}
    assert found == {
        "gram-1.0": "1abab469f96b035b", "gram-1.2": "d2292e634d1f51ca", "averaged-gram-1.1": "d2292e634d1f51ca",  # of one matrix
        "adassp-1.1": "4c8cf0b4f3a4e624", "moments-1.3": "fe1aa97b36b10916", "microdata-1.4": "12bdde7fa2585c70",
        "partition-1.4": "1cb07558be2ac9df",
    }


def test_it_can_be_computed_from_a_file_without_noisewise() -> None:
    document = json.loads((GOLDEN / "gram-1.0.nwr").read_text(encoding="utf-8"))
    prints = []
    for part in document["parts"]:
        size = len(document["columns"])
        matrix = np.zeros((size, size), dtype="<f8")
        matrix[np.triu_indices(size)] = part["statistic"]
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        prints.append(hashlib.sha256(matrix.tobytes()).digest())
    assert len(prints) == 2
    assert source_of(nw.load(GOLDEN / "gram-1.0.nwr")) == hashlib.sha256(b"".join(sorted(prints))).hexdigest()


def test_another_release_has_another_one() -> None:
    mine = release_of()
    matrix = mine.parts[0].matrix.copy()
    matrix[1, 2] = matrix[2, 1] = np.nextafter(matrix[1, 2], np.inf)
    sources = [source_of(release) for release in (
        mine, release_of(matrix=matrix), release_of(seed=2), nw.combine([mine, release_of(seed=2)]))]
    assert len(set(sources)) == 4
    synthesis = nw.BinarySynthesis("smoker", ("no", "yes"), 1000, 200, (80,), 117, 1.0, "replace-one", {}, "-", "2026-01-01", "-")
    assert source_of(synthesis) == source_of(nw.BinarySynthesis.decode(synthesis.encode()))
    assert source_of(synthesis) != source_of(replace(synthesis, column="drinker"))


def test_a_zero_with_a_sign_is_a_zero() -> None:
    schema = schema_with()
    matrix = part_of(schema).matrix.copy()
    matrix[1, 2] = matrix[2, 1] = 0.0
    signed = matrix.copy()
    signed[1, 2] = -0.0
    assert part_of(schema, matrix=matrix).fingerprint() == part_of(schema, matrix=signed).fingerprint()


def test_a_known_fingerprint_is_no_part_of_what_is_compared() -> None:
    one, other = part_of(schema_with()), part_of(schema_with())
    assert one.fingerprint() == one.fingerprint() and one == other and other == one
    assert digest_of(one.fingerprints()) == digest_of([other.fingerprint()])
