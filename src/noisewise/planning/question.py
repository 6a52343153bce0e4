"""What `plan_power` plans: one regression on a release of one kind, and the same regression on one of the other kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from noisewise.errors import DeclarationError
from noisewise.kinds import Gram, Kind, Model
from noisewise.planning.model import ModelSimulation
from noisewise.planning.population import Population
from noisewise.planning.simulation import Simulated, Simulation
from noisewise.posterior.asked import GAUSSIAN
from noisewise.posterior.glm.families import FAMILIES as GLM_FAMILIES
from noisewise.posterior.prior import Prior
from noisewise.words import leave_out

GRAM_FAMILIES: Final = (GAUSSIAN, *GLM_FAMILIES)


@dataclass(frozen=True)
class Given:
    """What is fixed while rows and epsilon vary, apart from the regression."""

    delta: float | None
    holders: int
    prior: Prior | None
    interval: float
    repeats: int
    seed: int
    method: str


@dataclass(frozen=True)
class Question:
    """A regression, and the release it is to be fitted to."""

    kind: Kind
    formula: str
    family: str

    @classmethod
    def of(cls, kind: Kind, formula: str | None, family: str | None) -> Question:
        """The question; a kind for one regression has its formula and its family."""
        if type(kind) not in SERVED:
            raise DeclarationError("a power plan is for another kind of release", argument="kind",
                                   found=getattr(kind, "name", type(kind).__name__), known=[known.name for known in SERVED])
        return SERVED[type(kind)].read(kind, formula, family)

    @property
    def terms(self) -> str | None:
        """The products that the release adds."""
        terms: str | None = getattr(self.kind, "terms", None)
        return terms

    @property
    def repeats(self) -> int:
        """How many releases of a cell are simulated by default: fits to a model release take longer."""
        return SERVED[type(self.kind)].repeats

    def simulation(self, population: Population, given: Given) -> Simulated:
        """Simulated releases."""
        return SERVED[type(self.kind)].simulate(self, population, given)

    def other(self) -> Question:
        """The same regression on a release of the other kind; refused if that has no such regression."""
        return SERVED[type(self.kind)].instead(self)


def _of_gram(kind: Kind, formula: str | None, family: str | None) -> Question:
    assert isinstance(kind, Gram)
    if kind.average not in (None, 1):
        raise DeclarationError("a plan cannot simulate averaged rows", argument="kind", found=f"average {kind.average}",
                               remedy=leave_out("average"))
    if formula is None:
        raise DeclarationError("a plan needs a formula", argument="formula", found="none", remedy='for example "stay ~ age"')
    chosen = GAUSSIAN if family is None else family
    if chosen not in GRAM_FAMILIES:
        raise DeclarationError("a regression on a gram release must be of another family", argument="family", found=repr(chosen),
                               known=GRAM_FAMILIES)
    return Question(kind, formula, chosen)


def _of_model(kind: Kind, formula: str | None, family: str | None) -> Question:
    assert isinstance(kind, Model)
    for name, given, own in (("formula", formula, kind.formula), ("family", family, kind.family)):
        if given is not None and given.strip() != own:
            raise DeclarationError(f"a model release has its own {name}", argument=name, found=repr(given),
                                   remedy=leave_out(name))
    return Question(kind, kind.formula, kind.family)


def _gram_simulation(question: Question, population: Population, given: Given) -> Simulated:
    assert isinstance(question.kind, Gram)
    return Simulation(population, question.family, given.delta, question.kind.mechanism, given.holders, given.prior,
                      given.interval, given.repeats, given.seed, given.method)


def _model_simulation(question: Question, population: Population, given: Given) -> Simulated:
    assert isinstance(question.kind, Model)
    if given.method not in ModelSimulation.METHODS:
        raise DeclarationError("releases of kind model are planned by one method", argument="method", found=repr(given.method),
                               known=ModelSimulation.METHODS)
    question.kind.settled(population.design.basis.schema)
    return ModelSimulation(population, question.kind, given.delta, given.holders, given.prior, given.interval, given.repeats,
                           given.seed)


def _model_instead(question: Question) -> Question:
    return _of_model(Model(question.formula, question.terms, question.family), None, None)


def _gram_instead(question: Question) -> Question:
    return _of_gram(Gram(question.terms), question.formula, question.family)


@dataclass(frozen=True)
class Served:
    """How a kind that serves a regression is planned: how a question is read, simulated, and put to the other kind.

    ``repeats`` is how many releases of a cell are simulated by default.
    """

    repeats: int
    read: Callable[[Kind, str | None, str | None], Question]
    simulate: Callable[[Question, Population, Given], Simulated]
    instead: Callable[[Question], Question]


SERVED: Final[Mapping[type[Kind], Served]] = {
    Gram: Served(200, _of_gram, _gram_simulation, _model_instead),
    Model: Served(50, _of_model, _model_simulation, _gram_instead),
}
