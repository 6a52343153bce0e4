"""Several methods on one release, side by side: table, notes and plot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisewise.notebook import card, frame
from noisewise.results.fit_info import check_interval
from noisewise.results.summary import percent_label

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from noisewise.results.posterior import Posterior


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Fits of one formula to one release by several methods.

    All mappings have method names as keys. ``posteriors`` are the fits, ``refused`` the reasons why a method was not fitted, and
    ``cautions`` the known weaknesses of a method's intervals. ``default`` is the method that `fit` uses if none is named.
    """

    formula: str
    posteriors: Mapping[str, Posterior]
    refused: Mapping[str, str]
    cautions: Mapping[str, str]
    default: str

    def table(self, interval: float = 0.95) -> pandas.DataFrame:
        """Tabulate mean, sd, the ends of the interval and its width, one row for each term and method."""
        import pandas

        low, high = (percent_label(tail) for tail in check_interval(interval))
        if not self.posteriors:
            return pandas.DataFrame(columns=["mean", "sd", low, high, "width"])
        found = {name: posterior.summary(interval)[["mean", "sd", low, high]] for name, posterior in self.posteriors.items()}
        together = pandas.concat(found, names=["method"]).swaplevel()
        terms = dict.fromkeys(together.index.get_level_values("term"))
        order = [(term, name) for term in terms for name in self.posteriors if (term, name) in together.index]
        return together.assign(width=together[high] - together[low]).loc[order]

    def methods(self) -> pandas.DataFrame:
        """Tabulate seconds, smallest effective sample size, effective draws per second, and notes, one row for each method."""
        import pandas

        rows = []
        for name, posterior in self.posteriors.items():
            summary = posterior.summary()
            least = float(summary[["ess_bulk", "ess_tail"]].min().min())  # NaN if there are too few draws
            seconds = posterior.info.seconds
            rows.append((name, seconds, least, least / seconds if seconds > 0 else np.nan, self.notes(name)))
        rows += [(name, np.nan, np.nan, np.nan, self.notes(name)) for name in self.refused]
        table = pandas.DataFrame.from_records(rows, columns=["method", "seconds", "ess", "ess_per_second", "notes"])
        return table.set_index("method")

    def notes(self, method: str) -> list[str]:
        """List the remarks on a method: the default, refused, poorly calibrated, draws not to be trusted."""
        found = ["the default"] if method == self.default else []
        if method in self.refused:
            found.append(f"not fitted: {self.refused[method]}")
        if method in self.cautions:
            found.append(self.cautions[method])
        if method in self.posteriors:
            found += [f"do not trust these draws yet: {problem}" for problem in self.posteriors[method].diagnose()]
        return found

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot mean, 50 % and 95 % interval, with one panel for each term and one line for each method."""
        from noisewise.plots.method_comparison import draw_comparison

        return draw_comparison(self, path)

    def __repr__(self) -> str:
        return f"<MethodComparison {self.formula!r}: {', '.join(self.posteriors)}>"

    def _repr_html_(self) -> str:
        notes = [f"{name}: {note}" for name in (*self.posteriors, *self.refused) for note in self.notes(name)]
        return card(self.formula, frame(self.table()), frame(self.methods()), notes=notes)
