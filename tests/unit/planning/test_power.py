"""``plan_power``: what it says about widths, power and the least epsilon, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from tests.refusals import about

import noisewise as nw
from noisewise.errors import DeclarationError, PrivacyError, ResultError
from noisewise.run import QUIET

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "again": {"levels": ["no", "yes"]}}})
GIVEN: dict[str, Any] = {"delta": 1e-6, "effects": {"age": 0.05}, "sigma": 4.0, "repeats": 20, "method": "fast",
                         "compare": False}


@pytest.fixture(scope="module")
def plan() -> Any:
    return nw.plan_power(SCHEMA, "stay ~ age", rows=[8_000, 2_000], epsilon=[1.0, 30.0, 3.0], **GIVEN)


def test_more_rows_and_more_epsilon_make_narrower_intervals(plan: Any) -> None:
    assert [(cell.rows, cell.epsilon) for cell in plan.cells] == [(n, e) for n in (2_000, 8_000) for e in (1.0, 3.0, 30.0)]
    for rows in (2_000, 8_000):
        lines = [plan.cell(rows, epsilon).line("age") for epsilon in (1.0, 3.0, 30.0)]
        assert lines[0].width > 1.5 * lines[1].width > 1.5 * lines[2].width > 0.9 * 1.5 * lines[2].width_without_privacy
        assert lines[0].power <= lines[0].power_without_privacy and lines[0].error > lines[2].error
        assert lines[0].power + lines[0].wrong <= 1 and lines[0].width_prior > lines[0].width
    assert plan.cell(2_000, 1.0).line("age").power < 0.9
    for epsilon in (1.0, 3.0, 30.0):
        assert plan.cell(2_000, epsilon).line("age").width > 1.5 * plan.cell(8_000, epsilon).line("age").width


def test_with_next_to_no_noise_it_is_the_plan_of_an_ordinary_regression() -> None:
    """Widths by Fisher's information within 4 %; 120 simulations know a power of 0.6 to 4.5 points."""
    made = nw.plan_power(SCHEMA, "stay ~ age", rows=2_000, epsilon=500.0, **{**GIVEN, "effects": {"age": 0.015}, "repeats": 120})
    line = made.cells[0].line("age")
    assert line.width == pytest.approx(line.width_without_privacy, rel=0.04)
    error = 2 * norm.ppf(0.975) * 4.0 / (80 / 6) / np.sqrt(2_000)
    assert line.width_without_privacy == pytest.approx(error, rel=0.02)
    assert 0.3 < line.power_without_privacy < 0.9
    assert abs(line.power - line.power_without_privacy) < 4 * line.power_error
    assert line.detectable == pytest.approx((norm.ppf(0.975) + norm.ppf(0.8)) * line.width / (2 * norm.ppf(0.975)))


def test_many_holders_pay_for_their_own_noise(plan: Any) -> None:
    """Four holders with a quarter of the rows: each noise as large as one's, so that the sum's is twice as large."""
    four = nw.plan_power(SCHEMA, "stay ~ age", rows=2_000, epsilon=1.0, holders=4, **GIVEN).cells[0].line("age")
    one = plan.cell(8_000, 1.0).line("age")
    assert four.width_without_privacy == pytest.approx(one.width_without_privacy)
    assert 1.4 < four.width / one.width < 2.2
    assert four.width < plan.cell(2_000, 1.0).line("age").width


def test_the_result_for_people_and_machines(plan: Any, tmp_path: Path) -> None:
    table = plan.table()
    assert list(table.index.names) == ["rows", "epsilon", "term"] and len(table) == 12
    assert table.loc[(2_000, 1.0, "age"), "times"] == pytest.approx(
        table.loc[(2_000, 1.0, "age"), "width"] / table.loc[(2_000, 1.0, "age"), "without privacy"])
    assert np.isnan(table.loc[(2_000, 1.0, "Intercept"), "power"])
    assert json.loads(json.dumps(plan.to_dict()))["cells"][0]["lines"][1]["term"] == "age"
    assert "(assumed)" in plan._repr_html_() and "<table" in plan._repr_html_()
    assert repr(plan) == "<PowerPlan: stay ~ age, 2 × 3 cells of rows and epsilon, 20 simulations each>"
    figure = plan.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 10_000
    panels = figure.axes[0].child_axes
    assert [panel.get_ylabel() for panel in panels] == ["width of the interval", "chance to detect it"]
    assert len(plan.plot(terms=["Intercept", "age"]).axes[0].child_axes) == 3
    with pytest.raises(ResultError, check=about("term")):
        plan.plot(terms=["weight"])


def test_what_was_not_planned_is_refused(plan: Any) -> None:
    with pytest.raises(DeclarationError) as term:
        plan.cell(2_000, 1.0).line("agee")
    with pytest.raises(DeclarationError):
        plan.cell(2_000, 2.0)
    assert term.value.argument == "term" and "age" in term.value.known


def test_the_same_seed_gives_the_same_plan_and_another_one_a_similar_one(plan: Any) -> None:
    again = nw.plan_power(SCHEMA, "stay ~ age", rows=2_000, epsilon=3.0, **GIVEN).cells[0].line("age")
    other = nw.plan_power(SCHEMA, "stay ~ age", rows=2_000, epsilon=3.0, seed=5, **GIVEN).cells[0].line("age")
    line = plan.cell(2_000, 3.0).line("age")
    assert again == line != other and other.width == pytest.approx(line.width, rel=0.1)


def test_the_least_epsilon_has_the_power_that_was_asked_for() -> None:
    """Looked at again with another seed: two powers of 20 simulations each, so that their difference is known to 13 points."""
    found = nw.plan_power(SCHEMA, "stay ~ age", rows=3_000, power=0.8, **GIVEN)
    [needed] = found.needed
    assert needed.lower < needed.value < needed.upper < 2 * needed.lower
    at = {factor: nw.plan_power(SCHEMA, "stay ~ age", rows=3_000, epsilon=factor * needed.value, seed=9, **GIVEN).cells[0]
          .line("age").power for factor in (0.5, 1.0, 2.0)}
    assert abs(at[1.0] - 0.8) < 4 * 0.09 and at[0.5] < 0.8 < at[2.0] and at[2.0] - at[0.5] > 0.25
    assert f"epsilon {needed.value:.3g} for power 0.8" in needed.words(0.8) and "0.8" in found._repr_html_()


def test_the_fewest_rows_and_what_cannot_be_had() -> None:
    rows = nw.plan_power(SCHEMA, "stay ~ age", epsilon=1.0, power=0.8, **GIVEN).needed[0]
    assert rows.quantity == "rows" and rows.value == int(rows.value) and "rows for power 0.8" in rows.words(0.8)
    impossible = nw.plan_power(SCHEMA, "stay ~ age", rows=50, power=0.8, **GIVEN)
    assert impossible.needed[0].value is None and "without privacy the power is" in impossible.needed[0].words(0.8)


@pytest.mark.parametrize("mechanism", ["wishart", pytest.param("laplace", marks=pytest.mark.slow)])
def test_other_mechanisms_and_adjacencies(plan: Any, mechanism: str) -> None:
    made = nw.plan_power(SCHEMA, "stay ~ age", rows=8_000, epsilon=3.0, mechanism=mechanism, **GIVEN).cells[0]
    assert made.mechanism == mechanism and made.line("age").width > made.line("age").width_without_privacy


def test_where_rows_are_not_public_intervals_are_hardly_wider(plan: Any) -> None:
    unknown = nw.Schema.from_dict({**SCHEMA.to_dict(), "adjacency": "add-remove"})
    made = nw.plan_power(unknown, "stay ~ age", rows=8_000, epsilon=3.0, **GIVEN).cells[0].line("age")
    assert made.width < 1.5 * plan.cell(8_000, 3.0).line("age").width


@pytest.mark.outer
def test_a_logistic_regression() -> None:
    given = {**GIVEN, "effects": {"age": 0.04}, "sigma": None, "family": "logistic", "repeats": 20}
    line = nw.plan_power(SCHEMA, "again ~ age", rows=5_000, epsilon=10.0, **given).cells[0].line("age")
    assert line.width_without_privacy < line.width < 2 * line.width_without_privacy and line.power > 0.9


def test_responses_beyond_their_bounds_are_noted() -> None:
    made = nw.plan_power(SCHEMA, "stay ~ age", rows=2_000, epsilon=10.0, **{**GIVEN, "sigma": 12.0, "repeats": 20})
    assert any("are clipped" in note for note in made.notes)


@pytest.mark.parametrize(("given", "words"), [
    ({"rows": 100}, "a number of rows and an epsilon"),
    ({"rows": 100, "epsilon": -1}, "epsilon must be one or more positive numbers"),
    ({"rows": 1.5, "epsilon": 1}, "rows must be one or more positive whole numbers"),
    ({"rows": 100, "epsilon": 1, "power": 0.8}, "either rows or epsilon"),
    ({"rows": 100, "power": 1.5}, "power must be a probability"),
    ({"rows": 100, "power": 0.8, "effects": {}}, "needs an effect"),
    ({"rows": 100, "epsilon": 1, "repeats": 3}, "repeats must be a whole number"),
    ({"rows": 100, "epsilon": 1, "method": "slow"}, "auto, fast, conditional"),
    ({"rows": 100, "epsilon": 1, "interval": 2}, "between 0 and 1"),
    ({"rows": 100, "epsilon": 1, "holders": 0}, "holders must be a whole number"),
])
def test_what_cannot_be_planned_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        nw.plan_power(SCHEMA, "stay ~ age", **{**GIVEN, **given})


def test_what_a_release_would_refuse_is_refused() -> None:
    with pytest.raises(PrivacyError, check=about("delta")):
        nw.plan_power(SCHEMA, "stay ~ age", rows=100, epsilon=1.0, mechanism="gaussian")
    with pytest.raises(DeclarationError, match="norm_bound"):
        bounded = nw.Schema.from_dict({**SCHEMA.to_dict(), "norm_bound": 0.5})
        nw.plan_power(bounded, "stay ~ age", rows=100, epsilon=1.0, delta=1e-6)
    with pytest.raises(DeclarationError, match="a Schema"):
        nw.plan_power({}, "stay ~ age", rows=100, epsilon=1.0)  # type: ignore[arg-type]


@pytest.mark.outer
def test_an_interval_that_is_the_priors_says_nothing_about_effects_that_would_be_found() -> None:
    made = nw.plan_power(SCHEMA, "stay ~ age", rows=200, epsilon=0.01, delta=1e-6, repeats=20, run=QUIET, method="fast")
    [cell] = made.cells
    assert math.isnan(cell.line("age").detectable)


def test_fewer_rows_than_coefficients_are_refused() -> None:
    with pytest.raises(DeclarationError, match="more rows than coefficients"):
        nw.plan_power(SCHEMA, "stay ~ age", rows=2, epsilon=1, delta=1e-6, repeats=20, run=QUIET)
