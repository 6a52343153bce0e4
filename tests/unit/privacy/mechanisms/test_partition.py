"""Values, directions of rounding, shares of the budget and refusals of the mechanism of a partition release."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import PrivacyError
from noisewise.privacy.accounting import compose
from noisewise.privacy.calibration import log_delta_of_gaussian
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.bounds import Selection
from noisewise.privacy.mechanisms.partition import STEPS, PartitionMechanism
from noisewise.privacy.noise import smallest_cube
from noisewise.privacy.sensitivity.partition import PartitionSensitivity
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.schema.search_grid import centre_candidates, width_candidates

EPSILONS = st.floats(1e-6, 1e4)
SHARES = st.lists(st.floats(0.01, 0.6), max_size=3).map(tuple)


def sensitivity(numbers: int = 1, **changes: Any) -> PartitionSensitivity:
    return PartitionSensitivity(**{"numbers": numbers, "adjacency": "replace-one", "unit_is_row": True, **changes})


def calibrated(numbers: int = 1, epsilon: float = 1.0, delta: float | None = None, **more: Any) -> PartitionMechanism:
    return PartitionMechanism.calibrate(sensitivity(numbers), epsilon, delta, **more)


@pytest.mark.parametrize("numbers", [1, 2, 3, 10, 1000])
def test_norms_of_the_sensitivity(numbers: int) -> None:
    found = sensitivity(numbers)
    assert found.largest == 1.0
    assert Fraction(found.norm) ** 2 >= numbers and found.norm == pytest.approx(math.sqrt(numbers), rel=1e-15)


@given(EPSILONS, st.integers(1, 50))
def test_k_norm_noise_is_never_below_what_epsilon_asks_for(epsilon: float, numbers: int) -> None:
    """In exact numbers: a change of one, STEPS steps of the grid, costs at most epsilon."""
    found = calibrated(numbers, epsilon)
    assert found.name == "k-norm" and found.delta == 0.0 and found.noise_epsilon == epsilon
    assert STEPS / Fraction(found.scale / STATISTIC_GRID) <= Fraction(epsilon)
    assert found.scale == pytest.approx(max(1 / epsilon, smallest_cube(numbers) / STEPS), rel=1e-12)


@given(st.floats(1e-3, 50.0), st.integers(1, 50), st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_gaussian_noise_is_calibrated_to_the_root_of_the_numbers(epsilon: float, numbers: int, delta: float) -> None:
    found = calibrated(numbers, epsilon, delta)
    assert found.name == "gaussian" and found.delta == delta
    assert log_delta_of_gaussian(epsilon, found.scale / math.sqrt(numbers)) <= math.log(delta)
    assert log_delta_of_gaussian(epsilon, 0.999 * found.scale / math.sqrt(numbers)) > math.log(delta)


def test_for_one_number_laplace_is_k_norm() -> None:
    assert calibrated(mechanism="laplace") == calibrated(mechanism="k-norm") == calibrated()


@pytest.mark.parametrize(("numbers", "arguments", "words"), [
    (2, {"mechanism": "laplace"}, "known: k-norm, gaussian"),
    (1, {"mechanism": "wishart"}, "known: k-norm, gaussian"),
    (1, {"mechanism": "gaussian"}, "needs a delta"),
    (1, {"delta": 0.0}, "delta"),
    (1, {"delta": 1.0}, "delta"),
    (1, {"delta": -1.0, "mechanism": "k-norm"}, "delta"),
    (1, {"epsilon": 0.0}, "epsilon"),
    (1, {"epsilon": float("nan")}, "epsilon"),
    (1, {"epsilon": 1e-13}, "noise scale"),
    (1000, {"epsilon": 1e-10}, "noise scale"),
    (1, {"epsilon": 1e-13, "delta": 1e-20}, "noise scale"),
    (1, {"shares": (0.5, 0.5)}, "leave something"),
    (1, {"shares": (0.6, 0.6)}, "leave something"),
    (1, {"epsilon": 5e-324, "shares": (0.1,)}, "leave something"),
])
def test_what_cannot_be_promised_is_refused(numbers: int, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(PrivacyError, match=words):
        calibrated(numbers, **arguments)


def test_delta_that_is_offered_to_k_norm_noise_is_not_spent() -> None:
    found = calibrated(3, 0.5, 1e-6, mechanism="k-norm")
    assert found.delta == 0.0 == found.cost().delta


@given(EPSILONS, SHARES)
def test_shares_and_the_rest_never_add_up_to_more_than_epsilon(epsilon: float, shares: tuple[float, ...]) -> None:
    if sum(shares) > 0.99:
        return
    found = calibrated(2, epsilon, shares=shares)
    spent = [Fraction(own) for own in (*found.selections, found.noise_epsilon)]
    assert sum(spent) <= Fraction(epsilon) < sum(spent) * (1 + Fraction(1, 10**12))
    for own, share in zip(found.selections, shares, strict=True):
        assert own == pytest.approx(share * epsilon, rel=1e-12)


@pytest.mark.parametrize(("numbers", "delta", "kinds"), [
    (1, None, ["laplace", "approximate", "approximate"]), (4, None, ["approximate"] * 3),
    (4, 1e-6, ["gaussian", "approximate", "approximate"])])
def test_the_cost_is_made_of_the_noise_and_of_every_selection(numbers: int, delta: float | None, kinds: list[str]) -> None:
    found = calibrated(numbers, 0.8, delta, shares=(0.3, 0.2))
    cost = found.cost()
    assert (cost.epsilon, cost.delta) == (0.8, delta or 0.0)
    assert [piece.kind for piece in cost.pieces] == kinds
    assert [piece.numbers for piece in cost.pieces[1:]] == [(own, 0.0) for own in found.selections]
    noise = cost.pieces[0].numbers[0]
    if kinds[0] == "laplace":
        assert noise <= found.scale and noise == pytest.approx(found.scale, rel=1e-4)
    elif kinds[0] == "gaussian":
        assert noise <= found.scale / math.sqrt(4) and noise == pytest.approx(found.scale / 2, rel=1e-6)
    else:
        assert noise == found.noise_epsilon


@pytest.mark.parametrize("shares", [(), (0.35, 0.3)])
@pytest.mark.parametrize(("numbers", "delta"), [(1, None), (3, None), (3, 1e-6)])
def test_composition_is_never_below_what_is_spent_nor_above_the_sum(numbers: int, delta: float | None, shares: Any) -> None:
    """Of one release: what the noise of it and its selections come to. Of several: more than one, and at most all together."""
    cost = calibrated(numbers, 0.5, delta, shares=shares).cost()
    total = 1e-5
    alone = compose([cost], total).epsilon
    assert alone <= 0.5 * (1 + 1e-9)
    if delta is None and numbers > 1:  # nothing but pure pieces, of which a worst case is known
        assert alone == pytest.approx(0.5, rel=1e-3)
    several = compose([cost] * 4, total).epsilon
    assert alone < several <= 4 * 0.5 * (1 + 1e-9)
    assert several >= compose([Cost.approximate(own, 0.0) for own in calibrated(numbers, 0.5, delta, shares=shares).selections]
                              or [cost], total).epsilon


def test_costs_survive_the_ledger() -> None:
    cost = calibrated(3, 0.7, 1e-6, shares=(0.1, 0.2)).cost()
    assert Cost.from_dict(cost.as_dict()) == cost


def scores_of(values: npt.NDArray[np.float64], grid: npt.NDArray[np.float64], monkeypatch: pytest.MonkeyPatch,
              ) -> tuple[npt.NDArray[np.int64], Selection]:
    seen: list[tuple[npt.NDArray[np.int64], Selection]] = []

    def choose(self: Selection, scores: npt.NDArray[np.int64]) -> int:
        seen.append((scores, self))
        return 0

    with monkeypatch.context() as patched:
        patched.setattr(Selection, "choose", choose)
        calibrated(2, 1.0, shares=(0.3, 0.2)).select(1, values, grid)
    return seen[0]


GRIDS = {"centre": centre_candidates()[::37], "width": width_candidates(), "tiny": np.array([-1.0, 0.0, 1.0])}


@pytest.mark.parametrize("name", GRIDS)
def test_one_part_changes_no_score_of_a_selection_by_more_than_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ties, values on candidates, infinite ones and all of them beyond the last candidate."""
    grid = GRIDS[name]
    rng = np.random.default_rng(8)
    odd = np.array([np.inf, -np.inf, 0.0, -0.0, 1.0, 1e300, -1e300, 5e-324])
    largest = 0
    for trial in range(150):
        parts = int(rng.integers(2, 12))
        pool = np.concatenate([odd, rng.choice(grid, 5), rng.normal(size=3)])
        one = np.full(parts, np.inf) if trial % 10 == 0 else rng.choice(pool, parts)
        other = one.copy()
        other[rng.integers(parts)] = rng.choice(pool)
        (before, selection), (after, _) = (scores_of(values, grid, monkeypatch) for values in (one, other))
        assert np.abs(before - after).max() <= 1 == selection.sensitivity.score
        largest = max(largest, int(np.abs(before - after).max()))
        assert before.max() <= 0
    assert largest == 1
    assert Fraction(selection.scale) * Fraction(0.2) >= 2  # both of two scores may change, in opposite directions


def test_the_median_has_the_best_score(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = np.arange(-5.0, 6.0)
    for values, best in (([-3.0, 1.0, 2.0], 1.0), ([0.0, 0.0, np.inf], 0.0), ([-4.5, -4.5, 3.0, 4.0], -4.0)):
        scores, _ = scores_of(np.array(values), grid, monkeypatch)
        assert grid[int(np.argmax(scores))] == best
    beyond, _ = scores_of(np.full(5, np.inf), grid, monkeypatch)
    assert (beyond == beyond[-1])[1:].all()  # nothing is known: no candidate is preferred to the others


def test_a_selection_is_drawn_and_is_a_candidate() -> None:
    found = calibrated(2, 40.0, shares=(0.3, 0.3)).select(0, np.full(200, 3.14), centre_candidates())
    assert found in centre_candidates() and 3.0 <= found <= 3.3  # 100 parts would have to move, at a scale of 1/6


def test_noise_is_added_to_all_sums_and_on_the_grid() -> None:
    for delta in (None, 1e-6):
        found = calibrated(3, 2.0, delta).perturb(np.array([0, 5 * STEPS, 3], dtype=np.int64)) / STATISTIC_GRID
        assert np.array_equal(found, np.round(found)) and len(found) == 3
    with pytest.raises(PrivacyError, match="all sums"):
        calibrated(3).perturb(np.zeros(2, dtype=np.int64))


def test_with_a_huge_epsilon_a_draw_ends_and_adds_hardly_anything() -> None:
    """The least scale of a cube: without it none of this size would ever be accepted."""
    found = calibrated(60, 1e9)
    assert found.scale == 15 * STATISTIC_GRID
    assert np.abs(found.perturb(np.zeros(60, dtype=np.int64))).max() < 0.2
    assert found.cost().pieces[0].numbers[0] == 1e9  # what it costs is what was asked for, though less would be true


@pytest.mark.parametrize(("changes", "delta", "words"), [
    ({}, None, "Replacing any one row .* at most a factor exp\\(epsilon\\), with epsilon = 0.3 and delta = 0 .*K-norm"),
    ({"adjacency": "add-remove"}, 1e-6, "Adding or removing any one row .* a further delta, .* delta = 1e-06 .*Gaussian"),
    ({"unit_is_row": False, "max_rows": 4}, None, "all rows of any one value of who \\(at most 4 rows\\)"),
])
def test_the_statement_says_what_is_promised(changes: dict[str, Any], delta: float | None, words: str) -> None:
    import re

    found = PartitionMechanism.calibrate(sensitivity(2, **changes), 0.3, delta)
    assert re.search(words, found.statement("who" if "max_rows" in changes else None))
