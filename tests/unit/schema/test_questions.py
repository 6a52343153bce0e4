"""Questions of a partition release: how they are written, what they release, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from noisewise.errors import DeclarationError
from noisewise.schema.questions import (
    MOST_POINTS,
    BayesFactor,
    Criterion,
    PosteriorProbability,
    PosteriorQuantile,
    Question,
    contrast,
    contrasts,
    question_from_dict,
    written,
)


@pytest.mark.parametrize(("given", "expected"), [
    ("age", (("age", 1.0),)),
    (" - age", (("age", -1.0),)),
    ("age - 2*weight", (("age", 1.0), ("weight", -2.0))),
    ("0.5*age + 1e-3*weight", (("age", 0.5), ("weight", 0.001))),
    ("ward[T.B] - ward[T.C]", (("ward[T.B]", 1.0), ("ward[T.C]", -1.0))),
    ("ward[T.A - B] + I(x**2)", (("ward[T.A - B]", 1.0), ("I(x**2)", 1.0))),
    ("2*I(x - 3)", (("I(x - 3)", 2.0),)),
    ("blood pressure - age", (("blood pressure", 1.0), ("age", -1.0))),
    ("x-ray", (("x-ray", 1.0),)),
    ({"age": 1, "weight": -2}, (("age", 1.0), ("weight", -2.0))),
    ([("age", 1), ["weight", -2]], (("age", 1.0), ("weight", -2.0))),
])
def test_combinations(given: Any, expected: Any) -> None:
    assert contrast(given) == expected
    assert contrast(written(contrast(given))) == expected


@pytest.mark.parametrize("wrong", ["", "  ", {}, [], None, 3, {"age": 0}, {"age": math.nan}, {"age": True}, {"": 1}, {3: 1},
                                   "age - age", [("age",)], [("age", 1), ("age", 2)], {"age": "1"}])
def test_what_is_no_combination_is_refused(wrong: Any) -> None:
    with pytest.raises(DeclarationError, match="about a coefficient"):
        contrast(wrong)


def test_several_combinations() -> None:
    assert contrasts("x") == contrasts(["x"]) == contrasts([("x", 1.0)]) == ((("x", 1.0),),)
    assert contrasts(["x", {"w": 2}]) == ((("x", 1.0),), (("w", 2.0),))
    with pytest.raises(DeclarationError, match="named only once"):
        contrasts(["x", "x"])


QUESTIONS: list[Question] = [
    PosteriorProbability("x", [0, 1.5]), PosteriorProbability("x - w", 2.0, "fisher", 1e-4),
    PosteriorProbability("x", 0, "rescaled-normal"),
    PosteriorProbability("x", 0, limit=2.5), PosteriorQuantile("x"), PosteriorQuantile("x", (-1, 2)),
    PosteriorQuantile("2*x", None, 0.2, 0.1), BayesFactor(["x", "w"], "hyper-g"), BayesFactor("x", limits=(-2, 3)),
    Criterion("bic", "x"), Criterion("aic", ["x", "x - w"], (-3, 4)), Criterion("likelihood-ratio", "x", [0, 12]),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_questions_survive_a_file(question: Question) -> None:
    assert question_from_dict(json.loads(json.dumps(question.to_dict()))) == question
    assert question.to_dict()["ask"] == question.ask


def test_the_numbers_of_a_question_and_their_limits() -> None:
    assert PosteriorProbability("x", [0, 1.5]).numbers() == [("P(x <= 0)", (-1.5, 1.5)), ("P(x <= 1.5)", (-1.5, 1.5))]
    assert PosteriorProbability("x", 0, "rescaled-normal").limits == (0.0, 1.0)
    assert PosteriorProbability("x", 0, "fisher", 0.01).limits == (0.0, -2 * math.log(0.01))
    assert PosteriorQuantile("x").numbers() == [("location of x", None), ("scale of x", None)]
    assert PosteriorQuantile("x", (0, 1)).numbers()[0] == ("location of x", (0.0, 1.0))
    assert BayesFactor(["x", "x - w"]).numbers() == [("log Bayes factor of x, x - w", (-math.log(99), math.log(99)))]
    assert [Criterion(name, "x").numbers()[0] for name in ("bic", "aic", "likelihood-ratio")] == [
        ("BIC difference of x", (-9.0, 9.0)), ("AIC difference of x", (-2.0, 9.0)), ("2 log likelihood ratio of x", (0.0, 7.0))]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "must state what it asks"),
    ({"ask": "mean", "of": "x"}, "must state what it asks"),
    ({"ask": "posterior-probability", "of": "x"}, "wrong fields"),
    ({"ask": "posterior-probability", "of": "x", "at": 0, "above": 1}, "wrong fields"),
    ({"ask": "bic", "of": "x", "at": 0}, "wrong fields"),
    ({"ask": "posterior-probability", "of": "x", "at": []}, "different finite numbers"),
    ({"ask": "posterior-probability", "of": "x", "at": [0, 0]}, "different finite numbers"),
    ({"ask": "posterior-probability", "of": "x", "at": [math.inf]}, "different finite numbers"),
    ({"ask": "posterior-probability", "of": "x", "at": "0"}, "different finite numbers"),
    ({"ask": "posterior-probability", "of": "x", "at": list(range(MOST_POINTS + 1))}, "different finite numbers"),
    ({"ask": "posterior-probability", "of": "x", "at": 0, "combine": "mean"}, "way to combine"),
    ({"ask": "posterior-probability", "of": "x", "at": 0, "combine": "rescaled-normal", "limit": 1}, "takes no limit"),
    ({"ask": "posterior-probability", "of": "x", "at": 0, "limit": 9}, "limit of stouffer"),
    ({"ask": "posterior-probability", "of": "x", "at": 0, "limit": "2"}, "limit of stouffer"),
    ({"ask": "posterior-probability", "of": "x", "at": 0, "combine": "fisher", "limit": 0.9}, "limit of fisher"),
    ({"ask": "posterior-quantile", "of": "x", "bounds": [1, 1]}, "bounds must be two numbers"),
    ({"ask": "posterior-quantile", "of": "x", "bounds": [0, 1e10]}, "bounds must be two numbers"),
    ({"ask": "posterior-quantile", "of": "x", "bounds": [0, 1, 2]}, "bounds must be two numbers"),
    ({"ask": "posterior-quantile", "of": "x", "centre_share": 0.7}, "centre_share, a share"),
    ({"ask": "posterior-quantile", "of": "x", "width_share": 0}, "width_share, a share"),
    ({"ask": "bayes-factor", "of": "x", "prior": "flat"}, "unknown prior of the coefficients"),
    ({"ask": "bayes-factor", "of": "x", "limits": [0, 3]}, "zero, which favours neither"),
    ({"ask": "bayes-factor", "of": "x", "limits": None}, "limits must be two numbers"),
    ({"ask": "aic", "of": "x", "limits": [-3, -1]}, "zero, which favours neither"),
    ({"ask": "likelihood-ratio", "of": "x", "limits": [-1, 7]}, "never below 1"),
    ({"ask": "likelihood-ratio", "of": []}, "about a coefficient"),
]


@pytest.mark.parametrize(("declared", "message"), WRONG)
def test_what_is_no_question_is_refused(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        question_from_dict(declared)


def test_a_criterion_has_a_known_name() -> None:
    with pytest.raises(DeclarationError, match="unknown criterion"):
        Criterion("dic", "x")
