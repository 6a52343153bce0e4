"""Base classes of commands: the layout of ``--help``, messages for invalid values, and groups with one command per kind.

A group such as ``noisewise release`` has a command for every registered kind, with that kind's options only. It queries the
registry when used. The default kind is gram.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from noisewise.cli.guard import Work, parameters
from noisewise.cli.options import MESSAGES
from noisewise.cli.output import visible
from noisewise.errors import closest

if TYPE_CHECKING:
    from typer import _click as click

    from noisewise.kinds import Kind

COMMANDS: Final = {
    "Start here": ("demo", "schema", "plan", "release", "show", "fit", "compare", "answer", "report", "ledger", "audit"),
    "More for data holders": ("bounds",),
    "More for analysts": ("check", "hypothesis-test", "estimate", "synthesize"),
    "About this program": ("doctor", "reproduce"),
}
"""The panels of ``noisewise --help``: first what everyone needs, in the order a new user needs it."""

PANELS: Final = {name: panel for panel, names in COMMANDS.items() for name in names}
ORDER: Final = tuple(PANELS)

DEFAULT: Final = "gram"
PANEL: Final = "Kinds, each with its own --help"
HELP: Final = ("-h", "--help")

WANTED: Final = {
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("int_parsing", "int_from_float"), "must be a whole number"),
    "greater_than_equal": "must be >= {ge}", "less_than_equal": "must be <= {le}",
    "greater_than": "must be > {gt}", "less_than": "must be < {lt}",
}
"""Our messages for Typer's validation errors."""
LONGEST: Final = 40
"""The most characters of an invalid value that a message shows."""


class _PlainFlags:
    """Show no metavar for flags, and list ``--help`` in the panel of output options."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with flags adjusted."""
        found: list[click.Parameter] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if isinstance(option, TyperOption) and option.is_flag:
                option.metavar = ""
                if option.name == "help":
                    option.rich_help_panel = MESSAGES
        return found


class Command(_PlainFlags, TyperCommand):
    """A command whose messages about invalid values also show the value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with our messages for invalid values."""
        try:
            return list(super().parse_args(ctx, args))
        except typer.BadParameter as error:
            error.message = _wanted(error) or error.message
            raise


def _wanted(error: typer.BadParameter) -> str | None:
    """Return our message, if WANTED has one for this error."""
    reasons = getattr(error.__cause__, "errors", None)
    first: dict[str, Any] = next(iter(reasons()), {}) if callable(reasons) else {}
    wanted, given = WANTED.get(first.get("type", "")), visible(str(first.get("input")))
    if wanted is None:
        return None
    shown = given if len(given) <= LONGEST else f"{given[:LONGEST]}…"
    return f"{wanted.format(**first.get('ctx', {}))}, not {shown!r}"


class Group(_PlainFlags, TyperGroup):
    """A group of commands."""


class Commands(Group):
    """All commands, in the order of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in that order."""
        return sorted(super().list_commands(ctx), key=ORDER.index)


def arrange(app: typer.Typer) -> None:
    """Put every command into its panel."""
    for command in app.registered_commands:
        name = command.name or str(getattr(command.callback, "__name__", ""))
        command.cls, command.rich_help_panel = Command, PANELS.get(name)
    for group in app.registered_groups:
        group.rich_help_panel = PANELS[str(group.name)]
        if not isinstance(group.cls, type):
            group.cls = Group
        for command in group.typer_instance.registered_commands if group.typer_instance else ():
            command.cls = Command


class KindCommands(Group):
    """A group with one command per kind, made by `command_of`."""

    rooms: ClassVar[tuple[str, ...]] = ("command",)
    """The modules that a kind must have to get a command here."""

    def command_of(self, kind: type[Kind]) -> Work:
        """Return the command of a kind."""
        raise NotImplementedError

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the kinds that have a command here."""
        from noisewise.kinds import kinds
        from noisewise.kinds.registry import has_room

        return [kind.name for kind in kinds() if all(has_room(kind, room) for room in self.rooms)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of the named kind, made on first use."""
        from noisewise.kinds import kind_named

        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name not in self.commands:
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False,
                                context_settings={"help_option_names": list(HELP)})
            alone.command(cmd_name, cls=Command, rich_help_panel=PANEL)(self.command_of(kind_named(cmd_name)))
            self.commands[cmd_name] = typer.main.get_command(alone)
        return self.commands[cmd_name]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without a kind, insert the default."""
        names = self.list_commands(ctx)
        if not (args[:1] and args[0] in (*HELP, *names)) and (args or not self.no_args_is_help):
            if args and not Path(args[0]).exists():  # it may be a kind, misspelt or made up
                near = closest(args[0], names)
                if near is not None or self._is_extra(ctx, args):
                    raise typer.BadParameter(f"unknown kind of release {args[0]!r}; "
                                             + (f"did you mean {near}? Known: " if near else "known: ") + ", ".join(names))
            args = [DEFAULT, *args]
        return list(super().parse_args(ctx, args))

    def _is_extra(self, ctx: click.Context, args: list[str]) -> bool:
        """True if the command of the default kind has no use for the first word, or for it and the second one."""
        command = self.get_command(ctx, DEFAULT)
        assert command is not None
        wanted = sum(isinstance(one, TyperArgument) for one in command.params)
        return not any(one.startswith("-") for one in args[:wanted + 1]) and len(args) > wanted

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage line, with [KIND] for the subcommand."""
        return ["[KIND]", *(piece for piece in super().collect_usage_pieces(ctx) if piece != self.subcommand_metavar)]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page of the default kind, followed by the list of kinds."""
        usual, page = self.get_command(ctx, DEFAULT), copy(self)
        assert usual is not None
        page.params, page.help = usual.params, usual.help
        super(KindCommands, page).format_help(ctx, formatter)


def options(of_all: Work, own: Mapping[str, inspect.Parameter], before: str, **changed: object) -> list[inspect.Parameter]:
    """Merge the options shared by all kinds with those of one kind.

    Args:
        of_all: A function whose keyword-only parameters are the shared options.
        own: The options of the kind.
        before: The shared option to insert them before.
        changed: New annotations for some shared options; None removes the option.
    """
    found: list[inspect.Parameter] = []
    for name, one in parameters(of_all).items():
        said = changed.get(name, one.annotation)
        needed = one.default is one.empty or (name in changed and type(None) not in get_args((get_args(said) or (None,))[0]))
        if name == before:
            found += own.values()
        if one.kind is one.KEYWORD_ONLY and said is not None:
            found.append(one.replace(annotation=said, default=one.empty if needed else one.default))
    return found
