"""A `Moments` release in a report."""

from __future__ import annotations

from typing import ClassVar

from noisewise.releases.contents.moments import MomentsContribution
from noisewise.releases.release import Release
from noisewise.reports import papers
from noisewise.reports.kinds.sums import SumsView
from noisewise.reports.numbers import number, plural
from noisewise.results.comparison import Comparison
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import Posterior
from noisewise.schema.columns import Numeric
from noisewise.schema.moment_blocks import MomentBlock


class _MomentsView(SumsView):
    papers: ClassVar[tuple[str, ...]] = (papers.KULKARNI,)
    shortened: ClassVar[str] = "predictors"

    def what(self, release: Release) -> str:
        return (f"Noisy sums of {plural(release.basis.size - 1, 'column')} for logistic, probit or Poisson regressions of one "
                f"response: {release.formula} (kind moments).")

    def words_of(self, release: Release, contribution: MomentsContribution) -> str:
        blocks = "; ".join(f"{number(block.noise)} on {MomentBlock.named(name).describe()}"
                           for name, block in contribution.blocks.items())
        return f"Normal (Gaussian) noise with a standard deviation of {blocks}."

    def accepts(self, result: Posterior | PointEstimate | Comparison) -> bool:
        return isinstance(result, Posterior) and not result.has_sigma

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        is_count = isinstance(release.schema.column(release.columns[-1].factors[0].column), Numeric)
        return [("fit", str(release.formula), "--family", "poisson" if is_count else "logistic")]


VIEW = _MomentsView()
