"""Sigma with many predictors: unbiased as it is fitted, and too small if both parts of h are used jointly."""

from __future__ import annotations

import pytest
from studies import large_d

from noisewise.posterior.linear import conditional


def mean_error(line: str) -> tuple[float, float]:
    """Coverage of the coefficients and the mean error of sigma, from a line of the study's table."""
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    return float(cells[4]), float(cells[7])


@pytest.mark.slow
def test_sigma_is_unbiased_and_would_not_be_by_the_joint_density(monkeypatch: pytest.MonkeyPatch) -> None:
    """24 replicates: the mean of standard errors has a standard deviation of about 0.2."""
    coverage, error = mean_error(large_d.run_setting(50, 0.7, 24, seed=3, draws=400))
    assert 0.92 < coverage < 0.98
    assert abs(error) < 0.8
    monkeypatch.setattr(conditional, "FEW", 1000)
    coverage, error = mean_error(large_d.run_setting(50, 0.7, 24, seed=3, draws=400))
    assert 0.92 < coverage < 0.98
    assert error < -1.2
