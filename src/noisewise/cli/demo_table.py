"""A made-up table of hospital patients, with known truth.

It is skewed and correlated as such tables are: wards differ in age, older patients come as emergencies more often, surgery means
procedures, and lengths of stay have a long right tail. What was recorded decides the stay, so the coefficients below are the
true ones of the recorded columns:

    stay = 1.5 + 0.05 age + 0.4 [male] + 2 [surgery] + 1 [cardiology] + 3.5 [geriatrics] + 0.8 procedures + 1.5 [emergency] + rest

where the rest is a gamma variable with its mean taken off. No value leaves the declared bounds except by the gamma's far tail.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

FORMULA: Final = "stay ~ age + sex + ward + procedures + emergency"

WARDS: Final = ("general", "surgery", "cardiology", "geriatrics")
WARD_EFFECT: Final = {"surgery": 2.0, "cardiology": 1.0, "geriatrics": 3.5}

REST_SHAPE: Final = 0.6
REST_SCALE: Final = 3.5
"""The rest is never below −2.1, the mean of the gamma, and the rest of the formula never below 2.4: no stay is negative."""

TRUTH: Final = {
    "Intercept": 1.5,
    "age": 0.05,
    "sex[T.male]": 0.4,
    **{f"ward[T.{ward}]": effect for ward, effect in WARD_EFFECT.items()},
    "procedures": 0.8,
    "emergency[T.yes]": 1.5,
    "sigma": REST_SHAPE**0.5 * REST_SCALE,
}
"""The true coefficients, under the names that a fit of FORMULA gives them."""

MARK: Final = "# Made by `noisewise demo`."

SCHEMA: Final = f"""\
{MARK} What is public about patients.parquet.
# Bounds and levels come from public knowledge (admission rules, the hospital's list of wards), never from the data.

adjacency = "replace-one"   # the number of rows is public; each row is hidden among all rows it could have been
unit = "row"                # each patient has one row

[columns.stay]              # days, with hours as decimals
bounds = [0, 40]

[columns.age]               # completed years; the hospital admits adults
bounds = [18, 98]

[columns.sex]
levels = ["female", "male"]

[columns.ward]              # the first level is the reference
levels = {list(WARDS)}

[columns.procedures]        # ten or more are recorded as 10
bounds = [0, 10]

[columns.emergency]
levels = ["no", "yes"]
""".replace("'", '"')

Column = npt.NDArray[Any]


def made_up_patients(rows: int, seed: int | None) -> dict[str, Column]:
    """A table of so many patients.

    >>> list(made_up_patients(3, seed=1))
    ['patient', 'age', 'sex', 'ward', 'procedures', 'emergency', 'stay']
    """
    random = np.random.default_rng(seed)
    male = random.random(rows) < 0.47
    # Two waves of admissions: younger adults, and a larger one of the old.
    young = random.random(rows) < 0.35
    age = np.floor(np.where(young, 18 + random.gamma(2.5, 9.0, rows), 97.99 - random.gamma(3.0, 7.5, rows))).clip(18, 98)
    ward = _wards(random, age, male)
    emergency = random.random(rows) < _share(-1.2 + 0.02 * (age - 50) + 0.9 * (ward == 2) - 0.5 * (ward == 1))
    procedures = np.minimum(random.poisson(random.gamma(1.2, (0.6 + 1.9 * (ward == 1) + 0.6 * (ward == 2)) / 1.2)), 10)
    effects = np.array([0.0, *WARD_EFFECT.values()])
    expected = (
        TRUTH["Intercept"] + TRUTH["age"] * age + TRUTH["sex[T.male]"] * male + effects[ward]
        + TRUTH["procedures"] * procedures + TRUTH["emergency[T.yes]"] * emergency
    )
    rest = random.gamma(REST_SHAPE, REST_SCALE, rows) - REST_SHAPE * REST_SCALE
    return {
        "patient": np.array([f"P{number:07d}" for number in range(1, rows + 1)]),
        "age": age.astype(np.int64),
        "sex": np.where(male, "male", "female"),
        "ward": np.array(WARDS)[ward],
        "procedures": procedures.astype(np.int64),
        "emergency": np.where(emergency, "yes", "no"),
        "stay": np.round(expected + rest, 2),
    }


def _wards(random: np.random.Generator, age: Column, male: Column) -> Column:
    """The number of each patient's ward: geriatrics for the old, cardiology rather for men and after 50."""
    weights = np.stack([
        np.full(len(age), 1.0),
        np.full(len(age), 0.8),
        0.3 + 0.5 * _share((age - 55) / 6) * np.where(male, 1.3, 0.8),
        0.9 * _share((age - 78) / 3),
    ])
    steps = np.cumsum(weights / weights.sum(axis=0), axis=0)[:-1]
    chosen: Column = (random.random(len(age)) > steps).sum(axis=0)
    return chosen


def _share(logit: Column) -> Column:
    result: Column = 1.0 / (1.0 + np.exp(-logit))
    return result
