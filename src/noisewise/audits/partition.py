"""Audit a release of kind partition: parts that are certain of one answer, and rows that make their part certain of another.

All parts have the same rows. A search over single rows finds the one that changes the numbers of its part most. The two tables
differ in several such rows, each in its own part, as under the coupling of P1 (partition.md). From end to end the parts are
random, and two such rows may fall into one part. The tables are then a little nearer to each other than assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Values
from noisewise.audits import laws
from noisewise.audits.canaries import linear, promised_distance
from noisewise.audits.request import Request
from noisewise.audits.trial import Subject
from noisewise.data.parts.answers import PartAnswers
from noisewise.errors import DeclarationError
from noisewise.holder.partition import PartitionPlan
from noisewise.privacy.mechanisms.partition import PartitionMechanism
from noisewise.run import QUIET
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.schema.columns import Categorical, Numeric
from noisewise.schema.design import Design
from noisewise.schema.partition import part_design
from noisewise.schema.schema import Schema

Grid: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = dict[str, Values]

CANARIES: Final = 200
"""Rows that the search tries, half with each of two slopes of the other rows."""
MORE_ROWS: Final = 20
"""The rows of a part in excess of its coefficients."""
FAR: Final = 1e6
SCATTER: Final = 1e-3


def subject(request: Request, end_to_end: bool) -> Subject:
    """The audit of a request, ready to be drawn."""
    plan: PartitionPlan = request.plan()
    mechanism = plan.mechanism
    if mechanism.selections:
        raise DeclarationError("only the noise of a partition release is audited here: selected limits are audited as bounds",
                               found="a posterior-quantile without bounds", remedy="declare bounds, or audit the kind bounds")
    world = _worst_world(plan)
    gaussian = mechanism.name == "gaussian"
    promised = promised_distance(mechanism.cost(), (mechanism.epsilon, mechanism.delta))
    if not gaussian and mechanism.sensitivity.numbers > 1:
        promised = mechanism.epsilon
    law = laws.Gaussian() if gaussian else laws.Laplace()
    group = min(max(1, round(law.clearest / promised)), plan.asked.parts)
    tables = [world.table(0), world.table(group)]
    sums = [world.values(*table).sum(axis=1) for table in tables]
    change = (sums[1] - sums[0]) * STATISTIC_GRID

    def numbers(noisy: Array) -> Array:
        return noisy if gaussian else _with_midrange(noisy, sums[0] * STATISTIC_GRID, change)

    def draw(which: int) -> Array:
        if end_to_end:
            return numbers(np.array([number.sum for number in request.release(tables[which][0]).contents.numbers]))
        return numbers(mechanism.perturb(sums[which]))

    exact = numbers(sums[0] * STATISTIC_GRID), numbers(sums[1] * STATISTIC_GRID)
    if gaussian:
        weights, distance = linear(change, np.full(len(change), mechanism.scale))
    else:
        weights = np.append(np.zeros(len(change)), 1 / mechanism.scale)
        distance = float(np.abs(change).max()) / mechanism.scale
    equal = gaussian or bool(np.ptp(np.abs(change)) <= 2 * group * STATISTIC_GRID)
    return Subject(request.claim(mechanism.name, mechanism.delta), exact, draw, np.zeros(len(exact[0]), dtype=bool), weights,
                   law if equal else None, group, distance / group, promised,
                   None if equal else partial(_evidence, sums[0] * STATISTIC_GRID, sums[1] * STATISTIC_GRID, mechanism.scale))


def _with_midrange(noisy: Array, first: Array, change: Array) -> Array:
    """K-norm noise, and the midpoint of its largest and its smallest number.

    Given the half side R of the cube, the midpoint of K uniform numbers has the density K/2R (1 − |m|/R)^(K−1). R has the density
    R^K e^(−R)/K!, in units of the scale. So the midpoint has Laplace noise, whatever K is. No other number says more about a
    change that is the same in all numbers.
    """
    along = (noisy - first) * np.where(change < 0, -1.0, 1.0)
    return np.append(noisy, (along.max() + along.min()) / 2.0)


def _evidence(first: Array, second: Array, scale: float, numbers: Array) -> Array:
    """The log likelihood ratio of k-norm noise, for numbers that change by different amounts."""
    noisy = numbers[:, :-1]
    return np.asarray(np.round((np.abs(noisy - first).max(axis=1) - np.abs(noisy - second).max(axis=1)) / scale, 9))


@dataclass(frozen=True)
class _World:
    """Parts with the same rows, and a canary that replaces a row in some of them."""

    plan: PartitionPlan
    design: Design
    rows: Rows
    canary: Rows

    def table(self, group: int) -> tuple[Rows, Grid]:
        """All parts; in the first ``group`` the last unit has the canary's values, or (add-remove) is present."""
        schema, parts, count = self.plan.blank.schema, self.plan.asked.parts, len(next(iter(self.rows.values())))
        each = schema.unit.max_rows
        owned = np.arange(count) >= count - each  # the rows of the unit that changes
        changes = np.arange(parts) < group
        belongs = np.repeat(np.arange(parts), count)
        last = np.tile(owned, parts)
        changed = last & np.repeat(changes, count)
        table = {name: np.where(changed, self.canary[name][0], np.tile(values, parts)) for name, values in self.rows.items()}
        if schema.unit.column is not None:
            own = np.where(owned, count - each, np.arange(count))
            table[schema.unit.column] = (np.arange(parts)[:, None] * count + own).ravel()
        if schema.adjacency == "add-remove":
            there = ~last | changed
            table, belongs = {name: values[there] for name, values in table.items()}, belongs[there]
        return table, belongs

    def values(self, rows: Rows, belongs: Grid) -> Grid:
        """The numbers of the parts, shaped (numbers, parts)."""
        from noisewise.data.splitting.parts import GivenSplit
        from noisewise.data.statistics.partition import part_moments

        found = part_moments(rows, self.plan.blank.schema, self.design, self.plan.asked.parts, split=GivenSplit(belongs),
                             run=QUIET)
        with np.errstate(all="ignore"):
            answers = PartAnswers(found.counts, found.products, found.shift, self.design, self.plan.asked.part_prior)
            return self.plan.part_values(answers, self.plan.limits_of(answers))

    def change(self) -> float:
        """How far one canary moves the numbers, in the norm of the mechanism."""
        one, other = (self.values(*self.table(group))[:, 0].astype(float) for group in (0, 1))
        size = np.abs(other - one)
        return float(np.linalg.norm(size)) if self.plan.mechanism.name == "gaussian" else float(size.max() + 1e-3 * size.min())


def _worst_world(plan: PartitionPlan) -> _World:
    """Search for the canary with the largest change. The seed is for the search; there is no privacy noise here."""
    schema, mechanism = plan.blank.schema, plan.mechanism
    design = part_design(schema, plan.asked.formula, ())
    small = replace(plan, blank=replace(plan.blank, kind=replace(plan.asked, parts=2)))
    found: list[tuple[float, _World]] = []
    for slope in (1.0, -1.0):
        random = np.random.default_rng(8)
        rows = _rows(schema, design, len(design.terms) + MORE_ROWS + schema.unit.max_rows, random, slope)
        for _ in range(CANARIES // 2):
            world = _World(small, design, rows, _canary(schema, design, random, slope))
            found.append((world.change(), world))
            if _largest_possible(found[-1][0], mechanism):
                return replace(world, plan=plan)
    return replace(max(found, key=lambda one: one[0])[1], plan=plan)


def _largest_possible(change: float, mechanism: PartitionMechanism) -> bool:
    largest = math.sqrt(mechanism.sensitivity.numbers) if mechanism.name == "gaussian" else 1.001
    return change * STATISTIC_GRID > largest * (1 - 1e-4)


def _rows(schema: Schema, design: Design, count: int, random: np.random.Generator, slope: float) -> Rows:
    """Rows with little scatter about a plane, so every part is certain of its slopes."""
    rows, total = _predictors(schema, design, count, random, 1.0)
    return {**rows, **_response(schema, design, slope * total + SCATTER * random.normal(size=count))}


def _canary(schema: Schema, design: Design, random: np.random.Generator, slope: float) -> Rows:
    """A row on a plane of the opposite slope, far out if possible."""
    rows, total = _predictors(schema, design, 1, random, FAR * 10.0 ** random.integers(-6, 3))
    return {**rows, **_response(schema, design, -slope * total * random.choice([1.0, 1.0, 100.0]))}


def _predictors(schema: Schema, design: Design, count: int, random: np.random.Generator, reach: float) -> tuple[Rows, Array]:
    """Values of the columns in the formula, and the sum of their scaled values."""
    rows: Rows = {}
    total = np.zeros(count)
    for column in schema.columns:
        if column.name == design.response:
            continue
        if isinstance(column, Categorical):
            codes = random.integers(len(column.levels), size=count)
            rows[column.name] = np.array([str(level) for level in column.levels])[codes]
            total = total + codes
        elif isinstance(column, Numeric):
            scaled = random.uniform(-1, 1, count) if count > 1 else random.choice([-1.0, 1.0], count)
            rows[column.name] = column.centre + column.half_width * scaled
            total = total + scaled
        else:
            rows[column.name] = reach * random.normal(size=count)
            total = total + rows[column.name]
    return rows, total


def _response(schema: Schema, design: Design, wanted: Array) -> Rows:
    column = schema.column(design.response)
    if isinstance(column, Categorical):
        return {column.name: np.where(wanted > 0, str(column.levels[1]), str(column.levels[0]))}
    if isinstance(column, Numeric):
        return {column.name: column.centre + column.half_width * np.clip(wanted / 4.0, -1, 1)}
    return {column.name: wanted}
