"""The option ``--block`` of releases of kind moments: names and weights, such as ``xx=1``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from noisewise.cli.talk import visible
from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.schema import Schema

Blocks: TypeAlias = Annotated[list[str] | None, typer.Option("--block", metavar="NAME=WEIGHT", show_default=False, help=(
    "With kind moments: a block of sums and its weight, for example xx=1; may be repeated. By default x=1 xx=1 y=0.7 yx=1.5."))]


def read_blocks(given: Sequence[str] | None) -> dict[str, float] | None:
    """Weights by name; None if there are none. What they must be is checked where a release is made."""
    if not given:
        return None
    blocks: dict[str, float] = {}
    for text in given:
        name, _, weight = text.partition("=")
        try:
            number = float(weight) if weight.isascii() and "_" not in weight else None
        except ValueError:
            number = None
        if number is None or name in blocks:
            raise DeclarationError("a block is given once, as its name and its weight", found=visible(text)[:60],
                                   remedy="for example --block xx=1 --block yx=1.5")
        blocks[name] = number
    return blocks


def suggested_family(schema: Schema, response: str) -> str:
    """The family that a response can have: counts are numbers, outcomes are categories."""
    from noisewise.schema import Categorical

    return "logistic" if isinstance(schema.column(response), Categorical) else "poisson"
