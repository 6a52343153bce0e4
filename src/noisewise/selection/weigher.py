"""What all ways of weighing models share: which columns a model has, the prior of g, and many models at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Flags
from noisewise.schema.bayes_factors import CRITERIA, Mixture, mixture
from noisewise.selection.subsets import memberships

Places = npt.NDArray[np.int64]

LOT: Final = 1024
"""Models weighed together. This bounds the memory."""


@dataclass(frozen=True)
class Effective:
    """The effective moments of several models, zero for columns that are not in a model; see the text of ``evidence``.

    In coordinates in which the prior's precision is 1/g times the identity, A has the eigenvalues ``values``, b is ``cross``,
    and the slopes are ``back`` times the coordinates. ``head`` has the rows of the kept columns, (A₀₀, A₀ₓ, b₀). Given the
    slopes, their coefficients are N(A₀₀⁻¹(b₀ − A₀ₓ slopes), σ² A₀₀⁻¹).
    """

    values: Array
    cross: Array
    back: Array
    total: Array
    log_scale: Array
    head: Array


class Weigher(ABC):
    """Weighs models, given as rows of flags, one for each of ``groups``: indices of columns, not counting the kept ones.

    ``prior_moments`` is the precision of the prior of all columns but the kept ones, times g; ``rows`` is the scale of g.
    """

    most_listed: ClassVar[int] = 20
    """With more terms, models take too long to weigh them all."""

    def __init__(self, groups: Sequence[Sequence[int]], prior: str, prior_moments: Array, kept: int, rows: float) -> None:
        self.groups, self.prior = [list(group) for group in groups], prior
        self.prior_moments, self.kept, self.rows = prior_moments, kept, rows
        self.columns = len(prior_moments)

    @property
    def exact(self) -> bool:
        """True if there is no noise: then a long list of models takes little time."""
        return False

    @property
    @abstractmethod
    def width(self) -> int:
        """The length of a draw: the coefficients and, if there is one, the scale."""

    @abstractmethod
    def by_node(self, effective: Effective) -> Array:
        """Log evidence of each model for each g, including its weight in the mixture: (models, nodes)."""

    @abstractmethod
    def variances(self, rest: Array, rng: np.random.Generator) -> Array:
        """Draws of what the precision of the coefficients must be divided by, given what a model leaves unexplained."""

    @abstractmethod
    def scales(self, variances: Array, rng: np.random.Generator) -> Array:
        """Draws of the scale as a column, or no column if there is none."""

    @abstractmethod
    def _criterion(self, effective: Effective) -> Array:
        """Log evidence by an information criterion."""

    @abstractmethod
    def _effective(self, places: Places) -> Effective:
        """The effective moments of models with equal numbers of columns, given by their indices."""

    @cached_property
    def nodes(self) -> Mixture:
        """The prior of g as values and weights, for criteria unused; an approximation has those of what it approximates."""
        return mixture(self.prior, self.rows, self.columns)

    def all_models(self) -> Array:
        """Log Bayes factors of all models against that with only the kept columns; model i has group k if bit k of i is set."""
        return self.log_bayes_factors(memberships(len(self.groups)))

    def log_bayes_factors(self, members: Flags) -> Array:
        """Log Bayes factors of these models against the one with only the kept columns."""
        found = np.empty(len(members))
        for mine, places in self.by_size(members):
            found[mine] = self._log_evidence(self._effective(places))
        return found - self._of_nothing

    @cached_property
    def _of_nothing(self) -> float:
        return float(self._log_evidence(self._effective(np.zeros((1, 0), dtype=np.int64)))[0])

    def _log_evidence(self, effective: Effective) -> Array:
        if self.prior in CRITERIA:
            return self._criterion(effective)
        return np.asarray(np.logaddexp.reduce(self.by_node(effective), axis=1))

    def by_size(self, members: Flags, lot: int = LOT) -> Iterator[tuple[Places, Places]]:
        """Models with equal numbers of columns, a lot at a time: their indices, and the indices of their columns."""
        chosen = self.mask(members)
        count = chosen.sum(axis=1)
        for size in np.unique(count):
            same = np.flatnonzero(count == size)
            for start in range(0, len(same), lot):
                mine = same[start:start + lot]
                yield mine, np.nonzero(chosen[mine])[1].reshape(len(mine), size)

    def mask(self, members: Flags) -> Flags:
        """Flags for the columns of each model, without the kept ones."""
        chosen = np.zeros((len(members), self.columns), dtype=bool)
        for index, group in enumerate(self.groups):
            chosen[:, group] = members[:, index, None]
        return chosen

    def with_kept(self, places: Places) -> Places:
        """Indices among all columns, with the kept ones first and the response last."""
        count = len(places)
        last = np.full(count, self.kept + self.columns)
        return np.column_stack([np.tile(np.arange(self.kept), (count, 1)), places + self.kept, last])

    def effective(self, members: Flags) -> Effective:
        """The effective moments of each model at its own coefficients; columns that it lacks are zero."""
        count, size, kept = len(members), self.columns, self.kept
        result = Effective(np.zeros((count, size)), np.zeros((count, size)), np.zeros((count, size, size)),
                           np.zeros(count), np.zeros(count), np.zeros((count, kept, kept + size + 1)))
        for mine, places in self.by_size(members):
            one, width = self._effective(places), places.shape[1]
            result.values[mine, :width], result.cross[mine, :width] = one.values, one.cross
            result.back[mine[:, None], places, :width] = one.back
            result.total[mine], result.log_scale[mine] = one.total, one.log_scale
            columns = self.with_kept(places)
            result.head[mine[:, None, None], np.arange(kept)[:, None], columns[:, None, :]] = one.head
        return result

    def in_coordinates(self, rest: Array, places: Places) -> tuple[Array, Array, Array]:
        """``values``, ``cross`` and ``back`` of models from (A, b), where the kept columns are eliminated and b is last."""
        moments = self.prior_moments[places[:, :, None], places[:, None, :]]
        inverse = np.linalg.inv(np.linalg.cholesky(moments)) if places.shape[1] else moments
        values, vectors = np.linalg.eigh(inverse @ rest[:, :-1, :-1] @ np.swapaxes(inverse, 1, 2))
        turned = np.swapaxes(vectors, 1, 2) @ inverse
        return np.maximum(values, 0.0), np.einsum("mij,mj->mi", turned, rest[:, :-1, -1]), np.swapaxes(turned, 1, 2)

    def by_criterion(self, values: Array, gain: Array) -> Array:
        """A model's gain in log likelihood minus the criterion's penalty; ``values`` as in `Effective`."""
        units = np.sum(np.log(self.rows * values), axis=-1)
        return np.asarray(gain - (values.shape[-1] if self.prior == "aic" else 0.5 * np.maximum(units, 0.0)))


def log_determinants(stretched: Array) -> Array:
    """½ Σ log of the last axis: logarithms are expensive, and products of four cannot overflow."""
    fours = range(0, stretched.shape[-1], 4)
    if not fours:
        return np.zeros(stretched.shape[:-1])
    return np.asarray(0.5 * np.sum(np.log(np.multiply.reduceat(stretched, fours, axis=-1)), axis=-1))


def floored(values: Array) -> Array:
    """Eigenvalues that may be divided by."""
    return np.asarray(np.maximum(values, 1e-12 * values.max(axis=-1, keepdims=True, initial=1e-300)))
