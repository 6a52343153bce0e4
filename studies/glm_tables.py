"""Made-up tables for the studies of generalised linear models, and simulated releases of them.

The noise comes from a seeded generator with the scale that the library would use, for studies only. A release that protects
anybody is made by ``noisewise.release``, whose noise cannot be seeded.

Features are correlated through a normal copula (0.4 between neighbours). Coefficients are set as effects of one standard
deviation of a term, so that ‖θ‖ means the same whatever the features look like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import poisson

from noisewise.holder.gram import plan_gram
from noisewise.kinds import Gram
from noisewise.posterior.glm.columns import Layout
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.releases.contents.gram import EntryNoise
from noisewise.schema import Basis, Categorical, Design, Factor, Schema
from studies.tables import SimulatedPart, simulated_noise

Array = npt.NDArray[np.float64]

DELTA = 1e-6
CENTRE = 0.3
"""The linear predictor's mean."""
LARGEST_COUNT = 20
"""The declared maximum of a Poisson response."""
PATTERN = (1.0, -0.7, 0.4, 0.8, -0.5, 0.6, -0.9, 0.3)
"""Relative sizes of the effects."""


@dataclass(frozen=True)
class Kind:
    """One kind of feature: the holder's declaration, and its values from standard normal ones."""

    declared: dict[str, Any]
    values: Callable[[Array], Array]


def _levels(*shares: float) -> Kind:
    """Categories 0, 1, … with these shares."""
    return Kind({"levels": list(range(len(shares)))}, lambda z: np.searchsorted(np.cumsum(shares)[:-1], ndtr(z)).astype(float))


def _lognormal(shape: float, largest: float) -> Kind:
    return Kind({"bounds": [0, largest]}, lambda z: np.minimum(np.exp(shape * z), largest))


KINDS = {
    "normal": Kind({"bounds": [-4, 4]}, lambda z: np.clip(z, -4.0, 4.0)),
    "binary": _levels(0.5, 0.5),
    "rare": _levels(0.9, 0.1),
    "three": _levels(0.5, 0.3, 0.2),
    "count": Kind({"bounds": [0, 10]}, lambda z: np.minimum(np.searchsorted(poisson.cdf(np.arange(10), 2.0), ndtr(z)), 10.0)),
    "uniform": Kind({"bounds": [0, 1]}, ndtr),
    "skewed": _lognormal(0.6, 8.0),
    "very skewed": _lognormal(1.0, 30.0),
}


@dataclass(frozen=True)
class World:
    """A kind of table: its features, the formula's right-hand side, and the products that the release has to hold for it."""

    features: tuple[str, ...]
    products: str | None = None
    correlation: float = 0.4
    """The correlation between neighbours of the normal variables that the features are made from."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"x{index}" for index in range(1, len(self.features) + 1))

    def formula(self) -> str:
        return "y ~ " + " + ".join((*self.names, *((self.products,) if self.products else ())))

    def draw(self, rng: np.random.Generator, rows: int) -> dict[str, Array]:
        z = rng.normal(size=(len(self.features), rows))
        for j in range(1, len(z)):
            z[j] = self.correlation * z[j - 1] + np.sqrt(1 - self.correlation**2) * z[j]
        return {name: KINDS[kind].values(column) for name, kind, column in zip(self.names, self.features, z, strict=True)}


WORLDS = {
    "normal": World(("normal",) * 3),
    "independent": World(("normal",) * 3, correlation=0.0),
    "binary": World(("binary",) * 3),
    "rare": World(("rare",) * 3),
    "count": World(("count",) * 3),
    "uniform": World(("uniform",) * 3),
    "skewed": World(("skewed",) * 3),
    "very skewed": World(("very skewed",) * 3),
    "mixed": World(("binary", "three", "normal", "normal", "skewed")),
    "square": World(("normal", "normal"), "I(x1**2)"),
    "product": World(("normal", "rare"), "x1:x2"),
}


@dataclass(frozen=True)
class Study:
    """One kind of table with one family: everything that does not change from replicate to replicate."""

    world: World
    family: str
    design: Design
    means: Array
    """Of the formula's terms, over the population."""
    deviations: Array

    @classmethod
    @cache
    def of(cls, world: str, family: str) -> Study:
        chosen = WORLDS[world]
        response = {"levels": [0, 1]} if family != "poisson" else {"bounds": [0, LARGEST_COUNT]}
        declared = {name: KINDS[kind].declared for name, kind in zip(chosen.names, chosen.features, strict=True)}
        schema = Schema.from_dict({"adjacency": "replace-one", "columns": {**declared, "y": response}})
        design = Design.of(chosen.formula(), Basis.of(schema, chosen.products), chosen.products)
        columns = chosen.draw(np.random.default_rng(0), 1_000_000)
        terms = basis_rows(design, columns) @ design.features
        deviations = terms.std(axis=0)
        return cls(chosen, family, design, terms.mean(axis=0), np.where(deviations > 0, deviations, 1.0))

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(self.design.terms)

    def prior_deviations(self, slope_sd: float | None = None) -> Array:
        """Of the effects (the intercept's in the middle of the predictors), by the family's default or with another width."""
        any_release = self.release(np.eye(self.design.basis.size), 1, self.noise(1.0))
        model = GlmModel.of(any_release, self.design, FAMILIES[self.family], None)
        found = np.array(model.data["prior_sd"])
        if slope_sd is not None:
            found[1:] *= slope_sd / FAMILIES[self.family].slope_sd
        return found

    def coefficients(self, effects: Array) -> Array:
        """Coefficients in the user's units, from the linear predictor's mean and effects of one standard deviation."""
        slopes = effects[..., 1:] / self.deviations[1:]
        return np.concatenate([effects[..., :1] - (slopes @ self.means[1:])[..., None], slopes], axis=-1)

    def fixed_effects(self, norm: float) -> Array:
        pattern = np.array(PATTERN[:len(self.terms) - 1])
        return np.append(CENTRE, norm * pattern / np.linalg.norm(pattern))

    def noise(self, epsilon: float) -> EntryNoise:
        mechanism = plan_gram(self.design.basis, epsilon, DELTA)
        return EntryNoise("gaussian", *mechanism.entry_sd())

    def matrix(self, rng: np.random.Generator, rows: int, beta: Array) -> Array:
        """The exact sums of a new table."""
        table = basis_rows(self.design, self.world.draw(rng, rows))
        position = int(np.flatnonzero(self.design.target)[-1])
        table[:, position] = self.response(rng, table @ (self.design.features @ beta))
        return table.T @ table

    def response(self, rng: np.random.Generator, eta: Array) -> Array:
        """The response as recorded: −1 or 1, or a count cut off at its maximum and scaled to [−1, 1]."""
        if self.family == "logistic":
            return np.where(rng.random(len(eta)) * (1.0 + np.exp(-np.clip(eta, -700.0, 700.0))) < 1.0, 1.0, -1.0)
        half = LARGEST_COUNT / 2
        return np.minimum(rng.poisson(np.exp(np.minimum(eta, 20.0))), LARGEST_COUNT) / half - 1.0

    def release(self, matrix: Array, rows: int, noise: EntryNoise) -> Any:
        """The part of a release that a fit needs, simulated: not to be given away."""
        return SimpleNamespace(kind=Gram(), schema=self.design.basis.schema, basis=self.design.basis, clipped_norm=None,
                               contributions=(SimulatedPart(matrix, rows, noise),))

    def model(self, rng: np.random.Generator, matrix: Array, rows: int, noise: EntryNoise, *, cells: bool = True,
              slope_sd: float | None = None) -> GlmModel:
        """The model that a fit to a simulated release of these sums would sample."""
        noisy = matrix + simulated_noise(rng, noise, len(matrix))
        found = GlmModel.of(self.release(noisy, rows, noise), self.design, FAMILIES[self.family], None)
        if not cells:
            found = everything_normal(found, self.design)
        if slope_sd is None:
            return found
        width = np.where(found.data["is_intercept"] > 0, 1.0, slope_sd / found.family.slope_sd)
        return replace(found, data={**found.data, "prior_sd": found.data["prior_sd"] * width})


def scaled_noise(noise: EntryNoise, factor: float) -> EntryNoise:
    return EntryNoise(noise.distribution, factor * noise.diagonal, factor * noise.off_diagonal, factor * noise.corner)


def everything_normal(model: GlmModel, design: Design) -> GlmModel:
    """The same model with all columns treated as numbers with a normal distribution."""
    layout = Layout.of(design.basis, sorted(model.layout.order), cells=False)
    place = [model.layout.order.index(index) for index in layout.order]
    data = {**model.data, **layout.data()}
    for name in ("gram", "gram_precision", "gram_variance"):
        data[name] = model.data[name][np.ix_(place, place)]
    for name in ("cross", "cross_variance", "features"):
        data[name] = model.data[name][place]
    return replace(model, layout=layout, data=data)


def basis_rows(design: Design, columns: dict[str, Array]) -> Array:
    """The released columns of a table, as ``Basis.evaluate`` gives them, but fast for many rows; the response stays 0."""
    rows = len(next(iter(columns.values())))
    table = np.ones((rows, design.basis.size))
    for index, column in enumerate(design.basis.columns):
        for factor in column.factors:
            table[:, index] *= _factor(design, factor, columns[factor.column]) if factor.column in columns else 0.0
    return table


def _factor(design: Design, factor: Factor, values: Array) -> Array:
    declared = design.basis.schema.column(factor.column)
    if isinstance(declared, Categorical):
        matches = values == float(declared.levels[1] if factor.level is None else factor.level)
        return matches.astype(float) if factor.level is not None else np.where(matches, 1.0, -1.0)
    scaled = (values - declared.centre) / declared.half_width
    result: Array = scaled if factor.degree == 1 else np.polynomial.chebyshev.chebval(scaled, [0.0] * factor.degree + [1.0])
    return result
