"""What releases for one regression, `adassp` and `moments`, ask before anything else: a formula, and Gaussian noise."""

from __future__ import annotations

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.release.adassp import regression_columns
from noisewise.schema import Basis, Schema


def basis_of_formula(kind: str, schema: Schema, terms: str | None, formula: str | None, mechanism: str | None
                     ) -> tuple[Basis, str]:
    """The columns of the regression, the constant first and the response last, and its formula."""
    if not isinstance(formula, str):
        raise DeclarationError(f"a release of kind {kind} is for one regression, and needs its formula",
                               found=repr(formula), remedy='give formula="response ~ predictor + predictor", or leave kind out '
                               "for a release that serves every formula")
    if mechanism not in (None, "gaussian"):
        raise PrivacyError(f"the noise of a release of kind {kind} is gaussian", found=repr(mechanism),
                           remedy="leave mechanism out")
    return Basis(schema, regression_columns(schema, terms, formula.strip())), formula.strip()
