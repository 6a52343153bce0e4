"""Intervals of many simulated releases by a fast method: those of the posterior that the default method samples.

The default's own model is used for each release: with the predictors' moments as unknowns where the noise hides them, and the
models of the other families. Its mode and draws around it take a fraction of what a sampler takes, and next to no compiling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.planning.importance import importance_draws
from noisewise.posterior.conditional import ConditionalModel
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.kernels.gradients import jax_density
from noisewise.posterior.kernels.mode import find_mode
from noisewise.posterior.latent import LatentModel
from noisewise.posterior.methods import default_model
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.release.model import Release
from noisewise.schema import Design

Array: TypeAlias = npt.NDArray[np.float64]


class Ends(NamedTuple):
    """Lower end, mean and upper end for each term, of one fit or of several below one another."""

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
        """The intervals, and whether the noise hides the predictors' moments."""
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
        """Whether the noise hides the predictors' moments."""
        return isinstance(self._model(release), LatentModel)

    def _model(self, release: Release) -> ConditionalModel | LatentModel | GlmModel:
        if self.family != "gaussian":
            return GlmModel.of(release, self.design, FAMILIES[self.family], self.prior)
        return default_model(release.parts, *self._shared)

    @cached_property
    def _shared(self) -> tuple[Coordinates, ResolvedPrior]:
        return Coordinates.of(self.design), ResolvedPrior.of(self.design, self.prior)
