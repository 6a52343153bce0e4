"""The mean of clipped values: its closed form, and that it is right for columns that are not normal."""

from __future__ import annotations

import numpy as np
import pytest
from studies.simulated_release import simulated_release

import noisewise as nw
from noisewise.posterior.sums import two
from noisewise.posterior.sums.exact import row_moments
from noisewise.posterior.sums.families import Normal, clipped_normal
from noisewise.posterior.sums.noisy_sum import noisy_sums

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 20]}}})
ROWS = 5000


def exponential(seed: int) -> tuple[np.ndarray, nw.Release]:
    rng = np.random.default_rng(seed)
    rows = rng.exponential(1.0, ROWS)
    return rows, simulated_release({"x": rows}, SCHEMA, rng, epsilon=1.0)


def covers(interval: tuple[float, float], value: float) -> bool:
    return interval[0] <= value <= interval[1]


@pytest.mark.parametrize("sigma", [0.3, 2.0, 40.0])
def test_the_closed_form_against_a_sum_over_all_values(sigma: float) -> None:
    means = np.array([-30.0, -1.0, 0.5, 3.0, 6.9, 20.0])
    family = Normal(0.0, 7.0, (0.0, 1.0), sigma=sigma)
    mean, variance = row_moments(family, family.pmf(means))
    found = clipped_normal(means, sigma, 0.0, 7.0)
    np.testing.assert_allclose(found[0], mean, atol=1e-5)
    np.testing.assert_allclose(found[1], np.sqrt(variance), atol=2e-3 * min(sigma, 1.0) + 1e-5)
    assert (found[0] >= 0).all() and (found[0] <= 7).all()


@pytest.mark.outer(but=["2"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_mean_of_an_exponential_column_is_that_of_its_rows(seed: int) -> None:
    """Its values pile up at 0, and a normal column that does so goes on below: its mean before clipping is another one."""
    rows, release = exponential(seed)
    found = nw.fit_sum("x", release, family="normal", seed=1)
    low, high = found.interval()
    assert covers((low, high), rows.mean())
    assert not covers(found.interval(term="mean before clipping"), rows.mean())
    width = 2 * 1.96 * np.hypot(rows.std() / np.sqrt(ROWS), noisy_sums(release, "x")[0].user_noise.sd / ROWS)
    assert 0.85 < (high - low) / width < 1.15
    assert covers(found.interval(0.999, "sd"), rows.std())


def test_with_a_known_sigma_the_mean_is_that_of_the_rows_too() -> None:
    rows, release = exponential(1)
    found = nw.fit_sum("x", release, family="normal", sigma=1.3, seed=1)
    assert found.terms == ("mean", "mean before clipping")
    assert covers(found.interval(), rows.mean()) and not covers(found.interval(term="mean before clipping"), rows.mean())
    naive = nw.fit_sum("x", release, family="normal", sigma=1.3, method="naive", seed=1)
    assert naive.terms == ("mean",) and abs(naive.mean - rows.mean()) < 0.05


@pytest.mark.outer
def test_the_grid_holds_the_posterior() -> None:
    """Nothing beyond it is more probable, and at its edges the posterior is low: a grid beside the mode would show neither."""
    sums = noisy_sums(exponential(1)[1], "x")
    grid = two._grid(sums)
    logs = grid.log_posterior(sums)
    edge = max(logs[0].max(), logs[-1].max(), logs[:, 0].max(), logs[:, -1].max())
    assert edge < logs.max() - 8
    mu = np.linspace(-2.0, 1.0, 91)
    elsewhere = max(two._log_posterior(sums, mu, value).max() for value in np.linspace(np.log(0.02), np.log(2.0), 60))
    assert elsewhere < logs.max() + 0.01


@pytest.mark.parametrize("seed", [0, 4, 12])
def test_a_few_rows_at_the_upper_bound_are_not_taken_for_noise(seed: int) -> None:
    """All others are at the lower bound: there is a second, far lower mode at a column of only lower bounds."""
    rng = np.random.default_rng(seed)
    rows = 20.0 * (rng.uniform(size=ROWS) < 0.02)
    sums = noisy_sums(simulated_release({"x": rows}, SCHEMA, rng, epsilon=1.0), "x")
    mu, log_sigma = two._mode(sums)
    mean = 10.0 + 10.0 * float(clipped_normal(np.array(mu), float(np.exp(log_sigma)), -1.0, 1.0)[0])
    assert abs(mean - rows.mean()) < 0.1  # in the lower mode it is less than 0.01


def test_what_a_term_rests_on() -> None:
    release = exponential(1)[1]
    normal = nw.fit_sum("x", release, family="normal", sigma=1.3, draws=200)
    assert [normal.rests_on(term) for term in normal.terms] == ["", "if the column is normal"]
    assert nw.fit_sum("x", release, family="exponential", draws=200).rests_on("mean") == "if the column is exponential"
    assert nw.fit_sum("x", release, family="exponential", method="naive", draws=200).rests_on("mean") == "if no row was clipped"
    assert "mean before clipping: if the column is normal" in normal._repr_html_()
