"""A release of kind ``partition``: sums over random parts of a table of what each part answers to public questions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from noisewise.errors import DeclarationError, NoisewiseError, ReleaseError
from noisewise.release.checks import LARGEST_ENTRY, number_of, plain_bytes
from noisewise.release.json_text import short
from noisewise.release.single import SingleRelease, whole_number
from noisewise.schema.partition import MOST_PARTS, PartPrior, part_design
from noisewise.schema.questions import MOST_NUMBERS, Question, question_from_dict
from noisewise.schema.schema import Schema

MECHANISMS: Final = ("k-norm", "gaussian")


@dataclass(frozen=True)
class Number:
    """One released number: the noisy sum over the parts of a value between ``lower`` and ``upper``, scaled to 0 and 1."""

    name: str
    lower: float
    upper: float
    sum: float

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "sum"):
            value = number_of(getattr(self, name), f"numbers: {name}")
            if abs(value) > LARGEST_ENTRY:
                raise ReleaseError(f"numbers: {name} must be of ordinary size", found=repr(value))
            object.__setattr__(self, name, value)
        if not self.lower < self.upper:
            raise ReleaseError("numbers: the lower limit is below the upper one", found=f"{self.lower!r}, {self.upper!r}")
        if not isinstance(self.name, str) or not self.name:
            raise ReleaseError("numbers have names", found=short(self.name))

    @property
    def width(self) -> float:
        return self.upper - self.lower

    def mean(self, parts: int) -> float:
        """The noisy mean over the parts, in its own units: it may lie outside the limits."""
        return self.lower + self.width * self.sum / parts


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PartitionRelease(SingleRelease):
    """Answers of the random parts of a table, summed and with noise.

    ``formula`` is the regression that was fitted in each part, ``parts`` their number M, ``prior`` that of the coefficients,
    ``questions`` what was asked, ``numbers`` the noisy sums, in the order of the questions. ``noise`` is the noise's scale on a
    sum of values between 0 and 1: for ``gaussian`` its standard deviation; for ``k-norm`` noise is a uniform point of a cube of K
    numbers whose half side has a gamma distribution with shape K + 1 and this scale: for one number that is Laplace noise.
    ``balanced``: whether the parts are of equal size (up to one row), or each row was put into a part independently.
    """

    kind: ClassVar[str] = "partition"
    FIRST_VERSION: ClassVar[str] = "1.4"
    remedy_for_fit: ClassVar[str] = "it answers questions: noisewise.answer(release), or `noisewise answer`"

    formula: str
    prior: PartPrior
    parts: int
    balanced: bool
    questions: tuple[Question, ...]
    numbers: tuple[Number, ...]
    noise: float
    _named: Mapping[str, Number] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "parts", whole_number(self.parts, "parts", least=2, most=MOST_PARTS))
        object.__setattr__(self, "noise", number_of(self.noise, "noise"))
        if not 1 / LARGEST_ENTRY <= self.noise <= LARGEST_ENTRY:
            raise ReleaseError("noise must be positive and of ordinary size", found=repr(self.noise))
        if self.mechanism not in MECHANISMS:
            raise ReleaseError("the mechanism of a partition release is " + " or ".join(MECHANISMS), found=short(self.mechanism),
                               remedy="a newer noisewise may know it")
        if (self.mechanism == "gaussian") != (self.delta > 0):
            raise ReleaseError("delta is positive for gaussian noise, and 0 for k-norm noise",
                               found=f"{self.mechanism}, delta {self.delta!r}")
        object.__setattr__(self, "questions", tuple(self.questions))
        object.__setattr__(self, "numbers", tuple(self.numbers))
        if not isinstance(self.balanced, bool) or (self.balanced and not self.schema.rows_are_public):
            raise ReleaseError("parts are balanced only where the number of rows is public", found=repr(self.balanced))
        _check_count(len(self.questions))
        try:
            part_design(self.schema, self.formula, self.questions)
        except NoisewiseError as error:
            raise ReleaseError(error.rule, found=error.found, remedy=error.remedy) from None
        self._check_numbers()
        object.__setattr__(self, "_named", MappingProxyType({number.name: number for number in self.numbers}))

    def _check_numbers(self) -> None:
        expected = [found for question in self.questions for found in question.numbers()]
        _check_count(len(expected))
        if [name for name, _ in expected] != [number.name for number in self.numbers]:
            raise ReleaseError("there is one number for each that the questions ask for, in their order",
                               found=short([number.name for number in self.numbers]))
        for number, (name, limits) in zip(self.numbers, expected, strict=True):
            if limits is not None and not all(map(_alike, limits, (number.lower, number.upper))):
                raise ReleaseError(f"'{name}' has the limits of its question", found=f"{number.lower}, {number.upper}")

    @property
    def part_rows(self) -> float | None:
        """The number of rows of a part, on average; None where it is not public."""
        return None if self.rows is None else self.rows / self.parts

    def of(self, question: Question) -> tuple[Number, ...]:
        """The released numbers of one question."""
        before = 0
        for one in self.questions:
            count = len(one.numbers())
            if one == question:
                return self.numbers[before:before + count]
            before += count
        raise DeclarationError("this question was not asked", found=repr(question.to_dict()),
                               remedy="see release.questions")

    def fingerprints(self) -> tuple[bytes, ...]:
        return (hashlib.sha256(plain_bytes(np.array([number.sum for number in self.numbers]))).digest(),)

    def contents(self) -> dict[str, Any]:
        return {
            "formula": self.formula,
            "prior": self.prior.to_dict(),
            "parts": self.parts,
            "balanced": self.balanced,
            "questions": [question.to_dict() for question in self.questions],
            "noise": self.noise,
            "numbers": [{"name": number.name, "lower": number.lower, "upper": number.upper, "sum": number.sum}
                        for number in self.numbers],
        }

    def asked(self) -> dict[str, Any]:
        found = self.contents()
        return {name: found[name] for name in ("formula", "prior", "parts", "questions")}

    @classmethod
    def own_arguments(cls, given: Any, schema: Schema) -> dict[str, Any]:
        from noisewise.release.unknown_fields import known_part

        _check_count(len(given.questions))
        return {
            "formula": given.formula,
            "prior": PartPrior.from_dict(known_part(given.prior)),
            "parts": given.parts,
            "balanced": given.balanced,
            "questions": tuple(_question_of_file(known_part(question)) for question in given.questions),
            "numbers": tuple(Number(one.name, one.lower, one.upper, one.sum) for one in given.numbers),
            "noise": given.noise,
        }

    def title(self) -> str:
        return f"{self.formula}, {len(self.questions)} question{'s' * (len(self.questions) > 1)} in {self.parts} parts"

    def summary_lines(self) -> list[tuple[str, str]]:
        rows = "" if self.rows is None else f" of about {self.rows / self.parts:,.0f} rows"
        split = "equal" if self.balanced else "independently filled"
        return [
            ("split", f"{self.parts} random parts{rows}, {split}; prior in each part: {self.prior.describe()}"),
            ("numbers", "; ".join(f"{number.name}, clipped to [{number.lower:.4g}, {number.upper:.4g}]"
                                  for number in self.numbers)),
            ("noise", f"{self.mechanism}, scale {self.noise:.4g} on a sum of {self.parts} values between 0 and 1"),
        ]


def _question_of_file(given: dict[str, Any]) -> Question:
    """As the format has it: the short forms that a caller may use, such as one number for a list of one, are not for files."""
    question = question_from_dict(given)
    form = question.to_dict()
    for name, value in given.items():
        if form.get(name) != value:
            raise ReleaseError(f"questions: {name} of a {question.ask} question is not in the form of a file",
                               found=short(value), remedy=f"its form is {short(form.get(name))}")
    return question


def _check_count(numbers: int) -> None:
    """Of numbers, or of questions, each of which has at least one: before anything is made of them."""
    if not 1 <= numbers <= MOST_NUMBERS:
        raise ReleaseError(f"a partition release has 1 to {MOST_NUMBERS} numbers", found=str(numbers))


def _alike(one: float, other: float) -> bool:
    """But for the last digits of a logarithm, which are another machine's."""
    return math.isclose(one, other, rel_tol=1e-12)
