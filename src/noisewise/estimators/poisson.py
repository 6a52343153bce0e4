"""Poisson regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from noisewise.errors import DeclarationError
from noisewise.estimators.base import PrivateRegression
from noisewise.estimators.declarations import FROM_PUBLIC_KNOWLEDGE, pair, plain
from noisewise.estimators.predictions import Floats, mean_and_deviation
from noisewise.posterior.prior import Prior


class PrivatePoissonRegressor(RegressorMixin, PrivateRegression):  # type: ignore[misc]
    """Poisson regression (log link) with differential privacy.

    Arguments and attributes are those of `PrivateLinearRegression`, but for ``method`` (there is one), and ``target_bounds``: the
    largest count, as in ``target_bounds=20``, or ``(0, 20)``. Larger counts are cut off at it. ``score`` is the share of the
    deviance that is explained, as in scikit-learn's ``PoissonRegressor``.
    """

    _family: ClassVar[str] = "poisson"

    def __init__(self, *, epsilon: float | None = None, delta: float | None = None, bounds: Any = None,
                 target_bounds: float | Sequence[float] | None = None, levels: Mapping[str, Sequence[Any]] | None = None,
                 adjacency: str | None = None, max_rows: int | None = None, mechanism: str | None = None,
                 prior: Prior | None = None, draws: int = 1000, chains: int = 4, interval: float = 0.95, random_state: Any = None,
                 ledger: Any = None, edition: str | None = None, progress: Any = None) -> None:
        super().__init__(epsilon=epsilon, delta=delta, bounds=bounds, levels=levels, adjacency=adjacency, max_rows=max_rows,
                         mechanism=mechanism, prior=prior, draws=draws, chains=chains, interval=interval,
                         random_state=random_state, ledger=ledger, edition=edition, progress=progress)
        self.target_bounds = target_bounds

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """The expected count of each row; with ``return_std`` also the standard deviation of a new count."""
        mean, deviation = mean_and_deviation(*self._to_predict(X))
        return (mean, deviation) if return_std else mean

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D²: the share of the deviance that is explained."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _target(self) -> dict[str, Any]:
        if self.target_bounds is None:
            raise DeclarationError("target_bounds is mandatory: the noise is calibrated to it", found="target_bounds=None",
                                   remedy=f"give the largest count, as in target_bounds=20, {FROM_PUBLIC_KNOWLEDGE}")
        found = plain(self.target_bounds)
        low, high = [0, found] if np.ndim(found) == 0 else pair(found, "target_bounds")
        if low != 0:
            raise DeclarationError("counts begin at 0", found=f"target_bounds={self.target_bounds!r}",
                                   remedy="give the largest count alone")
        return {"bounds": [low, high]}
