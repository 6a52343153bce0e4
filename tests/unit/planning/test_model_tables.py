"""Hypothetical tables of a model release: the sums of a round have the mean and the spread that sums over rows have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisewise.errors import DeclarationError
from noisewise.planning.noise import isotropic_noise, noisy_round
from noisewise.planning.population import DISPERSION, Population
from noisewise.planning.tables import Regression
from noisewise.schema import Basis, Schema
from noisewise.scores.families import FAMILIES
from noisewise.scores.looks import Layout, range_starts
from noisewise.scores.nodes import Nodes
from noisewise.scores.rounds import Noise, Point, Round

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 40]}, "visits": {"bounds": [0, 8]}, "again": {"levels": ["no", "yes"]}, "age": {"bounds": [18, 98]},
    "ward": {"levels": ["A", "B", "C"]}}})
CASES = {"gaussian": ("stay", {"age": 0.15}, {"sigma": 6.0}), "logistic": ("again", {"age": 0.05}, {}),
         "probit": ("again", {"age": 0.03}, {}), "poisson": ("visits", {"age": 0.02}, {}),
         "negative-binomial": ("visits", {"age": 0.02}, {"dispersion": 1.0})}
NOISE = Noise(score=1.0, matrix=1.0, square=1.0, spread=1.0)
FAMILY_NAMES = [*CASES]


def regression(family: str) -> Regression:
    response, effects, given = CASES[family]
    made = Population.of(f"{response} ~ age + ward", Basis.of(SCHEMA), None, family, effects, given.get("sigma"), {}, {},
                         given.get("dispersion"))
    return Regression(made, FAMILIES[family])


def point_near(one: Regression) -> Point:
    """Off the truth, with rows on both sides of the limit on their weight."""
    coefficients = np.array(list(one.population.effects.values())) * 1.2
    scale, features = 0.8 * one.population.law.scale, one.problem(1.0, 0.0).features
    coordinates = np.linalg.qr(features)[0].T
    nodes = Nodes.of(one.family, one.bounds, scale)
    lengths = np.linalg.norm(one.pool @ coordinates.T, axis=1) * nodes.bound[nodes.place(one.pool @ (features @ coefficients))]
    return Point(coefficients=coefficients, coordinates=coordinates / np.median(lengths), scale=scale, spread=True)


def by_rows(one: Regression, point: Point, count: int, random: np.random.Generator) -> np.ndarray:
    """What each of many rows adds to Σ s, to (ψ/bound)², and to the traces of both matrices: written out from the definition."""
    chosen = random.integers(0, len(one.pool), count)
    x, y = one.pool[chosen], one.population.law.draw(one.eta[chosen], random)
    y = (y + 1) / 2 if one.family.response == "two levels" else y
    nodes = Nodes.of(one.family, one.bounds, point.scale)
    at = nodes.place(x @ (one.problem(1.0, 0.0).features @ point.coefficients))
    u, bound = x @ point.coordinates.T, nodes.bound[at]
    weight = np.minimum(1.0, 1.0 / (np.sum(u**2, axis=1) * bound**2))
    psi = nodes.factor[at] * (np.clip(y, nodes.low[at], nodes.high[at]) - nodes.mean[at])
    score = u * (weight * psi)[:, None]
    lengths = np.sum(u**2, axis=1) * weight * nodes.rate[at]
    return np.column_stack([score, (psi / bound) ** 2, lengths, np.sum(score**2, axis=1)])


@pytest.mark.parametrize("family", FAMILY_NAMES)
@pytest.mark.parametrize("rows", [1_000, 30_000])
def test_sums_have_the_mean_and_the_spread_of_rows(family: str, rows: int) -> None:
    """400 tables: a standard deviation is known to 3.5 %, a mean to 1/20 of one; 400,000 rows know theirs better still."""
    one, random = regression(family), np.random.default_rng(4)
    point = point_near(one)
    single = by_rows(one, point, 400_000, random)
    problem = one.problem(rows, 0.0)
    tables = []
    for _ in range(400):
        found = one.table(rows, random).round(problem, point, NOISE)
        tables.append([*found.score, found.square, np.trace(found.matrix), np.trace(found.spread)])
    sums = np.array(tables)
    expected, spread = rows * single.mean(axis=0), np.sqrt(rows) * single.std(axis=0)
    error = spread * np.sqrt(1 / 400 + rows / 400_000)
    assert np.all(np.abs(sums.mean(axis=0) - expected) < 4.5 * error)
    assert np.all(np.abs(sums.std(axis=0) / spread - 1) < 0.17)
    assert np.any(np.abs(sums.mean(axis=0) - 1.03 * expected) > 4.5 * error)  # 3 % more would be noticed


def test_responses_beyond_their_bounds_are_clipped_before_they_count() -> None:
    """A mean near the lower bound: without the clipping, the score would be 20 of its standard deviations off."""
    made = Population.of("stay ~ age", Basis.of(SCHEMA), None, "gaussian", {"age": 0.0}, 8.0, {"stay": {"mean": 4.0}}, {})
    one, random = Regression(made, FAMILIES["gaussian"]), np.random.default_rng(5)
    point = Point(coefficients=np.array([4.0, 0.0]), coordinates=np.eye(2) * 0.05, scale=8.0, spread=True)
    rows = 40_000
    scores = np.array([one.table(rows, random).round(one.problem(rows, 0.0), point, NOISE).score for _ in range(100)])
    single = by_rows(one, point, 400_000, random)[:, :2]
    spread = np.sqrt(rows) * single.std(axis=0)
    z = (scores.mean(axis=0) - rows * single.mean(axis=0)) / (spread * np.sqrt(1 / 100 + rows / 400_000))
    assert np.all(np.abs(z) < 4.5)
    assert scores[:, 0].mean() / spread[0] > 20


@pytest.mark.parametrize("family", ["gaussian", "logistic", "poisson"])
def test_the_first_look_sees_columns_and_response(family: str) -> None:
    one = regression(family)
    layout = Layout.of(one.basis, one.family)
    sums = one.table(50_000, np.random.default_rng(6)).look() / 50_000
    assert len(sums) == layout.size
    named = dict(zip([column.name for column in layout.columns], sums, strict=False))
    assert named["age"] == pytest.approx(0, abs=0.02) and named["ward[B]"] == pytest.approx(1 / 3, abs=0.03)
    if layout.ranges:
        shares = sums[-layout.ranges:]
        assert shares.sum() == pytest.approx(1) and len(shares) == len(range_starts(8.0)) and shares.min() >= 0
    else:
        mean = float(one.population.law.moments(one.population.eta)[0].mean())
        assert named[one.basis.columns[-1].name] == pytest.approx((mean - 20) / 20 if family == "gaussian" else mean, abs=0.05)


def test_noise_is_as_large_as_a_round_states() -> None:
    """2000 draws: a standard deviation is known to 1.6 %."""
    random = np.random.default_rng(7)
    drawn = np.array([isotropic_noise(random, 3.0, 3) for _ in range(2_000)])
    assert np.array_equal(drawn, drawn.transpose(0, 2, 1))
    assert drawn.std(axis=0) == pytest.approx(3.0 * np.sqrt((1 + np.eye(3)) / 2), rel=0.08)
    nothing = np.zeros((2, 2))
    exact = Round(point=Point(coefficients=np.zeros(2), coordinates=nothing, scale=1.0, spread=True),
                  noise=Noise(score=2.0, matrix=4.0, square=6.0, spread=8.0), score=np.zeros(2), matrix=nothing, square=0.0,
                  spread=nothing)
    found = [noisy_round(random, exact) for _ in range(2_000)]
    sds = [np.std([getattr(one, piece) for one in found], axis=0) for piece in ("score", "matrix", "square", "spread")]
    assert sds[0] == pytest.approx(2.0, rel=0.08) and sds[2] == pytest.approx(6.0, rel=0.08)
    assert np.diag(sds[1]) == pytest.approx(4.0, rel=0.08) and np.diag(sds[3]) == pytest.approx(8.0, rel=0.08)
    bare = Round(point=exact.point, noise=Noise(score=2.0, matrix=4.0), score=np.zeros(2), matrix=nothing)
    assert noisy_round(random, bare).square is None and noisy_round(random, bare).spread is None


def test_a_negative_binomial_response_and_its_dispersion() -> None:
    def made(**given: Any) -> Population:
        return Population.of("visits ~ age", Basis.of(SCHEMA), None, given.pop("family", "negative-binomial"), {}, None, {}, {},
                             **given)

    assert made().law.scale == DISPERSION and made(dispersion=2.0).law.scale == 2.0
    assert "dispersion 0.5 (assumed)" in made().words(scale_declared=False, level_declared=False)[-1]
    law, eta = made(dispersion=1.5).law, np.full(400_000, 0.4)
    drawn = law.draw(eta, np.random.default_rng(8))
    for power, expected in enumerate(law.moments(eta[:1]), start=1):  # 400,000 draws know a mean to 1/630 of their spread
        assert abs(np.mean(drawn**power) - expected[0]) < 4 * np.std(drawn**power) / 630
    assert np.mean(drawn == 8.0) > law.clipped(eta[:1])[0] > np.mean(drawn == 8.0) / 3
    for wrong in ({"dispersion": -1.0}, {"dispersion": 1.0, "family": "poisson"}):
        with pytest.raises(DeclarationError, match="dispersion"):
            made(**wrong)
