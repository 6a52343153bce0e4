"""Answers and tests of a partition release: they follow from the release itself, so every report has them."""

from __future__ import annotations

from dataclasses import dataclass

from noisewise.errors import NoisewiseError
from noisewise.release.partition import PartitionRelease
from noisewise.report.numbers import number, percent
from noisewise.report.svg.term import TermChart, answer_chart
from noisewise.report.tables import Table

PROBABILITIES = ("probability", "hypothesis probability")


@dataclass(frozen=True)
class AnswerView:
    chart: TermChart
    sentence: str


@dataclass(frozen=True)
class AnswersView:
    formula: str
    answers: tuple[AnswerView, ...]
    table: Table
    tests: Table | None
    no_tests: str
    flags: tuple[str, ...]


def answers_view(release: PartitionRelease, interval: float) -> AnswersView:
    from noisewise.answers.answer import MISSED, answer

    found = answer(release, probability=interval)
    views, rows = [], []
    for one in found:
        chart = answer_chart(one.name, one.draws, interval, one.point, (one.lower, one.upper), one.kind in PROBABILITIES)
        views.append(AnswerView(chart, one.sentence))
        spread = (one.upper - one.lower) / 4
        rows.append((one.name, one.kind, *(number(value, spread) for value in (one.point, one.lower, one.upper))))
    table = Table.of(f"Answers with {percent(interval)} intervals for what the noise hides",
                     ["Answer", "Kind", "Point", "From", "To"], rows, words=(0, 1))
    tests, no_tests = _tests(release)
    flags = tuple(view.sentence for view in views if any(words in view.sentence for words in MISSED.values()))
    return AnswersView(release.formula, tuple(views), table, tests, no_tests, flags)


def _tests(release: PartitionRelease) -> tuple[Table | None, str]:
    from noisewise.answers.test import test

    try:
        found = test(release)
    except NoisewiseError as error:
        return None, f"No tests: {error.rule}" + (f" ({error.found})." if error.found else ".")
    rows = []
    for one in found:
        decisions = ", ".join(f"{'' if one.rejects(level) else 'not '}rejected at {percent(level)}" for level in one.critical)
        rows.append((one.hypothesis, one.measure, number(one.statistic), f"{one.p_value:.3g}", decisions))
    return Table.of("Tests whose levels account for the parts, the clipping and the noise",
                    ["Hypothesis", "Statistic", "Value", "p", "Decision"], rows, words=(0, 1, 4)), ""
