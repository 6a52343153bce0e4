"""Files of rows that someone made to do harm: each is one refusal, before it costs memory."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.golden.make_golden import FOLDER, ROWS_FILE, path_of
from tests.property.hostile_files import assert_says_what_is_wrong

from noisewise.errors import ReleaseError, ReleaseFormatError
from noisewise.releases.contents.rows import MOST_CELLS, LevelNoise, RowsContribution, RowsFile
from noisewise.releases.files import load
from noisewise.releases.rows_file import arrow_schema
from noisewise.schema import Schema


def stated(folder: Path, content: bytes, **changes: Any) -> RowsContribution:
    """A contribution whose file of rows has this content, with the right size and digest."""
    (folder / "hostile.parquet").write_bytes(content)
    file = RowsFile("hostile.parquet", len(content), hashlib.sha256(content).hexdigest())
    found: RowsContribution = dataclasses.replace(load(path_of("rows")).contents, file=file, folder=folder, **changes)
    return found


def parquet(folder: Path, table: pa.Table, **options: Any) -> bytes:
    pq.write_table(table, folder / "made", **{"compression": "none", **options})
    return (folder / "made").read_bytes()


def rows() -> pa.Table:
    return load(path_of("rows")).contents.table()


def replaced(name: str, values: Any) -> pa.Table:
    table = rows()
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))


def test_the_right_file_is_read(tmp_path: Path) -> None:
    assert stated(tmp_path, parquet(tmp_path, rows())).table() == rows()


WRONG: dict[str, Callable[[], pa.Table]] = {
    "fewer columns": lambda: rows().drop_columns(["age"]),
    "more columns": lambda: rows().append_column("pickle", pa.array(["x"] * 6)),
    "another order": lambda: rows().select(["age", "ward", "smoker", "Größe (cm)", "grade", "copy"]),
    "another name": lambda: rows().rename_columns(["Ward", "age", "smoker", "Größe (cm)", "grade", "copy"]),
    "another type": lambda: rows().set_column(1, "age", pa.array(["18"] * 6)),
    "single precision": lambda: rows().set_column(1, "age", pa.array([18.0] * 6, pa.float32())),
    "missing cells allowed": lambda: rows().set_column(1, "age", pa.array([18.0] * 5 + [None])),
    "nested": lambda: rows().set_column(1, "age", pa.array([[18.0]] * 6)),
    "fewer rows": lambda: rows().slice(0, 5),
    "more rows": lambda: pa.concat_tables([rows(), rows()]),
    "not a number": lambda: replaced("age", [18.0, float("nan"), 1, 2, 3, 4]),
    "infinite": lambda: replaced("age", [18.0, float("inf"), 1, 2, 3, 4]),
    "huge": lambda: replaced("age", [18.0, 1e308, 1, 2, 3, 4]),
    "another level": lambda: replaced("ward", ["A", "B", "C", "D", "A", "A"]),
    "copies in disorder": lambda: replaced("copy", [1, 1, 2, 2, 1, 2]),
    "copies from nought": lambda: replaced("copy", [0, 1, 0, 1, 0, 1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_rows_that_do_not_fit_the_release_are_refused(name: str, tmp_path: Path) -> None:
    one = stated(tmp_path, parquet(tmp_path, WRONG[name]()))
    for read in (one.table, one.scaled, lambda: list(one.batches())):
        with pytest.raises(ReleaseFormatError, match="does not match the release") as refused:
            read()
        assert_says_what_is_wrong(refused.value)


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy"])
def test_compressed_rows_are_refused(compression: str, tmp_path: Path) -> None:
    """A compressed page can be a thousand times as large as its part of the file."""
    with pytest.raises(ReleaseFormatError, match="compressed columns"):
        stated(tmp_path, parquet(tmp_path, rows(), compression=compression)).table()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"PAR1" + b"\xff" * 200 + b"\xff\xff\xff\x7fPAR1", b"\x80\x04N."])
def test_what_is_no_parquet_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="does not match|at least"):
        stated(tmp_path, content).table()


def test_a_small_file_cannot_state_many_numbers(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="must have at least 32000000 bytes"):
        stated(tmp_path, parquet(tmp_path, rows()), rows=10**6)


def test_a_small_file_of_many_equal_levels_is_not_unpacked_into_memory(tmp_path: Path) -> None:
    """Levels can be packed as tightly as one likes. No table is made of too many, and batches end at a lie."""
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"ward": {"levels": ["A", "B"]}}})
    levels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2**22, dtype=np.int32)), pa.array(["A", "B"]))
    content = parquet(tmp_path, pa.table([levels], schema=arrow_schema(schema, 1)))
    assert len(content) < 2**14
    changes = {"schema": schema, "columns": {"ward": LevelNoise(1.0, 0.9)}, "copies": 1, "mechanism": "randomised-response"}
    assert stated(tmp_path, content, rows=2**22, **changes).table().num_rows == 2**22
    large = stated(tmp_path, content, rows=MOST_CELLS + 1, **changes)
    for read in (large.table, large.scaled):
        with pytest.raises(ReleaseError, match="cells can be read into memory"):
            read()
    with pytest.raises(ReleaseFormatError, match="rows where"):
        next(large.batches())


def test_another_file_is_not_read(tmp_path: Path) -> None:
    content = parquet(tmp_path, rows())
    one = stated(tmp_path, content)
    other = bytearray(content)
    other[len(content) // 2] ^= 1
    for changed, words in ((bytes(other), "a different SHA-256 digest"), (content + b"\0", "a different size")):
        (tmp_path / "hostile.parquet").write_bytes(changed)
        with pytest.raises(ReleaseFormatError, match=words) as refused:
            one.table()
        assert_says_what_is_wrong(refused.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_or_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    one = stated(tmp_path, parquet(tmp_path, rows()))
    place = tmp_path / "hostile.parquet"
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(ReleaseError, match="a regular file"):
        one.table()
    place.unlink()
    place.mkdir()
    with pytest.raises(ReleaseError, match="a regular file"):
        one.table()


@given(place=st.integers(0, 2000), value=st.integers(0, 255), cut=st.integers(0, 1) | st.integers(2, 1400))
def test_damaged_bytes_with_the_right_digest_are_read_or_refused(place: int, value: int, cut: int, tmp_path: Path) -> None:
    content = bytearray((FOLDER / ROWS_FILE.name).read_bytes())
    content[place % len(content)] = value
    damaged = bytes(content[:-cut] if cut > 1 else content)
    try:
        one = stated(tmp_path, damaged)
        assert one.table().num_rows == 6 and np.isfinite(one.scaled().numbers).all()
    except ReleaseFormatError as error:
        assert_says_what_is_wrong(error)
    except ReleaseError as error:
        assert "must have at least 96 bytes" in str(error)
    assert [path.name for path in tmp_path.iterdir()] == ["hostile.parquet"]
    assert (tmp_path / "hostile.parquet").read_bytes() == damaged


@pytest.mark.parametrize("name", ["\ud800.parquet", "a/b.parquet", "..\\b.parquet", ".parquet", "c:b.parquet", "b\n.parquet", 1])
def test_a_name_that_is_not_plain_is_refused(name: Any) -> None:
    with pytest.raises(ReleaseError, match="a plain name"):
        RowsFile(name, 0, "0" * 64)
