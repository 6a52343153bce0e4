"""``--help``: what matters first, by who needs it, and no value for what takes none."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from noisewise.cli.app import app
from noisewise.cli.help import COMMANDS, ORDER

PROGRAM: Any = typer.main.get_command(app)
ALL = [(name,) for name, command in PROGRAM.commands.items() if not hasattr(command, "commands")] + [
    (name, inner) for name, command in PROGRAM.commands.items() for inner in getattr(command, "commands", ())]


def panels(text: str) -> list[str]:
    return [line.strip("╭╮─ ") for line in text.splitlines() if line.startswith("╭")]


def test_commands_are_grouped_by_who_needs_them(nw: Any) -> None:
    text = nw("--help").stdout
    assert panels(text)[1:] == [panel for panel, names in COMMANDS.items() if set(names) & set(PROGRAM.commands)]
    assert set(PROGRAM.commands) <= set(ORDER) and "Commands" not in panels(text)


def test_what_a_release_needs_comes_first_and_every_kind_has_its_panel(nw: Any) -> None:
    text = nw("release", "--help").stdout
    found = panels(text)
    assert found[:3] == ["Arguments", "Options", "What is released"] and found[-1] == "Output and help"
    first = text[text.index("╭─ Options"):text.index("╭─ What is released")]
    assert all(name in first for name in ("--schema", "--epsilon", "--delta", "--output")) and "--parts" not in first
    assert {"Budget", "With --kind partition", "With --kind moments", "With --kind microdata"} <= set(found)


def test_fit_shows_formula_family_and_method_first(nw: Any) -> None:
    text = nw("fit", "--help").stdout
    first = text[text.index("╭─ Options"):text.index("╭─ Results")]
    assert "--family" in first and "--method" in first and "--chains" not in first


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_no_flag_asks_for_a_value_and_every_command_has_an_example(nw: Any, command: tuple[str, ...]) -> None:
    text = nw(*command, "--help").stdout
    assert "<bool>" not in text and "--help" in text[text.rindex("╭─ Output and help"):]
    needs_none = command[0] in ("demo", "reproduce")
    assert needs_none or "noisewise " in text.partition("╭")[0].partition("Usage")[2]


def test_completion_stands_with_what_is_not_about_the_work(nw: Any) -> None:
    text = nw("--help").stdout
    assert "--install-completion" in text and "<bool>" not in text
