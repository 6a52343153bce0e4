"""The combining rules: formulas, limits, refusals. Which one is right is in tests/calibration/test_synthetic_short.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from noisewise import combine_synthetic
from noisewise.errors import ResultError

Q, U = np.array([1.2, 0.9, 1.1, 1.0, 0.8]), np.full(5, 0.004)


def test_the_formulas() -> None:
    b = Q.var(ddof=1)
    assert combine_synthetic(Q, U).sd[0] ** 2 == pytest.approx(1.2 * b - 0.004)
    assert combine_synthetic(Q, U, rule="separate").sd[0] ** 2 == pytest.approx(b / 5 + 0.004)
    assert combine_synthetic(Q, U, rule="imputation").sd[0] ** 2 == pytest.approx(1.2 * b + 0.004)
    combined = combine_synthetic(Q, U)
    degrees = 4 * ((1.2 * b - 0.004) / (1.2 * b)) ** 2
    assert combined.degrees[0] == pytest.approx(degrees)
    half = stats.t.ppf(0.975, degrees) * combined.sd[0]
    np.testing.assert_allclose(combined.interval()[0], (1.0 - half, 1.0 + half))
    assert combined.summary().loc["q1", "97.5%"] == pytest.approx(1.0 + half)


def test_the_variance_is_at_least_that_of_the_real_rows() -> None:
    """All tables alike by chance: what the rows themselves leave open remains, and less if there were more real ones."""
    same = combine_synthetic([1.0, 1.0, 1.0], [0.5, 0.5, 0.5])
    assert same.sd[0] ** 2 == pytest.approx(0.5)
    assert combine_synthetic([1.0, 1.0, 1.0], [0.5, 0.5, 0.5], rows_ratio=0.1).sd[0] ** 2 == pytest.approx(0.05)


def test_the_expectation_of_the_variance_is_that_of_the_model() -> None:
    """q_k = Q + normal(V + u): over many repeats the mean of T is V + (V + u)/m."""
    rng = np.random.default_rng(1)
    m, v, u = 20, 1.0, 0.4
    q = rng.normal(scale=np.sqrt(v + u), size=(m, 20_000))
    found = combine_synthetic(q, np.full_like(q, u)).sd ** 2
    assert np.mean(found) == pytest.approx(v + (v + u) / m, rel=0.02)


def test_several_estimates_with_names() -> None:
    combined = combine_synthetic(np.column_stack([Q, 2 * Q]), np.column_stack([U, U]), names=("a", "b"))
    assert list(combined.summary().index) == ["a", "b"] and combined.sets == 5
    np.testing.assert_allclose(combined.estimate, [1.0, 2.0])


@pytest.mark.parametrize(("q", "u", "more"), [
    ([1.0], [1.0], {}), ([1.0, 2.0], [1.0], {}), ([1.0, np.nan], [1.0, 1.0], {}), ([1.0, 2.0], [-1.0, 1.0], {}),
    ([1.0, 2.0], [1.0, 1.0], {"rule": "none"}), ([1.0, 2.0], [1.0, 1.0], {"names": ("a", "b")}),
    ([1.0, 2.0], [1.0, 1.0], {"rows_ratio": -1.0}),
])
def test_what_is_refused(q: list[float], u: list[float], more: dict[str, Any]) -> None:
    with pytest.raises(ResultError):
        combine_synthetic(q, u, **more)
