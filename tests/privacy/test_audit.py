"""The short form of the audit: every mechanism keeps its promise, and less noise would have been noticed.

Privacy noise has no seed, so that nothing here is the same twice. A right release fails less often than once in 1e7 runs: for
pure epsilon, where the bound of any mechanism is attained, that is the level; with a delta it is not, and both error rates would
have to be far out at once, at a level of 1e-4 by 5.7 standard deviations. 0.7 times the noise is noticed about as surely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import noisewise
from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder import audit_kinds as kinds
from noisewise.holder import partition as holder_partition
from noisewise.holder.audit import audit_one_run, audit_requests, partition_request, standard_requests
from noisewise.holder.audit_kinds import Request, subject_of
from noisewise.holder.gram import plan_gram
from noisewise.privacy.audit.trial import LESS_NOISE, draw_many
from noisewise.privacy.mechanisms import MECHANISMS, SymmetricMechanism
from noisewise.privacy.noise import laplace_integers
from noisewise.privacy.partition import PartitionMechanism
from noisewise.privacy.sensitivity import gram_sensitivity
from noisewise.release.model import KINDS as RELEASE_KINDS
from noisewise.schema import Basis, Schema
from noisewise.schema.basis import STATISTIC_GRID

STRICT = {"draws": 6000, "confidence": 1 - 1e-7}
WITH_DELTA = {"draws": 1800, "confidence": 1 - 1e-4}


def schema(adjacency: str = "replace-one", columns: str = "a", **more: Any) -> Schema:
    return Schema.from_dict({"adjacency": adjacency, "columns": {name: {"bounds": [0, 10]} for name in columns}, **more})


PEOPLE = {"column": "person", "max_rows": 3}
SHORT = [
    Request(schema(), 1.0, 1e-6),
    Request(schema("add-remove"), 0.1, 1e-6),
    Request(schema(), 0.1),
    Request(schema("add-remove"), 4.0),
    Request(schema("add-remove", unit=PEOPLE), 1.0, 1e-6),
    Request(schema(), 4.0, 1e-6, mechanism="wishart"),
    Request(schema("add-remove"), 4.0, 1e-6, mechanism="wishart"),
    Request(schema(columns="ab"), 1.0, 1e-6, kind="adassp", formula="b ~ a"),
    Request(schema(columns="ab"), 1.0, 1e-6, average=4),
    Request(schema("add-remove", columns="ab"), 1.0, 1e-6, kind="moments", formula="b ~ a"),
    Request(schema(), 1.0, kind="bounds"),
    partition_request("replace-one", 4.0, None),
    partition_request("add-remove", 1.0, None, [0.0]),
    partition_request("replace-one", 0.1, None),
    partition_request("add-remove", 1.0, 1e-6),
    partition_request("replace-one", 4.0, 1e-6, unit=PEOPLE),
]


def named(request: Request) -> str:
    return f"{request.kind}-{request.mechanism or ('gaussian' if request.delta else 'pure')}-{request.schema.adjacency}"


@pytest.mark.parametrize("request_", SHORT, ids=named)
def test_a_release_keeps_its_promise_and_less_noise_would_be_noticed(request_: Request) -> None:
    (finding,) = audit_requests([request_], **(WITH_DELTA if request_.delta else STRICT)).findings
    assert not finding.flagged
    assert finding.epsilon_any <= request_.epsilon and finding.epsilon_law <= request_.epsilon
    assert finding.notices_less
    assert 1.0 < finding.noise_at_most < 1.43


def test_the_standard_audit_has_every_mechanism_and_every_kind() -> None:
    every = list(standard_requests())
    assert {request.kind for request in every} == set(kinds.KINDS) >= set(RELEASE_KINDS)
    for adjacency in ("replace-one", "add-remove"):
        for epsilon in (0.1, 1.0, 4.0):
            own = [request for request in every if request.schema.adjacency == adjacency and request.epsilon == epsilon]
            assert {request.mechanism for request in own} >= set(MECHANISMS)
            assert any(not request.schema.unit.is_row for request in own)
    assert any(request.average for request in every)


def lessened(plan: Callable[..., SymmetricMechanism], name: str) -> Callable[..., Any]:
    """A mechanism whose own noise is too small: it is what draws, and what says how much it draws."""
    def planned(*args: Any) -> Any:
        mechanism = plan(*args)
        if name == "wishart":
            smaller = replace(mechanism.sensitivity, spectral=LESS_NOISE * mechanism.sensitivity.spectral)
            return replace(mechanism, sensitivity=smaller)
        field = {"gaussian": "sd", "laplace": "scale"}[name]
        return replace(mechanism, **{field: LESS_NOISE * getattr(mechanism, field)})

    return planned


@pytest.mark.parametrize(("name", "epsilon"), [
    ("gaussian", 0.1), ("laplace", 1.0), pytest.param("wishart", 4.0, marks=pytest.mark.slow)])
def test_a_mechanism_with_less_noise_is_flagged(monkeypatch: pytest.MonkeyPatch, name: str, epsilon: float) -> None:
    monkeypatch.setattr(kinds, "plan_gram", lessened(kinds.plan_gram, name))
    request = Request(schema("add-remove"), epsilon, None if name == "laplace" else 1e-6, mechanism=name)
    (finding,) = audit_requests([request], **(WITH_DELTA if request.delta else STRICT)).findings
    assert finding.flagged and finding.epsilon_law > epsilon


def test_the_sensitivity_of_the_other_adjacency_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(basis: Basis, epsilon: float, delta: float, *_: Any) -> Any:
        right = plan_gram(basis, epsilon, delta)
        wrong = gram_sensitivity(scalars=1, blocks=0, size=2, radius=1.0, norm_clipped=False, adjacency="add-remove")
        return right.calibrate(replace(right.sensitivity, frobenius=wrong.frobenius), epsilon, delta)

    monkeypatch.setattr(kinds, "plan_gram", planned)
    (finding,) = audit_requests([Request(schema(), 1.0, 1e-6)], **WITH_DELTA).findings
    assert finding.flagged


def test_a_number_without_noise_that_differs_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the number of rows were public where rows are added and removed."""
    def planned(*args: Any) -> Any:
        mechanism = plan_gram(*args)
        return replace(mechanism, sensitivity=replace(mechanism.sensitivity, corner_is_public=True))

    monkeypatch.setattr(kinds, "plan_gram", planned)
    (finding,) = audit_requests([Request(schema("add-remove"), 1.0, 1e-6)], draws=200).findings
    assert finding.flagged and finding.epsilon_any == np.inf == finding.epsilon_law and finding.noise_at_most == 0.0


@pytest.mark.parametrize("request_", [SHORT[0], SHORT[3], *SHORT[7:10], SHORT[11], partition_request("add-remove", 20.0, 1e-6)],
                         ids=named)
def test_releases_from_beginning_to_end_are_like_those_of_the_mechanism(request_: Request) -> None:
    """The scores of both are of the promised law, about the same exact statistic."""
    for end_to_end in (False, True):
        subject = subject_of(request_, end_to_end=end_to_end)
        drawn = draw_many(subject, 150)
        noise = (drawn.numbers - np.stack(subject.exact)[drawn.table]) @ subject.weights
        reference = stats.laplace() if subject.released.delta == 0 else stats.norm()
        assert stats.kstest(noise, reference.cdf).pvalue > 1e-7
        assert stats.kstest(noise + 1, reference.cdf).pvalue < 1e-7  # it would notice another statistic
        assert np.array_equal(drawn.numbers[:, subject.noiseless], np.stack(subject.exact)[drawn.table][:, subject.noiseless])


def test_a_partition_release_with_less_noise_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """For several numbers the midrange of k-norm noise has the law of Laplace noise."""
    plan = holder_partition.plan_partition
    monkeypatch.setattr(holder_partition, "plan_partition",
                        lambda *asked: replace(made := plan(*asked), scale=LESS_NOISE * made.scale))
    for request in (partition_request("add-remove", 1.0, None), partition_request("replace-one", 1.0, 1e-6)):
        (finding,) = audit_requests([request], **(WITH_DELTA if request.delta else STRICT)).findings
        assert finding.flagged and finding.epsilon_law > 1.0


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
    report = noisewise.audit(Schema.from_dict({"adjacency": "replace-one", "columns": declared}), epsilon=1.0, kind="partition",
                             formula="b ~ a + c", parts=12, questions=asked, draws=300)
    assert report.flagged == () and "partition, 12 parts" in str(report)
    with pytest.raises(DeclarationError, match="audited as bounds"):
        noisewise.audit(schema(columns="ab"), epsilon=1.0, kind="partition", formula="b ~ a", parts=9,
                        questions={"ask": "posterior-quantile", "of": "a"})
    with pytest.raises(DeclarationError, match="parts"):
        noisewise.audit(schema(columns="ab"), epsilon=1.0, kind="partition", formula="b ~ a", questions=asked)


def test_one_run() -> None:
    """With these numbers the truth is exceeded, and the lower limits are missed, far less often than once in a million runs."""
    (finding,) = audit_one_run(epsilon=1.0, delta=1e-6, columns=255, confidence=0.999).findings
    assert not finding.flagged and finding.draws == 1
    assert 0.02 < finding.epsilon_any <= 1.0 and 0.05 < finding.epsilon_law <= 1.0


def test_the_function_of_the_library() -> None:
    report = noisewise.audit(schema("add-remove"), epsilon=1.0, draws=400)
    assert report.flagged == () and len(report.rows()) == 1 and "laplace" in str(report)
    with pytest.raises(PrivacyError, match="epsilon"):
        noisewise.audit(schema())
    with pytest.raises(DeclarationError, match="cannot be audited"):
        noisewise.audit(schema(), epsilon=1.0, kind="nonsense")
    with pytest.raises(DeclarationError, match="formula"):
        noisewise.audit(schema(), epsilon=1.0, delta=1e-6, kind="adassp")
    with pytest.raises(PrivacyError, match="draws"):
        noisewise.audit(schema(), epsilon=1.0, draws=10)
    with pytest.raises(PrivacyError, match="power of two"):
        audit_one_run(epsilon=1.0, delta=1e-6, columns=100)


@pytest.mark.slow
def test_the_whole_audit() -> None:
    report = noisewise.audit(confidence=1 - 1e-4, progress=False)
    assert not report.flagged
    assert all(finding.notices_less for finding in report.findings if finding.draws >= 4000)  # fewer where a draw takes long
