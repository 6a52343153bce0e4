"""Posteriors made from draws whose summaries and predictions are known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.results import FitInfo, Posterior, PriorSummary
from noisewise.schema import Basis, Design, Schema

DECLARED: dict[str, Any] = {
    "adjacency": "replace-one",
    "columns": {
        "stay": {"bounds": [0, 60]},
        "age": {"bounds": [18, 98]},
        "ward": {"levels": ["A", "B", "C"]},
        "smokes": {"levels": [0, 1]},
    },
}
FORMULA = "stay ~ age + ward"
TERMS = ("Intercept", "age", "ward[T.B]", "ward[T.C]", "sigma")
CENTRE = np.array([3.0, 0.05, -1.0, 2.0, 1.5])
SPREAD = np.array([0.5, 0.01, 0.3, 0.4, 0.1])


def design(formula: str = FORMULA, kind: type[Design] = Design) -> Design:
    return kind.of(formula, Basis.of(Schema.from_dict(DECLARED)))


def wide_design(count: int, width: int = 2) -> Design:
    """y ~ x00 + x01 + ... with as many columns."""
    names = [f"x{number:0{width}d}" for number in range(count)]
    columns = {name: {"bounds": [-1, 1]} for name in ["y", *names]}
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": columns})
    return Design.of("y ~ " + " + ".join(names), Basis.of(schema))


def info(**changes: Any) -> FitInfo:
    values: dict[str, Any] = {
        "method": "conditional",
        "family": "gaussian",
        "formula": FORMULA,
        "seed": 7,
        "chains": 4,
        "draws": 1000,
        "seconds": 1.25,
        "doubts": (),
    }
    return FitInfo(**{**values, **changes})


def prior(terms: tuple[str, ...] = TERMS[:-1]) -> PriorSummary:
    return PriorSummary(mean=dict.fromkeys(terms, 0.0), sd=dict.fromkeys(terms, 10.0), sigma_scale=5.0)


def normal_samples(seed: int = 11, chains: int = 4, draws: int = 1000) -> NDArray[np.float64]:
    """Independent normal draws around CENTRE; sigma is 1.5 ± 0.1 and so positive."""
    generator = np.random.default_rng(seed)
    return CENTRE + SPREAD * generator.standard_normal((chains, draws, len(TERMS)))


def posterior(samples: NDArray[np.float64] | None = None, **changes: Any) -> Posterior:
    values = normal_samples() if samples is None else samples
    shape = {"chains": values.shape[0], "draws": values.shape[1]}
    return Posterior(values, TERMS, design(), info(**{**shape, **changes}), prior())
