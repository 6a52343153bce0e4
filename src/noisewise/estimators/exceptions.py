"""Where the estimators must differ from what scikit-learn's ``check_estimator`` expects, and why.

The tests fail if a listed check passes, or if an unlisted one fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OF_ALL: Final[Mapping[str, str]] = {
    "check_dtype_object":
        "Expects an error for a non-numeric cell. fit replaces such a cell with the middle of its bounds: an error that depends "
        "on a value reveals something about a row.",
    "check_estimators_nan_inf":
        "Expects an error for NaN and infinity in X. fit replaces a missing cell with the middle of its bounds and clips "
        "infinity, for the same reason. predict does raise an error.",
    "check_supervised_y_no_nan":
        "Expects an error for NaN and infinity in y. fit replaces a missing target with the middle of target_bounds (a missing "
        "label with the first class) and clips infinity, for the same reason.",
}
OF_CLASSES: Final[Mapping[str, str]] = {
    "check_classifiers_classes":
        "Expects classes_ to be the labels found in y. They are the declared classes: which labels occur is confidential.",
    "check_classifiers_regression_target":
        "Expects an error for a y with many different numbers. How many there are is confidential; a value that is not a "
        "declared class counts as the first class.",
    "check_classifier_not_supporting_multiclass":
        "Expects an error for a y with three labels. How many labels occur is confidential; declaring three classes is an error.",
}
EXCEPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "PrivateLinearRegression": OF_ALL,
    "PrivateLogisticRegression": {**OF_ALL, **OF_CLASSES},
    "PrivatePoissonRegressor": OF_ALL,
}


def expected_failed_checks(estimator: object) -> dict[str, str]:
    """Return the checks that an estimator fails on purpose, with reasons, for ``check_estimator(…, expected_failed_checks=…)``.

    >>> from noisewise.estimators import PrivateLinearRegression
    >>> sorted(expected_failed_checks(PrivateLinearRegression()))
    ['check_dtype_object', 'check_estimators_nan_inf', 'check_supervised_y_no_nan']
    """
    return dict(EXCEPTIONS.get(type(estimator).__name__, {}))
