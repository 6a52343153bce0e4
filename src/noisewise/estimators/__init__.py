"""scikit-learn estimators over `noisewise.release` and `noisewise.fit`: no mechanism and no sampler of their own.

    regressions.py   the estimators themselves; base.py: what the three have in common
    declarations.py  constructor arguments as a schema and a formula: public, mandatory, never completed from the rows
    rows.py          X and y as a table, without a look at any value
    callers.py       who may call fit: which steps of a pipeline, which cross-validation
    predictions.py   means, deviations and intervals for new rows, as arrays or data frames
    exceptions.py    where the estimators must differ from what scikit-learn checks, and why

Nobody else imports this room: noisewise works without scikit-learn, which is an extra.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    from noisewise.errors import NoisewiseError

    raise NoisewiseError("the estimators need scikit-learn", found=str(error),
                         remedy="pip install 'noisewise[sklearn]'; noisewise.release and noisewise.fit do without it") from error

from noisewise.estimators.base import StoredReleaseWarning
from noisewise.estimators.callers import RepeatedReleaseWarning
from noisewise.estimators.exceptions import expected_failed_checks
from noisewise.estimators.regressions import PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor
from noisewise.estimators.rows import RowsError

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePoissonRegressor", "RepeatedReleaseWarning",
           "RowsError", "StoredReleaseWarning", "expected_failed_checks"]
