"""`Gram`: one noisy matrix of sums of products, for every regression on its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from noisewise.checks import is_whole
from noisewise.kinds.kind import Kind, check_mechanism, checked_text, require, shown_names
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.schema import Schema
from noisewise.words import function, leave_out

MOST_AVERAGED: Final = 10**9


@dataclass(frozen=True)
class Gram(Kind):
    """Sums of products of all columns, for any regression of one released column on others.

    ``terms`` adds columns, such as ``"age:ward + I(age**2)"``, because an analyst can use only what was released. ``mechanism``
    names the noise: ``"gaussian"`` (the default with a delta) or ``"laplace"`` (the default without), or, from the literature,
    ``"wishart"`` and ``"wishart-paper"``, which has the degrees of freedom of the paper. ``average=k``, also from the literature,
    first averages the rows in random groups of k; it loses information and adds noise.

    >>> Gram(terms="age:ward").to_dict()
    {'name': 'gram', 'terms': 'age:ward'}
    """

    name: ClassVar[str] = "gram"
    purpose: ClassVar[str] = "any regression on the released columns"
    use: ClassVar[str] = "fit a regression to it: " + function("fit")
    holders: ClassVar[bool] = True
    has_columns: ClassVar[bool] = True

    terms: str | None = None
    mechanism: str | None = None
    average: int | None = None

    def __post_init__(self) -> None:
        if self.terms is not None:
            object.__setattr__(self, "terms", checked_text("gram", "terms", self.terms, '"age:ward + I(age**2)"'))
        check_mechanism(self.mechanism, '"laplace"')
        require(self.average is None or is_whole(self.average, 1, MOST_AVERAGED),
                f"average, the number of rows to average, must be a whole number from 1 to {MOST_AVERAGED}", self.average,
                leave_out("average") + " to average none", "average")
        if self.average == 1:
            object.__setattr__(self, "average", None)

    def columns(self, schema: Schema) -> tuple[BasisColumn, ...]:
        """The constant, the declared columns and those of ``terms``."""
        return Basis.of(schema, self.terms).columns

    def check_columns(self, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Require the constant and the declared columns first, in the schema's order. Only ``terms`` adds products."""
        declared = Basis.of(schema, None).columns
        require(tuple(columns[: len(declared)]) == declared,
                "the released columns must begin with the constant and the columns of the schema, in its order",
                shown_names([column.name for column in columns], 5))
        check_products(columns, declared if self.terms is None else columns)

    def joined(self, other: Kind) -> Self:
        """Keep the terms as the first holder wrote them."""
        return super().joined(replace(other, **{"terms": self.terms}))

    @property
    def variant(self) -> str:
        """The name, with the size of groups if rows are averaged."""
        return self.name if self.average is None else f"{self.name}, averaged by {self.average}"

    def title(self, schema: Schema) -> str:
        """The first few columns."""
        averaged = "" if self.average is None else f", averaged by {self.average}"
        return shown_names([column.name for column in self.columns(schema)[1:]]) + averaged


def check_products(columns: Sequence[BasisColumn], allowed: Sequence[BasisColumn]) -> None:
    """Require that columns are allowed and unique, and that their factors are different columns in alphabetical order."""
    require(len({column.factors for column in columns}) == len(columns), "a released column may appear only once",
            f"{len(columns)} columns, some of them twice")
    known = set(allowed)
    for column in columns:
        require(column in known, "without terms, a release has only the columns of the schema", column.name)
        factors = [factor.column for factor in column.factors]
        require(factors == sorted(set(factors)), "the factors of a product must be different columns in alphabetical order",
                column.name)
