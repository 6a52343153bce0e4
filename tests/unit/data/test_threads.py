"""What other threads make comes in its order, a bounded number ahead, and they end when nobody asks any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisewise.data import averaged_gram_sum, gram_sum
from noisewise.data.reading import batches, source_for
from noisewise.data.sources import open_source
from noisewise.data.sources.base import Wanted
from noisewise.data.splitting.parts import GivenSplit
from noisewise.data.statistics.bounds import grid_counts
from noisewise.data.statistics.partition import part_moments
from noisewise.data.threads import AHEAD, ahead, ordered_map
from noisewise.errors import DataError
from noisewise.run import ALONE, QUIET, Run
from noisewise.schema import Basis, Schema
from noisewise.schema.partition import part_design
from noisewise.schema.schema import Unit


def ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("noisewise")]


def counting(made: list[int], stop: int = 100) -> Iterator[int]:
    for number in range(stop):
        made.append(number)
        yield number


def test_everything_comes_in_order_and_the_thread_ends() -> None:
    made: list[int] = []
    assert list(ahead(number for number in counting(made))) == list(range(100))
    assert not ours()


def test_only_a_few_are_made_ahead() -> None:
    made: list[int] = []
    with closing(ahead(number for number in counting(made))) as items:
        assert next(items) == 0
        time.sleep(0.2)
        assert len(made) == 1 + AHEAD + 1  # taken, waiting, and one that waits for room
    assert not ours() and len(made) <= 1 + AHEAD + 2


def test_an_error_comes_after_what_was_made_before_it() -> None:
    def broken() -> Any:
        yield 1
        raise DataError("the data could not be read to the end", found="a file", remedy="check it")

    seen = []
    with pytest.raises(DataError, match="to the end"):
        for item in ahead(broken()):
            seen.append(item)
    assert seen == [1] and not ours()


def test_the_source_is_closed_when_the_reader_is() -> None:
    closed = threading.Event()

    def items() -> Any:
        try:
            while True:
                yield 0
        finally:
            closed.set()

    with closing(ahead(items())) as found:
        next(found)
    assert closed.is_set() and not ours()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_map_by_threads_keeps_the_order(threads: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number**2

    assert list(ordered_map(work, range(30), threads)) == [number**2 for number in range(30)]
    assert not ours()


def test_a_map_that_is_not_read_to_its_end_takes_few_items() -> None:
    made: list[int] = []
    with closing(ordered_map(lambda number: number, counting(made), 2)) as found:
        next(found)
    assert len(made) == 3 and not ours()


def test_a_map_raises_what_the_function_raises_in_its_place() -> None:
    found = ordered_map(lambda number: 1 // (number - 3), range(9), 2)
    assert [next(found) for _ in range(3)] == [-1, -1, -1]
    with pytest.raises(ZeroDivisionError):
        next(found)
    assert not ours()


ROWS = 150_000
SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "x": {"bounds": [-3, 3], "missing": 0}, "y": {"bounds": [-3, 3], "missing": 1},
    "ward": {"levels": ["A", "B"], "missing": "B"}}})


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several blocks of lines, some of which are malformed, and cells that are no numbers in one of them."""
    path, rng = tmp_path_factory.mktemp("csv") / "rows.csv", np.random.default_rng(1)
    lines = [f'{x:.17g},"{y:.17g}",{ward},{person}' for x, y, ward, person in zip(
        rng.normal(size=ROWS), rng.normal(size=ROWS), rng.choice(["A", "B", "?"], ROWS), rng.integers(0, 999, ROWS), strict=True)]
    for place in range(0, ROWS, 9_973):
        lines[place] = ("1,2", '"', "1,2,A,3,4")[place % 3]
    lines[70_000], lines[70_001], lines[140_000] = "about 3,1,A,7", " 1.5 ,NA,B,", "1e400,-inf,B,8"
    path.write_text("x,y,ward,person\n" + "\n".join(lines) + "\n")
    return path


def test_a_csv_file_is_the_same_by_any_number_of_threads_and_blocks(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [Wanted("x", "number"), Wanted("ward", "level", frozenset("AB")), Wanted("person", "unit")]
    one = pa.Table.from_batches(list(batches(open_source(csv), wanted, run=Run(threads=1))))
    monkeypatch.setattr("noisewise.data.sources.lines.BLOCK_BYTES", csv.stat().st_size // 20)
    three = pa.Table.from_batches(list(batches(open_source(csv), wanted, run=Run(threads=3))))
    assert one.equals(three) and one.num_rows == ROWS


def test_numbers_that_are_converted_while_parsing_are_those_of_texts(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [Wanted("x", "number"), Wanted("y", "number")]
    found = pa.Table.from_batches(list(batches(open_source(csv), wanted, ALONE)))
    from noisewise.data.sources import csv as module

    usual = module._Parser._parsed
    kinds = []

    def as_text(self: Any, text: bytes, asked: list[pa.DataType]) -> Any:
        kinds.append(asked[0])
        if asked[0] != pa.string():
            raise pa.ArrowInvalid("so that text is read")
        return usual(self, text, asked)

    monkeypatch.setattr(module._Parser, "_parsed", as_text)
    assert pa.Table.from_batches(list(batches(open_source(csv), wanted, ALONE))).equals(found)
    assert {pa.float64(), pa.string()} == set(kinds)
    assert found["x"].null_count >= 16 and found["x"].to_pylist().count(1.5) == 1


def test_whoever_asks_for_one_thread_gets_one(csv: Path) -> None:
    with closing(batches(open_source(csv), [Wanted("x", "number")], run=Run(threads=1))) as found:
        next(found)
        assert not ours()
    assert source_for(open_source(csv), ALONE).threads == 1  # type: ignore[attr-defined]
    with closing(batches(open_source(csv), [Wanted("x", "number")], run=Run(threads=2))) as found:
        next(found)
        assert ours()
    assert not ours()


@pytest.mark.parametrize("unit", [None, "person"])
def test_one_stream_feeds_several_threads(csv: Path, unit: str | None) -> None:
    schema = Schema.from_dict(SCHEMA.to_dict() | ({"unit": {"column": unit, "max_rows": 20}} if unit else {}))
    one, three = (gram_sum(csv, schema, Basis.of(schema), run=Run(threads=threads, progress=False)) for threads in (1, 3))
    assert one == three and (unit is not None or one.rows == ROWS)


@pytest.mark.outer
def test_passes_in_order_are_the_same_with_and_without_a_reader(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Averaged rows, parts and counts: the groups and parts are given, so that nothing is random."""
    groups = np.arange(ROWS) // 2
    columns = {name: {"bounds": "unknown", "missing": 0} for name in "xy"}
    unknown = Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    design = part_design(unknown, "y ~ x", ())

    def found() -> list[Any]:
        parts = part_moments(csv, unknown, design, 7, split=GivenSplit(np.arange(ROWS) % 7), run=QUIET)
        counts = grid_counts(csv, ["x", "y"], np.linspace(-1, 1, 9), Unit(), run=QUIET)
        return [averaged_gram_sum(csv, SCHEMA, Basis.of(SCHEMA), 2, groups=groups, run=QUIET).to_grid(), parts.products,
                parts.counts, *counts.columns.values()]

    several = found()
    monkeypatch.setattr("noisewise.run.processors", lambda: 1)
    assert all(np.array_equal(one, other) for one, other in zip(found(), several, strict=True))


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux to see what a process reads")
def test_bytes_of_columns_that_are_not_declared_are_not_read(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(1), tmp_path / "wide.parquet"
    pq.write_table(pa.table({name: rng.normal(size=200_000) for name in ("x", "y", *(f"z{i}" for i in range(18)))}), path,
                   row_group_size=50_000)
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [-3, 3]} for name in "xy"}})

    def asked() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = asked()
    gram_sum(path, schema, Basis.of(schema), run=ALONE)
    assert asked() - before < 0.2 * path.stat().st_size  # two columns of twenty are a tenth
