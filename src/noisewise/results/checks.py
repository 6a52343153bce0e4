"""The predictive check: do every holder's released statistics look the way the fit expects?

``Posterior.check(release)`` returns a `PredictiveCheck`. How it compares is up to the kind of release (``results.kinds``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING

from noisewise.errors import FormulaError, ResultError
from noisewise.kinds.registry import has_room, module_of
from noisewise.notebook import card, frame
from noisewise.releases.combine import combine
from noisewise.releases.release import Release
from noisewise.releases.source import source_of
from noisewise.results.check_findings import ALL
from noisewise.results.fit_info import check_interval
from noisewise.schema.design import Design
from noisewise.words import option

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from noisewise.results.posterior import Posterior

FITTED = "give the files that were fitted, or fit these and check that fit"
LEVEL = 0.01
"""The probability that `problems` reports anything although the model holds for every holder."""


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Observed and expected statistics of every holder.

    ``table`` has one row for each holder and statistic, with the index (holder, statistic) and the columns ``observed``,
    ``expected``, ``lower`` and ``upper`` (which would contain a new release with probability ``interval``), and ``p`` (the
    probability of a value at least as far out). A holder's statistics are per row of its table and in the user's units: the mean
    residual, the mean product of the residual and each predictor (centred at its mean), the mean squared residual, and
    ``overall``, the distance of all of them together (a chi-square). The rows of holder ``all`` show whether the holders agree
    and, for each released column that the formula leaves out, whether the residuals depend on it.

    A logistic, probit or Poisson regression has the mean response instead of the mean residual (for two levels, the share of the
    second) and no squared residual. Counts whose squares were released have the ``dispersion``, their variance relative to a
    Poisson distribution's. The holder ``all`` then also has the mean response and the dispersion.

    A single holder's statistics determine the fit, so they always look fine, and there is no ``overall``. Only the columns that
    the formula leaves out, and the dispersion of counts, can then reveal a problem.

    Fits to model releases have the mean residual and its products for every family, after the weights of rows. They also have
    the ``rounds``, the distance of the round that differs most from the last one (a chi-square), and a ``variance ratio``: how
    much counts or residuals vary, relative to what the family expects. Robust intervals allow for any, so they have none.
    """

    table: pandas.DataFrame
    formula: str
    interval: float
    single: bool
    """True if there is only one holder."""
    alone: str = "nothing"
    """What could contradict the fit of a single holder, in words."""

    def problems(self, level: float = LEVEL) -> list[str]:
        """List what does not fit, in words. Empty if everything fits. ``level`` is shared among all statistics checked."""
        from noisewise.results import check_findings

        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise ResultError("level must be between 0 and 1", argument="level", found=repr(level), remedy="for example 0.01")
        return check_findings.problems(self.table, level)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot expected (bar) and released (dot) values, with one panel for each statistic and one line for each holder."""
        from noisewise.plots.checks import draw_check

        return draw_check(self, path)

    def __repr__(self) -> str:
        holders = len(set(self.table.index.get_level_values("holder")) - {ALL})
        return f"<PredictiveCheck {self.formula!r}: {holders} holders, {len(self.problems())} problems>"

    def _repr_html_(self) -> str:
        return card(self.formula, frame(self.table), notes=self.problems())


def check_release(posterior: Posterior, release: Release | Sequence[Release], holders: Sequence[str] | None,
                  interval: float) -> PredictiveCheck:
    """Compare a posterior with the release it was fitted to."""
    check_interval(interval)
    together = combine(release)
    posterior = _on_columns(posterior, together)
    module = _checker(posterior, together)
    names = _holder_names(holders, together.holders)
    table = module.table(posterior, together, names, interval)
    return PredictiveCheck(table, posterior.info.formula, interval, together.holders == 1, module.ALONE)


def _on_columns(posterior: Posterior, release: Release) -> Posterior:
    """A fit from a file knows all columns of its schema, a release for one regression only those it needs, in another order."""
    design = posterior.design
    known = design.basis.columns
    if design.basis.schema != release.schema or release.columns == known or not set(release.columns) <= set(known):
        return posterior
    try:
        found = Design.of(design.formula, release.basis, release.terms)
    except FormulaError:
        return posterior
    return replace(posterior, design=found) if found.terms == design.terms else posterior


def _checker(posterior: Posterior, release: Release) -> ModuleType:
    """The module that checks this kind of release, after checking that the fit is one to it."""
    module = module_of(release.kind, "check") if has_room(release.kind, "check") else None
    if module is None or not module.can_check(posterior):
        raise ResultError("predictive checks require releases of kind gram or model",
                          found=f"a release of kind {release.kind.name}",
                          remedy="give the releases that were fitted; other kinds lack the statistics to check")
    if release.pooled:
        raise ResultError("a check needs each holder's statistics", found="holders pooled on loading",
                          remedy="load their files without " + option("pooled", True))
    if release.columns != posterior.design.basis.columns or release.schema != posterior.design.basis.schema:
        raise ResultError("the releases must have the schema and terms of the fit", found="another schema or other terms",
                          remedy="give the files that were fitted")
    if release.holders != posterior.info.holders:  # the check assumes that the fit used the statistics it is checked against
        raise ResultError("give exactly the releases that were fitted",
                          found=f"a fit of {posterior.info.holders} holders and the releases of {release.holders}",
                          remedy=FITTED)
    if posterior.info.source not in ("", source_of(release)):
        raise ResultError("give exactly the releases that were fitted", found="a fit of other releases with the same columns",
                          remedy=FITTED)
    return module


def _holder_names(given: Sequence[str] | None, count: int) -> list[str]:
    names = [str(number) for number in range(1, count + 1)] if given is None else [str(name) for name in given]
    if len(names) != count or len(set(names)) < count or ALL in names:
        raise ResultError(f"holders must have different names, none of them '{ALL}'", argument="holders",
                          found=f"{len(names)} names for {count} holders", remedy="give one name for each holder")
    return names
