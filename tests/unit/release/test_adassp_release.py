"""Releases of kind adassp as records: what they refuse, how they are combined, and what they say about themselves."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from tests.golden import make_adassp_1_1 as golden
from tests.unit.release.examples_of_releases import part_of, release_of, schema_with

from noisewise.errors import FormulaError, IncompatibleReleasesError, ReleaseError
from noisewise.release import AdasspPart, EntryNoise, Release, SmallestEigenvalue, combine
from noisewise.release.adassp import regression_columns, same_regression
from noisewise.release.format import decode, encode

FORMULA = "age ~ ward + smoker"
EIGENVALUE = SmallestEigenvalue(value=40.0, noise=5.0, epsilon=0.3, delta=1e-7, sensitivity=3.0)


def part(seed: int = 1, size: int = 4, **changes: Any) -> AdasspPart:
    noise = np.random.default_rng(seed).normal(scale=100.0, size=(size, size))
    matrix = noise + noise.T
    matrix[0, 0] = 250.0
    fields: dict[str, Any] = {
        "rows": 250,
        "matrix": matrix,
        "moments": noise[0],
        "smallest_eigenvalue": EIGENVALUE,
        "noise": EntryNoise("gaussian", 8.0, 8.0 / np.sqrt(2), 0.0),
        "epsilon": 1.0,
        "delta": 1e-6,
        "mechanism": "gaussian",
        "sensitivity": 8.5,
        "statement": "Whoever sees this release learns little about any one row.",
        "created": "2026-11-15",
        "library": "noisewise 0.1.0",
    }
    return AdasspPart(**{**fields, **changes})


def release(seed: int = 1, formula: str = FORMULA, terms: str | None = None, **changes: Any) -> Release:
    schema = schema_with()
    return Release("adassp", schema, terms, (part(seed, len(regression_columns(schema, terms, formula)) - 1, **changes),),
                   formula=formula)


def test_it_has_the_columns_of_its_formula_and_the_version_that_brought_the_kind() -> None:
    made = release()
    assert made.basis.names == ("1", "ward[B]", "ward[C]", "smoker", "age")
    assert made.version == "1.1" and release_of().version == "1.0"
    assert decode(encode(made)) == made
    assert json.loads(encode(made))["formula"] == FORMULA
    assert "formula" not in json.loads(encode(release_of()))


@pytest.mark.parametrize(("formula", "terms", "names"), [
    ("age ~ 1", None, ("1", "age")),
    ("smoker ~ age - 1", None, ("1", "age", "smoker")),  # age is half its range above 0: it needs the constant
    ("smoker ~ ward - 1", None, ("1", "ward[B]", "ward[C]", "smoker")),
    ("smoker ~ I(age**2)", "I(age**2)", ("1", "age", "T2(age)", "smoker")),
    ("age ~ smoker:ward", "smoker:ward", ("1", "smoker", "ward[B]", "ward[C]", "smoker:ward[B]", "smoker:ward[C]", "age")),
])
def test_columns_follow_from_the_formula(formula: str, terms: str | None, names: tuple[str, ...]) -> None:
    columns = regression_columns(schema_with(), terms, formula)
    assert columns[-1].name == names[-1]
    assert {column.name for column in columns} <= set(names)
    assert columns[0].name == "1"


def test_a_formula_must_be_answerable() -> None:
    with pytest.raises(FormulaError, match="has no numeric value"):
        regression_columns(schema_with(), None, "ward ~ age")
    with pytest.raises(FormulaError, match='terms="I.age'):
        regression_columns(schema_with(), None, "smoker ~ I(age**2)")


@pytest.mark.parametrize(("changes", "words"), [
    ({"moments": np.zeros(3)}, "one moment for each predictor"),
    ({"moments": ["a"] * 4}, "made of numbers"),
    ({"moments": np.array([0, 0, 0, np.nan])}, "finite"),
    ({"smallest_eigenvalue": 4.0}, "states the smallest eigenvalue"),
    ({"smallest_eigenvalue": dataclasses.replace(EIGENVALUE, epsilon=1.0)}, "share"),
    ({"smallest_eigenvalue": dataclasses.replace(EIGENVALUE, delta=1e-6)}, "share"),
    ({"noise": EntryNoise("laplace", 8.0, 8.0, 0.0)}, "gaussian"),
    ({"rows": 251}, "corner"),
])
def test_parts_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        part(**changes)


@pytest.mark.parametrize("name", ["noise", "epsilon", "delta", "sensitivity"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "1", True])
def test_the_eigenvalue_is_checked(name: str, value: Any) -> None:
    with pytest.raises(ReleaseError, match="smallest_eigenvalue"):
        dataclasses.replace(EIGENVALUE, **{name: value})


def test_kinds_and_parts_and_formulas_belong_together() -> None:
    schema = schema_with()
    with pytest.raises(ReleaseError, match="states the formula"):
        Release("adassp", schema, None, (part(),))
    with pytest.raises(ReleaseError, match="not made for one formula"):
        Release("gram", schema, None, (part_of(schema, None),), formula=FORMULA)
    with pytest.raises(ReleaseError, match="parts of its own kind"):
        Release("adassp", schema, None, (part_of(schema, None),), formula=FORMULA)
    with pytest.raises(ReleaseError, match="parts of its own kind"):
        Release("gram", schema, None, (part(size=5),))
    with pytest.raises(ReleaseError, match="but the response"):
        Release("adassp", schema, None, (part(size=3),), formula=FORMULA)
    with pytest.raises(ReleaseError, match="fake precision"):
        Release("adassp", schema, None, (part(), part()), formula=FORMULA)


def test_columns_that_are_no_regression_are_refused() -> None:
    schema = schema_with()
    one, ward_b, ward_c, smoker, age = regression_columns(schema, None, FORMULA)
    for columns, words in [
        ((ward_b, ward_c, smoker, one, age), "the constant, the predictors and the response"),
        ((one, smoker, age, ward_b), "last column"),
        ((one, ward_b, ward_b, smoker, age), "only once"),
        ((one, age, ward_b, smoker, age), "among its own predictors"),
    ]:
        with pytest.raises(ReleaseError, match=words):
            Release("adassp", schema, None, (part(size=len(columns) - 1),), columns=columns, formula=FORMULA)


def test_equality_looks_at_all_numbers() -> None:
    assert release() == release()
    for other in (release(seed=2), release(moments=np.zeros(4)),
                  release(smallest_eigenvalue=dataclasses.replace(EIGENVALUE, value=41.0)), release(epsilon=2.0)):
        assert release() != other
    assert part() != part_of(schema_with(), None)


def test_releases_of_the_same_regression_are_combined() -> None:
    together = combine([release(1), release(2, "age ~ smoker + ward"), release(3)])
    assert together.holders == 3 and together.formula == FORMULA
    assert decode(encode(together)) == together


def test_other_formulas_and_kinds_are_not_combined() -> None:
    with pytest.raises(IncompatibleReleasesError, match="formula: 'age ~ ward . smoker' and 'smoker ~ ward . age'"):
        combine([release(), release(2, "smoker ~ ward + age")])
    with pytest.raises(IncompatibleReleasesError, match="formula: .* 'age ~ ward'"):
        combine([release(), release(2, "age ~ ward")])
    with pytest.raises(IncompatibleReleasesError, match="kind: adassp and gram") as refused:
        combine([release(), release_of(terms=None)])
    assert "terms" not in (refused.value.found or "")
    with pytest.raises(IncompatibleReleasesError, match="counted twice"):
        combine([release(), release()])


def test_the_same_regression_may_be_written_in_two_ways() -> None:
    schema = schema_with()
    assert same_regression(schema, None, "age ~ ward + smoker", "age ~ 1 + smoker + C(ward)")
    assert not same_regression(schema, None, "age ~ ward", "age ~ ward - 1")
    assert not same_regression(schema, None, "age ~ ward", "nonsense")


def test_it_describes_itself() -> None:
    words = " ".join(golden.expected().describe().split())
    for expected in ("kind adassp: 36 noisy numbers from each of 2 holders", golden.FORMULA, "point estimate",
                     "smallest eigenvalue of the predictors' matrix is -121.9", "standard deviation 17.5", "epsilon 0.25"):
        assert expected in words
    assert golden.FORMULA in repr(golden.expected())
    assert "AdasspPart(size=7, rows=1200" in repr(golden.expected().parts[0])
