"""The samplers of perturbed rows against quadrature on a few rows; they accept the right noise and reject another."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.unit.posterior.rows.row_reference import Reference, SmallRows, made_rows, reference

from noisewise.literature.row_gibbs import gibbs, interwoven
from noisewise.posterior.rows.problem import Answers, RowProblem
from noisewise.posterior.rows.sampler import sample_rows, variant_of

Array = npt.NDArray[np.float64]

LARGEST = 4.5
"""Standard errors; the largest of ten to sixteen with twenty batches."""


def problem_of(rows: SmallRows) -> RowProblem:
    categories = () if rows.answers is None else (Answers(rows.answers, rows.keep, np.array([[-1.0], [1.0]])),)
    known = np.ones((1, rows.x.shape[1]))
    return RowProblem(np.stack([rows.x, rows.y], axis=2), np.array(rows.scales), known, categories)


def sampled(rows: SmallRows, draws: int = 4000, **changes: Any) -> Array:
    """Draws (chains, draws, ·) in the order of the reference's parameters."""
    problem = problem_of(rows)
    variant = variant_of(problem, **{"collapsed": True, **changes})
    found = sample_rows(problem, seed=3, chains=4, draws=draws, thin=1, variant=variant)
    columns = [found.effects[..., 0, 0], found.scales[..., 0], found.effects[..., 1, 0], found.slopes[..., 1, 0],
               found.scales[..., 1]]
    if rows.answers is not None:
        columns += [found.effects[..., 0, 1], found.effects[..., 1, 1], found.cells[..., 1]]
    return np.stack(columns, axis=2)


def distances(draws: Array, right: Reference) -> Array:
    """Differences of means and of mean distances from a point, in standard errors of both."""
    point = right.weights @ right.draws

    def far(values: Array) -> Array:
        return np.abs(values - point)

    found = []
    for change in (np.asarray, far):
        batches = change(draws).reshape(20, -1, draws.shape[2]).mean(axis=1)  # five from each of four chains
        mean, error = right.mean_and_error(change)
        found.append(np.abs(batches.mean(axis=0) - mean) / np.hypot(error, batches.std(axis=0, ddof=1) / np.sqrt(20)))
    return np.concatenate(found)


@pytest.fixture(scope="module")
def numbers() -> tuple[SmallRows, Reference]:
    rows = made_rows(60)
    return rows, reference(rows)


@pytest.mark.outer
def test_the_reference_is_precise_enough_to_judge(numbers: tuple[SmallRows, Reference]) -> None:
    assert numbers[1].effective > 1500


@pytest.mark.outer
def test_the_default_sampler_agrees_with_quadrature(numbers: tuple[SmallRows, Reference]) -> None:
    rows, right = numbers
    assert distances(sampled(rows), right).max() < LARGEST


@pytest.mark.outer
def test_a_wrong_noise_scale_would_be_seen(numbers: tuple[SmallRows, Reference]) -> None:
    rows, right = numbers
    wrong = dataclasses.replace(rows, scales=(0.06, 0.1))
    assert distances(sampled(wrong, draws=1000), right).max() > 6


@pytest.mark.outer
@pytest.mark.parametrize("changes", [
    {"collapsed": False},
    pytest.param({"double": True}, marks=pytest.mark.slow),
    pytest.param({"collapsed": False, "gibbs": interwoven, "double": True}, marks=pytest.mark.slow),
    pytest.param({"marginal": False, "collapsed": False, "gibbs": interwoven, "double": True}, marks=pytest.mark.slow),
    pytest.param({"marginal": False, "collapsed": False, "gibbs": gibbs, "double": True}, marks=pytest.mark.slow),
])
def test_every_way_to_sample_agrees_with_quadrature(numbers: tuple[SmallRows, Reference], changes: dict[str, Any]) -> None:
    rows, right = numbers
    assert distances(sampled(rows, **changes), right).max() < LARGEST


@pytest.fixture(scope="module")
def grouped() -> tuple[SmallRows, Reference]:
    rows = made_rows(60, group=True, seed=2)
    return rows, reference(rows)


@pytest.mark.slow
def test_a_category_by_randomised_response(grouped: tuple[SmallRows, Reference]) -> None:
    rows, right = grouped
    assert distances(sampled(rows), right).max() < LARGEST


@pytest.mark.outer
def test_wrong_keep_probabilities_would_be_seen(grouped: tuple[SmallRows, Reference]) -> None:
    rows, right = grouped
    wrong = dataclasses.replace(rows, keep=0.95)
    assert distances(sampled(wrong, draws=1000), right).max() > 6


@pytest.mark.slow
@pytest.mark.parametrize("changes", [
    {}, {"collapsed": False}, {"marginal": False, "collapsed": False, "gibbs": interwoven, "double": True}])
def test_two_copies(changes: dict[str, Any]) -> None:
    """With 25 rows, all of them may be of one level: a second mode, which neither the reference nor some samplers find."""
    rows = made_rows(60, copies=2, group=True, seed=4)
    right = reference(rows, draws=4000)
    assert right.effective > 800
    assert distances(sampled(rows, **changes), right).max() < LARGEST
