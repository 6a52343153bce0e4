"""Made-up consortia with seeded noise: releases that nobody has to be protected from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.unit.results.made_holders import joined, noisy_contribution

import noisewise as nw
from noisewise.releases.contents.gram import GramContribution
from noisewise.run import QUIET

STAY, AGE = (0.0, 60.0), (18.0, 98.0)
COLUMNS: dict[str, Any] = {"stay": {"bounds": list(STAY)}, "age": {"bounds": list(AGE)}, "ward": {"levels": ["A", "B", "C"]}}


def schema(adjacency: str = "replace-one") -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "columns": COLUMNS})


def part(generator: np.random.Generator, *, rows: int = 2000, sd: float = 20.0, adjacency: str = "replace-one",
         mechanism: str = "gaussian", slope: float = 0.2, shift: float = 0.0, ward_b: float = 4.0, sigma: float = 5.0,
         curve: float = 0.0) -> GramContribution:
    """One holder: stay = 20 + shift + slope·(age − 58) + ward_b·B + 1·C + curve·(scaled age)² + a normal residual."""
    age = np.clip(generator.normal(58, 15, rows), *AGE)
    ward = generator.choice(3, rows, p=[0.5, 0.3, 0.2])
    scaled = (age - 58) / 40
    mean = 20 + shift + slope * (age - 58) + ward_b * (ward == 1) + (ward == 2) + curve * scaled**2
    stay = mean + generator.normal(0, sigma, rows)
    table = np.column_stack([np.ones(rows), (stay - 30) / 30, scaled, ward == 1, ward == 2])
    return noisy_contribution(generator, table, sd, adjacency, mechanism)


def consortium(seed: int, holders: int, *, odd: Mapping[str, float] | None = None, adjacency: str = "replace-one",
               **settings: Any) -> nw.Release:
    """Holders that agree, but for the last one where ``odd`` says how it differs."""
    return joined(part, schema(adjacency), seed, holders, odd, settings)


def adassp(formula: str) -> nw.Release:
    """A release of another kind, of a table in which nothing depends on anything."""
    generator = np.random.default_rng(1)
    rows: dict[str, Any] = {"stay": generator.uniform(*STAY, 200), "age": generator.uniform(*AGE, 200)}
    rows["ward"] = generator.choice(["A", "B", "C"], 200)
    return nw.release(rows, schema(), nw.AdaSSP(formula), epsilon=1, delta=1e-6, run=QUIET)
