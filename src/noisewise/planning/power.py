"""``plan_power``: expected interval widths and the chance to detect an effect, before anything is spent."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.checks import is_number
from noisewise.errors import ConvergenceWarning, DeclarationError
from noisewise.kinds import Gram, Kind
from noisewise.planning.assumptions import Declared, whole_number
from noisewise.planning.comparison import REPEATS, Other, in_words
from noisewise.planning.population import CLIPPED_SHARE, INTERCEPT, Population
from noisewise.planning.question import Given, Question
from noisewise.planning.simulation import HIDDEN_SHARE, METHODS, Fits, Found, Simulated
from noisewise.planning.smallest import Needed, needed_for
from noisewise.posterior.asked import GAUSSIAN
from noisewise.posterior.prior import Prior
from noisewise.releases.checks import LARGEST_COUNT
from noisewise.run import DEFAULT, Run
from noisewise.schema import Basis, Schema
from noisewise.words import leave_out, option

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

USUAL_POWER, FEWEST_REPEATS, MOST_HOLDERS = 0.8, 20, 10_000


@dataclass(frozen=True)
class PowerLine:
    """What to expect for one coefficient. ``power`` and ``wrong`` are None if no effect was given."""

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
    width_other: float | None = None
    """The width with a release of the other kind; None if there is no such release."""


@dataclass(frozen=True)
class PowerCell:
    """One number of rows and one epsilon. ``hidden``: how often the noise was as large as the predictors' smallest moment."""

    rows: int
    epsilon: float
    delta: float
    mechanism: str
    lines: tuple[PowerLine, ...]
    hidden: float

    def line(self, term: str) -> PowerLine:
        """The line of a term."""
        for line in self.lines:
            if line.term == term:
                return line
        raise DeclarationError("unknown term of the plan", argument="term", found=repr(term),
                               known=[line.term for line in self.lines])


@dataclass(frozen=True)
class PowerPlan:
    """What to expect of a regression: one cell for each number of rows and each epsilon."""

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
    kind: str = Gram.name
    other: str | None = None
    """The kind of release that it was compared with, if any."""
    comparison: str | None = None
    """Which of the two kinds is better for this question, in words."""

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms of the formula, in the order of the lines."""
        return tuple(line.term for line in self.cells[0].lines)

    def cell(self, rows: int, epsilon: float) -> PowerCell:
        """The cell for this number of rows and this epsilon."""
        for cell in self.cells:
            if (cell.rows, cell.epsilon) == (rows, epsilon):
                return cell
        raise DeclarationError("the plan has no such cell", found=f"{rows} rows, epsilon {epsilon:g}",
                               remedy="use a number of rows and an epsilon from the plan")

    def table(self) -> pd.DataFrame:
        """One row for each number of rows, epsilon and term.

        ``width`` is the median width of the interval. ``power`` and ``wrong`` are how often it excludes 0 in the right and in
        the wrong direction (± Monte Carlo error). ``error`` is the root mean squared error of the posterior mean. ``detectable``
        is the effect that would be found with the stated power, by normal theory from the width; missing if the width is nearly
        the prior's. If the plan was compared with another kind of release, ``gram`` or ``model`` is the width with that.
        """
        import pandas as pd

        rows = [{"rows": cell.rows, "epsilon": cell.epsilon, "term": line.term, "effect": line.effect, "width": line.width,
                 **({} if self.other is None else {self.other: line.width_other}),
                 "without privacy": line.width_without_privacy, "times": line.width / line.width_without_privacy,
                 "power": line.power, "± (power)": line.power_error, "wrong": line.wrong,
                 "power without privacy": line.power_without_privacy, "error": line.error, "detectable": line.detectable}
                for cell in self.cells for line in cell.lines]
        return pd.DataFrame(rows).set_index(["rows", "epsilon", "term"]).astype(float)

    def plot(self, path: str | os.PathLike[str] | None = None, terms: list[str] | None = None) -> Figure:
        """Plot width against epsilon for each term, one curve per number of rows, next to the power to find a given effect."""
        from noisewise.planning.pictures import draw_power

        return draw_power(self, path, terms)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __repr__(self) -> str:
        numbers = f"{len({cell.rows for cell in self.cells})} × {len({cell.epsilon for cell in self.cells})}"
        return f"<PowerPlan: {self.formula}, {numbers} cells of rows and epsilon, {self.repeats} simulations each>"

    def _repr_html_(self) -> str:
        from html import escape

        words = [*(one.words(self.power or 0.0) for one in self.needed), *([self.comparison] if self.comparison else [])]
        found = "".join(f"<li>{escape(line)}</li>" for line in words)
        assumed = "".join(f"<li>{escape(line)}</li>" for line in (*self.assumptions, *self.notes))
        table = self.table().to_html(float_format=lambda value: f"{value:.3g}", na_rep="")
        return f"{f'<ul>{found}</ul>' if found else ''}{table}<details><summary>Assumptions</summary><ul>{assumed}</ul></details>"


def plan_power(schema: Schema, formula: str | None = None, *, kind: Kind | None = None, rows: int | Sequence[int] | None = None,
               epsilon: float | Sequence[float] | None = None, delta: float | None = None,
               effects: Mapping[str, float] | None = None, sigma: float | None = None, dispersion: float | None = None,
               family: str | None = None, columns: Declared | None = None,
               correlations: Mapping[tuple[str, str], float] | None = None, holders: int = 1, mechanism: str | None = None,
               terms: str | None = None, power: float | None = None, prior: Prior | None = None, interval: float = 0.95,
               repeats: int | None = None, method: str = "auto", seed: int = 0, compare: bool = True,
               run: Run = DEFAULT) -> PowerPlan:
    """Plan a regression on a release: interval widths, power and error to expect. No rows are read.

    The release is of kind `Gram`, with ``terms`` and ``mechanism`` as in `release`, or the ``kind`` says what it is. A `Model`
    has a formula and a family of its own: ``plan_power(schema, kind=nw.Model("sick ~ age", family="logistic"), ...)``.

    Tables are simulated from public quantities: ``rows`` (for each of ``holders``), ``epsilon`` (one or several), ``delta``, the
    schema, and these assumptions:

    - ``columns={"age": {"mean": 60, "sd": 12, "shape": "skewed"}, "ward": {"shares": [0.5, 0.3, 0.2]}}``. Shapes are normal,
      uniform and skewed. By default a number is normal in the middle of its bounds, with a sixth of their distance as standard
      deviation, and levels are equally frequent. The response's mean, or the share of its second level, is declared here too.
    - ``correlations={("age", "bmi"): 0.4}``.
    - ``sigma``: the residual standard deviation; ``dispersion``: that of a negative binomial count.
    - ``effects``: coefficients in the user's units, 0 if not given.

    The plan's ``assumptions`` list them all.

    ``repeats`` is how many releases are simulated for each number of rows and each epsilon: 200, or 50 of kind `Model`.

    ``compare`` also simulates a few releases of the other kind, `Model` or `Gram`. The plan's ``comparison`` says which is better
    for this question.

    ``power=0.8``, with ``epsilon`` or ``rows`` left out, asks the reverse: ``needed`` has the smallest value with which each of
    the ``effects`` is found that often.

    ``prior``, ``family``: as in `fit`. For a gram release, ``method="fast"`` finds the intervals of the
    default method by importance sampling. They can be too narrow where the noise hides the predictors' moments.
    ``method="auto"`` samples those releases of a linear regression as `fit` does, also during a search.
    ``method="conditional"`` samples all releases, which takes minutes, not seconds. For a model release there is one method.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}}})
    >>> plan_power(schema, "stay ~ age", rows=5000, epsilon=[0.5, 1], delta=1e-6, effects={"age": 0.1}, repeats=20)
    <PowerPlan: stay ~ age, 1 × 2 cells of rows and epsilon, 20 simulations each>
    """
    if not isinstance(schema, Schema):
        raise DeclarationError("a plan needs a Schema", found=type(schema).__name__, remedy="use Schema.load(path)")
    question = _question(kind, formula, family, terms, mechanism)
    if method not in METHODS:
        raise DeclarationError("unknown method", argument="method", found=repr(method), known=METHODS)
    sizes = [int(size) for size in _numbers("rows", rows, LARGEST_COUNT, whole=True)]
    budgets = _numbers("epsilon", epsilon, math.inf, whole=False)
    named = dict(effects or {})
    _check_question(sizes, budgets, power, named)
    if not 0 < interval < 1:
        raise DeclarationError("interval must be a probability between 0 and 1", found=repr(interval))
    population = Population.of(question.formula, Basis.of(schema, question.terms), question.terms, question.family, named, sigma,
                               columns or {}, correlations or {}, dispersion)
    repeats = question.repeats if repeats is None else whole_number("repeats", repeats, FEWEST_REPEATS, 100_000)
    given = Given(delta, whole_number("holders", holders, 1, MOST_HOLDERS), prior, interval, repeats,
                  whole_number("seed", seed, 0, 2**31), method)
    simulation = question.simulation(population, given)
    for size in sizes:
        if size * given.holders <= len(population.effects):
            raise DeclarationError("a regression needs more rows than coefficients",
                                   found=f"{size} rows for {len(population.effects)}",
                                   remedy="plan for more rows, or a shorter formula")
    for value in budgets:
        simulation.promise(value)  # refuse impossible releases before any work
    effect_of = {term: value for term, value in named.items() if value}
    with run.bar("Simulating", "fits") as tick, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # about fits that nobody sees
        needed: tuple[Needed, ...] = ()
        pairs = [(size, budget) for size in sizes for budget in budgets]
        if power is not None:
            needed = needed_for(simulation, effect_of, float(power), sizes, budgets, tick)
            pairs = _found_pairs(needed)
        fewer = replace(given, repeats=min(REPEATS, given.repeats), method="fast")
        other = Other.of(question, population, fewer, [value for _, value in pairs]) if compare else None
        more = fewer.repeats if other is not None and other.simulation is not None else 0
        fits = Fits(tick, len(pairs) * (given.repeats + more))
        found = [simulation.found(*pair, fits) for pair in pairs]
        cells = tuple(_cell(simulation, effect_of, power or USUAL_POWER, pair, one)
                      for pair, one in zip(pairs, found, strict=True))
        if more and other is not None:
            cells = tuple(_compared(cell, other.widths(cell.rows, cell.epsilon, fits)) for cell in cells)
    return PowerPlan(formula=question.formula, family=question.family, holders=given.holders, interval=interval,
                     repeats=given.repeats, method=method, effects=dict(population.effects),
                     assumptions=_assumptions(simulation, sigma is not None or dispersion is not None, named, correlations or {}),
                     notes=_notes(simulation, cells, found, needed), cells=cells, power=power, needed=needed,
                     kind=question.kind.name, other=other.kind if more and other is not None else None,
                     comparison=_comparison(question, population, cells, other))


def _question(kind: Kind | None, formula: str | None, family: str | None, terms: str | None, mechanism: str | None) -> Question:
    if kind is None:
        kind = Gram(terms, mechanism)
    else:
        for name, value in (("terms", terms), ("mechanism", mechanism)):
            if value is not None:
                raise DeclarationError(f"the kind of release already says its {name}", argument=name, found=repr(value),
                                       remedy=leave_out(name))
    return Question.of(kind, formula, family)


def _compared(cell: PowerCell, widths: Sequence[float] | None) -> PowerCell:
    if widths is None:
        return cell
    return replace(cell, lines=tuple(replace(line, width_other=width) for line, width in zip(cell.lines, widths, strict=True)))


def _comparison(question: Question, population: Population, cells: Sequence[PowerCell], other: Other | None) -> str | None:
    """Which kind is better, by the terms with effects, or else by all but the intercept."""
    if other is None:
        return None
    if other.simulation is None:
        return f"A {other.kind} release cannot serve this question: {other.reason}."
    ratios = []
    for cell in cells:
        lines = [line for line in cell.lines if line.effect is not None] or \
            [line for line in cell.lines if line.term != INTERCEPT] or list(cell.lines)
        logs = [math.log(line.width_other / line.width) for line in lines if line.width_other is not None]
        ratios.append(math.exp(float(np.mean(logs)) * (1 if other.kind == Gram.name else -1)))
    return in_words(ratios, population, question.family)


def _check_question(sizes: list[int], budgets: list[float], power: float | None, effects: Mapping[str, float]) -> None:
    if power is None:
        if not sizes or not budgets:
            raise DeclarationError("a plan needs a number of rows and an epsilon",
                                   found="one of them" if sizes or budgets else "neither", remedy="for example " + option(
                                       "rows", 10000) + " and " + option("epsilon", 1) + ", or one with " + option("power", 0.8))
        return
    if not is_number(power) or not 0.05 < power < 1:
        raise DeclarationError("power must be a probability above 0.05 and below 1", found=repr(power), remedy="for example 0.8")
    if bool(sizes) == bool(budgets):
        raise DeclarationError("with power, give either rows or epsilon, and the other is found",
                               found="both" if sizes else "neither", remedy="leave one of them out" if sizes else
                               "for example " + option("rows", 10000))
    if not any(effects.values()):
        raise DeclarationError("power needs an effect to find", argument="effects", found="no effects",
                               remedy="for example " + option("effects", {"age": 0.1}))


def _numbers(name: str, given: object, most: float, *, whole: bool) -> list[float]:
    """One number or several, in ascending order without duplicates."""
    many: list[object] = [] if given is None else list(given) if isinstance(given, (list, tuple, np.ndarray, range)) else [given]
    numbers: set[float] = set()
    for value in many:
        if not is_number(value) or (whole and not isinstance(value, int | np.integer)) or not 0 < value < most:
            raise DeclarationError(f"{name} must be one or more positive {'whole ' if whole else ''}numbers", found=repr(value),
                                   remedy="for example " + option(name, 1000 if whole else 1))
        numbers.add(int(value) if whole else float(value))
    return sorted(numbers)


def _found_pairs(needed: Sequence[Needed]) -> list[tuple[int, float]]:
    """The cells to show: at each value found, or at the end of the search if there is none."""
    pairs = set()
    for one in needed:
        value = one.value if one.value is not None else one.upper
        assert value is not None
        pairs.add((round(one.given), value) if one.quantity == "epsilon" else (round(value), one.given))
    return sorted(pairs)


def _cell(simulation: Simulated, effects: Mapping[str, float], power: float, pair: tuple[int, float], found: Found) -> PowerCell:
    from scipy.stats import norm, t

    (rows, epsilon), ends = pair, found.ends
    promise = simulation.promise(epsilon)
    population = simulation.population
    reach = float(norm.ppf((1 + simulation.interval) / 2))
    standard_errors = population.standard_errors(rows * simulation.holders)
    freedom = rows * simulation.holders - len(population.effects)
    without_reach = float(t.ppf((1 + simulation.interval) / 2, freedom)) if simulation.family == GAUSSIAN else reach
    priors = simulation.prior_widths()
    lines = []
    for index, (term, truth) in enumerate(population.effects.items()):
        lower, mean, upper = ends.lower[:, index], ends.mean[:, index], ends.upper[:, index]
        width, effect = float(np.median(upper - lower)), effects.get(term)
        right = wrong = error = without = None
        if effect is not None:
            right, wrong = (float(np.mean(side)) for side in ((lower > 0, upper < 0) if effect > 0 else (upper < 0, lower > 0)))
            # The error of a share of 0 or 1 is not 0, so count one more of either kind.
            share = (right * len(lower) + 1) / (len(lower) + 2)
            error = math.sqrt(share * (1 - share) / len(lower))
            without = float(norm.cdf(abs(effect) / standard_errors[index] - without_reach))
        prior = priors.get(term)
        # If the interval is nearly the prior's, its width says nothing about detectable effects.
        informed = prior is None or width < prior / 2
        lines.append(PowerLine(
            term=term, effect=effect, width=width, width_without_privacy=2 * without_reach * float(standard_errors[index]),
            width_prior=prior, power=right, power_error=error, wrong=wrong, power_without_privacy=without,
            error=float(np.sqrt(np.mean((mean - truth) ** 2))),
            detectable=width / (2 * reach) * (reach + float(norm.ppf(power))) if informed else math.nan))
    return PowerCell(rows, epsilon, promise.delta, promise.mechanism, tuple(lines), found.hidden)


def _assumptions(simulation: Simulated, scale_declared: bool, named: Mapping[str, float],
                 correlations: Mapping[tuple[str, str], float]) -> tuple[str, ...]:
    population = simulation.population
    lines = list(population.words(scale_declared=scale_declared, level_declared=INTERCEPT in named))
    lines += [f"correlation of {first} and {second}: {value:g}" for (first, second), value in correlations.items()]
    lines += ["coefficients: " + ", ".join(f"{term} {value:.4g}{'' if term in named else ' (assumed)'}"
                                           for term, value in population.effects.items())]
    if any("(assumed)" in line for line in lines):
        lines.append("(assumed) marks defaults that were not declared: numbers are normal in the middle of their bounds, with a "
                     "sixth of their distance as standard deviation, levels are equally frequent, coefficients are 0, and the "
                     "intercept gives the response its mean")
    return tuple(lines)


def _notes(simulation: Simulated, cells: Sequence[PowerCell], found: Sequence[Found], needed: Sequence[Needed]
           ) -> tuple[str, ...]:
    notes = []
    clipped = simulation.population.clipped_share
    if clipped > CLIPPED_SHARE and simulation.biased_by_clipping:
        notes.append(f"{clipped:.0%} of the responses lie beyond their bounds and are clipped, which biases the coefficients: "
                     "widen the bounds, or check the assumed mean and sigma")
    hidden = [f"{cell.rows:,} rows at epsilon {cell.epsilon:g}" + (f" ({len(one.ends.mean)} simulations)" if one.sampled else "")
              for cell, one in zip(cells, found, strict=True) if cell.hidden > HIDDEN_SHARE]
    if not hidden:
        return tuple(notes)
    large = "the noise can be as large as the predictors' smallest moment and hide it: " + ", ".join(hidden)
    if simulation.method != "fast":
        notes.append(large + "; fits of such releases were sampled and lean on the prior")
    else:
        notes.append(large + "; the fast method can make intervals too narrow there"
                     + (", so more may be needed" if needed else "") + "; the method auto samples such releases")
    return tuple(notes)
