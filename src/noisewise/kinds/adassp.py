"""`AdaSSP`: noisy sums for a point estimate of one regression, a method from the literature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noisewise.kinds.regression import OneRegression
from noisewise.words import option


@dataclass(frozen=True)
class AdaSSP(OneRegression):
    """Sums for a point estimate of one regression, without intervals. Its ridge is chosen from a noisy eigenvalue.

    From the literature, for comparison. Needs a delta.

    >>> AdaSSP("stay ~ age").to_dict()
    {'name': 'adassp', 'formula': 'stay ~ age'}
    """

    name: ClassVar[str] = "adassp"
    literature: ClassVar[bool] = True
    purpose: ClassVar[str] = "one regression, by a point estimate"
    use: ClassVar[str] = "fit its formula with " + option("method", "adassp")
    holders: ClassVar[bool] = True
    has_columns: ClassVar[bool] = True
