"""Plans of partition releases: they agree with what releases do, and with what is known exactly."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, stdtr
from scipy.stats import chi2, ncx2

import noisewise as nw
from noisewise.answers.asked import MeanNoise
from noisewise.answers.probabilities import information_loss
from noisewise.data.parts.fits import fit_parts
from noisewise.errors import DeclarationError, PrivacyError
from noisewise.planning.partition import suggest_parts
from noisewise.planning.partition_answers import PlannedParts, powers, probability_errors
from noisewise.run import QUIET
from noisewise.schema.partition import PartPrior

NO_NOISE = MeanNoise("gaussian", 1e-6, 1)


def test_the_parts_lose_what_the_formula_says() -> None:
    """The squared correlation of the parts' combined score with the whole table's is 1 − k/b, and not 1."""
    random, parts, size, predictors = np.random.default_rng(4), 50, 40, 3
    terms = ("Intercept", *(f"x{place}" for place in range(predictors)))
    whole, combined = [], []
    for _ in range(400):
        table = random.normal(size=(parts, size, predictors + 2))
        table[..., 0] = 1.0
        products = np.einsum("mbi,mbj->mij", table, table)
        for moments, rows, scores in ((products, size, combined), (products.sum(axis=0)[None], parts * size, whole)):
            count = len(moments)
            fits = fit_parts(np.full(count, float(rows)), moments, np.zeros((count, predictors + 2)), terms, PartPrior("flat"))
            location, scale = fits.combination(np.eye(predictors + 1)[1])
            scores.append(float(np.mean(ndtri(stdtr(fits.degrees, -location / scale))) * np.sqrt(count)))
    squared = np.corrcoef(whole, combined)[0, 1] ** 2
    expected = 1.0 - information_loss(predictors + 1, size)
    assert expected == pytest.approx(0.9)
    assert abs(squared - expected) < 0.04  # four standard errors; without the loss it would be 1


@pytest.mark.parametrize("combine", ["stouffer", "rescaled-normal", "fisher"])
def test_without_noise_and_loss_the_error_is_that_of_the_split(combine: str) -> None:
    question = nw.PosteriorProbability("x", [0], combine)  # type: ignore[arg-type]
    many = probability_errors(question, PlannedParts(1e12, 1000, 2), NO_NOISE)
    assert max(many.values()) < 0.2
    noisy = probability_errors(question, PlannedParts(1e12, 1000, 2), MeanNoise("gaussian", 1.0, 1))
    assert all(noisy[score] > many[score] for score in (-1.5, 1.5))
    assert combine == "fisher" or noisy[-1.5] == pytest.approx(noisy[1.5], rel=0.02)


@pytest.mark.outer
def test_the_error_is_the_one_that_releases_have() -> None:
    """By quadrature here; by releasing and answering 960 times there."""
    rows, parts, epsilon = 3000, 30, 2.0
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}})
    random = np.random.default_rng(5)
    errors = []
    for _ in range(960):
        x = random.normal(size=rows)
        y = random.normal(size=rows)
        design = np.column_stack([np.ones(rows), x])
        beta, rest = np.linalg.lstsq(design, y, rcond=None)[:2]
        sd = np.sqrt(rest[0] / (rows - 2) * np.linalg.inv(design.T @ design)[1, 1])
        kind = nw.Partition("y ~ x", parts=parts, ask=[nw.PosteriorProbability("x", [float(beta[1] + 1.5 * sd)])])
        release = nw.release({"y": y, "x": x}, schema, kind, epsilon=epsilon, run=QUIET)
        errors.append(abs(next(iter(nw.answer(release))).point - float(ndtr(1.5))))
    expected = probability_errors(nw.PosteriorProbability("x", [0]), PlannedParts(rows, parts, 2),  # type: ignore[arg-type]
                                  MeanNoise("k-norm", 3.0 / epsilon / parts, 1))[1.5]
    # Errors have a long tail, and where none is far out the tables' own standard error is too small: 0.0024 is a usual one.
    # Neither the parts nor the noise have a seed: seven of them.
    error = max(0.0022, float(np.std(errors)) / np.sqrt(len(errors)))
    assert abs(np.mean(errors) - expected) < 7 * error
    assert error < 0.1 * expected  # else the test could not fail


def test_the_power_of_one_part_of_many_rows_is_the_textbooks() -> None:
    question = nw.Criterion("likelihood-ratio", ["x", "z"], (0, 1000))  # type: ignore[arg-type]
    found = powers(question, PlannedParts(1e9, 1, 3), MeanNoise("gaussian", 1e-6, 1))
    for effect, power in found.items():
        assert power == pytest.approx(ncx2.sf(chi2.isf(0.05, 2), 2, effect**2), abs=0.02)


@pytest.mark.outer
def test_more_budget_is_better_and_bigger_tables_want_more_parts() -> None:
    small, large = (suggest_parts(rows=rows, predictors=2, epsilon=1.0, parts=(5, 20, 100)) for rows in (4000, 1_000_000))
    assert small.parts <= large.parts == 100
    rich = suggest_parts(rows=4000, predictors=2, epsilon=10.0, parts=(5, 20, 100))
    for line, better in zip(small.lines, rich.lines, strict=True):
        assert better.expected[0].loss < line.expected[0].loss
    tests = suggest_parts(rows=1_000_000, predictors=2, epsilon=1.0, parts=(5, 20, 2000),
                          questions=nw.Criterion("likelihood-ratio", "x"))  # type: ignore[arg-type]
    assert tests.parts == 20  # a mean of many parts' likelihood ratios has lost the direction of the effect


def test_plans_are_reproducible_documents() -> None:
    given = {"rows": 5000, "predictors": 2, "epsilon": 1.0, "delta": 1e-6, "parts": [20, 50],
             "questions": [{"ask": "posterior-quantile", "of": "x"}, {"ask": "posterior-quantile", "of": "z", "bounds": [0, 1]}]}
    first, second = suggest_parts(**given), suggest_parts(**given)  # type: ignore[arg-type]
    assert first.to_dict() == second.to_dict() and json.dumps(first.to_dict())
    assert first.mechanism == "gaussian" and [one.measure for one in first.best.expected] == ["width", "noise"]
    assert list(first.table().loc[(20, "z")].dropna().index) == ["rows per part", "limits", "measure", "share"]
    assert "parts" in repr(first) and "<table" in first._repr_html_()


def test_a_search_with_few_parts_misses_and_the_plan_says_so() -> None:
    plan = suggest_parts(rows=10_000, predictors=3, epsilon=1.0, parts=[20, 200], questions=nw.PosteriorQuantile("x"))  # type: ignore[arg-type]
    few, many = (line.expected[0].values["width"] for line in plan.lines)
    assert few > 1000 and 1.2 < many < 4 and plan.parts == 200


def test_limits_that_were_chosen_are_kept() -> None:
    chosen = nw.PosteriorProbability("x", [0], "stouffer", 2.5)  # type: ignore[arg-type]
    plan = suggest_parts(rows=5000, predictors=2, epsilon=1.0, parts=[20], questions=[chosen, nw.BayesFactor("x", limits=(-1, 1)),
                         nw.Criterion("bic", "x")])  # type: ignore[arg-type]
    assert plan.questions[:2] == (chosen, nw.BayesFactor("x", limits=(-1, 1)))  # type: ignore[arg-type]
    lower, upper = plan.questions[2].limits  # type: ignore[union-attr, misc]
    assert lower == pytest.approx(-np.log(250), rel=0.05) and upper > 0


def test_a_plan_has_the_noise_of_the_release() -> None:
    """Two numbers have more noise than one, and selections take their share."""
    one = suggest_parts(rows=5000, predictors=2, epsilon=1.0, parts=[50], questions=nw.PosteriorProbability(
        "x", [0], "rescaled-normal"))  # type: ignore[arg-type]
    two = suggest_parts(rows=5000, predictors=2, epsilon=1.0, parts=[50], questions=[nw.PosteriorProbability(
        "x", [0], "rescaled-normal"), nw.PosteriorQuantile("x")])  # type: ignore[arg-type]
    assert two.best.expected[0].loss > 1.2 * one.best.expected[0].loss


@pytest.mark.parametrize("wrong", [
    {"rows": 60}, {"rows": 1.5}, {"rows": True}, {"predictors": 0}, {"parts": []}, {"parts": [1]}, {"parts": [10**6]},
    {"questions": []}, {"questions": "x"}, {"questions": [{"ask": "?"}]},
])
def test_plans_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DeclarationError):
        suggest_parts(**{"rows": 5000, "predictors": 2, "epsilon": 1.0, **wrong})  # type: ignore[arg-type]


def test_a_budget_that_makes_no_sense_is_refused() -> None:
    for epsilon, delta in ((0.0, None), (1.0, 2.0), (float("nan"), None)):
        with pytest.raises(PrivacyError):
            suggest_parts(rows=5000, predictors=2, epsilon=epsilon, delta=delta)
