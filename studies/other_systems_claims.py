"""Checks on what other systems say they spend: a few facts that can be counted with the installed versions.

Nothing is attacked. Mechanisms of diffprivlib are watched while it fits made-up rows, and numbers that should carry noise are
compared with those without it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from studies.other_systems import EPSILONS
from studies.other_systems_fits import Where, needed, our_release, theil_sen
from studies.other_systems_problem import DELTA, Problem, table
from studies.other_systems_r import NotRunError, row_microseconds

PREDICTORS = 5
LONGEST = math.sqrt(PREDICTORS + 1)
"""The norm of a row of the constant and predictors within ±1."""
CURVATURE = 0.25
"""The largest second derivative of the logistic loss."""
LONG = 100.0
LOGISTIC_EPSILON = 1.0
LOGISTIC_FITS = 4000
RIDGES = (1.0, 10.0)
"""1 / C in the comparison."""


def claims(where: Where) -> list[dict[str, Any]]:
    """Lines of name, value and note; a missing package gives a line that says so."""
    found: list[dict[str, Any]] = []
    for name, check in CHECKS.items():
        try:
            found.append({"name": name, "value": check(where), "status": "ran"})
        except NotRunError as reason:
            found.append({"name": name, "value": "", "status": f"not run: {reason}"})
    return found


@contextmanager
def watched() -> Iterator[list[tuple[str, float, float]]]:
    """Name, ε and sensitivity of every Laplace mechanism of diffprivlib that randomises a number meanwhile."""
    laplace = needed("diffprivlib.mechanisms.laplace")
    seen: list[tuple[str, float, float]] = []
    original = {kind: kind.randomise for kind in (laplace.Laplace, laplace.LaplaceTruncated, laplace.LaplaceFolded)}

    def watching(kind: Any) -> Any:
        def randomise(self: Any, value: Any) -> Any:
            if type(self) is kind:  # subclasses call their parent's, which is not another use
                seen.append((kind.__name__, float(self.epsilon), float(self.sensitivity)))
            return original[kind](self, value)
        return randomise

    for kind in original:
        kind.randomise = watching(kind)
    try:
        yield seen
    finally:
        for kind, method in original.items():
            kind.randomise = method


def _fitted(bounds: tuple[float, float], fit_intercept: bool) -> tuple[Any, Any, Any]:
    """A linear regression on uniform rows at ε = 1, the rows, and its accountant."""
    models = needed("diffprivlib.models")
    accountant = needed("diffprivlib.accountant").BudgetAccountant()
    rng = np.random.default_rng(1)
    x = rng.uniform(*bounds, (1_000, PREDICTORS))
    y = x.mean(axis=1)
    model = models.LinearRegression(epsilon=1.0, bounds_X=bounds, bounds_y=bounds, fit_intercept=fit_intercept,
                                    accountant=accountant)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(x, y), x, accountant


def exact_sums_of_squares(where: Where) -> int:
    """How many of the five sums of squares of the predictors carry no noise, with bounds (0, 100) and no intercept."""
    model, x, _ = _fitted((0.0, 100.0), fit_intercept=False)
    return int(np.sum(np.diag(model._obj_coefs[2]) == np.einsum("ij,ij->j", x, x)))


def exact_sums_of_squares_symmetric(where: Where) -> int:
    """The same with bounds (−1, 1), as in the comparison."""
    model, x, _ = _fitted((-1.0, 1.0), fit_intercept=False)
    return int(np.sum(np.diag(model._obj_coefs[2]) == np.einsum("ij,ij->j", x, x)))


def spent_with_intercept(where: Where) -> float:
    """The sum of the ε of all mechanisms that randomise numbers in one fit at ε = 1 with five predictors."""
    with watched() as seen:
        _fitted((-1.0, 1.0), fit_intercept=True)
    return sum(epsilon for _, epsilon, _ in seen)


def spent_without_intercept(where: Where) -> float:
    with watched() as seen:
        _fitted((-1.0, 1.0), fit_intercept=False)
    return sum(epsilon for _, epsilon, _ in seen)


def recorded(where: Where) -> float:
    """The amount that diffprivlib's accountant records for that fit."""
    return float(_fitted((-1.0, 1.0), fit_intercept=True)[2].total()[0])


def logistic_left_for_noise(where: Where) -> float:
    """The part of ε = 1 that diffprivlib's logistic regression gives to its noise at C = 1, rows of norm √5, with intercept."""
    needed("diffprivlib.models")
    return 1.0 - 2 * math.log1p(CURVATURE * LONGEST)


def logistic_loss_at_zero(where: Where) -> float:
    """The privacy loss of the coefficient 0 in `_logistic_tables`, from diffprivlib's formulas.

    Chaudhuri, Monteleoni and Sarwate (2011, theorem 9) have rows of norm at most 1 and set 2 ln(1 + c / α) aside, α = 1 / C. With
    rows x of norm q write x = q z and f = g / q: the ridge becomes α / q², so that it is 2 ln(1 + c q² / α); q takes the place of
    q² in the library. Where too little is left it raises α to c q / (exp(ε / 4) − 1) and gives ε / 2 to the noise b, of density
    exp(−ε |b| / 4 q). The fit is 0 where b cancels the gradient: q / 2 with the row (q, 1), 0 without it. The row raises the
    derivative of b by the coefficient from α to α + c q².
    """
    needed("diffprivlib.models")
    raised = CURVATURE * LONG / math.expm1(LOGISTIC_EPSILON / 4)
    return math.log1p(CURVATURE * LONG**2 / raised) - LOGISTIC_EPSILON / 4 / LONG * LONG / 2


def logistic_spent(where: Where) -> float:
    """A lower bound on the amount spent there, with 95 % confidence: coefficients near 0 are counted with and without the row."""
    from scipy.stats import beta

    models = needed("diffprivlib.models")
    counts = []
    for place, (x, y) in enumerate(_logistic_tables()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [models.LogisticRegression(epsilon=LOGISTIC_EPSILON, data_norm=LONG, fit_intercept=False, tol=1e-10,
                                               max_iter=1000, random_state=seed).fit(x, y).coef_[0, 0]
                     for seed in range(place * LOGISTIC_FITS, (place + 1) * LOGISTIC_FITS)]
        counts.append(int(np.sum(np.abs(found) < 1 / LONG)))
    often, seldom = counts
    least = beta.ppf(0.025, often, LOGISTIC_FITS - often + 1)
    most = beta.ppf(0.975, seldom + 1, LOGISTIC_FITS - seldom)
    return float(math.log(least / most))


def _logistic_tables() -> list[tuple[Any, Any]]:
    """Ten rows, all zero except the last one, and the neighbour with only zeros."""
    y = np.array([0, 1] * 5)
    neighbour = np.zeros((len(y), 1))
    x = neighbour.copy()
    x[-1] = LONG
    return [(x, y), (neighbour, y)]


def logistic_excess_here(where: Where) -> float:
    """An upper bound on what the logistic fits of the comparison spend, as a multiple of ε, if the intercept were penalised.

    Sharper than the theorem's: a replaced row adds a matrix of rank one to the Hessian and takes one away, so that the ratio of
    the determinants is at most 1 + c q² / α, without its square.
    """
    needed("diffprivlib.models")
    worst = 0.0
    for epsilon in EPSILONS:
        for ridge in RIDGES:
            noise, alpha = epsilon - 2 * math.log1p(CURVATURE * LONGEST / ridge), ridge
            if noise <= 0:
                noise, alpha = epsilon / 2, CURVATURE * LONGEST / math.expm1(epsilon / 4)
            worst = max(worst, (noise + math.log1p(CURVATURE * LONGEST**2 / alpha)) / epsilon)
    return worst


def theil_sen_loss(where: Where) -> float:
    """OpenDP's own statement of ε for a replaced row, at scale 1."""
    return float(theil_sen(1.0).measurement.map(2))


def dapper_row(where: Where) -> float:
    """Microseconds for one row in one iteration, without dapper itself: what the user's functions take in R."""
    problem = Problem("linear", 2_000, PREDICTORS, 1.0)
    return row_microseconds(problem, our_release(problem, table(problem, 0)), where.rscript)


def our_delta(where: Where) -> float:
    """δ at our ε = 1 of the noise that a release states, by dp-accounting's privacy loss distributions."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    problem = Problem("linear", 2_000, PREDICTORS, 1.0)
    part = our_release(problem, table(problem, 0)).contributions[0]
    # The sensitivity is in the Frobenius norm, in which an entry off the diagonal counts twice and has half the variance.
    return float(PLDAccountant().compose(GaussianDpEvent(part.noise.diagonal / part.sensitivity)).get_delta(1.0)) / DELTA


CHECKS = {check.__name__: check for check in (
    exact_sums_of_squares, exact_sums_of_squares_symmetric, spent_with_intercept, spent_without_intercept, recorded,
    logistic_left_for_noise, logistic_loss_at_zero, logistic_spent, logistic_excess_here, theil_sen_loss, dapper_row, our_delta)}
