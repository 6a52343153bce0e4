"""The same terms of several fits, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.report.fits import FitView, drawable, levels_of
from noisewise.report.numbers import number, percent
from noisewise.report.svg.term import SharedChart, level_name, shared_chart
from noisewise.report.tables import Table
from noisewise.results.posterior import Posterior
from noisewise.results.records import check_interval

MOST_CHARTS: Final = 24
MOST_FITS: Final = 12


@dataclass(frozen=True)
class SideView:
    """Fits with a common response, and a drawing for each term that at least two of them have."""

    id: str
    fits: tuple[tuple[str, str, str], ...]
    """Letter, formula and what else tells it from the others."""
    levels: tuple[str, ...]
    chosen: str
    charts: tuple[SharedChart, ...]
    table: Table


def side_by_side(fits: Sequence[FitView], interval: float) -> list[SideView]:
    """Fits of one family and response are comparable; the others are not."""
    alike: dict[tuple[str, str], list[tuple[FitView, Posterior]]] = {}
    for fit in fits:
        if isinstance(fit.result, Posterior):
            alike.setdefault((fit.result.info.family, fit.result.design.response), []).append((fit, fit.result))
    views = [_view(number_, group[:MOST_FITS], interval)
             for number_, group in enumerate((group for group in alike.values() if len(group) > 1), start=1)]
    return [view for view in views if view.charts]


def _view(place: int, group: list[tuple[FitView, Posterior]], interval: float) -> SideView:
    levels = levels_of(interval)
    terms = list(dict.fromkeys(term for _, found in group for term in found.terms))
    drawn = [(fit, found, {term for _, term in drawable(found)}) for fit, found in group]
    shared = [term for term in terms if sum(term in its for _, _, its in drawn) > 1]
    charts = [shared_chart(term, {fit.letter: found.draws(term) for fit, found, its in drawn if term in its}, levels)
              for term in shared[:MOST_CHARTS]]
    rows = []
    for term in terms:
        for fit, found in group:
            if term in found.terms:
                draws = found.draws(term)
                sd = float(draws.std())
                low, high = np.quantile(draws, check_interval(interval)).tolist()
                rows.append((term, fit.letter, number(float(draws.mean()), sd), number(low, sd), number(high, sd)))
    fits = tuple((fit.letter, fit.formula, f"{fit.name}, {fit.subtitle}") for fit, _ in group)
    return SideView(f"side-{place}", fits, tuple(map(level_name, levels)), level_name(interval), tuple(charts),
                    Table.of(f"The same terms by fit, with {percent(interval)} intervals",
                             ["Term", "Fit", "Mean", "From", "To"], rows, words=(0, 1)))
