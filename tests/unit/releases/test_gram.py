"""What is special to a gram release: its matrix, the law of its noise, averaged rows, and the columns that it has."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import (
    OPEN,
    PERSON,
    PERSONS,
    PUBLIC,
    Change,
    decoded,
    document,
    gram_of,
    laplace,
    release_of,
    removing,
    schema_with,
    setting,
    wishart,
)

import noisewise as nw
from noisewise.errors import ReleaseError, ReleaseFormatError
from noisewise.posterior.contributions import rotation_invariant
from noisewise.releases.contents.gram import EntryNoise
from noisewise.releases.format import decode, encode
from noisewise.releases.release import Release
from noisewise.schema import Basis


def test_variances_by_class_of_entry() -> None:
    variances = EntryNoise("laplace", 3.0, 2.0, 0.5).variances(3)
    assert variances.tolist() == [[0.25, 4.0, 4.0], [4.0, 9.0, 4.0], [4.0, 4.0, 9.0]]
    made = gram_of()
    assert np.array_equal(made.variances, made.noise.variances(made.size)) and made.size == 8


@pytest.mark.parametrize(("changes", "words"), [
    ({"distribution": "cauchy"}, "gaussian, laplace or wishart"),
    ({"diagonal": 0.0}, "'diagonal' must be positive"),
    ({"diagonal": -1.0}, "'diagonal' must be positive"),
    ({"off_diagonal": 1e-300}, "'off_diagonal' must be positive"),
    ({"off_diagonal": float("nan")}, "finite"),
    ({"corner": -1.0}, "'corner' must be positive"),
    ({"corner": 1e300}, "'corner'"),
    ({"diagonal": 10**400}, "finite"),
    ({"diagonal": "1"}, "must be a number"),
    ({"diagonal": True}, "must be a number"),
    ({"degrees": 7}, "only valid for wishart noise"),
    ({"scale": 1.0}, "only valid for wishart noise"),
])
def test_noise_is_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        EntryNoise(**{"distribution": "gaussian", "diagonal": 1.0, "off_diagonal": 1.0, "corner": 0.0, **changes})


def with_entry(value: float) -> np.ndarray[Any, Any]:
    matrix = gram_of().matrix.copy()
    matrix[1, 2] = matrix[2, 1] = value
    return matrix


@pytest.mark.parametrize(("changes", "words"), [
    ({"delta": 0.0}, "noise requires delta > 0"),
    ({"noise": wishart(), "delta": 0.0}, "noise requires delta > 0"),
    ({"rows": None}, "if and only if the corner"),
    ({"rows": 251}, "corner of the matrix must equal"),
    ({"noise": EntryNoise("gaussian", 1.0, 1.0, 1.0)}, "if and only if the corner"),
    ({"matrix": np.ones((2, 3))}, "square"),
    ({"matrix": np.ones(3)}, "square"),
    ({"matrix": np.zeros((0, 0))}, "square"),
    ({"matrix": [["a", "b"], ["c", "d"]]}, "contain numbers"),
    ({"matrix": with_entry(float("nan"))}, "finite"),
    ({"matrix": with_entry(float("inf"))}, "finite"),
    ({"matrix": with_entry(1e200)}, "2\\*\\*100"),
    ({"matrix": np.triu(with_entry(1.0))}, "symmetric"),
    *(({"average": wrong}, "average") for wrong in (0, -1, 1.5, True, "2", None, 2**60)),
    ({"average": 2, "noise": laplace(), "delta": 0.0}, "averaging rows requires.*gaussian"),
    ({"average": 3, "noise": wishart()}, "averaging rows requires"),
])
def test_contributions_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        gram_of(**changes)


@pytest.mark.parametrize(("change", "words"), [
    (setting("privacy", "delta", to=0), "requires delta > 0"),
    (setting("contents", "noise", "diagonal", to=0), "must be positive"),
    (setting("contents", "noise", "distribution", to="cauchy"), "gaussian"),
    (setting("contents", "noise", "corner", to=1.0), "if and only if the corner"),
    (removing("rows"), "if and only if the corner"),
    (setting("rows", to=251), "must equal the public number"),
    (setting("contents", "statistic", 0, to=251), "must equal the public number"),
    (setting("contents", "statistic", 3, to=1e200), "2\\*\\*100"),
    (setting("contents", "statistic", 3, to="1"), r"contributions\.0\.contents\.statistic\.3"),
    (removing("contents", "statistic", 3), r"8 columns must have 36 numbers \(found: 35\)"),
    *((setting("contents", "average", to=wrong), "average") for wrong in (0, 1, 2.0, "2", True)),
])
def test_a_file_that_contradicts_itself_is_refused(change: Change, words: str) -> None:
    changed = document(release_of())
    change(changed["contributions"][0])
    with pytest.raises(ReleaseFormatError, match=words):
        decoded(changed)


def test_pure_epsilon_is_delta_zero_with_laplace_noise() -> None:
    assert gram_of(delta=0.0, noise=laplace()).delta == 0.0


def test_the_matrix_is_a_copy() -> None:
    mine = gram_of().matrix.copy()
    made = gram_of(matrix=mine)
    mine[1, 1] = 7.0
    assert made.matrix[1, 1] != 7.0
    with pytest.raises(ValueError, match="read-only"):
        made.matrix[0, 0] = 1.0


def test_the_kind_says_what_was_asked_for() -> None:
    made = release_of()
    assert made.terms == "age:ward + I(age**2)" and made.formula is None
    assert made.basis == Basis.of(PUBLIC, made.terms) and made.contents.size == made.basis.size == 8
    for kind, words in ((nw.Gram(), "one row and column for each released column.*size 8, 5 columns"),
                        (nw.Gram(made.terms, average=2), "averaged as the kind asks for.*1, asked for 2"),
                        (nw.Gram(made.terms, "laplace"), "mechanism must be the one.*'gaussian', asked for 'laplace'")):
        with pytest.raises(ReleaseError, match=words):
            Release(kind, PUBLIC, made.contributions)
    assert Release(nw.Gram(made.terms, "gaussian"), PUBLIC, made.contributions).contents == made.contents


def test_a_contribution_that_does_not_fit_is_told_from_the_others() -> None:
    with pytest.raises(ReleaseError, match="contribution 2: the matrix must have one row"):
        release_of().with_contributions((gram_of(), gram_of(terms=None)))


def test_released_columns_must_be_those_of_the_schema_and_then_products() -> None:
    made = release_of()
    assert dataclasses.replace(made) == made
    for wrong, words in ((made.columns[1:], "begin with the constant"),
                         ((*made.columns[:-1], made.columns[1]), "only once")):
        with pytest.raises(ReleaseError, match=words):
            dataclasses.replace(made, columns=wrong)
    with pytest.raises(ReleaseError, match="without terms"):
        dataclasses.replace(made, kind=nw.Gram())


def test_rules_of_rows_are_stated() -> None:
    schema = schema_with(norm_bound=1.5, unit=PERSON)
    rules = document(release_of(schema))["rules"]
    assert rules[0] == "age: clipped to [18, 98]; a missing value becomes 58.0"
    assert rules[-2:] == ["every row: the scaled columns are shortened to the norm 1.5", "every person: at most 3 rows are used"]
    assert release_of(schema).clipped_norm == 1.5 and release_of().clipped_norm is None


def test_a_wide_release_is_described_and_shown_in_a_few_lines() -> None:
    made = release_of(schema_with(columns={f"c{number}": {"bounds": [0, 1]} for number in range(200)}), None)
    assert "and 188 more" in made.describe() and len(repr(made)) < 150
    assert "200 columns, replace-one, (epsilon, delta) = (1.0, 1e-06)" in repr(made)


# Averaged rows


def test_a_file_says_how_many_rows_were_averaged_if_they_were() -> None:
    assert document(release_of(average=7))["contributions"][0]["contents"]["average"] == 7
    assert "average" not in document(release_of())["contributions"][0]["contents"]
    assert encode(release_of(average=1)) == encode(release_of()) and "averaged" not in release_of().describe()


@pytest.mark.parametrize(("average", "groups"), [(1, 250), (2, 125), (7, 36), (250, 1), (1000, 1)])
def test_groups_are_the_averaged_rows(average: int, groups: int) -> None:
    made = gram_of(average=average)
    assert made.groups == groups and made.counts.tolist() == [250.0]
    assert ("groups" in made.facts()) == (average > 1)


def test_groups_are_not_known_where_rows_are_not() -> None:
    assert gram_of(OPEN).groups is None is gram_of(PERSONS).groups
    with pytest.raises(ReleaseError, match="public"):
        gram_of(OPEN, average=2)


def test_the_square_of_an_average_is_not_the_average_of_squares() -> None:
    for average in (1, 7):
        one = gram_of(average=average)
        found = one.column_sums(1)
        assert found[:3] == (one.matrix[0, 1], one.variances[0, 1], one.matrix[1, 1])
        assert found[3] == (one.variances[1, 1] if average == 1 else np.inf)


def test_averaged_and_other_contributions_go_together_in_one_file() -> None:
    averaged = Release(nw.Gram(release_of().terms, average=3), PUBLIC, (gram_of(seed=2, average=3),))
    together = nw.combine([release_of(seed=1), averaged])
    assert decode(encode(together)) == together
    assert together.kind == release_of().kind and [one.average for one in together.contributions] == [1, 3]


# Wishart noise


def test_wishart_noise_is_stated_in_the_file() -> None:
    for schema in (PUBLIC, OPEN):
        made = release_of(schema, noise=wishart(noisy_corner=schema is OPEN))
        noise = document(made)["contributions"][0]["contents"]["noise"]
        assert (noise["distribution"], noise["degrees_of_freedom"], noise["scale"]) == ("wishart", 100, 4.5)
        assert made.contents.facts()["degrees_of_freedom"] == 100 and "100 degrees of freedom" in made.describe()
    together = nw.combine([release_of(), release_of(seed=2, noise=wishart())])
    assert decode(encode(together)) == together
    assert "degrees_of_freedom" not in release_of().contents.facts()


def test_an_analysis_takes_it_for_noise_of_gaussian_structure() -> None:
    assert rotation_invariant(wishart()) and rotation_invariant(wishart(noisy_corner=True))
    assert np.allclose(wishart(noisy_corner=True).variances(2), 4.5**2 * 100 * np.array([[2, 1], [1, 2]]))


@pytest.mark.parametrize(("changes", "rule"), [
    *(({"degrees": wrong}, "degrees of freedom must be a whole number") for wrong in (None, 0, True, 100.0, 2**60)),
    ({"scale": None}, "the scale must be a number"),
    ({"scale": 0.0}, "times its scale"),
    ({"scale": -4.5}, "times its scale"),
    ({"scale": float("nan")}, "finite"),
    ({"degrees": 101}, "times its scale"),
    ({"diagonal": 46.0}, "times its scale"),
    ({"off_diagonal": 31.0}, "times its scale"),
    ({"corner": 31.0}, "times its scale"),
    ({"distribution": "gaussian"}, "only valid for wishart noise"),
    ({"distribution": "laplace", "degrees": None}, "only valid for wishart noise"),
])
def test_wishart_noise_that_contradicts_itself_is_refused(changes: dict[str, Any], rule: str) -> None:
    fixed = {"diagonal": wishart().diagonal, "off_diagonal": wishart().off_diagonal, "degrees": 100, "scale": 4.5}
    with pytest.raises(ReleaseError, match=rule):
        EntryNoise(**{"distribution": "wishart", "corner": 0.0, **fixed, **changes})


def test_there_are_at_least_as_many_degrees_of_freedom_as_columns() -> None:
    with pytest.raises(ReleaseError, match="at least as many degrees of freedom as columns"):
        gram_of(noise=wishart(3)).check_promise()
