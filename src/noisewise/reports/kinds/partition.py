"""A `Partition` release in a report. Its answers and tests follow from the release alone, so every report has them."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple, cast

from noisewise.errors import NoisewiseError
from noisewise.kinds import Partition
from noisewise.releases.contents.partition import PartitionContribution
from noisewise.releases.release import Release
from noisewise.reports import papers
from noisewise.reports.drawings import TermChart, answer_chart
from noisewise.reports.kinds.view import KindView
from noisewise.reports.numbers import Table, count, number, percent, plural

PROBABILITIES: Final = ("probability", "hypothesis probability")


class AnswersView(NamedTuple):
    """A drawing and a sentence for each answer, a table of all answers, and the tests or why there are none."""

    formula: str
    answers: tuple[tuple[TermChart, str], ...]
    table: Table
    tests: Table | None
    no_tests: str
    flags: tuple[str, ...]


class _PartitionView(KindView):
    heading: ClassVar[str] = "The answers and the tests"
    papers: ClassVar[tuple[str, ...]] = (papers.NISSIM, papers.AMITAI, papers.PENA)
    results: ClassVar[tuple[type, ...]] = ()

    def what(self, release: Release) -> str:
        kind = _kind(release)
        return (f"Answers to {plural(len(kind.ask), 'question')} about the regression {kind.formula}, from {count(kind.parts)} "
                "random parts of the table (kind partition).")

    def words_of(self, release: Release, contribution: PartitionContribution) -> str:
        parts = _kind(release).parts
        return (f"The table was split at random into {count(parts)} parts. The parts' answers, clipped to limits, were added up, "
                f"and noise was added to each sum ({contribution.mechanism}, scale {number(contribution.noise)}, where one part "
                f"counts for at most 1). In an average over the parts, this is {number(contribution.noise / parts)} of the "
                "distance between the limits.")

    def noise_table(self, release: Release) -> Table:
        parts, found = _kind(release).parts, release.contents
        rows = [(one.name, number(one.lower), number(one.upper), number(one.mean(parts)), number(one.width * found.noise / parts))
                for one in found.numbers]
        return Table.of("Released numbers, as averages over the parts",
                        ["Number", "Lower limit", "Upper limit", "Released", "Scale of the noise"], rows)

    def rules(self, release: Release) -> list[str]:
        return ["Each part's answer was clipped to the limits in the table of released numbers."]

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        return [("answer",), ("test",)]

    def answers(self, release: Release, interval: float) -> AnswersView:
        from noisewise.answers.answer import answer
        from noisewise.answers.partition import MISSED

        found = answer(release, probability=interval)
        charts = [answer_chart(one.name, one.draws, interval, one.point, (one.lower, one.upper), one.kind in PROBABILITIES)
                  for one in found]
        rows = [(one.name, one.kind, *(number(value, (one.upper - one.lower) / 4) for value in (one.point, one.lower, one.upper)))
                for one in found]
        table = Table.of(f"Answers with {percent(interval)} intervals for what the noise hides",
                         ["Answer", "Kind", "Point", "From", "To"], rows, words=(0, 1))
        sentences = [one.sentence for one in found]
        flags = [sentence for sentence in sentences if any(words in sentence for words in MISSED.values())]
        return AnswersView(release.title(), tuple(zip(charts, sentences, strict=True)), table, *_tests(release), tuple(flags))


def _kind(release: Release) -> Partition:
    return cast(Partition, release.kind)


def _tests(release: Release) -> tuple[Table | None, str]:
    from noisewise.answers.hypothesis_test import hypothesis_test

    try:
        found = hypothesis_test(release)
    except NoisewiseError as error:
        return None, f"No tests: {error.rule}" + (f" ({error.found})." if error.found else ".")
    rows = [(one.hypothesis, one.measure, number(one.statistic), f"{one.p_value:.3g}",
             ", ".join(f"{'' if one.rejects(level) else 'not '}rejected at {percent(level)}" for level in one.critical))
            for one in found]
    return Table.of("Tests whose levels account for the parts, the clipping and the noise",
                    ["Hypothesis", "Statistic", "Value", "p", "Decision"], rows, words=(0, 1, 4)), ""


VIEW = _PartitionView()
