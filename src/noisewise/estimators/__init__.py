"""scikit-learn estimators over `noisewise.release` and `noisewise.fit`: no mechanism and no sampler of their own.

    base.py          what the three have in common; linear.py, logistic.py and poisson.py are the estimators themselves
    declarations.py  constructor arguments as a schema and a formula: public, mandatory, never completed from the rows
    rows.py          X and y as a table, without a look at any value
    request.py       what the posterior would refuse, refused before budget is spent
    callers.py       who may call fit: transformers.py says which steps of a pipeline, folds.py which cross-validation
    stored.py        whether a ledger answered with an earlier release of the same edition
    predictions.py   means, deviations and intervals for new rows; output.py: as arrays or data frames
    exceptions.py    where the estimators must differ from what scikit-learn checks, and why

Nobody else imports this room: noisewise works without scikit-learn, which is an extra.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    from noisewise.errors import NoisewiseError

    raise NoisewiseError("the estimators need scikit-learn", found=str(error),
                         remedy="pip install 'noisewise[sklearn]'; noisewise.release and noisewise.fit do without it") from error

from noisewise.estimators.callers import RepeatedReleaseWarning
from noisewise.estimators.exceptions import expected_failed_checks
from noisewise.estimators.linear import PrivateLinearRegression
from noisewise.estimators.logistic import PrivateLogisticRegression
from noisewise.estimators.poisson import PrivatePoissonRegressor
from noisewise.estimators.rows import RowsError
from noisewise.estimators.stored import StoredReleaseWarning

__all__ = [
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePoissonRegressor",
    "RepeatedReleaseWarning",
    "RowsError",
    "StoredReleaseWarning",
    "expected_failed_checks",
]
