"""What commands are made of: how ``--help`` is arranged, what is said of wrong values, and groups with a command for each kind.

A group such as ``noisewise release`` has a command for every kind of the registry, with only its own options. The registry is
asked when such a group is used. Where no kind is named, it is gram.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_args

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from noisewise.cli.guard import Work, parameters
from noisewise.cli.options import MESSAGES
from noisewise.cli.output import visible
from noisewise.errors import closest

if TYPE_CHECKING:
    from noisewise.kinds import Kind

COMMANDS: Final = {
    "Start here": ("demo", "schema", "plan", "release", "show", "fit", "compare", "answer", "report", "ledger", "audit"),
    "More for data holders": ("bounds",),
    "More for analysts": ("check", "hypothesis-test", "estimate", "synthesize"),
    "About this program": ("doctor", "reproduce"),
}
"""First what everyone needs, in the order in which a new user needs it; then what some need."""

PANELS: Final = {name: panel for panel, names in COMMANDS.items() for name in names}
ORDER: Final = tuple(PANELS)

DEFAULT: Final = "gram"
PANEL: Final = "Kinds, each with a page of its own"
HELP: Final = ("-h", "--help")

WANTED: Final = {
    **dict.fromkeys(("float_parsing", "float_type"), "a number is wanted"),
    **dict.fromkeys(("int_parsing", "int_from_float"), "a whole number is wanted"),
    "greater_than_equal": "the least is {ge}", "less_than_equal": "the most is {le}",
    "greater_than": "it is more than {gt}", "less_than": "it is less than {lt}",
}
"""What Typer wants, in our own words."""
LONGEST: Final = 40


class _PlainFlags:
    """A flag takes no value, so that none is shown; ``--help`` stands with what is not about the work."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if isinstance(option, TyperOption) and option.is_flag:
                option.metavar = ""
                if option.name == "help":
                    option.rich_help_panel = MESSAGES
        return found


class Command(_PlainFlags, TyperCommand):
    """A command. It says what is wanted and what was found, where Typer says only the first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return list(super().parse_args(ctx, args))
        except typer.BadParameter as error:
            error.message = _wanted(error) or error.message
            raise


def _wanted(error: typer.BadParameter) -> str | None:
    """In our own words, where the reason is one of those above."""
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
    """All commands, in that order."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


def arrange(app: typer.Typer) -> None:
    """Put every command of the program into its panel."""
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
    """One command for each kind; `command_of` makes it."""

    rooms: ClassVar[tuple[str, ...]] = ("command",)
    """What there must be of a kind for it to have a command here."""

    def command_of(self, kind: type[Kind]) -> Work:
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        from noisewise.kinds import kinds
        from noisewise.kinds.registry import has_room

        return [kind.name for kind in kinds() if all(has_room(kind, room) for room in self.rooms)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from noisewise.kinds import kind_named

        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name not in self.commands:
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False,
                                context_settings={"help_option_names": list(HELP)})
            alone.command(cmd_name, cls=Command, rich_help_panel=PANEL)(self.command_of(kind_named(cmd_name)))
            self.commands[cmd_name] = typer.main.get_command(alone)
        return self.commands[cmd_name]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names = self.list_commands(ctx)
        if not (args[:1] and args[0] in (*HELP, *names)) and (args or not self.no_args_is_help):
            near = closest(args[0], names) if args and not Path(args[0]).exists() else None
            if near is not None:  # a word that is nearly a kind, and no table that there is, was meant to be one
                raise typer.BadParameter(f"there is no kind of release {args[0]!r}; did you mean {near}? Known are "
                                         + ", ".join(names))
            args = [DEFAULT, *args]
        return list(super().parse_args(ctx, args))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[KIND]", *(piece for piece in super().collect_usage_pieces(ctx) if piece != self.subcommand_metavar)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The page of the kind that is meant if none is named, and the names of all."""
        usual, page = self.get_command(ctx, DEFAULT), copy(self)
        page.params, page.help = usual.params, usual.help
        super(KindCommands, page).format_help(ctx, formatter)


def options(of_all: Work, own: Mapping[str, inspect.Parameter], before: str, **changed: Any) -> list[inspect.Parameter]:
    """The options of every kind, which a function takes by keyword, and those of one kind before one of them.

    ``changed`` ones are said otherwise for this kind, or left out (None).
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
