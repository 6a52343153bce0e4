"""All errors and warnings, as one tree.

Each message states the rule that was broken, what was found and what to do about it. Errors on the data holder's side name
columns and types but never values, so anyone may see them.

    NoisewiseError
    ├── DeclarationError            the public schema is incomplete or contradicts itself
    ├── FormulaError                a formula cannot be read, or needs what was not released
    ├── DataError                   a table lacks a declared column, or a column has an unusable type
    ├── PrivacyError                the requested privacy guarantee cannot be given
    │   └── BudgetError             the budget does not cover the request
    ├── ReleaseError                a problem with a release or a release file
    │   ├── ReleaseFormatError      it cannot be read: malformed, truncated, too new
    │   ├── ReleaseWriteError       it could not be written; an older file is untouched
    │   └── IncompatibleReleasesError   the releases do not describe the same thing
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

    Its fields: the ``rule`` that was broken; the ``argument``, which names the parameter at fault; what was ``found``, as a
    string; the names that are ``known`` where one of several was expected (the closest is suggested); and a ``remedy``, in which
    `noisewise.words` names options and functions. The message is built from them.

    >>> raise NoisewiseError("epsilon must be positive", found="-1", remedy="give epsilon > 0, for example 1.0")
    Traceback (most recent call last):
        ...
    noisewise.errors.NoisewiseError: epsilon must be positive (found: -1); give epsilon > 0, for example 1.0
    >>> raise NoisewiseError("unknown method", argument="method", found="'laplce'", known=["exact", "laplace"])
    Traceback (most recent call last):
        ...
    noisewise.errors.NoisewiseError: unknown method (found: 'laplce'); did you mean laplace? Known: exact, laplace
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
        """The known name closest to what was found, if one is close."""
        return closest((self.found or "").strip("'\""), self.known or ())

    @property
    def advice(self) -> str | None:
        """What to do: the name probably meant, the known names and the remedy."""
        advice = self.remedy
        if self.known:
            suggested = "known:" if self.meant is None else f"did you mean {self.meant}? Known:"
            names = f"{suggested} {', '.join(self.known)}"
            advice = names if advice is None else f"{names}; " + advice
        return advice

    def into(self, kind: type[SameError], rule: str | None = None) -> SameError:
        """The same error in another class, optionally with another rule."""
        return kind(self.rule if rule is None else rule, argument=self.argument, found=self.found, known=self.known,
                    remedy=self.remedy)


def closest(wrong: str, known: Sequence[str]) -> str | None:
    """The known name closest to a wrong one, if one is close.

    >>> closest("poison", ["gaussian", "poisson"])
    'poisson'
    """
    return None if wrong in known else next(iter(get_close_matches(wrong, known, n=1, cutoff=LEAST_ALIKE)), None)


class DeclarationError(NoisewiseError):
    """The public schema is incomplete or contradicts itself."""


class FormulaError(NoisewiseError):
    """A formula cannot be read, or needs columns that were not released."""


class DataError(NoisewiseError):
    """A table lacks a declared column, or a column has an unusable type."""


class PrivacyError(NoisewiseError):
    """The requested privacy guarantee cannot be given."""


class BudgetError(PrivacyError):
    """The privacy budget does not cover the request."""


class ReleaseError(NoisewiseError):
    """There is a problem with a release or a release file."""


class ReleaseFormatError(ReleaseError):
    """A release file is malformed, truncated, too large or too new."""


class ReleaseWriteError(ReleaseError):
    """A release file could not be written; an older file in its place is untouched."""


class IncompatibleReleasesError(ReleaseError):
    """Releases that were combined do not describe the same thing."""


class FitError(NoisewiseError):
    """A model cannot be fitted as asked."""


class ResultError(NoisewiseError):
    """A result cannot be shown, used or stored as asked."""


class NoisewiseWarning(UserWarning):
    """The root of every warning raised by noisewise."""


class ConvergenceWarning(NoisewiseWarning):
    """The draws should not be trusted yet."""
