"""A made-up table for the tests of the estimators, with coefficients that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import noisewise as nw

ROWS = 4000


def patients(rows: int = ROWS) -> tuple[pd.DataFrame, pd.Series]:
    """Age and ward, and a stay of 2 + 0.1 · age + 3 in ward B + noise of standard deviation 2."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame({"age": rng.uniform(20, 90, rows), "ward": rng.choice(["A", "B"], rows)})
    stay = 2 + 0.1 * table["age"] + 3 * (table["ward"] == "B") + rng.normal(0, 2, rows)
    return table, stay.rename("stay")


DECLARED: dict[str, Any] = {
    "epsilon": 10.0, "delta": 1e-6, "bounds": {"age": (20, 90)}, "levels": {"ward": ["A", "B"]}, "target_bounds": (0, 25),
    "adjacency": "replace-one",
}
SAMPLED: dict[str, Any] = {"random_state": 3, "draws": 250, "chains": 2, "progress": False}
GRAM: dict[str, Any] = {"release_kind": "gram", "method": "laplace"}
"""One pass over the rows and no search: for what does not depend on the kind of release."""
X = np.random.default_rng(2).uniform(size=(60, 2))
Y = X @ [0.5, 0.3]
"""Arrays with numbers from 0 to 1."""


def linear(**changed: Any) -> Any:
    return nw.PrivateLinearRegression(**{**DECLARED, **SAMPLED, **changed})


def of_arrays(**changed: Any) -> Any:
    """For X and Y, with a release that is made in no time."""
    return linear(**{**GRAM, "bounds": (0, 1), "levels": None, "target_bounds": (0, 1), **changed})
