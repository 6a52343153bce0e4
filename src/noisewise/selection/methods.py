"""The methods that weigh models from noisy moments, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from noisewise.arrays import Array
from noisewise.posterior.contributions import Contributions
from noisewise.posterior.methods import Method
from noisewise.progress import Tick
from noisewise.selection.averaged import AveragedDraws, averaged_draws
from noisewise.selection.bands import inclusion_without_noise
from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments
from noisewise.selection.probabilities import Weighed, weigh
from noisewise.selection.question import Units

DEFAULT_METHOD: Final = "noise-aware"


@dataclass(frozen=True)
class Asked:
    """One checked comparison. ``seeds``: for a walk, for draws of coefficients, and for the bands.

    ``moments`` come from the holders' ``contributions``, in ``units``; these are for methods that need more than the variances of
    the noise.
    """

    moments: Moments
    contributions: Contributions
    units: Units
    groups: Sequence[Sequence[int]]
    prior: str
    log_prior: Array
    draws: int
    seeds: Sequence[int]
    tick: Tick


@dataclass(frozen=True)
class Found:
    """The models, draws of coefficients in working units, and draws of the table's own inclusion probabilities, if any."""

    weighed: Weighed
    drawn: AveragedDraws
    without_noise: Array | None = None


WEIGHED: Final = 60
"""Where a progress bar stands, in per cent, when all models are weighed and the bands begin."""


def noise_aware(asked: Asked) -> Found:
    """Weigh each model by its evidence from the noisy moments, noise included."""
    evidence = Evidence(asked.moments, asked.groups, asked.prior)
    weighed = weigh(evidence, asked.log_prior, asked.seeds[0], percent(asked.tick, 0, WEIGHED))
    drawn = averaged_draws(evidence, weighed.members, weighed.probabilities, asked.draws, asked.seeds[1])
    tick = percent(asked.tick, WEIGHED, 100)
    band = inclusion_without_noise(evidence, weighed, drawn, asked.log_prior, asked.seeds[2], tick)
    return Found(weighed, drawn, band)


def percent(tick: Tick, first: int, last: int) -> Tick:
    """Progress of one part of the work, from ``first`` to ``last`` per cent of the total."""

    def told(done: int, total: int | None) -> None:
        tick(first + (last - first) * done // (total or done or 1), 100)

    return told


@dataclass(frozen=True)
class SelectionMethod(Method):
    """A method that weighs models from noisy moments."""

    moments: str = ""
    """Import path of the function for the moments that the method treats as exact, if any, to export to other software."""


METHODS: Final = {method.name: method for method in (
    SelectionMethod(DEFAULT_METHOD, "accounts for the privacy noise; the default", noise_aware),
    SelectionMethod("ridge", "noisy moments, made positive definite by a ridge and treated as exact (Peña and Barrientos 2021)",
                    "noisewise.literature.plug_in:ridge", moments="noisewise.literature.plug_in:ridge_moments"),
    SelectionMethod("thresholded", "the same, with small entries set to 0", "noisewise.literature.plug_in:thresholded",
                    moments="noisewise.literature.plug_in:thresholded_moments"),
    SelectionMethod("histogram", "the average over a confidence region of the moments (Peña and Barrientos 2021)",
                    "noisewise.literature.histogram:histogram"),
)}
EXPORTED: Final = "ridge"
"""The default method whose moments are exported to other software as made-up rows."""
SYNTHETIC_ROWS: Final = "noisewise.literature.export:synthetic_rows"
"""Import path of the function that makes them."""
AGREEMENT: Final = "noisewise.literature.agreement:agreement"
"""Import path of the function that tests whether several methods agree about a term; all but one are from the literature."""
