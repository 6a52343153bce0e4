"""The check of a fit to releases of kind gram: sums of products of residuals and columns, against what the fit expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas

    from noisewise.releases.release import Release
    from noisewise.results.posterior import Posterior

ALONE: Final = "only columns left out of the formula, and the variance of counts,"


def can_check(posterior: Posterior) -> bool:
    """True if such a release has the statistics to check this fit."""
    return True


def table(posterior: Posterior, release: Release, names: Sequence[str], interval: float) -> pandas.DataFrame:
    """Build the table."""
    if posterior.has_sigma:
        from noisewise.results.linear_checks import linear_table

        return linear_table(posterior, release, names, interval)
    from noisewise.posterior.glm.check import check_statistics  # it imports this package
    from noisewise.results.glm_checks import check_table

    draws = posterior.samples.reshape(-1, len(posterior.terms))
    found = check_statistics(release, posterior.design, posterior.info.family, draws)
    return check_table(found, posterior.design.terms, names, interval)
