"""What machines of a cluster send each other, tried out in one process: sums in chunks, and rows that are dealt out to parts."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy import stats
from tests.contract.test_sources import CASES, statistic
from tests.privacy.partition_parts import bits, changed, questions_about

from noisewise.data import cluster
from noisewise.data.sources import open_source
from noisewise.data.sources.arrow import TableSource, open_arrow
from noisewise.data.sources.base import ClusterSource, Deal, Gather, Record, Wanted
from noisewise.data.splitting.parts import GivenSplit, KeyedRowSplit, KeyedUnitSplit
from noisewise.data.statistics import partition_unordered
from noisewise.data.statistics.bounds import grid_counts
from noisewise.data.statistics.partition import PartMoments, part_moments
from noisewise.data.statistics.partition_sums import LARGEST_BUFFER
from noisewise.data.statistics.partition_unordered import own_order
from noisewise.errors import DataError
from noisewise.run import ALONE, QUIET, Run
from noisewise.schema import Schema
from noisewise.schema.partition import part_design
from noisewise.schema.schema import Unit

LEVEL = 1e-12
FORMULA = "y ~ x + z"
ASKED = questions_about("x", "z")
ROWS = Schema.from_dict({"adjacency": "add-remove", "columns": {name: {"bounds": "unknown"} for name in "yxz"}})
PEOPLE = Schema.from_dict({**ROWS.to_dict(), "unit": {"column": "who", "max_rows": 50}})


@dataclass(frozen=True, eq=False)
class Pieces:
    """A cluster in one process: what a machine would send is pickled, and pieces are read as often as one likes."""

    tables: tuple[pa.Table, ...]
    machines: int = 3
    second: tuple[pa.Table, ...] | None = None
    """The pieces as they are when they are read again, for half of the machines that gather."""
    rows: None = None
    description: str = "pieces"
    untyped: frozenset[str] = frozenset()
    header_is_text: bool = False

    def column_types(self) -> dict[str, pa.DataType]:
        return dict(zip(self.tables[0].schema.names, self.tables[0].schema.types, strict=True))

    def tasks(self, wanted: Sequence[Wanted]) -> list[Any]:
        return [task for table in self.tables for task in open_arrow(table).tasks(wanted)]

    def with_few_rows_of_each(self, unit: str, max_rows: int, wanted: Sequence[Wanted]) -> Pieces:
        return self  # no unit here has more

    def exchange(self, wanted: Sequence[Wanted], deal: Deal, gather: Gather, *, in_order: bool, run: Run) -> list[Record]:
        first = self._dealt(self.tables, wanted, deal)
        again = first if self.second is None else self._dealt(self.second, wanted, deal)
        found: list[Record] = []
        for machine in range(self.machines):
            own = [record for record in (first if machine % 2 else again) if record[0] % self.machines == machine]
            found += pickle.loads(pickle.dumps(gather))(iter(sorted(own, key=lambda record: record[:2]) if in_order else own))
        return found

    def _dealt(self, tables: tuple[pa.Table, ...], wanted: Sequence[Wanted], deal: Deal) -> list[Record]:
        names = [column.name for column in wanted]
        return [record for piece, table in enumerate(tables)
                for record in pickle.loads(pickle.dumps(deal))(piece, iter(table.select(names).to_batches(max_chunksize=100)))]


def cut(table: pa.Table, pieces: int, rng: np.random.Generator | None = None) -> Pieces:
    """A table in pieces, in another order if there is a generator."""
    if rng is not None:
        table = table.take(rng.permutation(table.num_rows))
    ends = np.linspace(0, table.num_rows, pieces + 1).astype(int)
    return Pieces(tuple(table.slice(start, stop - start) for start, stop in pairwise(ends.tolist())))


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("chunk", [8, 1 << 14])
@pytest.mark.parametrize("case", ["no rows", "with holes", "all missing"])
def test_chunks_are_added_to_the_sum_that_one_machine_finds(case: str, chunk: int, pieces: int,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CHUNK_BYTES", chunk)
    source = cut(CASES[case], pieces)
    assert isinstance(source, ClusterSource)
    assert statistic(source) == statistic(CASES[case], ALONE)


def test_no_machine_holds_more_than_its_own_sum_and_one_of_what_it_gathers() -> None:
    """The driver gets one sum, however many pieces there are."""
    sent: list[list[Record]] = []

    class Watched(Pieces):
        def exchange(self, *given: Any, **more: Any) -> list[Record]:
            sent.append(super().exchange(*given, **more))
            return sent[-1]

    statistic(Watched(cut(CASES["with holes"], 50).tables))
    size = statistic(CASES["one row"]).high.size
    assert sum(len(content) for _, _, content in sent[0]) == 2 * size * 8
    assert max(len(content) for _, _, content in sent[0]) <= cluster.CHUNK_BYTES


def test_a_sum_with_large_parts_is_exact() -> None:
    """Low parts that exceed their range together are carried, and negative numbers are as good as others."""
    table = pa.table({"age": np.full(30_000, 118.9), "stay": np.full(30_000, 0.3), "visits": np.full(30_000, -7),
                      "smoker": np.ones(30_000, dtype=bool), "ward": ["A"] * 30_000, "grade": np.full(30_000, 3, dtype=np.int32)})
    assert statistic(cut(table, 11)) == statistic(table, ALONE)


def test_cells_are_counted_on_the_cluster() -> None:
    grid = np.array([0.0, 30.0, 60.0])
    table = CASES["with holes"]
    here, there = (grid_counts(source, ["age", "stay"], grid, Unit(), run=QUIET) for source in (table, cut(table, 4)))
    assert here.rows == there.rows == table.num_rows
    assert all(np.array_equal(here.columns[name], there.columns[name]) for name in ("age", "stay"))


def made(rows: int, rng: np.random.Generator) -> pa.Table:
    x = rng.normal(size=rows)
    return pa.table({"y": 100 + 0.3 * x + rng.normal(size=rows), "x": x, "z": rng.uniform(-1, 1, rows),
                     "who": rng.integers(0, rows // 4, rows)})


def moments(source: Any, schema: Schema, parts: int) -> PartMoments:
    return part_moments(source, schema, part_design(schema, FORMULA, ()), parts, run=QUIET)


def known_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda count: b"k" * count)


def test_parts_have_all_rows_once_and_their_sums_are_right() -> None:
    table = made(5000, np.random.default_rng(1))
    found = moments(cut(table, 4), ROWS, 9)
    assert found.counts.sum() == found.rows == 5000 and not found.balanced
    design = np.column_stack([np.ones(5000), *(np.asarray(table[name]) for name in "xzy")])
    # Relative to a part's shift s, a row is a - s; the first column, which is not shifted, holds the sums of a - s.
    sums = found.products[:, 0, :, None] * found.shift[:, None, :]
    whole = found.products + sums + sums.swapaxes(1, 2) + found.counts[:, None, None] * (
        found.shift[:, :, None] * found.shift[:, None, :])
    np.testing.assert_allclose(whole.sum(axis=0), design.T @ design, rtol=1e-10, atol=1e-7)
    assert stats.chisquare(found.counts).pvalue > LEVEL


def test_how_many_rows_were_left_out_is_not_told_where_the_number_of_rows_is_public() -> None:
    """A row with a missing cell is left out of its part: it must count as a row all the same."""
    declared = {"adjacency": "replace-one", "columns": {name: {"bounds": "unknown", "missing": "drop"} for name in "yxz"}}
    schema = Schema.from_dict(declared)
    table = made(2000, np.random.default_rng(8))
    holes = table.set_column(table.schema.get_field_index("x"), "x", pa.array([None, *table["x"].to_pylist()[1:]], pa.float64()))
    design = part_design(schema, FORMULA, ())
    whole, other = (part_moments(cut(rows, 3), schema, design, 1, run=QUIET) for rows in (table, holes))
    assert not whole.balanced and other.counts.sum() == whole.counts.sum() - 1
    assert whole.rows == other.rows == 2000


@pytest.mark.parametrize("schema", [PEOPLE], ids=["people"])
def test_a_part_depends_on_its_own_rows_to_the_last_bit(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the pieces and the order; and if one person's rows change, on no others."""
    known_key(monkeypatch)
    rng = np.random.default_rng(2)
    table = made(3000, rng)
    before = bits(moments(cut(table, 2), schema, 11), schema, FORMULA, ASKED)
    for pieces in (1, 5):
        assert not changed(before, bits(moments(cut(table, pieces, rng), schema, 11), schema, FORMULA, ASKED))
    own = np.asarray(table["who"]) == 7
    for value in (0.0, 1e300, np.nan, np.inf):
        other = table.set_column(1, "x", pa.array(np.where(own, value, np.asarray(table["x"]))))
        assert len(changed(before, bits(moments(cut(other, 3, rng), schema, 11), schema, FORMULA, ASKED))) == 1


def test_sums_in_the_order_of_arrival_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    known_key(monkeypatch)
    monkeypatch.setattr(partition_unordered, "own_order", lambda rows: np.arange(len(rows)))
    rng = np.random.default_rng(3)
    table = made(3000, rng)
    one, other = (bits(moments(cut(table, 3, rng), PEOPLE, 5), PEOPLE, FORMULA, ASKED) for _ in range(2))
    assert len(changed(one, other)) == 5


def test_rows_that_are_brought_here_wait_for_all_of_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal parts of a public number of rows; the split is known, and so is each row's part in another order."""
    schema = Schema.from_dict({**ROWS.to_dict(), "adjacency": "replace-one"})
    rng = np.random.default_rng(4)
    table = made(600, rng)
    belongs, order = rng.permutation(np.arange(600) % 6), rng.permutation(600)

    def found(source: Any, parts: npt.NDArray[np.int64]) -> Any:
        monkeypatch.setattr("noisewise.data.statistics.partition.BalancedSplit", lambda rows, count: GivenSplit(parts))
        return bits(moments(source, schema, 6), schema, FORMULA, ASKED)

    before = found(cut(table, 3), belongs)
    assert not changed(before, found(cut(table.take(order), 2), belongs[order]))
    in_order_of_files = [found(table, belongs), found(table.take(order), belongs[order])]
    assert len(changed(*in_order_of_files)) == 6


def test_a_piece_that_is_read_again_with_its_rows_in_another_order_is_refused() -> None:
    """A row could be in two parts then."""
    rng = np.random.default_rng(5)
    pieces = cut(made(2000, rng), 4)
    assert moments(replace(pieces, second=pieces.tables), ROWS, 20).counts.sum() == 2000
    other = tuple(table.take(rng.permutation(table.num_rows)) for table in pieces.tables)
    with pytest.raises(DataError, match="same each time"):
        moments(replace(pieces, second=other), ROWS, 20)


def test_machines_that_round_differently_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**6))
    monkeypatch.setattr(partition_unordered, "_rounding", lambda recipe: str(next(numbers)).encode())
    with pytest.raises(DataError, match="round alike"):
        moments(cut(made(200, np.random.default_rng(6)), 2), ROWS, 5)


def test_the_check_of_rounding_sees_another_order_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another processor adds up in another order: here, in buffers of another length."""
    from noisewise.data.statistics.partition_sums import Recipe

    recipe = Recipe(ROWS, part_design(ROWS, FORMULA, ()))
    here = partition_unordered._rounding(recipe)
    assert here == partition_unordered._rounding(recipe)
    monkeypatch.setattr("noisewise.data.statistics.partition_sums.LARGEST_BUFFER", LARGEST_BUFFER // 2)
    assert here != partition_unordered._rounding(recipe)


def test_the_order_of_rows_is_that_of_their_bits_even_if_hashes_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    rows = rng.choice([0.0, -0.0, 1.0, np.nan, np.inf, 5e-324], (500, 3))
    for factor in (partition_unordered._MIX, np.uint64(0)):  # with zero all hashes are equal
        monkeypatch.setattr(partition_unordered, "_MIX", factor)
        one, other = (mixed[own_order(mixed)].tobytes() for mixed in (rows, rows[rng.permutation(500)]))
        assert one == other


def labels(batches: Sequence[int], piece: int, key: bytes = b"k" * 32) -> list[int]:
    split = KeyedRowSplit(key, piece, 5)
    return [int(part) for rows in batches for part in split.parts_of(rows, None)]


def test_rows_get_the_same_part_each_time_and_pieces_have_nothing_in_common() -> None:
    assert labels([40, 9], 3) == labels([40, 9], 3)
    tables = [labels([3000], 1), labels([3000], 2), labels([3000], 1, b"j" * 32), labels([1, 3000], 1)[1:]]
    for place, one in enumerate(tables):
        assert stats.chisquare(np.bincount(one, minlength=5)).pvalue > LEVEL
        for other in tables[:place]:
            assert stats.chi2_contingency(np.histogram2d(one, other, 5)[0]).pvalue > LEVEL
    assert stats.chi2_contingency(np.histogram2d(tables[0], labels([3000], 1), 5)[0]).pvalue < LEVEL


@pytest.mark.parametrize("identifiers", [
    pa.array(["a", None, "a", None, "b"]), pa.array([1.0, float("nan"), 1.0, None, -0.0]),
    pa.array([b"\xff", None, b"\xff", None, b""]), pa.array([7, None, 7, None, 0]).cast(pa.decimal128(21, 2)),
    pa.array([7, None, 7, None, 0]).cast(pa.timestamp("us"))])
def test_a_unit_has_one_part_wherever_its_rows_are(identifiers: pa.Array) -> None:
    def parts(array: pa.Array) -> list[int]:
        return KeyedUnitSplit(b"k" * 32, 10**6).parts_of(len(array), array).tolist()

    together, apart = parts(identifiers), [parts(identifiers.slice(place, 1))[0] for place in range(5)]
    assert together == apart
    assert together[0] == together[2] != together[1] == together[3] != together[4]


def test_rows_without_an_order_are_summed_up_in_one_of_their_own() -> None:
    """A database is no cluster, but it hands out rows in any order too."""
    class Unordered(TableSource):
        def with_few_rows_of_each(self, unit: str, max_rows: int, wanted: Sequence[Wanted]) -> Any:
            return self

    def found(rows: pa.Table, belongs: npt.NDArray[np.int64]) -> Any:
        source = Unordered(rows, dict(zip(rows.schema.names, rows.schema.types, strict=True)))
        design = part_design(ROWS, FORMULA, ())
        return bits(part_moments(source, ROWS, design, 3, split=GivenSplit(belongs), run=QUIET), ROWS, FORMULA, ASKED)

    rng = np.random.default_rng(8)
    table, belongs, order = made(500, rng), np.arange(500) % 3, rng.permutation(500)
    assert not changed(found(table, belongs), found(table.take(order), belongs[order]))


def test_without_pyspark_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(DataError, match=r"not installed.*noisewise\[spark\]"):
        open_source("spark:visits")


def test_a_spark_that_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pyspark = pytest.importorskip("pyspark.sql")
    monkeypatch.delenv("SPARK_REMOTE", raising=False)

    def fail(self: object) -> None:
        raise RuntimeError("no Java, and somebody's secret")

    monkeypatch.setattr(pyspark.SparkSession, "getActiveSession", classmethod(lambda cls: None))
    monkeypatch.setattr(pyspark.SparkSession.Builder, "getOrCreate", fail)
    with pytest.raises(DataError, match="could not be started or reached.*RuntimeError") as caught:
        open_source("spark:visits")
    assert "secret" not in str(caught.value) and caught.value.__context__ is None
