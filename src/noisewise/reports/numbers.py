"""Numbers and tables as a report writes them, with a real minus sign and no more digits than their uncertainty warrants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MINUS: Final = "\N{MINUS SIGN}"
POWERS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LARGEST_PLAIN: Final = 1e7
MOST_DECIMALS: Final = 6
MOST_ROWS: Final = 200
"""Longer tables are cut, to keep the report small; a note says so."""


def number(value: float, uncertainty: float | None = None) -> str:
    """A number to two digits of its uncertainty, or with four digits if that is unknown.

    >>> number(-0.12345, 0.021), number(1234.5678, 3.0), number(3.0), number(2.5e-9)
    ('−0.123', '1,234.6', '3', '2.5·10⁻⁹')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    known = uncertainty is not None and math.isfinite(uncertainty) and uncertainty > 0
    decimals = 1 - math.floor(math.log10(uncertainty)) if known and uncertainty else 3 - math.floor(math.log10(abs(value)))
    if abs(value) >= LARGEST_PLAIN or decimals > MOST_DECIMALS:
        return _scientific(value, max(2, decimals + math.floor(math.log10(abs(value))) + 1) if known else 4)
    text = f"{value:,.{max(0, decimals)}f}"
    if not known and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.removeprefix("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def _scientific(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{min(digits, 9) - 1}e}".split("e")
    return _with_power(mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa, exponent)


def _with_power(mantissa: str, exponent: str) -> str:
    power = f"10{str(int(exponent)).translate(POWERS)}"
    return power if mantissa == "1" else f"{mantissa}·{power}".replace("-", MINUS)


def exact(value: float) -> str:
    """A budget with all its digits, because a report must not promise more than was spent.

    >>> exact(1.0), exact(1e-06), exact(0.123456789)
    ('1', '10⁻⁶', '0.123456789')
    """
    mantissa, e, exponent = repr(float(value)).removesuffix(".0").partition("e")
    return _with_power(mantissa, exponent) if e else mantissa.replace("-", MINUS)


def percent(share: float, digits: int = 1) -> str:
    """A share in percent, never rounded to certainty.

    >>> percent(0.7310585), percent(0.95), percent(0.99999), percent(0.00001)
    ('73.1 %', '95 %', 'above 99.9 %', 'below 0.1 %')
    """
    least = 0.1**digits
    if 0 < 100 * share < least:
        return f"below {least:.{digits}f} %"
    if 100 - least < 100 * share < 100:
        return f"above {100 - least:.{digits}f} %"
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def at_most(share: float) -> str:
    """An upper bound in percent, rounded up, but to 100 % only if it is that.

    >>> at_most(0.7310585), at_most(0.99995), at_most(1.0), at_most(0.5)
    ('73.2 %', '99.995 %', '100 %', '50 %')
    """
    for digits in range(1, 7):
        rounded = math.ceil(round(100 * share * 10**digits, 6)) / 10**digits
        if rounded < 100:
            return f"{rounded:.{digits}f}".rstrip("0").rstrip(".") + " %"
    return "100 %"


def chance(probability: float) -> str:
    """A probability computed from draws or models, which is never exactly 0 or 1.

    >>> chance(0.25), chance(1.0), chance(0.0)
    ('25 %', 'above 99.9 %', 'below 0.1 %')
    """
    return percent(min(max(probability, 1e-9), 1 - 1e-9))


def rough(size: float) -> str:
    """An uncertainty with two digits.

    >>> rough(0.02112), rough(380.4)
    ('0.021', '380')
    """
    return number(size, size)


def count(value: float) -> str:
    """A whole number with separators."""
    return f"{value:,.0f}".replace("-", MINUS)


def plural(value: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> plural(1, "holder"), plural(1200, "row")
    ('1 holder', '1,200 rows')
    """
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def listed(names: list[str], most: int = 6) -> str:
    """Names as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcd"), most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


@dataclass(frozen=True)
class Table:
    """A caption, headings and rows of text; the first cell of a row is its heading."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int] = frozenset({0})
    """The columns that are not numbers."""
    note: str = ""

    @classmethod
    def of(cls, caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], words: Iterable[int] = (0,),
           rest: str = "the files have them all") -> Table:
        """Make a table, cut to ``MOST_ROWS``."""
        every = [tuple(row) for row in rows]
        left_out = len(every) - MOST_ROWS
        note = f"{left_out:,} more lines are not shown; {rest}." if left_out > 0 else ""
        return cls(caption, tuple(headings), tuple(every[:MOST_ROWS]), frozenset(words), note)
