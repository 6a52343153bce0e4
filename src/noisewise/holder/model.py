"""The plan of a `Model` release: everything one regression needs, in several passes over the rows.

The first pass is made before the budget is charged, those of the rounds after it: where a round looks follows from the noisy sums
of the rounds before. Whatever stops it in between, the charge stays, and none of its sums are published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.errors import DataError, DeclarationError, NoisewiseError
from noisewise.holder.plan import Plan, blank_release, head, protected, public_rows
from noisewise.kinds import Model
from noisewise.privacy.mechanisms.model import ModelMechanism
from noisewise.privacy.sensitivity.model import model_sensitivity
from noisewise.releases.contents.model import ModelContribution
from noisewise.run import Run
from noisewise.schema import Basis, Schema
from noisewise.schema.design import Design
from noisewise.scores.families import FAMILIES, Family
from noisewise.scores.likelihood import Problem
from noisewise.scores.looks import Known, Layout, response_bounds
from noisewise.scores.next_round import FINDING, LOOK
from noisewise.scores.rounds import Look, Noise, Point, Round
from noisewise.scores.search import Search

if TYPE_CHECKING:
    from noisewise.data import ModelRows

LARGEST_COUNT: Final = 10**7
LARGEST_NUMBER: Final = 1e60
NARROWEST: Final = 1e-10
KEPT_CHARGE: Final = "the budget stays charged, and nothing was released"
STOPPED: Final = f"stopped between the rounds of a model release: {KEPT_CHARGE}"


@dataclass(frozen=True)
class ModelPlan(Plan[ModelMechanism]):
    """Noisy sums of a first look and of rounds."""

    design: Design
    family: Family

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], ModelContribution]:
        """Make the first pass. The function that is returned makes those of the rounds."""
        from noisewise.data import ModelRows

        rows = ModelRows.open(data, self.design.basis, Layout.of(self.design.basis, self.family))
        found = rows.look(run=run)
        if self.blank.schema.rows_are_public:
            self._check_rows(found.rows)
        sums, fingerprint = found.to_grid(), found.fingerprint

        def draw() -> ModelContribution:
            with _charged():
                return self._draw(rows, sums, found.rows, fingerprint, run)

        return draw

    def _draw(self, rows: ModelRows, sums: np.ndarray, count: int, fingerprint: tuple[int, ...], run: Run) -> ModelContribution:
        one: ModelContribution = self.blank.contents
        kind, basis, draws = self.blank.kind, self.design.basis, self.mechanism.draws()
        assert isinstance(kind, Model)
        look = draws.perturb_look(sums, count, one.look.noise)
        problem = Problem.of(basis, self.design, self.family, look)
        number = 0

        def measure(point: Point, noise: Noise) -> Round:
            nonlocal number
            number += 1
            found = rows.round(problem, point, run=run, doing=f"Round {number}")
            if found.fingerprint != fingerprint:
                raise DataError("the table must be the same in every round", found="other rows than in the first pass",
                                remedy="release a table that nobody is writing to")
            square = found.square if self.family.scaled else None
            return draws.perturb_round(found.point, noise, found.score, found.matrix, square, found.spread)

        search = Search.of(basis, problem, Known.of(basis, self.family, look), 1.0 - LOOK, self.mechanism.noise_for)
        found = search.rounds(measure, most=len(FINDING) if kind.rounds is None else kind.rounds, start=_start_of(kind))
        return replace(one, rows=public_rows(self.blank.schema, count), look=look, rounds=found,
                       sensitivity=self.mechanism.sensitivity.of_rounds(found))

    def _check_rows(self, rows: int) -> None:
        """Refuse fewer rows than coefficients. Only for a public number of rows, because the error reveals it."""
        terms = len(self.design.terms)
        if rows < terms:
            raise DataError("a regression needs at least as many rows as coefficients; nothing was spent",
                            found=f"{rows} rows, {terms} coefficients", remedy="shorten the formula")


@contextmanager
def _charged() -> Iterator[None]:
    """Say of whatever stops the rounds that the budget stays charged."""
    try:
        yield
    except NoisewiseError as error:
        remedy = KEPT_CHARGE if error.remedy is None else error.remedy.removesuffix("; nothing was released") + "; " + KEPT_CHARGE
        raise type(error)(error.rule, argument=error.argument, found=error.found, known=error.known, remedy=remedy) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(STOPPED) from None
    except Exception as error:
        error.add_note(KEPT_CHARGE)
        raise


def plan(kind: Model, schema: Schema, epsilon: float, delta: float | None) -> ModelPlan:
    """Plan the release."""
    basis = kind.settled(schema)
    design, family = Design.of(kind.formula, basis, kind.terms), FAMILIES[kind.family]
    _check_bounds(basis, family)
    if (start := _start_of(kind)) is not None:
        _check_start(start, design, basis, family)
    mechanism = plan_model(basis, design, family, epsilon, delta)
    layout = Layout.of(basis, family)
    rows_noise = 0.0 if schema.rows_are_public else mechanism.look_noise(LOOK)
    look = Look(noise=mechanism.look_noise(LOOK), sums=np.zeros(layout.size), rows=0.0, rows_noise=rows_noise)
    rounds = tuple(_blank_round(design, basis, family, mechanism, share, spread) for share, spread in _shares(kind, family))
    one = ModelContribution(basis=basis, family=kind.family, look=look, rounds=rounds,
                            **head(mechanism, schema, mechanism.sensitivity.of_rounds(rounds)))
    return ModelPlan(mechanism, blank_release(kind, schema, one), design, family)


def plan_model(basis: Basis, design: Design, family: Family, epsilon: float, delta: float | None) -> ModelMechanism:
    """Choose the mechanism from public declarations alone; this spends nothing.

    ``basis`` has the constant first and the response last, as `regression_columns` returns them.
    """
    layout = Layout.of(basis, family)
    added, replaced = (layout.squares(basis.schema, one) for one in (True, False))
    sensitivity = model_sensitivity(look_added=added, look_replaced=replaced, sums=layout.size, terms=len(design.terms),
                                    scaled=family.scaled, **protected(basis.schema))
    return ModelMechanism.calibrate(sensitivity, epsilon, delta)


def _check_bounds(basis: Basis, family: Family) -> None:
    """Refuse a response with which floats cannot compute."""
    low, high = response_bounds(basis)
    shown = f"'{basis.columns[-1].name}' with bounds [{low}, {high}]"
    if family.response == "count" and high > LARGEST_COUNT:
        raise DeclarationError(f"a {family.name} regression can have counts up to {LARGEST_COUNT:,}", found=shown,
                               remedy="declare a smaller upper bound, or count in larger units")
    if not (max(-low, high) <= LARGEST_NUMBER and high - low >= 1 / LARGEST_NUMBER
            and high - low >= NARROWEST * max(-low, high)):
        raise DeclarationError("the bounds of a response must be of ordinary size", found=shown,
                               remedy="declare the column in other units")


def _check_start(start: Point, design: Design, basis: Basis, family: Family) -> None:
    """Refuse a start with which floats cannot compute, or that has other terms."""
    if len(start.coefficients) != len(design.terms):
        raise DeclarationError("the start belongs to another formula", argument="start",
                               found=f"{len(start.coefficients)} coefficients, not {len(design.terms)}",
                               remedy="use the release of the same model")
    scales = family.scales(response_bounds(basis))
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.append(np.abs(start.coordinates).sum(axis=1), np.abs(design.features[:-1] @ start.coefficients).sum())
    usual = np.all(sizes <= LARGEST_NUMBER) and float(np.max(sizes[:-1])) >= 1 / LARGEST_NUMBER
    if not usual or (family.scaled and not scales[0] / 100 <= start.scale <= scales[-1] * 100):
        raise DeclarationError("the numbers of a start must be of ordinary size for the bounds of the schema", argument="start",
                               found="others", remedy="use the release of the same model")


def _shares(kind: Model, family: Family) -> list[tuple[float, bool]]:
    """Rounds like those to come, as far as they differ in kind: their shares, and whether they have Σ s sᵀ."""
    spread = family.response != "two levels"
    if kind.start is not None or kind.rounds == 0:
        return [(1.0 - LOOK, spread)]
    return [(FINDING[0], False), (1.0 - LOOK - FINDING[0], spread)]


def _blank_round(design: Design, basis: Basis, family: Family, mechanism: ModelMechanism, share: float, spread: bool) -> Round:
    terms = len(design.terms)
    point = Point(coefficients=np.zeros(terms), coordinates=np.zeros((terms, basis.size - 1)), scale=1.0, spread=spread)
    nothing = np.zeros((terms, terms))
    return Round(point=point, noise=mechanism.noise_for(share, spread), score=np.zeros(terms), matrix=nothing,
                 square=0.0 if family.scaled else None, spread=nothing if spread else None)


def _start_of(kind: Model) -> Point | None:
    start = kind.start
    return None if start is None else Point(coefficients=np.array(start.coefficients), coordinates=start.matrix(),
                                            scale=start.scale, spread=False)
