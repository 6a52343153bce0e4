"""Begin where an earlier release of the same model ended, so that a new one spends nothing on finding the coefficients."""

from __future__ import annotations

from noisewise.errors import ReleaseError
from noisewise.kinds.model import Model, Start
from noisewise.releases.json_text import short
from noisewise.releases.release import Release
from noisewise.scores.rounds import Round
from noisewise.words import either


def start(release: Release) -> Start:
    """Where the last round of a `Model` release looked, for ``noisewise.Model(..., start=...)``.

    The next holder of such rows, or the table of next year, then spends its whole budget on one round near the coefficients. All
    of it is public. The new release must have the same formula, family and declared columns.
    """
    if not isinstance(release, Release):
        raise ReleaseError("expected a release to start from", found=short(release),
                           remedy="load the file first: noisewise.load(path)")
    if not isinstance(release.kind, Model):
        raise ReleaseError("only a release of kind model can be started from", found=f"a release of kind {release.kind.name}",
                           remedy=either("leave start out", "leave --start out") + ", or use the release of the same model")
    if release.holders > 1:
        raise ReleaseError("a start is the last round of one data holder", found=f"a release of {release.holders} holders",
                           remedy="use the file of one of them, best of the one with the most rows")
    last: Round = release.contents.last
    point = last.point
    return Start(tuple(point.coefficients.tolist()), tuple(map(tuple, point.coordinates.tolist())), point.scale)
