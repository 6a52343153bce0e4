"""What is drawn for published rows has the laws of rows.md, R2 to R4: not those of another scale or probability."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.noise.scale_tests import LEVEL, Distribution, assert_scale, assert_shape

from noisewise.errors import PrivacyError
from noisewise.holder.rows import plan_rows
from noisewise.kinds import Rows
from noisewise.privacy.noise import randomised_response
from noisewise.privacy.sensitivity.rows import CELL_GRID, keep_units
from noisewise.schema import Schema

DRAWS = 40_000
LEVELS = 5
UNITS = round(0.6 * 2**53)
SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}, "stay": {"bounds": [0, 60]}}})


@cache
def answers() -> NDArray[np.int64]:
    """How often each level is the answer for each true level."""
    truth = np.repeat(np.arange(LEVELS), DRAWS)
    drawn = randomised_response(truth, LEVELS, UNITS)
    return np.array([np.bincount(drawn[truth == level], minlength=LEVELS) for level in range(LEVELS)])


def compatible(keep: float) -> bool:
    law = np.full((LEVELS, LEVELS), (1 - keep) / (LEVELS - 1)) + np.eye(LEVELS) * (keep - (1 - keep) / (LEVELS - 1))
    return all(stats.chisquare(row, own * DRAWS).pvalue > LEVEL for row, own in zip(answers(), law, strict=True))


def test_answers_have_the_stated_law() -> None:
    assert compatible(UNITS / 2**53)


@pytest.mark.parametrize("keep", [0.55, 0.65])
def test_another_probability_is_noticed(keep: float) -> None:
    assert not compatible(keep)


def test_two_levels_are_kept_or_flipped() -> None:
    flipped = int(randomised_response(np.zeros(DRAWS, dtype=np.int64), 2, round(0.75 * 2**53)).sum())
    assert stats.binomtest(flipped, DRAWS, 0.25).pvalue > LEVEL


def test_cells_answer_independently() -> None:
    """Neighbouring cells share no random number: the table of pairs has the law of a product."""
    drawn = randomised_response(np.zeros(2 * DRAWS, dtype=np.int64), 3, round(0.5 * 2**53)).reshape(-1, 2)
    pairs = np.bincount(3 * drawn[:, 0] + drawn[:, 1], minlength=9)
    law = np.outer([0.5, 0.25, 0.25], [0.5, 0.25, 0.25]).ravel()
    assert stats.chisquare(pairs, law * DRAWS).pvalue > LEVEL


@pytest.mark.parametrize(("levels", "units"), [(2, 2**53), (2, 0), (4, 2**50), (1, 2**52)])
def test_probabilities_that_were_not_calibrated_are_refused(levels: int, units: int) -> None:
    with pytest.raises(PrivacyError, match="number of levels"):
        randomised_response(np.zeros(3, dtype=np.int64), levels, units)


@pytest.mark.parametrize(("delta", "distribution"), [(None, "laplace"), (1e-6, "gaussian")])
def test_each_column_has_its_own_noise_on_every_copy(delta: float | None, distribution: Distribution) -> None:
    made = plan_rows(SCHEMA, Rows(copies=2, shares={"age": 4}), 3.0, delta)
    rows = 12_000
    cells = np.stack([np.full(rows, -(2**20)), np.full(rows, 12345)])
    noisy = made.perturb(cells, np.ones((1, rows), dtype=np.int64))
    assert noisy.shape == (rows, 2, 3)
    noise = (noisy[:, :, :2] - cells.T[:, None, :]) * CELL_GRID
    for place, name in enumerate(made.scales):
        assert_scale(distribution, noise[:, :, place].ravel(), made.scales[name])
        assert_shape(distribution, noise[:, :, place].ravel(), made.scales[name])
    flat = noise.reshape(rows, -1)
    correlation = np.corrcoef(flat.T)[np.triu_indices(4, 1)]
    assert np.abs(correlation).max() < stats.norm.isf(LEVEL) / np.sqrt(rows) * 1.2
    kept = int((noisy[:, :, 2] == 1).sum())
    assert stats.binomtest(kept, 2 * rows, made.keep_probability("ward")).pvalue > LEVEL
    assert made.keep["ward"] == keep_units(made.shares["ward"] * 3 / 2, 3)
