"""Audit a release of kind model: the first look and all rounds together, told apart by one score.

The adversary knows all rows but one, and those drive the holder's search. So all rounds look at the worst point that
`model_points` finds. From end to end the holder's search chooses the points: the tables are made so that it looks where a unit
counts, and the score has the weights of the points that a release states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.audits import laws
from noisewise.audits.canaries import (
    Pair,
    Rows,
    any_rows,
    far_apart,
    linear,
    promised_distance,
    tables_around,
    two_tables,
    worst_neighbours,
)
from noisewise.audits.model_points import Added, Rounds, worst_point
from noisewise.audits.report import Released
from noisewise.audits.request import Request
from noisewise.audits.trial import Subject
from noisewise.holder.model import ModelPlan
from noisewise.kinds import Model
from noisewise.releases.contents.model import ModelContribution
from noisewise.run import ALONE
from noisewise.schema.basis import STATISTIC_GRID
from noisewise.schema.columns import Numeric
from noisewise.scores.next_round import FINDING, LOOK
from noisewise.scores.rounds import Look, Point, Round

Steps: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = Array | Steps

ROWS_PER_VARIANCE: Final = 60.0
"""Shared rows per squared noise of the score. With many more the search would widen its limits, and a row count for less."""
FEWEST_ROWS: Final = 400
MOST_ROWS: Final = 20_000
SCATTER: Final = 0.5
"""The share of their ranges in which shared numbers are: beyond it a row stands out, and its residual is clipped."""
PILOTS: Final = 6
TURNS: Final = 2


def subject(request: Request, end_to_end: bool) -> Subject:
    """Build the audit from the rows and the point that change a release most; ``end_to_end`` draws complete releases."""
    attack = _Attack.of(request)
    return _driven(request, attack) if end_to_end else _at_the_worst_point(attack)


def _at_the_worst_point(attack: _Attack) -> Subject:
    """Draws of the mechanism, about the exact sums at the worst point as the data pass computes them."""
    point, pair = worst_point(attack.added, attack.start)
    rounds = attack.rounds_at(point)
    tables = partial(two_tables, attack.added.basis, pair)
    sd = attack.sds(rounds)
    group, exact = far_apart(tables, lambda rows: attack.exact(rows, rounds), lambda change: linear(change, sd)[1],
                             laws.Gaussian().clearest)
    weights, distance = linear(exact[1] - exact[0], sd)
    draws = [attack.perturbed(rows, rounds) for rows in tables(group)]
    return Subject(attack.claim, exact, lambda which: draws[which](), sd == 0, weights, laws.Gaussian(), group,
                   distance / group, attack.promised)


def _driven(request: Request, attack: _Attack) -> Subject:
    """Complete releases of tables whose shared rows drive the search. The only number of each is its score.

    At the points that a release states, its sums have Gaussian noise about the exact sums there, of which the score has one unit.
    How far apart the tables are in the score depends a little on where the search ended, so their distance is an average.
    """
    shared = attack.shared_rows()

    def a_few(tables: Sequence[Rows]) -> list[ModelContribution]:
        """Releases of these tables."""
        return [request.release(tables[turn % len(tables)]).contents for turn in range(PILOTS)]

    nobody = Pair({name: values[:1] for name, values in shared.items()}, None, 0.0)
    two: tuple[Rows, ...] = tables_around(request.schema, nobody, 0, shared)[:1]
    for _ in range(TURNS):  # the rows in which tables differ move the places where their releases look
        pilots = [_stated(one.rounds) for one in a_few(two)]
        pair = worst_neighbours(attack.added.basis, attack.added.change([one for rounds in pilots for one in rounds]))
        one = tables_around(request.schema, pair, 1, shared)
        each = [linear(attack.exact(one[1], rounds) - attack.exact(one[0], rounds), attack.sds(rounds))[1] for rounds in pilots]
        group = max(1, round(laws.Gaussian().clearest / float(np.mean(each))))
        two = tables_around(request.schema, pair, group, shared)

    def scored(made: ModelContribution) -> tuple[float, float]:
        """The score of a release, and how far apart the tables are in it."""
        rounds = _stated(made.rounds)
        first, second = (attack.exact(rows, rounds) for rows in two)
        weights, distance = linear(second - first, attack.sds(rounds))
        return float(weights @ (attack.noisy(made.look, made.rounds) - first)), distance

    distance = float(np.mean([scored(one)[1] for one in a_few(two)]))

    def draw(which: int) -> Array:
        return np.array([scored(request.release(two[which]).contents)[0]])

    return Subject(attack.claim, (np.zeros(1), np.full(1, distance)), draw, np.zeros(1, dtype=bool), np.ones(1),
                   laws.Gaussian(), group, distance / group, attack.promised)


def _stated(rounds: Sequence[Round]) -> Rounds:
    return [(one.point, one.noise) for one in rounds]


@dataclass(frozen=True)
class _Attack:
    """A planned release: the numbers it would have for a table, and their noise.

    The numbers are the sums of the first look, the number of rows if it is not public, and the sums of each round.
    """

    plan: ModelPlan
    kind: Model
    claim: Released
    added: Added

    @classmethod
    def of(cls, request: Request) -> _Attack:
        plan, kind = request.plan(), request.kind
        assert isinstance(kind, Model)
        claim = request.claim(plan.mechanism.name, plan.mechanism.delta)
        return cls(plan, kind, replace(claim, kind=f"{claim.kind}, {kind.family}"), Added.of(plan))

    @property
    def promised(self) -> float:
        mechanism = self.plan.mechanism
        return promised_distance(mechanism.cost(), (mechanism.epsilon, mechanism.delta))

    @property
    def start(self) -> Point | None:
        """The only place that a release looks at, if its kind says so."""
        start = self.kind.start
        return None if start is None else Point(coefficients=np.array(start.coefficients), coordinates=start.matrix(),
                                                scale=start.scale, spread=False)

    def rounds_at(self, point: Point) -> Rounds:
        """As many rounds as the release may have, all at one point, with the shares that the holder's search gives them."""
        mechanism, spread = self.plan.mechanism, self.plan.family.response != "two levels"
        most = 0 if self.kind.start is not None else len(FINDING) if self.kind.rounds is None else self.kind.rounds
        rounds, left = [], 1.0 - LOOK
        for number in range(most):
            share = FINDING[min(number, len(FINDING) - 1)]
            rounds.append((replace(point, spread=False), mechanism.noise_for(share, False)))
            left -= share
        return [*rounds, (replace(point, spread=spread), mechanism.noise_for(left, spread))]

    def exact(self, rows: Rows, rounds: Rounds) -> Array:
        """The numbers without noise, as the data pass computes them."""
        found = _Sums.of(self.plan, self.added, rows, rounds)
        public = self.plan.blank.schema.rows_are_public
        look = found.look if public else np.append(found.look, round(found.rows / STATISTIC_GRID))
        pieces = (_joined(*one[1:]) for one in found.rounds)
        return np.asarray(np.concatenate([look, *pieces]) * STATISTIC_GRID, dtype=np.float64)

    def noisy(self, look: Look, rounds: Sequence[Round]) -> Array:
        """The numbers of a release."""
        first = look.sums if self.plan.blank.schema.rows_are_public else np.append(look.sums, look.rows)
        return np.concatenate([first, *(_joined(one.score, one.matrix, one.square, one.spread) for one in rounds)])

    def sds(self, rounds: Rounds) -> Array:
        """The standard deviations of the noise."""
        look, terms = self.plan.blank.contents.look, self.added.problem.terms

        def matrix(diagonal: float) -> Array:
            return np.asarray(diagonal * np.where(np.eye(terms, dtype=bool), 1.0, np.sqrt(0.5)))

        first = np.full(len(look.sums), look.noise)
        pieces = (_joined(np.full(terms, noise.score), matrix(noise.matrix), noise.square,
                          None if noise.spread is None else matrix(noise.spread)) for _, noise in rounds)
        return np.concatenate([first if look.rows_noise == 0 else np.append(first, look.rows_noise), *pieces])

    def perturbed(self, rows: Rows, rounds: Rounds) -> Callable[[], Array]:
        """Draws of the numbers of a table. Each has an account of its own, as each release has."""
        found, mechanism = _Sums.of(self.plan, self.added, rows, rounds), self.plan.mechanism
        noise = self.plan.blank.contents.look.noise

        def draw() -> Array:
            draws = mechanism.draws()
            look = draws.perturb_look(found.look, found.rows, noise)
            return self.noisy(look, [draws.perturb_round(one[0], sds, *one[1:])
                                     for one, (_, sds) in zip(found.rounds, rounds, strict=True)])

        return draw

    def shared_rows(self) -> Rows:
        """Rows that let the holder's search end where a unit counts: not too many, with numbers nearer to their middle."""
        noise, basis = self.plan.mechanism.noise_for(1.0 - LOOK, False), self.plan.design.basis
        count = int(np.clip(ROWS_PER_VARIANCE * noise.score**2, FEWEST_ROWS, MOST_ROWS))
        rows = dict(any_rows(basis.schema, count, np.random.default_rng(7)))
        for column in basis.schema.columns:
            if isinstance(column, Numeric):
                rows[column.name] = column.centre + SCATTER * (rows[column.name] - column.centre)
        return rows


@dataclass(frozen=True)
class _Sums:
    """The exact sums of a table, in steps of the grid; those of each round behind the point as it was rounded for them."""

    look: Steps
    rows: int
    rounds: tuple[tuple[Point, Steps, Steps, int | None, Steps | None], ...]

    @classmethod
    def of(cls, plan: ModelPlan, added: Added, rows: Rows, rounds: Rounds) -> _Sums:
        from noisewise.data import ModelRows

        table = ModelRows.open(rows, plan.design.basis, added.look)
        look = table.look(run=ALONE)
        found = [table.round(added.problem, point, run=ALONE) for point, _ in rounds]
        return cls(look.to_grid(), look.rows, tuple(
            (one.point, one.score, one.matrix, one.square if plan.family.scaled else None, one.spread) for one in found))


def _joined(score: Numbers, matrix: Numbers, square: float | None, spread: Numbers | None) -> Array:
    """The numbers of a round, of matrices the upper triangle."""
    upper = np.triu_indices(len(score))
    return np.concatenate([score, matrix[upper], [] if square is None else [square], [] if spread is None else spread[upper]])
