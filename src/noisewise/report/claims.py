"""Whether the noise that a file states is enough for the ε, δ and sensitivity that it states.

A file can contradict itself, by mistake or on purpose, and then its guarantee is worth nothing. That it does not is no proof: the
sensitivity is taken as it is stated, and nobody can see from a file how its noise was drawn.

Gaussian noise whose standard deviation is 1/μ times the change of the sums has δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle and
Wang 2018, theorem 8), and several such pieces together have the root of the sum of their μ². Laplace noise of scale b has
ε = sensitivity / b. Other noise is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from noisewise.release.adassp import AdasspPart
from noisewise.release.model import GramPart, Release
from noisewise.release.moments import MomentsPart
from noisewise.release.pooled import PooledPart
from noisewise.release.single import SingleRelease
from noisewise.report.numbers import exact, number, plural

TOLERANCE: Final = 1 + 1e-6
"""What rounding may make of a number in a file. The noise of a release is rounded up, so that honest files need none of it."""
ROUNDING: Final = 2.0**-46
MOST_DOUBTS: Final = 6


def doubts(release: Release | SingleRelease, holders: Sequence[str]) -> list[str]:
    """Which holders state less noise than their guarantee needs; ``holders`` are the names of the parts."""
    if not isinstance(release, Release):
        return []
    found = []
    for name, part in zip(holders, release.parts, strict=True):
        words = too_little_noise(part)
        if words is not None:
            found.append(f"{name}: {words}")
    more = len(found) - MOST_DOUBTS
    return found if more <= 0 else [*found[:MOST_DOUBTS], f"The same is true of {plural(more, 'further data holder')}."]


def too_little_noise(part: GramPart) -> str | None:
    """In what way the stated noise falls short of the stated guarantee, if it does."""
    short = "the noise that its file states is too small for the ε, δ and sensitivity that it states: "
    if isinstance(part, PooledPart) or part.noise.distribution == "wishart":
        return None
    if part.noise.distribution == "laplace":
        epsilon = math.sqrt(2) * part.sensitivity / _least(part)
        enough = epsilon <= part.epsilon * TOLERANCE or -math.expm1((part.epsilon - epsilon) / 2) <= part.delta * TOLERANCE
        return None if enough else f"{short}such noise has ε = {_apart(epsilon, part.epsilon)} and not {exact(part.epsilon)}."
    delta = least_delta(part.epsilon, _distance(part))
    if delta <= part.delta * TOLERANCE:
        return None
    return f"{short}such noise has δ = {_apart(delta, part.delta)} at ε = {exact(part.epsilon)} and not {exact(part.delta)}."


def least_delta(epsilon: float, distance: float) -> float:
    """The δ of Gaussian noise at this ε, less what rounding may have added to it; ``distance`` is μ.

    With φ the normal density, e^ε Φ(b) is φ(a) Φ(b)/φ(b) for a = μ/2 − ε/μ and b = −μ/2 − ε/μ: no factor can overflow.

    >>> round(least_delta(1.0, 1 / 3.73063), 8), least_delta(1.0, 1e-9), least_delta(1.0, 1e200)
    (1e-05, 0.0, 1.0)
    """
    from scipy.special import erfcx, ndtr

    upper, lower = distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance
    if not abs(upper) < 38.0:  # beyond all numbers that can be told apart from 0 or from 1
        return 1.0 if upper > 0 else 0.0
    density = math.exp(-upper * upper / 2) / math.sqrt(2 * math.pi)
    below, mills = float(ndtr(upper)), math.sqrt(math.pi / 2) * float(erfcx(-lower / math.sqrt(2)))
    rounding = ROUNDING * (below + density * (1 + abs(upper)) * abs(lower))
    return max(0.0, below - density * mills - rounding)


def _distance(part: GramPart) -> float:
    """The largest change of the sums that one unit can make, in standard deviations of the noise."""
    if isinstance(part, MomentsPart):  # a block of weight c counts with its root
        return part.sensitivity / min(block.noise * math.sqrt(block.weight) for block in part.blocks.values())
    noise = part.noise
    sums = part.sensitivity / min(_least(part), math.sqrt(2) * noise.off_diagonal)
    if isinstance(part, AdasspPart):
        eigenvalue = part.smallest_eigenvalue
        return math.hypot(sums, eigenvalue.sensitivity / eigenvalue.noise)
    return sums


def _least(part: GramPart) -> float:
    """The least noise of an entry: of those that a norm counts once. A corner without noise is public."""
    noise = part.noise
    once = (noise.diagonal, noise.off_diagonal) if noise.distribution == "laplace" else (noise.diagonal,)
    return min(*once, noise.corner or math.inf)


def _apart(found: float, stated: float) -> str:
    """With as many digits as it takes to tell it from what was stated."""
    return number(found) if number(found) != number(stated) else exact(found)
