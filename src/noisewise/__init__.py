"""Differentially private Bayesian regression: release a small noisy summary once, analyse it many times.

    import noisewise as nw

    schema = nw.Schema.load("schema.toml")                                  # public declarations
    nw.release("patients.parquet", schema, epsilon=1, delta=1e-6).save("patients.nwr")

    post = nw.fit("stay ~ age + ward", nw.load("patients.nwr"))             # anywhere else
    post.summary()
"""

from typing import TYPE_CHECKING, Any

from noisewise.answers.answer import answer
from noisewise.answers.test import test
from noisewise.database_query import query
from noisewise.errors import NoisewiseError
from noisewise.holder.audit import audit
from noisewise.holder.binary import synthesize_binary
from noisewise.holder.bounds import private_bounds
from noisewise.holder.planning import suggest_parts
from noisewise.holder.release import release
from noisewise.planning.power import plan_power
from noisewise.posterior.binary import fit_binary
from noisewise.posterior.compare import compare_methods
from noisewise.posterior.fit import fit
from noisewise.posterior.fit_many import fit_many
from noisewise.posterior.prior import Prior
from noisewise.posterior.sums.fit import fit_sum
from noisewise.privacy.ledger import Ledger
from noisewise.release import PartitionRelease, Release, combine, load, load_many
from noisewise.release.binary import BinarySynthesis
from noisewise.report.write import report
from noisewise.results import Comparison, PointEstimate, Posterior
from noisewise.schema import Schema
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile
from noisewise.selection.compare import compare
from noisewise.synthetic.combining import combine_synthetic
from noisewise.synthetic.sets import synthesize
from noisewise.version import __version__

__all__ = [
    "BayesFactor",
    "BinarySynthesis",
    "Comparison",
    "Criterion",
    "Ledger",
    "NoisewiseError",
    "PartitionRelease",
    "PointEstimate",
    "Posterior",
    "PosteriorProbability",
    "PosteriorQuantile",
    "Prior",
    "Release",
    "Schema",
    "__version__",
    "answer",
    "audit",
    "combine",
    "combine_synthetic",
    "compare",
    "compare_methods",
    "fit",
    "fit_binary",
    "fit_many",
    "fit_sum",
    "load",
    "load_many",
    "plan_power",
    "private_bounds",
    "query",
    "release",
    "report",
    "suggest_parts",
    "synthesize",
    "synthesize_binary",
    "test",
]

_ESTIMATORS = ("PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePoissonRegressor")
"""They need scikit-learn, which is an extra, and are imported when they are first asked for."""

if TYPE_CHECKING:
    from noisewise.estimators import PrivateLinearRegression as PrivateLinearRegression
    from noisewise.estimators import PrivateLogisticRegression as PrivateLogisticRegression
    from noisewise.estimators import PrivatePoissonRegressor as PrivatePoissonRegressor
else:

    def __getattr__(name: str) -> Any:
        if name in _ESTIMATORS:
            from noisewise import estimators

            return getattr(estimators, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_ESTIMATORS]
