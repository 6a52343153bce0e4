"""The contents of a `Partition` release: noisy sums, over random parts of a table, of each part's answers to public questions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Self, Unpack

import numpy as np

from noisewise.errors import DeclarationError
from noisewise.kinds import Partition
from noisewise.releases.checks import LARGEST_ENTRY, number_of, ordinary, plain_bytes, require, settle, text_of
from noisewise.releases.contribution import Contribution, StoredHead
from noisewise.releases.fields import RecordFields, items, known_part, shape, shape_of
from noisewise.releases.json_text import short
from noisewise.releases.promises import check_gaussian, check_pure
from noisewise.schema.basis import BasisColumn
from noisewise.schema.questions import MOST_NUMBERS, PosteriorQuantile, Question
from noisewise.schema.schema import Schema

MECHANISMS: Final = ("k-norm", "gaussian")


@dataclass(frozen=True)
class Number:
    """One released number: the noisy sum over the parts of a value between ``lower`` and ``upper``, scaled to [0, 1]."""

    name: str
    lower: float
    upper: float
    sum: float

    def __post_init__(self) -> None:
        settle(self, number_of, "lower", "upper", "sum", where="numbers: {}", most=LARGEST_ENTRY)
        require(self.lower < self.upper, "numbers: the lower limit must be below the upper one",
                f"{self.lower!r}, {self.upper!r}")
        settle(self, text_of, "name", where="numbers: {}")

    @property
    def width(self) -> float:
        """The distance between the limits."""
        return self.upper - self.lower

    def mean(self, parts: int) -> float:
        """The noisy mean over the parts, in its own units. It may lie outside the limits."""
        return self.lower + self.width * self.sum / parts


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PartitionContribution(Contribution):
    """Answers of the random parts of a table, added up with noise.

    ``numbers`` are the noisy sums, in the order of the kind's questions. ``noise`` is the scale of the noise on a sum of values
    between 0 and 1. For ``gaussian`` it is the standard deviation. For ``k-norm`` the noise is a uniform point of a cube of K
    numbers whose half side has a gamma distribution with shape K + 1 and this scale; for one number that is Laplace noise.
    ``noise_epsilon`` is the share of epsilon spent on the numbers; the rest was spent on selecting limits. If ``balanced``, the
    parts have equal size (up to one row); otherwise each row was put into a part independently. ``sensitivity`` is in the norm of
    the noise: 1, or the root of K if it is Gaussian.
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("PartitionFields", balanced=bool, noise=float, noise_epsilon=float,
                                           numbers=items(shape_of(Number)))

    balanced: bool
    numbers: tuple[Number, ...]
    noise: float
    noise_epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, ordinary, "noise", "noise_epsilon")
        object.__setattr__(self, "numbers", tuple(self.numbers))
        require(self.mechanism in MECHANISMS, "the mechanism of a partition release must be " + " or ".join(MECHANISMS),
                short(self.mechanism), "a newer noisewise may know it")
        require((self.mechanism == "gaussian") == (self.delta > 0),
                "delta must be > 0 for gaussian noise and 0 for k-norm noise", f"{self.mechanism}, delta {self.delta!r}")
        require(self.balanced is False or (self.balanced is True and self.rows is not None),
                "balanced parts require a public number of rows", self.balanced)
        require(self.noise_epsilon <= self.epsilon, "noise_epsilon must be at most epsilon",
                f"{self.noise_epsilon!r} of {self.epsilon!r}")
        check_count(len(self.numbers))

    def check_promise(self) -> None:
        """Refuse too little noise for ``noise_epsilon``, the share of epsilon that was spent on the numbers."""
        if self.mechanism == "gaussian":
            check_gaussian(math.sqrt(len(self.numbers)) / self.noise, self.noise_epsilon, self.delta)
        else:
            check_pure(1 / self.noise, self.noise_epsilon)

    def check(self, kind: Partition, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse numbers, limits or a share of epsilon that differ from what the questions determine."""
        kind.design(schema)
        self.check_sensitivity(math.sqrt(len(self.numbers)) if self.mechanism == "gaussian" else 1.0)
        expected = [found for question in kind.ask for found in question.numbers()]
        check_count(len(expected))
        names = [number.name for number in self.numbers]
        require(names == [name for name, _ in expected],
                "the numbers must be those that the questions ask for, in their order", names)
        for number, (name, limits) in zip(self.numbers, expected, strict=True):
            require(limits is None or all(map(_alike, limits, (number.lower, number.upper))),
                    f"'{name}' must have the limits of its question", f"{number.lower}, {number.upper}")
        shares = sum(one.centre_share + one.width_share for one in kind.ask
                     if isinstance(one, PosteriorQuantile) and one.bounds is None)
        require(math.isclose(self.noise_epsilon, self.epsilon * (1 - shares), rel_tol=1e-9),
                "noise_epsilon must be epsilon minus what the selection of limits used",
                f"{self.noise_epsilon!r} of {self.epsilon!r}")

    def of(self, kind: Partition, question: Question) -> tuple[Number, ...]:
        """The released numbers of one question."""
        before = 0
        for one in kind.ask:
            count = len(one.numbers())
            if one == question:
                return self.numbers[before:before + count]
            before += count
        raise DeclarationError("this question was not asked", found=repr(question.to_dict()), remedy="see release.kind.ask")

    @cached_property
    def named(self) -> dict[str, Number]:
        """The released numbers by name."""
        return {number.name: number for number in self.numbers}

    def fingerprint(self) -> bytes:
        """The SHA-256 digest of the noisy sums, without their names and limits."""
        return hashlib.sha256(plain_bytes(np.array([number.sum for number in self.numbers]))).digest()

    def count(self) -> int:
        """The number of noisy sums; selected limits do not count."""
        return len(self.numbers)

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: Partition, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution from the validated fields alone; `check` compares it with the questions."""
        given = known_part(contents)
        return cls(**{**given, "numbers": tuple(Number(**one) for one in given["numbers"])}, **head)

    def lines(self, kind: Partition, schema: Schema) -> list[tuple[str, str]]:
        """Describe the split and the prior of each part, the numbers with their limits, and the scale of the noise."""
        rows = "" if self.rows is None else f" of about {self.rows / kind.parts:,.0f} rows"
        split = "equal" if self.balanced else "independently filled"
        return [
            ("split", f"{kind.parts} random parts{rows}, {split}; prior in each part: {kind.part_prior.describe()}"),
            ("numbers", "; ".join(f"{number.name}, clipped to [{number.lower:.4g}, {number.upper:.4g}]"
                                  for number in self.numbers)),
            ("noise", f"{self.mechanism}, scale {self.noise:.4g} on a sum of {kind.parts} values between 0 and 1"),
        ]

    def own_facts(self) -> dict[str, object]:
        """All of `contents`: the noisy sums with their names and limits, the noise, and the split."""
        return self.contents()


def check_count(numbers: int) -> None:
    """Limit the numbers, or the questions, each of which asks for at least one, before they are processed."""
    require(1 <= numbers <= MOST_NUMBERS, f"a partition release must have 1 to {MOST_NUMBERS} numbers", numbers)


def _alike(one: float, other: float) -> bool:
    """True if equal up to the last digits of a logarithm, which can differ between machines."""
    return math.isclose(one, other, rel_tol=1e-12)


CONTRIBUTION = PartitionContribution
