"""The content of ``partition-1.4.nwr``: made-up numbers that use every field of a release of kind partition.

The file is a promise: every later version of noisewise reads it and finds exactly this. It was written once and is not
to be written again; ``python tests/golden/make_partition_1_4.py FILE`` shows what the present code would write.
"""

from __future__ import annotations

import sys

from noisewise.release.partition import Number, PartitionRelease
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, Question

SCHEMA = {
    "adjacency": "replace-one",
    "unit": "row",
    "partition": {"year": "2026"},
    "columns": {
        "income": {"bounds": "unknown"},
        "Größe (cm)": {"bounds": "unknown", "missing": 170.5},
        "age": {"bounds": [18, 98], "missing": 60},
        "ward": {"levels": ["A", "B", "C"], "other": "C"},
        "smoker": {"levels": [False, True]},
    },
}
FORMULA = "income ~ `Größe (cm)` + age * smoker + I(age**2) + ward"
TALL = "Größe (cm)"
QUESTIONS: tuple[Question, ...] = (
    PosteriorProbability("age", at=(-0.1, 0.0, 0.30000000000000004), combine="stouffer", limit=2.0),
    PosteriorProbability({TALL: 1.0, "age": -2.5}, at=(0.0,), combine="rescaled-normal"),
    PosteriorProbability("smoker[T.True]", at=(1e-7,), combine="fisher", limit=0.01),
    PosteriorQuantile("age", centre_share=0.25, width_share=0.125),
    PosteriorQuantile("ward[T.B]", bounds=(-1e6, 2.5)),
    BayesFactor(["ward[T.B]", "ward[T.C]"], prior="zellner-siow", limits=(-3.0, 7.0)),
    BayesFactor({"ward[T.B]": 1.0, "ward[T.C]": -1.0}, prior="hyper-g"),
    Criterion("likelihood-ratio", ("age",)),
    Criterion("bic", ("age", TALL), limits=(-8.0, 9.5)),
    Criterion("aic", ("age:smoker[T.True]",)),
)
SELECTED = {"location of age": (-1.7, 2.3), "scale of age": (0.0, 0.2), "scale of ward[T.B]": (0.0, 50000.125)}
SUMS = (37.5, 0.1 + 0.2, -1e-17, 2.0**-16, -12.75, 100.0, 81.25, 50.0, 49.5, 1.5, 63.0, 58.25, 0.0, 1e9)


def expected() -> PartitionRelease:
    """What every version must find in ``partition-1.4.nwr``."""
    named = [(name, limits or SELECTED[name]) for question in QUESTIONS for name, limits in question.numbers()]
    return PartitionRelease(
        schema=Schema.from_dict(SCHEMA),
        rows=12_345,
        epsilon=1.25,
        delta=1e-07,
        mechanism="gaussian",
        statement="Replacing any one row changes the probability of any result by little: epsilon 1.25, delta 1e-07.",
        created="2026-11-15",
        library="noisewise 0.1.0",
        formula=FORMULA,
        prior=PartPrior("normal-inverse-gamma", scale=2.5, shape=1.5, rate=0.25),
        parts=100,
        balanced=True,
        questions=QUESTIONS,
        numbers=tuple(Number(name, *limits, value) for (name, limits), value in zip(named, SUMS, strict=True)),
        noise=21.125,
    )


if __name__ == "__main__":
    expected().save(sys.argv[1])
