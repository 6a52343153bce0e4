"""The audit of published rows: they keep their promise, and noise that forgets columns or copies is flagged.

As in test_audit.py nothing has a seed, and a right release fails less often than once in 1e7 runs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.privacy.test_audit import STRICT, WITH_DELTA, planned_wrongly, schema

from noisewise.audits.audit import audit_requests
from noisewise.audits.laws import Laplace, LaplaceSum
from noisewise.audits.request import Request, subject_of
from noisewise.audits.trial import draw_many
from noisewise.kinds import Rows
from noisewise.schema import Schema

MIXED = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "a": {"bounds": [0, 10]}, "w": {"levels": ["no", "yes", "perhaps"]}, "b": {"bounds": [0, 10]}}})
ANSWERS = Schema.from_dict({"adjacency": "replace-one", "columns": {"w": {"levels": ["no", "yes", "perhaps"]}}})
REQUESTS = {
    "laplace": Request(schema(), 4.0, kind=Rows()),
    "laplace, two columns": Request(schema(columns="ab"), 4.0, kind=Rows()),
    "gaussian": Request(schema(columns="ab"), 4.0, 1e-6, Rows(copies=2)),
    "mixed": Request(MIXED, 6.0, kind=Rows()),
}


@pytest.mark.outer
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name == "mixed" else name for name in REQUESTS])
def test_published_rows_keep_their_promise_and_less_noise_would_be_noticed(name: str) -> None:
    request = REQUESTS[name]
    (finding,) = audit_requests([request], **(WITH_DELTA if request.delta else STRICT)).findings
    assert not finding.flagged and finding.notices_less
    assert finding.epsilon_any <= request.epsilon and finding.epsilon_law <= request.epsilon
    assert 1.0 < finding.noise_at_most < 1.43


def test_answers_keep_their_promise() -> None:
    """They have no law of a distance: the bound of any mechanism is the only one, and it is close."""
    (finding,) = audit_requests([Request(ANSWERS, 2.0, kind=Rows())], draws=8000, confidence=1 - 1e-10).findings
    assert not finding.flagged and finding.notices_less
    assert 1.35 < finding.epsilon_any <= 2.0  # over repeated audits its mean is 1.73, its standard deviation 0.075


@pytest.mark.parametrize(("name", "factor"), [("laplace, two columns", 1 / 2), ("gaussian", 1 / np.sqrt(2))],
                         ids=["columns forgotten", "copies forgotten"])
def test_noise_that_forgets_columns_or_copies_is_flagged(name: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    planned_wrongly(monkeypatch, lambda right: replace(
        right, scales={name: factor * scale for name, scale in right.scales.items()}))
    (finding,) = audit_requests([REQUESTS[name]], draws=1500).findings
    assert finding.flagged


def test_answers_that_forget_copies_are_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    planned_wrongly(monkeypatch, lambda right: replace(right, copies=3))
    (finding,) = audit_requests([Request(ANSWERS, 2.0, kind=Rows())], draws=2000).findings
    assert finding.flagged


@pytest.mark.parametrize("name", ["gaussian", "mixed"])
def test_releases_from_beginning_to_end_are_like_those_of_the_mechanism(name: str) -> None:
    laws = {}
    for end_to_end in (False, True):
        subject = subject_of(REQUESTS[name], end_to_end=end_to_end)
        drawn = draw_many(subject, 100)
        laws[end_to_end] = (drawn.numbers - np.stack(subject.exact)[drawn.table]) @ subject.weights
        assert drawn.numbers.shape[1] == len(subject.weights)
    assert stats.ks_2samp(laws[False], laws[True]).pvalue > 1e-12
    assert stats.ks_2samp(laws[False], laws[True] + 3 * laws[False].std()).pvalue < 1e-12  # seven sds from failing


@pytest.mark.parametrize("probability", [1e-9, 0.02, 0.5, 0.8])
def test_sums_of_laplace_variables(probability: float) -> None:
    one, two = LaplaceSum(1), LaplaceSum(2)
    assert one.isf(probability) == pytest.approx(Laplace().isf(probability), rel=1e-9, abs=1e-9)
    value = abs(two.isf(probability))
    assert (2 + value) / 4 * np.exp(-value) == pytest.approx(min(probability, 1 - probability), rel=1e-9)  # by hand
    assert two.ppf(probability) == -two.isf(probability)


def test_sums_of_many_laplace_variables_are_nearly_normal() -> None:
    assert LaplaceSum(2000).isf(0.01) == pytest.approx(stats.norm.isf(0.01) * np.sqrt(4000), rel=1e-2)
