"""``plan_power`` and ``plan`` for model releases: widths that come true, the comparison with gram, and what they refuse."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from tests.refusals import about

import noisewise as nw
from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder.plan import plan_of
from noisewise.kinds.model import Start
from noisewise.planning.comparison import in_words
from noisewise.planning.model import ModelSimulation
from noisewise.planning.noise import noisy_round
from noisewise.planning.population import Population
from noisewise.run import QUIET, Run
from noisewise.schema import Basis, Design
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Known, Layout
from noisewise.scores.next_round import LOOK
from noisewise.scores.nodes import Nodes
from noisewise.scores.rounds import Look, Noise, Point, Round
from noisewise.scores.search import Search

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 40]}, "visits": {"bounds": [0, 12]}, "again": {"levels": ["no", "yes"]}, "age": {"bounds": [18, 98]}}})
LOGISTIC = nw.Model("again ~ age", family="logistic")
GIVEN: dict[str, Any] = {"delta": 1e-6, "repeats": 20, "run": QUIET}
SD = {"age": 80 / 6}


def true_rows(response: str, family: str, age: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The true coefficients and the responses of people of these ages."""
    if family == "gaussian":
        return np.array([8.0, 0.2]), np.clip(8 + 0.2 * age + 4 * random.normal(size=len(age)), 0, 40)
    if family == "logistic":
        return np.array([-2.9, 0.05]), (random.random(len(age)) < 1 / (1 + np.exp(2.9 - 0.05 * age))).astype(float)
    rate = np.exp(-0.58 + 0.02 * age)
    if family == "poisson":
        return np.array([-0.58, 0.02]), np.minimum(random.poisson(rate), 12).astype(float)
    return np.array([-0.58, 0.02]), np.minimum(random.poisson(rate * random.gamma(2.0, 0.5, len(age))), 12).astype(float)


def released_rows(kind: nw.Model, rows: int, epsilon: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Errors and standard deviations of a fit to a table, summed row by row, with seeded noise in place of the holder's."""
    family = FAMILIES[kind.family]
    age = np.clip(58 + SD["age"] * random.normal(size=rows), 18, 98)
    truth, y = true_rows(kind.formula.split(" ")[0], kind.family, age, random)
    made = plan_of(kind, SCHEMA, epsilon, 1e-6)
    basis = Basis(SCHEMA, kind.columns(SCHEMA))
    x = np.column_stack([np.ones(rows), (age - 58) / 40])
    layout, sd = Layout.of(basis, family), made.blank.contents.look.noise
    scaled = {"number": y / 20 - 1, "two levels": 2 * y - 1}.get(family.response)
    columns = np.column_stack([x[:, 1], *([] if scaled is None else [scaled])])
    names = [column.factors[0].column for column in layout.columns]
    columns = columns if names[0] == "age" else columns[:, ::-1]
    starts = np.array([0, 1, 2, 4, 8])
    ranges = np.bincount(np.searchsorted(starts, y, side="right") - 1, minlength=5) if layout.ranges else []
    sums = np.concatenate([columns.sum(axis=0), (columns[:, list(layout.squared)] ** 2).sum(axis=0), ranges])
    look = Look(noise=sd, sums=sums + sd * random.normal(size=len(sums)), rows=float(rows), rows_noise=0.0)
    problem = Problem.of(basis, Design.of(kind.formula, basis), family, look)

    def measure(point: Point, noise: Noise) -> Round:
        nodes = Nodes.of(family, problem.bounds, point.scale)
        at = nodes.place(x @ (problem.features @ point.coefficients))
        u = x @ point.coordinates.T
        weight = np.minimum(1, 1 / (np.sum(u**2, axis=1) * nodes.bound[at] ** 2))
        psi = nodes.factor[at] * (np.clip(y, nodes.low[at], nodes.high[at]) - nodes.mean[at])
        s, r = u * (weight * psi)[:, None], u * np.sqrt(weight * nodes.rate[at])[:, None]
        return noisy_round(random, Round(
            point=point, noise=noise, score=s.sum(axis=0), matrix=r.T @ r,
            square=None if noise.square is None else float(np.sum((psi / nodes.bound[at]) ** 2)),
            spread=None if noise.spread is None else s.T @ s))

    search = Search.of(basis, problem, Known.of(basis, family, look), 1 - LOOK, made.mechanism.noise_for)
    found = search.estimate(list(search.rounds(measure)))
    return found.coefficients - truth, np.sqrt(np.diag(found.coefficient_covariance))


@pytest.mark.parametrize(("formula", "family", "effect"), [
    ("again ~ age", "logistic", 0.05), pytest.param("stay ~ age", "gaussian", 0.2, marks=pytest.mark.outer),
    pytest.param("visits ~ age", "poisson", 0.02, marks=pytest.mark.outer),
    pytest.param("visits ~ age", "negative-binomial", 0.02, marks=pytest.mark.outer)])
def test_planned_widths_and_errors_are_those_of_tables_of_rows(formula: str, family: str, effect: float) -> None:
    """25 tables. A single width varies by up to 5 %, so both medians are known to 1.3 %; an error is known to 14 %.

    The plan assumes the truth. With half the epsilon, intervals are more than a tenth wider, which is noticed.
    """
    kind, rows = nw.Model(formula, family=family), 3_000
    random = np.random.default_rng(11)
    tables = [released_rows(kind, rows, 1.0, random) for _ in range(25)]
    intercept = {"gaussian": 8.0, "logistic": -2.9}.get(family, -0.58)
    given: dict[str, Any] = {**GIVEN, "repeats": 25, "compare": False, "kind": kind, "rows": rows,
                             "effects": {"age": effect, "Intercept": intercept}, "sigma": 4.0 if family == "gaussian" else None}
    line, worse = (nw.plan_power(SCHEMA, epsilon=epsilon, **given).cells[0].line("age") for epsilon in (1.0, 0.5))
    width = float(np.median([2 * norm.ppf(0.975) * sd[1] for _, sd in tables]))
    assert abs(line.width / width - 1) < 0.06 and worse.width / width > 1.1
    error = float(np.sqrt(np.mean([apart[1] ** 2 for apart, _ in tables])))
    assert 0.5 < line.error / error < 2


@pytest.fixture(scope="module")
def plan() -> Any:
    return nw.plan_power(SCHEMA, kind=LOGISTIC, rows=[3_000, 30_000], epsilon=[0.3, 3.0], effects={"age": 0.02}, **GIVEN)


def test_a_plan_of_a_model_release(plan: Any) -> None:
    assert (plan.kind, plan.formula, plan.family, plan.repeats) == ("model", "again ~ age", "logistic", 20)
    few, many = (plan.cell(rows, 0.3).line("age") for rows in (3_000, 30_000))
    assert few.width > 2 * many.width > 0.99 * 2 * many.width_without_privacy
    near = plan.cell(30_000, 3.0).line("age")
    assert near.width == pytest.approx(near.width_without_privacy, rel=0.05)
    assert few.power <= few.power_without_privacy and near.power == 1 and few.width < few.width_prior
    assert json.loads(json.dumps(plan.to_dict()))["kind"] == "model"


def test_it_is_compared_with_gram(plan: Any) -> None:
    """The sentence has the ratios of the two widths."""
    assert plan.other == "gram" and "gram" in plan.table()
    ratios = [line.width_other / line.width for cell in plan.cells for line in cell.lines if line.term == "age"]
    assert min(ratios) > 0.95 and plan.comparison in plan._repr_html_()
    assert f"{max(ratios):.2g} times narrower than a gram release" in plan.comparison
    assert "takes numbers among the predictors for normal" in plan.comparison
    other = nw.plan_power(SCHEMA, "again ~ age", family="logistic", rows=3_000, epsilon=0.3, effects={"age": 0.02}, **GIVEN)
    line, mine = other.cells[0].line("age"), plan.cell(3_000, 0.3).line("age")
    assert (other.kind, other.other) == ("gram", "model") and "model" in other.table()
    assert line.width_other == pytest.approx(mine.width, rel=0.2) and line.width == pytest.approx(mine.width_other, rel=0.2)


def test_what_a_comparison_says() -> None:
    made = Population.of("stay ~ age", Basis.of(SCHEMA), None, "gaussian", {}, None, {}, {})
    assert in_words([3.1], made, "gaussian") == (
        "A model release has intervals 3.1 times narrower than a gram release for this question; a gram release serves any other "
        "regression too.")
    assert "1.5 to 4 times narrower than a gram release" in in_words([1.5, 4.0], made, "gaussian")
    assert "2 times narrower than a model release" in in_words([0.5], made, "gaussian")
    assert "about the same width" in in_words([0.97, 1.02], made, "gaussian")
    assert "0.5 to 2 times as wide" in in_words([0.5, 2.0], made, "gaussian")
    assert "up to 4 times narrower than a gram release" in in_words([1.0, 4.0], made, "gaussian")
    assert "up to 2 times narrower than a model release" in in_words([0.5, 1.0], made, "gaussian")


@pytest.mark.outer
def test_where_gram_cannot_serve_the_question_it_is_said() -> None:
    kind = nw.Model("visits ~ age", family="negative-binomial")
    made = nw.plan_power(SCHEMA, kind=kind, rows=2_000, epsilon=1.0, dispersion=1.0, **GIVEN)
    assert made.other is None and made.comparison.startswith("A gram release cannot serve this question")
    assert made.cells[0].line("age").width_other is None and "gram" not in made.table()
    assert any("dispersion 1" in line and "(assumed)" not in line.split("dispersion")[1] for line in made.assumptions)


def test_pure_epsilon_is_for_gram_alone() -> None:
    pure = nw.plan_power(SCHEMA, "stay ~ age", rows=2_000, epsilon=1.0, repeats=20, method="fast", run=QUIET)
    assert pure.other is None and "A model release cannot serve this question" in pure.comparison and "delta" in pure.comparison


def test_a_start_spends_nothing_on_finding_the_coefficients() -> None:
    """One round where an earlier release of as many rows ended: a little narrower than with rounds that look, 6 % each."""
    population = Population.of(LOGISTIC.formula, Basis.of(SCHEMA), None, "logistic", {}, None, {}, {})
    simulation = ModelSimulation(population, LOGISTIC, 1e-6, 1, None, 0.95, 20, 0)
    point = simulation.release(3_000, 0.3, 0).contents.rounds[-1].point
    start = Start(tuple(point.coefficients), tuple(map(tuple, point.coordinates)), point.scale)
    given = {**GIVEN, "rows": 3_000, "epsilon": 0.3, "compare": False}
    begun = nw.plan_power(SCHEMA, kind=nw.Model("again ~ age", family="logistic", start=start), **given).cells[0].line("age")
    looked = nw.plan_power(SCHEMA, kind=LOGISTIC, **given).cells[0].line("age")
    assert 0.7 < begun.width / looked.width < 1.1


@pytest.mark.outer
def test_holders_are_fitted_together() -> None:
    """Four holders know as much as one with four times the rows, except for their noise, which each adds."""
    given = {**GIVEN, "kind": LOGISTIC, "epsilon": 1.0, "compare": False}
    four = nw.plan_power(SCHEMA, rows=3_000, holders=4, **given).cells[0].line("age")
    one, all_in_one = (nw.plan_power(SCHEMA, rows=rows, **given).cells[0].line("age") for rows in (3_000, 12_000))
    assert all_in_one.width < four.width < 0.65 * one.width


@pytest.mark.outer
def test_the_least_epsilon_for_an_effect() -> None:
    """Powers of 20 simulations each: at half and at twice the answer they differ by more than their error of 9 points."""
    given = {**GIVEN, "kind": LOGISTIC, "rows": 2_000, "effects": {"age": 0.015}, "compare": False}
    [needed] = nw.plan_power(SCHEMA, power=0.8, **given).needed
    at = [nw.plan_power(SCHEMA, epsilon=factor * needed.value, seed=3, **given).cells[0].line("age").power
          for factor in (0.4, 2.5)]
    assert at[0] < 0.8 < at[1] and needed.lower < needed.value < needed.upper


def test_progress_counts_every_fit() -> None:
    told: list[tuple[int, int | None]] = []
    nw.plan_power(SCHEMA, kind=LOGISTIC, rows=1_000, epsilon=1.0, delta=1e-6, repeats=20,
                  run=Run(progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (32, 32) and len(told) == 32


@pytest.mark.parametrize(("given", "error"), [
    ({"kind": nw.Moments("again ~ age")}, about("kind")),
    ({"kind": LOGISTIC, "formula": "again ~ stay"}, about("formula")),
    ({"kind": LOGISTIC, "family": "probit"}, about("family")),
    ({"kind": LOGISTIC, "terms": "age:stay"}, about("terms")),
    ({"kind": LOGISTIC, "method": "conditional"}, about("method")),
    ({"kind": nw.Gram(average=4), "formula": "stay ~ age"}, about("kind")),
    ({"kind": nw.Gram()}, about("formula")),
    ({"formula": "visits ~ age", "family": "negative-binomial"}, about("family")),
    ({"kind": nw.Model("again ~ age")}, about("family")),
])
def test_what_cannot_be_planned_is_refused(given: dict[str, Any], error: Any) -> None:
    with pytest.raises(DeclarationError, check=error):
        nw.plan_power(SCHEMA, rows=1_000, epsilon=1.0, **{**GIVEN, **given})


def test_a_delta_is_needed() -> None:
    with pytest.raises(PrivacyError, check=about("delta")):
        nw.plan_power(SCHEMA, kind=LOGISTIC, rows=1_000, epsilon=1.0, repeats=20)


def test_a_plan_says_how_the_budget_is_split_and_what_to_expect() -> None:
    without = nw.plan(SCHEMA, LOGISTIC, epsilon=1.0, delta=1e-6)
    words = dict(without.words)
    assert all(share in words["budget"] for share in ("4 % for the first look", "6 %, 8 %, 10 %", "42 % to 90 %"))
    assert without.widths == {} and "widths" not in words and without.noise["look"]["noise_sd"] > 0
    known = nw.plan(SCHEMA, LOGISTIC, epsilon=1.0, delta=1e-6, rows=5_000)
    assert list(known.widths) == ["Intercept", "age"] and math.isfinite(known.widths["age"])
    assert f"age {known.widths['age']:.3g}" in str(known) and "than a gram release" in " ".join(str(known).split())
    assert json.loads(json.dumps(known.to_dict()))["widths"] == known.widths
    once = dict(nw.plan(SCHEMA, nw.Model("again ~ age", family="logistic", rounds=1), epsilon=1.0, delta=1e-6).words)
    none = dict(nw.plan(SCHEMA, nw.Model("again ~ age", family="logistic", rounds=0), epsilon=1.0, delta=1e-6).words)
    assert "90 % for the last round" in once["budget"] and "the rest for one round" in none["budget"]
    few = nw.plan(SCHEMA, LOGISTIC, epsilon=1.0, delta=1e-6, rows=2)
    assert "not planned" in dict(few.words)["widths"] and few.widths == {}


@pytest.mark.parametrize("columns", [{"adjacency": "add-remove"}, {"unit": {"column": "person", "max_rows": 3}}])
def test_where_rows_are_not_public_or_units_have_several_intervals_are_wider(plan: Any, columns: dict[str, Any]) -> None:
    other = nw.Schema.from_dict({**SCHEMA.to_dict(), **columns})
    made = nw.plan_power(other, kind=LOGISTIC, rows=30_000, epsilon=0.3, compare=False, **GIVEN).cells[0].line("age")
    assert 0.9 * made.width_without_privacy < made.width < 4 * plan.cell(30_000, 0.3).line("age").width
