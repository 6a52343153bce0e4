"""A plan of a regression: how wide its intervals would be and whether they would show an effect, by epsilon and rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEASURES: Final[Mapping[str, str]] = {
    "width": "median width of the interval",
    "without privacy": "the same from the rows themselves",
    "times": "how many times wider privacy makes it",
    "power": "how often the interval excludes 0 in the right direction (± Monte Carlo error)",
    "wrong": "how often it excludes 0 in the wrong direction",
    "power without privacy": "the same from the rows themselves",
    "error": "root mean squared error of the posterior mean",
    "detectable": "the effect that would be found with the stated power, by normal theory from the width; none where that is "
                  "nearly the prior's",
}


@dataclass(frozen=True)
class PowerLine:
    """What is expected of one coefficient. ``power`` and ``wrong`` are None where no effect was given."""

    term: str
    effect: float | None
    width: float
    width_without_privacy: float
    width_prior: float | None
    power: float | None
    power_error: float | None
    wrong: float | None
    power_without_privacy: float | None
    error: float
    detectable: float


@dataclass(frozen=True)
class PowerCell:
    """One number of rows and one epsilon. ``hidden`` is how often the noise was as large as the predictors' smallest moment."""

    rows: int
    epsilon: float
    delta: float
    mechanism: str
    lines: tuple[PowerLine, ...]
    hidden: float

    def line(self, term: str) -> PowerLine:
        return next(line for line in self.lines if line.term == term)


@dataclass(frozen=True)
class Needed:
    """The least ``quantity`` (epsilon or rows) with which an effect is found as often as wished; None if there is none.

    ``lower`` and ``upper`` are the ends of a 95 % interval of the simulation's own error; ``given`` is the other quantity.
    """

    term: str
    effect: float
    quantity: str
    given: float
    value: float | None
    lower: float | None
    upper: float | None
    reason: str = ""

    def words(self, power: float) -> str:
        """One sentence."""
        other = f"{self.given:,.0f} rows" if self.quantity == "epsilon" else f"epsilon {self.given:g}"
        about = f"{self.term} = {self.effect:g} with {other}"
        if self.value is None:
            return f"{about}: {self.reason}"
        form = "{:.3g}" if self.quantity == "epsilon" else "{:,.0f}"
        value, lower, upper = (form.format(number) for number in (self.value, self.lower, self.upper))
        least = f"epsilon {value}" if self.quantity == "epsilon" else f"{value} rows"
        if self.reason:
            return f"{about}: {self.reason} ({least})"
        return f"{about}: {least} for power {power:g} (simulation error: {lower} to {upper})"


@dataclass(frozen=True)
class PowerPlan:
    """What a regression would show, before anything is spent: one cell for each number of rows and each epsilon."""

    formula: str
    family: str
    holders: int
    interval: float
    repeats: int
    method: str
    effects: Mapping[str, float]
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    cells: tuple[PowerCell, ...]
    power: float | None = None
    needed: tuple[Needed, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(line.term for line in self.cells[0].lines)

    def cell(self, rows: int, epsilon: float) -> PowerCell:
        """The cell of one number of rows and one epsilon."""
        return next(cell for cell in self.cells if (cell.rows, cell.epsilon) == (rows, epsilon))

    def table(self) -> pd.DataFrame:
        """One row for each number of rows, epsilon and term; ``noisewise.results.power_plan.MEASURES`` says what columns mean."""
        import pandas as pd

        rows = [{"rows": cell.rows, "epsilon": cell.epsilon, "term": line.term, "effect": line.effect, "width": line.width,
                 "without privacy": line.width_without_privacy, "times": line.width / line.width_without_privacy,
                 "power": line.power, "± (power)": line.power_error, "wrong": line.wrong,
                 "power without privacy": line.power_without_privacy, "error": line.error, "detectable": line.detectable}
                for cell in self.cells for line in cell.lines]
        return pd.DataFrame(rows).set_index(["rows", "epsilon", "term"]).astype(float)

    def plot(self, path: str | os.PathLike[str] | None = None, terms: list[str] | None = None) -> Figure:
        """Width against epsilon for each term, one curve for each number of rows; beside it the power to find a given effect."""
        from noisewise.results.plots.power_plan import draw_power

        return draw_power(self, path, terms)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)

    def __repr__(self) -> str:
        numbers = f"{len({cell.rows for cell in self.cells})} × {len({cell.epsilon for cell in self.cells})}"
        return f"<PowerPlan: {self.formula}, {numbers} cells of rows and epsilon, {self.repeats} simulations each>"

    def _repr_html_(self) -> str:
        from html import escape

        found = "".join(f"<li>{escape(one.words(self.power or 0.0))}</li>" for one in self.needed)
        assumed = "".join(f"<li>{escape(line)}</li>" for line in (*self.assumptions, *self.notes))
        table = self.table().to_html(float_format=lambda value: f"{value:.3g}", na_rep="")
        return f"{f'<ul>{found}</ul>' if found else ''}{table}<details><summary>Assumptions</summary><ul>{assumed}</ul></details>"
