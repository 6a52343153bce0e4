"""The contents of a `Gram` release: one noisy symmetric matrix, and the law of its noise."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias, TypedDict, Unpack, cast, get_args

import numpy as np
from pydantic import Field

from noisewise.arrays import Matrix, Vector
from noisewise.kinds import Gram
from noisewise.releases.checks import number_of, ordinary, plain_bytes, require, settle, symmetric, whole_number
from noisewise.releases.contribution import Contribution, StoredHead
from noisewise.releases.fields import RecordFields, items, known_part, shape, shape_of
from noisewise.releases.json_text import Triangle, short
from noisewise.releases.promises import check_gaussian, check_pure, check_wishart
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.schema import Schema

Distribution: TypeAlias = Literal["gaussian", "laplace", "wishart"]
DISTRIBUTIONS: Final = get_args(Distribution)


@dataclass(frozen=True)
class EntryNoise:
    """The noise of a symmetric matrix: its distribution, and one standard deviation per class of entries.

    ``corner`` is that of the entry [0, 0], the number of rows. It is 0 if that number is public and therefore exact. Entries of
    the upper triangle are independent, and the lower triangle mirrors them. For ``laplace`` the standard deviation is √2 times
    the scale.

    ``wishart`` noise is N − E N with N ~ Wishart(``degrees``, ``scale`` · I); other noise has neither. Its entries are
    uncorrelated but not independent, and those on the diagonal are skewed. Mean and variances are those of Gaussian noise.

    >>> EntryNoise("gaussian", diagonal=2.0, off_diagonal=1.0, corner=0.0).variances(2)
    array([[0., 1.],
           [1., 4.]])
    """

    distribution: Distribution
    diagonal: float
    off_diagonal: float
    corner: float
    degrees: int | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        require(self.distribution in DISTRIBUTIONS, "the noise must be gaussian, laplace or wishart", short(self.distribution),
                "a newer noisewise may know this distribution")
        settle(self, ordinary, "diagonal", "off_diagonal", where="noise: the standard deviation '{}'")
        settle(self, number_of, "corner", where="noise: the standard deviation '{}'")
        if self.corner:
            settle(self, ordinary, "corner", where="noise: the standard deviation '{}'")
        if self.distribution == "wishart":
            self._check_wishart()
        else:
            require(self.degrees is None and self.scale is None,
                    "noise: degrees of freedom and scale are only valid for wishart noise", self.distribution)

    def _check_wishart(self) -> None:
        settle(self, whole_number, "degrees", where="noise: the {} of freedom")
        settle(self, number_of, "scale", where="noise: the {}")
        degrees, scale = cast(int, self.degrees), cast(float, self.scale)
        expected = scale * math.sqrt(2 * degrees), scale * math.sqrt(degrees), scale * math.sqrt(2 * degrees)
        found = self.diagonal, self.off_diagonal, self.corner or expected[2]
        require(scale > 0 and np.allclose(found, expected, rtol=1e-9, atol=0.0),
                "noise: the standard deviations of wishart noise must be √(2k), √k and √(2k) or 0 times its scale",
                f"{self.diagonal!r}, {self.off_diagonal!r}, {self.corner!r} for {self.degrees} and {scale!r}")

    def variances(self, size: int) -> Matrix:
        """The variance of the noise in each entry of a ``size`` by ``size`` matrix."""
        variances = np.full((size, size), self.off_diagonal**2)
        np.fill_diagonal(variances, self.diagonal**2)
        variances[0, 0] = self.corner**2
        return variances

    def to_dict(self) -> dict[str, object]:
        """The noise as a file states it."""
        stated: dict[str, object] = {"distribution": self.distribution, "diagonal": self.diagonal,
                                     "off_diagonal": self.off_diagonal, "corner": self.corner}
        return stated if self.degrees is None else {**stated, "degrees_of_freedom": self.degrees, "scale": self.scale}

    @property
    def least(self) -> float:
        """The smallest noise among the entries that a norm counts once. A corner without noise is public."""
        once = (self.diagonal, self.off_diagonal) if self.distribution == "laplace" else (self.diagonal,)
        return min(*once, self.corner or math.inf)


class MatrixAndNoise(TypedDict):
    """The fields that files of all kinds with a matrix have in common."""

    matrix: Matrix
    noise: EntryNoise
    average: int


MATRIX_FIELDS: Final[dict[str, object]] = {
    "average": (Annotated[int, Field(ge=2)] | None, None),
    "noise": shape_of(EntryNoise, degrees=(int | None, Field(None, alias="degrees_of_freedom"))),
    "statistic": items(float),
}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MatrixContribution(Contribution):
    """A noisy symmetric matrix of sums of products, from which regressions are fitted.

    If ``average`` is k > 1, rows were averaged in random groups of k. The matrix is then Σ_groups (1/k)(Σa)(Σa)ᵀ + E, whose first
    row is still (n, Σu).
    """

    APART: ClassVar[int] = 0
    """The number of last columns that are not in the matrix."""
    CLIPPED: ClassVar[str] = "columns"
    """The columns whose norm is bounded in each row: all columns, or the predictors."""

    matrix: Matrix
    noise: EntryNoise
    average: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, symmetric, "matrix", where="the {}")
        settle(self, whole_number, "average")
        self._check_delta()
        require((self.rows is None) == (self.noise.corner > 0),
                "the number of rows must be stated if and only if the corner of the matrix has no noise",
                f"rows {self.rows}, corner noise {self.noise.corner}")
        require(self.rows is None or self.matrix[0, 0] == self.rows,
                "the corner of the matrix must equal the public number of rows", f"corner {self.matrix[0, 0]}, rows {self.rows}")
        require(self.average == 1 or (self.rows is not None and self.noise.distribution == "gaussian"),
                "averaging rows requires a public number of rows and gaussian noise",
                f"rows {self.rows}, {self.noise.distribution} noise")

    def _check_delta(self) -> None:
        require(self.noise.distribution == "laplace" or self.delta > 0,
                f"{self.noise.distribution} noise requires delta > 0", self.delta,
                "state the delta that the noise was calibrated for")

    def check_promise(self) -> None:
        """Refuse too little noise for its distribution. Wishart noise also needs a scale of at least the sensitivity."""
        noise = self.noise
        if noise.distribution == "laplace":
            check_pure(math.sqrt(2) * self.sensitivity / noise.least, self.epsilon, self.delta)
        elif noise.distribution == "wishart":
            assert noise.degrees is not None and noise.scale is not None
            require(noise.degrees >= self.size, "noise: there must be at least as many degrees of freedom as columns",
                    f"{noise.degrees} for {self.size} columns")
            require(noise.scale * (1 + 1e-9) >= self.sensitivity,
                    "noise: the scale of wishart noise must be at least the sensitivity",
                    f"{noise.scale!r} and {self.sensitivity!r}")
            check_wishart(noise.degrees, self.size, self.epsilon, self.delta)
        else:
            check_gaussian(self.distance(), self.epsilon, self.delta)

    def distance(self) -> float:
        """The largest change that one unit can make to the sums, in standard deviations of Gaussian noise."""
        return self.sensitivity / min(self.noise.least, math.sqrt(2) * self.noise.off_diagonal)

    def check(self, kind: Any, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse a matrix that does not match the columns, and noise of another distribution than its mechanism."""
        require(self.size == len(columns) - self.APART, "the matrix must have one row and column for each released column"
                + " except the response" * self.APART, f"size {self.size}, {len(columns)} columns")
        named = self.mechanism.removesuffix("-paper")
        require(named not in DISTRIBUTIONS or named == self.noise.distribution,
                "the noise must have the distribution of its mechanism",
                f"{self.noise.distribution} noise, mechanism {self.mechanism}")

    @property
    def size(self) -> int:
        """The number of columns of the matrix, the constant included."""
        return int(self.matrix.shape[0])

    @property
    def variances(self) -> Matrix:
        """The variance of the noise in each entry of the matrix."""
        return self.noise.variances(self.size)

    @property
    def groups(self) -> int | None:
        """The number of averaged rows, or of rows if they were not averaged; None if it is not public."""
        return None if self.rows is None else -(-self.rows // self.average)

    @property
    def counts(self) -> Vector:
        """The number of rows of each holder: exact if it is public, else noisy."""
        return self.matrix[:1, 0]

    @property
    def shown_rows(self) -> str:
        """The public number of rows and how they were averaged, or that it is noisy, for a description."""
        if self.rows is None:
            return "noisy: their number is not public"
        averaged = f", averaged in {self.groups} random groups of {self.average}" if self.average > 1 else ""
        return f"{self.rows} (public){averaged}"

    def column_sums(self, place: int) -> tuple[float, float, float, float]:
        """The sum and the sum of squares of a column, each followed by the variance of its noise, infinite if not released."""
        squares = math.inf if self.average > 1 else 0.0  # the square of an average is not the average of squares
        variances = self.variances
        return (float(self.matrix[0, place]), float(variances[0, place]), float(self.matrix[place, place]),
                float(variances[place, place]) + squares)

    def fingerprint(self) -> bytes:
        """The SHA-256 digest of the noisy numbers, computed once."""
        return self._digest

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.sha256(b"".join(self._noisy_bytes())).digest()

    def _noisy_bytes(self) -> Iterator[bytes]:
        yield plain_bytes(self.matrix)

    def count(self) -> int:
        """The number of entries in the upper triangle, including the corner even if it is exact."""
        return self.size * (self.size + 1) // 2

    def contents(self) -> dict[str, object]:
        """The noise and the upper triangle, row by row; ``average`` only if rows were averaged."""
        averaged = {} if self.average == 1 else {"average": self.average}
        return {**averaged, "noise": self.noise.to_dict(),
                "statistic": Triangle(self.matrix[np.triu_indices(self.size)].tolist(), self.size)}

    def lines(self, kind: Any, schema: Schema) -> list[tuple[str, str]]:
        """Describe the mechanism and the standard deviations of its noise, in scaled units."""
        noise = self.noise
        degrees = "" if noise.degrees is None else f", {noise.degrees} degrees of freedom"
        corner = "none on the number of rows" if noise.corner == 0 else f"{noise.corner:.4g} on the number of rows"
        return [("noise", f"{self.mechanism}{degrees}; standard deviation {noise.diagonal:.4g} on the diagonal, "
                          f"{noise.off_diagonal:.4g} off it, {corner} (scaled units)")]

    def own_facts(self) -> dict[str, object]:
        """The standard deviations of the noise, in scaled units, and the parameters of averaging and of Wishart noise, if any."""
        noise = self.noise
        return {
            **({"average": self.average, "groups": self.groups} if self.average > 1 else {}),
            "noise_sd": {"diagonal": noise.diagonal, "off_diagonal": noise.off_diagonal, "rows": noise.corner},
            **({} if noise.degrees is None else {"degrees_of_freedom": noise.degrees, "scale": noise.scale}),
        }

    def rules(self, schema: Schema, columns: Sequence[BasisColumn]) -> list[str]:
        """The norm to which rows were shortened and the limit on the rows of a unit, where they apply."""
        clipped = self.clipped_norm(schema, columns)
        norm = [] if clipped is None else [f"every row: the scaled {self.CLIPPED} are shortened to the norm {clipped}"]
        return norm + super().rules(schema, columns)

    def clipped_norm(self, schema: Schema, columns: Sequence[BasisColumn]) -> float | None:
        """The norm to which rows were clipped, if they were."""
        basis = Basis(schema, tuple(columns[:-1] if self.CLIPPED == "predictors" else columns))
        return basis.radius if basis.norm_clipped else None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GramContribution(MatrixContribution):
    """One holder's noisy Gram matrix Σ aaᵀ + E of the scaled rows a = (1, u).

    ``sensitivity`` is in the Frobenius norm for Gaussian noise, in the L1 norm of the upper triangle for Laplace noise, and the
    largest eigenvalue for Wishart noise.
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("GramFields", **MATRIX_FIELDS)
    can_be_pooled: ClassVar[bool] = True

    def check(self, kind: Gram, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Also refuse Wishart noise for units with several rows, and averaging that differs from the request."""
        super().check(kind, schema, columns)
        require(self.noise.distribution != "wishart" or schema.unit.max_rows == 1,
                "wishart noise requires one row per unit", f"max_rows {schema.unit.max_rows}",
                "the file was changed or damaged: ask its holder")
        require(kind.average in (None, self.average), "rows must be averaged as the kind asks for",
                f"{self.average}, asked for {kind.average}")

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: Gram, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution. Refuse an upper triangle that does not match the columns."""
        return cls(**matrix_and_noise(contents, len(columns)), **head)


def matrix_and_noise(contents: RecordFields, size: int) -> MatrixAndNoise:
    """The symmetric matrix whose upper triangle a file states, its noise, and how rows were averaged."""
    triangle, expected = contents.statistic, size * (size + 1) // 2
    require(len(triangle) == expected, f"the upper triangle for {size} columns must have {expected} numbers", len(triangle))
    rows, columns = np.triu_indices(size)
    matrix = np.empty((size, size))
    matrix[rows, columns] = matrix[columns, rows] = triangle
    return {"matrix": matrix, "noise": EntryNoise(**known_part(contents.noise)), "average": contents.average or 1}


CONTRIBUTION = GramContribution
