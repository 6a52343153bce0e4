"""Values of options that are of the wrong kind, told with the value: ``--epsilon one``."""

from __future__ import annotations

from typing import Any, Final

import typer

from noisewise.cli.talk import visible

WANTED: Final = {
    "float_parsing": "a number is wanted",
    "float_type": "a number is wanted",
    "int_parsing": "a whole number is wanted",
    "int_from_float": "a whole number is wanted",
    "greater_than_equal": "the least is {ge}",
    "less_than_equal": "the most is {le}",
    "greater_than": "it is more than {gt}",
    "less_than": "it is less than {lt}",
}
LONGEST: Final = 40


class ToldWithTheValue:
    """For commands: what is wanted and what was found, where Typer says only the first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return list(super().parse_args(ctx, args))  # type: ignore[misc]
        except typer.BadParameter as error:
            error.message = _words(error) or error.message
            raise


def _words(error: typer.BadParameter) -> str | None:
    """In our own words, where the reason is one of those above."""
    reasons = getattr(error.__cause__, "errors", None)
    if not callable(reasons):
        return None
    first: dict[str, Any] = next(iter(reasons()), {})
    wanted, given = WANTED.get(first.get("type", "")), visible(str(first.get("input")))
    if wanted is None:
        return None
    shown = given if len(given) <= LONGEST else f"{given[:LONGEST]}…"
    return f"{wanted.format(**first.get('ctx', {}))}, not {shown!r}"
