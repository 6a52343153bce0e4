"""The degrees of freedom of Wishart noise against integrals that know nothing of its closed forms, and how they are used."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc
from scipy.stats import chi2, norm
from tests.refusals import about

from noisewise.errors import PrivacyError
from noisewise.privacy.mechanisms import wishart
from noisewise.privacy.mechanisms.wishart import (
    LARGEST_EXTRA,
    NEGLIGIBLE,
    SPECIAL_FUNCTIONS,
    SymmetricWishart,
    delta_if_added,
    delta_if_replaced,
    paper_degrees,
    shifted_down,
    shifted_up,
    smallest_degrees,
)
from noisewise.privacy.noise import NORMAL_VARIANCE
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity

Array = NDArray[np.float64]
TENTH = math.exp(-10)


@pytest.mark.parametrize(("epsilon", "exact", "paper"), [(0.1, 468, 31891), (0.5, 62, 1285), (1.0, 37, 328)])
def test_the_numbers_that_were_known_before(epsilon: float, exact: int, paper: int) -> None:
    """q = 10, delta = exp(-10), add-remove: computed apart from this library."""
    assert smallest_degrees(10, epsilon, TENTH, replaced=False) == exact
    assert paper_degrees(10, epsilon, TENTH) == paper


def printed_law(extra: int, epsilon: float) -> mpmath.mpf:
    """The larger hockey stick of the two privacy losses, integrated over c ~ chi-square(k − q + 1) with 30 digits."""
    with mpmath.workdps(30):
        half, power = mpmath.mpf(extra + 1) / 2, mpmath.mpf(extra - 1) / 2
        constant = 1 / (mpmath.gamma(half) * mpmath.power(2, half))

        def density(c: mpmath.mpf) -> mpmath.mpf:
            return constant * mpmath.power(c, half - 1) * mpmath.exp(-c / 2)

        def added(c: mpmath.mpf) -> mpmath.mpf:
            loss = -power * mpmath.log1p(1 / c) + mpmath.mpf(1) / 2
            return density(c) * max(mpmath.mpf(0), -mpmath.expm1(epsilon - loss))

        def removed(c: mpmath.mpf) -> mpmath.mpf:
            if c <= 1:
                return density(c)
            loss = -power * mpmath.log(1 - 1 / c) - mpmath.mpf(1) / 2
            return density(c) * max(mpmath.mpf(0), -mpmath.expm1(epsilon - loss))

        kinks = [1 / -mpmath.expm1(-(epsilon + mpmath.mpf(1) / 2) / power)]
        if epsilon < 0.5:
            kinks.append(1 / mpmath.expm1((mpmath.mpf(1) / 2 - epsilon) / power))
        points = sorted({mpmath.mpf(0), mpmath.mpf(1), *kinks, *(mpmath.mpf(extra) * part for part in (0.5, 1, 1.5, 3, 10, 40))})
        return max(mpmath.quad(added, points), mpmath.quad(removed, points))


@pytest.mark.parametrize("extra", [3, 27, 52, 458])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0])
def test_delta_of_an_added_row_is_the_integral_of_its_law(extra: int, epsilon: float) -> None:
    exact, found = printed_law(extra, epsilon), delta_if_added(extra, epsilon)
    assert exact <= found
    assert found == pytest.approx(float(exact), rel=1e-6)


def lower_gamma(shape: float, x: float) -> mpmath.mpf:
    """The regularised incomplete gamma function by its series, whose terms are all positive."""
    total = term = mpmath.mpf(1)
    count = 0
    while term > total * mpmath.mpf(10) ** -45:
        count += 1
        term *= x / (mpmath.mpf(shape) + count)
        total += term
    return total * mpmath.exp(shape * mpmath.log(x) - x - mpmath.loggamma(mpmath.mpf(shape) + 1))


@pytest.mark.parametrize("degrees", [3, 40, 1000, 60_000, LARGEST_EXTRA + 2])
def test_the_gamma_function_is_more_exact_than_is_allowed_for(degrees: int) -> None:
    """Where probabilities are between 1e-25 and 1, on both sides, up to the largest number of degrees that is used."""
    shape, spread = degrees / 2, math.sqrt(2 * degrees)
    for x in [x for score in (-9, -6, -3, -0.5, 0.5, 3, 6, 9) if (x := degrees + score * spread) > 0] + [0.5]:
        with mpmath.workdps(60):
            low = lower_gamma(shape, mpmath.mpf(x) / 2)
            high = 1 - low
        for found, exact in ((gammainc(shape, x / 2), low), (gammaincc(shape, x / 2), high)):
            if exact > 1e-25:
                assert abs(found / float(exact) - 1) < SPECIAL_FUNCTIONS / 10


@given(
    epsilon=st.floats(-1.0, 2.0), shift=st.floats(1e-6, 3.0), extra=st.integers(2, 300), x=st.floats(0.001, 3.0)
)
def test_no_half_line_is_better_than_the_one_that_was_chosen(epsilon: float, shift: float, extra: int, x: float) -> None:
    nu, at = extra + 1, np.array([x * (extra + 1)])
    e, s = np.array([epsilon]), np.array([shift])
    up = chi2.cdf(at, nu) - math.exp(epsilon) * chi2.cdf(at - shift, nu)
    down = chi2.sf(at, nu) - math.exp(epsilon) * chi2.sf(at + shift, nu)
    assert up[0] <= shifted_up(e, s, nu / 2)[0] + 1e-12
    assert down[0] <= shifted_down(e, s, nu / 2)[0] + 1e-12


@given(epsilon=st.floats(), shift=st.floats(0.0), extra=st.integers(2, LARGEST_EXTRA))
def test_whatever_is_asked_the_answer_is_a_probability(epsilon: float, shift: float, extra: int) -> None:
    """Never a number that compares as if it were small: what cannot be computed is 1."""
    e, s = np.array([epsilon]), np.array([shift])
    for hockey in (shifted_up, shifted_down):
        [found] = hockey(e, s, (extra + 1) / 2)
        assert 0 <= found <= 1
        assert found == 1 or not math.isnan(epsilon)


@given(epsilon=st.floats(-1.0, 2.0), shift=st.floats(0.0, 2.0), more=st.floats(0.0, 1.0), extra=st.integers(2, 300))
def test_a_longer_row_is_never_harder_to_see(epsilon: float, shift: float, more: float, extra: int) -> None:
    e, near, far, shape = np.array([epsilon]), np.array([shift]), np.array([shift + more]), (extra + 1) / 2
    for hockey in (shifted_up, shifted_down):
        assert hockey(e, near, shape)[0] <= hockey(e, far, shape)[0] + 1e-9


def delta_of(a: float, b: float, extra: int, epsilon: float) -> float:
    """The delta of a change with eigenvalues b and −a from its definition: three variables, determinants, no closed form.

    Midpoints in 250 × 40 × 350 cells; the kink of the hockey stick costs less than a part in a hundred.
    """
    power, degrees = (extra - 1) / 2, extra + 2

    def cells(low: float, high: float, count: int) -> tuple[Array, float]:
        edges = np.linspace(low, high, count + 1)
        return (edges[1:] + edges[:-1]) / 2, (high - low) / count

    first, width = cells(math.log(chi2.ppf(1e-16, degrees)), math.log(chi2.isf(1e-16, degrees)), 250)
    normal, reach = cells(0.0, 8.5, 40)
    second, step = cells(math.log(chi2.ppf(1e-16, degrees - 1)), math.log(chi2.isf(1e-16, degrees - 1)), 350)
    weight = (width * np.exp(first) * chi2.pdf(np.exp(first), degrees))[:, None, None]
    weight = weight * (2 * reach * norm.pdf(normal))[:, None]
    weight = weight * (step * np.exp(second) * chi2.pdf(np.exp(second), degrees - 1))
    x = np.exp(first)[:, None, None]  # the noise is [[x, sqrt(x) z], [sqrt(x) z, z² + c]]
    off = np.sqrt(x) * normal[:, None]
    y = normal[:, None] ** 2 + np.exp(second)
    here, there = x * y - off**2, (x + a) * (y - b) - off**2
    possible = (there > 0) & (y > b)
    with np.errstate(invalid="ignore", divide="ignore"):
        loss = power * (np.log(here) - np.log(there)) + (a - b) / 2
    stick = np.where(possible, np.maximum(0.0, -np.expm1(np.minimum(epsilon - loss, 0.0))), 1.0)
    return float(np.sum(weight * stick))


CASES = [(28, 1.0), (59, 0.5), (15, 3.0), (734, 0.1)]


@pytest.mark.parametrize(("extra", "epsilon"), CASES)
def test_no_two_rows_exceed_the_bound_and_some_reach_it(extra: int, epsilon: float) -> None:
    """Up to epsilon = 1 the worst rows are the longest and orthogonal; at 3 the worst is a row that comes and replaces none."""
    bound = delta_if_replaced(extra, epsilon, 1e-12)
    found = {lengths: delta_of(*lengths, extra, epsilon) for lengths in ((1, 1), (0.5, 1), (1, 0.5), (0, 1), (0.8, 0.8))}
    worst = max(found, key=found.__getitem__)
    assert worst == ((1, 1) if epsilon <= 1 else (0, 1))
    assert 0.93 * bound < found[worst] <= bound


@pytest.mark.parametrize(("extra", "epsilon"), CASES)
def test_rows_that_are_added_are_a_special_case(extra: int, epsilon: float) -> None:
    exact = delta_if_added(extra, epsilon)
    assert max(delta_of(0.0, 1.0, extra, epsilon), delta_of(1.0, 0.0, extra, epsilon)) == pytest.approx(exact, rel=0.01)
    assert exact <= delta_if_replaced(extra, epsilon, 1e-12)


def test_a_finer_grid_lowers_the_bound_by_little() -> None:
    """Upper sums come down to the integral: doubling the cells halves what is left."""
    coarse, usual, fine = (delta_if_replaced(59, 0.5, 1e-12, 1500 * part // 2, 240 * part // 2) for part in (1, 2, 4))
    assert fine < usual < coarse
    assert usual - fine < 0.6 * (coarse - usual)
    assert usual < 1.03 * fine


@pytest.mark.parametrize("silenced", ["_delta_of_new_row", "_delta_of_old_row"])
def test_each_sum_is_an_upper_sum_in_both_of_its_variables(monkeypatch: pytest.MonkeyPatch, silenced: str) -> None:
    """V5. Each cell counts with its largest value, so dividing cells lowers the sum; with another corner it would not."""

    def nothing(variance: Array, normal: Array, epsilon: float, extra: int) -> Array:
        return np.zeros(np.broadcast_shapes(variance.shape, normal.shape))

    monkeypatch.setattr(wishart, silenced, nothing)
    for extra, epsilon in ((59, 0.5), (2, 0.2)):
        fine = delta_if_replaced(extra, epsilon, 1e-12, 400, 100)
        assert delta_if_replaced(extra, epsilon, 1e-12, 40, 100) > fine
        assert delta_if_replaced(extra, epsilon, 1e-12, 400, 10) > fine
    assert delta_if_replaced(28, 1.0, 1e-12) >= delta_of(1, 1, 28, 1.0)  # the two longest rows are a case of either sum


def test_what_is_beyond_the_grid_or_impossible_for_a_neighbour_counts_in_full() -> None:
    assert delta_if_replaced(59, 0.5, 0.01) > 3 * 0.01
    assert delta_if_replaced(59, 0.5, 0.5) == 1.0  # the three sides together have 1.5; a delta is at most 1
    assert delta_if_replaced(2, 20.0, 1e-12) >= delta_if_added(2, 20.0) > chi2.cdf(1, 3) * (1 - 1e-9)


@pytest.mark.outer(but=["0.1-1e-06-False", "1.0-1e-06-True", "4.0-0.0001-False"])
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-10), (4.0, 1e-4), (0.05, 0.1)])
def test_one_degree_less_would_not_do(replaced: bool, epsilon: float, delta: float) -> None:
    def delta_at(extra: int) -> float:
        return delta_if_replaced(extra, epsilon, 1e-6 * delta) if replaced else delta_if_added(extra, epsilon)

    extra = smallest_degrees(7, epsilon, delta, replaced=replaced) - 7
    assert delta_at(extra) <= delta < delta_at(extra - 1)


@given(epsilon=st.floats(0.05, 5.0), delta=st.floats(1e-12, 0.1), factor=st.floats(1.05, 3.0), size=st.integers(2, 50))
def test_less_privacy_needs_fewer_degrees(epsilon: float, delta: float, factor: float, size: int) -> None:
    needed = smallest_degrees(size, epsilon, delta, replaced=False)
    assert smallest_degrees(size, epsilon * factor, delta, replaced=False) <= needed
    assert smallest_degrees(size, epsilon, delta * factor, replaced=False) <= needed
    assert smallest_degrees(size + 3, epsilon, delta, replaced=False) == needed + 3


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(PrivacyError, match="degrees of freedom"):
        smallest_degrees(5, 1e-6, 1e-6, replaced=False)
    for tiny in (1e-9, 1e-200):
        with pytest.raises(PrivacyError, match="more than 2"):
            paper_degrees(5, tiny, 1e-6)
    for wrong in ((0.0, 1e-6), (1.0, 0.0), (1.0, 1.0)):
        with pytest.raises(PrivacyError):
            smallest_degrees(5, *wrong, replaced=True)


def sensitivity(adjacency: str = "replace-one") -> GramSensitivity:
    return gram_sensitivity(scalars=4, blocks=0, size=5, radius=2.0, norm_clipped=False, adjacency=adjacency)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_mechanism_keeps_the_share_of_delta_that_the_sampling_may_cost(adjacency: str) -> None:
    """V7. A delta that 20 degrees more than columns just attain, by half of that share, must get 21."""
    attained = delta_if_added(20, 1.0)
    if adjacency == "replace-one":
        attained = delta_if_replaced(20, 1.0, NEGLIGIBLE * delta_if_replaced(20, 1.0, 1e-12))  # with the grid of such a delta
    delta = attained * (1 + 1 / 2048)
    assert smallest_degrees(5, 1.0, delta, replaced=adjacency == "replace-one") == 25
    assert SymmetricWishart.calibrate(sensitivity(adjacency), 1.0, delta).degrees == 26


def least_delta(size: int, degrees: int, scale: float, epsilon: float) -> float:
    """V7. 1024 (1 + exp(epsilon)) times the probability that the noise drawn differs from a Wishart matrix."""
    return 1024 * (1 + math.exp(epsilon)) * size * (size + 1) * 2.0**-91 * degrees * (2 * scale * 2**16 + 1)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-16), (25.0, 1e-6)])
def test_the_precision_of_the_sampling_is_part_of_the_guarantee(epsilon: float, delta: float) -> None:
    degrees = smallest_degrees(5, epsilon, delta * 1023 / 1024, replaced=True)
    with pytest.raises(PrivacyError, check=about("delta")) as refused:
        SymmetricWishart.calibrate(sensitivity(), epsilon, delta)
    [named] = re.findall(r"at least (\S+),", str(refused.value.remedy))
    assert float(named) == pytest.approx(least_delta(5, degrees, 5.0, epsilon), rel=0.05)
    assert SymmetricWishart.calibrate(sensitivity(), epsilon, 1.1 * float(named)).delta == 1.1 * float(named)


def test_where_no_delta_would_do_none_is_named() -> None:
    with pytest.raises(PrivacyError, check=about("delta")) as refused:
        SymmetricWishart.calibrate(sensitivity(), 50.0, 1e-6)
    assert "smaller epsilon" in str(refused.value.remedy) and "at least" not in str(refused.value.remedy)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_noise_is_scaled_centred_added_and_only_then_rounded(monkeypatch: pytest.MonkeyPatch, adjacency: str) -> None:
    """With noise that is known: W + (XᵀX/V − kI)B², to the nearest multiple of 2**-16, and n itself where it is public."""
    mechanism = SymmetricWishart.calibrate(sensitivity(adjacency), 1.0, 1e-6)
    noise = np.array([[NORMAL_VARIANCE * (3 + i + j) // 7 for i in range(5)] for j in range(5)], dtype=object)
    total = np.array([[(100 << 40) - 12_345_678 * (i + 1) * (j + 1) for i in range(5)] for j in range(5)], dtype=object)
    total[0, 0] = 100 << 40
    monkeypatch.setattr(wishart, "wishart_integers", lambda size, degrees: noise)
    found = mechanism.perturb(total, 2.0**-40)
    for i in range(5):
        for j in range(5):
            exact = Fraction(total[i, j], 2**40) + 5 * (Fraction(3 + i + j, 7) - (mechanism.degrees if i == j else 0))
            if (i, j) == (0, 0) and adjacency == "replace-one":
                assert found[0, 0] == 100
            else:
                assert found[i, j] == round(exact * 2**16) / 2**16
