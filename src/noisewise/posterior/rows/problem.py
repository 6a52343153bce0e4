"""The model of perturbed rows, its arrays and its parameters.

In scaled units (declared bounds are −1 and 1) a row has numbers z₁, …, z_K, the response last, and columns d that are known or
follow from its categories: a constant, exact numbers, indicators. Each number has a linear regression on those before it,

    z_k = d·a_k + z_1 B_k1 + … + z_(k−1) B_k(k−1) + τ_k e_k,    e_k standard normal,

so the numbers are jointly normal given d, with any covariance. The last of these regressions is the requested one; its τ is σ.
Coefficients have normal priors and the τ half-normal ones. A number is published as m independent copies w_j = z + noise of known
scale; a category as m answers, each the truth with a known probability, otherwise another level at random. The joint
distribution of the categories is free: a Dirichlet prior on the cells of their table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.prior import COEFFICIENT_SCALE, SIGMA_SCALE

if TYPE_CHECKING:
    import jax

Data: TypeAlias = Mapping[str, Any]
"""The arrays of a problem by name; those of a regression's prior are in tuples, one for each number."""

MOST_CELLS: Final = 64
"""Largest number of combinations of levels, since every row weighs every combination."""
CELL_WEIGHT: Final = 0.5
"""Parameter of the Dirichlet prior for each cell: Jeffreys's choice for one category."""


@dataclass(frozen=True)
class RegressionPrior:
    """The prior of one regression: ``slope @ g + offset`` is standard normal, and τ half-normal with this scale.

    With ``directions`` and ``shift`` the coefficients of the columns before it are ``directions @ g − shift``.
    """

    directions: Array
    shift: Array
    slope: Array
    offset: Array
    scale: float

    @classmethod
    def default(cls, columns: int, scale: float = SIGMA_SCALE) -> RegressionPrior:
        """Return the defaults of `noisewise.Prior` in scaled units: moving from the middle of the bounds to their end."""
        identity = np.eye(columns)
        return cls(identity, np.zeros(columns), identity / COEFFICIENT_SCALE, np.zeros(columns), scale)


@dataclass(frozen=True)
class Answers:
    """A category by randomised response: ``codes`` (copies, rows), each the truth with probability ``keep``.

    ``coding`` (levels, columns) has the numbers that represent a level in the regressions.
    """

    codes: npt.NDArray[np.integer[Any]]
    keep: float
    coding: Array

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.coding)

    def evidence(self) -> Array:
        """Return the log probability of a row's answers for each possible truth, (levels, rows), up to a constant."""
        counts: Array = np.stack([(self.codes == level).sum(axis=0) for level in range(self.levels)]).astype(float)
        if self.keep >= 1:
            return np.where(counts == counts.max(axis=0), 0.0, -np.inf)
        return np.asarray(np.log(self.keep * (self.levels - 1) / (1 - self.keep)) * (counts - counts.max(axis=0)))


@dataclass(frozen=True)
class RowProblem:
    """Everything that the sampler needs.

    ``observed`` (copies, rows, numbers): noisy numbers in scaled units, predictors first, the response last. ``noise``: the scale
    of each number's noise, Laplace's b or (``laplace=False``) a standard deviation; 0 only for the response, whose first
    copy is then exact. ``known`` (columns, rows) has the exact columns, including the constant. ``prior`` is that of the
    response's regression on (known, categories' columns, predictors), in this order.
    """

    observed: Array
    noise: Array
    known: Array
    categories: tuple[Answers, ...] = ()
    laplace: bool = True
    prior: RegressionPrior | None = None
    law: tuple[Array, Array, Array] | None = None
    """Known parameters (effects, slopes, scales) of the model; ``Variant`` says which of them stay fixed."""

    def __post_init__(self) -> None:
        if self.observed.ndim != 3 or self.known.shape[1:] != self.observed.shape[1:2]:
            raise FitError("perturbed rows must be an array (copies, rows, numbers), and known columns an array (columns, rows)",
                           found=f"{self.observed.shape} and {self.known.shape}")
        if self.noise.shape != self.observed.shape[2:] or not np.isfinite(self.noise).all() or (self.noise < 0).any():
            raise FitError("every number must have one finite noise scale >= 0", found=str(self.noise))
        if (self.noise[:-1] == 0).any():
            raise FitError("exact predictors must be among the known columns", found=str(self.noise))
        if not (np.isfinite(self.observed).all() and np.isfinite(self.known).all()):
            raise FitError("perturbed rows must be finite numbers", found="NaN or infinity")
        if self.cells > MOST_CELLS:
            raise FitError(f"perturbed categories can have at most {MOST_CELLS} combinations of levels in one regression",
                           found=str(self.cells), remedy="use fewer categories in the formula")

    @property
    def rows(self) -> int:
        """The number of rows, each counted once however many copies it has."""
        return int(self.observed.shape[1])

    @property
    def exact_response(self) -> bool:
        """True if the response has no noise."""
        return bool(self.noise[-1] == 0)

    @property
    def numbers(self) -> int:
        """The number of numbers, including the response."""
        return int(self.observed.shape[2])

    @property
    def cells(self) -> int:
        """The number of combinations of the categories' levels; 1 without categories."""
        return int(np.prod([category.levels for category in self.categories], dtype=int))

    @property
    def columns(self) -> int:
        """The number of columns of d: known ones and those of categories."""
        return len(self.known) + sum(int(category.coding.shape[1]) for category in self.categories)

    def priors(self) -> tuple[RegressionPrior, ...]:
        """One for each number."""
        default = [RegressionPrior.default(self.columns + k) for k in range(self.numbers)]
        return (*default[:-1], self.prior or default[-1])

    def cell_design(self) -> Array:
        """The categories' columns in every cell, (cells, columns); the last category's level changes fastest."""
        table = np.zeros((1, 0))
        for category in self.categories:
            coding = category.coding
            table = np.concatenate([np.repeat(table, len(coding), axis=0), np.tile(coding, (len(table), 1))], axis=1)
        return table

    def evidence(self) -> Array:
        """Return the log probability of the answers for every cell, (cells, rows)."""
        total = np.zeros((1, self.rows))
        for category in self.categories:
            total = (total[:, None, :] + category.evidence()[None]).reshape(-1, self.rows)
        return total


@dataclass(frozen=True)
class Variant:
    """The part of the model that is fixed at compilation."""

    numbers: int
    exact_response: bool = False
    laplace: bool = True
    cells: int = 1
    features_known: bool = False
    """The distribution of the predictors is given and stays fixed."""
    scales_known: bool = False
    """All τ are given too."""
    marginal: bool = True
    """Hamiltonian steps with the numbers integrated out."""
    collapsed: bool = True
    """W are drawn with the numbers integrated out: better if the noise is larger than the numbers' scatter."""
    gibbs: Callable[..., Any] | None = None
    """``(key, state, hidden, variant, data) -> (state, hidden)``: also draws the parameters given the numbers; requires
    ``collapsed=False``."""
    double: bool = False
    """Rows in double precision; sums over rows are, always."""

    @property
    def free(self) -> int:
        """The number of numbers hidden by noise."""
        return self.numbers - self.exact_response


class Law(NamedTuple):
    """The parameters: z_k = effects[k]·d + slopes[k]·z + scales[k]·e_k, slopes strictly lower triangular.

    The signs of the scales mean nothing.
    """

    effects: jax.Array
    slopes: jax.Array
    scales: jax.Array
    cells: jax.Array
    working: jax.Array
    """g of the response's regression."""


def with_row(law: Law, k: int, working: jax.Array, scale: jax.Array, data: Data) -> Law:
    """Return the model with other parameters of regression k."""
    columns = law.effects.shape[1]
    coefficients = data["directions"][k] @ working - data["shift"][k]
    last = k == law.effects.shape[0] - 1
    return Law(law.effects.at[k].set(coefficients[:columns]), law.slopes.at[k, :k].set(coefficients[columns:]),
               law.scales.at[k].set(scale), law.cells, working if last else law.working)


def unknown(variant: Variant) -> range:
    """Return the regressions that are not given."""
    return range(variant.numbers - 1 if variant.features_known else 0, variant.numbers)
