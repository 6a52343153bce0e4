"""Numbers as people read them: as many digits as the uncertainty warrants, and decimal points in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence


def decimals_for(uncertainty: float, digits: int = 2) -> int:
    """How many decimals show ``digits`` significant digits of an uncertainty.

    >>> decimals_for(0.0123), decimals_for(4.2), decimals_for(380.0)
    (3, 1, 0)
    """
    if not math.isfinite(uncertainty) or uncertainty <= 0:
        return 3
    return min(10, max(0, digits - 1 - math.floor(math.log10(uncertainty))))


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, and no minus sign before a zero.

    >>> fixed(1234.56, 1), fixed(-0.001, 2)
    ('1,234.6', '0.00')
    """
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def aligned(texts: Sequence[str]) -> list[str]:
    """The same texts with blanks behind them, so that decimal points stand below one another when set flush right.

    >>> aligned(["1.25", "10", "–"])
    ['1.25', '10   ', '–   ']
    """
    tails = [len(text) - text.index(".") if "." in text else 0 for text in texts]
    return [text + " " * (max(tails, default=0) - tail) for text, tail in zip(texts, tails, strict=True)]
