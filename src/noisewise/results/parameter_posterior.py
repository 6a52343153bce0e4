"""`ParameterPosterior`: draws of the one or two parameters of a distribution, without a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import ResultError
from noisewise.notebook import card, frame
from noisewise.results import arviz_export
from noisewise.results import summary as summaries
from noisewise.results.fit_info import FitInfo, check_interval, frozen

if TYPE_CHECKING:
    import pandas

CHAINED: Final = ("gibbs",)
"""Methods whose draws form chains; all others draw independently."""
BEFORE: Final = " before clipping"
"""Suffix of a term that describes the values before clipping, when another term describes the clipped values."""
FAMILY_NAMES: Final = {"normal": "normal", "poisson": "Poisson", "exponential": "exponential"}
"""Families whose values bounds may clip, with the spelling to print."""


@dataclass(frozen=True, eq=False, repr=False)
class ParameterPosterior:
    """Draws of a parameter in the user's units; ``samples`` has shape (chains, draws, terms).

    >>> info = FitInfo("exact", "poisson", "visits", seed=1, chains=1, draws=1000)
    >>> rates = np.random.default_rng(1).gamma(400.0, 0.01, (1, 1000, 1))
    >>> post = ParameterPosterior(rates, ("rate",), info)
    >>> post
    <ParameterPosterior of visits, poisson, method exact: rate 4 (95 %: 3.61 to 4.41)>
    """

    samples: Array
    terms: tuple[str, ...]
    info: FitInfo

    def __post_init__(self) -> None:
        samples = frozen(self.samples)
        if samples.ndim != 3 or 0 in samples.shape or samples.shape[2] != len(self.terms) or not np.isfinite(samples).all():
            raise ResultError(f"samples must be finite and have shape (chains, draws, {len(self.terms)} terms)",
                              argument="samples", found=str(samples.shape))
        object.__setattr__(self, "samples", samples)

    def summary(self, interval: float = 0.95) -> pandas.DataFrame:
        """Tabulate mean, sd, equal-tailed interval, effective sizes, R-hat and P(>0) for each parameter."""
        return summaries.summary_table(self.samples, self.terms, interval)

    def interval(self, probability: float = 0.95, term: str | None = None) -> tuple[float, float]:
        """Return the equal-tailed interval of a parameter, by default the first."""
        low, high = np.quantile(self.draws(term), check_interval(probability))
        return float(low), float(high)

    def draws(self, term: str | None = None) -> Array:
        """Return all draws of a parameter, by default the first."""
        name = self.terms[0] if term is None else term
        if name not in self.terms:
            raise ResultError("unknown parameter", argument="term", found=str(term), known=self.terms)
        return self.samples[:, :, self.terms.index(name)].reshape(-1)

    def rests_on(self, term: str) -> str:
        """State in words the condition under which a term means what its name says; empty if it always does.

        >>> info = FitInfo("exact", "poisson", "visits", seed=1, chains=1, draws=1)
        >>> ParameterPosterior(np.ones((1, 1, 1)), ("rate",), info).rests_on("rate")
        'if the column is Poisson'
        """
        family = FAMILY_NAMES.get(self.info.family)
        if family is None or (family == "normal" and not term.endswith(BEFORE)):
            return ""
        return f"if the column is {family}" if self.info.method == "exact" else "if no row was clipped"

    @property
    def mean(self) -> float:
        """The mean of the first parameter."""
        return float(self.draws().mean())

    @property
    def sd(self) -> float:
        """The standard deviation of the first parameter."""
        return float(self.draws().std(ddof=1))

    def to_arviz(self) -> Any:
        """Export to ArviZ: InferenceData (ArviZ 0.x) or an xarray DataTree (ArviZ 1.x)."""
        return arviz_export.to_arviz(self.samples, self.terms, self.info, None)

    def diagnose(self) -> list[str]:
        """List the reasons not to trust the draws yet, in plain words. Empty if there are none."""
        found = (summaries.problems(self.samples, self.terms, 0) if self.info.method in CHAINED
                 else summaries.too_few_independent(self.samples))
        return [*self.info.doubts, *found]

    def __repr__(self) -> str:
        low, high = self.interval()
        return (f"<ParameterPosterior of {self.info.formula}, {self.info.family}, method {self.info.method}: "
                f"{self.terms[0]} {self.mean:.3g} (95 %: {low:.3g} to {high:.3g})>")

    def _repr_html_(self) -> str:
        heading = f"{self.info.formula}: {self.info.family}, method {self.info.method}"
        conditions = [f"{term}: {words}" for term in self.terms if (words := self.rests_on(term))]
        return card(heading, frame(self.summary()), notes=[*conditions, *self.diagnose()])
