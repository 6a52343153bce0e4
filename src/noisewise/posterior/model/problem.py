"""A release of kind model as likelihoods, one for each holder, and a prior in the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.prior import Prior, given_prior
from noisewise.releases.release import Release
from noisewise.results import PriorSummary
from noisewise.schema import Design
from noisewise.scores.correlations import reference_for
from noisewise.scores.estimate import NormalPrior, inverse_of
from noisewise.scores.families import Family, family_named
from noisewise.scores.likelihood import Likelihood, Problem
from noisewise.scores.looks import Known
from noisewise.words import leave_out, option


@dataclass(frozen=True, eq=False)
class ModelProblem:
    """Everything public that a fit needs."""

    design: Design
    likelihoods: tuple[Likelihood, ...]
    prior: NormalPrior
    sigma: float | None
    """The scale of a half-normal prior of the scale, if the user gave one."""

    @classmethod
    def of(cls, release: Release, design: Design, prior: Prior | None, robust: bool) -> ModelProblem:
        """Read the rounds of every holder."""
        basis, family = release.basis, family_named(release.kind.family)  # type: ignore[attr-defined]
        given = checked_prior(design, prior, family)
        likelihoods, references, spreads = [], [], []
        for one in release.contributions:
            known = Known.of(basis, family, one.look)
            problem = Problem.of(basis, design, family, one.look)
            reference = reference_for(basis, known, problem, one.rounds)
            likelihood = Likelihood.of(problem, one.rounds, reference, robust)
            likelihoods.append(likelihood)
            references.append(likelihood.reference)
            spreads.append(known.response[1] ** 0.5)
        usual = NormalPrior.usual(likelihoods[0].problem, references, float(np.mean(spreads)))
        return cls(design, tuple(likelihoods), _with_given(usual, design, given), given.sigma)

    def prior_summary(self) -> PriorSummary:
        """The prior of each coefficient, for display."""
        covariance = inverse_of(self.prior.precision)
        mean = covariance @ self.prior.functionals.T @ self.prior.centre
        sd = np.sqrt(np.diag(covariance))
        named = [dict(zip(self.design.terms, map(float, values), strict=True)) for values in (mean, sd)]
        return PriorSummary(named[0], named[1], self.sigma)


def checked_prior(design: Design, prior: Prior | None, family: Family) -> Prior:
    """Return the user's prior or the default, after refusing terms that the formula lacks and what only gram releases have."""
    given = given_prior(design, prior)
    for name in ("largest_norm", "correlation"):
        if getattr(given, name) is not None:
            raise FitError(f"{name} is a prior for gram releases", argument="prior", found=option(name, getattr(given, name)),
                           remedy=leave_out(name))
    if given.sigma is not None and not family.scaled:
        raise FitError(f"a {family.name} regression has no sigma", argument="sigma", found=option("sigma", given.sigma),
                       remedy=leave_out("sigma"))
    return given


def _with_given(usual: NormalPrior, design: Design, given: Prior) -> NormalPrior:
    """Replace the prior of the terms that the user names. A mean without an sd keeps the sd of the usual prior."""
    functionals, centre = usual.functionals.copy(), usual.centre.copy()
    sds = np.sqrt(np.diag(inverse_of(usual.precision)))
    for place, term in enumerate(design.terms):
        if term in given.sd or term in given.mean:
            sd = float(given.sd.get(term, sds[place]))
            functionals[place] = np.eye(len(design.terms))[place] / sd
            centre[place] = float(given.mean.get(term, 0.0)) / sd
    return NormalPrior(functionals, centre)


def coefficients_first(samples: Array, scales: Array | None) -> Array:
    """Draws of the coefficients and, if the family has one, of the scale, in the order of a posterior's terms."""
    return samples if scales is None else np.concatenate([samples, scales[..., None]], axis=-1)
