"""Options that are names and numbers, such as ``xx=1``: ``--block``, ``--share``, ``--per``, ``--effect``, ``--assume``."""

from __future__ import annotations

from collections.abc import Sequence

from noisewise.cli.output import visible
from noisewise.errors import DeclarationError


def as_number(text: str) -> float | None:
    """A number in plain digits; None if it is none."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def named_number(text: str, refusal: Exception) -> tuple[str, float]:
    """A name and a number; the last equals sign counts, for a term may have one in its name. The refusal is raised otherwise."""
    name, _, written = text.rpartition("=")
    number = as_number(written)
    if number is None or not name.strip():
        raise refusal
    return name.strip(), number


def read_blocks(given: Sequence[str] | None) -> dict[str, float] | None:
    """The weights of blocks of sums; None if there are none."""
    return _weights(given, "a block is given once, as its name and its weight", "--block xx=1 --block yx=1.5")


def read_shares(given: Sequence[str] | None) -> dict[str, float] | None:
    """The weights of columns; None if there are none."""
    return _weights(given, "a share is given once, as the name of a column and its weight", "--share age=2")


def _weights(given: Sequence[str] | None, rule: str, example: str) -> dict[str, float] | None:
    """What weights must be is checked where a release is made."""
    weights: dict[str, float] = {}
    for text in given or ():
        refusal = DeclarationError(rule, found=visible(text)[:60], remedy=f"for example {example}")
        name, weight = named_number(text, refusal)
        if name in weights:
            raise refusal
        weights[name] = weight
    return weights or None
