"""Which release a fit makes: of kind model with a delta, of kind gram without one, or the kind that is named.

What the posterior would refuse is refused here, from public declarations alone: a typo must not cost budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from noisewise.errors import DeclarationError, FitError
from noisewise.estimators.rows import RowsError
from noisewise.kinds import Gram, Kind, Model
from noisewise.posterior.asked import GAUSSIAN
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.prior import prior_data
from noisewise.posterior.methods import method_for
from noisewise.posterior.model.problem import checked_prior
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.schema import Basis, Design, Schema
from noisewise.scores.families import family_named


@dataclass(frozen=True)
class Wanted:
    """What an estimator asks of the posterior."""

    family: str
    method: str
    prior: Prior | None
    robust: bool
    near_normal: bool


@dataclass(frozen=True)
class ReleaseKind:
    """One kind of release, as the estimators use it.

    Attributes:
        request: Makes the request from the formula, the family and the mechanism.
        check: Refuses what a posterior of such a release cannot have.
        row_for_each_term: True if a release needs as many rows as the regression has coefficients.
    """

    request: Callable[[str, str, str | None], Kind]
    check: Callable[[Design, Wanted], None]
    row_for_each_term: bool

    def check_rows(self, rows: int, design: Design) -> None:
        """Refuse a public number of rows that is too small, in scikit-learn's words."""
        least = len(design.terms) if self.row_for_each_term else 1
        if rows < least:
            raise RowsError(f"X has {rows} sample(s) while a minimum of {least} is required",
                            remedy=f"a model release needs one for each coefficient, release_kind={Gram.name!r} only one"
                            if self.row_for_each_term else None)


def kind_of_release(named: str | None, delta: float | None) -> ReleaseKind:
    """The kind that is named; by default model with a delta, gram without one."""
    default = Gram.name if delta is None else Model.name
    name = default if named is None else named
    if name not in RELEASE_KINDS:
        raise DeclarationError("unknown kind of release for an estimator", argument="release_kind", found=repr(named)[:80],
                               known=RELEASE_KINDS, remedy="use noisewise.release for other kinds")
    return RELEASE_KINDS[name]


def check_wanted(kind: Kind, schema: Schema, formula: str, wanted: Wanted) -> Design:
    """The regression of a release of this kind, after raising the errors that `noisewise.fit` would raise."""
    method_for(wanted.method, kind.name)
    design = Design.of(formula, Basis(schema, kind.columns(schema)))
    RELEASE_KINDS[kind.name].check(design, wanted)
    return design


def _model(formula: str, family: str, mechanism: str | None) -> Kind:
    if mechanism is not None:
        raise DeclarationError("mechanism is an option of gram releases", argument="mechanism", found=repr(mechanism)[:80],
                               remedy='give release_kind="gram", or leave mechanism out')
    return Model(formula, family=family)


def _gram(formula: str, family: str, mechanism: str | None) -> Kind:
    return Gram(mechanism=mechanism)


def _check_of_model(design: Design, wanted: Wanted) -> None:
    checked_prior(design, wanted.prior, family_named(wanted.family))


def _check_of_gram(design: Design, wanted: Wanted) -> None:
    if wanted.robust:
        raise FitError("a gram release has no robust intervals", argument="robust", found="robust=True",
                       remedy="leave robust out, or give a delta and no release_kind for a model release")
    if wanted.family == GAUSSIAN:
        ResolvedPrior.of(design, wanted.prior)
    else:
        prior_data(design, FAMILIES[wanted.family], wanted.prior)


RELEASE_KINDS: Final[Mapping[str, ReleaseKind]] = {
    Model.name: ReleaseKind(_model, _check_of_model, row_for_each_term=True),
    Gram.name: ReleaseKind(_gram, _check_of_gram, row_for_each_term=False),
}
