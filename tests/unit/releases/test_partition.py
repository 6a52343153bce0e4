"""What is special to a partition release: numbers that are those of its questions, and their limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.releases.examples_of_releases import (
    ALL_QUESTIONS,
    decoded,
    document,
    gaussian_partition,
    partition,
    partition_of,
)

import noisewise as nw
from noisewise.errors import DeclarationError, NoisewiseError, ReleaseError, ReleaseFormatError
from noisewise.releases.contents.partition import Number
from noisewise.schema.partition import PartPrior

ASKED: Any = partition().kind


def test_a_change_of_any_field_is_a_difference() -> None:
    for other in (partition(noise=2.5), partition(numbers=(Number("P(x <= 0)", -1.5, 1.5, 12.5),)),
                  partition(kind=replace(ASKED, parts=21)), partition(kind=replace(ASKED, prior=PartPrior("zellner", g=2)))):
        assert other != partition()


@pytest.mark.parametrize(("changes", "words"), [
    ({"delta": 1e-6}, "0 for k-norm"),
    ({"mechanism": "gaussian"}, "must be > 0 for gaussian"),
    ({"mechanism": "laplace"}, "mechanism of a partition release must be k-norm or gaussian"),
    ({"rows": 5}, "not be stated"),
    ({"balanced": True}, "balanced parts require"),
    ({"balanced": 1}, "balanced parts require"),
    ({"noise": 0.0}, "noise must be positive"),
    ({"noise": float("inf")}, "finite"),
    ({"noise_epsilon": 0.6}, "must be at most epsilon"),
    ({"noise_epsilon": 0.4}, "epsilon minus what the selection of limits used"),
    ({"noise_epsilon": -0.5}, "noise_epsilon must be positive"),
    ({"kind": replace(ASKED, formula="y ~ z")}, "not declared"),
    ({"kind": replace(ASKED, mechanism="gaussian")}, "mechanism must be the one that the kind asks for"),
    ({"numbers": ()}, "1 to 1000 numbers"),
    ({"numbers": (Number("P(x <= 0)", -1.5, 1.5, 0.0),) * 1001}, "1 to 1000 numbers"),
    ({"numbers": (Number("P(x <= 0)", -1.5, 1.5, 0.0),) * 2}, "must be those that the questions ask for"),
    ({"numbers": (Number("P(x <= 1)", -1.5, 1.5, 12.0),)}, "must be those that the questions ask for"),
    ({"numbers": (Number("P(x <= 0)", -1.5, 1.6, 12.0),)}, "limits of its question"),
])
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        partition(**changes)


@pytest.mark.parametrize(("name", "lower", "upper", "value"), [
    ("a", 1.0, 1.0, 0.0), ("a", 2.0, 1.0, 0.0), ("a", 0.0, 1.0, float("nan")), ("a", 0.0, 1e200, 0.0), ("a", 0.0, 1.0, True),
    ("a", "0", 1.0, 0.0), ("", 0.0, 1.0, 0.0), (None, 0.0, 1.0, 0.0)])
def test_numbers_have_names_and_limits(name: Any, lower: Any, upper: Any, value: Any) -> None:
    with pytest.raises(ReleaseError, match="numbers"):
        Number(name, lower, upper, value)


def test_the_share_of_the_selection_of_limits_is_left_out_of_the_noise() -> None:
    assert gaussian_partition().contents.noise_epsilon == 1.25 * (1 - 0.25 - 0.125)
    with pytest.raises(ReleaseError, match="epsilon minus what the selection of limits used"):
        gaussian_partition(noise_epsilon=1.25)


def test_the_last_digits_of_a_logarithm_may_be_those_of_another_machine() -> None:
    """Limits of Fisher's method are computed, and not every library of mathematics rounds a logarithm alike."""
    changed = document(gaussian_partition())
    number = changed["contributions"][0]["contents"]["numbers"][4]
    number["upper"] *= 1 + 4e-16
    assert number["upper"] != gaussian_partition().contents.numbers[4].upper
    decoded(changed)
    number["upper"] *= 1 + 1e-9
    with pytest.raises(ReleaseFormatError, match="limits of its question"):
        decoded(changed)


def test_the_numbers_of_a_question_and_their_means() -> None:
    made = gaussian_partition()
    found = made.contents.of(made.kind, ALL_QUESTIONS[3])
    assert [number.name for number in found] == ["location of age", "scale of age"]
    assert made.contents.named["scale of age"] == found[1]
    with pytest.raises(DeclarationError, match="not asked.*release.kind.ask"):
        made.contents.of(made.kind, nw.PosteriorProbability("age", at=(9.0,)))
    assert Number("a", 2.0, 6.0, 5.0).mean(20) == 3.0 and Number("a", 2.0, 6.0, -5.0).mean(20) == 1.0


def test_it_is_no_matrix() -> None:
    """Fits, combinations and other readers of matrices refuse it in words."""
    made: Any = partition()
    with pytest.raises(NoisewiseError):
        nw.combine([made, partition(2)])
    with pytest.raises(NoisewiseError):
        nw.compare("y ~ x", made)
    with pytest.raises(NoisewiseError, match="answers questions"):
        nw.fit("y ~ x", made)


def test_it_says_how_parts_were_filled() -> None:
    assert "independently filled" in partition().describe()
    assert partition_of().facts()["numbers"][0]["sum"] == 13.0
