"""The estimators: linear regression, binary logistic regression and Poisson regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from noisewise.arrays import Array
from noisewise.errors import DeclarationError
from noisewise.estimators.base import PrivateRegression
from noisewise.estimators.declarations import FROM_PUBLIC_KNOWLEDGE, Level, pair, plain
from noisewise.estimators.predictions import mean_and_deviation
from noisewise.posterior.methods import DEFAULT_METHOD
from noisewise.schema import Categorical

Labels: TypeAlias = NDArray[np.generic]


class _PrivateRegressor(RegressorMixin, PrivateRegression):  # type: ignore[misc]
    """Base class of linear and Poisson regression, which predict numbers."""

    def predict(self, X: object, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the mean response of each row; with ``return_std``, also the standard deviation of a new response."""
        mean, deviation = mean_and_deviation(*self._to_predict(X))
        return (mean, deviation) if return_std else mean


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegression(_PrivateRegressor):
    """Linear regression with differential privacy: ``fit`` releases the rows and fits a posterior to the release.

    With a delta the release is of kind model: sums for this regression alone, which need less noise and assume nothing about the
    predictors. Without one it is of kind gram: sums of products of all columns. ``release_kind`` names another kind.

    The arguments up to ``edition`` are public declarations and must not be derived from the rows. The others affect the posterior
    and have no effect on privacy.

    Args:
        epsilon: The budget of each ``fit``. Required.
        delta: The delta of each ``fit``. Without one the guarantee is pure epsilon, and the noise is Laplace.
        release_kind: "model" (`noisewise.Model`; the default with a delta, which it needs) or "gram" (`noisewise.Gram`; the
            default without).
        mechanism: A different noise mechanism, as in `noisewise.Gram`. For gram releases only.
        bounds: ``{column: (low, high)}``; or ``(low, high)``, as numbers for all features or as lists with one number per
            feature. Required for numbers. Values outside are clipped; missing values become the middle.
        levels: ``{column: [level, ...]}`` for categories, reference level first. Missing values become the first level.
        target_bounds: ``(low, high)`` of y. Required.
        adjacency: "replace-one" if the number of rows is public, "add-remove" if it is not. Required.
        max_rows: How many rows of one person to use, with ``fit(X, y, unit=...)``.
        ledger: A `noisewise.Ledger`, charged before any noise is drawn.
        edition: Names the state of the table. With a ledger, the same request for the same edition returns the stored release,
            with a warning, and spends nothing. Without an edition each fit is a new release.
        prior: A `noisewise.Prior`.
        method: The method of `noisewise.fit`. Model releases have only one.
        robust: Intervals that hold although residuals have unequal variances or heavy tails. For model releases.
        draws: Draws per chain.
        chains: Number of chains.
        interval: The probability of intervals.
        random_state: Seeds the posterior draws, never the noise.
        progress: As in `noisewise.Run`.

    Attributes:
        release_: The release, which may be saved and shared with anyone.
        posterior_: The posterior.
        formula_: The formula that was fitted.
        coef_, intercept_: Posterior means.
        coef_interval_, intercept_interval_: Intervals; the last axis is (lower, upper).
        coef_names_: Names of the coefficients. A category has one for each level except the first.
        n_features_in_, feature_names_in_: As in scikit-learn.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(0, 10, size=(20_000, 1))
    >>> y = 3 + 2 * X[:, 0] + rng.normal(0, 2, 20_000)
    >>> model = PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=(0, 10), target_bounds=(0, 30), adjacency="replace-one",
    ...                                 random_state=0).fit(X, y)
    >>> model.coef_.shape, model.coef_interval_.shape, model.predict([[5.0]]).shape
    ((1,), (1, 2), (1,))
    """

    _family: ClassVar[str] = "gaussian"
    target_bounds: Sequence[float] | None = None
    method: str = DEFAULT_METHOD
    robust: bool = False

    def _target(self) -> dict[str, object]:
        if self.target_bounds is None:
            raise DeclarationError("target_bounds is required: it determines the noise", argument="target_bounds",
                                   found="target_bounds=None", remedy=f"give target_bounds=(low, high) {FROM_PUBLIC_KNOWLEDGE}")
        return {"bounds": pair(self.target_bounds, "target_bounds")}


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(ClassifierMixin, PrivateRegression):  # type: ignore[misc]
    """Binary logistic regression with differential privacy.

    Arguments and attributes are those of `PrivateLinearRegression`, except that ``classes`` replaces ``target_bounds`` and that
    there are no ``method`` (each kind of release has only one) and no ``robust``. ``classes_`` is sorted, as everywhere in
    scikit-learn; probabilities, coefficients and intervals refer to the second class. ``coef_`` has shape (1, coefficients) and
    ``intercept_`` (1,), as in ``LogisticRegression``.

    Args:
        classes: The two labels, declared and never read from y. Required. An undeclared label in y counts as the first class.
        near_normal: For gram releases, which take numeric predictors for normal: True if you know that they nearly are. Then no
            warning says so.

    >>> import numpy as np
    >>> model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, bounds=(0, 10), classes=("no", "yes"),
    ...                                   adjacency="replace-one")
    >>> model.fit(np.zeros((3, 1)), None)
    Traceback (most recent call last):
        ...
    noisewise.estimators.rows.RowsError: this estimator requires y to be passed, but the target y is None
    """

    _family: ClassVar[str] = "logistic"
    classes: Sequence[Level] | None = None
    near_normal: bool = False

    def predict_proba(self, X: object) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        second, _ = mean_and_deviation(*self._to_predict(X))
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: object) -> Array:
        """Return the logarithm of the probability of each class."""
        return np.log(self.predict_proba(X))

    def predict(self, X: object) -> Labels:
        """Return the more probable class of each row."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _target(self) -> dict[str, object]:
        return {"levels": [plain(label) for label in self._sorted_classes()]}

    def _sorted_classes(self) -> Labels:
        if self.classes is None:
            raise DeclarationError("classes is required: labels are declared, never read from y", argument="classes",
                                   found="classes=None", remedy='give the two labels, for example classes=("no", "yes")')
        if isinstance(self.classes, str) or np.ndim(self.classes) != 1:
            raise DeclarationError("classes must be a list of two labels", argument="classes", found=repr(self.classes)[:80],
                                   remedy='for example classes=("no", "yes")')
        kinds = {isinstance(plain(label), str) for label in self.classes}
        labels = np.unique(np.asarray(self.classes)) if len(kinds) == 1 else np.asarray([])
        if len(labels) != 2 or len(self.classes) != 2:
            raise DeclarationError("Only binary classification is supported: classes must have two different labels, both "
                                   "strings or both numbers", argument="classes", found=repr(self.classes)[:80],
                                   remedy='for example classes=("no", "yes")')
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

    Arguments and attributes are those of `PrivateLinearRegression`, except that there is no ``method`` (each kind of release has
    only one).
    ``score`` is the share of the deviance explained, as in scikit-learn's ``PoissonRegressor``.

    Args:
        target_bounds: The largest count, as in ``target_bounds=20`` or ``(0, 20)``. Larger counts are clipped. Required.
        robust: Take the variance from the release: somewhat wider intervals if counts are overdispersed. For model releases.
        near_normal: As in `PrivateLogisticRegression`.

    >>> PrivatePoissonRegressor(epsilon=1.0, bounds=(0, 10), target_bounds=20, adjacency="replace-one").target_bounds
    20
    """

    _family: ClassVar[str] = "poisson"
    target_bounds: float | Sequence[float] | None = None
    robust: bool = False
    near_normal: bool = False

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return D², the share of the deviance explained."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _target(self) -> dict[str, object]:
        if self.target_bounds is None:
            raise DeclarationError("target_bounds is required: it determines the noise", argument="target_bounds",
                                   found="target_bounds=None",
                                   remedy=f"give the largest count, as in target_bounds=20, {FROM_PUBLIC_KNOWLEDGE}")
        low, high = ((0, plain(self.target_bounds)) if np.ndim(self.target_bounds) == 0
                     else pair(self.target_bounds, "target_bounds"))
        if low != 0:
            raise DeclarationError("counts start at 0", argument="target_bounds", found=f"target_bounds={self.target_bounds!r}",
                                   remedy="give only the largest count")
        return {"bounds": [low, high]}
