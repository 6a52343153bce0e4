"""What is special to a rows release: the noise of its cells, and the file of rows, which is read only if it is the right one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import (
    CELLS,
    FOLDER,
    GRID_ROWS,
    OPEN,
    ROWS_SCHEMA,
    TALL,
    decoded,
    document,
    gaussian_rows,
    only_levels,
    rows,
    rows_of,
    schema_with,
)

import noisewise as nw
from noisewise.errors import ReleaseError, ReleaseFormatError, ReleaseWriteError
from noisewise.releases import rows_file
from noisewise.releases.contents.rows import LevelNoise, NumberNoise, RowsFile
from noisewise.releases.format import decode, encode
from noisewise.releases.release import Release


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another folder."""
    folder = tmp_path / "other"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("changes", "words"), [
    ({"mechanism": "wishart"}, "the mechanism of a rows release must be one of laplace, gaussian, randomised-response"),
    ({"mechanism": "gaussian", "delta": 1e-6}, "the noise on numeric columns must be that of the mechanism"),
    ({"mechanism": "randomised-response"}, "the noise on numeric columns must be that of the mechanism"),
    ({"delta": 1e-6}, "if and only if the noise is Gaussian"),
    ({"rows": None}, "requires replace-one"),
    ({"rows": 10**6}, "at least 32000000 bytes"),
    ({"columns": {}}, "stated for each declared column"),
    ({"columns": dict(reversed(CELLS.items()))}, "in their order"),
    ({"copies": 3}, "number of copies must be the one"),
    ({"schema": schema_with(columns={**ROWS_SCHEMA.to_dict()["columns"], "age": {"bounds": [0, 98]}})},
     "rows must have the schema of the release"),
    *(({"columns": {**CELLS, **columns}}, words) for columns, words in (
        ({"age": NumberNoise(0.3, "laplace", 1.0)}, "add up to 1"),
        ({"age": NumberNoise(0.2, "laplace", 0.0)}, "positive, from"),
        ({"age": NumberNoise(0.2, "cauchy", 1.0)}, "that of the mechanism"),
        ({"age": LevelNoise(0.2, 0.9)}, "must state the scale of its noise"),
        ({"ward": NumberNoise(0.2, "laplace", 1.0)}, "a category the probability keep"),
        ({"ward": LevelNoise(0.2, 0.2)}, "at least 1/3 and below 1"),
        ({"ward": LevelNoise(0.2, 1.0)}, "at least 1/3 and below 1"),
        ({"ward": LevelNoise(-0.2, 0.9)}, "share must be > 0"),
    )),
])
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        rows(**changes)


def test_rows_have_bounds_and_a_public_number() -> None:
    with pytest.raises(ReleaseError, match="requires replace-one.*add-remove, unit 'row'"):
        rows_of(schema=OPEN, rows=None)
    with pytest.raises(ReleaseError, match="bounds"):
        rows_of(schema=schema_with(columns={"age": {"bounds": "unknown"}}))


def test_no_column_is_called_like_the_one_that_tells_copies_apart() -> None:
    schema = schema_with(columns={"copy": {"levels": ["a", "b", "c"]}})
    one: dict[str, Any] = {"schema": schema, "columns": {"copy": LevelNoise(1.0, 0.6)}, "mechanism": "randomised-response"}
    with pytest.raises(ReleaseError, match="a declared column 'copy'.*rename it"):
        rows_of(**one)
    assert rows_of(**one, copies=1).copies == 1


@pytest.mark.parametrize(("place", "words"), [
    ({"distribution": "laplace"}, "either distribution and scale, or keep"),
    ({"keep": 0.5}, "either distribution and scale, or keep"), ({"scale": "1"}, "scale"), ({"share": 2.0}, "share")])
def test_a_file_states_one_law_for_each_column(place: dict[str, Any], words: str) -> None:
    changed = document(rows())
    noise = changed["contributions"][0]["contents"]["columns"]["age"]
    if place == {"distribution": "laplace"}:
        del noise["scale"]
    noise |= place
    with pytest.raises(ReleaseFormatError, match=words):
        decoded(changed)


@pytest.mark.parametrize("name", ["../rows.parquet", "/etc/rows.parquet", "a\\b.parquet", "C:rows.parquet", ".rows.parquet",
                                  "rows.csv", "rows\n.parquet", "", "..", "x" * 300 + ".parquet", 7])
def test_rows_lie_beside_the_release_file_and_nowhere_else(name: Any) -> None:
    with pytest.raises(ReleaseError, match="a plain name that ends in .parquet"):
        RowsFile(name, 0, "0" * 64)


@pytest.mark.parametrize(("size", "digest"), [(-1, "0" * 64), (1.5, "0" * 64), (1, "0" * 63), (1, "Z" * 64), (1, None)])
def test_size_and_digest_have_their_form(size: Any, digest: Any) -> None:
    with pytest.raises(ReleaseError, match="rows_file"):
        RowsFile("rows.parquet", size, digest)


def test_saving_elsewhere_brings_the_rows_along(other: Path) -> None:
    made = rows()
    made.save(other / "again.nwr")
    found = nw.load(other / "again.nwr")
    assert found == made and found.contents.table() == made.contents.table() and found.contents.folder == other
    assert sorted(os.listdir(other)) == [made.contents.file.name, "again.nwr"]
    made.save(other / "again.nwr")  # what is there already is the right one


def test_saving_beside_other_rows_is_refused(other: Path) -> None:
    made = rows()
    (other / made.contents.file.name).write_bytes(b"other rows")
    with pytest.raises(ReleaseFormatError, match="not the one"):
        made.save(other / "again.nwr")
    assert os.listdir(other) == [made.contents.file.name]


def test_rows_that_cannot_be_copied_leave_nothing_behind(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(ReleaseWriteError, match="could not be copied.*free some space"):
        rows().save(other / "again.nwr")
    assert not os.listdir(other)


def test_a_release_that_does_not_know_its_place_says_so() -> None:
    lost = decode(encode(rows()))
    with pytest.raises(ReleaseError, match="does not know where its rows are.*noisewise.load"):
        lost.contents.table()


def test_missing_rows_are_named(other: Path) -> None:
    made = nw.load(rows().save(other / "made.nwr")).contents
    made.rows_path.unlink()
    with pytest.raises(ReleaseError, match=r"1\.rows\.parquet: No such file"):
        made.scaled()
    made.rows_path.mkdir()
    with pytest.raises(ReleaseError, match="a regular file"):
        made.scaled()


@pytest.mark.parametrize("size", [0, 1])
def test_changed_rows_are_not_read(other: Path, size: int) -> None:
    made = nw.load(rows().save(other / "made.nwr")).contents
    content = bytearray(made.rows_path.read_bytes())
    content[100] ^= 1
    made.rows_path.write_bytes(content + bytes(size))
    with pytest.raises(ReleaseFormatError, match=f"not the one.*a different {'size' if size else 'SHA-256 digest'}"):
        made.table()


def test_numbers_and_levels_of_every_type_come_back() -> None:
    made = rows(seed=0).contents
    table, scaled = made.table(), made.scaled()
    assert np.array_equal(scaled.numbers, GRID_ROWS[:, :, :2].transpose(1, 0, 2) * 2.0**-20)
    assert (scaled.names, scaled.rows, scaled.laplace) == (("age", TALL), 3, True)
    assert scaled.noise.tolist() == [2.0, 2.0] and scaled.keep == {name: CELLS[name].keep for name in scaled.codes}
    for place, (name, codes) in enumerate(scaled.codes.items(), start=2):
        assert np.array_equal(codes, GRID_ROWS[:, :, place].T)
        levels = ROWS_SCHEMA.column(name).levels  # type: ignore[union-attr]
        values = [levels[code] for code in codes.T.ravel()]
        assert [str(value) for value in table.column(name).to_pylist()] == [str(value) for value in values]
    assert table.column("age").to_pylist()[:2] == [18.0, 12.2236328125] and table.column("copy").to_pylist() == [1, 2] * 3
    assert [batch.num_rows for batch in made.batches()] == [6]


def test_more_cells_than_memory_holds_are_for_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rows().contents
    monkeypatch.setattr(rows_file, "MOST_CELLS", 29)
    for read in (made.table, made.scaled):
        with pytest.raises(ReleaseError, match=r"at most 29 cells.*30.*in batches"):
            read()
    assert sum(batch.num_rows for batch in made.batches()) == 6


def test_the_noise_in_units_of_the_table() -> None:
    assert rows().contents.sd_in_units("age") == pytest.approx(40 * 2 * np.sqrt(2))
    assert gaussian_rows().contents.sd_in_units("age") == 40 * 10


def test_a_mechanism_that_was_asked_for_is_the_one_that_was_used() -> None:
    with pytest.raises(ReleaseError, match="mechanism must be the one that the kind asks for.*'laplace', asked for 'gaussian'"):
        Release(nw.Rows(2, mechanism="gaussian"), ROWS_SCHEMA, rows().contributions)


def test_only_levels_have_no_numbers() -> None:
    one = only_levels().contents
    assert one.numbers == {} and "numbers" not in dict(one.lines(only_levels().kind, one.schema)) and FOLDER == one.folder
    assert one.scaled().numbers.shape == (2, 3, 0)
