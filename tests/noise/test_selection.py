"""The selection that finds a bound has the law of bounds.md, B2: not that of another scale, and not that of another mechanism."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.noise.scale_tests import LEVEL
from tests.noise.selection_law import exponential_law, permute_and_flip_law

from noisewise.errors import PrivacyError
from noisewise.privacy.mechanisms.bounds import Selection
from noisewise.privacy.noise import _measurement, noisy_max
from noisewise.privacy.sensitivity.bounds import BoundSensitivity, rank_scores

DRAWS = 18_000
SELECTION = Selection.calibrate(BoundSensitivity(adjacency="replace-one", unit_is_row=True), 0.25)
BEYOND = np.array([90, 40, 27, 20, 12, 6, 0, 0], dtype=np.int64)
SCORES = rank_scores(BEYOND, cells=100, wanted=21)


@cache
def drawn() -> NDArray[np.int64]:
    return np.bincount([SELECTION.choose(SCORES) for _ in range(DRAWS)], minlength=len(SCORES))


def pooled(values: NDArray[Any]) -> NDArray[Any]:
    """The first two candidates together: fewer than one draw of the first is expected, too few for the chi-square law."""
    return np.append(values[0] + values[1], values[2:])


def compatible(law: NDArray[np.float64]) -> bool:
    expected = pooled(law) * DRAWS / law.sum()
    assert expected.min() > 100
    return bool(stats.chisquare(pooled(drawn()), expected).pvalue > LEVEL)


def power(wrong: NDArray[np.float64]) -> float:
    """The probability that the test rejects another law."""
    true, other = pooled(permute_and_flip_law(SCORES, SELECTION.scale)), pooled(wrong)
    excess, degrees = DRAWS * float(np.sum((true - other) ** 2 / other)), len(other) - 1
    return float(stats.ncx2.sf(stats.chi2.isf(LEVEL, degrees), degrees, excess))


def test_the_oracle_is_a_law_and_agrees_with_two_candidates_by_hand() -> None:
    law = permute_and_flip_law(SCORES, SELECTION.scale)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert permute_and_flip_law(np.array([0, -3]), 2.0) == pytest.approx([1 - np.exp(-1.5) / 2, np.exp(-1.5) / 2])


def test_what_is_drawn_has_the_law_of_the_proof() -> None:
    assert SELECTION.scale == 8.0
    assert compatible(permute_and_flip_law(SCORES, SELECTION.scale))


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_another_scale_is_noticed(factor: float) -> None:
    wrong = permute_and_flip_law(SCORES, factor * SELECTION.scale)
    assert power(wrong) > 1 - 1e-9
    assert not compatible(wrong)


def test_another_mechanism_is_noticed() -> None:
    wrong = exponential_law(SCORES, SELECTION.scale)
    assert power(wrong) > 1 - 1e-9
    assert not compatible(wrong)


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("epsilon", [0.05, 1 / 3, 7.0])
def test_opendp_promises_no_more_than_we_do(max_rows: int, epsilon: float) -> None:
    """Its own privacy map, which rounds up, gives our epsilon for the sensitivity, and more for a larger one."""
    found = Selection.calibrate(BoundSensitivity(adjacency="add-remove", unit_is_row=False, max_rows=max_rows), epsilon)
    assert _measurement("selection", found.scale).map(max_rows) <= epsilon * (1 + 1e-12)
    assert _measurement("selection", found.scale).map(max_rows + 1) > epsilon


def test_two_draws_differ() -> None:
    level = np.zeros(10_000, dtype=np.int64)
    assert len({noisy_max(level, 1.0) for _ in range(5)}) > 1  # all equal with probability 1e-16


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 2.0**60])
def test_a_scale_that_protects_nobody_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError, match="noise scale"):
        noisy_max(SCORES, scale)


def test_scores_are_whole_numbers_within_64_bits() -> None:
    with pytest.raises(PrivacyError, match="64-bit integers"):
        noisy_max(SCORES.astype(float), 1.0)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="room for noise"):
        noisy_max(np.array([2**63 - 1], dtype=np.int64), 1.0)
