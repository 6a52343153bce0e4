"""The first release file of kind partition stays readable for ever."""

from __future__ import annotations

from pathlib import Path

from tests.golden.make_partition_1_4 import FORMULA, QUESTIONS, SCHEMA, SELECTED, SUMS, expected

import noisewise as nw

GOLDEN = Path(__file__).parent / "partition-1.4.nwr"


def loaded() -> nw.PartitionRelease:
    release = nw.load(GOLDEN)
    assert isinstance(release, nw.PartitionRelease)
    return release


def test_the_golden_file_holds_what_it_always_held() -> None:
    release = loaded()
    assert release == expected()
    assert (release.version, release.kind, release.formula) == ("1.4", "partition", FORMULA)
    assert release.schema == nw.Schema.from_dict(SCHEMA)
    assert release.questions == QUESTIONS and release.extra == {}
    assert (release.rows, release.parts, release.balanced, release.part_rows) == (12_345, 100, True, 123.45)


def test_its_numbers_are_exact() -> None:
    release = loaded()
    assert tuple(number.sum for number in release.numbers) == SUMS
    assert SUMS[1] == 0.30000000000000004 and release.noise == 21.125
    found = {number.name: (number.lower, number.upper) for number in release.numbers}
    assert {name: found[name] for name in SELECTED} == SELECTED
    [location, scale] = release.of(QUESTIONS[3])
    assert location.mean(release.parts) == 2.3 and scale.mean(release.parts) == 0.2 * 81.25 / 100


def test_saving_reproduces_the_file_byte_for_byte(tmp_path: Path) -> None:
    again = loaded().save(tmp_path / "again.nwr")
    assert again.read_bytes() == GOLDEN.read_bytes()
