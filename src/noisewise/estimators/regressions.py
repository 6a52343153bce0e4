"""The estimators: linear regression, logistic regression of two classes, and Poisson regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from noisewise.arrays import Array
from noisewise.errors import DeclarationError
from noisewise.estimators.base import PrivateRegression
from noisewise.estimators.declarations import FROM_PUBLIC_KNOWLEDGE, pair, plain
from noisewise.estimators.predictions import mean_and_deviation
from noisewise.posterior.methods import DEFAULT_METHOD
from noisewise.schema import Categorical


class _PrivateRegressor(RegressorMixin, PrivateRegression):  # type: ignore[misc]
    """What linear and Poisson regression share: numbers are predicted."""

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The mean response of each row; with ``return_std`` also the standard deviation of a new response."""
        mean, deviation = mean_and_deviation(*self._to_predict(X))
        return (mean, deviation) if return_std else mean


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegression(_PrivateRegressor):
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
    target_bounds: Sequence[float] | None = None
    method: str = DEFAULT_METHOD

    def _target(self) -> dict[str, Any]:
        if self.target_bounds is None:
            raise DeclarationError("target_bounds is mandatory: the noise is calibrated to it", found="target_bounds=None",
                                   remedy=f"give target_bounds=(low, high) {FROM_PUBLIC_KNOWLEDGE}")
        return {"bounds": pair(self.target_bounds, "target_bounds")}


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(ClassifierMixin, PrivateRegression):  # type: ignore[misc]
    """Logistic regression of two classes with differential privacy.

    Arguments and attributes are those of `PrivateLinearRegression`, but for ``method`` (there is one), and ``classes``
    (mandatory) instead of ``target_bounds``: the two labels, declared and never read from y. A label in y that was not declared
    counts as the first class. ``classes_`` is sorted, as everywhere in scikit-learn; probabilities, coefficients and intervals
    are about the second. ``coef_`` has the shape (1, coefficients) and ``intercept_`` (1,), as in ``LogisticRegression``.
    """

    _family: ClassVar[str] = "logistic"
    classes: Sequence[Any] | None = None

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, in the order of ``classes_``."""
        second, _ = mean_and_deviation(*self._to_predict(X))
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each row."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _target(self) -> dict[str, Any]:
        return {"levels": [plain(label) for label in self._sorted_classes()]}

    def _sorted_classes(self) -> NDArray[Any]:
        if self.classes is None:
            raise DeclarationError("classes is mandatory: labels are public declarations, never read from y",
                                   found="classes=None", remedy='give the two labels, for example classes=("no", "yes")')
        if isinstance(self.classes, str) or np.ndim(self.classes) != 1:
            raise DeclarationError("classes is a list of two labels", found=repr(self.classes)[:80],
                                   remedy='for example classes=("no", "yes")')
        kinds = {isinstance(plain(label), str) for label in self.classes}
        labels = np.unique(np.asarray(self.classes)) if len(kinds) == 1 else np.asarray([])
        if len(labels) != 2 or len(self.classes) != 2:
            raise DeclarationError("Only binary classification is supported: classes has two different labels, both texts or "
                                   "both numbers", found=repr(self.classes)[:80], remedy='for example classes=("no", "yes")')
        return labels

    def _set_coefficients(self, means: Array, ends: Array) -> None:
        declared = self.release_.schema.column(self.posterior_.design.response)
        assert isinstance(declared, Categorical)
        self.classes_ = np.asarray(declared.levels)
        self.intercept_, self.coef_ = means[:1], means[None, 1:]
        self.intercept_interval_, self.coef_interval_ = ends[:1], ends[None, 1:]


@dataclass(kw_only=True, eq=False, repr=False)
class PrivatePoissonRegressor(_PrivateRegressor):
    """Poisson regression (log link) with differential privacy.

    Arguments and attributes are those of `PrivateLinearRegression`, but for ``method`` (there is one), and ``target_bounds``: the
    largest count, as in ``target_bounds=20``, or ``(0, 20)``. Larger counts are cut off at it. ``score`` is the share of the
    deviance that is explained, as in scikit-learn's ``PoissonRegressor``.
    """

    _family: ClassVar[str] = "poisson"
    target_bounds: float | Sequence[float] | None = None

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
