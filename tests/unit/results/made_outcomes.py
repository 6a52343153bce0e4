"""Made-up hospitals with a two-level outcome and a count, seeded noise, and a quick posterior: normal around the mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.unit.results.made_holders import joined, noisy_contribution

import noisewise as nw
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.releases.contents.gram import GramContribution
from noisewise.results import FitInfo
from noisewise.schema import Design

LARGEST = 12
COLUMNS: dict[str, Any] = {"back": {"levels": ["no", "yes"]}, "visits": {"bounds": [0, LARGEST]}, "age": {"bounds": [18, 98]},
                           "ward": {"levels": ["A", "B", "C"]}}
FORMULAS = {"logistic": "back ~ age + ward", "probit": "back ~ age + ward", "poisson": "visits ~ age + ward"}


def schema(adjacency: str = "replace-one") -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "columns": COLUMNS})


def part(generator: np.random.Generator, *, rows: int = 4000, sd: float = 20.0, adjacency: str = "replace-one",
         mechanism: str = "gaussian", slope: float = 0.04, shift: float = 0.0, ward_b: float = 0.8, age: float = 58.0,
         overdispersion: float = 0.0, probit: bool = False, skewed: bool = False) -> GramContribution:
    """One holder: η = shift + slope·(age − 58) + ward_b·B for the outcome, half of that for the count, less ½ and plus ½."""
    from scipy.special import expit, ndtr

    years = np.clip(age - 12 + generator.exponential(12, rows) if skewed else generator.normal(age, 12, rows), 18, 98)
    ward = generator.choice(3, rows, p=[0.5, 0.3, 0.2])
    eta = shift + slope * (years - 58) + ward_b * (ward == 1)
    back = np.where(generator.random(rows) < (ndtr if probit else expit)(eta - 0.5), 1.0, -1.0)
    rate = np.exp(0.5 * eta + 0.5)
    if overdispersion:
        rate = rate * generator.gamma(1 / overdispersion, overdispersion, rows)
    visits = np.minimum(generator.poisson(rate), LARGEST) / (LARGEST / 2) - 1
    table = np.column_stack([np.ones(rows), back, visits, (years - 58) / 40, ward == 1, ward == 2])
    return noisy_contribution(generator, table, sd, adjacency, mechanism)


def consortium(seed: int, holders: int, *, odd: Mapping[str, float] | None = None, adjacency: str = "replace-one",
               **settings: Any) -> nw.Release:
    """Holders that agree, but for the last one where ``odd`` says how it differs."""
    return joined(part, schema(adjacency), seed, holders, odd, settings)


def quick_fit(family: str, release: nw.Release, formula: str | None = None, draws: int = 400, seed: int = 1) -> nw.Posterior:
    """A normal approximation of the posterior around its mode, which takes a fraction of a second."""
    formula = formula or FORMULAS[family]
    design = Design.of(formula, release.basis, release.terms)
    model = GlmModel.of(release, design, FAMILIES[family], None)
    mode = find_mode(jax_density(model.log_density, model.data), *model.start())
    standard = np.random.default_rng(seed).standard_normal((2, draws, len(mode.point)))
    samples = model.coefficients(mode.point + standard @ mode.scale.T)
    info = FitInfo("conditional", family, formula, seed, 2, draws, holders=release.holders)
    return nw.Posterior(samples, design.terms, design, info, model.prior_summary(design))
