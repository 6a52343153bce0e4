"""``report``: releases and what was fitted to them in, one HTML file out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from noisewise.errors import ReleaseWriteError, ResultError

if TYPE_CHECKING:
    from noisewise.release.model import Release
    from noisewise.release.single import SingleRelease
    from noisewise.results.model_comparison import Comparison
    from noisewise.results.point_estimate import PointEstimate
    from noisewise.results.posterior import Posterior

    Source: TypeAlias = Release | SingleRelease | str | os.PathLike[str]
    Fit: TypeAlias = Posterior | PointEstimate | Comparison | str | os.PathLike[str]

NAME = "report.html"


@dataclass(frozen=True)
class Report:
    """A page. ``flags`` are what its reader is warned of: fits that may not belong to the release, draws not to be trusted."""

    title: str
    html: str
    flags: tuple[str, ...] = ()
    digests: tuple[tuple[str, str | None], ...] = ()
    """The releases by name, with the SHA-256 digests of their files."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; an older file is replaced whole or left as it was."""
        from noisewise.release.files import write_atomically

        try:
            write_atomically(path, self.html.encode("utf-8"))
        except ReleaseWriteError as error:
            raise ResultError("the report could not be written; a file that was there before is unchanged", found=error.found,
                              remedy="make room or choose another name, for example report.html") from error
        return Path(path)

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {len(self.html.encode()):,} bytes, {len(self.flags)} warnings>"


def report(
    releases: Source | Iterable[Source],
    *,
    fits: Fit | Iterable[Fit] = (),
    comparisons: Fit | Iterable[Fit] = (),
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    interval: float = 0.95,
) -> Report:
    """Write one self-contained HTML page about releases and what was fitted to them.

    ``releases`` are releases or the paths of their files; those of one schema belong together, as several data holders'.
    ``fits`` and ``comparisons`` are results of `fit` and `compare`, or the paths that they were saved to. A result of another
    schema or of another release is refused. ``path`` also writes the page; without it, see `Report.save`. ``interval`` is the
    probability that the intervals hold. The page needs no network, runs without JavaScript, and holds nothing that is not in the
    releases and fits.

    >>> noisewise.report("patients.nwr", fits=["stay.npz"], path="report.html")    # doctest: +SKIP
    """
    from noisewise.report.assemble import page

    found = page(_each(releases), [*_each(fits), *_each(comparisons)], title, interval, NAME if path is None else Path(path).name)
    if path is not None:
        found.save(path)
    return found


def _each(given: object) -> list[object]:
    """One thing, or several."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | os.PathLike) else [given]
