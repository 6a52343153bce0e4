"""Composition: never below the optimum, close above it, and amounts as they are written."""

from __future__ import annotations

import math
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import PrivacyError
from noisewise.privacy import accounting
from noisewise.privacy.accounting import compose, fits, gaussian_epsilon, largest_epsilon, written_sum
from noisewise.privacy.calibration import analytic_gaussian_sigma, laplace_multiplier, log_delta_of_gaussian
from noisewise.privacy.cost import Cost, Piece

DELTA = 1e-6


def gaussian(epsilon: float, delta: float = 1e-8) -> Cost:
    return Cost.gaussian(analytic_gaussian_sigma(epsilon, delta, 1.0), epsilon, delta)


def laplace(epsilon: float) -> Cost:
    return Cost.laplace(1 / epsilon, epsilon)


def mixed(count: int, seed: int) -> list[Cost]:
    random = np.random.default_rng(seed)
    makers = (gaussian, laplace, lambda epsilon: Cost.approximate(epsilon, 1e-9))
    return [makers[number % 3](round(float(random.uniform(0.02, 0.12)), 3)) for number in range(count)]


def optimistic_epsilon(costs: list[Cost], delta: float, grid: float) -> float:
    """A lower bound of the optimum: losses are rounded down instead of up."""
    found = []
    for piece in (piece for cost in costs for piece in cost.pieces):
        options = {"value_discretization_interval": grid, "pessimistic_estimate": False}
        if piece.kind == "gaussian":
            found.append(pld.from_gaussian_mechanism(piece.numbers[0], use_connect_dots=False, **options))
        elif piece.kind == "laplace":
            found.append(pld.from_laplace_mechanism(piece.numbers[0], use_connect_dots=False, **options))
        else:
            epsilon, lost = piece.numbers
            heads = (1 - lost) / (1 + math.exp(-epsilon))
            losses = {math.floor(epsilon / grid): heads, math.floor(-epsilon / grid): 1 - lost - heads}
            found.append(pld.PrivacyLossDistribution.create_from_rounded_probability(losses, lost, grid, False))
    total = found[0]
    for one in found[1:]:
        total = total.compose(one)
    return float(total.get_epsilon_for_delta(delta))


@pytest.mark.outer
def test_a_hundred_mixed_releases_cost_at_most_a_hundredth_more_than_the_optimum_and_never_less() -> None:
    costs = mixed(100, seed=1)
    found = compose(costs, DELTA)
    below = optimistic_epsilon(costs, DELTA, grid=2e-5)
    assert below <= found.epsilon <= 1.01 * below
    assert found.epsilon == found.distributions < found.concentrated < found.basic
    assert fits(costs, found.epsilon, DELTA) and not fits(costs, below * 0.999, DELTA)


def exact_delta(epsilon: float, multiplier: float, size: float, count: int) -> float:
    """Of Gaussian noise and `count` pure mechanisms of one size, the worst of which is a biased coin: in 60 digits."""
    with mpmath.workdps(60):
        mu, total = 1 / mpmath.mpf(multiplier), mpmath.mpf(0)
        heads = 1 / (1 + mpmath.exp(-size))
        for number in range(count + 1):
            rest = epsilon - (2 * number - count) * mpmath.mpf(size)
            weight = mpmath.binomial(count, number) * heads**number * (1 - heads) ** (count - number)
            total += weight * (mpmath.ncdf(mu / 2 - rest / mu) - mpmath.exp(rest) * mpmath.ncdf(-mu / 2 - rest / mu))
        return float(total)


@pytest.mark.parametrize(("size", "count"), [(0.1, 20), (0.5, 4), (1e-12, 3), (0.01, 200)])
def test_gaussian_noise_and_pure_mechanisms_against_sixty_digits(size: float, count: int) -> None:
    costs = [gaussian(0.5, 1e-7), *[Cost.approximate(size, 0.0)] * count]
    found = compose(costs, DELTA)
    multiplier = costs[0].pieces[0].numbers[0]
    assert exact_delta(found.epsilon, multiplier, size, count) <= DELTA
    assert exact_delta(found.epsilon * 0.99, multiplier, size, count) > DELTA


@given(st.lists(st.tuples(st.sampled_from("gla"), st.floats(1e-3, 1.0)), min_size=1, max_size=6),
       st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_distributions_are_never_below_an_optimistic_estimate(asked: list[tuple[str, float]], delta: float) -> None:
    makers = {"g": gaussian, "l": laplace, "a": lambda epsilon: Cost.approximate(epsilon, 1e-11)}
    costs = [makers[kind](epsilon) for kind, epsilon in asked]
    assert compose(costs, delta, grid=1e-2).epsilon >= optimistic_epsilon(costs, delta, grid=1e-2) - 1e-12


def test_many_different_releases_beyond_the_old_limits_still_compose() -> None:
    costs = [laplace(0.3 + number * 1e-9) for number in range(60)] + [gaussian(0.3)] * 940
    found = compose(costs, DELTA, grid=1e-2)
    assert math.isfinite(found.distributions) and found.distributions < found.concentrated < found.basic


@pytest.mark.parametrize("rule", ["planned", "gaussian"])
def test_gaussian_noise_composes_exactly(rule: str) -> None:
    costs = [gaussian(0.4), gaussian(0.2), gaussian(0.1)]
    joined = 1 / math.sqrt(sum(cost.pieces[0].numbers[0] ** -2 for cost in costs))
    found = compose(costs, DELTA, rule).epsilon  # type: ignore[arg-type]
    assert log_delta_of_gaussian(found, joined) <= math.log(DELTA)
    assert log_delta_of_gaussian(found * (1 - 1e-8), joined) > math.log(DELTA)
    assert fits(costs, found, DELTA, rule) and not fits(costs, found * (1 - 1e-8), DELTA, rule)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.01, 1e-9), (20.0, 1e-3), (1e-6, 1e-12)])
def test_one_gaussian_release_of_the_whole_budget_fits(epsilon: float, delta: float) -> None:
    assert fits([gaussian(epsilon, delta)], epsilon, delta, "gaussian")
    assert gaussian_epsilon(analytic_gaussian_sigma(epsilon, delta, 1.0), delta) == pytest.approx(epsilon, rel=1e-6)


def test_noise_that_needs_no_epsilon_costs_none() -> None:
    assert gaussian_epsilon(1e6, 1e-3) == 0.0


def test_amounts_add_up_as_they_are_written() -> None:
    assert 0.1 + 0.1 + 0.1 > 0.3
    assert fits([laplace(0.1)] * 3, 0.3, 0.0, "basic") and not fits([laplace(0.1)] * 3, 0.29999999999999993, 0.0, "basic")
    assert compose([laplace(0.1)] * 3, 0.0).basic == 0.3
    assert compose([laplace(1e-12), laplace(1.0)], 0.0).basic == 1.000000000001
    small = [Cost.approximate(0.1, 1e-8)] * 3
    assert sum([1e-8] * 3) > 3e-8 and fits(small, 0.3, 3e-8, "basic") and not fits([*small, small[0]], 2.0, 3e-8, "basic")


@given(st.lists(st.floats(5e-324, 1e9, exclude_min=False), max_size=30))
def test_a_basic_sum_is_never_rounded_down(epsilons: list[float]) -> None:
    costs = [Cost.approximate(epsilon, 0.0) for epsilon in epsilons]
    assert Decimal(repr(compose(costs, 0.0).basic)) >= written_sum(epsilons)


def test_concentrated_privacy_by_hand() -> None:
    """ρ = 1/(2m²) or ε²/2 each, the deltas of approximate pieces set aside: ρ + 2 sqrt(ρ log(1/rest)), hardly rounded up."""
    costs = [Cost.gaussian(2.0, 1.0, 1e-6), Cost.laplace(4.0, 0.25), Cost.approximate(0.3, 4e-7), Cost.approximate(0.1, 5e-7)]
    rho = 1 / 8 + 1 / 32 + 0.09 / 2 + 0.01 / 2
    expected = rho + 2 * math.sqrt(rho * math.log(1 / 1e-7))
    found = compose(costs, 1e-6).concentrated
    assert expected < found < expected * (1 + 1e-10)
    assert compose(costs, 9e-7).concentrated == compose(costs, 8e-7).concentrated == math.inf  # nothing is left of delta


class Recorder:
    """In the place of a composed distribution: remembers which delta it is asked for."""

    delta = math.nan

    def get_epsilon_for_delta(self, delta: float) -> float:
        self.delta = delta
        return 1.0


@pytest.mark.parametrize(("grid", "delta"), [(1e-4, 1e-6), (1e-3, 1e-9)])
def test_what_fourier_transforms_lose_is_taken_from_delta(monkeypatch: pytest.MonkeyPatch, grid: float, delta: float) -> None:
    """3 log2(N) roundings of 2**-53 on each of N points, for each distribution that is convolved."""
    costs = [Cost.laplace(2.0, 0.5), Cost.approximate(0.3, 1e-8)]
    recorder, grids = Recorder(), []
    monkeypatch.setattr(accounting, "_loss_distribution", lambda costs, grid: (grids.append(grid), (recorder, 7))[1])
    assert compose(costs, delta, grid=grid).distributions == 1.0
    rho = (0.5**2 + 0.3**2) / 2
    reach = rho + 2 * math.sqrt(rho * math.log(1e22))
    assert grids == [grid]
    points = 2 * reach / grid + 2
    assert delta - recorder.delta == pytest.approx(7 * points * 3 * math.log2(points) * 2.0**-53, rel=1e-4)
    lost = delta - recorder.delta
    assert compose(costs, lost * 0.99, grid=grid).distributions == math.inf
    assert compose(costs, lost * 1.01, grid=grid).distributions == 1.0


def test_a_distribution_has_a_bounded_number_of_points_and_a_bounded_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    grids: list[float] = []
    monkeypatch.setattr(accounting, "_loss_distribution", lambda costs, grid: (grids.append(grid), (Recorder(), 1))[1])
    large = [Cost.laplace(1 / 8.0, 8.0)] * 3
    rho = 3 * 64 / 2
    reach = rho + 2 * math.sqrt(rho * math.log(1e22))
    assert reach < 500 and compose(large, 1e-3, grid=1e-4).distributions == 1.0
    assert grids == [pytest.approx(2 * reach / 2e5, rel=1e-9)]
    assert compose([*large, *large, *large], 1e-3).distributions == math.inf and len(grids) == 1


def test_how_many_distributions_are_convolved() -> None:
    """All Gaussian pieces are one; every other piece counts, also where equal ones are composed at once."""
    costs = [gaussian(0.4), gaussian(0.2), laplace(0.5), laplace(0.5), laplace(0.25), Cost.approximate(0.1, 1e-9)]
    total, steps = accounting._loss_distribution(costs, 1e-3)
    assert steps == 5
    joined = 1 / math.sqrt(sum(cost.pieces[0].numbers[0] ** -2 for cost in costs[:2]))
    assert accounting._joined(cost.pieces[0].numbers[0] for cost in costs[:2]) == pytest.approx(joined, rel=1e-11)
    assert accounting._joined([3.0]) < 3.0
    assert optimistic_epsilon(costs, 1e-6, 1e-3) < total.get_epsilon_for_delta(1e-6) < 1.1 * optimistic_epsilon(costs, 1e-6, 1e-4)


@pytest.mark.parametrize("delta", [-1e-300, 1.0, math.nan])
def test_a_delta_outside_of_its_range_is_refused(delta: float) -> None:
    with pytest.raises(PrivacyError, match="delta"):
        compose([laplace(1.0)], delta)


def test_the_joined_size_of_gaussian_noise_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(accounting, "gaussian_epsilon", lambda multiplier, delta: asked.append(multiplier) or 0.5)
    assert compose([Cost.gaussian(4.0, 1.0, 1e-6)], DELTA, "gaussian").gaussian == 0.5
    assert 4.0 * (1 - 2e-12) < asked[0] < 4.0 * (1 - 0.5e-12)


def test_a_tiny_release_is_counted_as_no_less_than_it_is() -> None:
    """By the gaussian rule, down to a size whose inverse is still a float."""
    tiny = compose([Cost.approximate(1e-200, 0.0)] * 2, DELTA, "gaussian")
    assert 0 <= tiny.gaussian <= tiny.basic == 2e-200


def test_nothing_costs_nothing_and_pure_epsilon_needs_no_delta() -> None:
    assert compose([], DELTA).epsilon == compose([], 0.0, "gaussian").epsilon == 0.0
    assert compose([laplace(1.0), laplace(0.5)], 0.0, "gaussian").epsilon == 1.5
    assert compose([gaussian(1.0)], 0.0, "planned").epsilon == math.inf
    assert not fits([gaussian(1.0)], 100.0, 0.0, "planned")


def trade_off(alpha: np.ndarray, mu: float) -> np.ndarray:
    from scipy.stats import norm

    return norm.cdf(norm.isf(alpha) - mu)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0])
def test_a_pure_mechanism_is_dominated_by_the_gaussian_noise_it_is_counted_as(epsilon: float) -> None:
    """C7. At every level the error of the best test is at least that of the Gaussian; at the kink they are equal."""
    from noisewise.privacy.accounting import _gaussian_size

    mu = _gaussian_size(Piece("approximate", (epsilon, 0.0)))
    alpha = np.linspace(1e-6, 1 - 1e-6, 4001)
    pure = np.maximum(1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha)).clip(0)
    assert (trade_off(alpha, mu) <= pure + 1e-12).all()
    kink = np.array([1 / (1 + math.exp(epsilon))])
    assert trade_off(kink, mu) == pytest.approx(kink, rel=1e-9)
    assert (trade_off(alpha, mu * 0.98) > pure + 1e-12).any()  # a smaller one would not do


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-17, 2e-8, 3e-7, 1e-5, 1e-4, 0.3, 0.999, 1.0, 3.0, 30.0, 700.0, 5000.0])
def test_the_gaussian_noise_of_a_pure_mechanism_is_not_rounded_down(epsilon: float) -> None:
    """C7, in 60 digits: Φ(−μ/2) is at most 1/(1 + e^ε), and close to it. A charge of any size is counted without an error."""
    from noisewise.privacy.accounting import _gaussian_size

    mu = _gaussian_size(Piece("approximate", (epsilon, 0.0)))
    with mpmath.workdps(400 if epsilon < 1e-9 else 60):
        def below_half(size: float) -> mpmath.mpf:
            return mpmath.erf(size / (2 * mpmath.sqrt(2))) - mpmath.tanh(mpmath.mpf(epsilon) / 2)

        def log_ratio(size: float) -> mpmath.mpf:
            tail = mpmath.erfc(size / (2 * mpmath.sqrt(2))) / 2
            return mpmath.log(tail) + epsilon + mpmath.log1p(mpmath.exp(-mpmath.mpf(epsilon)))

        if 5e-324 < epsilon < 1:
            assert below_half(mu) >= 0 > below_half(mu * (1 - 1e-11))
        elif epsilon >= 1:
            assert log_ratio(mu) <= 0 < log_ratio(mu * (1 - 1e-11))
    found = compose([Cost.approximate(epsilon, 0.0)], DELTA, "gaussian").epsilon
    assert found <= epsilon and (found > 0 or epsilon < 1e-5)


def adaptive_delta(epsilon: float, delta: float, rule: str, sizes: tuple[float, float]) -> float:
    """The largest δ(ε) that anyone gets who looks at each result before the next pure release is chosen: by recursion.

    The worst pure mechanism is a coin that comes up one way with the probability e^s/(1 + e^s), or 1/(1 + e^s).
    """
    from functools import cache

    @cache
    def allowed(first: int, second: int) -> bool:
        costs = [Cost.approximate(sizes[0], 0.0)] * first + [Cost.approximate(sizes[1], 0.0)] * second
        return fits(costs, epsilon, delta, rule, grids=(1e-3,))  # type: ignore[arg-type]

    @cache
    def best(first: int, second: int, loss_first: int, loss_second: int) -> float:
        found = max(0.0, 1 - math.exp(epsilon - sizes[0] * loss_first - sizes[1] * loss_second))
        for size, one, other in ((sizes[0], 1, 0), (sizes[1], 0, 1)):
            if allowed(first + one, second + other):
                heads = 1 / (1 + math.exp(-size))
                found = max(found, heads * best(first + one, second + other, loss_first + one, loss_second + other)
                            + (1 - heads) * best(first + one, second + other, loss_first - one, loss_second - other))
        return found

    return best(0, 0, 0, 0)


def test_sizes_chosen_by_results_break_the_planned_rule_and_no_other() -> None:
    """C7. The rule planned is for lists that are fixed in advance, and this shows why."""
    assert adaptive_delta(1.0, 0.1, "planned", (0.3, 0.5)) > 1.04 * 0.1
    for sizes in ((0.3, 0.5), (0.1, 0.9), (0.25, 1.0)):
        assert 0.01 < adaptive_delta(1.0, 0.1, "gaussian", sizes) <= 0.1
        assert adaptive_delta(1.0, 0.1, "basic", sizes) == pytest.approx(0.0, abs=1e-12)


def test_by_the_gaussian_rule_mixtures_cost_more_than_by_the_planned_one_and_wishart_noise_does_not_fit() -> None:
    costs = [gaussian(1.0, 1e-7), laplace(0.5)]
    assert compose(costs, DELTA).epsilon < compose(costs, DELTA, "gaussian").epsilon < math.inf
    assert compose([*costs, Cost.approximate(0.1, 1e-9)], DELTA, "gaussian").epsilon == math.inf
    assert fits([laplace(3.0)], 3.0, DELTA, "gaussian")  # pure epsilons add up there too


@pytest.mark.parametrize(("scale", "shift"), [(1.5, 1), (1.5, 4), (4.0, 2), (40.0, 30), (0.7, 3)])
def test_laplace_noise_on_the_grid_is_dominated_by_the_noise_it_is_counted_as(scale: float, shift: int) -> None:
    """C6, in units of the grid: the privacy profile of the discrete noise is nowhere above that of the continuous one."""
    multiplier = laplace_multiplier(scale, 1.0, float(shift))
    reach = np.arange(-round(60 * scale) - shift, round(60 * scale) + shift + 1)
    q = math.exp(-1 / scale)
    mass = (1 - q) / (1 + q) * q ** np.abs(reach)
    moved = (1 - q) / (1 + q) * q ** np.abs(reach - shift)
    for epsilon in np.linspace(0, 1.05 * shift / scale, 60):
        discrete = np.maximum(mass - math.exp(epsilon) * moved, 0).sum()
        rest = 1 / multiplier - epsilon
        continuous = -math.expm1(-rest / 2) if rest > 0 else 0.0
        assert discrete <= continuous + 1e-13
    assert 1 / multiplier >= shift / scale


@pytest.mark.parametrize("split", [(3, 1), (2, 2), (1, 1, 2)])
def test_one_number_is_the_worst_case_of_a_vector_with_laplace_noise(split: tuple[int, ...]) -> None:
    """C6: a shift of several numbers is no easier to see than the same shift of one."""
    scale = 2.0
    q = math.exp(-1 / scale)
    reach = np.arange(-70, 75)
    noise = (1 - q) / (1 + q) * q ** np.abs(reach)

    def profile(shifts: tuple[int, ...], epsilon: float) -> float:
        base, moved = np.ones(1), np.ones(1)
        for shift in shifts:
            base = np.multiply.outer(base, noise).ravel()
            moved = np.multiply.outer(moved, (1 - q) / (1 + q) * q ** np.abs(reach - shift)).ravel()
        return float(np.maximum(base - math.exp(epsilon) * moved, 0).sum())

    for epsilon in (0.0, 0.4, 1.0, 1.7):
        assert profile(split, epsilon) <= profile((sum(split),), epsilon) + 1e-12


def test_the_largest_affordable_epsilon() -> None:
    assert largest_epsilon(lambda size: size <= 0.37, 3.0) == pytest.approx(0.37, rel=2e-3)
    assert largest_epsilon(lambda size: size <= 0.37, 3.0) <= 0.37
    assert largest_epsilon(lambda size: True, 3.0) == 3.0 and largest_epsilon(lambda size: False, 3.0) == 0.0


@pytest.mark.parametrize(("make", "words"), [
    (lambda: Piece("uniform", (1.0,)), "gaussian, laplace or approximate"),  # type: ignore[arg-type]
    (lambda: Piece("gaussian", (1.0, 2.0)), "with its numbers"),
    (lambda: Piece("gaussian", (-1.0,)), "positive and finite"),
    (lambda: Piece("gaussian", (math.nan,)), "positive and finite"),
    (lambda: Piece("approximate", (1.0, 1.0)), "below 1"),
    (lambda: Cost(0.0, 0.0, (Piece("laplace", (1.0,)),)), "positive epsilon"),
    (lambda: Cost(1.0, 0.0, ()), "at least one piece"),
    (lambda: Cost.gaussian(1.0, 1.0, 0.0), "pure pieces"),
    (lambda: Cost(1.0, 1.0, (Piece("laplace", (1.0,)),)), "delta between 0 and 1"),
    (lambda: Cost.from_dict({"epsilon": 1.0}), "stored with"),
    (lambda: Cost.from_dict({"epsilon": 1.0, "delta": 0.0, "pieces": [["laplace", "x"]]}), "stored with"),
    (lambda: compose([], 1.0), "below 1"),
])
def test_what_is_no_cost_is_refused(make: object, words: str) -> None:
    with pytest.raises(PrivacyError, match=words):
        make()  # type: ignore[operator]


@given(st.floats(1e-12, 1e6), st.floats(1e-30, 0.5))
def test_costs_are_written_down_and_read_back(number: float, delta: float) -> None:
    cost = Cost(number, delta, (Piece("gaussian", (number,)), Piece("laplace", (number,)), Piece("approximate", (number, delta))))
    assert Cost.from_dict(cost.as_dict()) == cost
