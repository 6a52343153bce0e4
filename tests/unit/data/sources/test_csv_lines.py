"""In a CSV file a row is a line: no cell has a say in what becomes of the rows of others."""

from __future__ import annotations

import csv
import gzip
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noisewise.data import GramSum, gram_sum, open_source
from noisewise.data.sources import lines as lines_module
from noisewise.data.sources.lines import LINE_BYTES, blocks, header_cells, repair, split_header
from noisewise.errors import DataError
from noisewise.run import QUIET
from noisewise.schema import Basis, Schema

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "x": {"bounds": [0, 4], "missing": 1}, "y": {"levels": ["2", "a", "b"], "missing": "b"}}})
ONE_COLUMN = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 4], "missing": 1}}})


def statistic(path: Path, schema: Schema = SCHEMA) -> GramSum:
    return gram_sum(path, schema, Basis.of(schema), run=QUIET)


def written(folder: Path, content: bytes) -> GramSum:
    (folder / "rows.csv").write_bytes(content)
    return statistic(folder / "rows.csv")


BAD_LINES = {
    "an open quote": b'"3,2', "a quote within": b'a"b,"c', "text after a quote": b'"3"x,2', "a space before a quote": b'3, "2"',
    "three quotes": b'"""",2"', "a huge quoted cell": b'"' + b"z" * (6 << 20) + b'",2', "a huge cell": b"3," + b"z" * (6 << 20),
    "a line just too long": b"3," + b"2" * (LINE_BYTES - 1), "only quotes, odd": b'"' * 100_001, "no UTF-8, one cell": b"\xff",
    "no UTF-8, three cells": b'\xff,"\xfe,\xfd",2', "no UTF-8, quoted comma": b'"\xff,2"', "one cell": b"3", "three": b"3,2,1",
    "nothing but a quote": b'"',
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CR LF", "CR"])
def test_a_line_that_is_no_record_is_one_missing_row(line: bytes, end: bytes, tmp_path: Path) -> None:
    others = [b"1,2"] * 999
    found = written(tmp_path, end.join([b"x,y", *others[:500], line, *others[500:]]) + end)
    missing = written(tmp_path, end.join([b"x,y", *others[:500], b"NA,NA", *others[500:]]) + end)
    assert found.rows == 1000
    assert found == missing


@pytest.mark.parametrize(("line", "same"), [
    (b'"3","a"', b"3,a"), (b'3,"a"', b"3,a"), (b'"3",a', b"3,a"), (b'"3,0","a"', b"NA,a"), (b'"","a"""', b",a?"),
    (b'"""",a', b"?,a"), (b"\xff,a", b"?,a"), (b'"\xff,",a', b"?,a"), (b"3,\xc3\xa9", b"3,?"), (b"\xef\xbb\xbf3,a", b"?,a"),
    (b"3," + b"?" * (LINE_BYTES - 2), b"3,?"), (b"\x00,a", b"?,a"), (b'"a,","b"', b"?,b"),
    (b'"3\\",2', b"?,2"),
])
@pytest.mark.parametrize("before", [0, 1, 600_000])
def test_a_record_is_read_wherever_it_is(line: bytes, same: bytes, before: int, tmp_path: Path) -> None:
    start = b"x,y\n" + b"4,a\n1,2\n" * before
    assert written(tmp_path, start + line + b"\n4,a\n") == written(tmp_path, start + same + b"\n4,a")


cells = st.one_of(
    st.binary(max_size=6), st.text(alphabet='ab12.,"é \\', max_size=6).map(str.encode),
    st.sampled_from([b'"', b'""', b'"a"', b'"a""b"', b'"1,2"', b",", b"\xff", b"\xef\xbb\xbf", b"\x00", b"\r", b"\n", b"\r\n"]),
)
records = st.lists(st.lists(cells, min_size=1, max_size=3).map(b",".join), max_size=8)


def physical_lines(body: bytes) -> list[bytes]:
    return [line for line in re.split(rb"\r\n|\r|\n", body) if line]


@given(records, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.integers(1, 40), st.booleans())
@example([b'"a', b'b"'], b"\n", 7, True)
@example([b"\xff"], b"\n", 40, True)
def test_whatever_the_bytes_a_row_is_a_line_and_counts_by_itself(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], end: bytes, block: int, last: bool
) -> None:
    """With small blocks, so that lines and line ends are cut everywhere; the reference is each line in a file of its own."""
    folder = tmp_path_factory.mktemp("csv")
    body = end.join(rows) + (end if last else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "BLOCK_BYTES", block)
        found = written(folder, b"x,y" + end + body)
    assert found.rows == len(physical_lines(body))
    alone = written(folder, b"x,y\n")
    for line in physical_lines(body):
        alone = alone.merge(written(folder, b"x,y\n" + line + b"\n"))
    assert found == alone


@given(st.lists(st.binary(max_size=5).map(lambda cell: cell.translate(None, b"\r\n")), max_size=8), st.integers(1, 9))
def test_with_one_column_empty_lines_are_rows_too(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], block: int
) -> None:
    path = tmp_path_factory.mktemp("csv") / "one.csv"
    for end in (b"\n", b"\r\n"):
        path.write_bytes(end.join([b"x", *rows]) + end)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lines_module, "BLOCK_BYTES", block)
            assert statistic(path, ONE_COLUMN).rows == len(rows)


@given(st.lists(st.binary(max_size=12).map(lambda line: line.translate(None, b"\r\n")), min_size=1, max_size=6),
       st.integers(1, 9), st.integers(1, 12), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_the_limit_of_a_line_does_not_depend_on_blocks(rows: list[bytes], limit: int, block: int, end: bytes) -> None:
    class Stream:
        def __init__(self, content: bytes) -> None:
            self.content = content

        def read(self, size: int) -> bytes:
            piece, self.content = self.content[:size], self.content[size:]
            return piece

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "BLOCK_BYTES", block)
        patch.setattr(lines_module, "LINE_BYTES", limit)
        found = b"".join(repair(piece, 2) for piece in blocks(Stream(end.join(rows) + end)))
        expected = [repair(row + end, 2) for row in rows]
    assert found == b"".join(expected)
    assert all(row == b"?" + end for row, original in zip(expected, rows, strict=True) if len(original) > limit)


def test_repaired_text_has_no_cell_over_two_lines() -> None:
    """What is left of quotes can be read by any parser, line by line."""
    text = repair(b'1,2\n"a\n5,6\nb",3\n"x ""y""",4\n', 2).decode()
    assert text == '1,2\n?\n5,6\n?\n"x ""y""",4\n'
    assert len(list(csv.reader(text.splitlines()))) == 5


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "ROWS.CSV.GZ"])
@pytest.mark.parametrize(("content", "rows"), [
    (b"x,y", 0), (b"x,y\n", 0), (b"x,y\r\n", 0), (b"\xef\xbb\xbfx,y\n1,2", 1), (b"\n\r\nx,y\n1,2\n\n", 1), (b'"x","y"\n1,2\n', 1),
])
def test_headers(content: bytes, rows: int, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.lower().endswith("gz") else content)
    assert statistic(path).rows == rows


def test_names_are_the_cells_of_the_header() -> None:
    assert header_cells(b'a,,"b, ""c""", d ,') == ["a", "", 'b, "c"', " d ", ""]
    assert header_cells(b",a") == ["", "a"]
    assert header_cells(b'"a') is None and header_cells(b"a" * (LINE_BYTES + 1)) is None
    assert split_header(iter([b"\n\n", b"\r\nx\r\n\r\n1\n"])) == (b"x", b"\r\n1\n")


@pytest.mark.parametrize("header", [b"x,\xff\xfesecret", b'x,"secret', b"\xff\xfex\x00", b"secret" * 200_000])
def test_a_header_that_cannot_be_read_is_not_shown(header: bytes, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(header + b"\n1,2\n")
    with pytest.raises(DataError, match="cannot be read as CSV") as caught:
        open_source(tmp_path / "rows.csv")
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


def test_columns_of_a_csv_are_text_and_its_names_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("Smith,41\n1,2\n")
    source = open_source(path)
    assert source.column_types() == {"Smith": pa.string(), "41": pa.string()}
    with pytest.raises(DataError, match="no column 'x'") as caught:
        statistic(path)
    assert "Smith" not in str(caught.value)
    path.write_text("Smith;41\n1;2\n")  # nor does the message say whether the first line has a comma
    with pytest.raises(DataError, match="separate columns by commas") as again:
        statistic(path)
    assert str(again.value) == str(caught.value)


@pytest.mark.parametrize("data", [{"age": [1.0]}, {"age": [1.0], "name": ["a"]}])
def test_names_of_other_sources_are_shown(data: Any) -> None:
    with pytest.raises(DataError, match="known: age"):
        gram_sum(data, SCHEMA, Basis.of(SCHEMA))


def test_a_damaged_archive_is_reported_without_its_content(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + bytes(range(48, 58)) * 3_000_000, 1)[:-100])
    with pytest.raises(DataError, match="could not be read") as caught:
        statistic(path)
    assert caught.value.__context__ is None
