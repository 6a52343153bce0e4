"""Diagnostics at the edges, and against values that are known without another program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import ResultError
from noisewise.results import diagnostics


def test_independent_draws_are_worth_their_number() -> None:
    draws = np.random.default_rng(5).standard_normal((4, 2000, 50))
    # The mean over 50 parameters of ESS / draws is 1 within a few per cent; 0.9 and 1.1 are far outside.
    assert diagnostics.ess_bulk(draws).mean() / 8000 == pytest.approx(1.0, abs=0.05)
    assert diagnostics.ess_tail(draws).mean() / 8000 == pytest.approx(1.0, abs=0.08)
    assert diagnostics.r_hat(draws).max() < 1.005


def test_autoregressive_draws_have_the_known_effective_size() -> None:
    """ESS of an AR(1) chain with memory a is n (1 - a) / (1 + a): 8000 / 3 for a = 0.5."""
    generator = np.random.default_rng(6)
    noise = generator.standard_normal((4, 2000, 40)) * np.sqrt(0.75)
    values = np.empty_like(noise)
    values[:, 0] = noise[:, 0] / np.sqrt(0.75)
    for step in range(1, 2000):
        values[:, step] = 0.5 * values[:, step - 1] + noise[:, step]
    mean = diagnostics.ess_bulk(values).mean()
    assert mean == pytest.approx(8000 / 3, rel=0.06)
    assert mean != pytest.approx(8000 / 2, rel=0.06)


def test_one_shifted_chain_is_found() -> None:
    draws = np.random.default_rng(7).standard_normal((4, 500, 2))
    draws[0, :, 1] += 1.0
    ratio = diagnostics.r_hat(draws)
    assert ratio[0] < 1.01 < ratio[1]


def test_a_chain_of_other_spread_is_found_by_folding() -> None:
    draws = np.random.default_rng(8).standard_normal((4, 500, 1))
    draws[0] *= 4.0
    assert diagnostics.r_hat(draws)[0] > 1.05


def test_constant_draws_have_no_diagnostics_and_do_not_disturb_others() -> None:
    draws = np.random.default_rng(9).standard_normal((4, 200, 2))
    alone = [float(f(draws[:, :, 1:])[0]) for f in _ALL]
    draws[:, :, 0] = 3.0
    for function, value in zip(_ALL, alone, strict=True):
        result = function(draws)
        assert np.isnan(result[0])
        assert result[1] == pytest.approx(value, rel=1e-12)


def test_stuck_chains_have_infinite_r_hat() -> None:
    draws = np.broadcast_to(np.arange(4.0)[:, None, None], (4, 100, 1))
    assert diagnostics.r_hat(draws)[0] == np.inf
    assert diagnostics.ess_bulk(draws)[0] < 10


def test_draws_that_are_not_finite_have_no_diagnostics() -> None:
    draws = np.random.default_rng(10).standard_normal((4, 100, 2))
    draws[1, 3, 0] = np.nan
    for function in _ALL:
        assert list(np.isnan(function(draws))) == [True, False]


def test_three_draws_are_too_few() -> None:
    for function in _ALL:
        assert np.isnan(function(np.random.default_rng(0).standard_normal((4, 3, 2)))).all()


def test_two_values_only() -> None:
    draws = np.random.default_rng(12).integers(0, 2, (4, 400, 1)).astype(float)
    assert diagnostics.r_hat(draws)[0] < 1.02
    assert 800 < diagnostics.ess_bulk(draws)[0] < 4000


def test_shape_is_checked() -> None:
    with pytest.raises(ResultError, match="shape"):
        diagnostics.r_hat(np.zeros((4, 100)))


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(4, 40))
def test_monotone_changes_leave_the_rank_diagnostics(seed: int, chains: int, length: int) -> None:
    draws = np.random.default_rng(seed).standard_normal((chains, length, 2))
    np.testing.assert_allclose(diagnostics.ess_bulk(np.exp(draws)), diagnostics.ess_bulk(draws), rtol=1e-9)
    np.testing.assert_allclose(diagnostics.r_hat(4 * draws), diagnostics.r_hat(draws), rtol=1e-9)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_ranks_are_those_of_scipy(values: list[int]) -> None:
    from scipy.stats import rankdata

    column = np.array(values, dtype=float)[:, None]
    np.testing.assert_array_equal(diagnostics._average_ranks(column)[:, 0], rankdata(values))


_ALL = (diagnostics.r_hat, diagnostics.ess_bulk, diagnostics.ess_tail)


def test_plain_r_hat_is_the_one_of_gelman_and_rubin() -> None:
    generator = np.random.default_rng(3)
    draws = generator.normal(size=(4, 301, 3)) + np.array([5e3, 0.0, 0.0])
    draws[0, :, 1] += 2.0
    draws[..., 2] = np.arange(4.0)[:, None]  # each chain stays where it began
    halves = np.concatenate([draws[:, :150, :2], draws[:, 150:300, :2]])
    expected = np.sqrt((150 * halves.mean(axis=1).var(axis=0, ddof=1) / halves.var(axis=1, ddof=1).mean(axis=0) + 149) / 150)
    found = diagnostics.plain_r_hat(draws)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-9)
    assert found[0] < 1.02 and found[1] > 1.2 and found[2] == np.inf
