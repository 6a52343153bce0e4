"""All that is said about one fit: coefficients, ratios, whether to trust the draws, and whether the release agrees with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.report.given import Fitted, Subject
from noisewise.report.numbers import chance, count, listed, number, percent, plural, rough
from noisewise.report.svg.ranks import RankChart
from noisewise.report.svg.term import TermChart, level_name, term_chart
from noisewise.report.tables import Table
from noisewise.report.trust import Verdict, check, diagnostics, draws_verdict, mismatch, ranks
from noisewise.results.families import family_of
from noisewise.results.point_estimate import NO_POSTERIOR, PointEstimate
from noisewise.results.posterior import Posterior
from noisewise.results.records import SIGMA, PriorSummary, check_interval
from noisewise.schema.columns import Categorical

INTERCEPT: Final = "Intercept"
USUAL_LEVELS: Final = (0.5, 0.8, 0.95)
MOST_CHARTS: Final = 40
LARGEST_DRAWN: Final = 1e100
"""Larger draws, which a file from elsewhere may hold, leave no room for the arithmetic of a drawing."""


@dataclass(frozen=True)
class FitView:
    """One fit, ready for the template."""

    id: str
    letter: str
    name: str
    formula: str
    subtitle: str
    origin: str
    meaning: str
    findings: str
    flags: tuple[str, ...]
    cautions: tuple[str, ...]
    levels: tuple[str, ...]
    chosen: str
    charts: tuple[TermChart, ...]
    left_out: str
    has_prior: bool
    table: Table
    details: Table | None = None
    ratio_name: str | None = None
    ratios: Table | None = None
    sites: tuple[Table, ...] = ()
    draws: Verdict | None = None
    diagnostics: Table | None = None
    ranks: tuple[RankChart, ...] = ()
    check: Verdict | None = None
    check_table: Table | None = None
    result: Posterior | PointEstimate | None = None


def levels_of(interval: float) -> tuple[float, ...]:
    """The usual levels and the one that was asked for."""
    check_interval(interval)
    return tuple(sorted({*USUAL_LEVELS, interval}))


def fit_view(fitted: Fitted, subject: Subject, place: int, interval: float) -> FitView:
    """Everything about a fit; ``place`` counts from 1 through the whole report."""
    found = fitted.result
    assert isinstance(found, Posterior | PointEstimate)
    if isinstance(found, PointEstimate):
        return _point(fitted, found, place)
    return _posterior(fitted, found, subject, place, interval)


def drawable(found: Posterior) -> list[tuple[int, str]]:
    """The terms that can be drawn, with their columns."""
    largest = np.abs(found.samples).max(axis=(0, 1))
    return [(column, term) for column, term in enumerate(found.terms) if largest[column] <= LARGEST_DRAWN]


def letter_of(place: int) -> str:
    """A, B, ..., Z, A1, B1, ..."""
    return chr(ord("A") + (place - 1) % 26) + (str((place - 1) // 26) if place > 26 else "")


def _point(fitted: Fitted, found: PointEstimate, place: int) -> FitView:
    rows = [(term, number(float(value))) for term, value in zip(found.terms, found.values, strict=True)]
    problems = tuple(found.diagnose())
    return FitView(
        id=f"fit-{place}", letter=letter_of(place), name=fitted.name, formula=found.info.formula,
        subtitle=f"method {found.info.method}, {plural(found.info.holders, 'data holder')}", origin=fitted.origin,
        meaning=_meaning(found),
        findings=f"This is a {NO_POSTERIOR}.", flags=fitted.flags, cautions=(), levels=(), chosen="", charts=(), left_out="",
        has_prior=False, table=Table.of("Estimated coefficients", ["Term", "Estimate"], rows),
        draws=Verdict(not problems, "The estimate was made without difficulties." if not problems else
                      "Do not trust this estimate:", problems), result=found,
    )


def _posterior(fitted: Fitted, found: Posterior, subject: Subject, place: int, interval: float) -> FitView:
    from noisewise.posterior.compare import CAUTIONS

    levels, flat = levels_of(interval), found.samples.reshape(-1, len(found.terms))
    shown = drawable(found)[:MOST_CHARTS]
    caution = CAUTIONS.get(found.info.method)
    about = subject if fitted.alone is None else Subject([fitted.alone], fitted.alone.release)
    checked, check_table = check(fitted, found, about, interval)
    return FitView(
        id=f"fit-{place}", letter=letter_of(place), name=fitted.name, formula=found.info.formula, subtitle=_subtitle(found),
        origin=fitted.origin, meaning=_meaning(found), findings=findings(found, interval),
        flags=(*fitted.flags, *mismatch(fitted, check_table, about)),
        cautions=(f"Method {found.info.method}: {caution}.",) if caution else (),
        levels=tuple(map(level_name, levels)), chosen=level_name(interval),
        charts=tuple(term_chart(term, flat[:, column], levels, found.prior) for column, term in shown),
        left_out=f"{len(found.terms) - len(shown)} further terms are in the table only." if len(found.terms) > len(shown) else "",
        has_prior=found.prior is not None, table=_coefficients(found, interval), details=_details(found, levels),
        ratio_name=family_of(found.info.family).ratio, ratios=_ratios(found, interval), sites=_sites(found, interval),
        draws=draws_verdict(found), diagnostics=diagnostics(found), ranks=ranks(found), check=checked,
        check_table=check_table, result=found,
    )


def _subtitle(found: Posterior) -> str:
    info = found.info
    chains, draws, _ = found.samples.shape
    kind = "linear" if found.has_sigma else family_of(info.family).name.capitalize() if info.family == "poisson" else info.family
    holders = plural(info.holders, "data holder") + (" together" if info.holders > 1 else "")
    if found.sites is not None:
        holders = f"coefficients of an average of {found.sites.count} sites"
    return (f"{kind} regression, method {info.method}, {holders}, {plural(chains, 'chain')} of {count(draws)} draws, "
            f"seed {'not recorded' if info.seed is None else info.seed}")


def _meaning(found: Posterior | PointEstimate) -> str:
    """What a coefficient is."""
    column = found.design.basis.schema.column(found.design.response)
    what = f"“{found.design.response}”"
    if isinstance(column, Categorical):
        what = f"{what} being “{column.levels[1]}”"
    family = found.info.family
    change = {
        "logistic": f"the change of the log odds of {what}",
        "probit": f"the change of the normal quantile of the probability of {what}",
        "poisson": f"the change of the log of the expected {what}",
    }.get(family, f"the change of the mean of {what}")
    words = (f"A coefficient is {change} when its column grows by one unit and all others stay as they are; for a level of a "
             "category, written like ward[T.B], the difference from the first level.")
    return words + (" sigma is the residual standard deviation." if family == "gaussian" and isinstance(found, Posterior) else "")


def findings(found: Posterior, interval: float) -> str:
    """Which intervals leave zero out, in one sentence."""
    predictors = [term for term in found.terms if term not in (INTERCEPT, SIGMA)]
    if not predictors:
        return ""
    flat = found.samples.reshape(-1, len(found.terms))
    clear: dict[str, str] = {}
    for term in predictors:
        low, high = np.quantile(flat[:, found.terms.index(term)], check_interval(interval))
        if low > 0 or high < 0:
            clear[term] = f"{term} ({'positive' if low > 0 else 'negative'})"
    level = percent(interval)
    if not clear:
        return f"No {level} interval of a predictor leaves zero out: the release does not settle the sign of any effect."
    others = [term for term in predictors if term not in clear]
    intervals, leave = ("interval", "leaves") if len(clear) == 1 else ("intervals", "leave")
    return (f"The {level} {intervals} of {listed(list(clear.values()))} {leave} zero out"
            + (f"; {_that_of(others)} not." if others else "."))


def _that_of(terms: list[str]) -> str:
    return f"that of {terms[0]} does" if len(terms) == 1 else f"those of {listed(terms, most=3)} do"


def _coefficients(found: Posterior, interval: float) -> Table:
    flat = found.samples.reshape(-1, len(found.terms))
    rows = []
    for column, term in enumerate(found.terms):
        draws = flat[:, column]
        sd = float(draws.std())
        low, high = np.quantile(draws, check_interval(interval)).tolist()
        rows.append((term, number(float(draws.mean()), sd), rough(sd), number(low, sd), number(high, sd),
                     "–" if term == SIGMA else chance(float((draws > 0).mean()))))
    return Table.of(f"Coefficients with {percent(interval)} intervals",
                    ["Term", "Mean", "Standard deviation", "From", "To", "Probability above 0"], rows,
                    rest="`noisewise fit --csv` writes them all")


def _details(found: Posterior, levels: Sequence[float]) -> Table:
    flat = found.samples.reshape(-1, len(found.terms))
    headings = ["Term", "Mean", "Median", *(f"{level_name(level)} % {end}" for level in levels for end in ("from", "to"))]
    headings += ["Prior mean", "Prior scale"] if found.prior else []
    rows = []
    for column, term in enumerate(found.terms):
        draws, sd = flat[:, column], float(flat[:, column].std())
        values = [float(draws.mean()), float(np.median(draws)), *np.quantile(draws, [end for level in levels
                                                                                     for end in check_interval(level)]).tolist()]
        rows.append((term, *(number(value, sd) for value in values), *([] if found.prior is None else _prior(found.prior, term))))
    return Table.of("All numbers of the drawings", headings, rows)


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
    return Table.of(f"{name[0].upper()}{name[1:]}s for a change by one unit, with {percent(interval)} intervals",
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
    return (Table.of("How much the sites differ: standard deviations between them", ["Term", "Mean", "From", "To"], spread),
            Table.of("Coefficients of each site", ["Site", "Term", "Mean", "From", "To"], each, words=(0, 1)))
