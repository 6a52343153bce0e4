"""The noise of published rows: by hand, shares, copies, rounding towards privacy, refusals, and what the ledger is told."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.refusals import about

from noisewise.data.exact import ONE
from noisewise.errors import NoisewiseError, PrivacyError
from noisewise.holder.rows import plan_rows
from noisewise.kinds import Rows
from noisewise.privacy.accounting import compose
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.mechanisms import rows
from noisewise.privacy.mechanisms.rows import RowsMechanism, calibrate
from noisewise.privacy.sensitivity.rows import (
    CELL_GRID,
    KEEP_BITS,
    gaussian_squared_distance,
    keep_units,
    laplace_loss,
    response_ratio,
)
from noisewise.releases import rows_file
from noisewise.schema import Schema

COLUMNS: dict[str, Any] = {"age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}, "stay": {"bounds": [0, 60]}}
SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": COLUMNS})


def plan(**settings: Any) -> RowsMechanism:
    kind = Rows(**{name: settings.pop(name) for name in ("copies", "shares", "mechanism") if name in settings})
    return plan_rows(settings.pop("schema", SCHEMA), kind, settings.pop("epsilon", 6.0), **settings)


def exponential(value: Fraction) -> Fraction:
    """exp to 100 digits."""
    with localcontext() as context:
        context.prec = 100
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).exp())


def test_the_grid_is_that_of_the_data_pass_and_of_the_file() -> None:
    assert 1 / CELL_GRID == ONE
    assert rows_file.CELL_GRID == CELL_GRID


def test_three_columns_share_epsilon_and_copies_share_it_again() -> None:
    one, three = plan(), plan(copies=3)
    assert one.scales == {"age": 1.0, "stay": 1.0}  # 2 / (6/3)
    assert three.scales == {"age": 3.0, "stay": 3.0}
    assert one.keep_probability("ward") == pytest.approx(np.exp(2) / (np.exp(2) + 2), rel=1e-12)
    assert three.keep_probability("ward") == pytest.approx(np.exp(2 / 3) / (np.exp(2 / 3) + 2), rel=1e-12)
    assert (one.name, one.delta) == ("laplace", 0.0)


def test_shares_are_relative() -> None:
    made = plan(shares={"age": 2})
    assert made.scales == {"age": pytest.approx(2 / 3, abs=1e-15), "stay": pytest.approx(4 / 3, abs=1e-15)}
    assert made.shares == {"age": Fraction(1, 2), "ward": Fraction(1, 4), "stay": Fraction(1, 4)}
    assert plan(shares={"age": 4, "ward": 2, "stay": 2}).scales == made.scales


def test_gaussian_copies_cost_nothing() -> None:
    one, nine = plan(delta=1e-6), plan(delta=1e-6, copies=9)
    for name, sd in one.scales.items():
        assert nine.scales[name] == pytest.approx(3 * sd, rel=1e-9)
    assert gaussian_squared_distance(one.scales.values(), 1) == pytest.approx(float(gaussian_squared_distance(
        nine.scales.values(), 9)), rel=1e-8)


def test_gaussian_numbers_have_their_part_of_epsilon_and_all_of_delta() -> None:
    distance = float(gaussian_squared_distance(plan(delta=1e-6).scales.values(), 1)) ** 0.5
    assert 1 / distance == pytest.approx(analytic_gaussian_sigma(4.0, 1e-6, 1.0), rel=1e-8)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 7.3, 1e3, 1e9])
@pytest.mark.parametrize("copies", [1, 7])
def test_numbers_and_levels_are_rounded_towards_privacy(epsilon: float, copies: int) -> None:
    made = plan(epsilon=epsilon, copies=copies, shares={"age": 1 / 3, "stay": 0.7})
    own = Fraction(epsilon) * sum(made.shares[name] for name in made.scales)
    assert own * (1 - Fraction(1, 2**40)) <= laplace_loss(made.scales.values(), copies) <= own
    each = Fraction(epsilon) * made.shares["ward"] / copies
    assert response_ratio(made.keep["ward"], 3) <= exponential(min(each, Fraction(36)))


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(10), Fraction(30)])
@pytest.mark.parametrize("levels", [2, 3, 64])
def test_one_unit_more_would_break_epsilon(epsilon: Fraction, levels: int) -> None:
    units = keep_units(epsilon, levels)
    assert response_ratio(units, levels) <= exponential(epsilon) < response_ratio(units + 1, levels)


def test_a_level_is_never_kept_for_certain() -> None:
    assert keep_units(Fraction(10**9), 2) < 2**KEEP_BITS


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "epsilon": ({"epsilon": 0.0}, "epsilon must be positive"),
    "tiny epsilon": ({"epsilon": 1e-15}, "noise scale|too small"),
    "copies": ({"copies": 0}, "copies must be a whole number"),
    "copies of another type": ({"copies": 2.0}, "copies must be a whole number"),
    "mechanism": ({"mechanism": "wishart", "delta": 1e-6}, "known: gaussian, laplace"),
    "gaussian without delta": ({"mechanism": "gaussian"}, "needs a delta"),
    "delta": ({"delta": 1.0}, "delta must lie"),
    "unknown share": ({"shares": {"height": 2}}, "shares.*'height'"),
    "negative share": ({"shares": {"age": -1}}, "a share must be a positive number"),
    "add-remove": ({"schema": Schema.from_dict({"adjacency": "add-remove", "columns": COLUMNS})},
                   'only under replace-one.*gram'),
    "unit column": ({"schema": Schema.from_dict({"adjacency": "replace-one", "columns": COLUMNS,
                                                 "unit": {"column": "person", "max_rows": 2}})}, "only under replace-one"),
    "unknown bounds": ({"schema": Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": "unknown"}}})},
                       "bounds are unknown"),
    "norm bound": ({"schema": Schema.from_dict({"adjacency": "replace-one", "columns": COLUMNS, "norm_bound": 1.0})},
                   "norm_bound"),
    "a column named copy": ({"copies": 2, "schema": Schema.from_dict({"adjacency": "replace-one",
                                                                      "columns": {"copy": {"bounds": [0, 1]}}})}, "rename it"),
    "huge bounds": ({"schema": Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": [0, 1e300]}}})},
                    "column 'x'"),
    "gaussian noise on levels": ({"delta": 1e-6, "mechanism": "gaussian", "schema": Schema.from_dict(
        {"adjacency": "replace-one", "columns": {"ward": COLUMNS["ward"]}})}, "Gaussian noise"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_promised_is_refused(name: str) -> None:
    settings, words = REFUSED[name]
    with pytest.raises(NoisewiseError, match=words):
        plan(**settings)


def test_a_category_alone_spends_no_delta() -> None:
    made = plan(schema=Schema.from_dict({"adjacency": "replace-one", "columns": {"ward": COLUMNS["ward"]}}), delta=1e-6)
    assert (made.name, made.delta) == ("randomised-response", 0.0)
    assert "delta = 0 (replace-one, randomised response)" in made.statement()


def test_laplace_with_a_delta_is_pure() -> None:
    assert plan(delta=1e-6, mechanism="laplace").delta == 0.0


def test_a_delta_that_is_none_is_refused_even_where_it_is_not_spent() -> None:
    for delta in (0.0, 1.0, 2.0):
        with pytest.raises(PrivacyError, match="delta must lie"):
            calibrate({"age": None}, epsilon=1.0, delta=delta, mechanism="laplace", copies=1, weights={"age": Fraction(1)})


@pytest.mark.parametrize("levels", [None, 2])
@pytest.mark.parametrize("mechanism", ["randomised-response", "wishart"])
def test_randomised_response_is_for_levels_alone(levels: int | None, mechanism: str) -> None:
    def made() -> RowsMechanism:
        return calibrate({"x": levels}, epsilon=1.0, delta=None, mechanism=mechanism, copies=1, weights={"x": Fraction(1)})

    if levels and mechanism == "randomised-response":
        assert made().name == mechanism
    else:
        with pytest.raises(PrivacyError, check=about("mechanism", known="laplace")):
            made()


@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_less_gaussian_noise_than_epsilon_asks_for_is_never_returned(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    """R3, where the noise is made a little smaller by mistake; noise that is just as large as it must be is enough."""
    def made(factor: float) -> float:
        monkeypatch.setattr(rows, "widen_for_grid", lambda sd, step: sd * factor)
        [sd] = calibrate({"age": None}, epsilon=epsilon, delta=1e-6, mechanism=None, copies=1,
                         weights={"age": Fraction(1)}).scales.values()
        return sd

    assert made(1.0) == 2 * analytic_gaussian_sigma(epsilon, 1e-6, 1.0)
    with pytest.raises(AssertionError):
        made(1 - 1e-9)


def test_the_ledger_is_told_as_much_as_was_promised() -> None:
    pure, gaussian = plan(copies=2).cost(), plan(delta=1e-6, copies=2).cost()
    assert [piece.kind for piece in pure.pieces] == ["approximate", "laplace"]
    assert [piece.kind for piece in gaussian.pieces] == ["approximate", "gaussian"]
    assert sum(1 / piece.numbers[0] if piece.kind == "laplace" else piece.numbers[0] for piece in pure.pieces) == pytest.approx(6)
    assert compose([pure], 0.0, "basic").epsilon == 6.0
    # Composition knows that the numbers are Gaussian, and needs less than the sum of both promises.
    assert compose([gaussian], 1e-6, "planned").epsilon <= 6.0 * (1 + 1e-6)


@pytest.mark.parametrize("copies", [1, 3])
def test_the_ledger_is_told_exactly_and_never_of_more_noise_than_there_is(copies: int) -> None:
    """R6: what the grid costs is charged beside the noise; both numbers are rounded down, by a digit at most."""
    pure, gaussian = plan(copies=copies), plan(delta=1e-6, copies=copies)
    step = Fraction(CELL_GRID)
    [number] = [piece.numbers[0] for piece in pure.cost().pieces if piece.kind == "laplace"]
    loss = sum(copies * (2 / Fraction(scale) + (step / Fraction(scale)) ** 2 / 4) for scale in pure.scales.values())
    assert Fraction(number) <= 1 / loss < Fraction(math.nextafter(number, math.inf))
    [number] = [piece.numbers[0] for piece in gaussian.cost().pieces if piece.kind == "gaussian"]
    squared = sum(copies * 4 / (Fraction(sd) ** 2 - 32 * step**2) for sd in gaussian.scales.values())
    assert Fraction(number) ** 2 * squared <= 1 < Fraction(number) ** 2 * squared * (1 + Fraction(1, 2**50))
    for made in (pure, gaussian):
        [level] = [piece.numbers for piece in made.cost().pieces if piece.kind == "approximate"]
        assert Fraction(level[0]) >= made.shares["ward"] * Fraction(made.epsilon) and level[1] == 0.0


def test_the_statement_names_every_kind_of_noise() -> None:
    start = "Replacing any one row changes the probability of any result of this release by at most a factor exp(epsilon)"
    assert plan().statement() == f"{start}, with epsilon = 6 and delta = 0 (replace-one, Laplace noise, randomised response)."
    assert plan(delta=1e-6).statement() == (
        f"{start} and a further delta, with epsilon = 6 and delta = 1e-06 (replace-one, Gaussian noise, randomised response).")
    levels = Schema.from_dict({"adjacency": "replace-one", "columns": {"ward": {"levels": ["A", "B"]}}})
    assert plan(schema=levels).statement().endswith("delta = 0 (replace-one, randomised response).")
    numbers = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}})
    assert plan(schema=numbers).statement().endswith("delta = 0 (replace-one, Laplace noise).")


def test_cells_must_be_scaled_and_levels_declared() -> None:
    made = plan()
    good, codes = np.zeros((2, 5), dtype=np.int64), np.zeros((1, 5), dtype=np.int64)
    assert made.perturb(good, codes).shape == (5, 1, 3)
    one_too_large = good.copy()
    one_too_large[1, 3] = 2**20 + 1
    for numbers, levels in ((good + 2**20 + 1, codes), (one_too_large, codes), (-one_too_large, codes), (good[:1], codes),
                            (good.astype(float), codes), (good, codes + 3), (good, codes - 1)):
        with pytest.raises(PrivacyError):
            made.perturb(numbers, levels)
