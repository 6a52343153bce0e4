"""Linear regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import RegressorMixin

from noisewise.errors import DeclarationError
from noisewise.estimators.base import PrivateRegression
from noisewise.estimators.declarations import FROM_PUBLIC_KNOWLEDGE, pair
from noisewise.estimators.predictions import Floats, mean_and_deviation
from noisewise.posterior.methods import DEFAULT
from noisewise.posterior.prior import Prior


class PrivateLinearRegression(RegressorMixin, PrivateRegression):  # type: ignore[misc]
    """Linear regression with differential privacy: a release of the rows, and a posterior fitted to the release.

    Public declarations, none of which may be taken from the rows:

    - ``epsilon`` (mandatory) and ``delta``: the budget of each ``fit``. With a delta the noise is Gaussian, without it Laplace;
      ``mechanism`` names another one, as in `noisewise.release`.
    - ``bounds`` (mandatory): ``{column: (low, high)}``; or ``(low, high)``, numbers for all features or lists with one number for
      each. ``levels``: ``{column: [level, ...]}`` for categories, the reference level first. ``target_bounds`` (mandatory):
      ``(low, high)`` of y. Values outside are clipped, missing ones become the middle (of levels: the first).
    - ``adjacency`` (mandatory): "replace-one" if the number of rows is public, "add-remove" if it is not. ``max_rows``: how many
      rows of one person are used, with ``fit(X, y, unit=...)``.
    - ``ledger``: a `noisewise.Ledger`, charged before any noise is drawn. Each fit is a release of its own, unless ``edition``
      names the state of the table: the same request for the same edition is then answered from the ledger, with a warning, and
      costs nothing.

    Of the posterior, without any effect on privacy: ``prior`` (a `noisewise.Prior`), ``method``, ``draws``, ``chains``,
    ``interval`` (the probability of intervals) and ``random_state``, which seeds the posterior's draws and never the noise.

    After ``fit``: ``release_`` (may be saved and given to anyone), ``posterior_``, ``formula_``, ``coef_`` and ``intercept_``
    (posterior means), ``coef_interval_`` and ``intercept_interval_`` (a last axis with lower and upper end), ``coef_names_`` (a
    category has one coefficient for each level but the first), ``n_features_in_``, ``feature_names_in_``.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(0, 10, size=(20_000, 1))
    >>> y = 3 + 2 * X[:, 0] + rng.normal(0, 2, 20_000)
    >>> model = PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=(0, 10), target_bounds=(0, 30), adjacency="replace-one",
    ...                                 method="laplace", random_state=0).fit(X, y)
    >>> model.coef_.shape, model.coef_interval_.shape, model.predict([[5.0]]).shape
    ((1,), (1, 2), (1,))
    """

    _family: ClassVar[str] = "gaussian"

    def __init__(self, *, epsilon: float | None = None, delta: float | None = None, bounds: Any = None,
                 target_bounds: Sequence[float] | None = None, levels: Mapping[str, Sequence[Any]] | None = None,
                 adjacency: str | None = None, max_rows: int | None = None, mechanism: str | None = None,
                 prior: Prior | None = None, method: str = DEFAULT, draws: int = 1000, chains: int = 4, interval: float = 0.95,
                 random_state: Any = None, ledger: Any = None, edition: str | None = None, progress: Any = None) -> None:
        super().__init__(epsilon=epsilon, delta=delta, bounds=bounds, levels=levels, adjacency=adjacency, max_rows=max_rows,
                         mechanism=mechanism, prior=prior, draws=draws, chains=chains, interval=interval,
                         random_state=random_state, ledger=ledger, edition=edition, progress=progress)
        self.target_bounds = target_bounds
        self.method = method

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """The mean response of each row; with ``return_std`` also the standard deviation of a new response."""
        mean, deviation = mean_and_deviation(*self._to_predict(X))
        return (mean, deviation) if return_std else mean

    def _target(self) -> dict[str, Any]:
        if self.target_bounds is None:
            raise DeclarationError("target_bounds is mandatory: the noise is calibrated to it", found="target_bounds=None",
                                   remedy=f"give target_bounds=(low, high) {FROM_PUBLIC_KNOWLEDGE}")
        return {"bounds": pair(self.target_bounds, "target_bounds")}

    def _method(self) -> str:
        return self.method
