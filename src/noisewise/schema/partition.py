"""The public side of the fits in the parts of a table: the design of the regression, the prior of its coefficients, and how the
answers of the parts become the numbers that are averaged.

The latter are pure formulas. The data holder applies them to the parts of a confidential table, the analyst to simulated parts
in order to interpret a released mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import DeclarationError, FormulaError
from noisewise.schema.basis import Basis
from noisewise.schema.bayes_factors import exact_log_bayes_factors
from noisewise.schema.columns import is_finite_number
from noisewise.schema.design import Design
from noisewise.schema.formula import parse_formula
from noisewise.schema.questions import BayesFactor, Contrast, Criterion, Limits, PosteriorProbability, Question, written
from noisewise.schema.schema import Schema
from noisewise.words import option

MOST_PARTS: Final = 100_000
SMALLEST_PROBABILITY: Final = 1e-300
PARTS_AT_ONCE: Final = 4096
"""Few enough that `exact_log_bayes_factors` does not interpolate: each value would then depend on the other parts."""
INTERCEPT: Final = "Intercept"
PRIORS: Final[Mapping[str, tuple[str, ...]]] = {"flat": (), "zellner": ("g",), "normal-inverse-gamma": ("scale", "shape", "rate")}
"""The priors, and the numbers each takes."""


@dataclass(frozen=True)
class PartPrior:
    """The prior of the coefficients in each part. The intercept, if any, has a flat prior.

    ``flat``: p(beta, sigma²) ∝ 1/sigma². ``zellner``: slopes N(0, g sigma² S⁻¹), where S is their matrix of centred moments.
    Take ``g`` from an analysis of the whole table: then the parts together shrink as much as the whole table would.
    ``normal-inverse-gamma``: independent slopes N(0, sigma² scale²), and sigma² inverse gamma with ``shape`` and ``rate``.
    """

    name: str = "flat"
    g: float | None = None
    scale: float | None = None
    shape: float | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        if self.name not in PRIORS:
            raise DeclarationError("unknown prior of the coefficients", found=repr(self.name), known=PRIORS)
        needed = PRIORS[self.name]
        for name in ("g", "scale", "shape", "rate"):
            value = getattr(self, name)
            if (name in needed) != (value is not None):
                raise DeclarationError(f"the prior {self.name} takes " + (", ".join(needed) or "no numbers"),
                                       found=f"{name}={value!r}", remedy=f"give {name}" if value is None else f"leave {name} out")
            if value is not None and not (is_finite_number(value) and 1e-12 <= value <= 1e15):
                raise DeclarationError(f"{name} of a prior must be between 1e-12 and 1e15", found=repr(value),
                                       remedy="for example 1")
            object.__setattr__(self, name, None if value is None else float(value))

    @classmethod
    def from_dict(cls, declared: object) -> PartPrior:
        """The prior from its name, or from a dictionary with its name and numbers."""
        if isinstance(declared, PartPrior):
            return declared
        if declared is None or isinstance(declared, str):
            return cls(declared or "flat")
        if not isinstance(declared, Mapping) or not set(declared) <= {"name", "g", "scale", "shape", "rate"}:
            raise DeclarationError("a prior must be a name, or a dictionary of its name and numbers", found=repr(declared)[:200],
                                   remedy='for example {"name": "zellner", "g": 10000}')
        return cls(**declared)

    def to_dict(self) -> dict[str, object]:
        """The prior as plain data, without numbers it does not take."""
        return {key: value for key, value in vars(self).items() if value is not None}

    def describe(self) -> str:
        """The prior and its numbers, in words."""
        numbers = ", ".join(f"{key} {value:g}" for key, value in vars(self).items() if key != "name" and value is not None)
        return f"{self.name}, {numbers}" if numbers else self.name


def part_design(schema: Schema, formula: str, questions: Sequence[Question]) -> Design:
    """The design of the regression, with unscaled columns. Refuses questions about other coefficients."""
    if not isinstance(formula, str):
        raise DeclarationError("a partition release needs the formula of its regression", argument="formula",
                               found=repr(formula), remedy="give " + option("formula", "response ~ predictor + predictor"))
    design = _read(schema, formula)
    for question in questions:
        if isinstance(question, (BayesFactor, Criterion)):
            _check_hypothesis(design, question)
        else:
            contrast_row(design, question.of)
    return design


@lru_cache(maxsize=64)
def _read(schema: Schema, formula: str) -> Design:
    """Read a formula. Cached, because a release reads its formula whenever it is made, filled, loaded or answered."""
    parsed = parse_formula(formula)
    plain = [factor.text for term in parsed.terms for factor in term if not factor.arithmetic]
    for column in (parsed.response, *plain):
        if column is not None and column not in schema.names:
            raise FormulaError("the formula names a column that was not declared", found=column, known=schema.names)
    right = formula.split("~", 1)[1] if "~" in formula else formula
    return Design.of(formula, Basis.of(schema.with_unit_bounds(), right))


def contrast_row(design: Design, of: Contrast) -> Array:
    """A combination as weights of all coefficients of the design."""
    row = np.zeros(len(design.terms))
    for name, weight in of:
        if name not in design.terms:
            raise FormulaError("a question must be about coefficients of the formula", found=name, known=design.terms)
        row[design.terms.index(name)] = weight
    return row


def expand_terms(design: Design, of: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """Replace each term that has several columns, such as a category, by its columns."""
    found: list[Contrast] = []
    for one in of:
        if len(one) == 1 and one[0][0] not in design.terms and one[0][0] in design.written:
            found += [((name, 1.0),) for name, term in zip(design.terms, design.written, strict=True) if term == one[0][0]]
        else:
            found.append(one)
    return tuple(found)


def hypothesis_matrix(design: Design, question: BayesFactor | Criterion) -> Array:
    """The matrix C of the hypothesis C beta = 0, one row for each combination."""
    return np.array([contrast_row(design, one) for one in question.of])


def _check_hypothesis(design: Design, question: BayesFactor | Criterion) -> None:
    rows = hypothesis_matrix(design, question)
    if np.linalg.matrix_rank(rows) < len(rows):
        raise FormulaError("the combinations of a hypothesis must be linearly independent",
                           found=", ".join(map(written, question.of)), remedy="leave one out")
    if INTERCEPT in design.terms and np.any(rows[:, design.terms.index(INTERCEPT)]):
        raise FormulaError("a hypothesis must be about slopes, not about the intercept", found=INTERCEPT,
                           remedy="leave the intercept out")


def transformed(probabilities: Array, question: PosteriorProbability) -> Array:
    """The probabilities of the parts, transformed for averaging."""
    from scipy.special import ndtri

    if question.combine == "rescaled-normal":
        return probabilities
    if question.combine == "fisher":
        return np.asarray(-2.0 * np.log(np.maximum(probabilities, SMALLEST_PROBABILITY)))
    return np.asarray(ndtri(np.clip(probabilities, SMALLEST_PROBABILITY, 1.0 - 2.0**-53)))


def hypothesis_statistic(question: BayesFactor | Criterion, unexplained: Array, rows: Array, coefficients: int) -> Array:
    """The log Bayes factor or criterion of each part, from 1 − R² and its number of rows; shape (1, parts)."""
    tested = len(question.of)
    if isinstance(question, BayesFactor):
        found = log_bayes_factors(unexplained, rows, tested, coefficients - tested, question.prior)
    else:
        size = np.maximum(rows, 1.0)
        penalty: dict[str, Array | float] = {"likelihood-ratio": 0.0, "aic": 2.0, "bic": np.log(size)}
        found = -size * np.log(unexplained) - tested * penalty[question.name]
    return np.nan_to_num(found, nan=0.0)[None, :]


def log_bayes_factors(unexplained: Array, rows: Array, tested: int, kept: int, prior: str) -> Array:
    """The log Bayes factor of each part, with g = its number of rows; 0 for parts without enough rows.

    All values are computed for each size that occurs, so that no part's number depends on the sizes of the others.
    """
    result = np.zeros(len(unexplained))
    sizes = [size for size in np.unique(rows) if size > tested + kept]
    for start in range(0, len(unexplained), PARTS_AT_ONCE):
        some = slice(start, start + PARTS_AT_ONCE)
        columns = np.full(len(unexplained[some]), tested)
        for size in sizes:
            found = exact_log_bayes_factors(unexplained[some], columns, size - kept, size, prior)
            result[some] = np.where(rows[some] == size, found, result[some])
    return result


def on_scale(values: Array, limits: Limits, steps: int) -> npt.NDArray[np.int64]:
    """Values clipped to their limits, as whole numbers from 0 to ``steps``."""
    lower, upper = limits
    inside = np.clip(np.nan_to_num(values, nan=(lower + upper) / 2.0, posinf=upper, neginf=lower), lower, upper)
    return np.clip(np.rint((inside - lower) / (upper - lower) * steps), 0, steps).astype(np.int64)
