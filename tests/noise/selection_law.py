"""The law of a selection, computed without drawing: the integral of bounds.md, B2, as a polynomial."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def permute_and_flip_law(scores: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """The probability of each candidate.

    Candidate i is in the draw with probability p_i = exp(-(best - score)/scale), and the winner is uniform among those in it:
    P(j) = p_j E[1/(1 + S_j)] = p_j ∫₀¹ Π_{i≠j} (1 − p_i + p_i u) du, with S_j the number of the others in it.
    """
    chances = [Fraction(float(chance)) for chance in np.exp((scores - scores.max()) / scale)]
    return np.array([float(chance * _integral(chances[:place] + chances[place + 1:])) for place, chance in enumerate(chances)])


def exponential_law(scores: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """Of the exponential mechanism, which is another one: what a test must be able to tell apart."""
    weights = np.exp((scores - scores.max()) / scale)
    law: NDArray[np.float64] = weights / weights.sum()
    return law


def _integral(chances: list[Fraction]) -> Fraction:
    coefficients = [Fraction(1)]
    for chance in chances:
        shifted = [Fraction(0), *(chance * value for value in coefficients)]
        coefficients = [low + high for low, high in zip(
            [*((1 - chance) * value for value in coefficients), Fraction(0)], shifted, strict=True)]
    return sum((value / (power + 1) for power, value in enumerate(coefficients)), Fraction(0))
