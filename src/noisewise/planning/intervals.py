"""Fast intervals for many simulated releases: those of the posterior that the default method samples.

Each release gets the default method's own model: with the predictors' moments as unknowns where the noise hides them, or the
model of another family. Finding its mode and drawing around it takes thousands of densities at a few milliseconds each. That
is a fraction of what a sampler takes, and needs next to no compiling.

A normal approximation at the mode is too narrow where noise makes a posterior skewed (``studies.power --methods``). So draws
from a heavy-tailed proposal, Student's t with that mode and scale, are weighted by the density. If the weights are uneven, the
proposal takes on the weighted draws' mean and covariance for another round. The draws of all rounds count, weighted by the
mixture of their proposals (adaptive multiple importance sampling: Cornuet, Marin, Mira and Robert 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.kernels.jax_setup import Program, double_precision
from noisewise.posterior.kernels.mode import LogDensity, Mode, find_mode, jax_density
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.latent import LatentModel
from noisewise.posterior.linear.methods import default_model
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.releases.release import Release
from noisewise.schema import Design

DEGREES: Final = 5.0
DRAWS: Final = 768
"""In a round, and in the result."""
ROUNDS: Final = 4
ENOUGH: Final = 0.5
"""Stop when this share of a round's draws is effective."""
WIDER: Final = 1.1
"""The first proposal is wider than the curvature at the mode by this factor."""


class Ends(NamedTuple):
    """Lower end, mean and upper end for each term; several fits are stacked as rows."""

    lower: Array
    mean: Array
    upper: Array

    @classmethod
    def of(cls, draws: Array, interval: float) -> Ends:
        """From draws of the coefficients, one in each row."""
        lower, upper = np.quantile(draws, [(1 - interval) / 2, (1 + interval) / 2], axis=0)
        return cls(lower, draws.mean(axis=0), upper)


@dataclass(frozen=True)
class FastFit:
    """Fits one regression to releases of the same columns."""

    design: Design
    family: str
    prior: Prior | None
    interval: float

    def __call__(self, release: Release, seed: int) -> tuple[Ends, bool]:
        """The intervals, and True if the noise hides the predictors' moments."""
        model = self._model(release)
        mode = find_mode(jax_density(model.log_density, model.data), *model.start())
        draws = importance_draws(model, mode, seed)
        if isinstance(model, GlmModel):
            user = model.coefficients(draws)
        else:
            working = model.coefficients(draws, seed) if isinstance(model, LatentModel) else draws
            user = model.coordinates.to_user(working)
        return Ends.of(user[:, :len(self.design.terms)], self.interval), isinstance(model, LatentModel)

    def hides(self, release: Release) -> bool:
        """True if the noise hides the predictors' moments."""
        return isinstance(self._model(release), LatentModel)

    def _model(self, release: Release) -> ConditionalModel | LatentModel | GlmModel:
        if self.family != "gaussian":
            return GlmModel.of(release, self.design, FAMILIES[self.family], self.prior)
        return default_model(release.contributions, *self._shared)

    @cached_property
    def _shared(self) -> tuple[Coordinates, ResolvedPrior]:
        return Coordinates.of(self.design), ResolvedPrior.of(self.design, self.prior)


def importance_draws(model: ConditionalModel | LatentModel | GlmModel, mode: Mode, seed: int) -> Array:
    """``DRAWS`` draws of the model's parameters, resampled to be draws from its posterior."""
    random = np.random.default_rng(seed)
    data = dict(model.data)
    if "copies" in data:  # one per matrix factorised side by side
        data["copies"] = np.zeros(DRAWS)
    proposals = [(mode.point, WIDER * mode.scale)]
    points, logs = np.empty((0, len(mode.point))), np.empty(0)
    for _ in range(ROUNDS):
        drawn = _draw(random, *proposals[-1])
        with double_precision():
            values = np.asarray(_densities(model.log_density)(drawn, data))
        points, logs = np.concatenate([points, drawn]), np.concatenate([logs, np.where(np.isfinite(values), values, -np.inf)])
        weights = _weights(points, logs, proposals)
        if np.sum(weights**2) * ENOUGH * DRAWS <= 1:
            break
        proposals.append(_moments(points, weights))
    return points[_systematic(random, weights)]


@cache
def _densities(log_density: LogDensity) -> Program:
    import jax
    import jax.numpy as jnp

    return jax.jit(jax.vmap(lambda x, data: log_density(x, data, jnp), in_axes=(0, None)))


def _draw(random: np.random.Generator, point: Array, scale: Array) -> Array:
    standard = random.normal(size=(DRAWS, len(point))) * np.sqrt(DEGREES / random.chisquare(DEGREES, DRAWS))[:, None]
    drawn: Array = point + standard @ scale.T
    return drawn


def _weights(points: Array, logs: Array, proposals: list[tuple[Array, Array]]) -> Array:
    """Density over the mixture of proposals, summing to 1; the largest are truncated, as in Ionides (2008)."""
    mixture = np.logaddexp.reduce([_log_proposal(points, *proposal) for proposal in proposals], axis=0)
    raw = logs - mixture
    weights = np.exp(raw - np.max(raw))
    weights = np.minimum(weights, np.sum(weights) / np.sqrt(len(weights)))
    total: Array = weights / np.sum(weights)
    return total


def _log_proposal(points: Array, point: Array, scale: Array) -> Array:
    """Log density, up to a constant that all proposals share."""
    standard = np.linalg.solve(scale, (points - point).T)
    value: Array = (-0.5 * (DEGREES + len(point)) * np.log1p(np.sum(standard**2, axis=0) / DEGREES)
                    - np.linalg.slogdet(scale)[1])
    return value


def _moments(points: Array, weights: Array) -> tuple[Array, Array]:
    mean = weights @ points
    apart = points - mean
    covariance = (apart * weights[:, None]).T @ apart
    return mean, np.asarray(np.linalg.cholesky(covariance + 1e-9 * np.diag(np.diag(covariance))), dtype=float)


def _systematic(random: np.random.Generator, weights: Array) -> npt.NDArray[np.intp]:
    """Indices of ``DRAWS`` draws, each as often as its weight says, give or take one."""
    steps = (np.arange(DRAWS) + random.random()) / DRAWS
    return np.minimum(np.searchsorted(np.cumsum(weights), steps), len(weights) - 1)
