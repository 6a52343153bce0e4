"""`Comparison`, the result of `noisewise.compare`: models, their probabilities, and model-averaged coefficients."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import ConvergenceWarning, NoisewiseWarning, ResultError
from noisewise.notebook import card, frame
from noisewise.results import store
from noisewise.results.families import GAUSSIAN, family_of
from noisewise.results.fit_info import FitInfo, check_interval
from noisewise.results.posterior import Posterior

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from noisewise.schema import Design

AVERAGED: Final = "model-averaging"
"""The method named by the posterior of a comparison."""
ALL_BUT_KNOWN: Final = 0.9
"""A 95 % band wider than this says nothing about its term."""


@dataclass(frozen=True)
class Question:
    """The request: the candidate terms, the terms kept in every model, the priors and the method."""

    terms: tuple[str, ...]
    kept: tuple[str, ...]
    prior: str
    model_prior: str
    method: str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Models, one for each choice of terms, with their probabilities given the release.

    `members` marks which of `question.terms` each model contains, most probable model first. `samples` are draws of the
    coefficients (zero for terms outside the model) and the family's scale, if it has one, in the user's units. `without_noise`
    holds draws of the inclusion probabilities that the same analysis would give on the table itself; the bands come from these.
    Plug-in methods have none.

    >>> found = noisewise.compare("stay ~ age + ward + sex", release)    # doctest: +SKIP
    >>> found.inclusion()                                                # doctest: +SKIP
    >>> found.posterior().predict({"age": 70, "ward": "B", "sex": "f"})  # doctest: +SKIP
    """

    design: Design
    question: Question
    members: Flags
    probabilities: Array
    log_bayes_factors: Array
    samples: Array
    info: FitInfo
    without_noise: Array | None = None
    complete: bool = True
    """True if these are all models. If not, they are the models that a random walk visited."""
    notes: tuple[str, ...] = ()
    """Conclusions that the release does not support. (Problems with the computation are in `info.doubts`.)"""
    others: Mapping[str, Comparison] = field(default_factory=dict)
    """The same comparison by other methods, if several were requested."""
    verdicts: tuple[Mapping[str, float | str], ...] = ()
    """The joint verdict of all methods on each term."""

    def __post_init__(self) -> None:
        count, terms = len(self.probabilities), len(self.question.terms)
        shapes = {"members": (count, terms), "probabilities": (count,), "log_bayes_factors": (count,),
                  "samples": (len(self.samples), len(self.columns))}
        if self.without_noise is not None:
            shapes["without_noise"] = (len(self.without_noise), terms)
        for name, shape in shapes.items():
            values = np.array(getattr(self, name))
            if values.shape != shape or 0 in shape or not np.isfinite(values).all():
                raise ResultError(f"{name} must be finite and have shape {shape}", argument=name, found=str(values.shape))
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of `samples`: the terms and, if the family has one, the scale."""
        scale = family_of(self.info.family).scale
        return self.design.terms if scale is None else (*self.design.terms, scale)

    def inclusion(self, interval: float = 0.95) -> pandas.DataFrame:
        """Tabulate the probability that each candidate term belongs in the model, and its band.

        The probability accounts for the privacy noise. `lower` and `upper` show where the same analysis of the table itself,
        without privacy noise, would put it; they are missing for methods that ignore the noise. The probability is the mean of
        the draws behind the band, so it can lie outside the band if a few draws are far from the rest.
        """
        tails, draws = check_interval(interval), self.without_noise
        lower, upper = np.full((2, len(self.question.terms)), np.nan) if draws is None else np.quantile(draws, tails, axis=0)
        return _by_term(self.question.terms, {"probability": self.inclusion_probabilities, "lower": lower, "upper": upper})

    def models(self, top: int = 10) -> pandas.DataFrame:
        """Tabulate the most probable models: probability, log Bayes factor against the smallest model, number of terms, terms."""
        import pandas

        if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
            raise ResultError("top must be a whole number >= 1", argument="top", found=repr(top))
        chosen = self.members[:top]
        words = [" + ".join(term for term, is_in in zip(self.question.terms, model, strict=True) if is_in) for model in chosen]
        columns = {"probability": self.probabilities[:top], "log_bayes_factor": self.log_bayes_factors[:top],
                   "size": chosen.sum(axis=1), "terms": words}
        return pandas.DataFrame(columns, index=pandas.RangeIndex(1, len(chosen) + 1, name="model"))

    def median_model(self) -> str:
        """Return the formula of the median probability model: every term whose inclusion probability is at least one half.

        In many situations it is the single model that predicts best (Barbieri and Berger 2004). You can pass it to `fit`.
        """
        chosen = self.inclusion_probabilities >= 0.5
        return self.formula([term for term, is_in in zip(self.question.terms, chosen, strict=True) if is_in])

    def formula(self, terms: list[str]) -> str:
        """Return the formula of the model with these terms and the kept ones."""
        wanted = [term for term in dict.fromkeys(self.design.written) if term in (*terms, *self.question.kept)]
        intercept = self.design.terms[:1] == ("Intercept",)
        right = [self._quoted(term) for term in wanted if term != "Intercept"]
        words = right if intercept else ["0", *right]
        return f"{self._quoted(self.design.response)} ~ {' + '.join(words) or '1'}"

    def _quoted(self, term: str) -> str:
        """Write a term as a formula does, with backticks around column names that are not identifiers."""
        factors = [term] if term in self.design.basis.schema.names else term.split(":")
        return ":".join(name if name.isidentifier() or name.startswith("I(") else f"`{name}`" for name in factors)

    def coefficients(self, interval: float = 0.95) -> pandas.DataFrame:
        """Tabulate the coefficients averaged over models, zeros included: mean, sd, interval, probability of not being zero."""
        inside = dict(zip(self.question.terms, self.inclusion_probabilities, strict=True))
        chances = np.array([inside.get(term, 1.0) for term in self.design.written])
        draws = self.samples[:, :len(self.design.terms)]
        lower, upper = np.quantile(draws, check_interval(interval), axis=0)
        return _by_term(self.design.terms, {"mean": draws.mean(axis=0), "sd": draws.std(axis=0), "lower": lower, "upper": upper,
                                            "probability": chances})

    def posterior(self) -> Posterior:
        """Return the averaged draws as a `Posterior`, with its summary, predictions, plots, ArviZ export and file."""
        return Posterior(self.samples[None], self.columns, self.design, replace(self.info, method=AVERAGED))

    def predict(self, new_rows: object, interval: float = 0.95, kind: Literal["response", "mean"] | None = None
                ) -> pandas.DataFrame:
        """Predict the response for new rows, averaged over the models; see `Posterior.predict`."""
        return self.posterior().predict(new_rows, interval, kind)

    def agreement(self) -> pandas.DataFrame:
        """Tabulate each term's inclusion probability under every method that was run, the widest difference, and the verdict.

        The literature's guideline for plug-in methods is to draw a conclusion only where thresholded and other methods agree.
        """
        import pandas

        if not self.verdicts:
            raise ResultError("agreement requires several methods", argument="method",
                              found=f"method {self.question.method!r}",
                              remedy='compare with method=("noise-aware", "ridge", "thresholded")')
        return pandas.DataFrame([dict(row) for row in self.verdicts]).set_index("term")

    def plot(self, path: str | os.PathLike[str] | None = None, interval: float = 0.95) -> Figure:
        """Plot the inclusion probabilities with their bands, and the other methods that were run as marks beside them."""
        from noisewise.plots.models import draw_inclusion

        check_interval(interval)
        return draw_inclusion(self, interval, path)

    def plot_models(self, path: str | os.PathLike[str] | None = None, top: int = 20) -> Figure:
        """Plot the model space: one column for each of the most probable models, with width proportional to its probability."""
        from noisewise.plots.models import draw_models

        self.models(top)
        return draw_models(self, top, path)

    def diagnose(self) -> list[str]:
        """List the reasons to be careful with these results, in plain words. Empty if there are none."""
        return [*self.info.doubts, *self.notes]

    def left_open(self) -> list[str]:
        """Say which terms' probabilities the noise leaves entirely open. Empty if there are none."""
        if self.without_noise is None:
            return []
        table = self.inclusion()
        names = [str(name) for name in table.index[table["upper"] - table["lower"] > ALL_BUT_KNOWN]]
        return [f"the noise hides too much: without it, the probability of {', '.join(names)} could be anything"] if names else []

    def warn_if_bad(self, stacklevel: int = 1) -> None:
        """Emit one warning with everything that `diagnose` finds."""
        found = self.diagnose()
        if found:
            kind = ConvergenceWarning if self.info.doubts else NoisewiseWarning
            warnings.warn("; ".join(found), kind, stacklevel=stacklevel + 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one `.npz` file. If writing fails, an existing file is kept.

        `Posterior.load` reads the averaged draws from the same file.
        """
        store.save_comparison(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Comparison:
        """Read what `save` wrote; the numbers are identical to the last bit."""
        return store.load_comparison(path)

    @property
    def inclusion_probabilities(self) -> Array:
        """The probability that each of `question.terms` is in the model."""
        return np.minimum(self.probabilities @ self.members, 1.0)  # rounding may exceed 1 slightly

    def describe(self) -> str:
        """Describe family, method, priors, models and holders in one line."""
        asked, holders = self.question, self.info.holders
        family = "" if self.info.family == GAUSSIAN.name else f"{self.info.family} regression · "
        return (f"{family}{asked.method} · prior {asked.prior}, models {asked.model_prior} · {self.models_in_words()} · "
                f"{holders} holder{'s' * (holders > 1)}")

    def models_in_words(self) -> str:
        """Say how many models there are, and whether these are all of them."""
        return f"{len(self.members):,} models" if self.complete else f"{len(self.members):,} models visited by a random walk"

    def __repr__(self) -> str:
        best = self.models(1)
        return (f"<Comparison {self.design.formula!r}, {self.describe()}: the most probable has "
                f"{best['terms'].iloc[0] or 'no term'} ({best['probability'].iloc[0]:.2f})>")

    def _repr_html_(self) -> str:
        return card(f"{self.design.formula} ({self.describe()})", frame(self.inclusion()), frame(self.models(5)),
                    notes=[*self.diagnose(), *self.left_open()])


def _by_term(terms: Sequence[str], columns: Mapping[str, Array]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(columns, index=pandas.Index(list(terms), name="term"))
