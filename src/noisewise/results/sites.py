"""`SiteEffects`: each site's coefficients, and how much the sites differ, from a fit with random effects by site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import ResultError
from noisewise.notebook import card, frame
from noisewise.results.fit_info import check_interval, frozen
from noisewise.results.summary import percent_label, summary_table

if TYPE_CHECKING:
    import pandas

LOG_SIGMA = "log sigma"


@dataclass(frozen=True, eq=False, repr=False)
class SiteEffects:
    """Draws of the standard deviations between sites, and of each site's own coefficients, in the user's units.

    `terms` are the coefficients and "sigma"; `varying` are those that differ between sites ("log sigma" for the residual
    standard deviation, whose deviations are relative). `between` has shape (chains, draws, varying), `own` has shape (sites,
    draws, terms). The deviation of an intercept is the deviation of the response at the midpoint of all predictors' ranges.
    """

    terms: tuple[str, ...]
    varying: tuple[str, ...]
    between: Array
    own: Array

    def __post_init__(self) -> None:
        for name, last in (("between", self.varying), ("own", self.terms)):
            values = frozen(getattr(self, name))
            if values.ndim != 3 or 0 in values.shape or values.shape[2] != len(last):
                raise ResultError(f"{name} must have three axes, the last of length {len(last)}", argument=name,
                                  found=str(values.shape))
            if not np.isfinite(values).all() or (name == "between" and (values < 0).any()):
                raise ResultError("draws must be finite, and standard deviations >= 0", argument=name)
            object.__setattr__(self, name, values)

    @property
    def count(self) -> int:
        """The number of sites."""
        return len(self.own)

    @property
    def deviations(self) -> pandas.DataFrame:
        """All draws of the standard deviations between sites, one column for each varying term."""
        import pandas

        return pandas.DataFrame(self.between.reshape(-1, len(self.varying)), columns=list(self.varying))

    def summary(self, interval: float = 0.95) -> pandas.DataFrame:
        """Summarise how much the sites differ: mean, sd, interval, effective sizes and R-hat of each standard deviation."""
        return summary_table(self.between, self.varying, interval).drop(columns="P(>0)")

    def coefficients(self, site: int) -> pandas.DataFrame:
        """Return the draws of one site's coefficients and sigma. Sites are numbered from 1, in the order of the releases."""
        import pandas

        if isinstance(site, bool) or not isinstance(site, (int, np.integer)) or not 1 <= site <= self.count:
            raise ResultError(f"site must be a whole number from 1 to {self.count}", argument="site", found=repr(site))
        return pandas.DataFrame(self.own[site - 1], columns=list(self.terms))

    def table(self, interval: float = 0.95) -> pandas.DataFrame:
        """Mean and interval of every coefficient at every site."""
        import pandas

        low, high = check_interval(interval)
        lower, upper = np.quantile(self.own, [low, high], axis=1)
        index = pandas.MultiIndex.from_product([range(1, self.count + 1), self.terms], names=["site", "term"])
        columns = {"mean": self.own.mean(axis=1), percent_label(low): lower, percent_label(high): upper}
        return pandas.DataFrame({name: values.reshape(-1) for name, values in columns.items()}, index=index)

    def __repr__(self) -> str:
        return f"<SiteEffects of {self.count} sites, varying: {', '.join(self.varying)}>"

    def _repr_html_(self) -> str:
        return card(f"How much {self.count} sites differ", frame(self.summary()))
