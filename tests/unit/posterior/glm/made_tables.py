"""Tables with a binary outcome, a count, numbers and categories; releases of them with seeded noise; the fits of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.unit.posterior.seeded_release import seeded_release

import noisewise as nw
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.schema import Design

Array = NDArray[np.float64]
COLUMNS = {"y": {"levels": ["no", "yes"]}, "c": {"bounds": [0, 10]}, "x": {"bounds": [-4, 4]}, "w": {"bounds": [-4, 4]},
           "g": {"levels": ["a", "b"]}, "h": {"levels": ["p", "q", "r"]}}
TRUTH = {"Intercept": -0.3, "x": 0.8, "w": -0.5, "g[T.b]": 0.6}


def schema(adjacency: str = "replace-one", columns: dict[str, Any] | None = None) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "columns": COLUMNS if columns is None else columns})


def table(seed: int, rows: int) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    x, w = generator.normal(size=(2, rows))
    g = generator.random(rows) < 0.4
    eta = -0.3 + 0.8 * x - 0.5 * w + 0.6 * g
    return {"y": np.where(generator.random(rows) < 1 / (1 + np.exp(-eta)), "yes", "no"),
            "c": np.minimum(generator.poisson(np.exp(0.4 * eta)), 10).astype(float), "x": x, "w": w,
            "g": np.where(g, "b", "a"), "h": generator.choice(["p", "q", "r"], rows, p=[0.5, 0.3, 0.2])}


def released(seed: int = 1, rows: int = 5000, epsilon: float = 2.0, adjacency: str = "replace-one", **options: Any) -> nw.Release:
    """``options`` are those of kind gram."""
    delta = None if options.get("mechanism") == "laplace" else 1e-6
    return seeded_release(table(seed, rows), schema(adjacency), seed, nw.Gram(**options), epsilon=epsilon, delta=delta)


def model(formula: str, release: nw.Release, family: str = "logistic", prior: nw.Prior | None = None) -> GlmModel:
    return GlmModel.of(release, Design.of(formula, release.basis, release.terms), FAMILIES[family], prior)


def maximum_likelihood(design: Array, response: Array, family: str) -> tuple[Array, Array]:
    """Coefficients and standard errors of the rows themselves, by Newton's method; y = 0, 1 or a count."""
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        eta = design @ beta
        mean = 1 / (1 + np.exp(-eta)) if family == "logistic" else np.exp(eta)
        weight = mean * (1 - mean) if family == "logistic" else mean
        information = (design.T * weight) @ design
        beta = beta + np.linalg.solve(information, design.T @ (response - mean))
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))
