"""The families by name."""

from __future__ import annotations

from typing import Final

from noisewise.posterior.glm.family import Family
from noisewise.posterior.glm.logistic import LOGISTIC
from noisewise.posterior.glm.poisson import POISSON
from noisewise.posterior.glm.probit import PROBIT

FAMILIES: Final[dict[str, Family]] = {family.name: family for family in (LOGISTIC, PROBIT, POISSON)}
