"""How the squared residuals of counts scatter: whether counts vary as much as a Poisson distribution says.

With r = y − l(η), l the best linear function of η, a row has E[r² | η] = g = v + ρ², where ρ = f − l as in ``response_moments``,
and E[r⁴ | η] = E e⁴ + 4ρ E e³ + 6ρ² v + ρ⁴ with e = y − f. What the columns' moments leave open is taken as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.posterior.glm.expectations import Expectations

Array = npt.NDArray[np.float64]

FLAT: Final = 1e-6
"""Added to the mean square of η's quadratic polynomial: 0 if η has two values only."""


@dataclass(frozen=True)
class Dispersion:
    """Per row, in the units of the release."""

    linear: Array
    """The best linear function of η as a combination of the columns: l = linear @ a."""
    explained: float
    """E v: the variance of counts around their means."""
    variance: float
    """Of Σ r², given the columns' moments."""
    covariance: Array
    """Of Σ r² with Σ y a."""


def dispersion(law: Expectations, theta: Array, data: Mapping[str, Any]) -> Dispersion:
    """Of counts that are cut off at the declared maximum; everything as NumPy arrays."""
    half = float(data["response_half"])
    raw_mean, v, third, fourth = _central_moments(np.asarray(law.eta), int(data["largest"]))
    mean = (raw_mean - float(data["response_centre"])) / half
    v, third, fourth = v / half**2, third / half**3, fourth / half**4

    centre = law.of_function(law.eta, np)
    width = np.sqrt(law.of_function((law.eta - centre) ** 2, np))
    standard = (law.eta - centre) / width
    level, slope = law.of_function(mean, np), law.of_function(mean * standard, np)
    rest = mean - level - slope * standard
    quadratic = standard**2 - 1.0 - law.of_function(standard**3, np) * standard
    quadratic = quadratic / np.sqrt(law.of_function(quadratic**2, np) + FLAT)

    square = v + rest**2
    variance = law.of_function(fourth + 4.0 * rest * third + 6.0 * rest**2 * v + rest**4, np)
    covariance = law.with_row(third + 2.0 * rest * v + rest * square, np)
    for polynomial in (np.ones_like(standard), standard, quadratic):
        known = law.of_function(square * polynomial, np)
        variance -= known**2
        covariance = covariance - known * law.with_row(rest * polynomial, np)
    linear = slope / width * theta
    linear[0] += level - slope * centre / width
    return Dispersion(linear, float(law.of_function(v, np)), float(variance), np.asarray(covariance))


def _central_moments(eta: Array, largest: int) -> tuple[Array, Array, Array, Array]:
    """Mean, variance, third and fourth central moment of min(Y, largest) for Y ~ Poisson(exp(η)); one line of η at a time."""
    from scipy.special import gammaln, pdtrc

    counts = np.arange(largest + 1.0)
    found = []
    for line in np.clip(eta, -60.0, 60.0):
        rate = np.exp(line)[:, None]
        weights = np.exp(counts * line[:, None] - rate - gammaln(counts + 1.0))
        weights[:, -1] = pdtrc(largest - 1, rate[:, 0]) if largest else 1.0
        mean = weights @ counts
        away = counts - mean[:, None]
        found.append([mean, *(np.sum(weights * away**power, axis=1) for power in (2, 3, 4))])
    mean, second, third, fourth = np.array(found).transpose(1, 0, 2)
    return mean, second, third, fourth
