"""Made-up holders: the noisy Gram matrix of any table, and several holders in one release."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import noisewise as nw
from noisewise.releases.contents.gram import EntryNoise, GramContribution


def noisy_contribution(generator: np.random.Generator, table: NDArray[np.float64], sd: float, adjacency: str,
               mechanism: str) -> GramContribution:
    """One holder: the sums of products of the table's columns, with seeded noise."""
    rows = len(table)
    size = table.shape[1]
    off = sd / math.sqrt(2) if mechanism == "gaussian" else sd
    noise = EntryNoise("gaussian" if mechanism == "gaussian" else "laplace", sd, off, 0.0 if adjacency == "replace-one" else sd)
    normal, laplace = generator.normal(size=(size, size)), generator.laplace(size=(size, size)) / math.sqrt(2)
    upper = np.triu((normal if mechanism == "gaussian" else laplace) * np.sqrt(noise.variances(size)))
    matrix = table.T @ table + upper + np.triu(upper, 1).T
    return GramContribution(
        rows=rows if adjacency == "replace-one" else None, matrix=matrix, noise=noise, epsilon=1.0,
        delta=1e-6 if mechanism == "gaussian" else 0.0, mechanism=mechanism, sensitivity=1.0, statement="made up",
        created="2026-01-01", library="tests")


def joined(part: Callable[..., GramContribution], schema: nw.Schema, seed: int, holders: int, odd: Mapping[str, float] | None,
           settings: Mapping[str, Any]) -> nw.Release:
    """Holders that agree, but for the last one where ``odd`` says how it differs."""
    generator = np.random.default_rng(seed)
    parts = [part(generator, adjacency=schema.adjacency, **settings) for _ in range(holders - (odd is not None))]
    if odd is not None:
        parts.append(part(generator, adjacency=schema.adjacency, **{**settings, **odd}))
    return nw.Release(nw.Gram(), schema, tuple(parts))
