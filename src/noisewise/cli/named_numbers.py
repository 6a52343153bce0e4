"""Options that give a name a number, such as ``xx=1``: ``--block``, ``--share``, ``--per``, ``--effect``, ``--assume``."""

from __future__ import annotations

from collections.abc import Sequence

from noisewise.cli.output import visible
from noisewise.errors import DeclarationError


def as_number(text: str) -> float | None:
    """Return the number written in plain digits, or None if the text is not one."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def named_number(text: str, refusal: Exception) -> tuple[str, float]:
    """Split NAME=NUMBER at the last equals sign, since a term's name may contain one. Raise the refusal if that fails."""
    name, _, written = text.rpartition("=")
    number = as_number(written)
    if number is None or not name.strip():
        raise refusal
    return name.strip(), number


def read_blocks(given: Sequence[str] | None) -> dict[str, float] | None:
    """Return the weights of blocks of sums, or None if none are given."""
    return _weights(given, "a block must have the form NAME=WEIGHT and be given once", "--block xx=1 --block yx=1.5")


def read_shares(given: Sequence[str] | None) -> dict[str, float] | None:
    """Return the weights of columns, or None if none are given."""
    return _weights(given, "a share must have the form COLUMN=WEIGHT and be given once", "--share age=2")


def _weights(given: Sequence[str] | None, rule: str, example: str) -> dict[str, float] | None:
    """Read weights. Their values are checked when the release is made."""
    weights: dict[str, float] = {}
    for text in given or ():
        refusal = DeclarationError(rule, found=visible(text)[:60], remedy=f"for example {example}")
        name, weight = named_number(text, refusal)
        if name in weights:
            raise refusal
        weights[name] = weight
    return weights or None
