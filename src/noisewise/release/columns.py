"""The released columns in a file: each with its factors spelled out.

A file states what every row and column of the matrix means, so reading one needs no formula parser: a reader
in any language can rebuild the columns, old files keep their meaning when the grammar grows, and a hostile
formula has nowhere to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from noisewise.errors import ReleaseError
from noisewise.release.json_text import short
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.columns import Categorical, Level
from noisewise.schema.polynomial import Factor
from noisewise.schema.schema import Schema

MAX_DEGREE: Final = 1000
"""No formula leads to such a polynomial; a reader need not allocate for one."""


def columns_to_list(columns: Sequence[BasisColumn]) -> list[dict[str, Any]]:
    """The columns as written: ``{"name": "T2(age)", "factors": [{"column": "age", "degree": 2}]}``."""
    return [
        {"name": column.name, "factors": [_factor_to_dict(factor) for factor in column.factors]}
        for column in columns
    ]


def _factor_to_dict(factor: Factor) -> dict[str, Any]:
    meaning = {"degree": factor.degree} if factor.level is None else {"level": factor.level}
    return {"column": factor.column, **meaning}


class FactorReader:
    """Factors of one schema, each checked against the declaration of its column in constant time."""

    def __init__(self, schema: Schema) -> None:
        self._declared = {column.name: column for column in schema.columns}
        # By text, so that 1, 1.0 and true stay different levels, as they are in the file.
        self._levels = {
            (column.name, repr(level)): level
            for column in schema.columns
            if isinstance(column, Categorical)
            for level in column.levels[1:]
        }

    def factor(self, name: str, degree: int | None, level: Level | None) -> Factor:
        declared = self._declared.get(name)
        if declared is None:
            raise ReleaseError("a factor names a column that the schema does not declare", found=short(name))
        if isinstance(declared, Categorical) and not declared.two_level:
            if degree is not None or (name, repr(level)) not in self._levels:
                raise ReleaseError(
                    f"a factor of '{name}' is the indicator of a level after the first, without a degree",
                    found=short(level),
                )
            return Factor(name, level=self._levels[name, repr(level)])
        highest = 1 if isinstance(declared, Categorical) else MAX_DEGREE
        if level is not None or degree is None or not 1 <= degree <= highest:
            raise ReleaseError(
                f"a factor of '{name}' is a polynomial of degree 1 to {highest}",
                found=f"degree {degree}, level {short(level)}",
            )
        return Factor(name, degree)


def check_columns(schema: Schema, terms: str | None, columns: Sequence[BasisColumn]) -> None:
    """First the constant and the declared columns, in the schema's order; only ``terms`` adds products."""
    declared = Basis.of(schema, None).columns
    if tuple(columns[: len(declared)]) != declared:
        raise ReleaseError(
            "the released columns must begin with the constant and the columns of the schema, in its order",
            found=", ".join(column.name for column in columns[:5]),
        )
    if terms is None and len(columns) > len(declared):
        raise ReleaseError(
            "without terms only the columns of the schema are released", found=columns[len(declared)].name
        )
    if len({column.factors for column in columns}) < len(columns):
        raise ReleaseError("a released column may appear only once")
    for column in columns:
        names = [factor.column for factor in column.factors]
        if names != sorted(set(names)):
            raise ReleaseError(
                "the factors of a product are different columns in alphabetical order", found=column.name
            )
