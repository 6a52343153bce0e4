"""A table whose every response follows its family, with its releases: noise from a seed, so that nothing depends on the day."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.unit.posterior.seeded_model import seeded_model

import noisewise as nw
from noisewise.results import Posterior
from noisewise.run import QUIET

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [-10, 10]}, "visits": {"bounds": [0, 30]}, "back": {"levels": ["no", "yes"]}, "dose": {"bounds": [0, 20]},
    "ward": {"levels": ["A", "B", "C"]}}})
RESPONSES = {"gaussian": "stay", "logistic": "back", "probit": "back", "poisson": "visits", "negative-binomial": "visits"}
TRUTH = {"Intercept": -0.5, "dose": 0.25, "ward[T.B]": 0.0, "ward[T.C]": 0.5}
DISPERSION = 0.5


def table(family: str, seed: int, rows: int = 10_000, shift: float = 0.0, slope: float = 0.25, dispersion: float = DISPERSION,
          uneven: bool = False) -> dict[str, Any]:
    """A skewed dose and a rare ward; ``shift`` and ``slope`` make another holder, ``uneven`` unequal variances."""
    from scipy.special import expit, ndtr

    random = np.random.default_rng(seed)
    dose, ward = np.minimum(random.exponential(2.0, rows), 20), random.choice(["A", "B", "C"], rows, p=[0.6, 0.3, 0.1])
    eta = -0.5 + shift + slope * dose + 0.5 * (ward == "C")
    if family == "gaussian":
        response: Any = np.clip(eta + random.normal(size=rows) * (0.3 + 0.35 * dose if uneven else 1.0), -10, 10)
    elif family in ("logistic", "probit"):
        response = np.where(random.random(rows) < (expit if family == "logistic" else ndtr)(eta), "yes", "no")
    else:
        more = random.gamma(1 / dispersion, dispersion, rows) if family == "negative-binomial" else 1.0
        response = np.minimum(random.poisson(more * np.exp(eta / 2)), 30)
    return {RESPONSES[family]: response, "dose": dose, "ward": ward}


def schema(family: str) -> nw.Schema:
    keep = (RESPONSES[family], "dose", "ward")
    declared = SCHEMA.to_dict()
    return nw.Schema.from_dict({**declared, "columns": {name: declared["columns"][name] for name in keep}})


def kind(family: str) -> nw.Model:
    return nw.Model(f"{RESPONSES[family]} ~ dose + ward", family=family)


def release(family: str, seed: int = 1, epsilon: float = 2.0, law: str | None = None, **changes: Any) -> nw.Release:
    """A release of a family, of rows that may follow another law."""
    return seeded_model(table(law or family, seed, **changes), schema(family), kind(family), seed, epsilon=epsilon)


@cache
def usual(family: str) -> nw.Release:
    return release(family)


@cache
def fitted(family: str, robust: bool = False) -> Posterior:
    return nw.fit(usual(family), robust=robust, seed=1, run=QUIET)
