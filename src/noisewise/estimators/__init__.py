"""scikit-learn estimators on top of `noisewise.release` and `noisewise.fit`, without mechanisms or samplers of their own.

    regressions.py   the estimators; base.py: what all three share
    release_kinds.py which release a fit makes, and what it can be asked for
    declarations.py  turn constructor arguments into a schema and a formula, never using the rows
    rows.py          read X and y into a table without looking at any value
    callers.py       which pipelines and cross-validations may call fit
    predictions.py   means, deviations and intervals for new rows, as arrays or data frames
    exceptions.py    where the estimators must differ from scikit-learn's checks, and why

No other room imports this one: noisewise works without scikit-learn, which is an optional extra.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    from noisewise.errors import NoisewiseError

    raise NoisewiseError("the estimators require scikit-learn", found=str(error),
                         remedy="pip install 'noisewise[sklearn]', or use noisewise.release and noisewise.fit") from error

from noisewise.estimators.base import StoredReleaseWarning
from noisewise.estimators.callers import RepeatedReleaseWarning
from noisewise.estimators.exceptions import expected_failed_checks
from noisewise.estimators.regressions import PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor
from noisewise.estimators.rows import RowsError

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePoissonRegressor", "RepeatedReleaseWarning",
           "RowsError", "StoredReleaseWarning", "expected_failed_checks"]
