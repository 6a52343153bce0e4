"""Hard cases of the default, short; all of them are ``python -m studies.hard_cases``."""

from __future__ import annotations

import numpy as np
import pytest
from studies import hard_cases as hard
from studies.hard_cases import Case

from noisewise.data import gram_sum

LEVELS = np.array(["a", "b", "c"])


@pytest.mark.parametrize("kind", ["t errors", "rare reference"])
def test_the_statistic_is_the_one_that_a_release_makes(kind: str) -> None:
    case = Case(kind, 0.1, 50, 1, 1.0, 1.0)
    basis = hard.declared(case)[0]
    [rows] = hard.tables(case, 50, np.random.default_rng(1))
    columns = {name: rows[:, place] for place, name in enumerate(basis.names) if name in basis.schema.names}
    if kind == "rare reference":
        columns["level"] = LEVELS[(rows[:, 2] + 2 * rows[:, 3]).astype(int)]
    released = gram_sum(columns, basis.schema, basis).to_grid() / 2**16
    np.testing.assert_allclose(rows.T @ rows, released, atol=1e-3)


def test_holders_differ_as_declared() -> None:
    case = Case("different predictors", 0, 1_000, 5, 0.1, 10.0, replicates=1)
    [parts], [exact] = hard.simulated(case)
    assert np.all(np.diff([part.noise.diagonal for part in parts]) < 0)
    assert exact[0, 0] == 5_000
    means = hard.tables(case, 1_000, np.random.default_rng(1))[..., 1].mean(axis=1)
    np.testing.assert_allclose(means, [-0.5, -0.25, 0.0, 0.25, 0.5], atol=0.05)


def test_clipping_moves_what_least_squares_finds() -> None:
    """Errors with 3 degrees of freedom lose a tenth of their standard deviation at the bounds, and the slopes hardly anything."""
    found = hard.projection(hard.CASES[0])
    np.testing.assert_allclose(found[:-1], [0.1, 0.3, -0.1], atol=0.005)
    assert 0.85 * hard.SIGMA < found[-1] < 0.95 * hard.SIGMA


def test_coverage_is_counted_for_both_truths() -> None:
    """Draws around 0 with standard deviation 1 against truths 0 and 3."""
    rng = np.random.default_rng(1)
    gram = np.array([[100.0, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 0.0, 101.0]])
    np.testing.assert_allclose(hard.least_squares(gram), [0.0, 0.0, np.sqrt(1.01)])
    found = hard.measures(rng.normal(size=(20, 500, 3)), np.array([gram] * 20), np.zeros(3), np.full(3, 3.0))
    assert (found["coverage"], found["projected_coverage"], found["rows_coverage"]) == (1.0, 0.0, 1.0)
    assert 9 < found["relative_width"] < 11  # an ordinary standard error is 0.1


@pytest.mark.slow
def test_a_hard_case_is_measured_and_printed() -> None:
    """40 replicates, 4 coefficients: 160 intervals. At 0.95, 135 or fewer hold the truth with probability 1e-6."""
    [line] = hard.run_case(Case("rare level", 0.1, 10_000, 1, 10.0, 10.0, replicates=40))
    assert line["coverage"] > 135 / 160
    assert line["relative_width"] < 2  # the prior would cover too; it is hundreds of times as wide
    assert "| rare level, 10 % | 1 × 10,000 | 10 |" in hard.printed([{name: str(value) for name, value in line.items()}])
