"""What is particular to a release of kind ``moments``: a part that is made of blocks of sums, each with noise of its own.

The blocks of order one and two are entries of a matrix, like that of a ``gram`` release, in which some entries may not have been
released; fits use these. Blocks of higher order are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import DeclarationError, ReleaseError
from noisewise.release.checks import LARGEST_ENTRY, FloatMatrix, number_of, plain_bytes
from noisewise.release.json_text import short
from noisewise.release.parts import EntryNoise, GramPart
from noisewise.schema.moment_blocks import ROWS, MomentBlock, check_size, in_order

IN_THE_MATRIX: Final = (ROWS, "x", "xx", "y", "yx")

BYTES_OF_A_SUM: Final = 40
"""The most that a file needs for one sum, on a line of its own."""

LARGEST_MATRICES: Final = 2**26
"""Entries of the matrices of all parts of a file: more than fit if the block xx is there, and it need not be."""


@dataclass(frozen=True, eq=False)
class BlockSums:
    """One block: its weight, the noise of its sums, and the noisy sums of its monomials, in their order.

    ``noise`` is the standard deviation for monomials that are multiplied by the root of their multinomial coefficient; that of
    the sum of a plain monomial is ``noise`` divided by that root.
    """

    weight: float
    noise: float
    sums: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("weight", "noise"):
            value = number_of(getattr(self, name), f"blocks: the {name}")
            if not 1 / LARGEST_ENTRY <= value <= LARGEST_ENTRY:
                raise ReleaseError(f"blocks: the {name} must be positive and of ordinary size", found=repr(value))
            object.__setattr__(self, name, value)
        object.__setattr__(self, "sums", _numbers(self.sums))

    def to_plain(self) -> dict[str, Any]:
        """The block as a file states it."""
        return {"weight": self.weight, "noise": self.noise, "sums": self.sums.tolist()}


@dataclass(frozen=True, eq=False, repr=False)
class MomentsPart(GramPart):
    """One holder's noisy sums of monomials of the predictors, alone and times the response.

    ``predictors`` is the number of their columns; ``blocks`` are the released sums by name. What follows from these: ``matrix``
    with the constant first and the response last, 0 where nothing was released; ``variances``, of the noise of each of its
    entries, infinite where nothing was released; ``noise``, whose ``off_diagonal`` is that of the sums with the response;
    ``higher``, the blocks that are not in the matrix, which no fit uses. ``sensitivity`` is that of all sums, weighted as the
    blocks are.
    """

    matrix: FloatMatrix = field(init=False)
    noise: EntryNoise = field(init=False)
    predictors: int = field(kw_only=True)
    blocks: Mapping[str, BlockSums] = field(kw_only=True)
    variances: FloatMatrix = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", _checked(self.blocks, self.predictors))
        if (ROWS in self.blocks) != (self.rows is None):
            raise ReleaseError("the number of rows is stated, or a block of its own, and not both",
                               found=f"rows {self.rows}, blocks {', '.join(self.blocks)}")
        values, variances = self._matrices()
        object.__setattr__(self, "matrix", values)
        object.__setattr__(self, "noise", self._entry_noise())
        super().__post_init__()
        if self.average != 1:
            raise ReleaseError("rows are not averaged in a release of kind moments", found=short(self.average))
        variances.setflags(write=False)
        object.__setattr__(self, "variances", variances)

    def _matrices(self) -> tuple[FloatMatrix, FloatMatrix]:
        last = self.predictors + 1
        values, variances = np.zeros((last + 1, last + 1)), np.full((last + 1, last + 1), np.inf)
        if self.rows is not None:
            values[0, 0], variances[0, 0] = number_of(self.rows, "rows"), 0.0
        inner = np.arange(1, last)
        rows, columns = np.triu_indices(self.predictors)
        first, end = np.zeros_like(inner), np.full_like(inner, last)
        places: dict[str, tuple[Any, Any]] = {
            ROWS: ([0], [0]), "x": (first, inner), "xx": (rows + 1, columns + 1), "y": ([0], [last]), "yx": (inner, end),
        }
        for name, (row, column) in places.items():
            if name in self.blocks:
                block = self.blocks[name]
                values[row, column] = values[column, row] = block.sums
                variance = block.noise**2 / MomentBlock.named(name).multiplicities(self.predictors)
                variances[row, column] = variances[column, row] = variance
        return values, variances

    def _entry_noise(self) -> EntryNoise:
        sds = {name: block.noise for name, block in self.blocks.items()}
        largest = max(sds.values())
        return EntryNoise("gaussian", diagonal=sds.get("xx", largest), off_diagonal=sds.get("yx", sds.get("y", largest)),
                          corner=sds.get(ROWS, 0.0))

    @property
    def higher(self) -> Mapping[str, BlockSums]:
        """The blocks of higher order: released, but not used by any fit."""
        return {name: block for name, block in self.blocks.items() if name not in IN_THE_MATRIX}

    @property
    def numbers(self) -> int:
        """How many noisy numbers there are."""
        return sum(len(block.sums) for block in self.blocks.values())

    def _noisy_bytes(self) -> Iterator[bytes]:
        yield from (name.encode() + plain_bytes(block.sums) for name, block in self.blocks.items())

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "blocks": dict(self.blocks)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for block in state["blocks"].values():
            block.sums.setflags(write=False)
        super().__setstate__({**state, "blocks": MappingProxyType(state["blocks"])})

    def _plain(self) -> dict[str, Any]:
        plain = {name: value for name, value in super()._plain().items() if name not in ("variances", "noise")}
        return {**plain, "blocks": {name: block.to_plain() for name, block in self.blocks.items()}}


def check_matrices(parts: int, columns: int) -> None:
    """Refuse a file whose matrices would be far larger than itself, before one is made."""
    if parts * columns**2 > LARGEST_MATRICES:
        raise ReleaseError("the parts of a moments release may not be so large together",
                           found=f"{parts} parts of {columns} columns")


def _checked(blocks: object, predictors: object) -> Mapping[str, BlockSums]:
    if isinstance(predictors, bool) or not isinstance(predictors, int) or predictors < 0:
        raise ReleaseError("the number of predictors must be a whole number, 0 or more", found=short(predictors))
    if not isinstance(blocks, Mapping) or not all(isinstance(block, BlockSums) for block in blocks.values()):
        raise ReleaseError("a part of a moments release has blocks of sums", found=short(blocks))
    if not set(blocks) - {ROWS}:
        raise ReleaseError("a part of a moments release has a block beside the number of rows", found=", ".join(blocks) or "none")
    for name, block in blocks.items():
        try:
            found = MomentBlock.named(name)
            check_size(found, predictors)
        except DeclarationError as error:
            raise ReleaseError(error.rule, found=error.found, remedy=error.remedy) from None
        expected = found.size(predictors)
        if len(block.sums) != expected:
            raise ReleaseError(f"block {name}: there are {expected} monomials of {predictors} columns",
                               found=f"{len(block.sums)} sums")
    return MappingProxyType({name: blocks[name] for name in in_order(blocks)})


def _numbers(values: object) -> NDArray[np.float64]:
    try:
        copied = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ReleaseError("blocks: the sums must be numbers", found=type(values).__name__) from None
    if copied.ndim != 1 or not (np.abs(copied) <= LARGEST_ENTRY).all():
        wrong = copied[~(np.abs(copied) <= LARGEST_ENTRY)]
        raise ReleaseError("blocks: the sums must be a list of finite numbers of ordinary size",
                           found=f"shape {copied.shape}" if copied.ndim != 1 else repr(float(wrong[0])))
    copied.setflags(write=False)
    return copied
