"""`Moments`: blocks of noisy sums for logistic, probit and Poisson regressions of one response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from noisewise.kinds.kind import Kind, Options, require
from noisewise.kinds.regression import OneRegression
from noisewise.schema.moment_blocks import MomentBlock, checked_blocks, checked_weight, numbers_in
from noisewise.schema.schema import Schema
from noisewise.words import either, option

BYTES_OF_A_SUM: Final = 40
"""The most bytes a file needs for one sum, on its own line."""


@dataclass(frozen=True)
class Moments(OneRegression):
    """Sums of products of the predictors, alone and times the response. Often a little more precise than `Gram`.

    For logistic, probit and Poisson regression of the response of ``formula`` on any of its predictors. Needs a delta.
    ``blocks`` weights the sums, by default ``{"x": 1, "xx": 1, "y": 0.7, "yx": 1.5}``: four times the weight means half the
    noise. Blocks of higher order are from the literature, and no fit uses them.

    >>> Moments("sick ~ age", blocks={"yx": 2}).to_dict()
    {'name': 'moments', 'formula': 'sick ~ age', 'blocks': {'yx': 2.0}}
    """

    name: ClassVar[str] = "moments"
    purpose: ClassVar[str] = "logistic, probit or Poisson regression of this response on these predictors"
    use: ClassVar[str] = "fit its response with " + option("family", "logistic") + ", probit or poisson"
    holders: ClassVar[bool] = True
    has_columns: ClassVar[bool] = True

    blocks: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks is None:
            return
        example = either('blocks={"x": 1, "xx": 1, "y": 0.7, "yx": 1.5}', "--block x=1 --block yx=1.5")
        require(isinstance(self.blocks, Mapping) and bool(self.blocks), "blocks must give the weight of each block of moments",
                self.blocks, f"for example {example}, or leave it out", "blocks")
        checked = {MomentBlock.named(name).name: checked_weight(name, weight) for name, weight in self.blocks.items()}
        object.__setattr__(self, "blocks", Options(dict(sorted(checked.items()))))  # sorted, so that their order does not matter

    def settled_blocks(self, schema: Schema) -> dict[str, float]:
        """The weights of all blocks of such a release, including the defaults."""
        return checked_blocks(self.blocks, rows_are_public=schema.rows_are_public, predictors=len(self.columns(schema)) - 2)

    def room(self, schema: Schema) -> int:
        """The most bytes that the sums may take in a file."""
        return super().room(schema) + BYTES_OF_A_SUM * numbers_in(self.settled_blocks(schema), len(self.columns(schema)) - 2)

    def common(self, schema: Schema) -> dict[str, str]:
        """The blocks, whatever their weights."""
        return {"blocks": ", ".join(self.settled_blocks(schema))}

    def joined(self, other: Kind) -> Self:
        """Reset weights that differ; each contribution states its own."""
        return self if self == other or self.blocks == getattr(other, "blocks", None) else replace(self, blocks=None)
