"""Rows come out in a uniformly random order, from memory or from files, and a shuffle that is not uniform is noticed."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from noisewise.data.splitting import order as module
from noisewise.data.splitting.order import Shuffle

LEVEL = 1e-12
ROW = 16
"""Bytes of two numbers."""


def shuffled(folder: Path, rows: int, memory: int, piece: int = 1) -> list[int]:
    made = Shuffle(folder, 2, memory=memory)
    table = np.stack([np.arange(rows), 100 + np.arange(rows)], axis=1)
    for start in range(0, rows, piece):
        made.add(table[start:start + piece])
    found = np.concatenate(list(made.blocks()))
    assert np.array_equal(found[:, 1], 100 + found[:, 0])  # rows stay whole
    assert made.rows == rows
    return [int(place) for place in found[:, 0]]


@pytest.mark.parametrize("memory", [10**6, 2], ids=["in memory", "in files"])
def test_every_order_of_four_rows_is_equally_likely(memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST_ROWS", 2)
    monkeypatch.setattr(module, "FILES", 2)  # so that files have several rows, and are shuffled again
    draws = 4800
    counts = Counter(tuple(shuffled(tmp_path / "s", 4, memory)) for _ in range(draws))
    observed = [counts[order] for order in permutations(range(4))]
    assert sum(observed) == draws
    assert stats.chisquare(observed).pvalue > LEVEL


@pytest.mark.outer
def test_files_without_an_order_of_their_own_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST_ROWS", 2)
    monkeypatch.setattr(module, "FILES", 2)
    monkeypatch.setattr(module, "random_order", lambda rows, random_bytes: np.arange(rows))
    draws = 4800
    counts = Counter(tuple(shuffled(tmp_path / "s", 4, 2)) for _ in range(draws))
    assert stats.chisquare([counts[order] for order in permutations(range(4))]).pvalue < LEVEL


@pytest.mark.parametrize(("rows", "memory", "piece"), [
    (0, 100, 1), (1, 100, 1), (500, 10**6, 7), (500, 20 * ROW, 7), (500, 1, 500)])
def test_no_row_is_lost_or_doubled(rows: int, memory: int, piece: int, tmp_path: Path) -> None:
    found = shuffled(tmp_path / "s", rows, memory, piece)
    assert sorted(found) == list(range(rows))
    assert rows < 3 or found != list(range(rows))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_memory_is_bounded_by_what_was_allowed(tmp_path: Path) -> None:
    made = Shuffle(tmp_path / "s", 2, memory=100 * ROW)
    for _ in range(60):
        made.add(np.zeros((50, 2), dtype=np.int64))
        assert made._bytes <= 100 * ROW
    assert max(len(block) for block in made.blocks()) <= 101


def test_rows_of_no_file_are_where_they_came_from(tmp_path: Path) -> None:
    """The place of a row says nothing about where it was: the correlation is that of chance."""
    found = shuffled(tmp_path / "s", 4000, 300 * ROW, 100)
    assert abs(np.corrcoef(found, np.arange(4000))[0, 1]) < stats.norm.isf(LEVEL) / np.sqrt(4000)
