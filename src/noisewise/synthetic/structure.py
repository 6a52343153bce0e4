"""What is known about a table's moments before any number is seen: which entries are equal, fixed or bounded.

The columns are the constant, then the declared ones: numbers between −1 and 1, a category with two levels as −1 and +1, and one
with more levels as 0/1 columns of all levels except the first. W = Σ aaᵀ over the rows a. Then

- the square of a −1/+1 column is the number of rows; that of a 0/1 column is its own sum; two 0/1 columns of one category are
  never 1 together;
- no count is negative: neither that of a level, nor that of two levels of different categories;
- a number's squares sum to at most the number of rows, and its sum over the rows of a level is at most their count, with
  either sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.releases.release import Release
from noisewise.schema import Categorical, Numeric
from noisewise.schema.columns import Column

CONSTANT: Final = 0


@dataclass(frozen=True)
class Direction:
    """Entries of W (row ≤ column) that move together: ``pair`` (i, j) and those tied to it."""

    entries: tuple[tuple[int, int], ...]
    pair: tuple[int, int]
    corner: bool = False

    def matrix(self, size: int) -> Array:
        """The symmetric (size, size) matrix with 1 in its entries and 0 elsewhere."""
        result = np.zeros((size, size))
        for i, j in self.entries:
            result[i, j] = result[j, i] = 1.0
        return result


@dataclass(frozen=True)
class Structure:
    """The columns of W: the ``places`` of each declared column, and the indices of all of them among the ``released`` columns."""

    columns: tuple[Column, ...]
    places: tuple[tuple[int, ...], ...]
    released: tuple[int, ...]

    @classmethod
    def of(cls, release: Release) -> Structure:
        """The structure of a release, without powers and products of its declared columns."""
        names, released, places = release.basis.names, [CONSTANT], []
        for column in release.schema.columns:
            own = [column.name]
            if isinstance(column, Categorical) and not column.two_level:
                own = [f"{column.name}[{level}]" for level in column.levels[1:]]
            if not all(name in names for name in own):
                raise FitError("synthetic tables need all declared columns, and one is not in the release",
                               found=repr(column.name), remedy="ask the data holder for a release of kind gram")
            places.append(tuple(range(len(released), len(released) + len(own))))
            released += [names.index(name) for name in own]
        return cls(release.schema.columns, tuple(places), tuple(released))

    @property
    def size(self) -> int:
        """The number of columns of W, including the constant."""
        return len(self.released)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The indices of numeric columns."""
        return tuple(own[0] for column, own in zip(self.columns, self.places, strict=True) if isinstance(column, Numeric))

    @cached_property
    def categories(self) -> tuple[tuple[Categorical, tuple[int, ...]], ...]:
        """Columns with levels, and their indices."""
        found = zip(self.columns, self.places, strict=True)
        return tuple((column, own) for column, own in found if isinstance(column, Categorical))

    @cached_property
    def signs(self) -> tuple[int, ...]:
        """The indices of −1/+1 columns."""
        return tuple(own[0] for column, own in self.categories if column.two_level)

    @cached_property
    def indicators(self) -> tuple[list[int], ...]:
        """The indices of 0/1 columns, by category."""
        return tuple(list(own) for column, own in self.categories if not column.two_level)

    def levels(self, column: Categorical, places: tuple[int, ...]) -> Array:
        """(levels, columns): the 0/1 column of each level as a combination of the columns of W."""
        result = np.zeros((len(column.levels), self.size))
        if column.two_level:
            result[:, CONSTANT], result[:, places[0]] = 0.5, (-0.5, 0.5)
        else:
            result[0, CONSTANT] = 1.0
            result[0, list(places)] = -1.0
            result[np.arange(1, len(column.levels)), list(places)] = 1.0
        return result

    def directions(self, corner: bool) -> list[Direction]:
        """All directions in which W can change; ``corner``: also the number of rows."""
        tied = {place for own in self.indicators for place in own}
        never = {pair for own in self.indicators for pair in combinations(own, 2)}
        found = [Direction(((0, 0), *((s, s) for s in self.signs)), (0, 0), corner=True)] if corner else []
        found += [Direction(((i, j), (j, j)) if i == CONSTANT and j in tied else ((i, j),), (i, j))
                  for i, j in combinations(range(self.size), 2) if (i, j) not in never]
        return found + [Direction(((i, i),), (i, i)) for i in self.numbers]

    def obey(self, matrix: Array) -> Array:
        """Set fixed and tied entries to what they must be: 0, or the entry of the first row."""
        result = matrix.copy()
        for own in self.indicators:
            result[np.ix_(own, own)] = np.diag(matrix[CONSTANT, own])
        for s in self.signs:
            result[s, s] = matrix[CONSTANT, CONSTANT]
        return result

    def bounds(self) -> Array:
        """(bounds, columns, columns): symmetric F with Σ F∘W ≥ 0 for every table."""
        return np.array(list(self._bounds())).reshape(-1, self.size, self.size)

    def _bounds(self) -> Iterator[Array]:
        one = np.eye(self.size)
        for i in self.numbers:
            yield np.outer(one[0], one[0]) - np.outer(one[i], one[i])
        of = [self.levels(column, places) for column, places in self.categories]
        for k, own in enumerate(of):
            for level in own:
                count = _both(level, one[0])
                yield count
                for i in self.numbers:
                    yield count + _both(level, one[i])
                    yield count - _both(level, one[i])
                for others in of[:k]:
                    yield from (_both(level, other) for other in others)

    def independent(self, matrix: Array) -> Array:
        """Moments of independent columns that roughly match the matrix, well within all bounds."""
        n = max(float(matrix[0, 0]), 1.0)
        mean, numbers = np.ones(self.size), list(self.numbers)
        mean[numbers] = np.clip(matrix[0, numbers] / n, -0.9, 0.9)
        for column, places in self.categories:
            share = np.clip(self.levels(column, places) @ matrix[:, 0] / n, 0.2 / len(column.levels), 1.0)
            share /= share.sum()
            mean[list(places)] = 2.0 * share[1] - 1.0 if column.two_level else share[1:]
        result, square = np.outer(mean, mean), mean[numbers] ** 2
        spread = np.clip(matrix[numbers, numbers] / n - square, 0.01 * (1.0 - square), 0.9 * (1.0 - square))
        result[numbers, numbers] = square + spread
        return self.obey(n * result)


def _both(first: Array, second: Array) -> Array:
    return (np.outer(first, second) + np.outer(second, first)) / 2.0
