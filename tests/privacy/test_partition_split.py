"""P1 of partition.md: which part a row is in is random, uniform, and has nothing to do with what is in the rows."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy import stats

from noisewise.data.splitting import parts as split
from noisewise.data.splitting.parts import BalancedSplit, GivenSplit, RowSplit, UnitSplit, balanced_parts, independent_parts
from noisewise.data.statistics import partition
from noisewise.data.statistics.partition import part_moments
from noisewise.errors import DataError
from noisewise.run import QUIET
from noisewise.schema import Schema
from noisewise.schema.partition import part_design

LEVEL = 1e-12
PEOPLE = {"column": "who", "max_rows": 2}


def seeded(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def uniform(found: Counter[Any], outcomes: list[Any], draws: int) -> bool:
    assert set(found) <= set(outcomes)
    return bool(stats.chisquare([found[one] for one in outcomes], [draws / len(outcomes)] * len(outcomes)).pvalue > LEVEL)


@pytest.mark.parametrize(("rows", "parts"), [(4, 2), (5, 2), (3, 3), (2, 5)])
def test_every_balanced_split_is_equally_likely(rows: int, parts: int) -> None:
    """Exchangeable: this is what the coupling of replaced rows needs."""
    random, draws = seeded(1), 6000
    sizes = np.bincount(np.arange(rows) % parts, minlength=parts)
    outcomes = [one for one in itertools.product(range(parts), repeat=rows)
                if np.array_equal(np.bincount(one, minlength=parts), sizes)]
    found = Counter(tuple(balanced_parts(rows, parts, random).tolist()) for _ in range(draws))
    assert uniform(found, outcomes, draws)
    by_position = Counter({tuple((np.arange(rows) % parts).tolist()): draws})
    assert not uniform(by_position, outcomes, draws)


def test_independent_parts_are_uniform_and_independent() -> None:
    random, draws = seeded(2), 9000
    outcomes = list(itertools.product(range(3), repeat=3))
    found = Counter(map(tuple, independent_parts(3 * draws, 3, random).reshape(-1, 3).tolist()))
    assert uniform(found, outcomes, draws)


@pytest.mark.parametrize("parts", [3, 7, 100_000, 2**16])
def test_numbers_of_the_last_incomplete_cycle_are_drawn_again(parts: int) -> None:
    """Without that the first parts would be a little likelier than the others."""
    cycles = 2**32 // parts
    first, last = np.uint32(0), np.uint32(cycles * parts - 1)
    asked: list[int] = []
    answers = iter([np.array([first, last, 2**32 - 1, 5], dtype=np.uint32), np.array([2**32 - 1], dtype=np.uint32),
                    np.array([9], dtype=np.uint32)])

    def given(count: int) -> bytes:
        asked.append(count)
        return next(answers).tobytes()

    found = independent_parts(4, parts, given).tolist()
    if 2**32 % parts:
        assert asked == [16, 4, 4] and found == [0, parts - 1, 9 % parts, 5 % parts]
    else:
        assert asked == [16] and found == [0, parts - 1, (2**32 - 1) % parts, 5 % parts]


def test_random_bytes_are_those_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = os.urandom

    def urandom(count: int) -> bytes:
        asked.append(count)
        return original(count)

    monkeypatch.setattr(os, "urandom", urandom)
    BalancedSplit(10, 3)
    assert asked == [80]
    RowSplit(4).parts_of(10, None)
    UnitSplit(4).parts_of(2, pa.array(["a", "b"]))
    assert asked == [80, 40, 12]  # rows without an identifier are a unit too


def test_no_seed_of_numpy_matters() -> None:
    found = []
    for _ in range(2):
        np.random.seed(1)
        found.append(balanced_parts(200, 5).tolist())
    assert found[0] != found[1]


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows_or_none(rows: int) -> None:
    assert len(balanced_parts(rows, 4)) == len(independent_parts(rows, 4)) == rows
    assert len(UnitSplit(3).parts_of(0, pa.array([], pa.string()))) == 0


def test_a_unit_stays_together_whatever_the_batches() -> None:
    rng = np.random.default_rng(4)
    owners = rng.integers(0, 300, 3000)
    chosen = UnitSplit(7)
    parts = np.concatenate([chosen.parts_of(len(batch), pa.array(batch)) for batch in np.array_split(owners, 11)])
    of_unit = {owner: set(parts[owners == owner].tolist()) for owner in np.unique(owners)}
    assert all(len(found) == 1 for found in of_unit.values())
    counts = np.bincount([next(iter(found)) for found in of_unit.values()], minlength=7)
    assert stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.parametrize("identifiers", [
    pa.array(["a", None, "a", None, "b"]), pa.array([1.0, float("nan"), 1.0, None, -0.0]),
    pa.array([b"\xff", None, b"\xff", None, b""]),
    pa.array(["a", None, "a", None, "b"]).dictionary_encode()])
def test_rows_without_an_identifier_are_one_unit(identifiers: pa.Array) -> None:
    for _ in range(8):
        parts = UnitSplit(1000).parts_of(5, identifiers)
        assert parts[0] == parts[2] and parts[1] == parts[3]


def test_a_table_that_changes_while_it_is_read_is_refused() -> None:
    with pytest.raises(DataError, match="same number of rows"):
        BalancedSplit(5, 2).parts_of(6, None)
    for short in (BalancedSplit(5, 2), GivenSplit(np.zeros(5, dtype=np.int64))):
        short.parts_of(4, None)
        with pytest.raises(DataError, match="same number of rows"):
            short.finish()


def declared(adjacency: str, unit: Any = "row") -> Schema:
    return Schema.from_dict({"adjacency": adjacency, "unit": unit,
                             "columns": {"y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}})


@pytest.mark.parametrize(("adjacency", "unit", "rows", "kind"), [
    ("replace-one", "row", 40, BalancedSplit), ("replace-one", "row", 41, RowSplit), ("add-remove", "row", 40, RowSplit),
    ("replace-one", PEOPLE, 40, UnitSplit), ("add-remove", PEOPLE, 40, UnitSplit),
])
def test_equal_parts_only_where_the_number_of_rows_is_public(
    adjacency: str, unit: Any, rows: int, kind: type, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partition, "LARGEST_BALANCED", 10)
    used: list[Any] = []
    choose = partition._split
    monkeypatch.setattr(partition, "_split", lambda *asked: used.append(choose(*asked)) or used[-1])
    schema = declared(adjacency, unit)
    table: dict[str, npt.NDArray[Any]] = {"y": np.arange(rows) % 5.0, "x": np.arange(rows) % 7.0, "who": np.arange(rows) // 3}
    found = part_moments(table, schema, part_design(schema, "y ~ x", ()), 4, run=QUIET)
    assert type(used[-1]) is kind and found.balanced == (kind is BalancedSplit)
    expected = rows if unit == "row" else 27  # of 13 persons two rows, of one a single row
    assert found.counts.sum() == expected and found.rows == rows
    if kind is BalancedSplit:
        assert set(found.counts.tolist()) == {10.0}


def test_the_values_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random bytes give the same split, whatever is in the rows."""
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
        "y": {"bounds": "unknown", "missing": 0}, "x": {"bounds": "unknown", "missing": 0}}})
    splits: list[list[int]] = []
    add = partition.PartSums.add

    def noted(self: Any, rows: npt.NDArray[np.float64], belongs: npt.NDArray[np.int64]) -> None:
        splits.append(belongs.tolist())
        add(self, rows, belongs)

    monkeypatch.setattr(split, "balanced_parts", lambda rows, parts: balanced_parts(rows, parts, seeded(9)))
    monkeypatch.setattr(partition.PartSums, "add", noted)
    for values in (np.zeros(30), np.full(30, np.nan), np.arange(30.0)):
        part_moments({"y": values, "x": values[::-1]}, schema, part_design(schema, "y ~ x", ()), 3, run=QUIET)
    assert splits[0] == splits[1] == splits[2]
