"""Options that are names and weights, such as ``xx=1``: ``--block`` of releases of kind moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from noisewise.cli.talk import visible
from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.schema import Schema

Blocks: TypeAlias = Annotated[list[str] | None, typer.Option("--block", metavar="NAME=WEIGHT", show_default=False,
                                                             rich_help_panel="With --kind moments", help=(
    "A block of sums and its weight, for example xx=1; may be repeated. By default x=1 xx=1 y=0.7 yx=1.5."))]


def read_blocks(given: Sequence[str] | None) -> dict[str, float] | None:
    """Weights by the names of blocks; None if there are none."""
    return read_weights(given, "a block is given once, as its name and its weight", "--block xx=1 --block yx=1.5")


def read_weights(given: Sequence[str] | None, rule: str, example: str) -> dict[str, float] | None:
    """Numbers by name, from ``NAME=NUMBER``; None if there are none. What they must be is checked where a release is made."""
    weights: dict[str, float] = {}
    for text in given or ():
        name, _, weight = text.rpartition("=")
        try:
            number = float(weight) if weight.isascii() and "_" not in weight else None
        except ValueError:
            number = None
        if number is None or not name or name in weights:
            raise DeclarationError(rule, found=visible(text)[:60], remedy=f"for example {example}")
        weights[name] = number
    return weights or None


def suggested_family(schema: Schema, response: str) -> str:
    """The family that a response can have: counts are numbers, outcomes are categories."""
    from noisewise.schema import Categorical

    return "logistic" if isinstance(schema.column(response), Categorical) else "poisson"
