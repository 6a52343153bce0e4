"""Draws of the coefficients of a model release in the user's units, and every doubt about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.model.check import TOLERANCE, variance_ratio
from noisewise.posterior.model.density import Density
from noisewise.posterior.model.problem import ModelProblem
from noisewise.posterior.model.sampler import Drawn, Proposal, sample
from noisewise.posterior.request import Sampled
from noisewise.progress import Tick
from noisewise.scores.estimate import Estimate, scale_chances
from noisewise.scores.families.family import Family
from noisewise.scores.likelihood import Likelihood

UNSURE: Final = 0.5
"""Linear predictors that are unsure by this many units are hardly known: intervals were measured to hold less often."""
MUCH: Final = 1.2
CLEARLY: Final = 4.0
"""Counts that vary this many times as much as the family says, and are this many standard deviations from it."""
STRATA: Final = 8
"""The scale's distribution is cut into this many equally likely parts."""
FAR: Final = 1.0
"""A linear predictor that is this many units from where the last round looked is not near it: odds differ by a factor of e."""


@dataclass(frozen=True, eq=False)
class ModelFit:
    """A sampled posterior."""

    sampled: Sampled
    estimand: str


def fit_model(problem: ModelProblem, draws: int, chains: int, seed: int, tick: Tick) -> ModelFit:
    """Sample the posterior."""
    best = Estimate.of(problem.likelihoods, problem.prior)
    scales, middles = _strata(problem, best)
    estimates = [best if scale is None else Estimate.of(best.likelihoods, problem.prior, scale=scale) for scale in middles]
    proposals = [Proposal.of(one.distance, one.covariance) for one in estimates]
    drawn = sample([Density(one) for one in estimates], proposals, draws=draws, chains=chains, seed=seed, tick=tick)
    flat = best.to_user(drawn.draws.reshape(-1, drawn.draws.shape[-1]).T).T.reshape(drawn.draws.shape)
    if scales is not None:
        flat = np.concatenate([flat, scales.draw(drawn, seed)[..., None]], axis=-1)
    return ModelFit(Sampled(flat, doubts=doubts_about(best)), estimand_of(best))


@dataclass(frozen=True, eq=False)
class Scales:
    """The distribution of the scale, as a table of its logarithm's cumulative distribution."""

    logs: Array
    cumulative: Array

    @classmethod
    def of(cls, scales: Array, chances: Array) -> Scales:
        """From the chances of scales that are evenly spaced in the logarithm."""
        logs = np.log(scales)
        half = (logs[1] - logs[0]) / 2
        return cls(np.append(logs - half, logs[-1] + half), np.append(0.0, np.cumsum(chances)))

    def quantile(self, shares: Array) -> Array:
        """The scales below which these shares are."""
        return np.exp(np.interp(shares, self.cumulative, self.logs))

    def draw(self, drawn: Drawn, seed: int) -> Array:
        """A scale within the stratum of each draw."""
        inside = np.random.default_rng((seed, 1)).random(drawn.strata.shape)
        return self.quantile((drawn.strata + inside) / STRATA)


def _strata(problem: ModelProblem, best: Estimate) -> tuple[Scales | None, list[float | None]]:
    scales, chances = scale_chances(best.likelihoods, best.distance)
    if len(scales) == 1:
        return None, [None]
    if problem.sigma is not None:  # instead of the family's own prior
        first = best.likelihood.problem
        logs = np.log(scales) - 0.5 * (scales / problem.sigma) ** 2 - first.family.scale_prior(scales, first.bounds)
        chances = chances * np.exp(logs - logs.max())
        chances = chances / chances.sum()
    found = Scales.of(scales, chances)
    return found, [float(one) for one in found.quantile((np.arange(STRATA) + 0.5) / STRATA)]


def doubts_about(best: Estimate) -> tuple[str, ...]:
    """Reasons not to trust the draws, from public numbers alone."""
    doubts = []
    if not best.converged:
        doubts.append("the search for the most likely coefficients did not end")
    moved = best.moved()
    unit = best.likelihood.problem.family.unit(best.clipping_scale())
    if moved > FAR * unit and moved > 2 * best.typical(best.covariance):
        doubts.append(f"the last round looked where typical linear predictors differ by {moved:.2g} from the estimate's, so it "
                      "says less than it could, and its prediction may be wrong")
    unsure = best.typical(best.covariance)
    if unsure > UNSURE * unit:
        doubts.append(f"the noise leaves typical linear predictors unsure by {unsure:.2g}: the prior and made-up rows decide "
                      "much, and intervals can be too narrow")
    more = max(_excess(one, place.distance(best.distance)) for one, place in zip(best.likelihoods, best.places, strict=True))
    if more > 0:
        doubts.append(f"counts vary at least {more:.2g} times as much as Poisson counts, so intervals are too narrow and "
                      "coefficients can be off: the family negative-binomial is for such counts")
    return tuple(doubts)


def _excess(one: Likelihood, own: Array) -> float:
    """How much more counts vary than the family says, if that is clear; else 0. A scale adapts, and robust intervals do."""
    if one.problem.family.scaled or one.robust:
        return 0.0
    ratio = variance_ratio(one, own, None)
    if ratio is None or ratio.value < MUCH or ratio.value - 1.0 < CLEARLY * np.hypot(ratio.sd, TOLERANCE):
        return 0.0
    return ratio.value


def estimand_of(best: Estimate) -> str:
    """What the coefficients describe, in words."""
    kept = min(one.weight_kept() for one in best.likelihoods)
    family: Family = best.likelihood.problem.family
    words = f"the {family.estimand} for the rows of the table"
    if kept < 0.995:
        words += f"; rows with unusual predictors count less ({100 * (1 - kept):.0f} % of all weight is lost)"
    return words + family.clipped
