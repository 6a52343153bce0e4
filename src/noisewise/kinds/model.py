"""`Model`: everything that one regression needs, in several rounds, whatever its predictors look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from noisewise.arrays import Array
from noisewise.checks import is_whole
from noisewise.errors import DeclarationError, NoisewiseError
from noisewise.kinds.kind import Kind, require
from noisewise.kinds.regression import OneRegression
from noisewise.schema.basis import Basis
from noisewise.schema.columns import Categorical, Column, Numeric, Unbounded
from noisewise.schema.design import Design
from noisewise.schema.schema import Schema
from noisewise.scores.families import FAMILIES, family_named
from noisewise.words import either, leave_out

MOST_ROUNDS: Final = 8
FROM_A_RELEASE: Final = "use " + either("noisewise.start(release)", "the file of an earlier release")
BYTES_OF_A_NUMBER: Final = 26


@dataclass(frozen=True)
class Start:
    """Where to begin: the last round of an earlier release of the same model, all of it public.

    ``coefficients`` are in the user's units, ``coordinates`` has a row for each of them and a column for each released column of
    the predictors, ``scale`` is the standard deviation of residuals or the dispersion.
    """

    coefficients: tuple[float, ...]
    coordinates: tuple[tuple[float, ...], ...]
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(float(one) for one in self.coefficients))
        object.__setattr__(self, "coordinates", tuple(tuple(float(one) for one in row) for row in self.coordinates))
        object.__setattr__(self, "scale", float(self.scale))
        numbers = [*self.coefficients, self.scale, *(one for row in self.coordinates for one in row)]
        require(bool(np.all(np.isfinite(numbers))) and self.scale > 0, "a start must have finite numbers and a positive scale",
                f"{len(numbers)} numbers", FROM_A_RELEASE, "start")
        widths = {len(row) for row in self.coordinates}
        require(len(self.coordinates) == len(self.coefficients) and len(widths) == 1,
                "a start must have a row of coordinates for each coefficient, all of one length",
                f"{len(self.coordinates)} rows for {len(self.coefficients)} coefficients", FROM_A_RELEASE, "start")

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {"coefficients": list(self.coefficients), "coordinates": [list(row) for row in self.coordinates],
                "scale": self.scale}

    def matrix(self) -> Array:
        """The coordinates as a matrix."""
        return np.array(self.coordinates, dtype=float)


@dataclass(frozen=True)
class Model(OneRegression):
    """Noisy sums for one regression, in several passes over the rows. Much sharper than `Gram`, for any predictors.

    ``family`` is ``"gaussian"``, ``"logistic"``, ``"probit"``, ``"poisson"`` or ``"negative-binomial"``. ``terms`` adds columns
    that the formula may use. ``rounds`` is the most passes that look for the coefficients before the last one; by default as
    many as help, at most six. ``start``, from `noisewise.start`, is the last round of an earlier release of the same model: then
    nothing is spent on finding them. Needs a delta.

    >>> Model("sick ~ age + ward", family="logistic").to_dict()
    {'name': 'model', 'formula': 'sick ~ age + ward', 'family': 'logistic'}
    """

    name: ClassVar[str] = "model"
    purpose: ClassVar[str] = "this regression, whatever its predictors look like"
    use: ClassVar[str] = "fit the regression it was made for"
    holders: ClassVar[bool] = True
    has_columns: ClassVar[bool] = True

    family: str = "gaussian"
    rounds: int | None = None
    start: Start | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        family_named(self.family)
        require(self.rounds is None or is_whole(self.rounds, 0, MOST_ROUNDS),
                f"rounds, the most passes before the last one, must be a whole number from 0 to {MOST_ROUNDS}", self.rounds,
                leave_out("rounds") + " to use as many as help", "rounds")
        if isinstance(self.start, Mapping):
            object.__setattr__(self, "start", _start_from(self.start))
        require(self.start is None or isinstance(self.start, Start), "start must be the last round of an earlier release",
                type(self.start).__name__, FROM_A_RELEASE, "start")

    def to_dict(self) -> dict[str, object]:
        """The kind as plain data; the family is always there."""
        return {**super().to_dict(), "family": self.family}

    def settled(self, schema: Schema) -> Basis:
        """The released columns, after checking that the response suits the family and the start the formula."""
        basis = Basis(schema, self.columns(schema))
        check_response(basis, self.family)
        if self.start is not None:
            predictors = basis.size - 1
            terms = len(Design.of(self.formula, basis, self.terms).terms)
            require(self.start.matrix().shape == (terms, predictors), "the start belongs to another formula",
                    f"{len(self.start.coefficients)} coefficients of {len(self.start.coordinates[0])} columns, not {terms} of "
                    f"{predictors}", "use the release of the same model", "start")
        return basis

    def room(self, schema: Schema) -> int:
        """The most bytes that the rounds may take in a file."""
        size = len(self.columns(schema))
        return 262_144 + BYTES_OF_A_NUMBER * (4 * (MOST_ROUNDS + 2) * size**2 + 64 * size)

    def same_regression(self, formula: str, schema: Schema) -> bool:
        """True if another formula has the same coefficients in the same order: the file of a release does not name them."""
        if self.formula == formula:
            return True
        try:
            basis = Basis.of(schema, self.terms)
            first, second = (Design.of(one, basis, self.terms) for one in (self.formula, formula))
        except NoisewiseError:
            return False
        return first.response == second.response and first.terms == second.terms

    def common(self, schema: Schema) -> dict[str, str]:
        """The family."""
        return {"family": self.family}

    def joined(self, other: Kind) -> Self:
        """The formula as the first holder wrote it; rounds and starts may differ."""
        assert isinstance(other, Model)
        return replace(self, rounds=self.rounds if self.rounds == other.rounds else None,
                       start=self.start if self.start == other.start else None)

    def title(self, schema: Schema) -> str:
        """The formula and the family."""
        return f"{self.formula} ({self.family})"


def _start_from(declared: Mapping[str, Any]) -> Start:
    try:
        return Start(**declared)
    except (TypeError, ValueError, OverflowError):
        raise DeclarationError("a start must have coefficients, coordinates and a scale", argument="start",
                               found=", ".join(map(str, declared))[:200] or "nothing", remedy=FROM_A_RELEASE) from None


def check_response(basis: Basis, family: str) -> None:
    """Refuse a response that the family cannot have, before anything is spent on it."""
    declared = basis.schema.column(basis.columns[-1].factors[0].column)
    wanted = FAMILIES[family].response
    if wanted == "two levels" and not (isinstance(declared, Categorical) and len(declared.levels) == 2):
        raise DeclarationError(f"a {family} regression needs a response with two levels", argument="family",
                               found=_described(declared), remedy="declare two levels, or choose another family")
    if wanted == "count" and not (isinstance(declared, Numeric) and declared.lower == 0 and float(declared.upper).is_integer()):
        raise DeclarationError(f"a {family} regression needs a count, with bounds from 0 to a whole number", argument="family",
                               found=_described(declared), remedy="change its bounds, or choose another family")
    if wanted == "number" and not isinstance(declared, Numeric):
        raise DeclarationError(f"a {family} regression needs a numeric response", argument="family", found=_described(declared),
                               remedy="give " + either('family="logistic"', "--family logistic") + " or probit")


def _described(column: Column) -> str:
    if isinstance(column, Categorical):
        return f"'{column.name}' with {len(column.levels)} levels"
    if isinstance(column, Unbounded):
        return f"'{column.name}' without known bounds"
    return f"'{column.name}' with bounds [{column.lower}, {column.upper}]"
