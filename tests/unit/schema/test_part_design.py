"""The public side of fits in parts: priors, designs without bounds, and which combinations can be asked about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.refusals import about

from noisewise.errors import DeclarationError, FormulaError
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior, contrast_row, expand_terms, hypothesis_matrix, part_design
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}, "age": {"bounds": [20, 80]}, "ward": {"levels": ["A", "B", "C"]}}})


def test_priors_are_read_written_and_described() -> None:
    for prior in (PartPrior(), PartPrior("zellner", g=100), PartPrior("normal-inverse-gamma", scale=1, shape=2, rate=3)):
        assert PartPrior.from_dict(prior.to_dict()) == prior and PartPrior.from_dict(prior) is prior
    assert PartPrior.from_dict(None) == PartPrior.from_dict("flat") == PartPrior()
    assert PartPrior("zellner", g=100).describe() == "zellner, g 100" and PartPrior().describe() == "flat"


@pytest.mark.parametrize(("given", "message"), [
    ("ridge", "unknown prior"), ("zellner", "prior zellner takes g"), ({"name": "flat", "g": 3}, "takes no numbers"),
    ({"name": "zellner", "g": 0}, "must be between 1e-12"), ({"name": "zellner", "g": "many"}, "must be between 1e-12"),
    ({"name": "normal-inverse-gamma", "scale": 1, "shape": 1}, "prior normal-inverse-gamma takes"),
    ({"name": "zellner", "n": 3}, "dictionary of its name and numbers"), (3, "dictionary of its name and numbers"),
])
def test_what_is_no_prior_is_refused(given: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        PartPrior.from_dict(given)


def test_designs_are_in_the_users_units() -> None:
    design = part_design(SCHEMA, "y ~ x + age + ward", ())
    assert design.terms == ("Intercept", "x", "age", "ward[T.B]", "ward[T.C]")
    used = {column: row for column, row in zip(design.basis.names, design.features, strict=True)}
    assert used["x"][1] == 1.0  # as it is, whatever its bounds


@pytest.mark.parametrize(("formula", "message"), [
    ("y ~ height", "was not declared"), ("weight ~ x", "was not declared"), ("y ~ y", "own predictors"),
])
def test_formulas_that_cannot_be_fitted_are_refused(formula: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        part_design(SCHEMA, formula, ())


def test_a_formula_is_needed() -> None:
    with pytest.raises(DeclarationError, check=about("formula")):
        part_design(SCHEMA, None, ())  # type: ignore[arg-type]


def test_combinations_become_rows_and_categories_all_their_columns() -> None:
    design = part_design(SCHEMA, "y ~ x + ward", ())
    assert contrast_row(design, (("ward[T.C]", 2.0), ("Intercept", 1.0))).tolist() == [1.0, 0.0, 0.0, 2.0]
    expanded = expand_terms(design, BayesFactor(["ward", "x"]).of)
    assert expanded == ((("ward[T.B]", 1.0),), (("ward[T.C]", 1.0),), (("x", 1.0),))
    assert np.array_equal(hypothesis_matrix(design, BayesFactor(list(expanded))), np.eye(4)[[2, 3, 1]])


@pytest.mark.parametrize(("question", "message"), [
    (PosteriorProbability("age", 0.0), "coefficients of the formula"),
    (PosteriorQuantile("ward"), "coefficients of the formula"),
    (BayesFactor(["x", "2*x"]), "must be linearly independent"),
    (Criterion("bic", ["x", "ward[T.B]", "x - ward[T.B]"]), "must be linearly independent"),
    (BayesFactor("Intercept - x"), "not about the intercept"),
])
def test_questions_that_the_formula_cannot_answer_are_refused(question: Any, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        part_design(SCHEMA, "y ~ x + ward", (question,))


def test_the_intercept_may_be_asked_about_in_probabilities() -> None:
    asked = (PosteriorProbability("Intercept + 20*x", 0.0), PosteriorQuantile("Intercept"))
    assert part_design(SCHEMA, "y ~ x", asked).terms == ("Intercept", "x")
