"""Prior probabilities of models, by how many of the K optional terms they contain."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError

Array = npt.NDArray[np.float64]

NAMES: Final = ("beta-binomial", "uniform", "bernoulli(p)")


def log_prior_by_size(name: str, count: int) -> Array:
    """The log prior probability of one model with 0, 1, …, K terms.

    ``beta-binomial``: every number of terms is equally likely, and so are the models of one size (Scott and Berger 2010, the
    hierarchical uniform prior). ``uniform``: every model. ``bernoulli(p)``: each term is in with probability p, independently.

    >>> np.exp(log_prior_by_size("beta-binomial", 2))
    array([0.33333333, 0.16666667, 0.33333333])
    """
    k = np.arange(count + 1)
    if name == "uniform":
        return np.full(count + 1, -count * math.log(2.0))
    if name == "beta-binomial":
        return np.array([-math.log(count + 1) - math.log(math.comb(count, int(size))) for size in k])
    share = _bernoulli(name)
    return np.asarray(k * math.log(share) + (count - k) * math.log1p(-share))


def _bernoulli(name: str) -> float:
    if isinstance(name, str) and name.startswith("bernoulli(") and name.endswith(")"):
        try:
            share = float(name[len("bernoulli("):-1])
        except ValueError:
            share = math.nan
        if 0.0 < share < 1.0:
            return share
        raise FitError("a term's prior probability lies between 0 and 1", found=name, remedy='for example "bernoulli(0.2)"')
    raise FitError("the prior of models is not known", found=repr(name), remedy="known are " + ", ".join(NAMES))
