"""``compare``: from a formula and one or several releases to the probabilities of its models. This file wires."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.contributions import residual_rows
from noisewise.posterior.methods import from_the_literature
from noisewise.posterior.request import sampling
from noisewise.progress import Tick
from noisewise.releases.combine import Releases
from noisewise.releases.release import Release
from noisewise.releases.source import source_of
from noisewise.results.comparison import AVERAGED, Comparison, Question
from noisewise.results.fit_info import FitInfo
from noisewise.run import DEFAULT, Run
from noisewise.schema import Design
from noisewise.schema.bayes_factors import LAPLACE, ZELLNER_SIOW, check_prior
from noisewise.selection.methods import AGREEMENT, DEFAULT_METHOD, METHODS, Asked, Found
from noisewise.selection.moments import Moments
from noisewise.selection.probabilities import log_prior_by_size
from noisewise.selection.question import TermGroups, Units, gram_release, names_of

HIDDEN: Final = 4.0
"""A direction of the predictors is hidden if its moment is below this many standard deviations of its noise.

Near this limit, probabilities start to be too low: the likelihood mistakes some noise for information about the coefficients.
"""


def compare(formula: str, release: Releases, *, prior: str = ZELLNER_SIOW, model_prior: str = "beta-binomial",
            method: str | Sequence[str] = DEFAULT_METHOD, keep: str | Sequence[str] = (), draws: int = 4000,
            seed: int | None = None, run: Run = DEFAULT) -> Comparison:
    """Find which terms of a formula matter: the probability of every subset of them, given one or several releases.

    ``prior`` of the coefficients within a model: ``zellner-siow`` (default), ``zellner`` (g = n), ``hyper-g``, or ``bic`` and
    ``aic``, which replace a prior; ``zellner-siow-laplace`` is for plug-in methods only. ``model_prior``: ``beta-binomial``
    (default: every number of terms is equally likely), ``uniform`` (every model is), ``bernoulli(0.2)``. ``keep`` names terms
    to include in every model; the intercept always is. The columns of a category enter together. ``method``:

    - ``noise-aware`` (default) accounts for the privacy noise.

    From the literature, for comparison only, not for reporting: ``ridge`` and ``thresholded`` make the noisy moments positive
    definite and treat them as exact; ``histogram`` averages over a confidence region of them.

    With several methods the result is that of the first, and its ``agreement()`` compares them all. ``draws``: the number of
    draws of the averaged coefficients; ``seed`` makes them reproducible. ``run``: see `Run`.
    """
    names = _methods(method)
    check_prior(prior)
    if prior == LAPLACE and DEFAULT_METHOD in names:
        raise FitError("this prior is for methods that treat the moments as exact",
                       found=f"{prior!r} with method {DEFAULT_METHOD!r}",
                       remedy=f"prior={ZELLNER_SIOW!r} is the same prior without the Laplace approximation")
    draws, _, seed = sampling(draws, 1, seed)
    together = gram_release(release)
    task = Task.of(formula, together, prior, model_prior, keep)
    found = {name: task.solve(name, draws, seed, run) for name in names}
    result = found.pop(names[0])
    if found:
        inside = {one.question.method: one.inclusion_probabilities for one in (result, *found.values())}
        result = replace(result, others=found, verdicts=tuple(resolve_name(AGREEMENT)(inside, task.terms.optional)))
    result.warn_if_bad(stacklevel=2)
    return result


def _methods(method: str | Sequence[str]) -> list[str]:
    names = names_of("method", method)
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise FitError("unknown method", argument="method", found=", ".join(map(repr, unknown)) or "no method",
                       known=METHODS, remedy=from_the_literature(METHODS))
    return names


@dataclass(frozen=True)
class Task:
    """The parsed and checked question, and the release's moments for it."""

    release: Release
    design: Design
    terms: TermGroups
    units: Units
    moments: Moments
    prior: str
    model_prior: str
    log_prior: Array

    @classmethod
    def of(cls, formula: str, release: Release, prior: str, model_prior: str, keep: str | Sequence[str]) -> Task:
        """Parse and check the question; refuse tables with too few rows for the formula."""
        design = Design.of(formula, release.basis, release.terms)
        terms = TermGroups.of(design, keep)
        log_prior = log_prior_by_size(model_prior, len(terms.optional))
        rows = sum(residual_rows(part) for part in release.contributions)
        if rows < len(design.terms) + 2:
            raise FitError("comparing models needs more rows than columns",
                           found=f"{rows:,.0f} rows and {len(design.terms)} columns",
                           remedy="use a shorter formula, or a release of more rows")
        units = Units.of(design, terms.places)
        return cls(release, design, terms, units, Moments.of(release.contributions, units), prior, model_prior, log_prior)

    def asked(self, draws: int, seeds: Sequence[int], tick: Tick) -> Asked:
        """The task as a method takes it."""
        return Asked(self.moments, self.release.contributions, self.units, self.terms.groups, self.prior, self.log_prior, draws,
                     seeds, tick)

    def solve(self, method: str, draws: int, seed: int, run: Run) -> Comparison:
        """Answer by one method. The same ``seed`` gives the same answer."""
        started = time.perf_counter()
        seeds = [int(value) for value in np.random.SeedSequence(seed).generate_state(3, np.uint32)]
        with run.bar("Comparing", "%") as tick:
            found = METHODS[method](self.asked(draws, seeds, tick))
        info = FitInfo(method=AVERAGED, family="gaussian", formula=self.design.formula, seed=seed, chains=1, draws=draws,
                       holders=self.release.holders, seconds=time.perf_counter() - started, doubts=found.weighed.doubts,
                       source=source_of(self.release))
        return self._result(method, found, info)

    def _result(self, method: str, found: Found, info: FitInfo) -> Comparison:
        weighed = found.weighed
        order = np.lexsort((-weighed.log_bayes_factors, -weighed.probabilities))  # many probabilities may be 0 in floats
        return Comparison(
            design=self.design,
            question=Question(self.terms.optional, self.terms.kept, self.prior, self.model_prior, method),
            members=weighed.members[order], probabilities=weighed.probabilities[order],
            log_bayes_factors=weighed.log_bayes_factors[order], samples=self.units.to_user(found.drawn.working), info=info,
            without_noise=found.without_noise, complete=weighed.complete, notes=tuple(hidden(self.moments, method)),
        )


def hidden(moments: Moments, method: str) -> list[str]:
    """A warning if the noise hides how the predictors vary."""
    gram = moments.features.T @ moments.matrix @ moments.features
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    noise = np.sqrt([moments.squared_noise(direction) for direction in (moments.features @ vectors).T])
    count = int(np.sum(values < HIDDEN * noise))
    if not count:
        return []
    return [f"the noise hides how the predictors vary in {count} of {len(values)} directions (their moments are below {HIDDEN:g} "
            "standard deviations of the noise): the release says little about which terms matter, "
            + ("and probabilities are too low; do not conclude from them that a term can be left out"
               if method == DEFAULT_METHOD else
               f"and the method {method} mistakes noise for effects; do not conclude from its probabilities that a term matters")]
