"""The content of ``moments-1.3.nwr``: made-up numbers that use every field of a release of kind moments.

The file is a promise: every later version of noisewise reads it and finds exactly this. It was written once and is not
to be written again; ``python tests/golden/make_moments_1_3.py FILE`` shows what the present code would write.
"""

from __future__ import annotations

import sys

import numpy as np

from noisewise.release import BlockSums, MomentsPart, Release
from noisewise.schema import Schema
from noisewise.schema.moment_blocks import MomentBlock

SCHEMA = {
    "adjacency": "replace-one",
    "unit": "row",
    "norm_bound": 1.75,
    "columns": {
        "visits": {"bounds": [0, 12]},
        "age": {"bounds": [18, 98], "missing": 60},
        "Größe (cm)": {"bounds": [49.5, 230.25]},
        "ward": {"levels": ["A", "B", "C"], "other": "C"},
        "smoker": {"levels": [False, True]},
    },
}
TERMS = "age:smoker + I(age**2)"
FORMULA = "visits ~ age * smoker + I(age**2) + ward"
NAMES = ("1", "age", "ward[B]", "ward[C]", "smoker", "T2(age)", "age:smoker", "visits")
WEIGHTS = {"x": 1.0, "xx": 1.0, "xxx": 0.1, "y": 0.7, "yx": 1.5, "yxx": 0.25}
PREDICTORS = len(NAMES) - 2


def sums(name: str, step: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    place = np.arange(MomentBlock.named(name).size(PREDICTORS), dtype=float)
    values = np.round(step * np.cos(place + len(name)) * 2**16) / 2**16
    if name == "yx":
        values[1], values[2] = 0.1 + 0.2, -1e-17
    return values


def part(rows: int, step: float, epsilon: float, created: str) -> MomentsPart:
    blocks = {name: BlockSums(weight, 21.125 / epsilon / weight**0.5, sums(name, step)) for name, weight in WEIGHTS.items()}
    return MomentsPart(
        rows=rows,
        predictors=PREDICTORS,
        blocks=blocks,
        epsilon=epsilon,
        delta=1e-07,
        mechanism="gaussian",
        sensitivity=5.745,
        statement=f"Replacing any one row changes the probability of any result by little: epsilon {epsilon}, delta 1e-07.",
        created=created,
        library="noisewise 0.1.0",
    )


def expected() -> Release:
    """What every version must find in ``moments-1.3.nwr``."""
    parts = (part(1200, 37.5, 1.0, "2026-11-15"), part(0, 0.3, 0.5, "2024-02-29"))
    return Release("moments", Schema.from_dict(SCHEMA), TERMS, parts, formula=FORMULA)


if __name__ == "__main__":
    expected().save(sys.argv[1])
