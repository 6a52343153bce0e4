"""The content of ``adassp-1.1.nwr``: made-up numbers that use every field of a release of kind adassp.

The file is a promise: every later version of noisewise reads it and finds exactly this. It was written once and is not
to be written again; ``python tests/golden/make_adassp_1_1.py FILE`` shows what the present code would write.
"""

from __future__ import annotations

import sys

import numpy as np

from noisewise.release import AdasspPart, EntryNoise, Release, SmallestEigenvalue
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
FORMULA = "smoker ~ age * ward + I(age**2)"
NAMES = ("1", "age", "ward[B]", "ward[C]", "T2(age)", "age:ward[B]", "age:ward[C]", "smoker")


def matrix(rows: int, step: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    size = len(NAMES) - 1
    row, column = np.indices((size, size))
    low, high = np.minimum(row, column), np.maximum(row, column)
    values = np.round(step * (1 + low) * np.cos(high + 3.0 * low) * 2**16) / 2**16
    values[1, 2] = values[2, 1] = 0.1 + 0.2
    values[0, 0] = rows
    return values


def moments(step: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.round(step * np.sin(np.arange(len(NAMES) - 1.0)) * 2**16) / 2**16
    values[3] = -1e-17
    return values


def part(rows: int, step: float, epsilon: float, created: str) -> AdasspPart:
    return AdasspPart(
        rows=rows,
        matrix=matrix(rows, step),
        moments=moments(step),
        smallest_eigenvalue=SmallestEigenvalue(value=-3.25 * step, noise=17.5, epsilon=epsilon / 4, delta=1e-08,
                                               sensitivity=4.0625),
        noise=EntryNoise("gaussian", diagonal=21.125, off_diagonal=21.125 / 2**0.5, corner=0.0),
        epsilon=epsilon,
        delta=1e-07,
        mechanism="gaussian",
        sensitivity=5.745,
        statement=f"Replacing any one row changes the probability of any result by little: epsilon {epsilon}, delta 1e-07.",
        created=created,
        library="noisewise 0.1.0",
    )


def expected() -> Release:
    """What every version must find in ``adassp-1.1.nwr``."""
    parts = (part(1200, 37.5, 1.0, "2026-11-15"), part(0, 0.3, 0.5, "2024-02-29"))
    return Release("adassp", Schema.from_dict(SCHEMA), TERMS, parts, formula=FORMULA)


if __name__ == "__main__":
    expected().save(sys.argv[1])
