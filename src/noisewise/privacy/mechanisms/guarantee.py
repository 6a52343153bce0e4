"""Shared by the mechanisms: a description of the guarantee, the cost of Gaussian noise, and checks that noise fits the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noisewise.errors import PrivacyError
from noisewise.privacy.calibration import gaussian_multiplier
from noisewise.privacy.cost import Cost
from noisewise.privacy.noise import array_in_words, check_scale
from noisewise.privacy.sensitivity.neighbours import Neighbours
from noisewise.schema.basis import STATISTIC_GRID

if TYPE_CHECKING:
    from numpy.typing import NDArray


def statement(of: Neighbours, epsilon: float, delta: float, noise: str, unit: str | None = None,
              result: str = "any result of this release") -> str:
    """The guarantee in one sentence; `unit` names the unit column, if any."""
    further = " and a further delta" if delta else ""
    return (f"{of.words(unit)} changes the probability of {result} by at most a factor exp(epsilon){further}, with epsilon = "
            f"{_exactly(epsilon)} and delta = {_exactly(delta)} ({of.adjacency}, {noise}).")


def _exactly(value: float) -> str:
    """A number without rounding: a statement must not promise more than was spent."""
    return repr(value).removesuffix(".0")


def gaussian_cost(sd: float, sensitivity: float, epsilon: float, delta: float) -> Cost:
    """The cost of Gaussian noise, in a form that composes; ``sd`` as drawn on the grid."""
    return Cost.gaussian(gaussian_multiplier(sd, STATISTIC_GRID, sensitivity), epsilon, delta)


def fitting(scale: float, step: float = STATISTIC_GRID) -> float:
    """Return the scale, or refuse it before anything is read or charged if a grid of this step cannot hold such noise."""
    check_scale(scale / step)
    return scale


def check_symmetric(matrix: NDArray[np.int64], use: str) -> None:
    """Refuse anything but an exact statistic on its grid; ``use`` says what it is for."""
    square = isinstance(matrix, np.ndarray) and matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
    if not (square and matrix.dtype == np.int64 and np.array_equal(matrix, matrix.T)):
        raise PrivacyError(f"{use} a symmetric matrix of 64-bit integers", found=array_in_words(matrix),
                           remedy="put the statistic on its grid first")
