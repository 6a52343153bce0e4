"""`Posterior`, the result of `noisewise.fit`. This file only connects the files next to it, which do the work."""

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
from noisewise.results.fit_info import ROBUST, FitInfo, PriorSummary, check_interval, frozen
from noisewise.results.new_rows import declared_levels, more_probable_levels, read_rows
from noisewise.results.sites import SiteEffects
from noisewise.words import either, option

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noisewise.releases.release import Release
    from noisewise.results.checks import PredictiveCheck
    from noisewise.schema import Design

Reference = Mapping[str, float] | Mapping[str, Mapping[str, float]]
INDEPENDENT = ("laplace", "fast", "model-averaging", "simex", "naive")
"""Methods whose draws are independent; with "fast", sigma is constant."""
ROUNDS = "rounds"
"""The method for model releases."""
FROM_HERE = "begins where this one ended (" + either("Model(..., start=noisewise.start(release))", "--start FILE") + ")"


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws of regression coefficients in the user's units and, in a linear regression, of sigma.

    `samples` has shape (chains, draws, terms); in a linear regression the last of `terms` is "sigma", in a negative binomial one
    "dispersion". `diverging`, if the sampler reports it, marks the draws whose trajectory diverged. With random effects by site,
    the samples describe an average site, and `sites` describes how the sites differ.

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
            raise ResultError(f"samples must have shape (chains, draws, {len(terms)} terms)", argument="samples",
                              found=str(samples.shape))
        scale = family_of(self.info.family).scale
        if terms != (*self.design.terms, *(() if scale is None else (scale,))):
            raise ResultError("terms must be those of the design and the family's scale, if it has one", argument="terms",
                              found=", ".join(map(str, terms)))
        if not np.isfinite(samples).all() or (scale is not None and (samples[..., -1] < 0).any()):
            raise ResultError("draws must be finite, and a scale >= 0", argument="samples")
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "terms", terms)
        if self.diverging is not None:
            diverging = frozen(self.diverging, np.bool_)
            if diverging.shape != samples.shape[:2]:
                raise ResultError("diverging must have shape (chains, draws)", argument="diverging", found=str(diverging.shape))
            object.__setattr__(self, "diverging", diverging)
        if self.sites is not None and (self.sites.terms != terms or self.sites.between.shape[:2] != samples.shape[:2]):
            raise ResultError("sites must have the same terms, chains and draws as samples", argument="sites",
                              found=", ".join(self.sites.terms))

    @property
    def has_sigma(self) -> bool:
        """True if the last term is the residual standard deviation, which only linear regression has."""
        return self.info.family == GAUSSIAN.name

    def summary(self, interval: float = 0.95) -> pandas.DataFrame:
        """Tabulate mean, sd, equal-tailed interval, effective sizes, R-hat and P(>0) for each term."""
        return summaries.summary_table(self.samples, self.terms, interval)

    @overload
    def draws(self, term: None = None) -> pandas.DataFrame: ...

    @overload
    def draws(self, term: str) -> Array: ...

    def draws(self, term: str | None = None) -> pandas.DataFrame | Array:
        """Return all draws of a term, chain after chain; without a term, a table with one column per term."""
        if term is None:
            import pandas

            return pandas.DataFrame(self.samples.reshape(-1, len(self.terms)), columns=list(self.terms))
        return self.samples[:, :, self._position(term)].reshape(-1)

    def predict(self, new_rows: object, interval: float = 0.95, kind: Literal["response", "mean"] | None = None
                ) -> pandas.DataFrame:
        """Predict the response for new rows: a table with the columns `mean`, `lower` and `upper`.

        Args:
            new_rows: A pandas or polars DataFrame, an Arrow table, or a dict of columns, where a single value fills the whole
                column. Values outside the declared bounds are extrapolated.
            interval: The probability of the interval.
            kind: `"mean"` gives an interval for the average response of such rows: for a response with two levels, the
                probability of the second; for counts, the expected count (before clipping at the declared maximum).
                `"response"` gives an interval for one new response, sigma included; for counts the ends are whole numbers. A
                new response with two levels has no useful interval, so `mean`, `lower` and `upper` describe the probability and
                the column `level` names the likelier level. The default is `"response"` for linear regression and `"mean"` for
                every other family.
        """
        import pandas

        tails = check_interval(interval)
        family = family_of(self.info.family)
        chosen = family.default_prediction if kind is None else kind
        if chosen not in ("response", "mean"):
            raise ResultError("kind must be 'response' or 'mean'", argument="kind", found=repr(kind))
        columns, index = read_rows(new_rows, self.design.columns_needed, declared_levels(self.design))
        flat = self.samples.reshape(-1, len(self.terms))
        coefficients, scale = flat[:, : len(self.design.terms)], None if family.scale is None else flat[:, -1]
        ends = (prediction.credible_ends(family, tails) if chosen == "mean"
                else prediction.predictive_ends(family, scale, tails))
        mean, lower, upper = prediction.predict_rows(columns, len(index), self.design, coefficients, ends)
        table = pandas.DataFrame({"mean": mean, "lower": lower, "upper": upper}, index=index)
        if chosen == "response" and family.response == "two levels":
            table["level"] = more_probable_levels(self.design, mean)
        return table

    def ratios(self, interval: float = 0.95, per: Mapping[str, float] | None = None) -> pandas.DataFrame:
        """Tabulate exp(coefficient × per): odds ratios (logistic regression) or incidence-rate ratios (Poisson or negative
        binomial regression).

        Each predictor has one row with `per`, the ratio (posterior median), its interval and `P(>1)`. `per` is the change in the
        predictor that the ratio describes, 1 unless given; `per={"age": 10}` means ten years. If a predictor appears in several
        terms, as in `age + I(age**2)`, no single ratio describes its effect; use `predict`.
        """
        draws = self.samples.reshape(-1, len(self.terms))
        return summaries.ratio_table(draws, self.terms, family_of(self.info.family), interval, per)

    def plot(self, kind: Literal["forest", "posterior"] = "forest", reference: Reference | None = None,
             terms: Sequence[str] | None = None, ax: Axes | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the coefficients and their prior. The figure is not registered with pyplot.

        Args:
            kind: `"forest"` draws one row per term, with its own axis, point, 50 % and 95 % interval; `"posterior"` draws one
                density per term.
            reference: Values to mark for comparison: `{"age": 0.3}`, or several sets by name,
                `{"true value": {"age": 0.3}, "non-private fit": {"age": 0.28}}`.
            terms: The terms to show; all by default.
            ax: The Matplotlib axes to draw on, instead of a new figure.
            path: Also write the figure to this file (PNG, SVG or PDF, by its extension).
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
        """Check whether every holder's released statistics look the way this fit expects.

        `release` is what was fitted; `holders` names its holders (by default 1, 2, ...). The result has a `table` of observed and
        expected statistics with predictive p-values, `problems()` in words, and `plot()`.
        """
        from noisewise.results.checks import check_release

        if self.sites is not None:
            raise ResultError("the check needs one set of coefficients for all sites", found="random effects by site",
                              remedy="check a fit with " + option("site", None) + "; sites.summary() shows how the sites differ")
        return check_release(self, release, holders, interval)

    def to_arviz(self) -> Any:
        """Export to ArviZ: InferenceData (ArviZ 0.x) or an xarray DataTree (ArviZ 1.x)."""
        return arviz_export.to_arviz(self.samples, self.terms, self.info, self.diverging)

    def diagnose(self) -> list[str]:
        """List the reasons not to trust the draws yet, in plain words. Empty if there are none."""
        if self.info.method in INDEPENDENT:
            return [*self.info.doubts, *summaries.too_few_independent(self.samples)]
        return list(self.info.doubts) + summaries.problems(self.samples, self.terms, self.info.divergences)

    def warn_if_bad(self, stacklevel: int = 1) -> None:
        """Emit one ConvergenceWarning with everything that `diagnose` finds and what to do about it.

        The warning points at the caller of this method with `stacklevel` 1, at the caller's caller with 2.
        """
        found = self.diagnose()
        if found:
            message = f"do not trust these draws yet: {'; '.join(found)}. What to do: " + self._remedy(len(found))
            warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)

    def _remedy(self, found: int) -> str:
        """Say what helps. `found` counts all problems, including the doubts."""
        info, doubts = self.info, len(self.info.doubts)
        more = "more draws (" + option("draws", 4 * info.draws) + ")"
        again: str = "fit again with " + more + " and look at plot(kind='posterior')"
        too = "; and " + again if found > doubts else ""
        if doubts and info.method.removesuffix(ROBUST) == ROUNDS:
            remedy: str = ("ask the data holder for a release that " + FROM_HERE + ", with a larger epsilon or of fewer terms"
                           + too)
        elif info.taken_for_normal:
            remedy = ("fit with " + option("near_normal", True) + " if you know that they are near normal, or ask the data "
                      "holder for a release of kind model, which takes nothing for normal") + too
        elif doubts and not self.has_sigma:
            remedy = ("use fewer predictors, without powers or products, or ask the data holder for a release with less noise "
                      "and no norm bound") + too
        elif doubts and self.sites is not None:
            remedy = "fit with " + more + ", or with one set of coefficients for all sites (" + option("site", None) + ")"
        elif doubts and info.method in ("conditional", "conditional-flat", "collapsed"):
            remedy = "drop some predictors, or ask for a release with a larger epsilon, tighter bounds or more rows" + too
        else:
            remedy = "use " + option("method", "conditional") if doubts and info.method in ("laplace", "clt-gibbs") else again
        return remedy + ("; if divergences persist, use a narrower prior or a simpler formula" if info.divergences else "")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one `.npz` file. If writing fails, an existing file is kept."""
        store.save_posterior(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Posterior:
        """Read what `save` wrote; the draws are identical to the last bit."""
        return store.load_posterior(path)

    def _position(self, term: str) -> int:
        if term not in self.terms:
            raise ResultError("unknown term", argument="term", found=str(term), known=self.terms)
        return self.terms.index(term)

    def _subtitle(self) -> str:
        chains, draws, _ = self.samples.shape
        holders = "1 holder" if self.info.holders == 1 else f"{self.info.holders} holders"
        if self.sites is not None:
            holders = f"average of {self.sites.count} sites"
        return f"{self.info.family}, method {self.info.method} · {chains} × {draws} draws · {holders}"

    def __repr__(self) -> str:
        chains, draws, _ = self.samples.shape
        return (f"<Posterior {self.info.formula!r}, method {self.info.method}: {len(self.terms)} terms, "
                f"{chains} chains of {draws} draws>")

    def _repr_html_(self) -> str:
        return card(f"{self.info.formula} ({self._subtitle()})", frame(self.summary()), notes=self.diagnose())
