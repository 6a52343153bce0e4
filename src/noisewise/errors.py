"""Everything that can go wrong, as one tree.

Each message says the rule that was broken, what was found and what to do about it. Errors raised on the data holder's
side name columns and types but never values, so that a message can be shown to anyone.

    NoisewiseError
    ├── DeclarationError            the public schema is incomplete or contradicts itself
    ├── FormulaError                a formula cannot be read, or needs what was not released
    ├── DataError                   a data set lacks a declared column, or has it in an unusable type
    ├── PrivacyError                a privacy guarantee that was asked for cannot be given
    │   └── BudgetError             the budget does not cover the request
    ├── ReleaseError                something about a release file
    │   ├── ReleaseFormatError      it cannot be read: malformed, truncated, too new
    │   ├── ReleaseWriteError       it could not be written; an older file is untouched
    │   └── IncompatibleReleasesError   releases that do not describe the same thing
    ├── FitError                    a model cannot be fitted as asked
    └── ResultError                 a result cannot be shown, used or stored as asked

    NoisewiseWarning (a UserWarning)
    └── ConvergenceWarning          the draws should not be trusted yet
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final, TypeVar

LEAST_ALIKE: Final = 0.7

SameError = TypeVar("SameError", bound="NoisewiseError")


class NoisewiseError(Exception):
    """The root of every error raised by noisewise.

    Its fields: the ``rule`` that was broken; the ``argument``, the name of the parameter that it is about; what was ``found``, as
    a text; the names that are ``known`` where one was wanted, of which the nearest is suggested; and a ``remedy``, in which
    `noisewise.words` names options and functions. The message is put together from them.

    >>> raise NoisewiseError("epsilon must be positive", found="-1", remedy="give epsilon > 0, for example 1.0")
    Traceback (most recent call last):
        ...
    noisewise.errors.NoisewiseError: epsilon must be positive (found: -1); give epsilon > 0, for example 1.0
    >>> raise NoisewiseError("the method is not known", argument="method", found="'laplce'", known=["exact", "laplace"])
    Traceback (most recent call last):
        ...
    noisewise.errors.NoisewiseError: the method is not known (found: 'laplce'); did you mean laplace? Known are exact, laplace
    """

    def __init__(self, rule: str, *, argument: str | None = None, found: str | None = None, known: Iterable[str] | None = None,
                 remedy: str | None = None) -> None:
        self.rule = rule
        self.argument = argument
        self.found = found
        self.known = None if known is None else tuple(known)
        self.remedy = remedy
        message = rule
        if found is not None:
            message += f" (found: {found})"
        if self.advice is not None:
            message += f"; {self.advice}"
        super().__init__(message)

    @property
    def meant(self) -> str | None:
        """The known name that is nearly what was found."""
        return closest((self.found or "").strip("'\""), self.known or ())

    @property
    def advice(self) -> str | None:
        """What to do: the name that was probably meant, the known names, the remedy."""
        advice = self.remedy
        if self.known:
            suggested = "known are" if self.meant is None else f"did you mean {self.meant}? Known are"
            names = f"{suggested} {', '.join(self.known)}"
            advice = names if advice is None else f"{names}; " + advice
        return advice

    def into(self, kind: type[SameError], rule: str | None = None) -> SameError:
        """The same as an error of another class, perhaps with another rule."""
        return kind(self.rule if rule is None else rule, argument=self.argument, found=self.found, known=self.known,
                    remedy=self.remedy)


def closest(wrong: str, known: Sequence[str]) -> str | None:
    """The known name that may have been meant, if the wrong one is none of them.

    >>> closest("poison", ["gaussian", "poisson"])
    'poisson'
    """
    return None if wrong in known else next(iter(get_close_matches(wrong, known, n=1, cutoff=LEAST_ALIKE)), None)


class DeclarationError(NoisewiseError):
    """The public schema is incomplete or contradicts itself."""


class FormulaError(NoisewiseError):
    """A formula cannot be read, or needs columns that were not released."""


class DataError(NoisewiseError):
    """A data set lacks a declared column, or has it in a type that cannot be used."""


class PrivacyError(NoisewiseError):
    """A privacy guarantee that was asked for cannot be given."""


class BudgetError(PrivacyError):
    """The privacy budget does not cover the request."""


class ReleaseError(NoisewiseError):
    """Something is wrong with a release or a release file."""


class ReleaseFormatError(ReleaseError):
    """A release file is malformed, truncated, too large or too new."""


class ReleaseWriteError(ReleaseError):
    """A release file could not be written; a file that was there before is untouched."""


class IncompatibleReleasesError(ReleaseError):
    """Releases that do not describe the same thing were put together."""


class FitError(NoisewiseError):
    """A model cannot be fitted as asked."""


class ResultError(NoisewiseError):
    """A result cannot be shown, used or stored as asked."""


class NoisewiseWarning(UserWarning):
    """The root of every warning raised by noisewise."""


class ConvergenceWarning(NoisewiseWarning):
    """The draws should not be trusted yet."""
