"""Questions that a release of kind partition answers. They are public, and decided before any row is read.

Each question asks for one or more numbers per part of the table. A number is clipped to public limits, and a part that cannot be
fitted contributes a public value. So one person, who is in one part, changes the sum over the parts by at most the distance
between the limits, whatever is in the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

from noisewise.errors import DeclarationError
from noisewise.schema.columns import is_finite_number
from noisewise.words import leave_out

Contrast: TypeAlias = tuple[tuple[str, float], ...]
"""A combination of coefficients: their names and weights."""
Limits: TypeAlias = tuple[float, float]
Declared: TypeAlias = dict[str, Any]
"""A question as plain data."""

COMBINATIONS: Final = ("stouffer", "rescaled-normal", "fisher")
BAYES_PRIORS: Final = ("zellner", "zellner-siow", "hyper-g")
MOST_POINTS: Final = 100
MOST_NUMBERS: Final = 1000
LARGEST_LIMIT: Final = 1e9


@dataclass(frozen=True)
class PosteriorProbability:
    """The posterior probability that a combination of coefficients is at most b, for each of several b.

    ``combine`` is how to combine the parts: ``stouffer`` averages their normal scores, clipped to ±``limit``;
    ``rescaled-normal`` averages their probabilities; ``fisher`` averages −2 log p, with p clipped to at least ``limit``.
    """

    ask: ClassVar[str] = "posterior-probability"

    of: Contrast
    at: tuple[float, ...]
    combine: str = "stouffer"
    limit: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", contrast(self.of))
        at = self.at if isinstance(self.at, (tuple, list)) else (self.at,)
        if not at or len(at) > MOST_POINTS or not all(is_finite_number(point) for point in at) or len(set(at)) < len(at):
            raise DeclarationError(f"at must be 1 to {MOST_POINTS} different finite numbers", found=repr(self.at),
                                   remedy="for example at=[0]")
        object.__setattr__(self, "at", tuple(float(point) for point in at))
        if self.combine not in COMBINATIONS:
            raise DeclarationError("unknown way to combine probabilities", found=repr(self.combine), known=COMBINATIONS)
        object.__setattr__(self, "limit", _probability_limit(self.combine, self.limit))

    @property
    def limits(self) -> Limits:
        """The limits of the number that each part contributes for one b."""
        if self.combine == "rescaled-normal":
            return 0.0, 1.0
        assert self.limit is not None
        return (-self.limit, self.limit) if self.combine == "stouffer" else (0.0, -2.0 * math.log(self.limit))

    def numbers(self) -> list[tuple[str, Limits | None]]:
        """The name and limits of the number for each b."""
        return [(f"P({written(self.of)} <= {_exactly(point)})", self.limits) for point in self.at]

    def to_dict(self) -> Declared:
        """The question as plain data."""
        return {"ask": self.ask, "of": dict(self.of), "at": list(self.at), "combine": self.combine,
                **({} if self.limit is None else {"limit": self.limit})}


@dataclass(frozen=True)
class PosteriorQuantile:
    """The median and intervals of a combination of coefficients, from the location and scale of its posterior.

    With ``bounds``, the medians of the parts are clipped to these. Without, a share ``centre_share`` of epsilon pays for a noisy
    centre of the parts' medians, ``width_share`` for their typical distance from it, and the rest for the numbers themselves.
    """

    ask: ClassVar[str] = "posterior-quantile"

    of: Contrast
    bounds: Limits | None = None
    centre_share: float = 0.4
    width_share: float = 0.25

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", contrast(self.of))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", checked_limits(self.bounds, "bounds"))
        for name in ("centre_share", "width_share"):
            share = getattr(self, name)
            if not is_finite_number(share) or not 0.01 <= share <= 0.6:
                raise DeclarationError(f"{name}, a share of epsilon, must be between 0.01 and 0.6", found=repr(share),
                                       remedy="leave it out")
            object.__setattr__(self, name, float(share))

    def numbers(self) -> list[tuple[str, Limits | None]]:
        """Location and scale, with None in place of limits that are estimated and paid for."""
        name = written(self.of)
        return [(f"location of {name}", self.bounds), (f"scale of {name}", None)]

    def to_dict(self) -> Declared:
        """The question as plain data."""
        found = {"bounds": list(self.bounds)} if self.bounds is not None else {
            "centre_share": self.centre_share, "width_share": self.width_share}
        return {"ask": self.ask, "of": dict(self.of), **found}


@dataclass(frozen=True)
class BayesFactor:
    """The Bayes factor of the hypothesis that some combinations of coefficients are not all zero against that they all are.

    The logarithms of the parts' Bayes factors are clipped to ``limits`` and averaged. ``prior`` is ``zellner`` (g = the number of
    rows in a part), ``zellner-siow`` or ``hyper-g``.
    """

    ask: ClassVar[str] = "bayes-factor"

    of: tuple[Contrast, ...]
    prior: str = "zellner"
    limits: Limits = (-math.log(99.0), math.log(99.0))

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", contrasts(self.of))
        if self.prior not in BAYES_PRIORS:
            raise DeclarationError("unknown prior of the coefficients", found=repr(self.prior), known=BAYES_PRIORS)
        object.__setattr__(self, "limits", checked_limits(self.limits, "limits", around_zero=True))

    def numbers(self) -> list[tuple[str, Limits | None]]:
        """The name and limits of its number."""
        return [(f"log Bayes factor of {_joint(self.of)}", self.limits)]

    def to_dict(self) -> Declared:
        """The question as plain data."""
        return {"ask": self.ask, "of": [dict(one) for one in self.of], "prior": self.prior, "limits": list(self.limits)}


@dataclass(frozen=True)
class Criterion:
    """Twice the log likelihood ratio of the two hypotheses of a `BayesFactor`, less the penalty of an information criterion.

    ``name`` is ``likelihood-ratio``, ``bic`` or ``aic``. The parts' values are clipped to ``limits`` and averaged.
    """

    name: str
    of: tuple[Contrast, ...]
    limits: Limits = None  # type: ignore[assignment]  # None means the default of the criterion, set in `__post_init__`

    def __post_init__(self) -> None:
        if self.name not in CRITERIA:
            raise DeclarationError("unknown criterion", found=repr(self.name), known=CRITERIA)
        object.__setattr__(self, "of", contrasts(self.of))
        limits = checked_limits(CRITERIA[self.name] if self.limits is None else self.limits, "limits",
                                around_zero=self.name != "likelihood-ratio")
        if self.name == "likelihood-ratio" and limits[0] != 0.0:
            raise DeclarationError("the lower limit of a log likelihood ratio must be 0, because the ratio is never below 1",
                                   found=repr(limits), remedy="for example limits=[0, 7]")
        object.__setattr__(self, "limits", limits)

    @property
    def ask(self) -> str:
        """The name of the question, which is that of the criterion."""
        return self.name

    def numbers(self) -> list[tuple[str, Limits | None]]:
        """The name and limits of its number."""
        return [(f"{NAMES_OF_CRITERIA[self.name]} of {_joint(self.of)}", self.limits)]

    def to_dict(self) -> Declared:
        """The question as plain data."""
        return {"ask": self.name, "of": [dict(one) for one in self.of], "limits": list(self.limits)}


CRITERIA: Final[Mapping[str, Limits]] = {"likelihood-ratio": (0.0, 7.0), "bic": (-9.0, 9.0), "aic": (-2.0, 9.0)}
NAMES_OF_CRITERIA: Final[Mapping[str, str]] = {"likelihood-ratio": "2 log likelihood ratio", "bic": "BIC difference",
                                               "aic": "AIC difference"}
Question: TypeAlias = PosteriorProbability | PosteriorQuantile | BayesFactor | Criterion
QUESTIONS: Final = (PosteriorProbability, PosteriorQuantile, BayesFactor, Criterion)
ASKS: Final = ("posterior-probability", "posterior-quantile", "bayes-factor", *CRITERIA)


def question_from_dict(declared: object) -> Question:
    """One question from a file or a command line.

    >>> question_from_dict({"ask": "posterior-probability", "of": "age", "at": [0]}).numbers()
    [('P(age <= 0)', (-1.5, 1.5))]
    """
    if not isinstance(declared, Mapping) or declared.get("ask") not in ASKS:
        raise DeclarationError("a question must state what it asks", argument="ask", found=repr(declared)[:200], known=ASKS)
    given = {key: value for key, value in declared.items() if key != "ask"}
    kinds = {kind.ask: kind for kind in (PosteriorProbability, PosteriorQuantile, BayesFactor)}
    try:
        return kinds.get(declared["ask"], partial(Criterion, declared["ask"]))(**given)
    except TypeError as error:
        raise DeclarationError(f"wrong fields for a {declared['ask']} question", found=", ".join(map(str, given)) or "none",
                               remedy="see the documentation of partition releases") from error


def questions_from(given: object) -> tuple[Question, ...]:
    """One or several questions, or dictionaries that declare them. Empty for anything else."""
    many = [given] if isinstance(given, (*QUESTIONS, Mapping)) else given if isinstance(given, (list, tuple)) else []
    return tuple(one if isinstance(one, QUESTIONS) else question_from_dict(one) for one in many)


def contrast(of: object) -> Contrast:
    """A combination of coefficients, from a name, a string like ``"a - 2*b"``, a mapping, or pairs.

    >>> contrast("age - 2*weight")
    (('age', 1.0), ('weight', -2.0))
    """
    if isinstance(of, str):
        pairs: Sequence[tuple[str, float]] = _parsed(of)
    elif isinstance(of, Mapping):
        pairs = list(of.items())
    else:
        pairs = list(of) if isinstance(of, (tuple, list)) else []
    good = pairs and all(isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str) and pair[0].strip()
                         and is_finite_number(pair[1]) and pair[1] != 0 for pair in pairs)
    if not good or len({pair[0] for pair in pairs}) < len(pairs):
        raise DeclarationError("a question must be about a coefficient, or a combination of several with nonzero weights",
                               found=repr(of)[:200], remedy='for example "age", "age - 2*weight" or {"age": 1, "weight": -2}')
    return tuple((name, float(weight)) for name, weight in pairs)


def contrasts(of: object) -> tuple[Contrast, ...]:
    """The combinations that are all zero under a hypothesis."""
    many = of if isinstance(of, (tuple, list)) and of and not _is_pair(of[0]) else [of]
    found = tuple(contrast(one) for one in many)
    if len(set(found)) < len(found):
        raise DeclarationError("each combination can be named only once", found=repr(of)[:200], remedy="remove the repetition")
    return found


def checked_limits(limits: object, what: str, *, around_zero: bool = False) -> Limits:
    """A pair of limits, checked."""
    good = isinstance(limits, (tuple, list)) and len(limits) == 2 and all(is_finite_number(limit) for limit in limits)
    if not good or not -LARGEST_LIMIT <= limits[0] < limits[1] <= LARGEST_LIMIT:  # type: ignore[index]
        raise DeclarationError(f"{what} must be two numbers from {-LARGEST_LIMIT:g} to {LARGEST_LIMIT:g}, the lower one first",
                               found=repr(limits), remedy="for example [-4.6, 4.6]")
    lower, upper = (float(limit) for limit in limits)  # type: ignore[attr-defined]
    if around_zero and not lower < 0 < upper:
        raise DeclarationError(f"{what}: zero, which favours neither hypothesis, must lie between them", found=repr(limits),
                               remedy="give a negative lower and a positive upper limit")
    return lower, upper


def written(of: Contrast) -> str:
    """A combination as people write it.

    >>> written((("age", 1.0), ("weight", -2.0)))
    'age - 2*weight'
    """
    text = ""
    for name, weight in of:
        sign = " - " if weight < 0 else " + "
        size = "" if abs(weight) == 1 else f"{_exactly(abs(weight))}*"
        text += (sign if text else sign.strip(" +")) + size + name
    return text


def _exactly(number: float) -> str:
    """The shortest text that identifies the number."""
    return repr(number).removesuffix(".0")


def _joint(of: tuple[Contrast, ...]) -> str:
    return ", ".join(map(written, of))


def _is_pair(item: object) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str) and is_finite_number(item[1])


def _parsed(text: str) -> list[tuple[str, float]]:
    """Read a combination. Names may contain signs within brackets; elsewhere a sign followed by a space starts the next name."""
    found = []
    for sign, term in re.findall(r"(^\s*-?|\s[+-]\s)\s*((?:\([^()]*\)|\[[^\][]*\]|[^\s()\][]|\s(?![+-]\s))+)", text):
        weight, star, name = term.partition("*")
        size = float(weight) if star and re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)(e-?[0-9]+)?\s*", weight) else None
        found.append(((term if size is None else name).strip(), (1.0 if size is None else size) * (-1.0 if "-" in sign else 1.0)))
    return found


def _probability_limit(combine: str, limit: object) -> float | None:
    if combine == "rescaled-normal":
        if limit is not None:
            raise DeclarationError("rescaled-normal takes no limit", argument="limit", found=repr(limit),
                                   remedy=leave_out("limit"))
        return None
    default, lowest, highest = {"stouffer": (1.5, 0.1, 8.0), "fisher": (0.001, 1e-12, 0.5)}[combine]
    value = default if limit is None else limit
    if not is_finite_number(value) or not lowest <= value <= highest:  # type: ignore[operator]
        raise DeclarationError(f"the limit of {combine} must be between {lowest:g} and {highest:g}", found=repr(limit),
                               remedy=f"leave it out for {default}")
    return float(value)  # type: ignore[arg-type]
