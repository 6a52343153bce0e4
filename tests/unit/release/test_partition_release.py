"""A partition release as an object and as a file: what it must be, what it says, and how it is read back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.golden.make_partition_1_4 import QUESTIONS, expected

import noisewise as nw
from noisewise.errors import DeclarationError, NoisewiseError, ReleaseError, ReleaseFormatError
from noisewise.release.format import decode, encode
from noisewise.release.partition import Number, PartitionRelease
from noisewise.schema.partition import PartPrior


def small(**changes: Any) -> PartitionRelease:
    schema = nw.Schema.from_dict({"adjacency": "add-remove", "columns": {"y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}})
    given: dict[str, Any] = {
        "schema": schema, "rows": None, "epsilon": 0.5, "delta": 0.0, "mechanism": "k-norm", "statement": "Promised.",
        "created": "2026-11-15", "library": "noisewise 0.1.0", "formula": "y ~ x", "prior": PartPrior(), "parts": 20,
        "balanced": False, "noise": 2.0, "questions": (nw.PosteriorProbability("x", at=(0.0,)),),
        "numbers": (Number("P(x <= 0)", -1.5, 1.5, 12.0),),
    }
    return PartitionRelease(**{**given, **changes})


@pytest.mark.parametrize("release", [small(), expected(), small(parts=2), small(prior=PartPrior("zellner", g=7.5))])
def test_what_is_written_is_read_back(release: PartitionRelease, tmp_path: Path) -> None:
    path = release.save(tmp_path / "made.nwr")
    again = nw.load(path)
    assert again == release and type(again) is PartitionRelease and again.version == "1.4"
    assert again.save(tmp_path / "again.nwr").read_bytes() == path.read_bytes()
    assert again.describe() == release.describe()


def test_a_change_of_any_field_is_a_difference() -> None:
    one = small()
    for name, value in {"epsilon": 0.6, "parts": 21, "noise": 2.5, "statement": "Other.", "created": "2026-11-16",
                        "numbers": (Number("P(x <= 0)", -1.5, 1.5, 12.5),), "prior": PartPrior("zellner", g=2)}.items():
        assert replace(one, **{name: value}) != one
    assert one != "a text"


@pytest.mark.parametrize(("changes", "words"), [
    ({"epsilon": 0.0}, "epsilon must be positive"),
    ({"epsilon": float("nan")}, "finite"),
    ({"delta": 1e-6}, "0 for k-norm"),
    ({"mechanism": "gaussian"}, "positive for gaussian"),
    ({"mechanism": "laplace"}, "mechanism of a partition release"),
    ({"mechanism": " "}, "not empty"),
    ({"rows": 5}, "not stated"),
    ({"balanced": True}, "balanced only where"),
    ({"parts": 1}, "whole number from 2"),
    ({"parts": 20.0}, "whole number from 2"),
    ({"parts": True}, "whole number from 2"),
    ({"noise": 0.0}, "noise must be positive"),
    ({"noise": float("inf")}, "finite"),
    ({"formula": "y ~ z"}, "not declared"),
    ({"formula": None}, "formula"),
    ({"questions": ()}, "1 to 1000 numbers"),
    ({"numbers": ()}, "one number for each"),
    ({"numbers": (Number("P(x <= 1)", -1.5, 1.5, 12.0),)}, "one number for each"),
    ({"numbers": (Number("P(x <= 0)", -1.5, 1.6, 12.0),)}, "limits of its question"),
    ({"created": "yesterday"}, "created must be a day"),
    ({"library": ""}, "not empty"),
])
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        small(**changes)


@pytest.mark.parametrize(("lower", "upper", "value"), [
    (1.0, 1.0, 0.0), (2.0, 1.0, 0.0), (0.0, 1.0, float("nan")), (0.0, 1e200, 0.0), (0.0, 1.0, True), ("0", 1.0, 0.0)])
def test_numbers_are_numbers_within_limits(lower: Any, upper: Any, value: Any) -> None:
    with pytest.raises(ReleaseError):
        Number("a", lower, upper, value)


def test_the_last_digits_of_a_logarithm_may_be_those_of_another_machine() -> None:
    """Limits of Fisher's method are computed, and not every library of mathematics rounds a logarithm alike."""
    document = expected().document()
    number = document["numbers"][4]
    number["upper"] *= 1 + 4e-16
    assert number["upper"] != expected().numbers[4].upper
    decode(json.dumps(document).encode())
    number["upper"] *= 1 + 1e-9
    with pytest.raises(ReleaseFormatError, match="limits of its question"):
        decode(json.dumps(document).encode())


def test_the_numbers_of_a_question() -> None:
    release = expected()
    assert [number.name for number in release.of(QUESTIONS[3])] == ["location of age", "scale of age"]
    with pytest.raises(DeclarationError, match="not asked"):
        release.of(nw.PosteriorProbability("age", at=(9.0,)))


def test_the_description_says_what_matters() -> None:
    words = " ".join(expected().describe().split())
    for part in ("one row; neighbours: replace-one", "12345 (public)", "epsilon 1.25, delta 1e-07",
                 "100 random parts of about 123 rows", "normal-inverse-gamma, scale 2.5", "P(age <= 0), clipped to [-2, 2]",
                 "gaussian, scale 21.12"):
        assert part in words, part
    assert "their number is not public" in small().describe() and "independently filled" in small().describe()


def test_it_is_no_matrix() -> None:
    """Fits, combinations and other readers of matrices refuse it in words."""
    release: Any = small()
    with pytest.raises(NoisewiseError):
        nw.combine([release, release])
    with pytest.raises(NoisewiseError):
        nw.compare("y ~ x", release)
    with pytest.raises(NoisewiseError, match="answers questions"):
        nw.fit("y ~ x", release)


def test_columns_without_bounds_are_refused_in_files_of_other_kinds() -> None:
    document = json.loads((Path(__file__).parents[2] / "golden" / "gram-1.0.nwr").read_bytes())
    name = next(name for name, column in document["schema"]["columns"].items() if "bounds" in column)
    document["schema"]["columns"][name] = {"bounds": "unknown"}
    with pytest.raises(ReleaseFormatError):
        decode(json.dumps(document).encode())


def test_extra_fields_with_a_known_name_are_not_written() -> None:
    with pytest.raises(ReleaseError):
        encode(small(extra={"noise": 3.0}))
    assert json.loads(encode(small(extra={"x-note": 1}, version="1.9")))["x-note"] == 1
