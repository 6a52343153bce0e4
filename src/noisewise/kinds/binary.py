"""`Binary`: synthetic rows of one column with two levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from noisewise.checks import is_whole
from noisewise.kinds.kind import Kind, require
from noisewise.schema.schema import Schema
from noisewise.words import either

MOST_COPIES: Final = 10_000
MOST_ROWS: Final = 2**53


@dataclass(frozen=True)
class Binary(Kind):
    """Synthetic rows of a ``column`` with two levels, under pure epsilon (beta-binomial synthesis, from the literature).

    ``rows`` is the number of synthetic rows per copy. The more there are, the closer their proportion is drawn to one half.
    ``copies`` share epsilon. `noisewise.fit_binary` infers the real proportion. A `Gram` release tells more for the same epsilon.

    >>> Binary("smoker", rows=200).to_dict()
    {'name': 'binary', 'column': 'smoker', 'rows': 200, 'copies': 1}
    """

    name: ClassVar[str] = "binary"
    literature: ClassVar[bool] = True
    needs_bounds: ClassVar[bool] = False
    purpose: ClassVar[str] = "synthetic rows of one yes-or-no column"
    use: ClassVar[str] = either("analyse it with noisewise.fit_binary", "use noisewise estimate or noisewise synthesize")

    column: str
    rows: int
    copies: int = 1

    def __post_init__(self) -> None:
        require(isinstance(self.column, str) and self.column != "", "column must be the name of one column",
                self.column, 'for example "smoker"', "column")
        for option, most in (("rows", MOST_ROWS), ("copies", MOST_COPIES)):
            value = getattr(self, option)
            require(is_whole(value, 1, most), f"{option} must be a whole number from 1 to {most}", value,
                    "give a smaller number" if is_whole(value, most) else "give one", option)

    def title(self, schema: Schema) -> str:
        """The column."""
        return self.column
