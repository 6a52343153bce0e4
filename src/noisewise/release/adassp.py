"""What is particular to a release of kind ``adassp``: a part with two more statistics, for one regression.

Everything in it is noisy: the Gram matrix of the predictors, their sums with the response, and the smallest eigenvalue of that
matrix, from which an analyst chooses the ridge of a point estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import NoisewiseError, ReleaseError
from noisewise.release.checks import LARGEST_ENTRY, number_of, plain_bytes
from noisewise.release.json_text import short
from noisewise.release.parts import GramPart
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.design import Design
from noisewise.schema.schema import Schema

FORMULA_KINDS: Final = ("adassp", "moments")
"""The kinds whose columns are those of one formula."""


@dataclass(frozen=True)
class SmallestEigenvalue:
    """The noisy smallest eigenvalue of the predictors' Gram matrix, the sd of its noise, and what was spent on it."""

    value: float
    noise: float
    epsilon: float
    delta: float
    sensitivity: float

    def __post_init__(self) -> None:
        for name in ("value", "noise", "epsilon", "delta", "sensitivity"):
            object.__setattr__(self, name, number_of(getattr(self, name), f"smallest_eigenvalue: {name}"))
        if not abs(self.value) <= LARGEST_ENTRY:
            raise ReleaseError("smallest_eigenvalue: the value must be of ordinary size", found=repr(self.value))
        if not 1 / LARGEST_ENTRY <= self.noise <= LARGEST_ENTRY:
            raise ReleaseError("smallest_eigenvalue: the standard deviation of the noise must be positive and of ordinary size",
                               found=repr(self.noise))
        for name in ("epsilon", "delta", "sensitivity"):
            if getattr(self, name) <= 0:
                raise ReleaseError(f"smallest_eigenvalue: {name} must be positive", found=repr(getattr(self, name)))


@dataclass(frozen=True, eq=False, repr=False)
class AdasspPart(GramPart):
    """One holder's noisy sums for one regression.

    ``matrix`` is the Gram matrix of the predictors' rows a = (1, u) and ``moments`` their sums with the scaled response,
    Σ ay, whose noise has the standard deviation ``noise.off_diagonal``. ``epsilon`` and ``delta`` are for the whole part;
    what ``smallest_eigenvalue`` states is a share of them. ``sensitivity`` is that of (matrix, moments).
    """

    moments: NDArray[np.float64] = field(kw_only=True)
    smallest_eigenvalue: SmallestEigenvalue = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "moments", _vector(self.moments, self.size))
        if not isinstance(self.smallest_eigenvalue, SmallestEigenvalue):
            raise ReleaseError("an adassp part states the smallest eigenvalue", found=short(self.smallest_eigenvalue))
        if self.noise.distribution != "gaussian":
            raise ReleaseError("the noise of an adassp release is gaussian", found=self.noise.distribution)
        share = self.smallest_eigenvalue
        if not (share.epsilon < self.epsilon and share.delta < self.delta):
            raise ReleaseError(
                "smallest_eigenvalue: its epsilon and delta are a share of those of the part",
                found=f"({share.epsilon}, {share.delta}) of ({self.epsilon}, {self.delta})",
            )

    def _noisy_bytes(self) -> Iterator[bytes]:
        """With the noisy sums: the matrix of ``y ~ 1`` is the public number of rows alone."""
        yield from super()._noisy_bytes()
        yield plain_bytes(self.moments)

    def _plain(self) -> dict[str, Any]:
        return {**super()._plain(), "moments": self.moments.tolist()}


def regression_columns(schema: Schema, terms: str | None, formula: str) -> tuple[BasisColumn, ...]:
    """The released columns that a regression needs: the constant, those of the predictors, and last the response's.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})
    >>> [column.name for column in regression_columns(schema, None, "stay ~ ward")]
    ['1', 'ward[B]', 'ward[C]', 'stay']
    """
    basis = Basis.of(schema, terms)
    design = Design.of(formula, basis, terms)
    used = np.any(design.features != 0.0, axis=1)
    used[0] = True
    # A declared number, or a category with two levels, is one released column, shifted and stretched.
    (response,) = np.flatnonzero(design.target[1:]) + 1
    return (*(basis.columns[index] for index in np.flatnonzero(used)), basis.columns[response])


def same_regression(schema: Schema, terms: str | None, one: str | None, other: str | None) -> bool:
    """Whether two formulas have the same response and the same terms, in whatever order."""
    if one is None or other is None or one == other:
        return one == other
    try:
        basis = Basis.of(schema, terms)
        first, second = (Design.of(formula, basis, terms) for formula in (one, other))
    except NoisewiseError:
        return False
    return first.response == second.response and set(first.terms) == set(second.terms)


def check_formula(kind: str, formula: object) -> None:
    """A release of kind adassp or moments states its formula; any other has none."""
    if kind not in FORMULA_KINDS:
        if formula is not None:
            raise ReleaseError(f"a release of kind {kind} is not made for one formula", found=short(formula))
    elif not isinstance(formula, str) or not formula.strip():
        raise ReleaseError(f"a release of kind {kind} states the formula of its regression", found=short(formula))


def check_regression_columns(kind: str, schema: Schema, terms: str | None, columns: Sequence[BasisColumn]) -> None:
    """First the constant, then the predictors, last the response; only ``terms`` adds products."""
    names = ", ".join(column.name for column in columns[:5])
    if len(columns) < 2 or columns[0].factors:
        raise ReleaseError(f"the columns of a release of kind {kind} are the constant, the predictors and the response",
                           found=names)
    response = columns[-1].factors
    if len(response) != 1 or response[0].degree != 1 or response[0].level is not None:
        raise ReleaseError(f"the last column of a release of kind {kind} is its response: a number or a category with two levels",
                           found=columns[-1].name)
    if any(factor.column == response[0].column for column in columns[:-1] for factor in column.factors):
        raise ReleaseError("the response cannot be among its own predictors", found=columns[-1].name)
    if len({column.factors for column in columns}) < len(columns):
        raise ReleaseError("a released column may appear only once")
    declared = set(Basis.of(schema, None).columns) if terms is None else None
    for column in columns:
        factors = [factor.column for factor in column.factors]
        if factors != sorted(set(factors)):
            raise ReleaseError("the factors of a product are different columns in alphabetical order", found=column.name)
        if declared is not None and column not in declared:
            raise ReleaseError("without terms only the columns of the schema are released", found=column.name)


def _vector(values: object, size: int) -> NDArray[np.float64]:
    try:
        copied = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ReleaseError("the moments must be made of numbers", found=type(values).__name__) from None
    if copied.shape != (size,):
        raise ReleaseError("there is one moment for each predictor", found=f"shape {copied.shape}, {size} predictors")
    if not (np.abs(copied) <= LARGEST_ENTRY).all():
        raise ReleaseError("the moments must be finite numbers of ordinary size",
                           found=repr(float(copied[~(np.abs(copied) <= LARGEST_ENTRY)][0])))
    copied.setflags(write=False)
    return copied
