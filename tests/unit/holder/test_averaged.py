"""Averaged rows from the holder's side: what is refused first, what is released, and how much noise it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import noisewise.data
from noisewise.data.statistics.averaged import LARGEST_GROUP
from noisewise.errors import NoisewiseError, PrivacyError
from noisewise.holder.gram import plan_gram
from noisewise.run import QUIET
from noisewise.schema import Basis

ROWS = 300
DECLARED: dict[str, Any] = {"adjacency": "replace-one", "unit": "row", "columns": {
    "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}}


def schema_with(**changes: Any) -> nw.Schema:
    return nw.Schema.from_dict(DECLARED | changes)


def made_rows() -> dict[str, Any]:
    random = np.random.default_rng(4)
    return {"stay": random.uniform(0, 60, ROWS), "age": random.uniform(18, 98, ROWS), "ward": random.choice(list("ABC"), ROWS)}


@pytest.mark.parametrize(("changes", "words"), [
    ({"schema": {"adjacency": "add-remove"}}, "replace-one"),
    ({"schema": {"unit": {"column": "person", "max_rows": 3}}}, "row as the unit"),
    ({"delta": None}, "Gaussian"),
    ({"mechanism": "laplace"}, "Gaussian"),
    ({"average": 0}, "a whole number from 1"),
    ({"average": -3}, "a whole number from 1"),
    ({"average": 2.5}, "a whole number from 1"),
    ({"average": True}, "a whole number from 1"),
    ({"average": "5"}, "a whole number from 1"),
    ({"average": LARGEST_GROUP + 1}, "groups of 2 to 65536"),
])
def test_what_has_no_proof_is_refused_before_rows_are_opened(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    schema = schema_with(**changes.pop("schema", {}))
    request: dict[str, Any] = {"delta": 1e-6, "mechanism": None, "average": 5} | changes
    with pytest.raises(NoisewiseError, match=words) as caught:
        kind = nw.Gram(mechanism=request["mechanism"], average=request["average"])
        missing = tmp_path / "not there.parquet"  # opening it would be another error
        nw.release(missing, schema, kind, epsilon=1.0, delta=request["delta"])
    assert caught.value.advice


def test_an_average_of_one_is_an_ordinary_release() -> None:
    one, none = (nw.release(made_rows(), schema_with(), nw.Gram(average=k), epsilon=1, delta=1e-6, run=QUIET) for k in (1, None))
    assert one.kind == none.kind and one.contributions[0].noise == none.contents.noise
    assert nw.release(made_rows(), schema_with(), nw.Gram(average=1), epsilon=1, run=QUIET).contents.mechanism == "laplace"


def test_the_matrix_is_the_averaged_statistic_with_noise_of_the_stated_size() -> None:
    """All rows are alike here, so that every grouping gives the same, which is the plain sum."""
    rows = {"stay": np.full(ROWS, 45.0), "age": np.full(ROWS, 38.0), "ward": np.full(ROWS, "B")}
    [part] = nw.release(rows, schema_with(), nw.Gram(average=7), epsilon=1e6, delta=1e-6, run=QUIET).contributions
    u = np.array([1.0, 0.5, -0.5, 1.0, 0.0])
    assert (part.rows, part.average, part.groups) == (ROWS, 7, 43)
    error = np.abs(part.matrix - ROWS * np.outer(u, u))  # (1/k)(ku)(ku)ᵀ summed over groups is n uuᵀ
    assert np.all(error <= 9 * np.sqrt(part.noise.variances(5)) + 1e-3)


def test_averaging_leaves_the_information_of_fewer_rows() -> None:
    """For independent rows with mean 0, Σ_g (1/k)(Σu)² has the mean n/k · var(u): as if there were n/k of them."""
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [-1, 1]}}})
    x = np.tile([-1.0, 1.0], 10_000)
    request: dict[str, Any] = {"epsilon": 1e6, "delta": 1e-6, "run": QUIET}
    plain, averaged = (nw.release({"x": x}, schema, nw.Gram(average=k), **request).contributions[0].matrix[1, 1] for k in (1, 20))
    assert plain == pytest.approx(20_000, abs=0.1)  # every square is 1
    # Over random groupings its sd is about 1000 · sqrt(2/1000); in this file consecutive groups would give exactly 0.
    assert averaged == pytest.approx(1000, abs=9 * 1000 * (2 / 1000) ** 0.5)


def test_averaging_costs_noise_and_indicators_cost_less() -> None:
    numbers = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [0, 1]} for name in "abc"}})
    categories = schema_with()  # two numbers and one category: as many columns that can be active
    noise = {k: plan_gram(Basis.of(numbers), 1, 1e-6, average=k).entry_sd()[0] for k in (1, 2, 10)}
    assert noise[1] < noise[2] < noise[10] < 2.83 * noise[1]
    assert plan_gram(Basis.of(categories), 1, 1e-6, average=10).entry_sd()[0] < noise[10]
    # Products of an indicator with a number have both signs, so they gain nothing.
    with_product = Basis.of(categories, "age:ward")
    assert with_product.blocks == 2
    part = nw.release(made_rows(), categories, nw.Gram("age:ward", average=10), epsilon=1, delta=1e-6, run=QUIET).contents
    r2, s2 = 4.0, 3.5
    expected = (8 * s2 + 16 * s2 * (r2**0.5 - s2**0.5 / 10) ** 2) ** 0.5
    assert part.sensitivity == pytest.approx(expected + 7 * 2**-16, rel=1e-9)


def test_a_plan_is_refused_like_the_release() -> None:
    with pytest.raises(PrivacyError):
        plan_gram(Basis.of(schema_with(adjacency="add-remove")), 1, 1e-6, average=2)
