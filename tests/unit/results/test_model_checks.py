"""The check of fits to model releases: false alarms at most at the stated level, and what it finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.unit.posterior.model import made_models as made

import noisewise as nw
from noisewise.errors import ResultError
from noisewise.posterior.model.check import clipped_covariances
from noisewise.posterior.model.problem import ModelProblem
from noisewise.results.check_findings import ALL, MEAN, OVERALL, ROUNDS, VARIANCES
from noisewise.results.checks import PredictiveCheck
from noisewise.run import QUIET

# Few draws are enough here.
pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")


def checked(*releases: nw.Release, robust: bool = False) -> PredictiveCheck:
    return nw.fit(list(releases), robust=robust, seed=1, draws=100, run=QUIET).check(list(releases))


def holders(family: str, count: int, seed: int, **changes: Any) -> list[nw.Release]:
    return [made.release(family, 100 * seed + number, **changes) for number in range(count)]


@pytest.mark.outer
def test_probabilities_where_the_model_holds() -> None:
    """15 times three holders with a skewed predictor. Of 135 probabilities of terms (correlated within a holder), 6.75 are
    expected below 0.05, give or take 3; no finding is expected in more than one of 100 checks."""
    found = [checked(*holders("logistic", 3, seed)) for seed in range(15)]
    tables = [one.table.reset_index() for one in found]
    terms = np.concatenate([one.loc[~one["statistic"].isin([ROUNDS, OVERALL]), "p"] for one in tables])
    assert len(terms) == 15 * 3 * 4 and 0.005 < np.mean(terms < 0.05) < 0.12 and 0.35 < np.mean(terms < 0.5) < 0.65
    overall = np.concatenate([one.loc[one["statistic"] == OVERALL, "p"] for one in tables])
    assert np.mean(overall < 0.05) < 0.2 and 0.25 < np.mean(overall < 0.5) < 0.75
    rounds = np.concatenate([one.loc[one["statistic"] == ROUNDS, "p"] for one in tables])
    assert np.mean(rounds < 0.05) < 0.15  # they allow for the made-up rows, so there are fewer
    assert [one.problems() for one in found].count([]) >= 14


@pytest.mark.parametrize("family", ["gaussian", pytest.param("poisson", marks=pytest.mark.outer),
                                    pytest.param("negative-binomial", marks=pytest.mark.outer)])
def test_no_alarm_about_one_holder(family: str) -> None:
    found = [made.fitted(family).check(made.usual(family))] + [checked(made.release(family, seed)) for seed in (2, 3, 4)]
    assert all(one.problems() == [] for one in found)
    table = found[0].table
    names = [name for _, name in table.index]
    assert names == [MEAN, "residual × dose", "residual × ward[T.B]", "residual × ward[T.C]", ROUNDS, VARIANCES[family]]
    assert found[0].single and (table["p"].iloc[:4] > 0.2).all()  # its own statistics determine the fit


def test_another_holder_is_named_and_what_differs() -> None:
    level = holders("logistic", 3, 7)
    level[1] = made.release("logistic", 99, shift=0.6)
    slope = holders("logistic", 3, 8)
    slope[2] = made.release("logistic", 98, slope=0.0)
    assert "holder 2" in checked(*level).problems()[0] and "higher than expected" in checked(*level).problems()[0]
    found = checked(*slope).problems()
    assert found[0].startswith("holder 3") and "the coefficient of dose looks smaller" in found[0]


def test_two_holders_that_differ() -> None:
    releases = [made.release("poisson", 5), made.release("poisson", 6, shift=0.8)]
    found = checked(*releases)
    assert found.problems()[0].startswith("the two holders differ")
    assert found.table.loc[(ALL, OVERALL), "p"] < 1e-6


def test_overdispersed_counts_are_found_and_robust_intervals_allow_for_them() -> None:
    over = made.release("poisson", epsilon=5.0, law="negative-binomial", rows=30_000)
    found = checked(over)
    ratio = found.table.loc[("1", VARIANCES["poisson"])]
    assert ratio["observed"] > 1.2 and ratio["p"] < 1e-3
    assert any("times as much as Poisson counts" in one and "negative-binomial" in one for one in found.problems())
    robust = checked(over, robust=True)
    assert robust.problems() == [] and VARIANCES["poisson"] not in robust.table.index.get_level_values("statistic")
    right = checked(made.release("negative-binomial", epsilon=5.0, rows=30_000))
    assert right.problems() == []


def test_unequal_variances_are_found() -> None:
    found = checked(made.release("gaussian", epsilon=5.0, rows=30_000, uneven=True))
    assert any("vary at least" in one and "robust" in one for one in found.problems())


def test_over_all_holders_together() -> None:
    found = checked(*(made.release("poisson", seed, epsilon=5.0, law="negative-binomial") for seed in (1, 2)))
    assert found.table.loc[(ALL, VARIANCES["poisson"]), "p"] < 0.01
    assert any(one.startswith("over all holders, counts vary") for one in found.problems())


def test_rounds_that_contradict_one_another_are_found() -> None:
    """The first round points to where the coefficients are not. What made-up rows may get wrong does not explain that."""
    release = made.release("logistic", 1, epsilon=5.0)
    part = release.contents
    first = part.rounds[0]
    assert len(part.rounds) > 1 and np.abs(first.score).max() > 20 * first.noise.score
    wrong = release.with_contributions((replace(part, rounds=(replace(first, score=-first.score), *part.rounds[1:])),))
    found = checked(wrong).problems()
    assert len(found) == 1 and found[0].startswith("the release: its rounds do not agree")
    assert checked(release).problems() == []


def test_the_covariance_of_a_response_clipped_in_two_ways() -> None:
    """200 000 draws know a variance of counts to 1 %; without the correlation it would be off by far more."""
    release = made.usual("poisson")
    likelihood = ModelProblem.of(release, made.fitted("poisson").design, None, False).likelihoods[0]
    view = likelihood.last
    rows = np.arange(3)
    one = replace(view, low=np.array([0.0, 1.0, 0.0]), high=np.array([3.0, 4.0, 2.0]))
    other = replace(view, low=np.array([1.0, 0.0, 4.0]), high=np.array([6.0, 6.0, 5.0]))
    eta = np.array([0.2, 0.9, 1.2])
    draws = np.random.default_rng(1).poisson(np.exp(eta), (200_000, 3))
    found = clipped_covariances(one, other, eta, 1.0)
    for row in rows:
        mine, its = np.clip(draws[:, row], one.low[row], one.high[row]), np.clip(draws[:, row], other.low[row], other.high[row])
        assert np.allclose([found[0][row], found[1][row], found[2][row]],
                           [mine.var(), np.cov(mine, its)[0, 1], its.var()], rtol=0.03, atol=0.002)


def test_a_chance_of_two_levels_is_not_clipped() -> None:
    likelihood = ModelProblem.of(made.usual("logistic"), made.fitted("logistic").design, None, False).likelihoods[0]
    eta = likelihood.last.start
    for found in clipped_covariances(likelihood.views[0], likelihood.last, eta, 1.0):
        assert np.allclose(found, stats.bernoulli(1 / (1 + np.exp(-likelihood.last.within(eta)))).var())


def test_the_picture_has_a_line_for_each_holder_even_without_earlier_rounds(tmp_path: Path) -> None:
    kind = replace(made.kind("logistic"), rounds=0)
    alone = made.seeded_model(made.table("logistic", 5), made.schema("logistic"), kind, 5)
    found = checked(alone, made.release("logistic", 6))
    assert ("1", ROUNDS) not in found.table.index and ("2", ROUNDS) in found.table.index
    found.plot(tmp_path / "check.png")
    assert (tmp_path / "check.png").stat().st_size > 1000


def test_a_fit_to_another_release_is_refused() -> None:
    with pytest.raises(ResultError, match="exactly the releases that were fitted"):
        made.fitted("logistic").check(made.release("logistic", 77))
