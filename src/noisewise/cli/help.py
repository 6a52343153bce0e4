"""How ``--help`` is arranged: commands by who needs them, options by what they are for."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from noisewise.cli.options import MESSAGES
from noisewise.cli.wrong_values import ToldWithTheValue

COMMANDS: Final = {
    "Start here": ("demo", "doctor"),
    "For data holders": ("schema", "bounds", "plan", "ledger", "release", "synthesize-binary", "audit"),
    "For analysts": ("answer", "test", "fit", "check", "compare", "estimate", "synthesize"),
    "For both": ("show", "report", "reproduce"),
}
"""The way of the data, which is also the order in which a new user needs them."""

ORDER: Final = tuple(name for names in COMMANDS.values() for name in names)
ASIDE: Final = ("help",)
PANELS: Final = {name: panel for panel, names in COMMANDS.items() for name in names}


class _PlainFlags:
    """A flag takes no value, so that none is shown; ``--help`` and the like stand with what is not about the work."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if isinstance(option, TyperOption) and option.is_flag:
                option.metavar = ""
                if option.name in ASIDE:
                    option.rich_help_panel = MESSAGES
        return found


class Command(ToldWithTheValue, _PlainFlags, TyperCommand):
    """A command."""


class Group(_PlainFlags, TyperGroup):
    """A group of commands."""


class Commands(Group):
    """All commands, in that order."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


def arrange(app: typer.Typer) -> None:
    """Put every command of the program into its panel."""
    for command in app.registered_commands:
        name = command.name or str(getattr(command.callback, "__name__", ""))
        command.cls, command.rich_help_panel = Command, PANELS.get(name)
    for group in app.registered_groups:
        group.cls, group.rich_help_panel = Group, PANELS[str(group.name)]
        for command in group.typer_instance.registered_commands if group.typer_instance else ():
            command.cls = Command
