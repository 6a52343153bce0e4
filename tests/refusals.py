"""What an error is about, by its fields: `pytest.raises(FitError, check=about("method"))`.

A test that checks fields survives a better wording of the message.
"""

from __future__ import annotations

from collections.abc import Callable

from noisewise.errors import NoisewiseError


def about(argument: str, *, found: str | None = None, known: str | None = None) -> Callable[[Exception], bool]:
    """Whether an error names this argument, was given ``found``, and lists ``known`` among the names it knows."""
    def check(error: Exception) -> bool:
        return isinstance(error, NoisewiseError) and error.argument == argument \
            and (found is None or error.found == found) and (known is None or known in (error.known or ()))

    return check
