"""Where the estimators must differ from what scikit-learn's ``check_estimator`` asks for, and why.

An exception that is listed and would pass fails the tests, as does one that is not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OF_ALL: Final[Mapping[str, str]] = {
    "check_dtype_object":
        "It wants an error for a cell that is no number. In fit, such a cell becomes the middle of its bounds: an error that "
        "depends on a value tells something about a row.",
    "check_estimators_nan_inf":
        "It wants an error for NaN and infinity in X. In fit, a missing cell becomes the middle of its bounds and infinity is "
        "clipped, for the same reason. predict does refuse them.",
    "check_supervised_y_no_nan":
        "It wants an error for NaN and infinity in y. A missing target becomes the middle of target_bounds (a missing label the "
        "first class) and infinity is clipped, for the same reason.",
}
OF_CLASSES: Final[Mapping[str, str]] = {
    "check_classifiers_classes":
        "It wants classes_ to be the labels found in y. They are those declared in classes: which labels occur is confidential.",
    "check_classifiers_regression_target":
        "It wants an error for a y of many different numbers. How many there are is confidential: what is not a declared class "
        "counts as the first.",
    "check_classifier_not_supporting_multiclass":
        "It wants an error for a y with three labels. How many occur is confidential; three declared classes are refused.",
}
EXCEPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "PrivateLinearRegression": OF_ALL,
    "PrivateLogisticRegression": {**OF_ALL, **OF_CLASSES},
    "PrivatePoissonRegressor": OF_ALL,
}


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """The checks that an estimator fails on purpose, with the reasons: for ``check_estimator(…, expected_failed_checks=…)``.

    >>> from noisewise.estimators import PrivateLinearRegression
    >>> sorted(expected_failed_checks(PrivateLinearRegression()))
    ['check_dtype_object', 'check_estimators_nan_inf', 'check_supervised_y_no_nan']
    """
    return dict(EXCEPTIONS.get(type(estimator).__name__, {}))
