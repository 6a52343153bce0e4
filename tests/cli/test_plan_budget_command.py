"""``noisewise plan budget``: prices of releases that are intended, and how large they may be."""

from __future__ import annotations

import pytest
from tests.cli.command_line import one_error

import noisewise
from noisewise.errors import PrivacyError
from noisewise.planning.budget import Intended, solved, together
from noisewise.privacy.accounting import compose, fits
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.adassp import AdasspMechanism
from noisewise.privacy.sensitivity.adassp import adassp_sensitivity
from noisewise.run import QUIET


def test_what_epsilon_may_each_of_five_have(nw) -> None:
    document = nw.json("plan", "budget", "-e", 3, "-d", 1e-6, "-r", "5*gaussian:?:1e-7")
    [asked] = document["releases"]
    assert document["covered"] and asked["count"] == 5 and asked["epsilon"] > 3 / 5  # more than by adding up
    assert 2.99 < document["together"]["gaussian"] <= 3 and document["together"]["basic"] > 3
    cost = Intended("gaussian", asked["epsilon"] * 1.01, 1e-7, 5).charges()[0][1]
    assert not fits([cost] * 5, 3, 1e-6)


def test_the_plan_can_be_carried_out(tmp_path, nw) -> None:
    each = nw.json("plan", "budget", "-e", 1, "-d", 1e-6, "-r", "3*gaussian:?:1e-7")["releases"][0]["epsilon"]
    ledger = noisewise.Ledger.open(tmp_path / "budget.db", epsilon=1, delta=1e-6)
    schema = noisewise.Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}})
    for edition in "abc":
        noisewise.release({"age": [30.0, 40.0]}, schema, epsilon=each, delta=1e-7, ledger=ledger, edition=edition, run=QUIET)
    with pytest.raises(noisewise.NoisewiseError, match="budget"):
        noisewise.release({"age": [30.0, 40.0]}, schema, epsilon=each, delta=1e-7, ledger=ledger, edition="d", run=QUIET)


def test_parts_of_the_population_are_planned_beside_one_another(nw) -> None:
    years = [word for year in range(2020, 2025) for word in ("-r", f"laplace:1@year={year}")]
    assert nw.json("plan", "budget", "-e", 1, *years)["together"]["basic"] == 1.0
    both = nw.json("plan", "budget", "-e", 3, *years, "-r", "laplace:?")
    assert both["releases"][-1]["epsilon"] == pytest.approx(2.0, rel=2e-3)


def test_what_does_not_fit_is_said(nw) -> None:
    result = nw("plan", "budget", "-e", 1, "-d", 1e-6, "-r", "4*laplace:0.5", "-r", "wishart:0.1:1e-8")
    assert result.exit_code == 0 and "More than the total of epsilon 1" in result.stdout
    assert "no epsilon is enough" in result.stdout
    words = one_error(nw("plan", "budget", "-e", 1, "-r", "4*laplace:0.5", "-r", "laplace:?"))
    assert "do not fit into the budget" in words


def test_beside_a_ledger(nw, tmp_path) -> None:
    ledger = noisewise.Ledger.open(tmp_path / "budget.db", epsilon=2)
    ledger.charge(Cost.laplace(1.0, 1.0), description="before", request="")
    document = nw.json("plan", "budget", "--ledger", tmp_path / "budget.db", "-r", "2*laplace:?")
    assert document["releases"][0]["epsilon"] == pytest.approx(0.5, rel=2e-3) and document["rule"] == "basic"
    assert len(ledger.entries()) == 2
    assert nw("plan", "budget", "--ledger", tmp_path / "budget.db", "-e", 1, "-r", "laplace:1").exit_code == 2


@pytest.mark.parametrize("text", [
    "", "gaussian", "gaussian:1", "laplace:1:1e-6", "uniform:1", "0*laplace:1", "99999*laplace:1", "laplace:x", "laplace:-1",
    "gaussian:1:2", "laplace:1@year", "laplace:1@a=b=c", "laplace:nan", "gaussian:1:0",
])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(PrivacyError):
        Intended.parse(text)


def test_an_intended_adassp_release_costs_what_the_mechanism_says() -> None:
    sensitivity = adassp_sensitivity(scalars=1, blocks=0, predictors=2, norm_bound=None, adjacency="replace-one", max_rows=1,
                                     unit_is_row=True)
    real = AdasspMechanism.calibrate(sensitivity, 1.0, 1e-7).cost()
    planned = Intended("adassp", 1.0, 1e-7).charges()[0][1]
    assert compose([planned], 1e-6).epsilon == pytest.approx(compose([real], 1e-6).epsilon, rel=1e-6)


def test_nothing_open_is_left_as_it_is() -> None:
    intended = [Intended("pure", 0.1), Intended("gaussian", 0.2, 1e-8)]
    assert solved(intended, 1.0, 1e-6, "planned") == intended
    assert together(intended, 1e-6, "planned").epsilon < together(intended, 1e-6, "basic").epsilon
