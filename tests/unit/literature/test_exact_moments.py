"""Rows with given moments: they come back from the rows, and so do the Bayes factors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import csv

from noisewise.errors import ResultError
from noisewise.literature import exact_moments
from noisewise.literature.exact_moments import exact_moment_rows
from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments
from noisewise.selection.subsets import memberships
from noisewise.synthetic.files import harmless, write_csv

Array = NDArray[np.float64]
ROWS = 1000


def made_matrix(seed: int, columns: int) -> Array:
    """Moments of columns whose units differ by six orders of magnitude, one of them nearly a combination of the others."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(50, columns))
    x[:, 1] = x[:, 0] + 1e-3 * x[:, 1]
    x *= 10.0 ** rng.uniform(-3, 3, size=columns)
    return np.asarray(x.T @ x)


def as_array(table: pa.Table) -> Array:
    return np.column_stack([column.to_numpy() for column in table.columns])


def rows_of(matrix: Array, rows: int = ROWS, seed: int = 0, means: Array | None = None) -> Array:
    names = [f"x{column}" for column in range(len(matrix))]
    return as_array(pa.Table.from_batches(exact_moment_rows(matrix, rows, names, seed, means=means)))


def assert_same_moments(found: Array, expected: Array) -> None:
    scale = np.sqrt(np.diag(expected))
    assert np.abs((found - expected) / np.outer(scale, scale)).max() < 1e-8


@pytest.mark.parametrize("rows", [12, ROWS, 200_001])
def test_the_moments_come_back_and_the_columns_sum_to_zero(rows: int) -> None:
    matrix = made_matrix(1, 6)
    found = rows_of(matrix, rows)
    assert found.shape == (rows, 6)
    assert_same_moments(found.T @ found, matrix)
    assert np.all(np.abs(found.sum(axis=0)) < 1e-8 * np.sqrt(np.diag(matrix) * rows))


def test_the_means_come_back_and_the_moments_are_about_them() -> None:
    matrix, means = made_matrix(2, 4), np.array([3.0, -200.0, 0.0, 0.5])
    found = rows_of(matrix, means=means)
    np.testing.assert_allclose(found.mean(axis=0), means, rtol=1e-9, atol=1e-9)
    centred = found - found.mean(axis=0)
    assert_same_moments(centred.T @ centred, matrix)


def test_blocks_do_not_change_the_rows_moments_and_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = made_matrix(3, 3)
    assert np.array_equal(rows_of(matrix, seed=5), rows_of(matrix, seed=5))
    assert not np.array_equal(rows_of(matrix, seed=5), rows_of(matrix, seed=6))
    monkeypatch.setattr(exact_moments, "BLOCK", 7)
    batches = list(exact_moment_rows(matrix, 100, ["a", "b", "c"]))
    assert [len(batch) for batch in batches] == [7] * 14 + [2]
    found = as_array(pa.Table.from_batches(batches))
    assert_same_moments(found.T @ found, matrix)


def log_bayes_factors(matrix: Array, rows: int, kept: int) -> Array:
    columns = np.eye(len(matrix))
    moments = Moments(matrix, matrix, np.zeros_like(matrix), float(rows), columns[:, :-1], columns[:, -1], kept)
    groups = [[column] for column in range(len(matrix) - 1 - kept)]
    return Evidence(moments, groups, "zellner-siow").log_bayes_factors(memberships(len(groups)))


def test_an_analysis_of_the_rows_gives_the_bayes_factors_of_the_moments() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(ROWS, 3))
    table = np.column_stack([np.ones(ROWS), x + 2.0, x @ [0.1, 0.05, 0.0] + rng.normal(size=ROWS)])
    gram = table.T @ table
    centred = gram[1:, 1:] - np.outer(gram[0, 1:], gram[0, 1:]) / ROWS
    made = np.column_stack([np.ones(ROWS), rows_of(centred)])
    expected = log_bayes_factors(gram, ROWS, kept=1)
    np.testing.assert_allclose(log_bayes_factors(made.T @ made, ROWS, kept=1), expected, rtol=0.0, atol=1e-8)
    other = np.column_stack([np.ones(ROWS), rows_of(centred + np.diag([0.0, 0.0, 0.0, 5.0]))])
    assert np.abs(log_bayes_factors(other.T @ other, ROWS, kept=1) - expected).max() > 1e-3


def test_a_csv_file_holds_every_digit(tmp_path: Path) -> None:
    matrix, names = made_matrix(5, 3), ["age", "C(ward)[T.b, c]", 'the "third"']
    path = write_csv(tmp_path / "rows.csv", exact_moment_rows(matrix, ROWS, names))
    found = csv.read_csv(path)
    assert found.column_names == names
    assert np.array_equal(as_array(found), rows_of(matrix))
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "\r=1", "  =1"])
def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path, name: str) -> None:
    path = write_csv(tmp_path / "rows.csv", exact_moment_rows(np.eye(2), 5, [name, "y"]))
    assert path.read_text(encoding="utf-8").startswith('"\'')
    assert harmless(name) == "'" + name


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old", encoding="utf-8")

    def broken() -> object:
        yield next(exact_moment_rows(np.eye(2), 5, ["x", "y"]))
        raise OSError(28, "No space left on device")

    with pytest.raises(ResultError, match="No space left"):
        write_csv(path, broken())  # type: ignore[arg-type]
    assert path.read_text(encoding="utf-8") == "old" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ResultError, match="could not be written"):
        write_csv(tmp_path / "nowhere" / "rows.csv", exact_moment_rows(np.eye(2), 5, ["x", "y"]))


@pytest.mark.parametrize(("matrix", "rows", "names"), [
    (np.ones((2, 3)), 10, ["x", "y"]), (np.array([[1.0, 2.0], [0.0, 1.0]]), 10, ["x", "y"]), (np.eye(2), 10, ["x", "x"]),
    (np.eye(2), 10, ["x"]), (np.eye(2), 10, ["x", ""]), (np.eye(2), 3, ["x", "y"]), (np.diag([1.0, -1.0]), 10, ["x", "y"]),
    (np.array([[1.0, 2.0], [2.0, 1.0]]), 10, ["x", "y"]), (np.full((2, 2), np.nan), 10, ["x", "y"]),
    (np.eye(2), 10.5, ["x", "y"]),
])
def test_what_no_table_can_have_is_refused(matrix: Array, rows: int, names: Sequence[str]) -> None:
    with pytest.raises(ResultError):
        exact_moment_rows(matrix, rows, names)
