"""What a method is asked for and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.progress import Tick
from noisewise.release.model import Release
from noisewise.results.sites import SiteEffects

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Request:
    """One regression to be sampled, everything public and checked."""

    release: Release
    coordinates: Coordinates
    prior: ResolvedPrior
    draws: int
    chains: int
    seed: int
    tick: Tick


@dataclass(frozen=True)
class Sampled:
    """Draws in the user's units (chains, draws, coefficients and sigma) and what is to be said about them."""

    samples: Array
    diverging: npt.NDArray[np.bool_] | None = None
    doubts: tuple[str, ...] = ()
    sites: SiteEffects | None = None
