"""How samplers use random numbers, with random numbers that are known: no chance is left, so that every slip shows.

Whether the noise that is really drawn has the right distribution is tested in tests/noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisewise.privacy import noise
from noisewise.privacy.mechanisms import partition
from noisewise.privacy.mechanisms.partition import PartitionMechanism
from noisewise.privacy.sensitivity.partition import PartitionSensitivity


class Dice:
    """In the place of `secrets.randbelow`: remembers the limits that it was asked for, and answers by a rule."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.limits: list[int] = []

    def __call__(self, limit: int) -> int:
        self.limits.append(limit)
        answer = self.answers.pop(0)
        assert 0 <= answer < limit
        return answer


def integers(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_a_level_that_is_not_kept_becomes_each_of_the_others_once(monkeypatch: pytest.MonkeyPatch, levels: int) -> None:
    monkeypatch.setattr(noise, "_random_bits", lambda count, bits: np.full(count, 2**53 - 1, dtype=np.uint64))
    monkeypatch.setattr(noise, "_random_below", lambda count, limit: np.arange(count) % limit)
    for code in range(levels):
        found = noise.randomised_response(np.full(levels - 1, code, dtype=np.int64), levels, 2**53 - 1)
        assert found.tolist() == [level for level in range(levels) if level != code]


def test_a_level_is_kept_for_exactly_so_many_of_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = 5 * 2**50
    asked = []

    def bits(count: int, number: int) -> Any:
        asked.append((count, number))
        return np.array([0, keep - 1, keep, 2**53 - 1], dtype=np.uint64)

    monkeypatch.setattr(noise, "_random_bits", bits)
    monkeypatch.setattr(noise, "_random_below", lambda count, limit: np.zeros(count, dtype=np.int64) + 0 * limit)
    assert noise.randomised_response(integers(1, 1, 1, 1), 2, keep).tolist() == [1, 1, 0, 0]
    assert asked == [(4, 53)]


@pytest.mark.parametrize("bits", [1, 2, 53])
def test_random_bits_are_the_first_of_eight_bytes(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    words = np.array([0, 2**64 - 1, 2**63, 2**62], dtype=np.uint64)
    monkeypatch.setattr(noise.os, "urandom", lambda count: words.tobytes()[:count])
    assert noise._random_bits(4, bits).tolist() == [int(word) >> (64 - bits) for word in words]
    assert len(noise._random_bits(0, bits)) == 0


def test_numbers_below_a_limit_are_drawn_again_until_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [[3, 0, 3, 2], [1, 3], [2]]
    asked: list[tuple[int, int]] = []

    def bits(count: int, number: int) -> Any:
        asked.append((count, number))
        return np.array(answers[len(asked) - 1], dtype=np.uint64)

    monkeypatch.setattr(noise, "_random_bits", bits)
    found = noise._random_below(4, 3)
    assert found.tolist() == [1, 0, 2, 2] and found.dtype == np.int64
    assert asked == [(4, 2), (2, 2), (1, 2)]


@pytest.mark.parametrize(("limit", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8), (257, 9)])
def test_as_many_bits_are_drawn_as_the_limit_needs(monkeypatch: pytest.MonkeyPatch, limit: int, bits: int) -> None:
    asked = []
    monkeypatch.setattr(noise, "_random_bits", lambda count, number: asked.append(number) or np.zeros(count, dtype=np.uint64))
    assert noise._random_below(3, limit).tolist() == [0, 0, 0] and asked == [bits]


def test_a_point_of_a_cube(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: of radius R with probability Π (2R + 1)/(2(R + i)), else with a new radius; then each coordinate evenly in ±R."""
    radii = [[1, 2, 0], [4, 0, 0]]
    counts = []
    monkeypatch.setattr(noise, "_geometric", lambda scale, count: counts.append((scale, count)) or radii.pop(0))
    dice = Dice(6, 7, 8, 8, 0, 8)  # R = 3: 6 < 7 yes, 7 < 7 no. R = 4: 8 < 9 twice. Coordinates 0 and 8 of 0 to 8.
    monkeypatch.setattr(noise.secrets, "randbelow", dice)
    assert noise.cube_integers(integers(100, 200), 5.0).tolist() == [96, 204]
    assert dice.limits == [8, 10, 10, 12, 9, 9]
    assert counts == [(5.0, 3), (5.0, 3)]


def test_without_numbers_no_cube_is_drawn() -> None:
    assert noise.cube_integers(integers(), 5.0).size == 0


def test_geometric_numbers_are_laplace_numbers_that_are_not_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [integers(-1, 0, -3, 2), integers(-2, -1, 5, 7)]
    asked = []

    def laplace(values: Any, scale: float) -> Any:
        asked.append((values.tolist(), scale))
        return drawn.pop(0)

    monkeypatch.setattr(noise, "laplace_integers", laplace)
    assert noise._geometric(6.0, 3) == [0, 2, 5]
    assert all(set(values) == {0} and scale == 6.0 for values, scale in asked) and len(asked) == 2


def test_an_urn_gives_a_ball_back_with_one_of_its_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Dice(2, 2, 4, 4)  # of 3 white and 4 black: white; then of 4 white: white; of 5: white; of 6: white
    monkeypatch.setattr(noise.secrets, "randbelow", dice)
    assert noise.urn_draws(3, 4, 4) == 4 and dice.limits == [7, 8, 9, 10]
    dice = Dice(3, 7, 3, 9)  # the first that are not white: 3 of 3, then 7 of 3; 3 of 3; 9 of 3
    monkeypatch.setattr(noise.secrets, "randbelow", dice)
    assert noise.urn_draws(3, 4, 4) == 0 and dice.limits == [7, 8, 9, 10]
    monkeypatch.setattr(noise.secrets, "randbelow", Dice(2, 4, 3))  # white, black (4 is not below 4), white (3 is)
    assert noise.urn_draws(3, 4, 3) == 2


@pytest.mark.parametrize(("degrees", "blocks"), [(3, [3]), (4096, [4096]), (4099, [4096, 3])])
def test_a_wishart_matrix_is_made_of_coarse_and_fine_normals(monkeypatch: pytest.MonkeyPatch, degrees: int,
                                                            blocks: list[int]) -> None:
    random, drawn, scales = np.random.default_rng(1), [], []

    def gaussian(values: Any, scale: float) -> Any:
        assert not values.any()
        scales.append(scale)
        drawn.append(random.integers(-(2**56), 2**56, len(values)))
        return drawn[-1]

    monkeypatch.setattr(noise, "gaussian_integers", gaussian)
    found = noise.wishart_integers(2, degrees)
    assert [len(one) // 2 for one in drawn[::2]] == [len(one) // 2 for one in drawn[1::2]] == blocks
    assert set(scales) == {2.0**54}
    rows = [coarse.astype(object) * 2**50 + fine.astype(object) for coarse, fine in zip(drawn[::2], drawn[1::2], strict=True)]
    matrix = np.concatenate(rows).reshape(degrees, 2)
    assert (found == matrix.T @ matrix).all()


def test_noise_of_a_partition_release_is_of_the_distribution_that_it_is_named_after(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(partition, "gaussian_integers", lambda sums, units: asked.append(units) or sums + 2**16)
    monkeypatch.setattr(partition, "cube_integers", lambda sums, units: asked.append(units) or sums + 2**17)
    two = PartitionSensitivity(adjacency="replace-one", unit_is_row=True, numbers=2)
    for name, expected in (("gaussian", [6.0, 1.0]), ("k-norm", [7.0, 2.0])):
        mechanism = PartitionMechanism(sensitivity=two, epsilon=1.0, delta=0.0, selections=(), noise_epsilon=1.0, scale=3.0,
                                       name=name)
        noisy = mechanism.perturb(integers(5 * 2**16, 0))
        assert noisy.tolist() == expected and noisy.dtype == np.float64
    assert asked == [3.0 * 2**16] * 2
