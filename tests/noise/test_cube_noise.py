"""K-norm noise has the law of P4 of partition.md, exactly: probability proportional to exp(−‖x‖∞/scale) on whole numbers.

Its geometric variables and its cubes are tested by themselves. The cubes exactly: every path that the program can take is
gone through, with its probability as a fraction. Draws are then compared with the law, and must reject laws that are near.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.noise.scale_tests import LEVEL

from noisewise.errors import PrivacyError
from noisewise.privacy import noise
from noisewise.privacy.noise import (
    LARGEST_SCALE,
    LARGEST_VALUE,
    MOST_AT_ANY_SCALE,
    check_cube,
    cube_integers,
    laplace_integers,
    smallest_cube,
)

Point = tuple[int, ...]


class EndedError(Exception):
    """The program asks for more than was laid down: another choice, or another cube because this one was rejected."""

    def __init__(self, choices: int | None) -> None:
        self.choices = choices


def outcomes(numbers: int, radius: int) -> dict[Point, Fraction]:
    """The probability of each point, if the geometric variables add up to this; what is missing to 1 is rejection."""
    found: Counter[Point] = Counter()
    waiting: list[tuple[int, ...]] = [()]
    chances: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    while waiting:
        taken = waiting.pop()
        chance = chances.pop(taken)
        try:
            found[_run(numbers, radius, taken)] += chance  # type: ignore[assignment]
        except EndedError as more:
            for choice in range(more.choices or 0):
                chances[*taken, choice] = chance / more.choices  # type: ignore[operator]
                waiting.append((*taken, choice))
    return dict(found)  


def _run(numbers: int, radius: int, taken: tuple[int, ...]) -> Point:
    choices, cubes = iter(taken), iter([[radius] + [0] * numbers])

    def randbelow(limit: int) -> int:
        choice = next(choices, None)
        if choice is None:
            raise EndedError(limit)
        return choice

    def geometric(scale: float, count: int) -> list[int]:
        assert count == numbers + 1
        cube = next(cubes, None)
        if cube is None:
            raise EndedError(None)
        return cube

    with mock.patch.object(noise.secrets, "randbelow", randbelow), mock.patch.object(noise, "_geometric", geometric):
        return tuple(cube_integers(np.zeros(numbers, dtype=np.int64), 1.0).tolist())


@pytest.mark.parametrize(("numbers", "largest"), [(1, 6), (2, 3), (3, 1)])
def test_the_law_of_the_program_is_the_claimed_one_exactly(numbers: int, largest: int) -> None:
    """A sum of K + 1 geometric variables is R with probability C(R + K, K) q^R, but for a factor.

    Times the probability of a point in its cube this is the same for all points and all R: so a point has the probability of all
    R from its norm on, which is q^‖x‖.
    """
    for radius in range(largest + 1):
        found = outcomes(numbers, radius)
        assert set(found) == set(itertools.product(range(-radius, radius + 1), repeat=numbers))
        each = {math.comb(radius + numbers, numbers) * chance for chance in found.values()}
        assert each == {Fraction(1, 2**numbers * math.factorial(numbers))}


@pytest.mark.parametrize("numbers", [1, 2])
def test_the_privacy_ratio_is_exactly_that_of_the_largest_change(numbers: int) -> None:
    """With q = 1/2: where every number moves by d the ratio of probabilities reaches 2^d, and it is never more."""
    q, most, steps = Fraction(1, 2), 3, 2
    law: Counter[Point] = Counter()
    for radius in range(most + 1):
        for point, chance in outcomes(numbers, radius).items():
            law[point] += math.comb(radius + numbers, numbers) * q**radius * chance  # type: ignore[assignment]
    rest = q ** (most + 1) / (1 - q) / (2**numbers * math.factorial(numbers))  # larger cubes hold each of these points alike
    ratios = [(law[one] + rest) / (law[other] + rest) for one in law for other in law
              if max(abs(a - b) for a, b in zip(one, other, strict=True)) <= steps]
    assert max(ratios) == 2**steps


def geometric_from(rng: np.random.Generator) -> Callable[[float, int], list[int]]:
    """The same law from a seeded generator: what is tested with it are the cubes."""
    return lambda scale, count: (rng.geometric(-np.expm1(-1.0 / scale), count) - 1).tolist()


def draws(numbers: int, scale: float, count: int, seed: int | None = None) -> NDArray[np.int64]:
    zeros = np.zeros(numbers, dtype=np.int64)
    if seed is None:
        return np.stack([cube_integers(zeros, scale) for _ in range(count)])
    with mock.patch.object(noise, "_geometric", geometric_from(np.random.default_rng(seed))):
        return np.stack([cube_integers(zeros, scale) for _ in range(count)])


def cube_law(numbers: int, scale: float, reach: int) -> dict[Point, float]:
    """Of all points up to a norm."""
    norms = np.arange(2000)
    total = float(np.sum(((2.0 * norms + 1) ** numbers - np.maximum(2.0 * norms - 1, 0) ** numbers) * np.exp(-norms / scale)))
    return {point: math.exp(-max(map(abs, point)) / scale) / total
            for point in itertools.product(range(-reach, reach + 1), repeat=numbers)}


def independent_law(numbers: int, scale: float, reach: int) -> dict[Point, float]:
    """Of independent Laplace noise with the variance of the right one: it must be told apart."""
    norms = np.arange(2000)
    shells = ((2.0 * norms + 1) ** numbers - np.maximum(2.0 * norms - 1, 0) ** numbers) * np.exp(-norms / scale)
    radius = np.sqrt(np.sum(shells * norms * (norms + 1)) / np.sum(shells) / 3 * (1 + 1 / numbers))
    q = math.exp(-1.0 / max(radius / math.sqrt(2), 0.3))
    one = {place: (1 - q) / (1 + q) * q ** abs(place) for place in range(-reach, reach + 1)}
    return {point: math.prod(one[place] for place in point) for point in itertools.product(one, repeat=numbers)}


def compatible(found: NDArray[np.int64], law: dict[Point, float]) -> bool:
    """By the chi-square test; points beyond the reach of the law are one class."""
    counts = Counter(map(tuple, found.tolist()))
    seen = np.array([counts.get(point, 0) for point in law] + [0], dtype=float)
    seen[-1] = len(found) - seen.sum()
    expected = np.array([*law.values(), 1.0 - sum(law.values())]) * len(found)
    assert expected.min() > 10
    return bool(stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), len(seen) - 1) > LEVEL)


@pytest.mark.outer(but=["1-0.4-2", "2-1.5-3"])
@pytest.mark.parametrize(("numbers", "scale", "reach"), [(1, 0.4, 2), (1, 3.0, 12), (2, 0.7, 2), (2, 1.5, 3), (3, 0.8, 1)])
def test_draws_have_the_law_and_not_one_that_is_near(numbers: int, scale: float, reach: int) -> None:
    found = draws(numbers, scale, 25_000, seed=numbers)
    assert compatible(found, cube_law(numbers, scale, reach))
    assert not compatible(found, cube_law(numbers, 0.9 * scale, reach))
    if numbers > 1:
        assert not compatible(found, independent_law(numbers, scale, reach))


def test_the_geometric_variables_are_geometric() -> None:
    scale = 1.3
    q = math.exp(-1.0 / scale)
    found = np.array(noise._geometric(scale, 20_000))
    assert len(found) == 20_000 and found.min() == 0

    def law(ratio: float) -> dict[Point, float]:
        return {(place,): (1 - ratio) * ratio**place for place in range(8)}

    assert compatible(found[:, None], law(q))
    assert not compatible(found[:, None], law(math.exp(-1.0 / (0.9 * scale))))


def test_of_one_number_it_is_discrete_laplace_noise() -> None:
    """The whole program, with the noise of the operating system, against the law of OpenDP's sampler and its draws."""
    scale = 2.0
    q = math.exp(-1.0 / scale)
    law = {(place,): (1 - q) / (1 + q) * q ** abs(place) for place in range(-5, 6)}
    assert law == pytest.approx(cube_law(1, scale, 5), rel=1e-12)
    assert compatible(laplace_integers(np.zeros(10_000, dtype=np.int64), scale)[:, None], law)
    assert compatible(draws(1, scale, 1500), law)


def test_the_standard_deviation_is_that_of_the_proof() -> None:
    """√((K + 1)(K + 2)/3) times the scale, in each number; the mean over the numbers of a draw is tested."""
    numbers, scale, count = 5, 1000.0, 4000
    found = draws(numbers, scale, count, seed=5).astype(float) / scale
    mean_square = (found**2).mean(axis=1)
    z = (mean_square.mean() - (numbers + 1) * (numbers + 2) / 3) / (mean_square.std() / math.sqrt(count))
    assert abs(z) < 5
    assert np.abs(np.corrcoef(found.T)[np.triu_indices(numbers, 1)]).max() < 5 / math.sqrt(count)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 2.0 * LARGEST_SCALE])
def test_a_scale_that_protects_nobody_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError, match="noise scale"):
        cube_integers(np.zeros(2, dtype=np.int64), scale)


def test_the_cube_must_fit_64_bits_with_all_of_its_numbers() -> None:
    check_cube(LARGEST_SCALE / 4, 3)
    with pytest.raises(PrivacyError, match="64-bit grid"):
        check_cube(LARGEST_SCALE / 4, 4)
    values = np.array([LARGEST_VALUE, -LARGEST_VALUE, 0], dtype=np.int64)
    for _ in range(20):
        assert (np.abs(cube_integers(values, LARGEST_SCALE / 4) - values) < 2**61).all()
    wrong: list[Any] = [np.array([LARGEST_VALUE + 1]), np.zeros(2), np.zeros((2, 2), dtype=np.int64), [0]]
    for value in wrong:
        with pytest.raises(PrivacyError, match=r"64.bit"):
            cube_integers(value, 1.0)


def test_no_number_needs_no_noise() -> None:
    assert cube_integers(np.zeros(0, dtype=np.int64), 1.0).tolist() == []


def test_a_cube_that_would_be_rejected_for_ever_is_refused() -> None:
    """Of tiny cubes of many numbers hardly one is accepted; the least scale that is allowed ends soon."""
    for numbers in (MOST_AT_ANY_SCALE + 1, 40):
        with pytest.raises(PrivacyError, match="at least"):
            cube_integers(np.zeros(numbers, dtype=np.int64), 0.99 * smallest_cube(numbers))
    asked: list[int] = []
    geometric = geometric_from(np.random.default_rng(1))

    def counted(scale: float, count: int) -> list[int]:
        asked.append(count)
        return geometric(scale, count)

    with mock.patch.object(noise, "_geometric", counted):
        for _ in range(200):
            cube_integers(np.zeros(40, dtype=np.int64), smallest_cube(40))
    assert len(asked) < 200 * 20
    assert cube_integers(np.zeros(MOST_AT_ANY_SCALE, dtype=np.int64), 1e-9).tolist() == [0] * MOST_AT_ANY_SCALE


def test_two_draws_differ() -> None:
    one, other = (cube_integers(np.zeros(3, dtype=np.int64), 2.0**40) for _ in range(2))
    assert one.tolist() != other.tolist()  # equal with a probability below 1e-30
