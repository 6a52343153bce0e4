"""P3 of partition.md: one person changes each of the K sums by at most 1, and can change all of them at once.

Neighbouring tables are hunted for that break it, under the coupling of P1: everyone else keeps the part. Then the mistakes in
print are put to the worst neighbours that are known, which must find those that break the guarantee.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.privacy.partition_parts import PRIORS, answers_of, moments, questions_about

from noisewise.privacy.calibration import log_delta_of_gaussian
from noisewise.privacy.mechanisms.partition import STEPS, PartitionMechanism
from noisewise.privacy.sensitivity.partition import PartitionSensitivity
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior
from noisewise.schema.questions import PosteriorProbability, Question

Rows = dict[str, npt.NDArray[Any]]
Parts = npt.NDArray[np.int64]

PARTS = 6
PEOPLE = {"column": "who", "max_rows": 3}
SCHEMAS = {
    (adjacency, unit): Schema.from_dict({"adjacency": adjacency, "unit": PEOPLE if unit == "person" else "row", "columns": {
        "y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}, "z": {"bounds": "unknown", "missing": 0.0}}})
    for adjacency in ("replace-one", "add-remove") for unit in ("row", "person")
}
QUESTIONS = questions_about("x", "z")
NUMBERS = sum(len(question.numbers()) for question in QUESTIONS)


def sums(rows: Rows, belongs: Parts, schema: Schema, prior: PartPrior, questions: list[Question], parts: int = PARTS,
         formula: str = "y ~ x + z") -> npt.NDArray[np.int64]:
    """What noise is added to, in steps of the grid."""
    found = moments(rows, schema, formula, belongs, parts)
    return np.array([own.sum() for own in answers_of(found, schema, formula, questions, prior)[1]])


def some_rows(count: int, rng: np.random.Generator) -> Rows:
    """Ordinary rows, or rows that nobody would think of."""
    rows = {name: rng.normal(size=count) * 10.0 ** rng.integers(-3, 4) for name in "yxz"}
    if rng.random() < 0.6:
        odd = np.array([0.0, 1.0, -1.0, 1e308, -1e308, 1e154, 5e-324, np.nan, np.inf, -np.inf, 1e9, -1e9])
        rows = {name: np.where(rng.random(count) < 0.5, rng.choice(odd, count), values) for name, values in rows.items()}
    if rng.random() < 0.3:
        rows["y"] = rows["x"] / 2.0
    return rows


def neighbours(schema: Schema, rng: np.random.Generator) -> tuple[tuple[Rows, Parts], tuple[Rows, Parts]]:
    """Two tables and their splits: one person is another, or not there, and everyone else has the part that they had."""
    count = int(rng.integers(0, 60))
    others, owner = some_rows(count, rng), rng.permutation(np.arange(count) // 2)
    belongs = rng.integers(0, PARTS, count)[owner] if count else owner
    part = int(rng.integers(PARTS))
    tables = []
    for version in range(2):
        own = 0 if version and schema.adjacency == "add-remove" else 1 if schema.unit.is_row else int(rng.integers(1, 6))
        places = np.sort(rng.integers(0, count + 1, own))  # a sorted file: somebody else's row stands somewhere else
        person = some_rows(own, rng)
        rows = {name: np.insert(values, places, person[name]) for name, values in others.items()}
        if not schema.unit.is_row:
            rows["who"] = np.insert(owner, places, 10**6 + version)
        tables.append((rows, np.insert(belongs, places, part)))
    return tables[0], tables[1]


@pytest.mark.outer(but=["replace-one-row", "add-remove-person"])
@pytest.mark.parametrize(("adjacency", "unit"), SCHEMAS)
def test_no_neighbours_are_further_apart_than_one_in_every_sum(adjacency: str, unit: str) -> None:
    schema = SCHEMAS[adjacency, unit]
    rng = np.random.default_rng([len(adjacency), len(unit)])
    largest = 0
    for trial in range(120):
        one, other = neighbours(schema, rng)
        prior = PRIORS[trial % len(PRIORS)]
        change = np.abs(sums(*one, schema, prior, QUESTIONS) - sums(*other, schema, prior, QUESTIONS))
        assert change.max() <= STEPS
        largest = max(largest, int(change.max()))
    assert largest > STEPS / 2  # it is a search, and it finds something


def flipped_by_one_row(parts: int, rows: int = 20) -> tuple[tuple[Rows, Parts], tuple[Rows, Parts]]:
    """Every part is certain of a slope of −1; one row, far out, makes its part as certain of +1."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=parts * rows)
    y = -x + 1e-3 * rng.normal(size=len(x))
    belongs = np.arange(len(x)) % parts
    far = {"y": y.copy(), "x": x.copy()}
    far["y"][0], far["x"][0] = 1e6, 1e6
    return ({"y": y, "x": x}, belongs), (far, belongs)


OPEN = Schema.from_dict({"adjacency": "replace-one", "columns": {"y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}})


def worst_change(asked: list[Question], parts: int = 10) -> npt.NDArray[np.float64]:
    one, other = (sums(*table, OPEN, PartPrior(), asked, parts, "y ~ x") for table in flipped_by_one_row(parts))
    return (other - one) / STEPS


def asked_at(points: int, combine: str = "rescaled-normal") -> list[Question]:
    return [PosteriorProbability("x", at=tuple(np.linspace(-0.5, 0.5, points).tolist()), combine=combine)]


@pytest.mark.parametrize("combine", ["rescaled-normal", "stouffer", "fisher"])
@pytest.mark.parametrize("points", [1, 4])
def test_one_row_can_change_all_sums_by_one_at_once(points: int, combine: str) -> None:
    """So that no smaller sensitivity holds, in any norm."""
    change = worst_change(asked_at(points, combine))
    assert np.abs(change) == pytest.approx(np.ones(points), abs=2 / STEPS)
    bound = PartitionSensitivity(numbers=points, adjacency="replace-one", unit_is_row=True)
    assert np.abs(change).max() <= bound.largest
    assert np.linalg.norm(change) <= bound.norm and np.linalg.norm(change) > 0.999 * bound.norm


def loss(change: npt.NDArray[np.float64], scale: float) -> float:
    """The privacy loss of k-norm noise, which is Laplace noise for one number, between tables so far apart."""
    return float(np.abs(change).max()) / scale


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("points", [1, 4])
def test_the_mechanism_hides_the_worst_neighbours(points: int, epsilon: float) -> None:
    change = worst_change(asked_at(points))
    bound = PartitionSensitivity(numbers=points, adjacency="replace-one", unit_is_row=True)
    pure = PartitionMechanism.calibrate(bound, epsilon, None)
    assert 0.999 * epsilon < loss(change, pure.scale) <= epsilon
    gaussian = PartitionMechanism.calibrate(bound, epsilon, 1e-6)
    distance = float(np.linalg.norm(change))
    assert log_delta_of_gaussian(epsilon, gaussian.scale / distance) <= math.log(1e-6)
    assert log_delta_of_gaussian(epsilon, 0.99 * gaussian.scale / distance) > math.log(1e-6)


PARTS_IN_PRINT = 10


def test_the_scale_of_paper_000_is_found_out() -> None:
    """ε/M on the mean in the place of 1/(Mε): on the sum, ε in the place of 1/ε. It is too small for every ε below 1."""
    change = worst_change(asked_at(1), PARTS_IN_PRINT)
    for epsilon in (0.1, 0.5, 0.9):
        printed = epsilon / PARTS_IN_PRINT * PARTS_IN_PRINT
        assert loss(change, printed) > epsilon
    assert loss(change, 2.0 / 2.0) <= 2.0  # above 1 it is larger than it needs to be


def test_the_sensitivity_of_fishers_sum_is_found_out() -> None:
    """−2 Σ log p is a sum, not a mean: its sensitivity is the range of a term and not that divided by M."""
    change = worst_change(asked_at(1, "fisher"), PARTS_IN_PRINT)
    for epsilon in (0.1, 1.0, 4.0):
        printed = 1.0 / PARTS_IN_PRINT / epsilon
        assert loss(change, printed) == pytest.approx(PARTS_IN_PRINT * epsilon, rel=1e-4)
        assert loss(change, 1.0 / epsilon) <= epsilon


def test_the_variance_of_paper_004_only_wastes() -> None:
    """σ²/M on the mean in the place of σ²/M²: on the sum, √M times the noise that is needed. Nobody is betrayed by it."""
    change = worst_change(asked_at(1), PARTS_IN_PRINT)
    needed = PartitionMechanism.calibrate(PartitionSensitivity(numbers=1, adjacency="replace-one", unit_is_row=True), 1.0, 1e-6)
    printed = needed.scale * math.sqrt(PARTS_IN_PRINT)
    distance = float(np.linalg.norm(change))
    assert log_delta_of_gaussian(1.0, printed / distance) < math.log(1e-6) - 50


def test_the_sensitivity_of_one_number_for_several_is_found_out() -> None:
    """Noise that would do for each of four numbers by itself does not do for all of them."""
    change = worst_change(asked_at(4))
    alone = PartitionSensitivity(numbers=1, adjacency="replace-one", unit_is_row=True)
    scale = PartitionMechanism.calibrate(alone, 1.0, 1e-6).scale
    assert log_delta_of_gaussian(1.0, scale / float(np.linalg.norm(change))) > math.log(1e-6)
    independent = PartitionMechanism.calibrate(alone, 1.0, None).scale
    assert float(np.abs(change).sum()) / independent > 3.9  # four independent Laplace variables
