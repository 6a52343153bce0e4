"""The arguments of `fit`, and how draws become a `Posterior`. Shared by all kinds of release."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from noisewise.errors import FitError
from noisewise.posterior.glm.families import FAMILIES as GLM_FAMILIES
from noisewise.posterior.methods import DEFAULT_METHOD, Method, method_for
from noisewise.posterior.prior import Prior
from noisewise.posterior.request import Sampled
from noisewise.releases.release import Release
from noisewise.releases.source import source_of
from noisewise.results import FitInfo, Posterior, PriorSummary
from noisewise.results.families import RESULT_FAMILIES, family_of
from noisewise.run import Run
from noisewise.schema import Design
from noisewise.words import leave_out

GAUSSIAN: Final = "gaussian"
FAMILIES: Final = tuple(RESULT_FAMILIES)


@dataclass(frozen=True)
class Asked:
    """The arguments of `fit`, after the checks that do not depend on the kind of release."""

    formula: str
    release: Release
    family: str
    method: str
    site: str | None
    prior: Prior | None
    draws: int
    chains: int
    seed: int
    run: Run
    robust: bool = False
    near_normal: bool = False
    """True if the user says that numeric predictors are near normal."""

    def by(self) -> Method:
        """Return the method, after checking that it takes this kind of release and this prior."""
        method = method_for(self.method, self.release.kind.name)
        if self.prior is not None and not method.takes_prior:
            raise FitError(f"{method.name} has no prior", found="a prior", remedy="leave prior out")
        return method

    def check_no_sites(self) -> None:
        """Refuse random effects by site, for kinds other than gram."""
        if self.site is not None:
            raise FitError("random effects by site need releases of kind gram", found=f"site {self.site!r}",
                           remedy="leave site out")

    def result(self, method: str, design: Design, prior: PriorSummary | None, sampled: Sampled, started: float,
               estimand: str = "") -> Posterior:
        """Turn draws into a `Posterior`; ``started`` is the `time.perf_counter` reading at the start of the fit."""
        return assemble(self.formula, method, self.release, design, prior, sampled, family=self.family, seed=self.seed,
                        seconds=time.perf_counter() - started, estimand=estimand)


def check_family(family: str) -> None:
    """Refuse an unknown family."""
    if family not in FAMILIES:
        raise FitError("unknown family", argument="family", found=repr(family), known=FAMILIES)


def check_glm(family: str, method: str, site: str | None = None) -> None:
    """Refuse a family that only model releases serve, and options that only linear regression has."""
    if family not in GLM_FAMILIES:
        raise FitError(f"a {family} regression needs a release of kind model", argument="family", found=repr(family),
                       known=(GAUSSIAN, *GLM_FAMILIES))
    if method != DEFAULT_METHOD:
        raise FitError(f"a {family} regression has one method", argument="method", found=f"method {method!r}",
                       remedy=leave_out("method"))
    if site is not None:
        raise FitError("random effects by site exist for linear regression only", argument="site", found=f"family {family!r}",
                       remedy=leave_out("site"))


def assemble(formula: str, method: str, release: Release, design: Design, prior: PriorSummary | None,
             sampled: Sampled, *, seed: int, seconds: float, family: str = GAUSSIAN, estimand: str = "") -> Posterior:
    """Combine draws with the information about their fit."""
    chains, draws, _ = sampled.samples.shape
    divergences = 0 if sampled.diverging is None else int(sampled.diverging.sum())
    info = FitInfo(method, family, formula, seed, chains, draws, divergences, release.holders, seconds, sampled.doubts,
                   source_of(release), estimand)
    scale = family_of(family).scale
    terms = design.terms if scale is None else (*design.terms, scale)
    return Posterior(sampled.samples, terms, design, info, prior, sampled.diverging, sampled.sites)
