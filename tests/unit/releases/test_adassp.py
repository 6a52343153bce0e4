"""What is special to an adassp release: one formula, whose response is not in the matrix, and an eigenvalue."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import about
from tests.unit.releases.examples_of_releases import (
    ADASSP,
    EIGENVALUE,
    PUBLIC,
    adassp,
    adassp_of,
    document,
    laplace,
)

import noisewise as nw
from noisewise.errors import FormulaError, IncompatibleReleasesError, ReleaseError
from noisewise.kinds.regression import regression_columns
from noisewise.privacy.mechanisms.adassp import LARGEST_SIZE
from noisewise.releases.release import Release


def test_it_has_the_columns_of_its_formula() -> None:
    made = adassp()
    assert made.basis.names == ("1", "ward[B]", "ward[C]", "smoker", "age") and made.formula == ADASSP and made.terms is None
    found = document(made)
    assert found["kind"]["formula"] == ADASSP
    assert set(found["contributions"][0]["contents"]) == {"noise", "statistic", "moments", "smallest_eigenvalue"}


@pytest.mark.parametrize(("formula", "terms", "names"), [
    ("age ~ 1", None, ("1", "age")),
    ("smoker ~ age - 1", None, ("1", "age", "smoker")),  # age is half its range above 0: it needs the constant
    ("smoker ~ ward - 1", None, ("1", "ward[B]", "ward[C]", "smoker")),
    ("smoker ~ I(age**2)", "I(age**2)", ("1", "age", "T2(age)", "smoker")),
    ("age ~ smoker:ward", "smoker:ward", ("1", "smoker", "ward[B]", "ward[C]", "smoker:ward[B]", "smoker:ward[C]", "age")),
])
def test_columns_follow_from_the_formula(formula: str, terms: str | None, names: tuple[str, ...]) -> None:
    columns = regression_columns(PUBLIC, terms, formula)
    assert columns[-1].name == names[-1] and columns[0].name == "1"
    assert {column.name for column in columns} <= set(names)
    assert adassp(formula=formula, terms=terms).columns == columns


def test_a_formula_must_be_answerable() -> None:
    with pytest.raises(FormulaError, match="has no numeric value"):
        regression_columns(PUBLIC, None, "ward ~ age")
    with pytest.raises(FormulaError, check=about("terms")):
        regression_columns(PUBLIC, None, "smoker ~ I(age**2)")


@pytest.mark.parametrize(("changes", "words"), [
    ({"moments": np.zeros(3)}, "the moments must be a list of 4 numbers"),
    ({"moments": ["a"] * 4}, "the moments must contain numbers"),
    ({"moments": np.array([0, 0, 0, np.nan])}, "finite"),
    ({"smallest_eigenvalue": 4.0}, "must state the smallest eigenvalue"),
    ({"smallest_eigenvalue": dataclasses.replace(EIGENVALUE, epsilon=1.0)}, "below the totals"),
    ({"smallest_eigenvalue": dataclasses.replace(EIGENVALUE, delta=1e-6)}, "below the totals"),
    ({"noise": laplace()}, "gaussian"),
    ({"average": 3}, "not averaged"),
    ({"rows": 251}, "corner"),
])
def test_contributions_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        adassp_of(**changes)


@pytest.mark.parametrize("name", ["noise", "epsilon", "delta", "sensitivity"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "1", True])
def test_the_eigenvalue_is_checked(name: str, value: Any) -> None:
    with pytest.raises(ReleaseError, match="smallest_eigenvalue"):
        dataclasses.replace(EIGENVALUE, **{name: value})


def test_the_response_is_not_in_the_matrix() -> None:
    with pytest.raises(ReleaseError, match="except the response"):
        Release(nw.AdaSSP(ADASSP), PUBLIC, (adassp_of(size=3),))
    one = adassp().contents
    assert one.column_sums(one.size) == (one.moments[0], one.noise.off_diagonal**2, 0.0, np.inf)
    assert one.column_sums(1)[0] == one.matrix[0, 1]


def test_columns_that_are_no_regression_are_refused() -> None:
    one, ward_b, ward_c, smoker, age = regression_columns(PUBLIC, None, ADASSP)
    for columns, words in [
        ((ward_b, ward_c, smoker, one, age), "the constant, the predictors and the response"),
        ((one, smoker, age, ward_b), "last column of a release of kind adassp"),
        ((one, ward_b, ward_b, smoker, age), "only once"),
        ((one, age, ward_b, smoker, age), "among its own predictors"),
    ]:
        with pytest.raises(ReleaseError, match=words):
            Release(nw.AdaSSP(ADASSP), PUBLIC, (adassp_of(size=len(columns) - 1),), columns=columns)


def test_equality_looks_at_all_numbers() -> None:
    for other in (adassp(moments=np.zeros(4)), adassp(smallest_eigenvalue=dataclasses.replace(EIGENVALUE, value=41.0))):
        assert other != adassp()


def test_the_sums_with_the_response_tell_releases_apart() -> None:
    """The matrix of ``y ~ 1`` is the public number of rows alone."""
    one, two = (adassp(formula="age ~ 1", moments=[float(seed)]) for seed in (1, 2))
    assert np.array_equal(one.contents.matrix, two.contents.matrix) and one.fingerprints() != two.fingerprints()


def test_releases_of_the_same_regression_are_combined() -> None:
    together = nw.combine([adassp(1), adassp(2, "age ~ smoker + ward"), adassp(3)])
    assert together.holders == 3 and together.formula == ADASSP


def test_other_formulas_are_not_combined() -> None:
    for formula in ("smoker ~ ward + age", "age ~ ward"):
        with pytest.raises(IncompatibleReleasesError, match=re.escape(f"formula: '{ADASSP}' and '{formula}'")):
            nw.combine([adassp(), adassp(2, formula)])


def test_the_same_regression_may_be_written_in_two_ways() -> None:
    def same(one: str, other: str) -> bool:
        return nw.AdaSSP(one).same_regression(other, PUBLIC)

    assert same("age ~ ward + smoker", "age ~ 1 + smoker + C(ward)")
    assert not same("age ~ ward", "age ~ ward - 1") and not same("age ~ ward", "nonsense")


def test_the_page_says_how_many_columns_there_may_be() -> None:
    page = (Path(__file__).parents[3] / "docs" / "adassp.md").read_text(encoding="utf-8")
    assert f"at most {LARGEST_SIZE} columns" in page
