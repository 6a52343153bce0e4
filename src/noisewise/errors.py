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


class NoisewiseError(Exception):
    """The root of every error raised by noisewise.

    >>> raise NoisewiseError("epsilon must be positive", found="-1", remedy="give epsilon > 0, for example 1.0")
    Traceback (most recent call last):
        ...
    noisewise.errors.NoisewiseError: epsilon must be positive (found: -1); give epsilon > 0, for example 1.0
    """

    def __init__(self, rule: str, *, found: str | None = None, remedy: str | None = None) -> None:
        self.rule = rule
        self.found = found
        self.remedy = remedy
        message = rule
        if found is not None:
            message += f" (found: {found})"
        if remedy is not None:
            message += f"; {remedy}"
        super().__init__(message)


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
