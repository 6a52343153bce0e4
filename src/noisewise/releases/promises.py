"""Check that the noise that a file states is enough for its stated epsilon, delta and sensitivity.

A file can contradict itself, by mistake or on purpose. Its guarantee is then worthless, and the file is refused. A consistent
file proves nothing: its sensitivity is taken on trust, and no file shows how its noise was drawn.

Gaussian noise whose standard deviation is 1/μ times the change of the numbers has δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle and
Wang 2018, theorem 8). For several such pieces together, μ is the root of the sum of their μ². Laplace noise of scale b has
ε = sensitivity / b.
"""

from __future__ import annotations

import math
from typing import Final

from noisewise.errors import ReleaseError

TOLERANCE: Final = 1 + 1e-6
"""Allowance for rounding of the numbers in a file. Noise is rounded up when a release is made, so honest files do not need it."""
ROUNDING: Final = 2.0**-46
RULE: Final = "the noise stated in the file is too small for its stated epsilon, delta and sensitivity"


def check_gaussian(distance: float, epsilon: float, delta: float) -> None:
    """Refuse too little Gaussian noise; ``distance`` is the largest change of the numbers, in its standard deviations."""
    needed = least_delta(epsilon, distance)
    if needed > delta * TOLERANCE:
        raise _too_small(f"this noise has delta = {_apart(needed, delta)} at epsilon = {epsilon!r}, not {delta!r}")


def check_pure(needed: float, epsilon: float, delta: float = 0.0) -> None:
    """Refuse noise that needs a pure epsilon of ``needed`` if that exceeds what is stated."""
    if not (needed <= epsilon * TOLERANCE or -math.expm1((epsilon - needed) / 2) <= delta * TOLERANCE):
        raise _too_small(f"this noise has epsilon = {_apart(needed, epsilon)}, not {epsilon!r}")


def least_delta(epsilon: float, distance: float) -> float:
    """The δ of Gaussian noise at this ε, minus what rounding may have added; ``distance`` is μ.

    With φ the normal density, e^ε Φ(b) is φ(a) Φ(b)/φ(b) for a = μ/2 − ε/μ and b = −μ/2 − ε/μ, so no factor can overflow.

    >>> round(least_delta(1.0, 1 / 3.73063), 8), least_delta(1.0, 1e-9), least_delta(1.0, 1e200)
    (1e-05, 0.0, 1.0)
    """
    from scipy.special import erfcx, ndtr

    upper, lower = distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance
    if not abs(upper) < 38.0:  # not distinguishable from 0 or 1 in a double
        return 1.0 if upper > 0 else 0.0
    density = math.exp(-upper * upper / 2) / math.sqrt(2 * math.pi)
    below, mills = float(ndtr(upper)), math.sqrt(math.pi / 2) * float(erfcx(-lower / math.sqrt(2)))
    rounding = ROUNDING * (below + density * (1 + abs(upper)) * abs(lower))
    return max(0.0, below - density * mills - rounding)


def least_wishart_delta(extra: int, epsilon: float) -> float:
    """A lower bound on the δ of Wishart noise with ``extra`` more degrees of freedom than columns.

    An added row changes a chi-square variable with ``extra`` + 1 degrees of freedom by at most 1 in units of the scale (V2 of
    wishart.md). That δ is exact, and replacing a row is at least as bad as adding one.
    """
    from scipy.special import gammainc, gammaincc

    shape = (extra + 1) / 2
    if shape <= 1:
        return 1.0
    up = 1 / -math.expm1(-(epsilon + 0.5) / (shape - 1))
    found = gammainc(shape, up / 2) - math.exp(epsilon) * gammainc(shape, max(up - 1, 0) / 2) if epsilon < 700 else 0.0
    if epsilon < 0.5:
        exponent = (epsilon - 0.5) / (shape - 1)
        down = math.exp(exponent) / -math.expm1(exponent)
        found = max(found, gammaincc(shape, down / 2) - math.exp(epsilon) * gammaincc(shape, (down + 1) / 2))
    return max(0.0, float(found) * (1 - 1e-9) - 1e-15)


def check_wishart(degrees: int, columns: int, epsilon: float, delta: float) -> None:
    """Refuse too few degrees of freedom."""
    needed = least_wishart_delta(degrees - columns, epsilon)
    if needed > delta * TOLERANCE:
        raise _too_small(f"{degrees} degrees of freedom for {columns} columns have delta = {_apart(needed, delta)} "
                         f"at epsilon = {epsilon!r}, not {delta!r}")


def _too_small(found: str) -> ReleaseError:
    return ReleaseError(RULE, found=found, remedy="the file was changed or damaged: ask its holder")


def _apart(found: float, stated: float) -> str:
    """The number, with enough digits to distinguish it from the stated one."""
    return f"{found:.4g}" if f"{found:.4g}" != f"{stated:.4g}" else repr(found)
