"""A `Model` release in a report: what was asked, in how many rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from noisewise.releases.contents.model import ModelContribution
from noisewise.releases.release import Release
from noisewise.reports import papers
from noisewise.reports.declared import Moment, Moments
from noisewise.reports.kinds.view import KindView
from noisewise.reports.numbers import Table, number, percent, plural, rough
from noisewise.results.comparison import Comparison
from noisewise.results.posterior import Posterior
from noisewise.scores.families import FAMILIES
from noisewise.scores.rounds import Round

ROUNDS: Final = (
    "The table was read several times. The first look summed single columns. Each round then summed, over rows, how the "
    "regression fits at given coefficients (the score) and how much the rows tell about them (the information). Where a round "
    "looked was chosen from the noisy sums before it, never from rows. A row adds at most 1 to the score of a round, and at most "
    "1 to its information.")


class _ModelView(KindView):
    papers: ClassVar[tuple[str, ...]] = (papers.BALLE,)
    results: ClassVar[tuple[type, ...]] = (Posterior, Comparison)

    def what(self, release: Release) -> str:
        rounds = sorted({len(one.rounds) for one in release.contributions})
        made = plural(rounds[0], "round") if len(rounds) == 1 else f"{rounds[0]} to {plural(rounds[-1], 'round')}"
        return f"Noisy sums for one regression, {release.title()}, in a first look and {made} (kind {release.kind.variant})."

    def use(self, release: Release) -> str:
        family = release.contributions[0].family
        return (f"You can fit this {family} regression, whose coefficients describe the {FAMILIES[family].estimand}, as often as "
                "you like, without spending more privacy. Other regressions need a release of their own.")

    def noisy_rows(self, contribution: ModelContribution) -> tuple[float, float]:
        """Those of the first look."""
        return contribution.look.rows, contribution.look.rows_noise

    def noise_size(self, contribution: ModelContribution) -> float:
        """The standard deviation on the score of the last round."""
        return contribution.last.noise.score

    def noise_words(self, release: Release, holders: Sequence[str]) -> list[str]:
        return [ROUNDS, *super().noise_words(release, holders)]

    def words_of(self, release: Release, contribution: ModelContribution) -> str:
        last = contribution.last.noise
        return (f"Normal (Gaussian) noise. In the last round it has a standard deviation of {number(last.score)} in each entry "
                f"of the score, about the weight of {plural(max(1, round(last.score)), 'row')}, and of {number(last.matrix)} on "
                "the diagonal of the information.")

    def noise_table(self, release: Release) -> Table:
        rows = [line for place, one in enumerate(release.contributions, start=1)
                for line in _lines(one, f"Holder {place}, " if len(release.contributions) > 1 else "")]
        return Table.of("What was asked, in how many rounds", ["Round", "What was looked at", "Share of the budget",
                        "Noise of the sums or the score", "Noise of the information"], rows, words=(0, 1))

    def rules(self, release: Release) -> list[str]:
        return ["In each round a response far from what the round expected was moved nearer to it, and a row with unusual "
                "predictors counted for less, so that no row adds more than 1."]

    def moments(self, release: Release) -> Moments:
        """Means and mean squares from the first look of all holders together."""
        rows = sum(one.look.rows for one in release.contributions)
        if not rows >= 1:
            return {}
        layout = release.contributions[0].layout
        totals = sum(one.look.sums for one in release.contributions) / rows
        noise = math.sqrt(sum(one.look.noise**2 for one in release.contributions)) / rows
        squares = {place: float(totals[len(layout.columns) + index]) for index, place in enumerate(layout.squared)}
        found: dict[tuple[str, str | None], Moment] = {}
        for place, column in enumerate(layout.columns):
            factor = column.factors[0]
            name = factor.column, None if factor.level is None else str(factor.level)
            found[name] = Moment(float(totals[place]), noise, *((squares[place], noise) if place in squares else ()))
        return found

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        return [("fit",)]


def _lines(one: ModelContribution, whose: str) -> Iterator[tuple[str, ...]]:
    first, *shares = one.shares()
    sums = f"{plural(len(one.look.sums), 'sum')} of single columns"
    yield f"{whose}first look", sums, percent(first), rough(one.look.noise), "–"
    for place, (share, made) in enumerate(zip(shares, one.rounds, strict=True), start=1):
        yield (f"{whose}round {place}" + (", the last" if made is one.last else ""), _looked_at(made), percent(share),
               rough(made.noise.score), rough(made.noise.matrix))


def _looked_at(made: Round) -> str:
    more = [*(["squared residuals"] if made.square is not None else []),
            *(["the score's squares"] if made.spread is not None else [])]
    return " and ".join([", ".join(["score", "information", *more[:-1]]), *more[-1:]]) if more else "score and information"


VIEW = _ModelView()
