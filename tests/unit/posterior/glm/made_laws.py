"""Distributions of rows for the tests: normal columns, and categories with numbers that depend on them; and rows of them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.posterior.glm.columns import Layout, cell_basis, start

Array = NDArray[np.float64]


class Law(NamedTuple):
    """Rows a = (1, b, z): P(cell), the mean of a in each cell, the covariance of a in a cell."""

    probabilities: Array
    means: Array
    covariance: Array

    def cells(self) -> dict[str, Array]:
        """As a layout gives them: the categories' columns and a basis of the quadratic functions on their cells."""
        cells = self.means[:, np.diag(self.covariance) == 0][:, 1:]
        return {"cells": cells, "cell_basis": cell_basis(cells)}

    def rows(self, generator: np.random.Generator, count: int) -> Array:
        cells = generator.choice(len(self.probabilities), count, p=self.probabilities)
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        drawn: Array = self.means[cells] + generator.normal(size=(count, len(values))) @ root.T
        return drawn


def normal_law(numbers: int = 3) -> Law:
    spread = 0.5 ** np.abs(np.subtract.outer(np.arange(numbers), np.arange(numbers))) * 0.3
    covariance = np.zeros((numbers + 1, numbers + 1))
    covariance[1:, 1:] = spread
    return Law(np.ones(1), np.append(1.0, np.linspace(-0.2, 0.3, numbers))[None], covariance)


def mixed_law() -> Law:
    """Two binary columns, whose four cells are not independent, and two numbers with other means in every cell."""
    cells = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    numbers = np.array([0.1, -0.2]) + cells @ np.array([[0.2, 0.0], [-0.1, 0.3]])
    covariance = np.zeros((5, 5))
    covariance[3:, 3:] = [[0.2, 0.08], [0.08, 0.3]]
    return Law(np.array([0.35, 0.15, 0.2, 0.3]), np.column_stack([np.ones(4), cells, numbers]), covariance)


LAWS = {"normal": normal_law(), "mixed": mixed_law()}


def direction(law: Law, norm: float) -> Array:
    """Coefficients whose linear predictor has this standard deviation, with an intercept."""
    theta = np.append(0.2, np.resize([1.0, -0.6, 0.8, -0.3], law.means.shape[1] - 1))
    centre = law.probabilities @ law.means
    second = (law.means.T * law.probabilities) @ law.means + law.covariance
    theta[1:] *= norm / np.sqrt(theta[1:] @ (second - np.outer(centre, centre))[1:, 1:] @ theta[1:])
    return theta


def three_categories() -> Law:
    """Eight cells, of whose functions one is not quadratic, and a number."""
    cells = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    weights = np.exp(cells @ [0.2, -0.1, 0.3] + 0.3 * cells[:, 0] * cells[:, 1])
    covariance = np.zeros((5, 5))
    covariance[4, 4] = 0.3
    return Law(weights / weights.sum(), np.column_stack([np.ones(8), cells, cells @ [0.1, 0.2, -0.1]]), covariance)


def size_of(layout: Layout) -> int:
    """How many parameters the distribution of its columns has."""
    return len(start(layout, np.eye(len(layout.order))))
