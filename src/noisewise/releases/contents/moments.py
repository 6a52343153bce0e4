"""The contents of a `Moments` release: blocks of sums, each with its own noise.

The blocks of order one and two are entries of a matrix like that of a `Gram` release, except that some entries may not have been
released. Fits use this matrix. Blocks of higher order are kept unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final, Self, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from noisewise.arrays import Matrix, Vector
from noisewise.errors import ReleaseError
from noisewise.kinds import Moments
from noisewise.releases.checks import (
    number_of,
    numbers_of,
    ordinary,
    plain_bytes,
    refused_as_release,
    require,
    settle,
)
from noisewise.releases.contents.gram import EntryNoise, MatrixContribution
from noisewise.releases.contribution import Contribution, StoredHead
from noisewise.releases.fields import RecordFields, items, known_part, named, shape, shape_of
from noisewise.releases.json_text import short
from noisewise.schema.basis import BasisColumn
from noisewise.schema.moment_blocks import NEEDED, ROWS, MomentBlock, check_size, in_order
from noisewise.schema.schema import Schema

IN_THE_MATRIX: Final = (ROWS, "x", "xx", "y", "yx")

LARGEST_MATRICES: Final = 2**26
"""The most entries of all matrices of a file. A file with the block xx cannot hold as many, but that block may be absent."""

Places: TypeAlias = list[int] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BlockSums:
    """One block: its weight, the noise of its sums, and the noisy sums of its monomials in order.

    ``noise`` is the standard deviation for monomials multiplied by the root of their multinomial coefficient. For the sum of a
    plain monomial it is ``noise`` divided by that root.
    """

    weight: float
    noise: float
    sums: Vector

    def __post_init__(self) -> None:
        settle(self, ordinary, "weight", "noise", where="blocks: the {}")
        settle(self, numbers_of, "sums", where="blocks: the {}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockSums) and (self.weight, self.noise) == (other.weight, other.noise) \
            and np.array_equal(self.sums, other.sums)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return BlockSums, (self.weight, self.noise, self.sums)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MomentsContribution(MatrixContribution):
    """One holder's noisy sums of monomials of the predictors, alone and times the response.

    ``predictors`` is the number of predictor columns, and ``blocks`` are the released sums by name. The rest follows from these:

    - ``matrix``, with the constant first and the response last, is 0 where nothing was released;
    - ``variances`` are those of the noise of its entries, infinite where nothing was released;
    - ``noise.off_diagonal`` is that of the sums with the response;
    - ``higher`` are the blocks that are not in the matrix, which no fit uses.

    ``sensitivity`` is that of all sums, with the weights of the blocks.
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("MomentsFields", blocks=named(shape_of(BlockSums, sums=items(float))))
    CLIPPED: ClassVar[str] = "predictors"

    matrix: Matrix = field(init=False, compare=False)
    noise: EntryNoise = field(init=False, compare=False)
    predictors: int
    blocks: Mapping[str, BlockSums]
    _variances: Matrix = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", _checked(self.blocks, self.predictors))
        require((ROWS in self.blocks) == (self.rows is None), "the number of rows must be either stated or a block, not both",
                f"rows {short(self.rows)}, blocks {', '.join(self.blocks)}")
        values, variances = self._matrices()
        object.__setattr__(self, "matrix", values)
        object.__setattr__(self, "noise", self._entry_noise())
        super().__post_init__()
        require(self.average == 1, "rows must not be averaged in a release of kind moments", self.average)
        variances.setflags(write=False)
        object.__setattr__(self, "_variances", variances)

    def _matrices(self) -> tuple[Matrix, Matrix]:
        last = self.predictors + 1
        values, variances = np.zeros((last + 1, last + 1)), np.full((last + 1, last + 1), np.inf)
        if self.rows is not None:
            values[0, 0], variances[0, 0] = number_of(self.rows, "rows"), 0.0
        inner = np.arange(1, last)
        rows, columns = np.triu_indices(self.predictors)
        first, end = np.zeros_like(inner), np.full_like(inner, last)
        places: dict[str, tuple[Places, Places]] = {
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
    def variances(self) -> Matrix:
        """The variance of the noise in each entry: infinite where nothing was released, 0 for a public number of rows."""
        return self._variances

    def distance(self) -> float:
        """The largest change in standard deviations, each multiplied by the root of the weight of its block."""
        return self.sensitivity / min(block.noise * math.sqrt(block.weight) for block in self.blocks.values())

    def check(self, kind: Moments, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Also refuse blocks or weights other than the requested ones; a kind with ``blocks=None`` accepts any."""
        super().check(kind, schema, columns)
        require(kind.blocks in (None, {name: block.weight for name, block in self.blocks.items()}),
                "the blocks and their weights must be those that the kind asks for", ", ".join(self.blocks))

    def common(self) -> dict[str, str]:
        """The blocks, whatever their weights."""
        return {"blocks": ", ".join(self.blocks)}

    @property
    def higher(self) -> Mapping[str, BlockSums]:
        """The blocks of higher order, which were released but are not used by any fit."""
        return {name: block for name, block in self.blocks.items() if name not in IN_THE_MATRIX}

    def count(self) -> int:
        """The number of noisy sums, those of higher order included."""
        return sum(len(block.sums) for block in self.blocks.values())

    def _noisy_bytes(self) -> Iterator[bytes]:
        yield from (name.encode() + plain_bytes(block.sums) for name, block in self.blocks.items())

    def contents(self) -> dict[str, object]:
        """The blocks alone: the matrix and its noise follow from them."""
        return Contribution.contents(self)

    @classmethod
    def check_size(cls, contributions: int, columns: int) -> None:
        """Limit memory: a single small block in a file already needs a whole matrix."""
        require(contributions * columns**2 <= LARGEST_MATRICES,
                f"the matrices of a moments release may have at most {LARGEST_MATRICES} entries together",
                f"{contributions} of {columns} columns")

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: Moments, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution. All ``columns`` but the constant and the response are predictors."""
        blocks = {name: BlockSums(**known_part(block)) for name, block in contents.blocks.items()}
        return cls(predictors=max(len(columns) - 2, 0), blocks=blocks, **head)  # without the constant and the response

    def lines(self, kind: Moments, schema: Schema) -> list[tuple[str, str]]:
        """Describe the noise of each block, the blocks that a fit would need but are missing, and those that no fit uses."""
        blocks = "; ".join(f"{block.noise:.4g} on {name} ({MomentBlock.named(name).describe()})"
                           for name, block in self.blocks.items())
        lines = [("noise", f"{self.mechanism}; standard deviation {blocks} (scaled units; for a product of different predictors, "
                           "divided by the root of its multinomial coefficient)")]
        missing = [name for name in NEEDED if name not in self.blocks and (self.predictors or name == "y")]
        if missing:
            lines.append(("no fit", f"a regression cannot be fitted without these blocks: {', '.join(missing)}"))
        if self.higher:
            lines.append(("not used", f"{', '.join(self.higher)}: this version of noisewise uses no moments of this order"))
        return lines

    def own_facts(self) -> dict[str, object]:
        """The facts of the matrix, and the weight of each block and the standard deviation of its noise."""
        return {**super().own_facts(), "blocks": {name: {"weight": block.weight, "noise_sd": block.noise}
                                                  for name, block in self.blocks.items()}}


def _checked(blocks: object, predictors: object) -> Mapping[str, BlockSums]:
    if isinstance(predictors, bool) or not isinstance(predictors, int) or predictors < 0:
        raise ReleaseError("the number of predictors must be a whole number >= 0", found=short(predictors))
    if not isinstance(blocks, Mapping) or not all(isinstance(block, BlockSums) for block in blocks.values()):
        raise ReleaseError("a moments release must have blocks of sums", found=short(blocks))
    require(bool(set(blocks) - {ROWS}), "a moments release needs a block besides the number of rows", ", ".join(blocks) or "none")
    for name, block in blocks.items():
        with refused_as_release():
            found = MomentBlock.named(name)
            check_size(found, predictors)
        require(len(block.sums) == found.size(predictors),
                f"block {name}: {predictors} columns have {found.size(predictors)} monomials", f"{len(block.sums)} sums")
    return MappingProxyType({name: blocks[name] for name in in_order(blocks)})


CONTRIBUTION = MomentsContribution
