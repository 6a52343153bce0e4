"""The short form of the audit: every mechanism keeps its promise, and less noise would have been noticed.

Privacy noise has no seed, so no two runs are the same. A correct release fails less than once in 1e9 runs. For pure epsilon the
level itself says so: 1e-10. With a delta the bound is not attained: at a level of 1e-5 both error rates would have to be off at
once, together by 6.2 standard deviations, which happens once in 4e9 runs. Noise of 0.7 times the scale escapes less often still:
`noise_at_most` has a mean of about 1.22 and a standard deviation of 0.02 without a delta, 1.18 and 0.04 with one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.refusals import about

import noisewise
from noisewise.audits.audit import audit_one_run, audit_requests, partition_request, standard_requests
from noisewise.audits.request import Request, subject_of
from noisewise.audits.trial import LESS_NOISE, draw_many
from noisewise.errors import DeclarationError, PrivacyError, ReleaseError
from noisewise.holder import gram as holder_gram
from noisewise.holder.gram import plan_gram
from noisewise.kinds import AdaSSP, Bounds, Gram, Moments, kinds
from noisewise.kinds.registry import has_room
from noisewise.privacy.mechanisms.gram import MECHANISMS
from noisewise.privacy.mechanisms.partition import PartitionMechanism
from noisewise.privacy.noise import laplace_integers
from noisewise.privacy.sensitivity.gram import gram_sensitivity
from noisewise.run import QUIET
from noisewise.schema import Schema
from noisewise.schema.basis import STATISTIC_GRID

STRICT = {"draws": 8000, "confidence": 1 - 1e-10}
WITH_DELTA = {"draws": 3400, "confidence": 1 - 1e-5}


def schema(adjacency: str = "replace-one", columns: str = "a", **more: Any) -> Schema:
    return Schema.from_dict({"adjacency": adjacency, "columns": {name: {"bounds": [0, 10]} for name in columns}, **more})


PEOPLE = {"column": "person", "max_rows": 3}
SHORT = [
    Request(schema(), 1.0, 1e-6),
    Request(schema("add-remove"), 0.1, 1e-6),
    Request(schema(), 0.1),
    Request(schema("add-remove"), 4.0),
    Request(schema("add-remove", unit=PEOPLE), 1.0, 1e-6),
    Request(schema(), 4.0, 1e-6, Gram(mechanism="wishart")),
    Request(schema("add-remove"), 4.0, 1e-6, Gram(mechanism="wishart")),
    Request(schema(columns="ab"), 1.0, 1e-6, AdaSSP("b ~ a")),
    Request(schema(columns="ab"), 1.0, 1e-6, Gram(average=4)),
    Request(schema("add-remove", columns="ab"), 1.0, 1e-6, Moments("b ~ a")),
    Request(schema(), 1.0, kind=Bounds("a")),
    partition_request("replace-one", 4.0, None),
    partition_request("add-remove", 1.0, None, [0.0]),
    partition_request("replace-one", 0.1, None),
    partition_request("add-remove", 1.0, 1e-6),
    partition_request("replace-one", 4.0, 1e-6, unit=PEOPLE),
]


def named(request: Request) -> str:
    mechanism = getattr(request.kind, "mechanism", None) or ("gaussian" if request.delta else "pure")
    return f"{request.kind.name}-{mechanism}-{request.schema.adjacency}"


@pytest.mark.outer(but=["gram-gaussian-replace-one0", "gram-pure-add-remove"])
@pytest.mark.parametrize("request_", SHORT, ids=named)
def test_a_release_keeps_its_promise_and_less_noise_would_be_noticed(request_: Request) -> None:
    (finding,) = audit_requests([request_], **(WITH_DELTA if request_.delta else STRICT)).findings
    assert not finding.flagged
    assert finding.epsilon_any <= request_.epsilon and finding.epsilon_law <= request_.epsilon
    assert finding.notices_less
    assert 1.0 < finding.noise_at_most < 1.43


def test_the_standard_audit_has_every_mechanism_and_every_kind() -> None:
    every = list(standard_requests())
    audited = {kind.name for kind in kinds() if has_room(kind, "audit")}
    assert {request.kind.name for request in every} == audited == {kind.name for kind in kinds()} - {"binary"}
    for adjacency in ("replace-one", "add-remove"):
        for epsilon in (0.1, 1.0, 4.0):
            own = [request for request in every if request.schema.adjacency == adjacency and request.epsilon == epsilon]
            assert {request.kind.mechanism for request in own if isinstance(request.kind, Gram)} >= set(MECHANISMS)
            assert any(not request.schema.unit.is_row for request in own)
    assert any(isinstance(request.kind, Gram) and request.kind.average for request in every)


def planned_wrongly(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Any], Any]) -> None:
    """Let every plan have a wrong mechanism: it is what draws, and what says how much it draws."""
    plan = Request.plan
    monkeypatch.setattr(Request, "plan", lambda self: replace(made := plan(self), mechanism=wrong(made.mechanism)))


def lessened(mechanism: Any) -> Any:
    """With noise of its own that is too small."""
    if mechanism.name == "wishart":
        smaller = replace(mechanism.sensitivity, spectral=LESS_NOISE * mechanism.sensitivity.spectral)
        return replace(mechanism, sensitivity=smaller)
    field = "sd" if hasattr(mechanism, "sd") else "scale"
    return replace(mechanism, **{field: LESS_NOISE * getattr(mechanism, field)})


@pytest.mark.outer(but=["gaussian-0.1"])
@pytest.mark.parametrize(("name", "epsilon"), [
    ("gaussian", 0.1), ("laplace", 1.0), pytest.param("wishart", 4.0, marks=pytest.mark.slow)])
def test_a_mechanism_with_less_noise_is_flagged(monkeypatch: pytest.MonkeyPatch, name: str, epsilon: float) -> None:
    planned_wrongly(monkeypatch, lessened)
    request = Request(schema("add-remove"), epsilon, None if name == "laplace" else 1e-6, Gram(mechanism=name))
    (finding,) = audit_requests([request], **(WITH_DELTA if request.delta else STRICT)).findings
    assert finding.flagged and finding.epsilon_law > epsilon


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_and_a_plan_that_states_so_is_refused(monkeypatch: pytest.MonkeyPatch, delta: float | None) -> None:
    monkeypatch.setattr(holder_gram, "plan_gram", lambda *asked: lessened(plan_gram(*asked)))
    with pytest.raises(ReleaseError, match="too small"):
        Request(schema(), 1.0, delta).plan()


def test_the_sensitivity_of_the_other_adjacency_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(right: Any) -> Any:
        wrong = gram_sensitivity(scalars=1, blocks=0, size=2, radius=1.0, norm_clipped=False, adjacency="add-remove")
        return right.calibrate(replace(right.sensitivity, frobenius=wrong.frobenius), right.epsilon, right.delta)

    planned_wrongly(monkeypatch, planned)
    (finding,) = audit_requests([Request(schema(), 1.0, 1e-6)], **WITH_DELTA).findings
    assert finding.flagged


def test_a_number_without_noise_that_differs_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the number of rows were public where rows are added and removed."""
    planned_wrongly(monkeypatch, lambda right: replace(right, sensitivity=replace(right.sensitivity, corner_is_public=True)))
    (finding,) = audit_requests([Request(schema("add-remove"), 1.0, 1e-6)], draws=200).findings
    assert finding.flagged and finding.epsilon_any == np.inf == finding.epsilon_law and finding.noise_at_most == 0.0


@pytest.mark.outer(but=["gram-gaussian-replace-one0", "gram-pure-add-remove", "partition-pure-replace-one"])
@pytest.mark.parametrize("request_", [SHORT[0], SHORT[3], *SHORT[7:10], SHORT[11], partition_request("add-remove", 20.0, 1e-6)],
                         ids=named)
def test_releases_from_beginning_to_end_are_like_those_of_the_mechanism(request_: Request) -> None:
    """The scores of both are of the promised law, about the same exact statistic."""
    for end_to_end in (False, True):
        subject = subject_of(request_, end_to_end=end_to_end)
        drawn = draw_many(subject, 200)
        noise = (drawn.numbers - np.stack(subject.exact)[drawn.table]) @ subject.weights
        reference = stats.laplace() if subject.released.delta == 0 else stats.norm()
        assert stats.kstest(noise, reference.cdf).pvalue > 1e-12
        assert stats.kstest(noise + 1.5, reference.cdf).pvalue < 1e-12  # it would notice another statistic
        assert np.array_equal(drawn.numbers[:, subject.noiseless], np.stack(subject.exact)[drawn.table][:, subject.noiseless])


@pytest.mark.outer
def test_a_partition_release_with_less_noise_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """For several numbers the midrange of k-norm noise has the law of Laplace noise."""
    planned_wrongly(monkeypatch, lessened)
    for request in (partition_request("add-remove", 1.0, None), partition_request("replace-one", 1.0, 1e-6)):
        (finding,) = audit_requests([request], **(WITH_DELTA if request.delta else STRICT)).findings
        assert finding.flagged and finding.epsilon_law > 1.0


@pytest.mark.outer
def test_laplace_noise_of_one_number_on_several_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Independent noise of scale 1/ε on each of three numbers, all of which one row changes."""
    def perturb(self: Any, sums: Any) -> Any:
        return laplace_integers(sums, self.scale / STATISTIC_GRID) * STATISTIC_GRID

    monkeypatch.setattr(PartitionMechanism, "perturb", perturb)
    (finding,) = audit_requests([partition_request("replace-one", 1.0, None)], **STRICT).findings
    assert finding.flagged


def test_a_partition_release_of_bounded_columns_is_audited_as_far_as_a_row_reaches() -> None:
    """No row within bounds makes a part certain of the opposite: the bounds stay below the claim."""
    declared = {"a": {"bounds": [-1, 1]}, "b": {"bounds": [0, 10]}, "c": {"levels": ["x", "y", "z"]}}
    asked = [{"ask": "bayes-factor", "of": "c"}, {"ask": "posterior-probability", "of": "a", "at": [0, 0.5]}]
    bounded = Schema.from_dict({"adjacency": "replace-one", "columns": declared})
    report = noisewise.audit(bounded, noisewise.Partition("b ~ a + c", parts=12, ask=asked), epsilon=1.0, draws=300)
    assert report.flagged == () and "partition, 12 parts" in str(report)
    with pytest.raises(DeclarationError, match="audited as bounds"):
        quantile = noisewise.Partition("b ~ a", parts=9, ask={"ask": "posterior-quantile", "of": "a"})
        noisewise.audit(schema(columns="ab"), quantile, epsilon=1.0)


def test_one_run() -> None:
    """With these numbers the truth is exceeded, and the lower limits are missed, far less often than once in a million runs."""
    (finding,) = audit_one_run(epsilon=1.0, delta=1e-6, columns=255, confidence=0.999).findings
    assert not finding.flagged and finding.draws == 1
    assert 0.02 < finding.epsilon_any <= 1.0 and 0.05 < finding.epsilon_law <= 1.0


def test_the_function_of_the_library() -> None:
    report = noisewise.audit(schema("add-remove"), epsilon=1.0, draws=400)
    assert report.flagged == () and len(report.rows()) == 1 and "laplace" in str(report)
    with pytest.raises(PrivacyError, check=about("epsilon")):
        noisewise.audit(schema())
    answers = Schema.from_dict({"adjacency": "replace-one", "columns": {"a": {"levels": ["no", "yes"]}}})
    with pytest.raises(DeclarationError, check=about("kind")):
        noisewise.audit(answers, noisewise.Binary("a", rows=10), epsilon=1.0)
    with pytest.raises(DeclarationError, check=about("kind")):
        noisewise.audit(schema(), "gram", epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="draws"):
        noisewise.audit(schema(), epsilon=1.0, draws=10)
    with pytest.raises(PrivacyError, match="power of two"):
        audit_one_run(epsilon=1.0, delta=1e-6, columns=100)


@pytest.mark.slow
def test_the_whole_audit() -> None:
    report = noisewise.audit(confidence=1 - 1e-4, run=QUIET)
    assert not report.flagged
    assert all(finding.notices_less for finding in report.findings if finding.draws >= 4000)  # fewer where a draw takes long
