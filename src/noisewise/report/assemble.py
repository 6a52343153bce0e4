"""From what was given to the page: read, assign, describe, render."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from noisewise.errors import ResultError
from noisewise.release.partition import PartitionRelease
from noisewise.report.answers import AnswersView, answers_view
from noisewise.report.comparisons import ComparisonView, comparison_view
from noisewise.report.fits import FitView, fit_view, levels_of
from noisewise.report.given import Subject, assign, read_release, read_result, subjects_of
from noisewise.report.guarantee import not_protected
from noisewise.report.numbers import listed, plural
from noisewise.report.page import render
from noisewise.report.redo import redo
from noisewise.report.release_view import ReleaseView, release_view
from noisewise.report.side_by_side import side_by_side
from noisewise.report.texts import shown
from noisewise.report.trust import TOO_LARGE, Verdict
from noisewise.report.write import Report
from noisewise.results.model_comparison import Comparison
from noisewise.version import __version__


def page(releases: Sequence[Any], results: Sequence[Any], title: str | None, interval: float, name: str) -> Report:
    """The whole report; ``name`` is that of its file."""
    levels_of(interval)
    if not releases:
        raise ResultError("a report is about at least one release", remedy='for example noisewise.report("patients.nwr")')
    files = [read_release(given, place) for place, given in enumerate(releases, start=1)]
    subjects = subjects_of(files)
    assign(subjects, [read_result(given, place) for place, given in enumerate(results, start=1)])
    views = [release_view(subject, place) for place, subject in enumerate(subjects, start=1)]
    with np.errstate(all="ignore"):  # draws of strangers may be as large as numbers get; what cannot be computed is shown as "–"
        fits, comparisons = _results(subjects, interval)
        sides = side_by_side(fits, interval)
    heading = title or f"Report on {listed([subject.name for subject in subjects], most=3)}"
    answers = _answers(subjects, interval)
    flags = [shown(flag) for flag in _flags(views, answers, fits, comparisons)]
    html = render(
        title=heading, summary=_summary(views, fits, comparisons), flags=flags, releases=views,
        not_protected=_not_protected(subjects), answers=answers, fits=fits,
        sides=sides, comparisons=comparisons,
        redo=redo(subjects, name, title, interval), version=__version__,
    )
    return Report(heading, html, tuple(flags), tuple((file.name, file.sha256) for file in files))


def _results(subjects: Sequence[Subject], interval: float) -> tuple[list[FitView], list[ComparisonView]]:
    fits: list[FitView] = []
    comparisons: list[ComparisonView] = []
    for subject in subjects:
        for fitted in subject.results:
            if isinstance(fitted.result, Comparison):
                comparisons.append(comparison_view(fitted, len(comparisons) + 1, interval))
            else:
                fits.append(fit_view(fitted, subject, len(fits) + 1, interval))
    return fits, comparisons


def _not_protected(subjects: Sequence[Subject]) -> list[tuple[str, str]]:
    """Of all releases together, each once."""
    every = [not_protected(subject.release.kind, len(subject.holders)) for subject in subjects]
    return list(dict.fromkeys(found for one in every for found in one))


def _answers(subjects: Sequence[Subject], interval: float) -> list[AnswersView]:
    return [answers_view(subject.release, interval) for subject in subjects if isinstance(subject.release, PartitionRelease)]


def _flags(views: Sequence[ReleaseView], answers: Sequence[AnswersView], fits: Sequence[FitView],
           comparisons: Sequence[ComparisonView]) -> list[str]:
    """What a reader must know before anything else."""
    found = [f"Do not rely on the guarantee. {doubt}" for view in views for doubt in view.doubts]
    found += [flag for one in answers for flag in one.flags]
    found += [f"{fit.name}: {flag}" for fit in fits for flag in fit.flags]
    found += [f"{one.name}: {flag}" for one in comparisons for flag in one.flags]
    found += [f"{fit.name}: do not trust its draws yet: {'; '.join(fit.draws.problems)}." for fit in fits
              if fit.draws is not None and not fit.draws.good]
    found += [f"{fit.name}: {_disagreement(fit.check)}" for fit in fits
              if fit.check is not None and not fit.check.good]
    return found


def _disagreement(check: Verdict) -> str:
    return check.problems[0] if TOO_LARGE in check.problems else f"the release does not agree with it. {check.problems[0]}"


def _summary(views: Sequence[ReleaseView], fits: Sequence[FitView], comparisons: Sequence[ComparisonView]) -> str:
    """One paragraph: what was released, how it is protected, what was found."""
    several = len(views) > 1
    sentences = [f"{f'{view.name}: ' if several else ''}{view.what} Protected by differential privacy: {view.headline}."
                 for view in views[:3]]
    sentences += [] if fits or several else [views[0].use]
    if len(views) > 3:
        sentences.append(f"And {plural(len(views) - 3, 'further release')}.")
    if fits:
        fitted = listed([fit.formula for fit in fits], most=3)
        sentences.append(f"Fitted to it: {fitted}. {fits[0].findings if len(fits) == 1 else ''}")
    if comparisons:
        sentences.append(f"Models were compared for {listed([one.formula for one in comparisons], most=3)}.")
    if fits or comparisons:
        sentences.append("Intervals and probabilities account for the privacy noise, unless a method is said not to.")
    return " ".join(sentence.strip() for sentence in sentences)
