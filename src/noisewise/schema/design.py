"""A formula for a release: the response and each predictor as combinations of released columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypedDict

import numpy as np

from noisewise.arrays import Array, Values
from noisewise.errors import FormulaError
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.formula import TermColumn, TermReader, parse_formula
from noisewise.schema.polynomial import Polynomial
from noisewise.schema.schema import Schema
from noisewise.words import option

RESERVED: Final = ("sigma", "dispersion")
"""The names of a family's scale among the coefficients of a fit."""


class StoredDesign(TypedDict):
    """A design as plain data."""

    formula: str
    schema: dict[str, object]
    terms: str | None


@dataclass(frozen=True)
class Design:
    """The columns of a regression in the user's units, as combinations of the released columns.

    With a row of released columns ``a``, the predictors are ``features.T @ a`` and the response is ``target @ a``.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})
    >>> Design.of("stay ~ age + ward", Basis.of(schema)).terms
    ('Intercept', 'age', 'ward[T.B]', 'ward[T.C]')
    """

    formula: str
    basis: Basis
    added_terms: str | None
    response: str
    response_bounds: tuple[float, float]
    terms: tuple[str, ...]
    written: tuple[str, ...]
    """The term of the formula that each column belongs to. All columns of a category belong to one term."""
    term_bounds: tuple[tuple[float, float], ...]
    columns_needed: tuple[str, ...]
    features: Array
    target: Array

    @classmethod
    def of(cls, formula: str, basis: Basis, added_terms: str | None = None) -> Design:
        """Read a formula for a release with this basis. ``added_terms`` are those the release added to the declared columns.

        The predictors of ``response ~ .`` are all declared columns except the response.
        """
        parsed = parse_formula(formula, basis.schema.names)
        reader = TermReader(basis.schema)
        assert parsed.response is not None
        response = reader.column(parsed.response)
        columns = reader.read(parsed.terms, parsed.intercept)
        _check(formula, parsed.response, columns)
        features = np.column_stack([_combination(basis, column.value.polynomial, column.term) for column in columns])
        _check_rank(features, [column.name for column in columns])
        sources = frozenset[str]().union(*(column.sources for column in columns))
        return cls(
            formula=formula,
            basis=basis,
            added_terms=added_terms,
            response=parsed.response,
            response_bounds=(response.lower, response.upper),
            terms=tuple(column.name for column in columns),
            written=tuple(column.term or column.name for column in columns),
            term_bounds=tuple((column.value.lower, column.value.upper) for column in columns),
            columns_needed=tuple(name for name in basis.schema.names if name in sources),
            features=features,
            target=_combination(basis, response.polynomial, parsed.response),
        )

    def matrix(self, columns: Mapping[str, Values]) -> Array:
        """The predictors of new rows. ``columns`` has an array in the user's units for each of ``columns_needed``."""
        if not self.columns_needed:
            length = len(next(iter(columns.values()))) if columns else 0
            return np.repeat(self.features[:1], length, axis=0)
        values = self.basis.evaluate({name: columns[name] for name in self.columns_needed})
        used = np.any(self.features != 0.0, axis=1)
        return values[:, used] @ self.features[used]

    def to_dict(self) -> StoredDesign:
        """Everything needed to rebuild the design: formula, schema and added terms."""
        return {"formula": self.formula, "schema": self.basis.schema.to_dict(), "terms": self.added_terms}

    @classmethod
    def from_dict(cls, stored: StoredDesign) -> Design:
        """Rebuild a design from `to_dict`."""
        basis = Basis.of(Schema.from_dict(stored["schema"]), stored["terms"])
        return cls.of(stored["formula"], basis, stored["terms"])


def _check(formula: str, response: str, columns: list[TermColumn]) -> None:
    if not columns:
        raise FormulaError("a formula needs an intercept or at least one predictor", found=formula,
                           remedy="write: response ~ 1 for a mean")
    names = [column.name for column in columns]
    ambiguous = sorted({name for name in names if names.count(name) > 1 or name in RESERVED})
    if ambiguous:
        raise FormulaError(f"the terms of a formula must have different names, none of them {' or '.join(RESERVED)}",
                           found=ambiguous[0],
                           remedy=f"write I({ambiguous[0]}), or rename the column in the table")
    for column in columns:
        if response in column.sources:
            raise FormulaError("the response cannot be among its own predictors", found=column.name,
                               remedy=f"remove '{response}' from the right-hand side")


def _combination(basis: Basis, polynomial: Polynomial, name: str) -> Array:
    weights = np.zeros(basis.size)
    for product, weight in polynomial.items():
        if product not in basis.position:
            raise FormulaError(f"'{name}' needs a column that is not in the release", argument="terms",
                               found=BasisColumn(product).name, remedy="the data holder can add it with "
                               + option("terms", name) + f"; released are {', '.join(basis.names[1:])}")
        weights[basis.position[product]] = weight
    return weights


def _check_rank(features: Array, names: list[str]) -> None:
    """Refuse columns that are combinations of one another whatever the data."""
    tiny = np.finfo(float).tiny
    scaled = features / np.maximum(np.abs(features).max(axis=0), tiny)  # first this, because squares of bounds can overflow
    scaled /= np.maximum(np.linalg.norm(scaled, axis=0), tiny)
    rank = np.linalg.matrix_rank(scaled, tol=1e-9)
    if rank == len(names):
        return
    culprit = next(index for index in range(len(names)) if np.linalg.matrix_rank(scaled[:, : index + 1], tol=1e-9) <= index)
    raise FormulaError("a column of the formula is a combination of the others, whatever the data",
                       found=f"'{names[culprit]}' given " + (", ".join(names[:culprit]) or "nothing else"),
                       remedy=f"remove '{names[culprit]}'")
