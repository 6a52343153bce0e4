"""The content of ``gram-1.0.nwr``: made-up numbers that use every field of version 1.0.

The file is a promise: every later version of noisewise reads it and finds exactly this. It was written once and is not
to be written again; ``python tests/golden/make_gram_1_0.py FILE`` shows what the present code would write.
"""

from __future__ import annotations

import sys

import numpy as np

from noisewise.release import EntryNoise, GramPart, Release
from noisewise.schema import Schema

SCHEMA = {
    "adjacency": "replace-one",
    "unit": "row",
    "norm_bound": 1.75,
    "columns": {
        "age": {"bounds": [18, 98], "missing": 60},
        "Größe (cm)": {"bounds": [49.5, 230.25]},
        "ward": {"levels": ["A", "B", "C"], "other": "C"},
        "grade": {"levels": [1, 2, 3], "missing": 2},
        "smoker": {"levels": [False, True]},
    },
}
TERMS = "age:ward + I(age**2)"
NAMES = (
    *("1", "age", "Größe (cm)", "ward[B]", "ward[C]", "grade[2]", "grade[3]", "smoker"),
    *("T2(age)", "age:ward[B]", "age:ward[C]"),
)


def matrix(rows: int, step: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Multiples of 2**-16 and numbers that need all 17 digits, of both signs and many sizes."""
    size = len(NAMES)
    row, column = np.indices((size, size))
    low, high = np.minimum(row, column), np.maximum(row, column)
    values = np.round(step * (1 + low) * np.cos(high + 3.0 * low) * 2**16) / 2**16
    values[1, 2] = values[2, 1] = 0.1 + 0.2
    values[3, 4] = values[4, 3] = -1e-17
    values[5, 6] = values[6, 5] = 0.0
    values[7, 7] = 123456789012345.68
    values[0, 0] = rows
    return values


def expected() -> Release:
    """What every version must find in ``gram-1.0.nwr``."""
    gaussian = GramPart(
        rows=1200,
        matrix=matrix(1200, 37.5),
        noise=EntryNoise("gaussian", diagonal=21.125, off_diagonal=21.125 / 2**0.5, corner=0.0),
        epsilon=1.0,
        delta=1e-07,
        mechanism="gaussian",
        sensitivity=5.745,
        statement="Replacing any one row by another changes the probability of any result by a factor of at most "
        "e^1.0, except with probability 1e-07.",
        created="2026-11-15",
        library="noisewise 0.1.0",
    )
    laplace = GramPart(
        rows=0,
        matrix=matrix(0, 0.3),
        noise=EntryNoise("laplace", diagonal=90.5, off_diagonal=90.5, corner=0.0),
        epsilon=0.5,
        delta=0.0,
        mechanism="laplace",
        sensitivity=31.996,
        statement="Replacing any one row by another changes the probability of any result by a factor of at most e^0.5.",
        created="2024-02-29",
        library="noisewise 0.1.0",
    )
    return Release("gram", Schema.from_dict(SCHEMA), TERMS, (gaussian, laplace))


if __name__ == "__main__":
    expected().save(sys.argv[1])
