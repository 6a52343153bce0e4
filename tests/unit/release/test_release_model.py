"""A release cannot be built with contents that contradict one another."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from typing import Any

import numpy as np
import pytest
from tests.unit.release.examples_of_releases import DECLARED, TERMS, part_of, release_of, schema_with

from noisewise.errors import ReleaseError
from noisewise.release import EntryNoise, GramPart, Release
from noisewise.release.model import today
from noisewise.schema import Basis


def test_variances_by_class_of_entry() -> None:
    variances = EntryNoise("laplace", 3.0, 2.0, 0.5).variances(3)
    assert variances.tolist() == [[0.25, 4.0, 4.0], [4.0, 9.0, 4.0], [4.0, 4.0, 9.0]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"distribution": "cauchy"}, "gaussian, laplace or wishart"),
        ({"diagonal": 0.0}, "'diagonal' must be positive"),
        ({"diagonal": -1.0}, "'diagonal' must be positive"),
        ({"off_diagonal": 1e-300}, "'off_diagonal' must be positive"),
        ({"off_diagonal": float("nan")}, "finite"),
        ({"corner": -1.0}, "'corner' must be 0, or positive"),
        ({"corner": 1e300}, "'corner'"),
        ({"diagonal": 10**400}, "finite"),
        ({"diagonal": "1"}, "must be a number"),
        ({"diagonal": True}, "must be a number"),
    ],
)
def test_noise_is_checked(changes: dict[str, Any], words: str) -> None:
    fields: dict[str, Any] = {"distribution": "gaussian", "diagonal": 1.0, "off_diagonal": 1.0, "corner": 0.0}
    with pytest.raises(ReleaseError, match=words):
        EntryNoise(**{**fields, **changes})


def _with_entry(value: float) -> np.ndarray[Any, Any]:
    matrix = part_of(schema_with()).matrix.copy()
    matrix[1, 2] = matrix[2, 1] = value
    return matrix


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number"),
        ({"sensitivity": -2.0}, "sensitivity must be positive"),
        ({"delta": 1.0}, "delta must be at least 0 and below 1"),
        ({"delta": 0.0}, "no guarantee with delta = 0"),
        ({"delta": None}, "delta must be a number"),
        ({"rows": None}, "if, and only if"),
        ({"rows": 251}, "corner of the matrix must equal"),
        ({"rows": -1}, "rows must be a whole number"),
        ({"rows": True}, "rows must be a whole number"),
        ({"rows": 10**400}, "rows must be a whole number"),
        ({"rows": 10**6000}, "rows must be a whole number"),
        ({"noise": EntryNoise("gaussian", 1.0, 1.0, 1.0)}, "if, and only if"),
        ({"matrix": np.ones((2, 3))}, "square"),
        ({"matrix": np.ones(3)}, "square"),
        ({"matrix": np.zeros((0, 0))}, "square"),
        ({"matrix": [["a", "b"], ["c", "d"]]}, "made of numbers"),
        ({"matrix": _with_entry(float("nan"))}, "finite"),
        ({"matrix": _with_entry(float("inf"))}, "finite"),
        ({"matrix": _with_entry(1e200)}, "ordinary size"),
        ({"matrix": np.triu(_with_entry(1.0))}, "symmetric"),
        ({"statement": " "}, "statement must be a text"),
        ({"library": None}, "library must be a text"),
        ({"created": "2026-11-15T10:00:00"}, "created must be a day"),
        ({"created": "20261115"}, "created must be a day"),
        ({"created": "2026-02-30"}, "created must be a day"),
    ],
)
def test_parts_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        part_of(schema_with(), **changes)


def test_pure_epsilon_is_delta_zero_with_laplace_noise() -> None:
    assert part_of(schema_with(), delta=0.0, noise=EntryNoise("laplace", 1.0, 1.0, 0.0)).delta == 0.0


def test_a_release_must_fit_its_schema() -> None:
    schema = schema_with()
    with pytest.raises(ReleaseError, match="part 1: the matrix must have one row and column"):
        Release("gram", schema, None, (part_of(schema, TERMS),))
    with pytest.raises(ReleaseError, match="kind"):
        Release("moments", schema, TERMS, (part_of(schema),))
    with pytest.raises(ReleaseError, match="at least one part"):
        Release("gram", schema, TERMS, ())
    with pytest.raises(ReleaseError, match="fake precision"):
        Release("gram", schema, TERMS, (part_of(schema), part_of(schema, epsilon=2.0)))


def test_rows_are_stated_where_they_are_public() -> None:
    person = {"column": "person", "max_rows": 3}
    hidden = [schema_with(adjacency="add-remove"), schema_with(unit=person)]
    for schema in hidden:
        assert release_of(schema).parts[0].rows is None
        with pytest.raises(ReleaseError, match="noisy and not stated"):
            Release("gram", schema, TERMS, release_of().parts)
    with pytest.raises(ReleaseError, match="stated exactly"):
        Release("gram", schema_with(), TERMS, release_of(hidden[0]).parts)


def test_properties() -> None:
    release = release_of()
    assert release.adjacency == "replace-one"
    assert release.holders == 1
    assert release.basis == Basis.of(schema_with(), TERMS)
    assert release.basis is release.basis
    assert release.parts[0].size == release.basis.size == 8


def test_released_columns_must_be_those_of_the_schema_and_then_products() -> None:
    release = release_of()
    assert dataclasses.replace(release) == release
    for wrong, words in (
        (release.columns[1:], "begin with the constant"),
        ((*release.columns[:-1], release.columns[1]), "only once"),
    ):
        with pytest.raises(ReleaseError, match=words):
            dataclasses.replace(release, columns=wrong)
    with pytest.raises(ReleaseError, match="without terms"):
        dataclasses.replace(release, terms=None)


def test_content_decides_equality() -> None:
    assert release_of() == release_of()
    assert release_of() != release_of(seed=2)
    assert release_of() != release_of(epsilon=2.0)
    assert release_of() != release_of(schema_with(norm_bound=1.0))
    assert release_of() != release_of(extra={"future": 1})
    assert release_of() != "a release"
    assert release_of().parts[0] != 1
    assert copy.deepcopy(release_of()) == pickle.loads(pickle.dumps(release_of())) == release_of()


def test_nothing_can_be_changed_afterwards() -> None:
    mine = part_of(schema_with()).matrix.copy()
    part = part_of(schema_with(), matrix=mine)
    mine[1, 1] = 7.0
    assert part.matrix[1, 1] != 7.0
    with pytest.raises(ValueError, match="read-only"):
        part.matrix[0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        part.epsilon = 2.0  # type: ignore[misc]
    kept = {"future": [1]}
    release = Release("gram", schema_with(), TERMS, (part,), extra=kept)
    kept["future"].append(2)
    assert release.extra == {"future": [1]}


def test_numpy_numbers_become_plain_ones() -> None:
    part = part_of(schema_with(), rows=np.int64(250), epsilon=np.float32(0.5))
    assert type(part.rows) is int
    assert type(part.epsilon) is float


def test_today_is_a_day_without_a_time() -> None:
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", today())


def test_describe_says_what_matters() -> None:
    text = release_of().describe()
    for words in ("36 noisy numbers", "age, ward[B], ward[C], smoker", "T2(age)", "250 (public)", "replace-one",
                  "one row", "epsilon 1, delta 1e-06", "learns little", "standard deviation 8", "2026-11-15"):
        assert words in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_describe_hides_what_is_not_public_and_numbers_the_parts() -> None:
    schema = schema_with(adjacency="add-remove", unit={"column": "person", "max_rows": 3})
    parts = (part_of(schema), part_of(schema, seed=2, delta=0.0, noise=EntryNoise("laplace", 8.0, 8.0, 8.0)))
    text = Release("gram", schema, TERMS, parts).describe()
    for words in ("not public", "one person (at most 3 rows)", "part 2", "each of 2 holders", "epsilon 1. Whoever"):
        assert words in " ".join(text.split())


def test_a_wide_release_is_described_and_shown_in_a_few_lines() -> None:
    wide = schema_with(columns={f"c{number}": {"bounds": [0, 1]} for number in range(200)})
    release = release_of(wide, None)
    assert "and 188 more" in release.describe()
    assert len(repr(release)) < 150
    assert "200 columns, 1 part, replace-one, (epsilon, delta) = (1.0, 1e-06)" in repr(release)
    assert "size=201" in repr(release.parts[0])


def test_the_declared_dictionary_is_left_alone() -> None:
    before = copy.deepcopy(DECLARED)
    release_of()
    assert before == DECLARED
    assert isinstance(release_of().parts[0], GramPart)
