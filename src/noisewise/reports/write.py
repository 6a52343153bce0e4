"""``report``: turn releases and what was fitted to them into one HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from noisewise.errors import ReleaseWriteError, ResultError
from noisewise.releases.files import write_atomically
from noisewise.releases.release import Release
from noisewise.reports.comparisons import ComparisonView, comparison_view
from noisewise.reports.drawings import level_name
from noisewise.reports.fits import FitView, fit_view, levels_of, side_by_side
from noisewise.reports.given import Path_, Result, assign, read_release, read_result, subjects_of
from noisewise.reports.guarantee import not_protected
from noisewise.reports.kinds.view import view_of
from noisewise.reports.numbers import listed, plural
from noisewise.reports.page import render, shown
from noisewise.reports.redo import redo
from noisewise.reports.release_view import ReleaseView, release_view
from noisewise.reports.trust import TOO_LARGE
from noisewise.results.comparison import Comparison
from noisewise.version import __version__

if TYPE_CHECKING:
    from noisewise.reports.kinds.partition import AnswersView

Source: TypeAlias = Release | Path_
Fit: TypeAlias = Result | Path_

NAME: Final = "report.html"


@dataclass(frozen=True)
class Report:
    """A page. ``flags`` are warnings for its readers: fits that may not belong to the release, draws not to be trusted."""

    title: str
    html: str
    flags: tuple[str, ...] = ()
    digests: tuple[tuple[str, str | None], ...] = ()
    """The releases by name, with the SHA-256 digests of their files."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page. An existing file is replaced whole or left unchanged."""
        try:
            write_atomically(path, self.html.encode("utf-8"))
        except ReleaseWriteError as error:
            raise ResultError("the report could not be written; any existing file is unchanged", found=error.found,
                              remedy="free some space or choose another name, for example report.html") from error
        return Path(path)

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {len(self.html.encode()):,} bytes, {len(self.flags)} warnings>"


def report(releases: Source | Iterable[Source], *, fits: Fit | Iterable[Fit] = (), comparisons: Fit | Iterable[Fit] = (),
           path: Path_ | None = None, title: str | None = None, interval: float = 0.95) -> Report:
    """Write one self-contained HTML page about releases and what was fitted to them.

    ``releases`` are releases or the paths of their files; those with the same schema are treated as several data holders'.
    ``fits`` and ``comparisons`` are results of `fit` and `compare`, or the paths that they were saved to. Results from another
    schema or release are refused. ``path`` also writes the page; without it, use `Report.save`. ``interval`` is the
    probability of the intervals. The page needs no network, works without JavaScript, and contains nothing that is not in the
    releases and fits.

    >>> noisewise.report("patients.nwr", fits=["stay.npz"], path="report.html")    # doctest: +SKIP
    """
    name = NAME if path is None else Path(path).name
    results = cast("list[Fit]", [*_each(fits), *_each(comparisons)])
    found = _page(cast("list[Source]", _each(releases)), results, title, interval, name)
    if path is not None:
        found.save(path)
    return found


def _each(given: object) -> list[object]:
    """A list of one thing or of several."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | os.PathLike) else [given]


def _page(releases: Sequence[Source], results: Sequence[Fit], title: str | None, interval: float, name: str) -> Report:
    """Read, assign, describe and render; ``name`` is the name of the report's file."""
    levels = levels_of(interval)
    if not releases:
        raise ResultError("a report requires at least one release", remedy='for example noisewise.report("patients.nwr")')
    files = [read_release(given, place) for place, given in enumerate(releases, start=1)]
    subjects = subjects_of(files)
    assign(subjects, [read_result(given, place) for place, given in enumerate(results, start=1)])
    views = [release_view(subject) for subject in subjects]
    every = [(subject, fitted) for subject in subjects for fitted in subject.results]
    modelled = [(subject, fitted) for subject, fitted in every if not isinstance(fitted.result, Comparison)]
    with np.errstate(all="ignore"):  # draws from untrusted files may be huge; what cannot be computed is shown as "–"
        comparisons = [comparison_view(fitted, interval) for _, fitted in every if isinstance(fitted.result, Comparison)]
        fits = [fit_view(fitted, subject, place, interval) for place, (subject, fitted) in enumerate(modelled, start=1)]
        sides = side_by_side(fits, interval)
    heading = title or f"Report on {listed([subject.name for subject in subjects], most=3)}"
    kinds = [view_of(subject.release.kind) for subject in subjects]
    answers = [found for subject, kind in zip(subjects, kinds, strict=True)
               if (found := kind.answers(subject.release, interval)) is not None]
    unprotected = [one for subject, kind in zip(subjects, kinds, strict=True)
                   for one in not_protected(kind.not_protected(subject.release), len(subject.holders))]
    flags = [shown(flag) for flag in _flags(views, answers, fits, comparisons)]
    html = render(
        title=heading, summary=_summary(views, fits, comparisons), flags=flags, releases=views,
        not_protected=list(dict.fromkeys(unprotected)), answers=answers, fits=fits, sides=sides, comparisons=comparisons,
        levels=list(map(level_name, levels)), chosen=level_name(interval), redo=redo(subjects, name, title, interval),
        version=__version__,
    )
    return Report(heading, html, tuple(flags), tuple((file.name, file.sha256) for file in files))


def _flags(views: Sequence[ReleaseView], answers: Sequence[AnswersView], fits: Sequence[FitView],
           comparisons: Sequence[ComparisonView]) -> list[str]:
    """The warnings that readers must see first."""
    found = [f"Do not rely on the guarantee. {doubt}" for view in views for doubt in view.doubts]
    found += [flag for one in answers for flag in one.flags]
    found += [f"{fit.fitted.name}: {flag}" for fit in fits for flag in fit.flags]
    found += [f"{one.fitted.name}: {flag}" for one in comparisons for flag in one.fitted.flags]
    found += [f"{fit.fitted.name}: do not trust its draws yet: {'; '.join(fit.draws.problems)}." for fit in fits
              if not fit.draws.good]
    for name, check in ((fit.fitted.name, fit.check) for fit in fits if fit.check is not None and not fit.check.good):
        disagrees = "" if TOO_LARGE in check.problems else "the release does not agree with it. "
        found.append(f"{name}: {disagrees}{check.problems[0]}")
    return found


def _summary(views: Sequence[ReleaseView], fits: Sequence[FitView], comparisons: Sequence[ComparisonView]) -> str:
    """A paragraph: what was released, how it is protected, what was found."""
    several = len(views) > 1
    sentences = [f"{f'{view.name}: ' if several else ''}{view.what} Protected by differential privacy: {view.headline}."
                 for view in views[:3]]
    sentences += [] if fits or several else [views[0].use]
    if len(views) > 3:
        sentences.append(f"And {plural(len(views) - 3, 'more release')}.")
    if fits:
        fitted = listed([fit.result.info.formula for fit in fits], most=3)
        sentences.append(f"Fitted to it: {fitted}. {fits[0].findings if len(fits) == 1 else ''}")
    if comparisons:
        sentences.append(f"Models were compared for {listed([one.result.design.formula for one in comparisons], most=3)}.")
    if fits or comparisons:
        sentences.append("Intervals and probabilities account for the privacy noise, unless stated otherwise for a method.")
    return " ".join(sentence.strip() for sentence in sentences)
