"""``noisewise fit`` of published rows: a release of kind microdata, by itself."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from noisewise.errors import FitError, NoisewiseWarning

if TYPE_CHECKING:
    from noisewise.release.microdata import MicrodataRelease
    from noisewise.results import Posterior


def published_rows(files: Sequence[Path], *, family: str, site: str | None, compare: bool) -> MicrodataRelease | None:
    """The release, if the files are of published rows; what cannot be done with these is refused."""
    import noisewise
    from noisewise.release.microdata import MicrodataRelease

    if not files:
        return None
    found = noisewise.load(files[0])
    if not isinstance(found, MicrodataRelease):
        return None
    if len(files) > 1:
        raise FitError("published rows are fitted one release at a time", found=f"{len(files)} files",
                       remedy="give one of them; several holders are fitted together from releases of kind gram")
    if family != "gaussian" or site is not None or compare:
        raise typer.BadParameter("published rows have linear regression only, without --site and --compare-methods")
    return found


def fit_rows(formula: str, release: MicrodataRelease, method: str | None, **settings: Any) -> Posterior:
    import noisewise

    chosen: dict[str, Any] = {} if method is None else {"method": method}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)  # told in the words of the command line
        found: Posterior = noisewise.fit(formula, release, **chosen, **settings)
    return found
