"""One release, or those of several holders together, of the kind from which models can be compared."""

from __future__ import annotations

from noisewise.errors import FitError
from noisewise.release.combine import Releases, combine
from noisewise.release.model import Release


def gram_release(release: Releases) -> Release:
    """Several releases as one; other kinds than gram are refused."""
    together = release if isinstance(release, Release) else combine(release)
    if together.kind != "gram":
        raise FitError("this works with releases of kind gram only: others lack the response's sum of squares",
                       found=f"a release of kind {together.kind}", remedy="the data holder can make a release of kind gram")
    return together
