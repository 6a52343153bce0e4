"""The input and output of a method."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import FitError
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.progress import Tick
from noisewise.releases.release import Release
from noisewise.results.sites import SiteEffects


def whole(name: str, value: int, least: int) -> int:
    """Return a whole number, Python's or NumPy's, as an int."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value < 2**63:
        raise FitError(f"{name} must be a whole number of at least {least}", found=repr(value))
    return int(value)


def sampling(draws: int, chains: int, seed: int | None) -> tuple[int, int, int]:
    """Check the numbers of draws and chains and the seed; make a new seed if none is given."""
    return (whole("draws", draws, 1), whole("chains", chains, 1),
            secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0))


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
    """Draws in the user's units (chains, draws, coefficients and sigma) and any doubts about them."""

    samples: Array
    diverging: Flags | None = None
    doubts: tuple[str, ...] = ()
    sites: SiteEffects | None = None
