"""`Partition`: questions about one regression, answered by random parts of a table. Needs no bounds of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from noisewise.checks import is_whole
from noisewise.kinds.kind import Kind, check_mechanism, checked_text, require
from noisewise.schema.design import Design
from noisewise.schema.partition import MOST_PARTS, PartPrior, expand_terms, part_design
from noisewise.schema.questions import MOST_NUMBERS, BayesFactor, Criterion, Question, questions_from
from noisewise.schema.schema import Schema
from noisewise.words import either, function


@dataclass(frozen=True)
class Partition(Kind):
    """The answers of ``parts`` random parts of the table to questions about the regression of ``formula``, averaged with noise.

    ``ask`` is a list of questions: `PosteriorProbability`, `PosteriorQuantile`, `BayesFactor`, `Criterion`, or dictionaries
    such as ``{"ask": "posterior-probability", "of": "age", "at": [0]}``. ``prior`` is the prior of the coefficients in each part,
    flat by default. ``mechanism`` is ``"gaussian"`` (the default with a delta) or ``"k-norm"``. `noisewise plan partition`
    suggests a number of parts.

    >>> Partition("y ~ x", parts=10, ask={"ask": "posterior-probability", "of": "x", "at": [0]}).ask[0].at
    (0.0,)
    """

    name: ClassVar[str] = "partition"
    needs_bounds: ClassVar[bool] = False
    purpose: ClassVar[str] = "answers to questions about one regression, without bounds"
    use: ClassVar[str] = "it answers questions: " + function("answer")

    formula: str
    parts: int
    ask: tuple[Question, ...]
    prior: PartPrior | None = None
    mechanism: str | None = None

    def __init__(self, formula: str, parts: int, ask: Sequence[Question | Mapping[str, object]] | Question | Mapping[str, object],
                 prior: PartPrior | Mapping[str, object] | str | None = None, mechanism: str | None = None) -> None:
        put = object.__setattr__
        put(self, "formula", checked_text("partition", "formula", formula, '"response ~ predictor + predictor"'))
        require(is_whole(parts, 2, MOST_PARTS), f"parts must be a whole number from 2 to {MOST_PARTS}", parts,
                "`noisewise plan partition` suggests a number of random parts", "parts")
        put(self, "parts", parts)
        put(self, "ask", questions(ask))
        put(self, "prior", None if prior is None else PartPrior.from_dict(prior))
        check_mechanism(mechanism, '"gaussian"')
        put(self, "mechanism", mechanism)

    @property
    def part_prior(self) -> PartPrior:
        """The prior of the coefficients in each part."""
        return self.prior or PartPrior()

    def design(self, schema: Schema) -> Design:
        """The design of the regression. Refuses questions about other coefficients."""
        return part_design(schema, self.formula, self.ask)

    def expanded(self, schema: Schema) -> Partition:
        """The same kind with its default prior filled in, and with each category expanded to all its coefficients."""
        design = part_design(schema, self.formula, ())
        asked = tuple(replace(one, of=expand_terms(design, one.of)) if isinstance(one, (BayesFactor, Criterion)) else one
                      for one in self.ask)
        return replace(self, ask=asked, prior=self.part_prior)

    def room(self, schema: Schema) -> int:
        """The most bytes that the numbers may take in a file."""
        return super().room(schema) + 1024 * sum(len(question.numbers()) for question in self.ask)

    @property
    def variant(self) -> str:
        """The name, with the number of parts."""
        return f"{self.name}, {self.parts} parts"

    def title(self, schema: Schema) -> str:
        """The formula, and the number of questions and parts."""
        return f"{self.formula}, {len(self.ask)} question{'s' * (len(self.ask) > 1)} in {self.parts} parts"


def questions(given: object) -> tuple[Question, ...]:
    """Check questions, and that each is asked only once."""
    asked = questions_from(given)
    require(bool(asked), "a partition release needs at least one question", given, "for example " + either(
        'ask=[{"ask": "posterior-probability", "of": "age", "at": [0]}]', '--ask "posterior-probability of=age at=0"'), "ask")
    names = [name for one in asked for name, _ in one.numbers()] if len(asked) <= MOST_NUMBERS else []
    require(1 <= len(names) <= MOST_NUMBERS, f"a partition release must have 1 to {MOST_NUMBERS} numbers",
            f"{len(asked)} questions", "ask fewer questions, or about fewer points")
    [(name, times)] = Counter(names).most_common(1)
    require(times == 1, "each question must be asked only once", name, "remove the repetition")
    return asked
