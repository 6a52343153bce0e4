"""Spark as a source of rows, on a real local cluster: two workers, Python processes of their own, and tasks that are done again.

All tests are in this file, so that one cluster is started for them.
"""

from __future__ import annotations

import _thread
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from tests.contract.test_sources import CASES, a_round, statistic
from tests.privacy.partition_parts import bits, changed, questions_about
from tests.spark.local_cluster import start
from typer.testing import CliRunner

import noisewise as nw
from noisewise.cli.app import app
from noisewise.data.cluster import sum_over_cluster
from noisewise.data.exact import ExactSum
from noisewise.data.sources import open_source
from noisewise.data.sources import spark as spark_source
from noisewise.data.sources.base import ClusterSource, Wanted
from noisewise.data.statistics.averaged import averaged_gram_sum, random_groups
from noisewise.data.statistics.bounds import grid_counts
from noisewise.data.statistics.gram import gram_sum
from noisewise.data.statistics.model import ModelRows
from noisewise.data.statistics.moments import moments_sum
from noisewise.data.statistics.partition import part_moments
from noisewise.errors import DataError
from noisewise.kinds import kinds
from noisewise.run import ALONE, QUIET, Run
from noisewise.schema import Basis, Design, Schema
from noisewise.schema.partition import part_design
from noisewise.schema.schema import Unit
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Layout
from noisewise.scores.rounds import Look, Point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning",  # PySpark 4.0 leaves sockets open
)
LEVEL = 1e-12
SECRET = "secret-4711"
PEOPLE = Schema.from_dict({"adjacency": "add-remove", "unit": {"column": "who", "max_rows": 3},
                           "columns": {"x": {"bounds": [0, 1]}, "y": {"bounds": [0, 1]}}})
WANTED = [Wanted("x", "number"), Wanted("y", "number"), Wanted("who", "unit")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


def frame(spark: SparkSession, table: pa.Table, pieces: int = 3) -> DataFrame:
    """A table of Spark in so many partitions, empty ones among them if there are few rows."""
    made: DataFrame = spark.createDataFrame(table).repartition(pieces)
    return made


@pytest.mark.parametrize("case", CASES)
def test_the_same_rows_give_the_identical_statistic(case: str, spark: SparkSession) -> None:
    source = open_source(frame(spark, CASES[case]))
    assert isinstance(source, ClusterSource)
    assert statistic(source) == statistic(CASES[case], ALONE)


@pytest.mark.inner
def test_moments_and_counts_are_identical(spark: SparkSession) -> None:
    table = CASES["with holes"]
    there = frame(spark, table)
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 120]}, "stay": {"bounds": [0, 60]}}})
    one, other = (moments_sum(data, schema, Basis.of(schema), ["x", "xx", "y", "yxx"], run=QUIET).exact
                  for data in (table, there))
    assert one == other
    here, counted = (grid_counts(data, ["age"], np.linspace(0, 90, 7), Unit(), run=QUIET) for data in (table, there))
    assert np.array_equal(here.columns["age"], counted.columns["age"]) and here.rows == counted.rows


@pytest.mark.inner
def test_the_rounds_of_a_model_are_identical(spark: SparkSession) -> None:
    """The point's tables are made here and sent to the workers."""
    table, (basis, layout, problem, point) = CASES["with holes"], a_round()
    there, here = (ModelRows.open(data, basis, layout) for data in (frame(spark, table), table))
    assert there.look(run=QUIET).exact == here.look(run=QUIET).exact
    assert there.round(problem, point, run=QUIET).exact == here.round(problem, point, run=QUIET).exact


def test_the_same_rows_of_a_person_count_in_every_round(spark: SparkSession) -> None:
    """The key that chooses them is new for each release, not for each pass."""
    rng = np.random.default_rng(3)
    table = pa.table({"x": rng.uniform(0, 1, 900), "y": rng.uniform(0, 1, 900), "who": np.arange(900) // 9})
    kind = nw.Model("y ~ x")
    basis = kind.settled(PEOPLE)
    layout, design = Layout.of(basis, FAMILIES["gaussian"]), Design.of(kind.formula, basis, None)
    look = Look(noise=0.0, sums=np.zeros(layout.size), rows=300.0, rows_noise=1.0)
    problem = Problem.of(basis, design, FAMILIES["gaussian"], look)
    point = Point(coefficients=np.array([0.5, 0.1]), coordinates=np.eye(2), scale=0.3, spread=False)
    opened, other = (ModelRows.open(frame(spark, table), basis, layout) for _ in range(2))
    first = opened.look(run=QUIET)
    assert first.rows == 300
    assert [opened.round(problem, point, run=QUIET).fingerprint for _ in range(2)] == [first.fingerprint] * 2
    assert other.look(run=QUIET).fingerprint != first.fingerprint


def test_a_table_that_is_random_anew_in_each_pass_is_refused(spark: SparkSession) -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 1]}, "y": {"bounds": [0, 1]}}})
    clock = "cast(reflect('java.lang.System', 'nanoTime') as bigint) % 1000 / 1000.0D"  # rand and uuid have a seed
    made = spark.range(500).selectExpr(f"{clock} as x", "0.5D as y")
    with pytest.raises(DataError, match="the same in every round"):
        nw.release(made, schema, nw.Model("y ~ x"), epsilon=1.0, delta=1e-6, run=QUIET)


def test_rows_that_are_brought_to_the_driver_are_all_there(spark: SparkSession) -> None:
    source = open_source(frame(spark, CASES["several batches"]))
    wanted = [Wanted("age", "number"), Wanted("ward", "level")]
    batches = [batch for task in source.tasks(wanted) for batch in task()]
    assert all(batch.schema.names == ["age", "ward"] for batch in batches) and len(batches) > 3
    there = Counter(zip(*(pa.Table.from_batches(batches)[name].to_pylist() for name in ("age", "ward")), strict=True))
    here = Counter(zip(*(CASES["several batches"][name].to_pylist() for name in ("age", "ward")), strict=True))
    assert there == here


def test_averaged_rows(spark: SparkSession) -> None:
    """Which rows are averaged is random; with groups of one they are the rows themselves."""
    table = pa.table({"x": np.linspace(0, 1, 500)})
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 1]}}})
    ordered = frame(spark, table, 1).sort("x").coalesce(1)
    groups = random_groups(500, 5)
    one, other = (averaged_gram_sum(data, schema, Basis.of(schema), 5, groups=groups, run=QUIET).to_grid()
                  for data in (table, ordered))
    assert np.array_equal(one, other)


def test_every_kind_of_release_takes_a_table_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 600)
    data = frame(spark, pa.table({"x": x, "y": np.clip(0.5 * x + 0.1 * rng.normal(size=600), 0, 1), "who": np.arange(600),
                                  "sick": np.where(x > 0.5, "yes", "no")}))
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
        "x": {"bounds": [0, 1]}, "y": {"bounds": [0, 1]}, "sick": {"levels": ["no", "yes"]}}})
    asked = [{"ask": "posterior-probability", "of": "x", "at": [0]}]
    requests = [nw.Gram(), nw.Gram(average=3), nw.Moments("y ~ x"), nw.AdaSSP("y ~ x"), nw.Partition("y ~ x", 12, asked),
                nw.Rows(), nw.Bounds({"x": (0, None)}), nw.Binary("sick", rows=50), nw.Model("y ~ x")]
    assert {request.name for request in requests} == {kind.name for kind in kinds()}
    made = {request: nw.release(data, schema, request, epsilon=50.0, delta=None if request.name in ("bounds", "binary") else 1e-6,
                                to=tmp_path / "rows.nwr" if request.needs_file else None, run=QUIET) for request in requests}
    assert {release.contents.rows for release in made.values()} == {600}
    assert pq.read_metadata(tmp_path / "rows.rows.parquet").num_rows == 600
    assert made[requests[4]].contents.balanced and made[requests[6]].contents["x"][1] > 0.9
    unknown = Schema.from_dict({"adjacency": "add-remove", "unit": {"column": "who", "max_rows": 2},
                                "columns": {"x": {"bounds": "unknown"}, "y": {"bounds": "unknown"}}})
    dealt = nw.release(data, unknown, nw.Partition("y ~ x", parts=12, ask=asked), epsilon=50.0, run=QUIET).contents
    assert not dealt.balanced and dealt.rows is None


def test_names_mean_nothing_to_spark(spark: SparkSession) -> None:
    odd = ["a.b", "A.b", "`", "a b", "_1", "rank", "select"]
    cells = {name: np.linspace(0, 1, 20) ** (1 + place) for place, name in enumerate(odd)}
    table = pa.table(cells | {"who.is": np.arange(20) // 4})
    plain = Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [0, 1]} for name in odd}})
    there = frame(spark, table)
    assert gram_sum(there, plain, Basis.of(plain), run=QUIET) == gram_sum(table, plain, Basis.of(plain), run=QUIET)
    people = Schema.from_dict({**plain.to_dict(), "unit": {"column": "who.is", "max_rows": 9}})
    assert gram_sum(there, people, Basis.of(people), run=QUIET) == gram_sum(table, people, Basis.of(people), run=QUIET)


def test_types_are_read_as_they_are_elsewhere(spark: SparkSession) -> None:
    table = pa.table({
        "money": pa.array([Decimal("1.25"), None, Decimal("-3.50"), Decimal("99.99")], pa.decimal128(10, 2)),
        "single": pa.array([0.1, float("nan"), None, 1e30], pa.float32()), "small": pa.array([1, -2, None, 3], pa.int8()),
        "flag": [True, None, False, True], "text": ["b", "B", None, ""], "nothing": pa.nulls(4),
    })
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
        "money": {"bounds": [-5, 50]}, "single": {"levels": [0.1, 2.5], "other": 2.5}, "small": {"bounds": [-1, 3]},
        "flag": {"levels": [False, True]}, "text": {"levels": ["a", "b", "B"]}, "nothing": {"bounds": [0, 1]}}})
    assert gram_sum(frame(spark, table), schema, Basis.of(schema), run=QUIET) == gram_sum(
        table, schema, Basis.of(schema), run=QUIET)


@pytest.mark.parametrize("kind", ["array<double>", "struct<a:double>", "map<string,double>", "interval year to month", "date"])
def test_what_is_no_number_is_refused_from_its_type(kind: str, spark: SparkSession) -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 1]}}})
    with pytest.raises(DataError, match="'x' is declared as a number"):
        gram_sum(spark.sql(f"select cast(null as {kind}) as x"), schema, Basis.of(schema))


@pytest.mark.parametrize(("cells", "units"), [
    ("cast(who as string)", 4), ("cast(string(who) as binary)", 4), ("cast(who as decimal(9,2))", 4),
    ("timestamp_seconds(who)", 4), ("date_add(date'2026-01-01', int(who))", 4), ("who = 2", 3),
    ("if(who = 2, double('nan'), who)", 3),
    ("if(who = 2, -0.0d, if(who = 1, 0.0d, who))", 3), ("if(who = 2, 'a', 'A') collate UTF8_LCASE", 2),
])
def test_units_of_any_type(cells: str, units: int, spark: SparkSession) -> None:
    """Rows without an identifier, and those with NaN, are one unit together; -0.0 is 0.0; texts are compared byte by byte."""
    data = spark.sql(f"select {cells} as who, rand(1) as x, rand(2) as y from "
                     "(select explode(array(1, 2, 3, null)) as who), range(20)")
    assert gram_sum(data, PEOPLE, Basis.of(PEOPLE), run=QUIET).rows == 3 * units
    assert gram_sum(data.toArrow(), PEOPLE, Basis.of(PEOPLE), run=QUIET).rows == 3 * units


def people(rng: np.random.Generator, rows: int = 240, units: int = 30) -> pa.Table:
    """Few different cells, so that there are ties; zeros of both signs, and nothing."""
    cells = np.array([0.0, -0.0, 0.25, 0.5, 1.0, np.nan])
    return pa.table({"x": rng.choice(cells, rows), "y": rng.choice(cells, rows), "who": rng.integers(0, units, rows)})


def kept(spark: SparkSession, table: pa.Table, pieces: int, by: Any = None) -> dict[int, Counter[Any]]:
    """The rows that are kept of each unit, whatever their order."""
    source = open_source(frame(spark, table, pieces))
    assert isinstance(source, ClusterSource)
    few = source.with_few_rows_of_each("who", 3, WANTED)
    found: dict[int, Counter[Any]] = {}
    for task in few.tasks(WANTED):
        for batch in task():
            for x, y, who in zip(*(batch.column(name).to_pylist() for name in ("x", "y", "who")), strict=True):
                found.setdefault(who, Counter())[x, y] += 1
    return found


def test_which_rows_of_a_unit_are_kept_is_decided_by_its_own_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hunt for a counterexample: other orders, other partitions, and other people with other rows or none."""
    monkeypatch.setattr("os.urandom", lambda count: b"\x17" * count)
    rng = np.random.default_rng(2)
    table = people(rng)
    before = kept(spark, table, 3)
    assert {sum(own.values()) for own in before.values()} == {3}
    for pieces in (1, 2, 5):
        mixed = table.take(rng.permutation(table.num_rows))
        assert kept(spark, mixed, pieces) == before
        mine = rng.choice(30, 10, replace=False)
        own = mixed.filter(np.isin(np.asarray(mixed["who"]), mine))
        others = people(rng, int(rng.integers(1, 500)))
        others = others.set_column(2, "who", pa.array(rng.integers(100, 120, others.num_rows)))
        now = kept(spark, pa.concat_tables([others, own, others]), pieces)
        assert {who: now[who] for who in mine.tolist()} == {who: before[who] for who in mine.tolist()}


def test_the_first_rows_of_each_unit_would_be_noticed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hash that is always the same and no cells to decide, Spark keeps whichever rows come first."""
    from pyspark.sql import Window, functions

    monkeypatch.setattr("os.urandom", lambda count: b"\x17" * count)
    by_arrival = lambda self, *columns: self.orderBy(functions.lit(0))  # noqa: E731
    monkeypatch.setattr(spark_source, "_by_content", lambda owner, key, cells: by_arrival(Window.partitionBy(owner)))
    rng = np.random.default_rng(3)
    table = people(rng)
    assert kept(spark, table, 1) != kept(spark, table.take(rng.permutation(table.num_rows)), 1)


def test_one_unit_more_changes_the_statistic_by_its_own_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda count: b"\x17" * count)
    rng = np.random.default_rng(4)
    table = people(rng)
    own = np.asarray(table["who"]) == 5

    def found(rows: pa.Table, pieces: int) -> Any:
        return gram_sum(frame(spark, rows, pieces), PEOPLE, Basis.of(PEOPLE), run=QUIET).total

    assert np.array_equal(found(table, 4) - found(table.filter(~own), 3), found(table.filter(own), 2))


def test_the_choice_of_rows_favours_no_values(spark: SparkSession) -> None:
    """A new key each time: over many units each of twenty values is kept equally often."""
    data = spark.sql("select id % 2000 as who, floor(id / 2000) as x, 0.5d as y from range(40000)")
    source = open_source(data)
    assert isinstance(source, ClusterSource)
    few = source.with_few_rows_of_each("who", 3, WANTED)
    cells = [batch.column("x").to_numpy() for task in few.tasks(WANTED) for batch in task()]
    counts = np.bincount(np.concatenate(cells).astype(int), minlength=20)
    assert counts.sum() == 6000 and stats.chisquare(counts).pvalue > LEVEL
    assert stats.chisquare(np.repeat([2000, 0], [3, 17])).pvalue < LEVEL  # the first three of each


class _Failing:
    """Sums up one; the first attempt of each task fails after it has seen all of its rows."""

    def __init__(self) -> None:
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows

    def result(self) -> ExactSum:
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is not None and task.attemptNumber() == 0:
            raise RuntimeError("lost")
        return ExactSum.of(["rows"], np.array([self.rows]), np.zeros(1, dtype=np.int64))


def by_value(module: Any) -> Any:
    """Workers cannot import tests: what is in them is sent as it is."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    return partial(cloudpickle.unregister_pickle_by_value, module)


@pytest.fixture
def sent_along() -> Iterator[None]:
    import sys

    done = by_value(sys.modules[__name__])
    yield
    done()


@pytest.mark.usefixtures("sent_along")
def test_a_task_that_is_done_again_counts_once(spark: SparkSession) -> None:
    source = open_source(spark.range(1000).toDF("x").repartition(4))
    assert isinstance(source, ClusterSource)
    assert sum_over_cluster(source, [Wanted("x", "number")], _Failing, QUIET).high.tolist() == [1000]


def deal_twice(piece: int, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes]]:
    for batch in batches:
        yield piece, 0, str(batch.num_rows).encode()


def gather_at_second(records: Iterator[tuple[int, int, bytes]]) -> Iterator[tuple[int, int, bytes]]:
    from pyspark import TaskContext

    found = list(records)
    task: Any = TaskContext.get()
    if task.attemptNumber() == 0:
        raise RuntimeError("lost")
    yield from found


@pytest.mark.usefixtures("sent_along")
def test_a_machine_that_gathers_may_fail_too(spark: SparkSession) -> None:
    source = open_source(spark.range(1000).toDF("x").repartition(4))
    assert isinstance(source, ClusterSource)
    found = source.exchange([Wanted("x", "number")], deal_twice, gather_at_second, in_order=True, run=QUIET)
    assert sum(int(content) for _, _, content in found) == 1000 and len(found) == 4


OPEN = Schema.from_dict({"adjacency": "add-remove", "columns": {name: {"bounds": "unknown"} for name in "yxz"}})
OWNED = Schema.from_dict({**OPEN.to_dict(), "unit": {"column": "who", "max_rows": 4}})
ASKED = questions_about("x", "z")


def measured(rows: int, rng: np.random.Generator) -> pa.Table:
    x = rng.normal(size=rows)
    return pa.table({"y": 100 + 0.3 * x + rng.normal(size=rows), "x": x, "z": rng.uniform(-1, 1, rows),
                     "who": rng.integers(0, rows // 6, rows)})


def parts_of(data: Any, schema: Schema, parts: int) -> Any:
    return part_moments(data, schema, part_design(schema, "y ~ x + z", ()), parts, run=QUIET)


def test_rows_are_dealt_out_once_and_evenly(spark: SparkSession) -> None:
    found = parts_of(frame(spark, measured(20_000, np.random.default_rng(5))), OPEN, 7)
    assert found.counts.sum() == 20_000 and stats.chisquare(found.counts).pvalue > LEVEL
    again = parts_of(frame(spark, measured(20_000, np.random.default_rng(5))), OPEN, 7)
    assert not np.array_equal(found.counts, again.counts)  # another key


def test_a_part_depends_on_its_own_rows_to_the_last_bit(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda count: b"\x17" * count)
    rng = np.random.default_rng(6)
    table = measured(3000, rng)

    def found(rows: pa.Table, pieces: int) -> Any:
        return bits(parts_of(frame(spark, rows, pieces), OWNED, 11), OWNED, "y ~ x + z", ASKED)

    before = found(table, 3)
    assert not changed(before, found(table.take(rng.permutation(3000)), 5))
    own = np.asarray(table["who"]) == 7
    other = table.set_column(1, "x", pa.array(np.where(own, 1e300, np.asarray(table["x"])))).take(rng.permutation(3000))
    assert len(changed(before, found(other, 2))) == 1


def exception_chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    found: BaseException | None = error
    while found is not None:
        chain.append(found)
        found = found.__cause__ or found.__context__
    return chain


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """What PySpark logs about errors."""
    from pyspark.logger import PySparkLogger

    texts: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(str(record.__dict__))  # type: ignore[method-assign]
    log = PySparkLogger.getLogger("SQLQueryContextLogger")
    log.addHandler(handler)
    yield texts
    log.removeHandler(handler)


@pytest.mark.parametrize("how", ["sums", "parts", "rows"])
def test_an_error_quotes_no_cell(how: str, spark: SparkSession, logged: list[str]) -> None:
    """Spark fails for one cell, and its message holds the cell; ours does not, and has nothing attached to it."""
    schema = Schema.from_dict({"adjacency": "add-remove", "columns": {"x": {"bounds": [0, 1]}, "y": {"bounds": [0, 1]}}})
    data = spark.sql(f"select cast(if(id = 50, '{SECRET}', '0.5') as double) as x, 0.5d as y from range(100)")
    with pytest.raises(Exception, match=SECRET):
        data.collect()
    assert any(SECRET in text for text in logged)  # PySpark logs it, too
    logged.clear()
    work = {"sums": lambda: gram_sum(data, schema, Basis.of(schema), run=QUIET),
            "parts": lambda: part_moments(data, schema, part_design(schema, "y ~ x", ()), 5, run=QUIET),
            "rows": lambda: list(open_source(data).tasks(WANTED[:2])[0]())}
    with pytest.raises(DataError, match="could not read the rows to the end") as caught:
        work[how]()
    assert [SECRET in str(error) for error in exception_chain(caught.value)] == [False]
    assert not any(SECRET in text for text in logged)


def deal_without_us(piece: int, batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
    raise ModuleNotFoundError("No module named 'noisewise'")
    yield


@pytest.mark.slow
@pytest.mark.usefixtures("sent_along")
def test_workers_without_noisewise_are_named(spark: SparkSession) -> None:
    source = open_source(spark.range(9).toDF("x"))
    assert isinstance(source, ClusterSource)
    with pytest.raises(DataError, match="installed on every machine.*spark.archives"):
        source.exchange([Wanted("x", "number")], deal_without_us, gather_at_second, in_order=False, run=QUIET)


@pytest.mark.slow
def test_workers_with_another_version_are_named(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_source, "PieceReader", partial(spark_source.PieceReader, version="0.0.1"))
    with pytest.raises(DataError, match=rf"same version of noisewise.*{nw.__version__} on a worker"):
        statistic(frame(spark, CASES["one row"]))


class _Slow(_Failing):
    def add(self, batch: pa.RecordBatch) -> None:
        time.sleep(120)

    def result(self) -> ExactSum:
        return ExactSum.of(["rows"], np.array([0]), np.zeros(1, dtype=np.int64))


@pytest.mark.slow
@pytest.mark.usefixtures("sent_along")
def test_ctrl_c_stops_the_work_on_the_cluster(spark: SparkSession) -> None:
    source = open_source(spark.range(1000).toDF("x").repartition(2))
    assert isinstance(source, ClusterSource)
    tracker = spark.sparkContext.statusTracker()

    def interrupt() -> None:
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        time.sleep(0.5)
        _thread.interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sum_over_cluster(source, [Wanted("x", "number")], _Slow, QUIET)
    while tracker.getActiveJobsIds():
        assert time.monotonic() < begun + 60
        time.sleep(0.1)
    again = sum_over_cluster(source, [Wanted("x", "number")], _Failing, QUIET)
    assert again.high.tolist() == [1000]  # the cluster is as good as before


def test_interrupted_work_spends_nothing(spark: SparkSession, tmp_path: Path) -> None:
    ledger = nw.Ledger.open(tmp_path / "budget.json", epsilon=1.0, delta=1e-5)
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 1]}}})

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    data = spark.sql("select rand(1) as x from range(1000000)")
    with pytest.raises(KeyboardInterrupt):
        nw.release(data, schema, epsilon=1.0, delta=1e-6, ledger=ledger, run=Run(progress=stop))
    assert nw.release(data, schema, epsilon=1.0, delta=1e-6, ledger=ledger, run=QUIET).contributions[0].rows == 1_000_000


def test_tasks_are_told(spark: SparkSession) -> None:
    told: list[tuple[int, int | None]] = []
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 1]}}})
    gram_sum(spark.range(300_000).selectExpr("rand(1) as x"), schema, Basis.of(schema),
             run=Run(progress=lambda done, total: told.append((done, total))))
    assert told and told[-1][1] is not None and 0 <= told[-1][0] <= told[-1][1]


def test_a_stream_and_an_object_without_rows_are_refused(spark: SparkSession) -> None:
    with pytest.raises(DataError, match="stream"):
        open_source(spark.readStream.format("rate").load())
    with pytest.raises(DataError, match="must be a DataFrame"):
        open_source(spark.sparkContext)


@pytest.fixture
def on_disk(spark: SparkSession, tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text('adjacency = "replace-one"\n[columns]\nage.bounds = [0, 120]\nstay.bounds = [0, 60]\n')
    frame(spark, CASES["with holes"].select(["age", "stay"]), 2).write.parquet(str(tmp_path / "rows.parquet"))
    return tmp_path


def released(name: str, folder: Path) -> Any:
    return CliRunner().invoke(app, ["release", f"spark:{name}", "-s", str(folder / "schema.toml"), "-e", "1", "-d", "1e-6",
                                    "-o", str(folder / "out.nwr")])


@pytest.mark.parametrize("form", ["file", "folder without an ending", "table"])
def test_the_command_line_names_a_table_or_files(form: str, spark: SparkSession, on_disk: Path) -> None:
    name = str(on_disk / "rows.parquet")
    if form == "folder without an ending":
        (on_disk / "rows.parquet").rename(on_disk / "rows")
        name = str(on_disk / "rows")
    elif form == "table":
        spark.read.parquet(name).createOrReplaceTempView("visits")
        name = "visits"
    result = released(name, on_disk)
    assert result.exit_code == 0, result.output
    assert nw.load(on_disk / "out.nwr").contributions[0].rows == CASES["with holes"].num_rows


@pytest.mark.parametrize(("name", "words"), [("rows.csv", "state the type"), ("no_such_table", "TABLE_OR_VIEW_NOT_FOUND"),
                                             ("/no/such/rows.parquet", "PATH_NOT_FOUND"), ("", "state the type")])
def test_what_spark_does_not_find_is_said(name: str, words: str, spark: SparkSession, on_disk: Path) -> None:
    result = released(name, on_disk)
    assert result.exit_code == 1 and words in " ".join(result.stderr.split()), result.output
    assert "Traceback" not in result.output


def test_pandas_on_spark(spark: SparkSession) -> None:
    class Frame:
        """pandas on Spark itself does not work with every pandas; what we use of it is one method."""

        def to_spark(self) -> Any:
            return frame(spark, CASES["complete"])

    Frame.__module__ = "pyspark.pandas.frame"
    assert statistic(Frame()) == statistic(CASES["complete"])




def test_the_example_of_the_page_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins with a session that is there, so it is run here and not with the other pages."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text()
    blocks = page.split("```py\n")[1:]
    assert len(blocks) == 1
    exec(blocks[0].partition("```")[0], {"spark": spark})
    assert nw.load(tmp_path / "visits.nwr").schema.unit.max_rows == 2
