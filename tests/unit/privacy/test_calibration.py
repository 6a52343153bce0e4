"""Calibration against two independent oracles: 260-digit arithmetic and dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import (
    analytic_gaussian_sigma,
    gaussian_multiplier,
    laplace_multiplier,
    laplace_scale,
    log_delta_of_gaussian,
    widen_for_grid,
)

EPSILONS = [1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1000.0]
DELTAS = [1e-90, 1e-30, 1e-15, 1e-10, 1e-6, 1e-3, 0.1, 0.6, 0.999]
CASES = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]


def exact_delta(epsilon: float, multiplier: float) -> mpmath.mpf:
    """The profile of Balle and Wang as printed, with digits to spare for its cancellation."""
    with mpmath.workdps(260):
        mu = 1 / mpmath.mpf(multiplier)
        shift = mpmath.mpf(epsilon) / mu
        return mpmath.ncdf(mu / 2 - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - shift)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_sigma_is_private_and_not_larger_than_needed(epsilon: float, delta: float) -> None:
    sigma = analytic_gaussian_sigma(epsilon, delta, 1.0)
    assert exact_delta(epsilon, sigma) <= delta
    assert exact_delta(epsilon, sigma * (1 - 1e-3)) > delta
    assert exact_delta(epsilon, sigma * (1 - 2e-9)) > delta  # the margin is 2**-30


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_profile_has_no_cancellation(epsilon: float, delta: float) -> None:
    for factor in (0.7, 1.0, 1.4):
        multiplier = factor * analytic_gaussian_sigma(epsilon, delta, 1.0)
        exact = exact_delta(epsilon, multiplier)
        if exact > 1e-300:
            error = abs(math.expm1(log_delta_of_gaussian(epsilon, multiplier) - float(mpmath.log(exact))))
            # Rounding mu by 1e-16 moves delta by up to 1e-16 × |a| × (mu/2 + epsilon/mu).
            reach = (0.5 / multiplier + epsilon * multiplier) * abs(0.5 / multiplier - epsilon * multiplier)
            assert error < 1e-12 + 1e-15 * reach


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-3])
def test_sigma_agrees_with_dp_accounting_and_is_never_below(epsilon: float, delta: float) -> None:
    oracle = pytest.importorskip("dp_accounting.gaussian_mechanism", reason="from dp-accounting 0.6 on")
    theirs = 7.0 * oracle.get_sigma_gaussian(epsilon, delta)
    ours = analytic_gaussian_sigma(epsilon, delta, 7.0)
    assert theirs <= ours <= theirs * (1 + 1e-6)


positive = st.floats(1e-4, 1e3)
small = st.floats(1e-20, 0.5)


@given(epsilon=positive, delta=small, sensitivity=positive, factor=st.floats(1.001, 10))
def test_less_privacy_needs_less_noise(epsilon: float, delta: float, sensitivity: float, factor: float) -> None:
    sigma = analytic_gaussian_sigma(epsilon, delta, sensitivity)
    assert analytic_gaussian_sigma(epsilon * factor, delta, sensitivity) < sigma
    assert analytic_gaussian_sigma(epsilon, min(delta * factor, 0.9), sensitivity) < sigma
    assert analytic_gaussian_sigma(epsilon, delta, sensitivity * factor) > sigma
    assert analytic_gaussian_sigma(epsilon, delta, 1.0) * sensitivity == pytest.approx(sigma, rel=1e-14)
    scale = laplace_scale(epsilon, sensitivity)
    assert laplace_scale(epsilon * factor, sensitivity) < scale < laplace_scale(epsilon, sensitivity * factor)


@given(epsilon=st.floats(1e-9, 1e9), sensitivity=st.floats(1e-9, 1e9))
def test_laplace_scale_is_rounded_up(epsilon: float, sensitivity: float) -> None:
    exact = Fraction(sensitivity) / Fraction(epsilon)
    scale = laplace_scale(epsilon, sensitivity)
    assert Fraction(scale) >= exact > Fraction(math.nextafter(scale, 0))


@given(sigma=st.floats(1e-6, 1e9))
def test_grid_allowance_covers_both_kinds_of_entry(sigma: float) -> None:
    step = Fraction(2.0**-16)
    widened = Fraction(widen_for_grid(sigma, float(step))) ** 2
    assert widened >= Fraction(sigma) ** 2 + 16 * step**2
    assert widened / 2 >= Fraction(sigma) ** 2 / 2 + 16 * step**2
    assert widened <= (Fraction(sigma) ** 2 + 32 * step**2) * (1 + Fraction(1, 2**50))


@given(sigma=st.floats(1e-3, 1e6), sensitivity=st.floats(1e-3, 1e3), bits=st.integers(8, 20))
def test_gaussian_noise_is_never_charged_as_more_noise_than_it_is(sigma: float, sensitivity: float, bits: int) -> None:
    """C5. The multiplier is rounded down: (multiplier × sensitivity)² is at most the variance less the allowance, and near it."""
    step = 2.0**-bits
    sd = widen_for_grid(sigma, step)
    multiplier = Fraction(gaussian_multiplier(sd, step, sensitivity))
    left = Fraction(sd) ** 2 - 32 * Fraction(step) ** 2
    assert left * (1 - Fraction(1, 2**46)) < (multiplier * Fraction(sensitivity)) ** 2 < left


@given(scale=st.floats(1e-3, 1e6), sensitivity=st.floats(1e-3, 1e3), bits=st.integers(8, 20))
def test_laplace_noise_is_never_charged_as_more_noise_than_it_is(scale: float, sensitivity: float, bits: int) -> None:
    """C6. One over the multiplier is at least sensitivity/scale + (step/scale)²/4, and no more than a rounding above it."""
    step = 2.0**-bits
    multiplier = laplace_multiplier(scale, step, sensitivity)
    loss = Fraction(sensitivity) / Fraction(scale) + (Fraction(step) / Fraction(scale)) ** 2 / 4
    assert Fraction(multiplier) <= 1 / loss < Fraction(math.nextafter(multiplier, math.inf))


def test_delta_near_one_still_needs_noise() -> None:
    """The profile is not asked beyond 1 − 1e-6: there floats could not tell how little noise suffices."""
    assert analytic_gaussian_sigma(1.0, 1 - 1e-6, 1.0) == analytic_gaussian_sigma(1.0, math.nextafter(1.0, 0.0), 1.0) > 0.1
    assert analytic_gaussian_sigma(1.0, 1 - 2e-6, 1.0) > analytic_gaussian_sigma(1.0, 1 - 1e-6, 1.0)


@pytest.mark.parametrize("width", [4.0, 7.0, 40.0])
@pytest.mark.parametrize("centre", ["0", "0.3", "0.5"])
def test_lattice_sums_do_not_depend_on_the_centre(width: float, centre: str) -> None:
    """The one numerical fact behind C3 of calibration.md: a Gaussian of sd 4 or more sums to width × sqrt(2 pi)."""
    with mpmath.workdps(160):
        reach = int(30 * width)
        shift = mpmath.mpf(centre)
        terms = (mpmath.exp(-((k - shift) ** 2) / (2 * mpmath.mpf(width) ** 2)) for k in range(-reach, reach + 1))
        assert abs(mpmath.fsum(terms) / (width * mpmath.sqrt(2 * mpmath.pi)) - 1) < mpmath.mpf("1e-136")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, True, "1"])
def test_epsilon_must_be_positive_and_finite(epsilon: float) -> None:
    for calibrate in (lambda: analytic_gaussian_sigma(epsilon, 1e-6, 1.0), lambda: laplace_scale(epsilon, 1.0)):
        with pytest.raises(PrivacyError, match=r"epsilon must be positive and finite \(found: .*\); give epsilon > 0"):
            calibrate()


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan, 1e-200])
def test_delta_must_be_between_zero_and_one(delta: float) -> None:
    with pytest.raises(PrivacyError, match=r"delta must .* \(found: .*\); "):
        analytic_gaussian_sigma(1.0, delta, 1.0)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.inf, math.nan])
def test_sensitivity_must_be_positive_and_finite(sensitivity: float) -> None:
    with pytest.raises(PrivacyError, match="a sensitivity must be positive and finite"):
        analytic_gaussian_sigma(1.0, 1e-6, sensitivity)
    with pytest.raises(PrivacyError, match="a sensitivity must be positive and finite"):
        laplace_scale(1.0, sensitivity)


def test_extreme_requests_give_a_number_or_a_clear_refusal() -> None:
    assert 0 < analytic_gaussian_sigma(1e9, 1e-6, 1.0) < 1e-4
    with pytest.raises(PrivacyError, match="at most 1e\\+09"):
        analytic_gaussian_sigma(1e300, 1e-6, 1.0)
    assert analytic_gaussian_sigma(1e-300, 1e-6, 1.0) == pytest.approx(1e6 / math.sqrt(2 * math.pi), rel=1e-6)
    with pytest.raises(PrivacyError, match="noise scale"):
        laplace_scale(1e-300, 1e100)


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 149.2), (1.0, 20.1), (3.0, 8.2)])
def test_delta_is_not_the_probability_that_the_loss_exceeds_epsilon(epsilon: float, times: float) -> None:
    """What docs/concepts.md says of delta: the loss of Gaussian noise is normal with mean mu**2 / 2 and standard deviation mu."""
    delta = 1e-6
    mu = 1 / analytic_gaussian_sigma(epsilon, delta, 1.0)
    exceeds = 0.5 * math.erfc((epsilon - mu**2 / 2) / mu / math.sqrt(2))
    assert exceeds / delta == pytest.approx(times, rel=0.01)
