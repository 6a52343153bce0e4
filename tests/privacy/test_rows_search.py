"""Published rows against a search for neighbours that they give away, and wrong sensitivities, which the search catches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy.special import ndtr

from noisewise.holder.rows import plan_rows
from noisewise.kinds import Rows
from noisewise.privacy.mechanisms.rows import RowsMechanism
from noisewise.privacy.sensitivity.rows import response_ratio
from noisewise.schema import Schema

TIGHT = 0.99
SHARES = {"a": 3.0, "w": 0.5}


def schema(numbers: int, levels: Sequence[int]) -> Schema:
    columns = {name: {"bounds": [0, 10]} for name in "abcd"[:numbers]}
    columns |= {name: {"levels": [f"L{place}" for place in range(count)]} for name, count in zip("wxyz", levels, strict=False)}
    return Schema.from_dict({"adjacency": "replace-one", "columns": columns})


def plan(numbers: int, levels: Sequence[int], copies: int, delta: float | None = None) -> RowsMechanism:
    epsilon, declared = 1.3, schema(numbers, levels)
    shares = {name: weight for name, weight in SHARES.items() if name in declared.names}
    return plan_rows(declared, Rows(copies, shares), epsilon, delta)


PLACES = (-30.0, -1.0, -0.4, 0.0, 0.7, 1.0, 30.0)
"""Where a published number may lie, in scaled units."""


def largest_loss(scales: Sequence[float], keep: Mapping[str, int], levels: Mapping[str, int], copies: int) -> float:
    """The largest logarithm of a likelihood ratio that a search finds, over pairs of rows and published rows.

    Coordinates are tried one after the other, from random starts; nothing of the formula for the loss is used.
    """
    random = np.random.default_rng(5)
    of_number: list[Sequence[float]] = [(-1.0, 0.0, 1.0)] * 2 + [PLACES] * copies  # a cell of one row, of the other, published
    options = of_number * len(scales)
    for count in levels.values():
        options += [range(count)] * (2 + copies)
    names = list(levels)

    def loss(state: Sequence[float]) -> float:
        total = 0.0
        for column, (one, other, *published) in enumerate(zip(*[iter(state)] * (2 + copies), strict=True)):
            if column < len(scales):
                total += sum((abs(value - other) - abs(value - one)) / scales[column] for value in published)
            else:
                name = names[column - len(scales)]
                ratio = math.log(response_ratio(keep[name], levels[name]))
                total += sum(ratio * ((value == one) - (value == other)) for value in published)
        return total

    found = []
    for _ in range(12):
        state = [float(random.choice(np.array(choices))) for choices in options]
        for _ in range(2):
            for place, choices in enumerate(options):
                state = max(([*state[:place], float(value), *state[place + 1:]] for value in choices), key=loss)
        found.append(loss(state))
    return max(found)


CASES = [(1, (), 1), (3, (), 1), (2, (3,), 1), (0, (2, 4), 2), (2, (2,), 3)]


@pytest.mark.parametrize(("numbers", "levels", "copies"), CASES)
def test_no_neighbour_loses_more_than_epsilon_and_some_do_nearly(numbers: int, levels: tuple[int, ...], copies: int) -> None:
    made = plan(numbers, levels, copies)
    found = largest_loss(list(made.scales.values()), made.keep, made.levels, copies)
    assert TIGHT * made.epsilon <= found <= made.epsilon * (1 + 1e-12)


def test_noise_that_is_smaller_by_a_hundredth_is_caught() -> None:
    made = plan(3, (), 2)
    assert largest_loss([0.98 * scale for scale in made.scales.values()], {}, {}, 2) > made.epsilon * 1.01


def test_forgetting_the_number_of_columns_is_caught() -> None:
    assert largest_loss([2 / 1.3] * 3, {}, {}, 1) > 2.9 * 1.3


def test_forgetting_the_number_of_copies_is_caught() -> None:
    made = plan(2, (2,), 1)
    assert largest_loss(list(made.scales.values()), made.keep, made.levels, 4) > 3.9 * 1.3


def test_the_range_of_most_rows_is_no_sensitivity() -> None:
    """Paper 001's 3.92(σ_x + σ_e) is the width of the central 95 % of a normal column: bounds for all rows are wider."""
    column = np.random.default_rng(1).normal(50, 12, 5000)  # declared: 0 to 120
    claimed = 3.92 * (column.std() + 0.1)
    in_scaled_units = claimed / 60
    assert largest_loss([in_scaled_units / 1.3], {}, {}, 1) > 1.2 * 1.3
    half = float(np.ptp(column)) / 2  # and even if the rows' own range were the bounds, some rows lie further apart than that
    assert largest_loss([claimed / half / 1.3], {}, {}, 1) > 1.3


@pytest.mark.parametrize(("numbers", "levels", "copies"), [(1, (), 1), (3, (), 4), (2, (3,), 2)])
def test_gaussian_noise_keeps_epsilon_and_delta_for_the_worst_rows(numbers: int, levels: tuple[int, ...], copies: int) -> None:
    made = plan(numbers, levels, copies, delta=1e-4)
    exact = hockey_stick(made, made.epsilon)
    assert exact <= 1e-4
    if not levels:  # beside categories the bound is not tight
        assert hockey_stick(made, made.epsilon * 0.97) > 1e-4


@pytest.mark.parametrize("factor", [1 / math.sqrt(3), 1 / 2])
def test_gaussian_noise_that_forgets_columns_or_copies_is_caught(factor: float) -> None:
    made = plan(3, (), 4, delta=1e-4)
    less = {name: factor * scale for name, scale in made.scales.items()}
    assert hockey_stick(made, made.epsilon, less) > 1e-3


def hockey_stick(made: RowsMechanism, epsilon: float, scales: Mapping[str, float] | None = None) -> float:
    """The smallest delta at this epsilon, between rows at opposite corners: all answers of categories, the numbers by Φ."""
    distance = math.sqrt(sum(made.copies * 4 / sd**2 for sd in (scales or made.scales).values()))
    losses = [(1.0, 0.0)]
    for name, count in made.levels.items():
        kept = made.keep_probability(name)
        other, ratio = (1 - kept) / (count - 1), math.log(response_ratio(made.keep[name], count))
        for _ in range(made.copies):
            losses = [(weight * chance, loss + change) for weight, loss in losses
                      for chance, change in ((kept, ratio), (other, -ratio), (1 - kept - other, 0.0))]

    def of_numbers(own: float) -> float:
        return float(ndtr(distance / 2 - own / distance) - math.exp(own) * ndtr(-distance / 2 - own / distance))

    return sum(weight * of_numbers(epsilon - loss) for weight, loss in losses)
