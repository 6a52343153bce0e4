"""Logistic regression of two classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from noisewise.errors import DeclarationError
from noisewise.estimators.base import PrivateRegression
from noisewise.estimators.declarations import plain
from noisewise.estimators.predictions import Floats, mean_and_deviation
from noisewise.posterior.prior import Prior
from noisewise.schema import Categorical


class PrivateLogisticRegression(ClassifierMixin, PrivateRegression):  # type: ignore[misc]
    """Logistic regression of two classes with differential privacy.

    Arguments and attributes are those of `PrivateLinearRegression`, but for ``method`` (there is one), and ``classes``
    (mandatory) instead of ``target_bounds``: the two labels, declared and never read from y. A label in y that was not declared
    counts as the first class. ``classes_`` is sorted, as everywhere in scikit-learn; probabilities, coefficients and intervals
    are about the second. ``coef_`` has the shape (1, coefficients) and ``intercept_`` (1,), as in ``LogisticRegression``.
    """

    _family: ClassVar[str] = "logistic"

    def __init__(self, *, epsilon: float | None = None, delta: float | None = None, bounds: Any = None,
                 classes: Sequence[Any] | None = None, levels: Mapping[str, Sequence[Any]] | None = None,
                 adjacency: str | None = None, max_rows: int | None = None, mechanism: str | None = None,
                 prior: Prior | None = None, draws: int = 1000, chains: int = 4, interval: float = 0.95, random_state: Any = None,
                 ledger: Any = None, edition: str | None = None, progress: Any = None) -> None:
        super().__init__(epsilon=epsilon, delta=delta, bounds=bounds, levels=levels, adjacency=adjacency, max_rows=max_rows,
                         mechanism=mechanism, prior=prior, draws=draws, chains=chains, interval=interval,
                         random_state=random_state, ledger=ledger, edition=edition, progress=progress)
        self.classes = classes

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, in the order of ``classes_``."""
        second, _ = mean_and_deviation(*self._to_predict(X))
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: Any) -> Floats:
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

    def _set_coefficients(self, means: Floats, ends: Floats) -> None:
        declared = self.release_.schema.column(self.posterior_.design.response)
        assert isinstance(declared, Categorical)
        self.classes_ = np.asarray(declared.levels)
        self.intercept_, self.coef_ = means[:1], means[None, 1:]
        self.intercept_interval_, self.coef_interval_ = ends[:1], ends[None, 1:]
