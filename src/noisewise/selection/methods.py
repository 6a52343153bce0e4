"""The ways from noisy moments to weighed models, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.progress import Tick
from noisewise.selection.averaged import AveragedDraws, averaged_draws
from noisewise.selection.bands import affordable_draws, inclusion_without_noise
from noisewise.selection.evidence import Evidence
from noisewise.selection.model_probabilities import MOST_EXACT, Members, Weighed, weigh
from noisewise.selection.moments import Moments
from noisewise.selection.noise_laws import NoiseLaw
from noisewise.selection.plug_in import regularised

Array = npt.NDArray[np.float64]

DEFAULT: Final = "noise-aware"
WEIGHED: Final = 60
"""So many per cent of the work are done, on a progress bar, when all models are weighed and the bands begin."""


@dataclass(frozen=True)
class Asked:
    """One comparison, everything public and checked. ``seeds``: for a walk, for draws of coefficients, and for the bands."""

    moments: Moments
    noise: NoiseLaw
    groups: Sequence[Sequence[int]]
    prior: str
    log_prior: Array
    draws: int
    seeds: Sequence[int]
    tick: Tick


@dataclass(frozen=True)
class Found:
    """The models, draws of coefficients in working units, and draws of what the table itself would say, if there are any."""

    weighed: Weighed
    drawn: AveragedDraws
    without_noise: Array | None = None


def noise_aware(asked: Asked) -> Found:
    """Each model's evidence is that of the noisy moments, with the noise in it."""
    evidence = Evidence(asked.moments, asked.groups, asked.prior)
    weighed = weigh(evidence, asked.log_prior, asked.seeds[0], _percent(asked.tick, 0, WEIGHED))
    drawn = averaged_draws(evidence, weighed.members, weighed.probabilities, asked.draws, asked.seeds[1])
    tick = _percent(asked.tick, WEIGHED, 100)
    band = inclusion_without_noise(evidence, weighed, drawn, asked.log_prior, asked.seeds[2], tick)
    return Found(weighed, drawn, band)


def plug_in(asked: Asked, *, threshold: bool) -> Found:
    """The noisy moments, made positive definite, as if they were the table's own."""
    evidence = Evidence(regularised(asked.moments, asked.noise, threshold=threshold), asked.groups, asked.prior)
    weighed = weigh(evidence, asked.log_prior, asked.seeds[0], _percent(asked.tick, 0, 100))
    return Found(weighed, averaged_draws(evidence, weighed.members, weighed.probabilities, asked.draws, asked.seeds[1]))


def histogram(asked: Asked) -> Found:
    """The average over matrices from a confidence region: the histogram estimates of the literature."""
    from noisewise.selection.histogram import histogram_estimate
    from noisewise.selection.regions import Region

    terms = len(asked.groups)
    if terms > MOST_EXACT:
        raise FitError(f"the method histogram lists all models, which it can for up to {MOST_EXACT} terms",
                       found=f"{terms} terms", remedy="method='noise-aware', or keep some terms in every model")
    count = max(2, affordable_draws(2**terms, asked.draws))
    matrices = Region(asked.moments, asked.noise).draws(count, asked.seeds[0], _percent(asked.tick, 0, WEIGHED)).matrices
    found = histogram_estimate(asked.moments, matrices, asked.groups, asked.prior, asked.log_prior, draws=asked.draws,
                               seed=asked.seeds[1], tick=_percent(asked.tick, WEIGHED, 100))
    factors = implied_factors(found.log_probabilities, found.members, asked.log_prior)
    return Found(Weighed(found.members, factors, found.probabilities), found.drawn, found.inclusion)


def _percent(tick: Tick, first: int, last: int) -> Tick:
    """Progress of one part of the work, from ``first`` to ``last`` per cent of all."""

    def told(done: int, total: int | None) -> None:
        tick(first + (last - first) * done // (total or done or 1), 100)

    return told


def implied_factors(log_probabilities: Array, members: Members, log_prior: Array) -> Array:
    """The log Bayes factors that would give these probabilities; the smallest model comes first."""
    logs = log_probabilities - log_prior[members.sum(axis=1)]
    return np.asarray(logs - logs[0])


METHODS: Final[dict[str, Callable[[Asked], Found]]] = {
    DEFAULT: noise_aware,
    "ridge": lambda asked: plug_in(asked, threshold=False),
    "thresholded": lambda asked: plug_in(asked, threshold=True),
    "histogram": histogram,
}
