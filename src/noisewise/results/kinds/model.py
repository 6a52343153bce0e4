"""The check of a fit to model releases: do the holders agree, do the rounds, and do residuals vary as the family expects?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from noisewise.results.check_findings import ALL, MEAN, ROUNDS, VARIANCES, Lines
from noisewise.results.families import family_of
from noisewise.results.fit_info import INTERCEPT

if TYPE_CHECKING:
    import pandas

    from noisewise.posterior.model.check import HolderCheck
    from noisewise.releases.release import Release
    from noisewise.results.posterior import Posterior

ALONE: Final = "only rounds that disagree, and the variance of counts or of residuals,"


def can_check(posterior: Posterior) -> bool:
    """True if such a release has the statistics to check this fit."""
    return True


def table(posterior: Posterior, release: Release, names: Sequence[str], interval: float) -> pandas.DataFrame:
    """Build the table."""
    import numpy as np
    from scipy.special import chdtrc

    from noisewise.posterior.model.check import check_model  # it imports this package
    from noisewise.results.check_tails import two_sided

    draws, family = posterior.samples.reshape(-1, len(posterior.terms)), posterior.info.family
    found = check_model(release, posterior.design, draws, scaled=family_of(family).scale is not None,
                        robust=posterior.info.robust)
    labels = [MEAN if term == INTERCEPT else f"residual × {term}" for term in posterior.design.terms]
    lines, several = Lines(interval), len(names) > 1
    z = lines.deviations
    for name, one in zip(names, found.holders, strict=True):
        sds = np.sqrt(np.diag(one.covariance))
        for label, gap, sd, p in zip(labels, one.gaps, sds, two_sided(one.gaps / sds), strict=True):
            lines.add(name, label, 0.0, float(gap), z * float(sd), float(p))
        if one.rounds:
            chances = [float(chdtrc(freedom, value)) for value, freedom in one.rounds]
            worst = int(np.argmin(chances))
            lines.add_distance(name, *one.rounds[worst], min(1.0, len(chances) * chances[worst]), ROUNDS)
        if several:
            lines.add_distance(name, *one.overall, float(chdtrc(one.overall.freedom, one.overall.value)))
    if several:
        agreement = found.agreement
        lines.add_distance(ALL, *agreement, float(chdtrc(agreement.freedom, agreement.value)) if agreement.freedom else 1.0)
    _add_variance(lines, ALL if several else names[0], family, found.holders)
    return lines.table()


def _add_variance(lines: Lines, holder: str, family: str, holders: Sequence[HolderCheck]) -> None:
    """Add the variance ratio of all holders together."""
    import numpy as np

    from noisewise.posterior.model.check import TOLERANCE
    from noisewise.results.check_tails import two_sided

    ratios = [one.variance for one in holders if one.variance is not None]
    if not ratios:
        return
    precisions = np.array([1.0 / one.sd**2 for one in ratios])
    ratio = float(precisions @ [one.value for one in ratios]) / float(precisions.sum())
    sd = float(np.sqrt(1.0 / precisions.sum() + TOLERANCE**2))
    lines.add(holder, VARIANCES[family], 1.0, ratio - 1.0, lines.deviations * sd, float(two_sided(np.array((ratio - 1.0) / sd))))
