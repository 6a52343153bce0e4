"""The base class of kinds for one regression: a formula, and the columns it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from noisewise.errors import NoisewiseError
from noisewise.kinds.gram import check_products
from noisewise.kinds.kind import Kind, checked_text, require, shown_names
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.design import Design
from noisewise.schema.schema import Schema


@dataclass(frozen=True)
class OneRegression(Kind):
    """A release for the regression of ``formula``. ``terms`` lists the products that the formula may use."""

    formula: str
    terms: str | None = None

    def __post_init__(self) -> None:
        formula = checked_text(self.name, "formula", self.formula, '"response ~ predictor + predictor"')
        object.__setattr__(self, "formula", formula)
        if self.terms is not None:
            object.__setattr__(self, "terms", checked_text(self.name, "terms", self.terms, '"age:ward + I(age**2)"'))

    def columns(self, schema: Schema) -> tuple[BasisColumn, ...]:
        """The constant, the predictors' columns and, last, the response's."""
        return regression_columns(schema, self.terms, self.formula)

    def check_columns(self, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Require the constant first, then the predictors and last the response. Only ``terms`` adds products."""
        require(len(columns) > 1 and not columns[0].factors,
                f"the columns of a release of kind {self.name} must be the constant, the predictors and the response",
                shown_names([column.name for column in columns], 5))
        name, response = columns[-1].name, columns[-1].factors
        require(len(response) == 1 and response[0].degree == 1 and response[0].level is None,
                f"the last column of a release of kind {self.name} must be its response: a number or a two-level category", name)
        require(all(factor.column != response[0].column for column in columns[:-1] for factor in column.factors),
                "the response cannot be among its own predictors", name)
        check_products(columns, Basis.of(schema, None).columns if self.terms is None else columns)

    def title(self, schema: Schema) -> str:
        """The formula."""
        return self.formula

    def joined(self, other: Kind) -> Self:
        """Keep the formula as the first holder wrote it."""
        return self

    def differing(self, other: Kind, schema: Schema, same_columns: bool) -> str | None:
        """How the two formulas differ, if they do not describe the same regression; else None."""
        formula = getattr(other, "formula", None)
        same = same_columns and isinstance(formula, str) and self.same_regression(formula, schema)
        return None if same else f"formula: {self.formula!r} and {formula!r}"

    def same_regression(self, formula: str, schema: Schema) -> bool:
        """True if another formula has the same response and the same terms, in any order."""
        if self.formula == formula:
            return True
        try:
            basis = Basis.of(schema, self.terms)
            first, second = (Design.of(one, basis, self.terms) for one in (self.formula, formula))
        except NoisewiseError:
            return False
        return first.response == second.response and set(first.terms) == set(second.terms)


def regression_columns(schema: Schema, terms: str | None, formula: str) -> tuple[BasisColumn, ...]:
    """The released columns that a regression needs: the constant, those of the predictors and, last, that of the response.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})
    >>> [column.name for column in regression_columns(schema, None, "stay ~ ward")]
    ['1', 'ward[B]', 'ward[C]', 'stay']
    """
    basis = Basis.of(schema, terms)
    design = Design.of(formula, basis, terms)
    used = np.any(design.features != 0.0, axis=1)
    used[0] = True
    # A declared number or two-level category is one released column, shifted and scaled.
    (response,) = np.flatnonzero(design.target[1:]) + 1
    return (*(basis.columns[index] for index in np.flatnonzero(used)), basis.columns[response])
