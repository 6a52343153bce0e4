"""The blocks of a `moments` release: sums of all monomials of one degree in the predictors, alone or times the response.

A block is named after its sums: ``x``, ``xx``, ``xxx`` ... for the predictors' monomials, ``y``, ``yx``, ``yxx`` ... for their
products with the response, and ``n`` for the number of rows if that is not public. Names, orders and sizes are public, and the
same on both sides of the wall.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.checks import is_number
from noisewise.errors import DeclarationError

LARGEST_ORDER: Final = 6
"""The most factors of a monomial, including the response."""

LARGEST_PREDICTORS: Final = 2048
"""The most columns of predictors in one release."""

LARGEST_PRODUCT: Final = 2**22
"""The most pairs of factors to compute. Each monomial of a block is the product of a pair."""

SMALLEST_WEIGHT, LARGEST_WEIGHT = 2.0**-20, 2.0**20

DEFAULT_BLOCKS: Final[Mapping[str, float]] = {"x": 1.0, "xx": 1.0, "y": 0.7, "yx": 1.5}
"""The blocks that a fit uses, with weights that suit logistic and Poisson regression."""

NEEDED: Final = tuple(DEFAULT_BLOCKS)
"""The blocks without which no regression can be fitted."""

ROWS: Final = "n"
ROWS_WEIGHT: Final = 1.0

_NAME: Final = re.compile("n|y?x*")


@dataclass(frozen=True)
class MomentBlock:
    """All monomials of one degree in the predictors, possibly times the response.

    >>> block = MomentBlock.named("yxx")
    >>> block.monomials(2).tolist(), block.multiplicities(2).tolist()
    ([[0, 0], [0, 1], [1, 1]], [1, 2, 1])
    """

    response: bool
    degree: int

    @classmethod
    def named(cls, name: object) -> MomentBlock:
        """The block with this name."""
        if not isinstance(name, str) or not name or not _NAME.fullmatch(name) or len(name) > LARGEST_ORDER:
            raise DeclarationError("a block of moments is called x, xx, ... or y, yx, yxx, ...", found=repr(name)[:60],
                                   remedy=f"write an x for each predictor in a product, at most {LARGEST_ORDER} letters in all")
        return cls(name[0] == "y", name.count("x"))

    @property
    def name(self) -> str:
        """The name of the block, such as ``yx``."""
        return ("y" if self.response else "") + "x" * self.degree or ROWS

    @property
    def order(self) -> int:
        """The number of factors of each monomial, including the response."""
        return self.degree + self.response

    def size(self, predictors: int) -> int:
        """The number of monomials in this many predictors."""
        return math.comb(predictors + self.degree - 1, self.degree) if self.degree else 1

    def halves(self) -> tuple[int, int]:
        """The degrees in the predictors of the two factors of each monomial; the first also holds the response."""
        smaller = self.degree // 2
        return (smaller, self.degree - smaller) if self.response else (self.degree - smaller, smaller)

    def products(self, predictors: int) -> int:
        """The number of pairs of factors that are computed."""
        one, other = (MomentBlock(False, degree).size(predictors) for degree in self.halves())
        return one * other

    def monomials(self, predictors: int) -> npt.NDArray[np.intp]:
        """The predictors in each monomial, one row each. For degree 2 this is the upper triangle of a matrix, row by row."""
        every = chain.from_iterable(combinations_with_replacement(range(predictors), self.degree))
        size = self.size(predictors)
        return np.fromiter(every, dtype=np.intp, count=size * self.degree).reshape(size, self.degree)

    def multiplicities(self, predictors: int) -> npt.NDArray[np.int64]:
        """The multinomial coefficient of each monomial: the number of orders in which its factors can be written."""
        monomials = self.monomials(predictors)
        repeats = np.ones(len(monomials), dtype=np.int64)
        run = repeats.copy()
        for one, other in pairwise(monomials.T):
            run = np.where(one == other, run + 1, 1)
            repeats *= run  # 1 · 2 ⋯ m for a predictor that appears m times
        return math.factorial(self.degree) // repeats

    def describe(self) -> str:
        """The sums of the block, in words."""
        if self.order == 0:
            return "the number of rows"
        product = "each predictor" if self.degree == 1 else f"each product of {self.degree} predictors" if self.degree else ""
        return " times ".join(filter(None, ("the response" if self.response else "", product)))


def checked_blocks(blocks: object, *, rows_are_public: bool, predictors: int) -> dict[str, float]:
    """Names and weights in the order of a release, the defaults if there are none. Refuses invalid ones.

    >>> checked_blocks({"yx": 2, "xx": 1}, rows_are_public=False, predictors=3)
    {'n': 1.0, 'xx': 1.0, 'yx': 2.0}
    """
    given = DEFAULT_BLOCKS if blocks is None else blocks
    if not isinstance(given, Mapping) or not given:
        raise DeclarationError("blocks must give the weight of each block of moments", found=repr(blocks)[:60],
                               remedy='for example blocks={"x": 1, "xx": 1, "y": 0.7, "yx": 1.5}, or leave it out')
    found = {MomentBlock.named(name).name: checked_weight(name, weight) for name, weight in given.items()}
    if ROWS in found and rows_are_public:
        raise DeclarationError("the number of rows is public and needs no block", found=repr(ROWS), remedy="leave it out")
    if set(found) <= {ROWS}:
        raise DeclarationError("a release of moments needs a block besides the number of rows", found=repr(blocks)[:60])
    if not rows_are_public:
        found.setdefault(ROWS, ROWS_WEIGHT)
    for name in found:
        check_size(MomentBlock.named(name), predictors)
    return {name: found[name] for name in in_order(found)}


def check_size(block: MomentBlock, predictors: int) -> None:
    """Refuse a block that is too large."""
    if block.degree and predictors == 0:
        raise DeclarationError("a formula without predictors has only the block y", found=repr(block.name),
                               remedy='give blocks={"y": 1}')
    if predictors > LARGEST_PREDICTORS or block.products(predictors) > LARGEST_PRODUCT:
        raise DeclarationError("the blocks of a moments release are too large", found=f"{block.name} of {predictors} columns",
                               remedy="leave out blocks of high order, or use a shorter formula")


def numbers_in(names: Iterable[str], predictors: int) -> int:
    """The total number of sums in some blocks."""
    return sum(MomentBlock.named(name).size(predictors) for name in names)


def in_order(names: Mapping[str, object]) -> list[str]:
    """Names of blocks in order: first those without the response, then by degree."""
    return sorted(names, key=lambda name: (name.startswith("y"), name.count("x")))


def checked_weight(name: object, weight: object) -> float:
    """The weight of a block, checked."""
    if not (is_number(weight) and SMALLEST_WEIGHT <= weight <= LARGEST_WEIGHT):  # also refuses NaN
        raise DeclarationError(f"the weight of a block must be between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}",
                               found=f"{name}: {weight!r}"[:60],
                               remedy="four times the weight means half the noise")
    return float(weight)
