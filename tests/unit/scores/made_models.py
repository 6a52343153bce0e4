"""Small regressions whose releases are simulated with a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from studies.model_tables import Array, SimulatedModel

from noisewise.schema import Basis, Design, Schema

TRUTH = np.array([-0.5, 0.8, -0.6])
OF_COUNTS = np.array([-0.5, 0.3, -0.2])
"""So small that no count reaches its bound."""
FORMULA = "y ~ a + b"


def model_of(family: str, epsilon: float, *, formula: str = FORMULA) -> SimulatedModel:
    response: dict[str, Any] = {"gaussian": {"bounds": [-8, 8]}, "poisson": {"bounds": [0, 20]},
                                "negative-binomial": {"bounds": [0, 20]}}.get(family, {"levels": [0, 1]})
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
        "a": {"bounds": [0, 8]}, "b": {"bounds": [-4, 4]}, "y": response}})
    return SimulatedModel.of(Design.of(formula, Basis.of(schema)), family, epsilon, 1e-6)


def table_of(model: SimulatedModel, rows: int, random: np.random.Generator) -> tuple[Array, Array]:
    """The released columns of a made-up table with skewed and correlated predictors, and the response."""
    truth = OF_COUNTS if model.family in ("poisson", "negative-binomial") else TRUTH
    z = random.normal(size=(2, rows))
    a, b = np.minimum(np.exp(0.5 * z[0]), 8.0), np.clip(0.6 * z[0] + 0.8 * z[1], -4, 4)
    eta = truth[0] + truth[1] * a + truth[2] * b
    if model.family == "gaussian":
        y = np.clip(eta + random.normal(size=rows), -8, 8)
    elif model.family == "poisson":
        y = np.minimum(random.poisson(np.exp(eta)), 20).astype(float)
    elif model.family == "negative-binomial":
        y = np.minimum(random.poisson(np.exp(eta) * random.gamma(2.0, 0.5, size=rows)), 20).astype(float)
    elif model.family == "probit":
        y = (eta + random.normal(size=rows) > 0).astype(float)
    else:
        y = (random.random(rows) < 1 / (1 + np.exp(-eta))).astype(float)
    low, high = (0.0, 1.0) if y.max() <= 1 and model.family in ("logistic", "probit") else (
        (-8.0, 8.0) if model.family == "gaussian" else (0.0, 20.0))
    table = np.column_stack([np.ones(rows), a / 4 - 1, b / 4, 2 * (y - low) / (high - low) - 1])
    return table, y


def exact_fit(model: SimulatedModel, table: Array, response: Array) -> tuple[Array, Array]:
    """Maximum likelihood without privacy, and its standard errors, by iteratively reweighted least squares."""
    from scipy.special import expit, ndtr

    x = table[:, :-1] @ model.design.features[:-1]
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        eta = x @ beta
        if model.family == "gaussian":
            mean, slope, variance = eta, np.ones_like(eta), np.ones_like(eta)
        elif model.family == "logistic":
            mean = expit(eta)
            slope = variance = mean * (1 - mean)
        elif model.family == "probit":
            mean, slope = ndtr(eta), np.exp(-(eta**2) / 2) / np.sqrt(2 * np.pi)
            variance = mean * (1 - mean)
        else:
            mean = np.exp(np.minimum(eta, 10))
            slope = mean
            variance = mean if model.family == "poisson" else mean + 0.5 * mean**2
        information = (x * (slope**2 / variance)[:, None]).T @ x
        step = np.linalg.solve(information, x.T @ (slope * (response - mean) / variance))
        beta = beta + step
        if np.max(np.abs(step)) < 1e-10:
            break
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))
