"""``--help``: what matters first, and no value for what takes none."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from noisewise.cli.app import app
from noisewise.cli.commands import COMMANDS, ORDER, PANEL
from noisewise.kinds import kinds

PROGRAM: Any = typer.main.get_command(app)
ROOT = typer.Context(PROGRAM)
ALL = [(name,) for name, command in PROGRAM.commands.items() if not hasattr(command, "list_commands")] + [
    (name, inner) for name, command in PROGRAM.commands.items() if hasattr(command, "list_commands")
    for inner in command.list_commands(ROOT)]
MOST_OPTIONS = 21


def panels(text: str) -> list[str]:
    return [line.strip("╭╮─ ") for line in text.splitlines() if line.startswith("╭")]


def test_the_first_panel_has_the_commands_that_everyone_needs(nw: Any) -> None:
    text = nw("--help").stdout
    first = text[text.index("╭─ Start here"):text.index("╭─ More for data holders")]
    names = [line.split()[1] for line in first.splitlines() if line.startswith("│ ") and line[2] != " "]
    assert names == ["demo", "schema", "plan", "release", "show", "fit", "compare", "answer", "report", "ledger", "audit"]


def test_every_command_has_a_panel(nw: Any) -> None:
    text = nw("--help").stdout
    assert panels(text)[1:] == [panel for panel, names in COMMANDS.items() if set(names) & set(PROGRAM.commands)]
    assert set(PROGRAM.commands) <= set(ORDER) and "Commands" not in panels(text)


def test_what_a_release_needs_comes_first_and_the_kinds_last(nw: Any) -> None:
    text = nw("release", "--help").stdout
    found = panels(text)
    assert found[:4] == ["Arguments", "Options", "What is released", "Budget"]
    assert found[-2:] == ["Output and help", PANEL]
    first = text[text.index("╭─ Options"):text.index("╭─ What is released")]
    assert all(name in first for name in ("--schema", "--epsilon", "--delta", "--output")) and "--parts" not in text
    last = text[text.index("╭─ Kinds"):]
    assert all(kind.name in last for kind in kinds())


OWN = {"gram": ("--terms", "--mechanism", "--average", "--append", "--delta"),
       "model": ("--formula", "--family", "--terms", "--rounds", "--start", "--append"),
       "moments": ("--formula", "--terms", "--block", "--append"),
       "partition": ("--formula", "--parts", "--ask", "--prior", "--mechanism"), "rows": ("--copies", "--share", "--mechanism"),
       "bounds": ("--column", "--tail", "--digits"), "binary": ("--column", "--rows", "--copies"),
       "adassp": ("--formula", "--terms", "--append")}


@pytest.mark.parametrize("kind", OWN)
def test_a_kind_has_its_own_options_and_no_others(nw: Any, kind: str) -> None:
    text = nw("release", kind, "--help").stdout
    assert set(OWN) == {one.name for one in kinds()}
    every = {option for options in OWN.values() for option in options}
    assert {option for option in every if f" {option} " in text} - {"--delta"} == set(OWN[kind]) - {"--delta"}
    assert (" --delta " in text) is (kind not in ("bounds", "binary"))


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_no_command_has_more_options_than_one_can_read(command: tuple[str, ...]) -> None:
    found = PROGRAM
    for name in command:
        found = found.get_command(ROOT, name)
    assert 0 < len([one for one in found.params if one.opts[0].startswith("-")]) <= MOST_OPTIONS


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
