"""The sections about fits.

They show coefficients and ratios, whether to trust the draws, whether the release agrees with the fit, and the same terms of
several fits side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.methods import CAUTIONS
from noisewise.reports.drawings import RankChart, SharedChart, TermChart, ends_of, level_name, shared_chart, term_chart
from noisewise.reports.given import Fitted, Subject
from noisewise.reports.numbers import Table, chance, count, listed, number, percent, plural, rough
from noisewise.reports.trust import Verdict, check, diagnostics, draws_verdict, mismatch, ranks
from noisewise.results.families import family_of
from noisewise.results.fit_info import DISPERSION, SCALES, SIGMA, PriorSummary, check_interval
from noisewise.results.point_estimate import NO_POSTERIOR, PointEstimate
from noisewise.results.posterior import Posterior
from noisewise.schema.columns import Categorical

INTERCEPT: Final = "Intercept"
USUAL_LEVELS: Final = (0.5, 0.8, 0.95)
MOST_CHARTS, MOST_SHARED_CHARTS, MOST_FITS = 40, 24, 12
LARGEST_DRAWN: Final = 1e100
"""Larger draws, which a file from elsewhere may hold, would overflow the arithmetic of a drawing."""


ROBUST_WORDS: Final = (
    "The intervals are robust: how much residuals vary was measured with noise, not taken from the family. That is for "
    "residuals that vary unequally or have heavy tails. Coefficients stay where they are.")
SCALE_WORDS: Final = {
    SIGMA: " sigma is the residual standard deviation.",
    DISPERSION: " With mean m, counts have the variance m + dispersion × m².",
}


class FitView(NamedTuple):
    """One fit, ready for the template."""

    fitted: Fitted
    result: Posterior | PointEstimate
    letter: str
    subtitle: str
    findings: str
    flags: tuple[str, ...]
    table: Table
    draws: Verdict
    caution: str = ""
    charts: tuple[TermChart, ...] = ()
    left_out: str = ""
    details: Table | None = None
    ratio_name: str | None = None
    ratios: Table | None = None
    sites: tuple[Table, ...] = ()
    diagnostics: Table | None = None
    ranks: tuple[RankChart, ...] = ()
    check: Verdict | None = None
    check_table: Table | None = None

    @property
    def meaning(self) -> str:
        """What a coefficient means."""
        design, family = self.result.design, self.result.info.family
        column, what = design.basis.schema.column(design.response), f"“{design.response}”"
        if isinstance(column, Categorical):
            what = f"{what} being “{column.levels[1]}”"
        change = {
            "logistic": f"the change of the log odds of {what}",
            "probit": f"the change of the normal quantile of the probability of {what}",
            "poisson": f"the change of the log of the expected {what}",
            "negative-binomial": f"the change of the log of the expected {what}",
        }.get(family, f"the change of the mean of {what}")
        words = (f"A coefficient is {change} when its column increases by one unit and all others stay the same. For a level of "
                 "a category, written like ward[T.B], it is the difference from the first level.")
        return words + (SCALE_WORDS.get(family_of(family).scale or "", "") if isinstance(self.result, Posterior) else "")

    @property
    def estimand(self) -> str:
        """What the coefficients describe, and whether the intervals are robust; empty if there is nothing to say."""
        info = self.result.info
        if not info.estimand:
            return ""
        return f"The coefficients describe {info.estimand}." + (f" {ROBUST_WORDS}" if info.robust else "")


def levels_of(interval: float) -> tuple[float, ...]:
    """The usual levels and the requested one."""
    check_interval(interval)
    return tuple(sorted({*USUAL_LEVELS, interval}))


def fit_view(fitted: Fitted, subject: Subject, place: int, interval: float) -> FitView:
    """Everything about a fit; ``place`` counts fits from 1 through the whole report."""
    found = fitted.result
    letter = chr(ord("A") + (place - 1) % 26) + (str((place - 1) // 26) if place > 26 else "")  # A, B, ..., Z, A1, B1, ...
    assert isinstance(found, Posterior | PointEstimate)
    if isinstance(found, PointEstimate):
        rows = [(term, number(float(value))) for term, value in zip(found.terms, found.values, strict=True)]
        problems = tuple(found.diagnose())
        return FitView(
            fitted, found, letter, f"method {found.info.method}, {plural(found.info.holders, 'data holder')}",
            f"This is a {NO_POSTERIOR}.", fitted.flags, Table.of("Estimated coefficients", ["Term", "Estimate"], rows),
            Verdict(not problems, "Do not trust this estimate:" if problems else "The estimate was computed without problems.",
                    problems))
    levels = levels_of(interval)
    shown = drawable(found)[:MOST_CHARTS]
    more, caution = len(found.terms) - len(shown), CAUTIONS.get(found.info.method)
    about = subject if fitted.alone is None else Subject([fitted.alone], fitted.alone.release)
    checked, check_table = check(fitted, found, about, interval)
    return FitView(
        fitted, found, letter, _subtitle(found), findings(found, interval),
        (*fitted.flags, *mismatch(fitted, check_table, about)), _coefficients(found, interval), draws_verdict(found),
        caution=f"Method {found.info.method}: {caution}." if caution else "",
        charts=tuple(term_chart(term, draws, levels, found.prior) for term, draws, _ in _terms(found) if term in shown),
        left_out=f"{more} more terms are only in the table." if more else "", details=_details(found, levels),
        ratio_name=family_of(found.info.family).ratio, ratios=_ratios(found, interval), sites=_sites(found, interval),
        diagnostics=diagnostics(found), ranks=ranks(found), check=checked, check_table=check_table,
    )


def drawable(found: Posterior) -> list[str]:
    """The terms whose draws are small enough to draw."""
    largest = np.abs(found.samples).max(axis=(0, 1))
    return [term for term, value in zip(found.terms, largest, strict=True) if value <= LARGEST_DRAWN]


def _terms(found: Posterior) -> Iterator[tuple[str, Array, float]]:
    """Each term with its draws and their standard deviation."""
    flat = found.samples.reshape(-1, len(found.terms))
    for column, term in enumerate(found.terms):
        yield term, flat[:, column], float(flat[:, column].std())


def _subtitle(found: Posterior) -> str:
    info = found.info
    chains, draws, _ = found.samples.shape
    kind = {"gaussian": "linear", "poisson": "Poisson", "negative-binomial": "negative binomial"}.get(info.family, info.family)
    holders = plural(info.holders, "data holder") + (" together" if info.holders > 1 else "")
    if found.sites is not None:
        holders = f"average coefficients of {found.sites.count} sites"
    return (f"{kind} regression, method {info.method}, {holders}, {plural(chains, 'chain')} of {count(draws)} draws, "
            f"seed {'not recorded' if info.seed is None else info.seed}")


def findings(found: Posterior, interval: float) -> str:
    """Say in one sentence which intervals exclude zero."""
    ends = {term: ends_of(draws, interval) for term, draws, _ in _terms(found) if term not in (INTERCEPT, *SCALES)}
    if not ends:
        return ""
    clear = [f"{term} ({'positive' if low > 0 else 'negative'})" for term, (low, high) in ends.items() if low > 0 or high < 0]
    others = [term for term, (low, high) in ends.items() if not (low > 0 or high < 0)]
    level = percent(interval)
    if not clear:
        return f"No {level} interval of a predictor excludes zero: the release does not settle the sign of any effect."
    intervals, exclude = ("interval", "excludes") if len(clear) == 1 else ("intervals", "exclude")
    that = f"that of {others[0]} does" if len(others) == 1 else f"those of {listed(others, most=3)} do"
    return f"The {level} {intervals} of {listed(clear)} {exclude} zero" + (f"; {that} not." if others else ".")


def _coefficients(found: Posterior, interval: float) -> Table:
    rows = []
    for term, draws, sd in _terms(found):
        low, high = ends_of(draws, interval)
        rows.append((term, number(float(draws.mean()), sd), rough(sd), number(low, sd), number(high, sd),
                     "–" if term in SCALES else chance(float((draws > 0).mean()))))
    return Table.of(f"Coefficients with {percent(interval)} intervals",
                    ["Term", "Mean", "Standard deviation", "From", "To", "Probability above 0"], rows,
                    rest="`noisewise fit --csv` writes them all")


def _details(found: Posterior, levels: Sequence[float]) -> Table:
    headings = ["Term", "Mean", "Median", *(f"{level_name(level)} % {end}" for level in levels for end in ("from", "to"))]
    headings += ["Prior mean", "Prior scale"] if found.prior else []
    rows = []
    for term, draws, sd in _terms(found):
        ends = np.quantile(draws, [end for level in levels for end in check_interval(level)]).tolist()
        values = (float(draws.mean()), float(np.median(draws)), *ends)
        rows.append((term, *(number(value, sd) for value in values), *([] if found.prior is None else _prior(found.prior, term))))
    return Table.of("All numbers in the drawings", headings, rows)


def _prior(prior: PriorSummary, term: str) -> list[str]:
    if not prior.covers(term):
        return ["–", "–"]
    if term in prior.sd:
        return [number(prior.mean[term]), number(prior.sd[term])]
    return ["0 (half-normal)", number(float(prior.sigma_scale or 0.0))]


def _ratios(found: Posterior, interval: float) -> Table | None:
    if family_of(found.info.family).ratio is None or found.terms == (INTERCEPT,):
        return None
    table = found.ratios(interval)
    rows = []
    for term, values in table.iterrows():
        _, middle, low, high, above = (float(value) for value in values)
        rows.append((str(term), *(number(value, (high - low) / 4) for value in (middle, low, high)), chance(above)))
    name = str(table.columns[1])
    return Table.of(f"{name[0].upper()}{name[1:]}s for a change of one unit, with {percent(interval)} intervals",
                    ["Term", "Ratio", "From", "To", "Probability above 1"], rows)


def _sites(found: Posterior, interval: float) -> tuple[Table, ...]:
    if found.sites is None:
        return ()
    between, own = found.sites.summary(interval), found.sites.table(interval)
    spread = [(str(term), *(number(float(row.iloc[place]), float(row.iloc[1])) for place in (0, 2, 3)))
              for term, row in between.iterrows()]
    labels = zip(own.index.get_level_values("site"), own.index.get_level_values("term"), strict=True)
    each = [(f"site {site}", str(term), *(number(float(value), float(row[2] - row[1]) / 4) for value in row))
            for (site, term), row in zip(labels, own.to_numpy(), strict=True)]
    return (Table.of("How much the sites differ: standard deviations between sites", ["Term", "Mean", "From", "To"], spread),
            Table.of("Coefficients of each site", ["Site", "Term", "Mean", "From", "To"], each, words=(0, 1)))


class SideView(NamedTuple):
    """Fits with the same response, and a drawing of each term that at least two of them have."""

    id: str
    fits: tuple[FitView, ...]
    charts: tuple[SharedChart, ...]
    table: Table


def side_by_side(fits: Sequence[FitView], interval: float) -> list[SideView]:
    """Group fits that are comparable: those with the same family and response."""
    alike: dict[tuple[str, str], list[tuple[FitView, Posterior]]] = {}
    for fit in fits:
        if isinstance(fit.result, Posterior):
            alike.setdefault((fit.result.info.family, fit.result.design.response), []).append((fit, fit.result))
    groups = [group[:MOST_FITS] for group in alike.values() if len(group) > 1]
    views = [_side(place, group, interval) for place, group in enumerate(groups, start=1)]
    return [view for view in views if view.charts]


def _side(place: int, group: list[tuple[FitView, Posterior]], interval: float) -> SideView:
    terms = list(dict.fromkeys(term for _, found in group for term in found.terms))
    drawn = [(fit, found, set(drawable(found))) for fit, found in group]
    shared = [term for term in terms if sum(term in its for _, _, its in drawn) > 1]
    charts = [shared_chart(term, {fit.letter: found.draws(term) for fit, found, its in drawn if term in its}, levels_of(interval))
              for term in shared[:MOST_SHARED_CHARTS]]
    rows = []
    for term, fit, draws in ((term, fit, found.draws(term)) for term in terms for fit, found in group if term in found.terms):
        sd = float(draws.std())
        values = (float(draws.mean()), *ends_of(draws, interval))
        rows.append((term, fit.letter, *(number(value, sd) for value in values)))
    return SideView(f"side-{place}", tuple(fit for fit, _ in group), tuple(charts),
                    Table.of(f"The same terms by fit, with {percent(interval)} intervals",
                             ["Term", "Fit", "Mean", "From", "To"], rows, words=(0, 1)))
