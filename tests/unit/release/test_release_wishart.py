"""Wishart noise in a release: what it must state, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.unit.release.examples_of_releases import part_of, release_of, schema_with

from noisewise.errors import ReleaseError
from noisewise.posterior.parts import rotation_invariant
from noisewise.release import EntryNoise, combine
from noisewise.release.format import decode, encode

SCALE, DEGREES = 4.5, 50


def wishart(noisy_corner: bool = False, **changes: Any) -> EntryNoise:
    diagonal = SCALE * (2 * DEGREES) ** 0.5
    fields = {"distribution": "wishart", "diagonal": diagonal, "off_diagonal": SCALE * DEGREES**0.5,
              "corner": diagonal if noisy_corner else 0.0, "degrees": DEGREES, "scale": SCALE}
    return EntryNoise(**{**fields, **changes})


def test_it_round_trips_in_the_version_that_brought_it() -> None:
    for schema in (schema_with(), schema_with(adjacency="add-remove")):
        made = release_of(schema, noise=wishart(noisy_corner=not schema.rows_are_public), mechanism="wishart")
        assert made.version == "1.2" and decode(encode(made)) == made
        assert "50 degrees of freedom" in made.describe()
    assert release_of().version == "1.0"


def test_it_can_be_combined_with_other_noise() -> None:
    together = combine([release_of(), release_of(seed=2, noise=wishart())])
    assert together.version == "1.2" and decode(encode(together)) == together


def test_a_release_that_claims_an_older_version_is_not_written() -> None:
    old = dataclasses.replace(release_of(noise=wishart()), version="1.1")
    with pytest.raises(ReleaseError, match="cannot be read back"):
        encode(old)


def test_an_analysis_takes_it_for_noise_of_gaussian_structure() -> None:
    assert rotation_invariant(wishart()) and rotation_invariant(wishart(noisy_corner=True))
    assert np.allclose(wishart(noisy_corner=True).variances(2), SCALE**2 * DEGREES * np.array([[2, 1], [1, 2]]))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"degrees": None}, "degrees of freedom must be a whole number"),
        ({"degrees": 0}, "degrees of freedom must be a whole number"),
        ({"degrees": True}, "degrees of freedom must be a whole number"),
        ({"degrees": 50.0}, "degrees of freedom must be a whole number"),
        ({"degrees": 2**60}, "degrees of freedom must be a whole number"),
        ({"scale": None}, "the scale must be a number"),
        ({"scale": 0.0}, "times its scale"),
        ({"scale": -SCALE}, "times its scale"),
        ({"scale": float("nan")}, "finite"),
        ({"degrees": 51}, "times its scale"),
        ({"diagonal": 46.0}, "times its scale"),
        ({"off_diagonal": 31.0}, "times its scale"),
        ({"corner": 31.0}, "times its scale"),
        ({"distribution": "gaussian"}, "only wishart noise"),
        ({"distribution": "laplace", "degrees": None}, "only wishart noise"),
    ],
)
def test_noise_that_contradicts_itself_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ReleaseError, match=rule):
        wishart(**changes)


def test_a_part_must_have_enough_degrees_a_delta_and_rows_that_were_not_averaged() -> None:
    with pytest.raises(ReleaseError, match="no guarantee with delta = 0"):
        part_of(schema_with(), noise=wishart(), delta=0.0)
    with pytest.raises(ReleaseError, match="averaged only where"):
        part_of(schema_with(), noise=wishart(), average=3)
    few = EntryNoise("wishart", SCALE * 6**0.5, SCALE * 3**0.5, 0.0, 3, SCALE)
    with pytest.raises(ReleaseError, match="at least as many degrees of freedom as columns"):
        part_of(schema_with(), noise=few)
