"""An `AdaSSP` release in a report."""

from __future__ import annotations

from typing import ClassVar

from noisewise.releases.contents.adassp import AdasspContribution
from noisewise.releases.release import Release
from noisewise.reports import papers
from noisewise.reports.kinds.sums import SumsView
from noisewise.reports.numbers import number
from noisewise.results.point_estimate import PointEstimate


class _AdasspView(SumsView):
    papers: ClassVar[tuple[str, ...]] = (papers.WANG, papers.ALPARSLAN)
    results: ClassVar[tuple[type, ...]] = (PointEstimate,)

    def what(self, release: Release) -> str:
        return f"Noisy sums for a point estimate of one regression, {release.formula} (kind adassp)."

    def words_of(self, release: Release, contribution: AdasspContribution) -> str:
        return (f"{super().words_of(release, contribution)} The smallest eigenvalue of the predictors' matrix was released with "
                f"noise of {number(contribution.smallest_eigenvalue.noise)}.")

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        return [("fit", str(release.formula))]


VIEW = _AdasspView()
