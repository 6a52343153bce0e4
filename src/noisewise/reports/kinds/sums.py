"""The view shared by kinds whose release is a noisy matrix of sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from noisewise.releases.contents.gram import MatrixContribution
from noisewise.releases.release import Release
from noisewise.reports import papers
from noisewise.reports.declared import Moments, column_moments
from noisewise.reports.kinds.view import KindView
from noisewise.reports.numbers import Table, count, number, plural, rough
from noisewise.schema.columns import Numeric

DISTRIBUTIONS: Final = {"gaussian": "normal (Gaussian)", "laplace": "Laplace", "wishart": "Wishart"}
SCALED: Final = (
    "In the released sums, a numeric column is scaled so that its bounds become −1 and 1. A category with two levels is −1 or 1, "
    "and each level of a larger category, except the first, is 0 or 1. One row thus counts for at most 1 in a sum of products, "
    "unless rows were averaged.")
AVERAGED: Final = (
    " Rows were first averaged in random groups of {}. A row is then multiplied with the others of its group, and can count for "
    "more than 1 in a sum of products, but for less than 2.")


class SumsView(KindView):
    """Sums from which regressions are fitted."""

    shortened: ClassVar[str] = "columns"
    """The columns whose norm is limited in each row."""

    def noisy_rows(self, contribution: MatrixContribution) -> tuple[float, float]:
        """The corner of the matrix and the standard deviation of its noise."""
        return float(contribution.matrix[0, 0]), contribution.noise.corner

    def noise_size(self, contribution: MatrixContribution) -> float:
        """The standard deviation off the diagonal, in scaled units."""
        return contribution.noise.off_diagonal

    def listed_noise(self, contribution: MatrixContribution) -> float:
        """The standard deviation on the diagonal, in scaled units."""
        return contribution.noise.diagonal

    def noise_words(self, release: Release, holders: Sequence[str]) -> list[str]:
        """Explain scaled units, then state the noise of each contribution."""
        return [SCALED, *super().noise_words(release, holders)]

    def words_of(self, release: Release, contribution: Any) -> str:
        """The noise in scaled units. Unless rows were averaged, it is also compared with the weight of a row."""
        noise = contribution.noise
        words = (f"{DISTRIBUTIONS[noise.distribution]} noise with a standard deviation of {number(noise.off_diagonal)} in each "
                 f"sum of products of two different columns, and of {number(noise.diagonal)} in each sum of squares")
        words += (f"; the number of rows has noise of {number(noise.corner)}." if noise.corner else
                  "; the number of rows is public and has none.")
        words += (AVERAGED.format(count(contribution.average)) if contribution.average > 1 else
                  f" This is about the weight of {plural(max(1, round(noise.off_diagonal)), 'row')}.")
        return words[0].upper() + words[1:]

    def noise_table(self, release: Release) -> Table | None:
        """The noise in the mean of each column or the share of each level; None if no mean was released."""
        rows = []
        for (name, level), moment in self.moments(release).items():
            column = release.schema.column(name)
            if isinstance(column, Numeric):
                rows.append((name, rough(moment.noise * column.half_width), f"{rough(50 * moment.noise)} %"))
            else:
                share = moment.noise / (2 if level is None else 1)
                rows.append((name if level is None else f"{name}[{level}]", f"{rough(100 * share)} %", f"{rough(100 * share)} %"))
        if not rows:
            return None
        return Table.of("Noise in the mean of each column, or in the share of its level: standard deviations",
                        ["Column", "In its own units", "Of its range"], rows)

    def rules(self, release: Release) -> list[str]:
        """The norm to which rows were clipped, if they were."""
        if release.clipped_norm is None:
            return []
        return [f"Rows were clipped where necessary, so that their scaled {self.shortened} have a norm of at most "
                f"{number(release.clipped_norm)}."]

    def moments(self, release: Release) -> Moments:
        """Means and mean squares from the released sums of all holders together."""
        return column_moments(release)

    def papers_of(self, release: Release) -> tuple[str, ...]:
        """The papers on the kind, then those on each distribution of its noise."""
        laws = dict.fromkeys(one.noise.distribution for one in release.contributions)
        return (*self.papers, *(paper for law in laws for paper in papers.OF_NOISE.get(law, ())))
