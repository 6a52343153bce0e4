"""The audit of model releases: every family keeps its promise, at the worst point and from end to end, and mistakes are flagged.

As in test_audit.py nothing has a seed. At a level of 1e-4 a right release is flagged if both error rates are off at once,
together by more than 6 standard deviations, even if neighbours are as far apart as promised. 0.7 times the noise escapes as
seldom.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.privacy.test_audit import planned_wrongly

from noisewise.audits.audit import audit_requests, model_request
from noisewise.audits.request import subject_of
from noisewise.audits.trial import LESS_NOISE, Subject, draw_many, judge
from noisewise.errors import PrivacyError
from noisewise.kinds import Model
from noisewise.kinds.model import Start
from noisewise.privacy.mechanisms import model as mechanisms
from noisewise.privacy.mechanisms.model import ModelDraws, ModelMechanism
from noisewise.privacy.noise import gaussian_integers
from noisewise.scores.families import FAMILIES
from noisewise.scores.rounds import Noise

ENOUGH: dict[str, Any] = {"draws": 3400, "confidence": 1 - 1e-4}
PEOPLE = {"column": "person", "max_rows": 3}
ADJACENCIES = ["replace-one", "add-remove"]
CASES = {f"{family}-{adjacency}": model_request(adjacency, 1.0, 1e-6, family, rounds=0)
         for family in FAMILIES for adjacency in ADJACENCIES}
UNITS = {f"units-{adjacency}": model_request(adjacency, 4.0, 1e-6, "poisson", unit=PEOPLE) for adjacency in ADJACENCIES}
REQUESTS = {**CASES, **UNITS, "four rounds": model_request("replace-one", 0.1, 1e-6, "gaussian", rounds=3)}


def noise_of(subject: Subject, draws: int) -> Any:
    """The noise of the score, which should be standard normal."""
    drawn = draw_many(subject, draws)
    return (drawn.numbers - np.stack(subject.exact)[drawn.table]) @ subject.weights


def is_standard(noise: Any) -> bool:
    """Whether the noise may have variance 1: wrong once in 1e9 times. With 700 draws noise of 0.7 has it never."""
    tail = stats.chi2(len(noise)).sf(np.sum(noise**2))
    return bool(1e-9 < tail < 1 - 1e-9)


@pytest.mark.outer
@pytest.mark.parametrize("name", REQUESTS)
def test_a_release_keeps_its_promise_and_less_noise_would_be_noticed(name: str) -> None:
    request = REQUESTS[name]
    subject = subject_of(request)
    assert 0.9 * subject.promised < subject.distance <= subject.promised  # no chance here
    finding = judge(subject, draw_many(subject, ENOUGH["draws"]), 1 - ENOUGH["confidence"])
    assert not finding.flagged and finding.notices_less
    assert finding.epsilon_any <= request.epsilon and finding.epsilon_law <= request.epsilon
    assert 1.0 < finding.noise_at_most < 1.3
    assert finding.released.kind == f"model, {request.kind.family}"  # type: ignore[attr-defined]


@pytest.mark.outer(but=["logistic-add-remove"])
@pytest.mark.parametrize("name", ["negative-binomial-replace-one", "logistic-add-remove"])
def test_the_score_has_the_promised_noise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of(REQUESTS[name])
    assert 0.9 * subject.promised < subject.distance <= subject.promised
    assert is_standard(noise_of(subject, 700))
    drawn_with_less(monkeypatch)
    assert not is_standard(noise_of(subject, 700))


def drawn_with_less(monkeypatch: pytest.MonkeyPatch, share: float = LESS_NOISE) -> None:
    """Let every draw have less noise than it states."""
    monkeypatch.setattr(mechanisms, "gaussian_integers", lambda values, scale: gaussian_integers(values, share * scale))


@pytest.mark.outer
@pytest.mark.parametrize("name", ["gaussian-replace-one", "poisson-add-remove", "units-replace-one"])
def test_draws_with_less_noise_are_flagged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_with_less(monkeypatch)
    (finding,) = audit_requests([REQUESTS[name]], **ENOUGH).findings
    assert finding.flagged and finding.noise_at_most < 1.0


@pytest.mark.outer
@pytest.mark.parametrize("name", ["probit-replace-one", "negative-binomial-add-remove"])
def test_a_mechanism_with_less_noise_is_flagged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the account of what is spent is as wrong as the noise."""
    planned_wrongly(monkeypatch, lambda right: replace(right, multiplier=LESS_NOISE * right.multiplier))
    (finding,) = audit_requests([REQUESTS[name]], **ENOUGH).findings
    assert finding.flagged


# Mistakes that 500 draws are enough for: the noise is about half of what it should be, or less.


def test_the_sensitivity_of_an_added_row_for_a_replaced_one_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(right: ModelMechanism) -> ModelMechanism:
        wrong = replace(right.sensitivity, finding=right.sensitivity.finding / 2, last=right.sensitivity.last / 2)
        return replace(right, sensitivity=wrong)

    planned_wrongly(monkeypatch, forgetful)
    (finding,) = audit_requests([REQUESTS["logistic-replace-one"]], draws=500).findings
    assert finding.flagged


class Repeating(ModelMechanism):
    """Gives almost the whole budget to each round."""

    def noise_for(self, share: float, spread: bool) -> Noise:
        return super().noise_for(0.9, spread)


def test_a_budget_that_each_round_spends_again_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four rounds the noise is half of what it should be. The account refuses it; without one the audit notices."""
    planned_wrongly(monkeypatch, lambda right: Repeating(**vars(right)))
    request = model_request("add-remove", 1.0, 1e-6, "logistic", rounds=3)
    with pytest.raises(PrivacyError, match="must not spend more"):
        subject_of(request).draw(0)
    monkeypatch.setattr(ModelDraws, "_spend", lambda *_: None)
    (finding,) = audit_requests([request], draws=500).findings
    assert finding.flagged


def test_units_of_several_rows_that_count_as_one_are_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(right: ModelMechanism) -> ModelMechanism:
        one = right.sensitivity
        return replace(right, sensitivity=replace(one, look=one.look / 3, finding=one.finding / 3, last=one.last / 3))

    planned_wrongly(monkeypatch, forgetful)
    (finding,) = audit_requests([UNITS["units-add-remove"]], draws=500).findings
    assert finding.flagged


# From end to end ------------------------------------------------------------------------------------------------------------


@pytest.mark.outer
@pytest.mark.parametrize("name", ["logistic-replace-one", "poisson-add-remove"])
def test_releases_from_beginning_to_end_have_the_promised_noise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score is standard normal about the exact sums at the points that the search chose, up to how the points vary."""
    subject = subject_of(REQUESTS[name], end_to_end=True)
    assert 0.6 * subject.promised < subject.distance <= subject.promised
    noise = noise_of(subject, 120)
    assert is_standard(noise) and stats.kstest(noise, stats.norm().cdf).pvalue > 1e-9
    assert stats.kstest(noise + 1.5, stats.norm().cdf).pvalue < 1e-9  # it would notice another statistic
    drawn_with_less(monkeypatch, 0.4)
    assert not is_standard(noise_of(subject, 120))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_audit_from_beginning_to_end(family: str, adjacency: str) -> None:
    """Where the search looks a unit counts less than at the worst point: not in every case 0.7 times the noise is flagged."""
    request = model_request(adjacency, 1.0, 1e-6, family, rounds=None)
    (finding,) = audit_requests([request], draws=1000, confidence=1 - 1e-4, end_to_end=True).findings
    assert not finding.flagged and finding.noise_at_most < 2.0


def test_a_start_is_audited_where_it_is() -> None:
    start = Start((0.0, 0.0), ((1.4, 0.0), (0.0, 1.4)), 1.0)
    request = model_request("replace-one", 1.0, 1e-6, "logistic")
    subject = subject_of(replace(request, kind=Model("b ~ a", family="logistic", start=start)))
    other = subject_of(request)
    assert len(subject.weights) < len(other.weights) and subject.distance <= subject.promised
