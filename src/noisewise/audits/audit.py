"""Test whether a release keeps its promise: one that a holder plans, or every mechanism and every kind.

    report = nw.audit(schema, epsilon=1, delta=1e-6)      # the release that nw.release would make
    report = nw.audit()                                   # all of them, on small tables; takes a few minutes
    print(report)

Tables are made up from the public declarations: no confidential row is read and no budget is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, product
from typing import Final

from noisewise.audits.canaries import promised_distance
from noisewise.audits.one_run import OneRun
from noisewise.audits.report import AuditReport
from noisewise.audits.request import Request, subject_of
from noisewise.audits.trial import Drawn, Subject, draw_many, judge, seconds_of_a_draw
from noisewise.errors import PrivacyError
from noisewise.holder.release import GRAM
from noisewise.holder.request import check_request
from noisewise.kinds import AdaSSP, Bounds, Gram, Kind, Model, Moments, Partition, Rows
from noisewise.privacy.mechanisms.gram import MECHANISMS, SymmetricGaussian
from noisewise.run import DEFAULT, QUIET, Run
from noisewise.schema import Schema
from noisewise.scores.families import FAMILIES
from noisewise.words import option

DRAWS: Final = 8000
SECONDS: Final = 60.0
"""For each release, unless the minimum number of draws takes longer."""
FEWEST: Final = 1200
LONGEST: Final = 600.0
"""Releases that would take longer are left out and listed in the report, unless audited by themselves."""
EPSILONS: Final = (0.1, 1.0, 4.0)
DELTA: Final = 1e-6


def audit(
    schema: Schema | None = None,
    kind: Kind = GRAM,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    draws: int = DRAWS,
    confidence: float = 0.99,
    end_to_end: bool = False,
    run: Run = DEFAULT,
) -> AuditReport:
    """Measure epsilon from outside: draw a release many times from two tables, and see how well they can be told apart.

    With a ``schema``, audit the release that `noisewise.release` would make with the same arguments. Without one, audit every
    mechanism and every kind of release at epsilon 0.1, 1 and 4. The two tables are made up: a search finds the rows that the
    mechanism hides worst. The report has two lower bounds on epsilon: one that holds for any mechanism, and a sharper one for
    noise of the claimed kind. All bounds hold together with the given ``confidence``.

    An audit can prove that a promise is broken. It cannot prove that it is kept.

    Limits that a release of kind partition would select are audited as `Bounds`.

    ``end_to_end`` draws every release with `noisewise.release`, rows and all, which takes longer. ``draws`` is the number of
    draws of each release.

    >>> schema = Schema.from_dict({"adjacency": "add-remove", "columns": {"age": {"bounds": [18, 98]}}})
    >>> report = audit(schema, epsilon=1.0, draws=200)
    >>> report.flagged
    ()
    """
    if not (0 < confidence < 1 and draws >= 100):
        raise PrivacyError("an audit needs a confidence between 0 and 1 and at least 100 draws",
                           found=f"{confidence!r}, {draws!r}")
    if schema is None:
        return audit_requests(list(standard_requests()), draws=draws, confidence=confidence, end_to_end=end_to_end,
                              longest=LONGEST, run=run)
    if epsilon is None:
        raise PrivacyError("an audit of a release needs its epsilon", argument="epsilon", found="None",
                           remedy="give " + option("epsilon") + ", and a " + option("delta") + " if it has one")
    check_request(kind, schema, delta, "")
    request = Request(schema, epsilon, delta, kind)
    return audit_requests([request], draws=draws, confidence=confidence, end_to_end=end_to_end, longest=None, run=run)


def audit_requests(requests: Sequence[Request], *, draws: int = DRAWS, confidence: float = 0.99, end_to_end: bool = False,
                   longest: float | None = None, run: Run = QUIET) -> AuditReport:
    """Audit several releases, with one confidence for all of them together."""
    level = (1 - confidence) / len(requests)
    findings, left_out = [], []
    with run.bar("Auditing", "releases") as tick:
        for done, request in enumerate(requests):
            tick(done, len(requests))
            subject = subject_of(request, end_to_end=end_to_end)
            drawn = _drawn(subject, draws, longest)
            if drawn is None:
                claim = subject.released
                left_out.append(f"{claim.kind}, {claim.mechanism}, {claim.adjacency}, epsilon {claim.epsilon:g}")
            else:
                findings.append(judge(subject, drawn, level))
        tick(len(requests), len(requests))
    return AuditReport(tuple(findings), confidence, tuple(left_out))


def audit_one_run(*, epsilon: float, delta: float, columns: int = 255, confidence: float = 0.99) -> AuditReport:
    """Audit from a single release, under add-remove, of a Gram matrix of ``columns`` columns (one less than a power of two).

    >>> audit_one_run(epsilon=8.0, delta=1e-6, columns=15).flagged
    ()
    """
    if columns < 3 or (columns + 1) & columns:
        raise PrivacyError("columns must be one less than a power of two, and at least 3",
                           found=repr(columns), remedy="for example 255")
    names = [f"c{place}" for place in range(1, columns + 1)]
    declared = {"adjacency": "add-remove", "columns": {name: {"bounds": [-1, 1]} for name in names}}
    request = Request(Schema.from_dict(declared), epsilon, delta)
    mechanism = request.plan().mechanism
    assert isinstance(mechanism, SymmetricGaussian)
    promised = promised_distance(mechanism.cost(), (epsilon, delta))
    run = OneRun.of(columns + 1, promised)
    table = run.table()
    noisy = request.release({name: table[:, place] for place, name in enumerate(names, 1)}).contents.matrix
    claim = replace(request.claim(mechanism.name, mechanism.delta), kind=f"gram, once, {columns} columns")
    return AuditReport((run.judge(noisy, mechanism.sd, claim, promised, 1 - confidence),), confidence)


def _drawn(subject: Subject, draws: int, longest: float | None) -> Drawn | None:
    """The draws, or None if they would take too long. Their number depends only on the time of a draw, not on what is drawn."""
    if longest is None:
        return draw_many(subject, draws)
    each = seconds_of_a_draw(subject)
    count = min(draws, max(FEWEST, int(SECONDS / each)))
    return None if count * each > longest else draw_many(subject, count)


def standard_requests(epsilons: Sequence[float] = EPSILONS, delta: float = DELTA) -> Iterator[Request]:
    """Every mechanism and every kind of release, both adjacencies, units of one row and of several."""
    for epsilon in epsilons:
        for adjacency in ("replace-one", "add-remove"):
            one, two = (_schema(adjacency, columns) for columns in (1, 2))
            for name in MECHANISMS:  # one column: fewer entries to draw, and the bounds are attained
                yield Request(one, epsilon, None if name == "laplace" else delta, Gram(mechanism=name))
            people = _schema(adjacency, 1, {"column": "person", "max_rows": 3})
            yield Request(people, epsilon, delta)
            yield Request(people, epsilon)
            yield Request(two, epsilon, delta, AdaSSP("b ~ a"))
            yield Request(one, epsilon, kind=Bounds("a"))
        yield Request(_schema("replace-one", 2), epsilon, delta, Gram(average=4))
    for epsilon, adjacency in product(epsilons, ("replace-one", "add-remove")):
        counts = {"a": {"bounds": [-1, 1]}, "count": {"bounds": [0, 5]}}
        schema = Schema.from_dict({"adjacency": adjacency, "columns": counts})
        yield Request(schema, epsilon, delta, Moments("count ~ a"))
    for epsilon, adjacency in product(epsilons, ("replace-one", "add-remove")):
        yield partition_request(adjacency, epsilon, None)
        yield partition_request(adjacency, epsilon, delta)
    answers = Schema.from_dict({"adjacency": "replace-one", "columns": {"answer": {"levels": ["no", "yes", "perhaps"]}}})
    for epsilon in epsilons:
        yield Request(_schema("replace-one", 1), epsilon, kind=Rows())
        yield Request(_schema("replace-one", 2), epsilon, delta, Rows(copies=2))
        yield Request(answers, epsilon, kind=Rows())
    persons = {"column": "person", "max_rows": 3}
    asked = product(epsilons, (("replace-one", "row"), ("add-remove", "row"), ("replace-one", persons)))
    for (epsilon, (adjacency, unit)), family in zip(asked, cycle(FAMILIES), strict=False):
        yield model_request(adjacency, epsilon, delta, family, unit=unit)


def model_request(adjacency: str, epsilon: float, delta: float, family: str, *, unit: object = "row",
                  rounds: int | None = 1) -> Request:
    """Request the regression of a response that suits the family on one number; with at most this many rounds before the last."""
    response = {"number": {"bounds": [-3, 5]}, "two levels": {"levels": ["no", "yes"]}, "count": {"bounds": [0, 12]}}
    columns = {"a": {"bounds": [-1, 1]}, "b": response[FAMILIES[family].response]}
    declared = Schema.from_dict({"adjacency": adjacency, "unit": unit, "columns": columns})
    return Request(declared, epsilon, delta, Model("b ~ a", family=family, rounds=rounds))


def partition_request(adjacency: str, epsilon: float, delta: float | None, points: Sequence[float] = (-0.2, 0.0, 0.2),
                      unit: object = "row") -> Request:
    """Request a slope's posterior probability at some points, from columns with unknown bounds, in 40 parts."""
    schema = Schema.from_dict({"adjacency": adjacency, "unit": unit, "columns": {name: {"bounds": "unknown"} for name in "ab"}})
    question = {"ask": "posterior-probability", "of": "a", "at": list(points)}
    return Request(schema, epsilon, delta, Partition("b ~ a", parts=40, ask=[question]))


def _schema(adjacency: str, columns: int, unit: object = "row") -> Schema:
    declared = {name: {"bounds": [-1, 1]} for name in "ab"[:columns]}
    return Schema.from_dict({"adjacency": adjacency, "unit": unit, "columns": declared})
