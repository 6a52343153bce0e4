"""Small made-up releases for the tests of this room."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.release import EntryNoise, GramPart, Release
from noisewise.schema import Basis, Schema

DECLARED: dict[str, Any] = {
    "adjacency": "replace-one",
    "unit": "row",
    "columns": {
        "age": {"bounds": [18, 98]},
        "ward": {"levels": ["A", "B", "C"], "other": "C"},
        "smoker": {"levels": ["no", "yes"]},
    },
}
TERMS = "age:ward + I(age**2)"


def schema_with(**changes: Any) -> Schema:
    return Schema.from_dict({**DECLARED, **changes})


def part_of(schema: Schema, terms: str | None = TERMS, seed: int = 1, **changes: Any) -> GramPart:
    size = Basis.of(schema, terms).size
    noise = np.random.default_rng(seed).normal(scale=100.0, size=(size, size))
    matrix = noise + noise.T
    public = schema.rows_are_public
    if public:
        matrix[0, 0] = 250.0
    fields: dict[str, Any] = {
        "rows": 250 if public else None,
        "matrix": matrix,
        "noise": EntryNoise("gaussian", 8.0, 8.0 / np.sqrt(2), 0.0 if public else 8.0),
        "epsilon": 1.0,
        "delta": 1e-6,
        "mechanism": "analytic gaussian",
        "sensitivity": 8.5,
        "statement": "Whoever sees this release learns little about any one row.",
        "created": "2026-11-15",
        "library": "noisewise 0.1.0",
    }
    return GramPart(**{**fields, **changes})


def release_of(schema: Schema | None = None, terms: str | None = TERMS, seed: int = 1, **changes: Any) -> Release:
    schema = schema_with() if schema is None else schema
    return Release("gram", schema, terms, (part_of(schema, terms, seed, **changes),))
