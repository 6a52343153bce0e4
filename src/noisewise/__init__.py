"""Differentially private Bayesian regression: release a small noisy summary once, analyse it many times.

    import noisewise as nw

    schema = nw.Schema.load("schema.toml")                                  # public declarations
    nw.release("patients.parquet", schema, epsilon=1, delta=1e-6).save("patients.nwr")

    post = nw.fit("stay ~ age + ward", nw.load("patients.nwr"))             # anywhere else
    post.summary()

Names are imported on first use, so ``import noisewise`` is fast and the command handles Ctrl-C before it imports anything slow.
"""

from noisewise.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from noisewise.answers.answer import answer as answer
    from noisewise.answers.hypothesis_test import hypothesis_test as hypothesis_test
    from noisewise.audits.audit import audit as audit
    from noisewise.database_query import query as query
    from noisewise.errors import NoisewiseError as NoisewiseError
    from noisewise.estimators import PrivateLinearRegression as PrivateLinearRegression
    from noisewise.estimators import PrivateLogisticRegression as PrivateLogisticRegression
    from noisewise.estimators import PrivatePoissonRegressor as PrivatePoissonRegressor
    from noisewise.holder.release import release as release
    from noisewise.kinds.adassp import AdaSSP as AdaSSP
    from noisewise.kinds.binary import Binary as Binary
    from noisewise.kinds.bounds import Bounds as Bounds
    from noisewise.kinds.gram import Gram as Gram
    from noisewise.kinds.model import Model as Model
    from noisewise.kinds.moments import Moments as Moments
    from noisewise.kinds.partition import Partition as Partition
    from noisewise.kinds.rows import Rows as Rows
    from noisewise.literature.binary import fit_binary as fit_binary
    from noisewise.planning.partition import suggest_parts as suggest_parts
    from noisewise.planning.power import plan_power as plan_power
    from noisewise.planning.release_plan import plan as plan
    from noisewise.posterior.fit import compare_methods as compare_methods
    from noisewise.posterior.fit import fit as fit
    from noisewise.posterior.fit_many import fit_many as fit_many
    from noisewise.posterior.prior import Prior as Prior
    from noisewise.posterior.sums.fit import fit_sum as fit_sum
    from noisewise.privacy.ledger import Ledger as Ledger
    from noisewise.releases.combine import combine as combine
    from noisewise.releases.files import load as load
    from noisewise.releases.many import load_many as load_many
    from noisewise.releases.release import Release as Release
    from noisewise.releases.start import start as start
    from noisewise.reports.write import report as report
    from noisewise.results import Comparison as Comparison
    from noisewise.results import PointEstimate as PointEstimate
    from noisewise.results import Posterior as Posterior
    from noisewise.run import Run as Run
    from noisewise.schema import Schema as Schema
    from noisewise.schema.questions import BayesFactor as BayesFactor
    from noisewise.schema.questions import Criterion as Criterion
    from noisewise.schema.questions import PosteriorProbability as PosteriorProbability
    from noisewise.schema.questions import PosteriorQuantile as PosteriorQuantile
    from noisewise.selection.compare import compare as compare
    from noisewise.synthetic.sets import combine_synthetic as combine_synthetic
    from noisewise.synthetic.sets import synthesize as synthesize

_ROOMS = {
    "answers.answer": ("answer",),
    "answers.hypothesis_test": ("hypothesis_test",),
    "audits.audit": ("audit",),
    "database_query": ("query",),
    "errors": ("NoisewiseError",),
    "holder.release": ("release",),
    "kinds.adassp": ("AdaSSP",),
    "kinds.binary": ("Binary",),
    "kinds.bounds": ("Bounds",),
    "kinds.gram": ("Gram",),
    "kinds.model": ("Model",),
    "kinds.moments": ("Moments",),
    "kinds.partition": ("Partition",),
    "kinds.rows": ("Rows",),
    "literature.binary": ("fit_binary",),
    "planning.partition": ("suggest_parts",),
    "planning.power": ("plan_power",),
    "planning.release_plan": ("plan",),
    "posterior.fit": ("compare_methods", "fit"),
    "posterior.fit_many": ("fit_many",),
    "posterior.prior": ("Prior",),
    "posterior.sums.fit": ("fit_sum",),
    "privacy.ledger": ("Ledger",),
    "releases.combine": ("combine",),
    "releases.files": ("load",),
    "releases.many": ("load_many",),
    "releases.release": ("Release",),
    "releases.start": ("start",),
    "reports.write": ("report",),
    "results": ("Comparison", "PointEstimate", "Posterior"),
    "run": ("Run",),
    "schema": ("Schema",),
    "schema.questions": ("BayesFactor", "Criterion", "PosteriorProbability", "PosteriorQuantile"),
    "selection.compare": ("compare",),
    "synthetic.sets": ("combine_synthetic", "synthesize"),
}
"""The names in each module: the imports above, at run time."""

_EXTRA = {"estimators": ("PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePoissonRegressor")}
"""Names that need scikit-learn, an optional dependency."""

_HOMES = {name: f"noisewise.{room}" for room, names in {**_ROOMS, **_EXTRA}.items() for name in names}

__all__ = ["__version__", *sorted(name for names in _ROOMS.values() for name in names)]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
