"""Sums of products of tables that could be: from assumptions about the columns, whatever the number of rows.

Predictors are a fixed pool of well-spread rows (quasi-random normal variables, put through each column's shape), from which a
table's rows are drawn; their responses are random. The Gram matrix of a table of n rows is simulated from m of them, m being n
or `MOST_DRAWN`, if that is less: n·M + √(n/m)·(G − m·M), where G is the matrix of the m rows and M the population's mean. That
has the mean and the covariance of n rows, is exact up to m rows and indistinguishable from it above, where both are normal, and
costs the same for ten million rows as for ten thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.errors import DeclarationError
from noisewise.planning.assumptions import Declared, Shape, Shares, check_columns, column_assumption, correlation_root, origin
from noisewise.planning.responses import NormalResponse, ResponseLaw, response_law
from noisewise.schema import Basis, Design

Array: TypeAlias = npt.NDArray[np.float64]

POOL: Final = 2**14
MOST_DRAWN: Final = 4096
INTERCEPT: Final = "Intercept"
CLIPPED_SHARE: Final = 0.01


@dataclass(frozen=True)
class Population:
    """Rows that could be, in scaled units, and their responses' law."""

    design: Design
    law: ResponseLaw
    columns: tuple[Shape | Shares, ...]
    response: Shape | Shares
    effects: Mapping[str, float]
    """Of every term, the intercept included, in the user's units."""
    rows: Array
    """The pool: (rows, used columns but the response), the constant first."""
    eta: Array
    used: tuple[int, ...]
    position: int
    """Of the response among the released columns."""
    mean: Array
    """E aaᵀ over the pool and the response, for all released columns; 0 for columns that the formula does not use."""

    @classmethod
    def of(cls, formula: str, basis: Basis, terms: str | None, family: str, effects: Mapping[str, float], sigma: float | None,
           declared: Declared, correlations: Mapping[tuple[str, str], float]) -> Population:
        design = Design.of(formula, basis, terms)
        if basis.norm_clipped:
            raise DeclarationError("a plan knows no bound on the norm of a row", found=f"norm_bound {basis.schema.norm_bound}",
                                   remedy="leave norm_bound out of the schema that is planned with")
        check_columns(declared, (*design.columns_needed, design.response))
        columns = tuple(column_assumption(basis.schema, name, declared) for name in design.columns_needed)
        response = column_assumption(basis.schema, design.response, declared, count=family == "poisson")
        law, centre = response_law(family, response, sigma)
        root = correlation_root(design.columns_needed, correlations)
        values = {column.column.name: column.values(normal)
                  for column, normal in zip(columns, root @ _normal_points(len(columns)), strict=True)}
        features = design.matrix({name: values[name] for name in design.columns_needed} if values else {"any": np.zeros(POOL)})
        found = _with_intercept(design, effects, features, law, centre)
        eta = features @ np.array(list(found.values()))
        used = (0, *(int(index) for index in np.flatnonzero(np.any(design.features != 0.0, axis=1)) if index))
        rows = basis.evaluate(values)[:, used] if values else np.ones((POOL, 1))
        (position,) = (int(index) for index in np.flatnonzero(design.target) if index)
        made = cls(design, law, columns, response, found, rows, eta, used, position, np.zeros(0))
        return cls(design, law, columns, response, found, rows, eta, used, position, made._mean())

    def _mean(self) -> Array:
        first, second = self.law.moments(self.eta)
        centre, half = self._scaling
        scaled = (first - centre) / half
        square = (second - 2 * centre * first + centre**2) / half**2
        return self._full(self.rows.T @ self.rows / POOL, self.rows.T @ scaled / POOL, float(square.mean()))

    def _full(self, gram: Array, cross: Array, total: float) -> Array:
        """The matrix of all released columns from that of the used ones."""
        size = self.design.basis.size
        matrix = np.zeros((size, size))
        matrix[np.ix_(self.used, self.used)] = gram
        matrix[self.position, list(self.used)] = matrix[list(self.used), self.position] = cross
        matrix[self.position, self.position] = total
        return matrix

    @property
    def _scaling(self) -> tuple[float, float]:
        """Middle and half width of the response; two levels are −1 and +1 already."""
        return (self.response.column.centre, self.response.column.half_width) if isinstance(self.response, Shape) else (0.0, 1.0)

    def gram(self, rows: int, random: np.random.Generator) -> Array:
        """The Gram matrix of one table."""
        drawn = min(rows, MOST_DRAWN)
        chosen = random.integers(0, POOL, drawn)
        a = self.rows[chosen]
        centre, half = self._scaling
        y = (self.law.draw(self.eta[chosen], random) - centre) / half
        matrix = self._full(a.T @ a, a.T @ y, float(y @ y))
        if rows > drawn:
            matrix = rows * self.mean + np.sqrt(rows / drawn) * (matrix - drawn * self.mean)
            matrix[0, 0] = rows
        return (matrix + matrix.T) / 2

    def standard_errors(self, rows: int) -> Array:
        """Of each coefficient without privacy: from Fisher's information of so many rows that are not clipped."""
        features = self.rows @ self.design.features[list(self.used)]
        information = features.T @ (features * self.law.information(self.eta)[:, None]) * (rows / POOL)
        return np.sqrt(np.diag(np.linalg.inv(information)))

    def words(self, *, sigma_declared: bool, level_declared: bool) -> tuple[str, ...]:
        """All that is taken for true about the columns, one line each. ``level_declared``: the intercept was given."""
        lines = [str(column) for column in self.columns]
        response, name = self.response, self.design.response
        mean, sure = float(self.law.mean(self.eta).mean()), level_declared or response.declared
        if isinstance(response, Shares):
            lines.append(f"{name}: {response.column.levels[1]} in {mean:.3g} of the rows" + origin(sure))
        elif isinstance(self.law, NormalResponse):
            lines.append(f"{name}: mean {mean:.4g}{origin(sure)}, residual sd {self.law.sigma:.4g}"
                         + origin(sigma_declared or response.declared))
        else:
            lines.append(f"{name}: Poisson, mean {mean:.4g}" + origin(sure))
        return tuple(lines)

    @property
    def clipped_share(self) -> float:
        """The share of responses beyond the declared bounds."""
        return float(self.law.clipped(self.eta).mean())


def _normal_points(count: int) -> Array:
    """Well-spread standard normal variables, one row for each column of the table."""
    from scipy.stats import norm, qmc

    if not count:
        return np.zeros((0, POOL))
    points = qmc.Sobol(count, rng=np.random.default_rng(0)).random(POOL)
    return np.asarray(norm.ppf(np.clip(points, 1e-9, 1 - 1e-9))).T


def _with_intercept(design: Design, effects: Mapping[str, float], features: Array, law: ResponseLaw, centre: float
                    ) -> dict[str, float]:
    """The coefficients of all terms; an intercept that is not given makes the mean of the response what is assumed."""
    from scipy.optimize import brentq

    for name, value in effects.items():
        if name not in design.terms:
            raise DeclarationError("effects are coefficients of terms of the formula", found=repr(name),
                                   remedy="the terms are " + ", ".join(design.terms))
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not np.isfinite(value):
            raise DeclarationError(f"the effect of {name} is a finite number", found=repr(value))
    found = {term: float(effects.get(term, 0.0)) for term in design.terms}
    if INTERCEPT not in found or INTERCEPT in effects:
        return found
    rest = features @ np.array(list(found.values()))

    def excess(level: float) -> float:
        return float(law.mean(level + rest).mean()) - centre

    reach = 1.0
    while excess(-reach) > 0 or excess(reach) < 0:
        reach *= 2
    found[INTERCEPT] = float(brentq(excess, -reach, reach, xtol=1e-12 * max(1.0, reach)))
    return found
