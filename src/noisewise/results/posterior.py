"""`Posterior`: what `noisewise.fit` returns. This file wires; the work is done in the files beside it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import ConvergenceWarning, ResultError
from noisewise.notebook import card, frame
from noisewise.results import arviz_export, prediction, store
from noisewise.results import summary as summaries
from noisewise.results.families import GAUSSIAN, family_of
from noisewise.results.fit_info import SIGMA, FitInfo, PriorSummary, check_interval, frozen
from noisewise.results.new_rows import declared_levels, more_probable_levels, read_rows
from noisewise.results.sites import SiteEffects
from noisewise.words import option

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.releases.release import Release
    from noisewise.results.checks import PredictiveCheck
    from noisewise.schema import Design

Reference = Mapping[str, float] | Mapping[str, Mapping[str, float]]
INDEPENDENT = ("laplace", "fast", "model-averaging", "simex", "naive")
"""Methods whose draws are independent; the sigma of "fast" is a constant."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws of regression coefficients, in the user's units, and of a linear regression's sigma.

    `samples` has the shape (chains, draws, terms); the last of a linear regression's `terms` is "sigma". `diverging`, if the
    sampler knows it, marks each draw whose trajectory diverged. With random effects by site the samples are those of the
    population, that is of an average site, and `sites` tells how much the sites differ.

    >>> post = noisewise.fit("stay ~ age + ward", release)    # doctest: +SKIP
    >>> post.summary().loc["age", ["2.5%", "97.5%"]]           # doctest: +SKIP
    >>> post.predict({"age": [40, 70], "ward": "B"})           # doctest: +SKIP
    """

    samples: Array
    terms: tuple[str, ...]
    design: Design
    info: FitInfo
    prior: PriorSummary | None = None
    diverging: Flags | None = None
    sites: SiteEffects | None = None

    def __post_init__(self) -> None:
        family_of(self.info.family)
        samples = frozen(self.samples, np.float64)
        terms = tuple(self.terms)
        if samples.ndim != 3 or 0 in samples.shape or samples.shape[2] != len(terms):
            raise ResultError(f"samples have the shape (chains, draws, {len(terms)} terms)", found=str(samples.shape))
        if terms != (*self.design.terms, *((SIGMA,) if self.has_sigma else ())):
            raise ResultError("the terms are those of the design and, in a linear regression, sigma",
                              found=", ".join(map(str, terms)))
        if not np.isfinite(samples).all() or (self.has_sigma and (samples[..., -1] < 0).any()):
            raise ResultError("draws are finite numbers and sigma is not negative")
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "terms", terms)
        if self.diverging is not None:
            diverging = frozen(self.diverging, np.bool_)
            if diverging.shape != samples.shape[:2]:
                raise ResultError("diverging has the shape (chains, draws)", found=str(diverging.shape))
            object.__setattr__(self, "diverging", diverging)
        if self.sites is not None and (self.sites.terms != terms or self.sites.between.shape[:2] != samples.shape[:2]):
            raise ResultError("the sites have the terms, chains and draws of their population", found=", ".join(self.sites.terms))

    @property
    def has_sigma(self) -> bool:
        """Whether the last term is the residual standard deviation: only linear regression has one."""
        return self.info.family == GAUSSIAN.name

    def summary(self, interval: float = 0.95) -> pandas.DataFrame:
        """Mean, sd, equal-tailed interval, effective sizes, R-hat and P(>0) of each term."""
        return summaries.summary_table(self.samples, self.terms, interval)

    @overload
    def draws(self, term: None = None) -> pandas.DataFrame: ...

    @overload
    def draws(self, term: str) -> Array: ...

    def draws(self, term: str | None = None) -> pandas.DataFrame | Array:
        """All draws of a term, chain after chain; without a term, all of them with one column per term."""
        if term is None:
            import pandas

            return pandas.DataFrame(self.samples.reshape(-1, len(self.terms)), columns=list(self.terms))
        return self.samples[:, :, self._position(term)].reshape(-1)

    def predict(self, new_rows: object, interval: float = 0.95, kind: Literal["response", "mean"] | None = None
                ) -> pandas.DataFrame:
        """Columns `mean, lower, upper` for each new row.

        `kind="mean"`: the interval holds the average response of such rows; of two levels the probability of the second one, of
        counts the expected count (before any cutting off at the declared maximum). `kind="response"`: the interval holds
        a new response of such a row, sigma included; for counts these are whole numbers. A new response with two levels has no
        useful interval: there `mean, lower, upper` are those of the probability, and a column `level` has the likelier level.
        By default a linear regression gives `kind="response"` and every other family `kind="mean"`.

        `new_rows` is a pandas or polars DataFrame, an Arrow table or a dict of columns, where a single value stands for a whole
        column. Values outside the declared bounds are extrapolated along the line.
        """
        import pandas

        tails = check_interval(interval)
        family = family_of(self.info.family)
        chosen = family.default_prediction if kind is None else kind
        if chosen not in ("response", "mean"):
            raise ResultError("kind is 'response' or 'mean'", found=repr(kind))
        columns, index = read_rows(new_rows, self.design.columns_needed, declared_levels(self.design))
        flat = self.samples.reshape(-1, len(self.terms))
        coefficients, sigma = flat[:, : len(self.design.terms)], flat[:, -1] if self.has_sigma else None
        ends = (prediction.credible_ends(family, tails) if chosen == "mean"
                else prediction.predictive_ends(family, sigma, tails))
        mean, lower, upper = prediction.predict_rows(columns, len(index), self.design, coefficients, ends)
        table = pandas.DataFrame({"mean": mean, "lower": lower, "upper": upper}, index=index)
        if chosen == "response" and family.response == "two levels":
            table["level"] = more_probable_levels(self.design, mean)
        return table

    def ratios(self, interval: float = 0.95, per: Mapping[str, float] | None = None) -> pandas.DataFrame:
        """Odds ratios of a logistic regression, incidence-rate ratios of a Poisson regression: exp(coefficient × per).

        One row for each predictor: `per` (by how much the predictor changes, 1 unless given: `per={"age": 10}` is for ten
        years), the ratio (posterior median), its interval and `P(>1)`. A predictor that stands in several terms, as in
        `age + I(age**2)`, changes all of them at once: no single ratio says what it does, but `predict` does.
        """
        draws = self.samples.reshape(-1, len(self.terms))
        return summaries.ratio_table(draws, self.terms, family_of(self.info.family), interval, per)

    def plot(self, kind: Literal["forest", "posterior"] = "forest", reference: Reference | None = None,
             terms: Sequence[str] | None = None, ax: Axes | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """A picture of the coefficients with their prior.

        `kind="forest"`: one row per term with its own axis, point, 50 % and 95 % interval. `kind="posterior"`: one
        density per term. `reference` marks values to compare with: `{"age": 0.3}` or several by name,
        `{"true value": {"age": 0.3}, "non-private fit": {"age": 0.28}}`. `path` also writes the picture
        (PNG, SVG or PDF by its ending). The figure is not registered with pyplot.
        """
        from noisewise import plots

        chosen = self.terms if terms is None else tuple(terms)
        positions = [self._position(term) for term in chosen]
        draws = self.samples.reshape(-1, len(self.terms))[:, positions]
        picture = plots.Picture(chosen, draws, self.prior, plots.named_references(reference, self.terms), self.info.formula,
                                self._subtitle())
        return plots.draw(picture, kind, ax, path)

    def check(self, release: Release | Sequence[Release], *, holders: Sequence[str] | None = None, interval: float = 0.95
              ) -> PredictiveCheck:
        """Whether the released statistics look as this fit says they should, at every holder.

        `release` is what was fitted; `holders` names its holders (by default 1, 2, ...). The result has a `table` with
        observed and expected statistics and predictive p-values, `problems()` in words, and `plot()`.
        """
        from noisewise.results.checks import check_release

        if self.sites is not None:
            raise ResultError("the check asks whether one set of coefficients holds at all sites; this fit has one for each site",
                              found="random effects by site",
                              remedy="check a fit with " + option("site", None) + "; see sites.summary()")
        return check_release(self, release, holders, interval)

    def to_arviz(self) -> Any:
        """InferenceData (ArviZ 0.x) or an xarray DataTree (ArviZ 1.x)."""
        return arviz_export.to_arviz(self.samples, self.terms, self.info, self.diverging)

    def diagnose(self) -> list[str]:
        """Reasons not to trust the draws yet, in plain words; an empty list is good news."""
        if self.info.method in INDEPENDENT:
            return [*self.info.doubts, *summaries.too_few_independent(self.samples)]
        return list(self.info.doubts) + summaries.problems(self.samples, self.terms, self.info.divergences)

    def warn_if_bad(self, stacklevel: int = 1) -> None:
        """Emit one ConvergenceWarning with all that `diagnose` finds and what to do about it.

        `stacklevel` says whose line the warning shows: 1 for the caller of this method, 2 for the caller's caller.
        """
        found = self.diagnose()
        if found:
            message = f"do not trust these draws yet: {'; '.join(found)}. What to do: " + self._remedy(len(found))
            warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)

    def _remedy(self, found: int) -> str:
        """What helps against so many problems, the doubts among them."""
        info, doubts = self.info, len(self.info.doubts)
        more = "more draws (" + option("draws", 4 * info.draws) + ")"
        again: str = "fit again with " + more + ", and look at plot(kind='posterior')"
        too = "; and " + again if found > doubts else ""
        if doubts and not self.has_sigma:
            remedy = ("use fewer predictors and no powers or products, or ask the data holder for a release with less noise and "
                      "no norm bound") + too
        elif doubts and self.sites is not None:
            remedy = "fit with " + more + ", or fit with " + option("site", None) + ": one set of coefficients for all sites"
        elif doubts and info.method in ("conditional", "conditional-flat", "collapsed"):
            remedy = "leave out predictors, or ask for a release with a larger epsilon, tighter bounds or more rows" + too
        else:
            remedy = "use " + option("method", "conditional") if doubts and info.method in ("laplace", "clt-gibbs") else again
        return remedy + ("; if divergences stay, give a narrower prior or a simpler formula" if info.divergences else "")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one `.npz` file; an older file survives a failure."""
        store.save_posterior(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Posterior:
        """Read what `save` wrote: the same draws to the last bit."""
        return store.load_posterior(path)

    def _position(self, term: str) -> int:
        if term not in self.terms:
            raise ResultError("there is no such term", argument="term", found=str(term), known=self.terms)
        return self.terms.index(term)

    def _subtitle(self) -> str:
        chains, draws, _ = self.samples.shape
        holders = "1 holder" if self.info.holders == 1 else f"{self.info.holders} holders"
        if self.sites is not None:
            holders = f"an average of {self.sites.count} sites"
        return f"{self.info.family}, method {self.info.method} · {chains} × {draws} draws · {holders}"

    def __repr__(self) -> str:
        chains, draws, _ = self.samples.shape
        return (f"<Posterior {self.info.formula!r}, method {self.info.method}: {len(self.terms)} terms, "
                f"{chains} chains of {draws} draws>")

    def _repr_html_(self) -> str:
        return card(f"{self.info.formula} ({self._subtitle()})", frame(self.summary()), notes=self.diagnose())
