"""Values, directions of rounding, the account and refusals of the mechanism of model releases."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.privacy.events import event

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.mechanisms.model import ModelDraws, ModelMechanism
from noisewise.privacy.sensitivity.model import model_sensitivity
from noisewise.scores.next_round import FINDING, LOOK
from noisewise.scores.rounds import Noise, Point

GRID = 2.0**-16
TERMS, SUMS = 3, 5


def mechanism(epsilon: float = 1.0, adjacency: str = "replace-one", scaled: bool = True, **unit: Any) -> ModelMechanism:
    sensitivity = model_sensitivity(look_added=4, look_replaced=9, sums=SUMS, terms=TERMS, scaled=scaled, adjacency=adjacency,
                                    **unit)
    return ModelMechanism.calibrate(sensitivity, epsilon, 1e-6)


def point(spread: bool) -> Point:
    return Point(coefficients=np.zeros(TERMS), coordinates=np.eye(TERMS), scale=1.0, spread=spread)


def look(draws: ModelDraws, share: float = LOOK, rows: int = 100) -> Any:
    return draws.perturb_look(np.zeros(SUMS, dtype=np.int64), rows, draws.mechanism.look_noise(share))


def one_round(draws: ModelDraws, share: float, spread: bool, noise: Noise | None = None) -> Any:
    noise = draws.mechanism.noise_for(share, spread) if noise is None else noise
    score, nothing = np.zeros(TERMS, dtype=np.int64), np.zeros((TERMS, TERMS), dtype=np.int64)
    square = 0 if draws.mechanism.sensitivity.scaled else None
    return draws.perturb_round(point(spread), noise, score, nothing, square, nothing if spread else None)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("spread", [False, True])
def test_the_noise_of_a_share(epsilon: float, spread: bool) -> None:
    """σ = Δ / (μ √share) on the score, over the roots of the weights elsewhere, with 32 grid steps squared more."""
    made = mechanism(epsilon)
    delta, weights = made.sensitivity.of_round(spread), made.sensitivity.weights(spread)
    sigma = analytic_gaussian_sigma(epsilon, 1e-6, delta) / math.sqrt(0.25)
    noise = made.noise_for(0.25, spread)
    wide = math.sqrt(sigma**2 + 32 * GRID**2)
    assert noise.score == pytest.approx(wide, rel=1e-11)
    for name in ("matrix", "square", "spread"):
        weight, sd = getattr(weights, name), getattr(noise, name)
        assert sd is None if weight == 0 else sd == pytest.approx(wide / math.sqrt(weight), rel=1e-11)
        if weight:
            least, halves = Fraction(sigma) ** 2 * (1 - Fraction(1, 10**9)) / Fraction(weight), 1 if name == "square" else 2
            assert Fraction(sd) ** 2 / halves >= least / halves + 16 * Fraction(GRID) ** 2
    assert made.look_noise(0.25) == pytest.approx(
        math.sqrt((sigma * made.sensitivity.look / delta) ** 2 + 32 * GRID**2), rel=1e-11)


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=12), st.floats(0.01, 50))
def test_shares_that_add_up_to_one_are_always_covered(parts: list[float], epsilon: float) -> None:
    """Also if they are added and taken away in floats, as the search does."""
    made = mechanism(epsilon)
    shares, left = [part / sum(parts) for part in parts], 1.0
    spent = Fraction(0)
    for place, share in enumerate(shares):
        given_share = share if place < len(shares) - 1 else left
        if not 0 < given_share <= 1:
            return
        left -= given_share
        noise = made.noise_for(given_share, False)
        spent += Fraction(made.sensitivity.finding) ** 2 / (Fraction(noise.score) ** 2 - 32 * Fraction(GRID) ** 2)
    assert (1 - Fraction(1, 10**9)) * Fraction(sum(shares)) <= spent * Fraction(made.multiplier) ** 2 <= 1


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_release_spends_its_budget_and_no_more(adjacency: str) -> None:
    draws = mechanism(adjacency=adjacency).draws()
    look(draws)
    left = 1.0 - LOOK
    for share in FINDING:
        one_round(draws, share, False)
        left -= share
    one_round(draws, left, True)
    assert 1 - 1e-9 < float(draws.spent / draws.budget) <= 1 and draws.spent <= draws.budget


def test_what_the_budget_does_not_cover_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = mechanism().draws()
    look(draws)
    one_round(draws, 0.9, False)
    spent = draws.spent
    monkeypatch.setattr("noisewise.privacy.mechanisms.model.gaussian_integers", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(PrivacyError, match="more than its budget") as refused:
        one_round(draws, 0.0601, True)
    assert draws.spent == spent and refused.value.found
    monkeypatch.undo()
    one_round(draws, 0.06, True)
    with pytest.raises(PrivacyError, match="more than its budget"):
        look(draws)


@pytest.mark.parametrize("piece", ["score", "matrix", "square", "spread"])
def test_the_account_goes_by_the_least_noisy_piece(piece: str) -> None:
    made = mechanism()
    noise = made.noise_for(0.2, True)
    quieter = replace(noise, **{piece: getattr(noise, piece) / 2})
    usual, more = made.draws(), made.draws()
    one_round(usual, 0.2, True, noise)
    one_round(more, 0.2, True, quieter)
    assert float(more.spent / usual.spent) == pytest.approx(4.0, rel=1e-9)
    with pytest.raises(PrivacyError, match="more than its budget"):
        one_round(made.draws(), 0.2, True, replace(noise, **{piece: getattr(noise, piece) / 3}))


def test_each_release_has_an_account_of_its_own() -> None:
    made = mechanism()
    for _ in range(2):
        draws = made.draws()
        one_round(draws, 1.0, True)
        assert 0.99 < float(draws.spent / draws.budget) <= 1.0
    with pytest.raises(PrivacyError, match="more than its budget"):
        one_round(draws, 0.1, True)


@pytest.mark.parametrize(("pieces", "changes"), [
    ({"square": None}, {}), ({}, {"square": None}), ({"spread": None}, {}), ({}, {"spread": None}),
])
def test_sums_without_noise_and_noise_without_sums_are_refused(pieces: dict[str, None], changes: dict[str, None]) -> None:
    draws, nothing = mechanism().draws(), np.zeros((TERMS, TERMS), dtype=np.int64)
    given_pieces: dict[str, Any] = {"square": 0, "spread": nothing, **pieces}
    noise = replace(draws.mechanism.noise_for(0.1, True), **changes)
    with pytest.raises(PrivacyError, match="if and only if"):
        draws.perturb_round(point(True), noise, np.zeros(TERMS, dtype=np.int64), nothing, **given_pieces)
    assert draws.spent == 0


@pytest.mark.parametrize(("score", "matrix"), [
    (np.zeros(2, dtype=np.int64), np.zeros((3, 3), dtype=np.int64)),
    (np.zeros(3, dtype=np.int64), np.zeros((2, 2), dtype=np.int64)),
    (np.zeros(3, dtype=np.int64), np.zeros((3, 3))), (np.zeros(3, dtype=np.int64), np.triu(np.ones((3, 3), dtype=np.int64))),
])
def test_other_sums_than_planned_are_refused(score: Any, matrix: Any) -> None:
    draws = mechanism(scaled=False).draws()
    with pytest.raises(PrivacyError):
        draws.perturb_round(point(False), draws.mechanism.noise_for(0.1, False), score, matrix)
    with pytest.raises(PrivacyError, match="calibrated for"):
        draws.perturb_look(np.zeros(SUMS + 1, dtype=np.int64), 5, draws.mechanism.look_noise(0.1))
    assert draws.spent == 0


def test_no_noise_is_refused() -> None:
    draws = mechanism().draws()
    for noise in (0.0, GRID, 5 * GRID):
        with pytest.raises(PrivacyError, match="wider than its grid"):
            draws.perturb_look(np.zeros(SUMS, dtype=np.int64), 5, noise)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.0001, math.nan])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(PrivacyError, match="share"):
        mechanism().noise_for(share, False)


def test_results_are_on_the_grid_symmetric_and_noisy() -> None:
    draws = mechanism().draws()
    first, found = look(draws), one_round(draws, 0.5, True)
    for values in (first.sums, found.score, found.matrix, found.spread, [found.square]):
        assert np.array_equal(np.asarray(values) * 2**16, np.round(np.asarray(values) * 2**16)) and np.any(values)
    assert np.array_equal(found.matrix, found.matrix.T) and np.array_equal(found.spread, found.spread.T)
    again = one_round(draws, 0.3, True)
    assert np.count_nonzero(found.score == again.score) <= 1  # no seed


def test_a_private_number_of_rows_is_noisy_and_a_public_one_exact() -> None:
    assert (look(mechanism().draws()).rows, look(mechanism().draws()).rows_noise) == (100.0, 0.0)
    private = look(mechanism(adjacency="add-remove").draws())
    assert private.rows_noise == private.noise > 0 and abs(private.rows - 100) < 40 * private.noise
    assert len(private.sums) == SUMS
    assert any(look(mechanism(adjacency="add-remove").draws()).rows != 100 for _ in range(3))


def test_noise_has_the_standard_deviation_that_it_states() -> None:
    """Root mean squares of 4020 numbers each: within 7 standard errors, which 10 % more or less is not."""
    made, tolerance = mechanism(5.0), 7 / math.sqrt(2 * 4020)
    noise = made.noise_for(0.5, True)
    found = [one_round(made.draws(), 0.5, True) for _ in range(1340)]
    off = np.triu_indices(TERMS, 1)
    drawn = {"score": [one.score for one in found], "matrix": [np.diag(one.matrix) for one in found],
             "spread": [np.diag(one.spread) for one in found]}
    halves = {"matrix": [one.matrix[off] for one in found], "spread": [one.spread[off] for one in found]}
    sizes = [float(np.sqrt(np.mean(np.square(values)))) / getattr(noise, name) for name, values in drawn.items()]
    sizes += [float(np.sqrt(2 * np.mean(np.square(values)))) / getattr(noise, name) for name, values in halves.items()]
    assert all(abs(size - 1) < tolerance < 0.1 for size in sizes), sizes
    squares = float(np.sqrt(np.mean([one.square**2 for one in found]))) / (noise.square or 0.0)
    assert abs(squares - 1) < 7 / math.sqrt(2 * 1340)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.2, 1e-5)])
def test_an_accountant_finds_what_was_promised(epsilon: float, delta: float) -> None:
    sensitivity = mechanism().sensitivity
    cost = ModelMechanism.calibrate(sensitivity, epsilon, delta).cost()
    assert (cost.epsilon, cost.delta) == (epsilon, delta) and len(cost.pieces) == 1
    found = PLDAccountant().compose(event(cost)).get_epsilon(delta)
    assert 0.99 * epsilon < found <= epsilon * 1.002  # the accountant rounds up


def test_the_statement_names_neighbours_and_budget() -> None:
    statement = mechanism(adjacency="add-remove").statement()
    assert statement.startswith("Adding or removing any one row changes") and "epsilon = 1 and delta = 1e-06" in statement
    assert "Gaussian noise" in statement and mechanism().name == "gaussian"
