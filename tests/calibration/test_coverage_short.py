"""Coverage of the default's 95 % intervals on simulated tables, short; the full grid is ``python -m studies.coverage``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from studies.batch import sample_batch
from studies.coverage import GRID, coverage_of, run_cell, settings, simulated_models
from studies.sbc import mistold
from studies.tables import Setting, truth_in_table

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.linear.conditional import ConditionalModel

LEVEL = 1e-4
REPLICATES = 75
NAIVE = 25  # so many are enough to see that a density without noise covers half of what it claims
CELLS = [  # the noise matters in all of them, and none of them is so noisy that the prior decides
    Setting("mixed", 2, 1_000, 10.0, 1, "replace-one", "gaussian"),
    Setting("mixed", 2, 10_000, 1.0, 1, "add-remove", "gaussian"),
    Setting("normal", 2, 100_000, 1.0, 5, "replace-one", "gaussian"),
]

EXACT = 0.94
# For each of the four parameters the number of intervals, out of 3 · 75, that contain the truth: binomial. Its probability for a
# right posterior is 0.95 if the interval's ends are estimated from independent draws (see `covered`), and a little less because
# they are not. Too low at LEVEL / 4 (for the four of them): 194 of 225 or fewer. Ignoring the noise covers about half.


def covered(models: Sequence[ConditionalModel], draws: npt.NDArray[np.float64], cell: Setting) -> npt.NDArray[np.int64]:
    users = np.stack([model.coordinates.to_user(chain) for model, chain in zip(models, draws, strict=True)])
    low, high = np.quantile(users, [0.025, 0.975], axis=1, method="weibull")  # covers 95 % on average, however few draws
    truth = truth_in_table(cell)
    count: npt.NDArray[np.int64] = np.sum((low <= truth) & (truth <= high), axis=0)
    return count


def too_low(counts: npt.NDArray[np.int64], intervals: int) -> npt.NDArray[np.bool_]:
    from scipy.stats import binom

    result: npt.NDArray[np.bool_] = binom.cdf(counts, intervals, EXACT) < LEVEL / len(counts)
    return result


def test_the_limit_is_what_the_comment_says() -> None:
    np.testing.assert_array_equal(too_low(np.array([194, 195, 195, 195]), 225), [True, False, False, False])


def test_intervals_cover_the_truth_and_those_that_ignore_the_noise_do_not() -> None:
    counts, naive_counts = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    for cell in CELLS:
        with double_precision():
            models, errors = simulated_models(cell, REPLICATES, seed=1)
            naive = [mistold(model, 1e-9) for model in models[:NAIVE]]  # the released matrix taken for the exact one
            both = sample_batch([*models, *naive], seed=1, draws=300, warmup=200)  # one shape, so that it is compiled once
        draws, naive_draws = both[:REPLICATES], both[REPLICATES:]
        counts += covered(models, draws, cell)
        naive_counts += covered(naive, naive_draws, cell)
        # Coverage alone would accept the prior, whose intervals are about a hundred times as wide as those without noise.
        assert coverage_of(models, draws, errors, truth_in_table(cell))["relative_width"] < 10
    assert not too_low(counts, len(CELLS) * REPLICATES).any(), counts
    assert too_low(naive_counts, len(CELLS) * NAIVE).all(), naive_counts


@pytest.mark.slow
@pytest.mark.parametrize(("d", "mechanism"), list(itertools.product(GRID["d"], GRID["mechanism"])))
def test_no_cell_of_the_grid_is_overconfident(d: int, mechanism: str) -> None:
    """100 replicates a cell: standard error 2 % at most for a cell, 0.3 % for the 72 cells of one shape together."""
    cells = settings(GRID | {"d": [d], "mechanism": [mechanism]})
    results = [run_cell(cell, replicates=100, seed=1, draws=1000) for cell in cells]
    coverage = np.array([cell["coverage"] for cell in results])
    error = np.array([cell["standard_error"] for cell in results])
    assert np.all(coverage + 4 * np.maximum(error, 0.01) > 0.95)
    assert np.mean(np.minimum(coverage, 0.97)) > 0.94
