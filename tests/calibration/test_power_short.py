"""What a plan predicts is what happens, and a wrong prediction is noticed: the short version of ``studies.power``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from studies.power import World, compared, happened, patients, predicted, readmitted, visits

ROWS, EPSILON = 5_000, 1.0
WORLD = patients()


def test_a_plan_comes_true_and_one_with_half_the_noise_does_not() -> None:
    """Real releases with real noise. With 30 of them the median width is known to about 2 %; half the noise would make it 30 to
    40 % less. The normal approximation is a few per cent too narrow at this noise, and needs no compiling."""
    found = happened(WORLD, ROWS, EPSILON, 30, seed=1, method="laplace")
    right = compared(WORLD, predicted(WORLD, ROWS, EPSILON, 60), found)
    assert all(line["width predicted"] == pytest.approx(line["width"], rel=0.15) for line in right), right
    assert all(abs(line["power z"]) < 4 for line in right), right
    wrong = compared(WORLD, predicted(WORLD, ROWS, 2 * EPSILON, 60), found)  # twice the epsilon has about half the noise
    assert all(line["width predicted"] < 0.8 * line["width"] for line in wrong), wrong


@pytest.mark.slow
@pytest.mark.parametrize(("world", "epsilon"), [(patients, 0.3), (readmitted, 1.0), (visits, 1.0)])
def test_plans_of_every_family_come_true_by_the_default_method(world: Callable[[], World], epsilon: float) -> None:
    made = world()
    lines = compared(made, predicted(made, ROWS, epsilon, 100), happened(made, ROWS, epsilon, 48, seed=2))
    assert all(line["width predicted"] == pytest.approx(line["width"], rel=0.15) for line in lines), lines
    assert all(abs(line["power z"]) < 4 for line in lines), lines
