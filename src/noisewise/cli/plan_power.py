"""``noisewise plan power``: interval widths and the chance to detect an effect, before anything is spent. No row is read here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.completion import FAMILIES, one_of
from noisewise.cli.csv_text import csv_text
from noisewise.cli.files import check_results, write_text
from noisewise.cli.guard import guarded
from noisewise.cli.options import AsJson, Csv, Mechanism, NoiseDelta, Picture, Quiet, SchemaFile, Traceback
from noisewise.cli.release_files import check_endings
from noisewise.cli.talk import Talk, visible

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.results.power_plan import PowerPlan

ASSUMED = "What is assumed"
WITHOUT = "without\nprivacy"
ROOM_FOR_ALL = 100
"""Characters that a table with every column takes."""


@guarded(holder=True)
def power(
    context: typer.Context,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", show_default=False, help="In quotes: \"stay ~ age + ward\".")],
    schema: SchemaFile,
    rows: Annotated[list[str] | None, typer.Option("--rows", "-n", show_default=False, help="About how many rows the table (each "
                                                   "holder) has; several with commas: 2000,10000.")] = None,
    epsilon: Annotated[list[str] | None, typer.Option("--epsilon", "-e", show_default=False, help="The epsilon to plan for; "
                                                      "several with commas: 0.3,1,3.")] = None,
    delta: NoiseDelta = None,
    effect: Annotated[list[str] | None, typer.Option(metavar="TERM=NUMBER", show_default=False, help="An effect to detect: a "
                                                     "coefficient in the units of the table. May be repeated.")] = None,
    target: Annotated[float | None, typer.Option("--power", show_default=False, help="Find the smallest epsilon (without -e) or "
                                                 "the fewest rows (without -n) with which the effects are detected so often: "
                                                 "0.8.")] = None,
    family: Annotated[str, typer.Option("--family", "-f", autocompletion=one_of(FAMILIES),
                                        help="gaussian, logistic, probit or poisson.")] = "gaussian",
    holders: Annotated[int, typer.Option(help="How many data holders, each with so many rows and its own noise.", min=1)] = 1,
    mechanism: Mechanism = None,
    terms: Annotated[str | None, typer.Option(show_default=False, help="More columns to release: \"age:ward + I(age**2)\".")]
    = None,
    sigma: Annotated[float | None, typer.Option(show_default=False, rich_help_panel=ASSUMED, help="The residual standard "
                                                "deviation; by default a sixth of the response's range.")] = None,
    column: Annotated[list[str] | None, typer.Option(
        metavar="NAME:…", show_default=False, rich_help_panel=ASSUMED,
        help="What is known about a column: \"age: mean=60 sd=12 shape=skewed\" (normal, uniform, skewed) or \"ward: A=0.5 B=0.3 "
             "C=0.2\". May be repeated.")] = None,
    correlation: Annotated[list[str] | None, typer.Option(metavar="A,B=NUMBER", show_default=False, rich_help_panel=ASSUMED,
                                                          help="Of two predictors: age,bmi=0.4. May be repeated.")] = None,
    repeats: Annotated[int, typer.Option(help="Simulated releases of each cell.", min=20)] = 200,
    method: Annotated[str, typer.Option(help="auto samples as fit does where the noise is very large, fast never, conditional "
                                        "always (minutes).", autocompletion=one_of(("auto", "fast", "conditional")))] = "auto",
    seed: Annotated[int, typer.Option(help="Of the simulation.", min=0)] = 0,
    interval: Annotated[float, typer.Option(help="The probability that an interval holds.")] = 0.95,
    plot: Picture = None,
    csv: Csv = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Say how wide intervals would be, and how likely an effect is detected, before anything is spent. It reads no data.

    Tables are simulated from the schema and from what you declare about the columns, with the noise that a release of kind
    gram would have, and fitted.

    Example: noisewise plan power "stay ~ age + ward" -s schema.toml -n 2000,10000 -e 0.3,1,3 -d 1e-6 --effect age=0.1

    Example: noisewise plan power "stay ~ age + ward" -s schema.toml -n 10000 -d 1e-6 --effect age=0.05 --power 0.8
    """
    talk = Talk.of(context)
    import noisewise

    check_results((plot, csv), (schema,))
    check_endings({"--plot": plot}, None)
    found = noisewise.plan_power(
        noisewise.Schema.load(schema), formula, rows=_list(rows, int, "--rows"), epsilon=_list(epsilon, float, "--epsilon"),
        delta=delta, effects=dict(_pair(text, "--effect") for text in effect or []), power=target, family=family,
        holders=holders, mechanism=mechanism, terms=terms, sigma=sigma, columns=dict(map(_column, column or [])),
        correlations=dict(map(_correlation, correlation or [])), repeats=repeats, method=method, seed=seed, interval=interval,
        progress=talk.progress)
    if plot is not None:
        found.plot(plot)
        talk.note(f"Wrote {plot}")
    if csv is not None:
        write_text(csv, csv_text(found.table()))
        talk.note(f"Wrote {csv}")
    _tell(talk, found)
    talk.document({**found.to_dict(), "plot": plot, "csv": csv})


def _list(texts: Sequence[str] | None, kind: Callable[[str], Any], option: str) -> list[Any] | None:
    """Numbers with commas or with several options; whole ones may be written 1e6."""
    if not texts:
        return None
    found = []
    for text in ",".join(texts).split(","):
        try:
            number = float(text)
            found.append(int(number) if kind is int and number.is_integer() else kind(text))
        except (ValueError, OverflowError):
            wanted = "whole number" if kind is int else "number"
            raise typer.BadParameter(f"{text!r} is no {wanted}", param_hint=f"'{option}'") from None
    return found


def _pair(text: str, option: str) -> tuple[str, float]:
    """``age=0.1``: the last equals sign counts, for a term may have one in its name."""
    name, equals, number = text.rpartition("=")
    try:
        return name.strip(), float(number if equals else "")
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not of the form NAME=NUMBER", param_hint=f"'{option}'") from None


def _column(text: str) -> tuple[str, dict[str, Any]]:
    """``age: mean=60 sd=12 shape=skewed``, or ``ward: A=0.5 B=0.3 C=0.2``."""
    name, colon, rest = text.partition(":")
    words = [word.partition("=") for word in rest.split()]
    if not colon or not words or not all(key and equals and value for key, equals, value in words):
        raise typer.BadParameter(f"{text!r} is not of the form \"NAME: mean=60 sd=12\" or \"NAME: A=0.5 B=0.5\"",
                                 param_hint="'--column'")
    if all(key in ("mean", "sd", "shape") for key, _, _ in words):
        return name.strip(), {key: value if key == "shape" else _pair(f"{key}={value}", "--column")[1] for key, _, value in words}
    return name.strip(), {"shares": dict(_pair(f"{key}={value}", "--column") for key, _, value in words)}


def _correlation(text: str) -> tuple[tuple[str, str], float]:
    names, number = _pair(text, "--correlation")
    first, comma, second = names.partition(",")
    if not comma:
        raise typer.BadParameter(f"{text!r} is not of the form A,B=NUMBER", param_hint="'--correlation'")
    return (first.strip(), second.strip()), number


def _tell(talk: Talk, found: PowerPlan) -> None:
    for one in found.needed:
        talk.line(visible(one.words(found.power or 0.0)), style="bold" if one.value is not None else "yellow")
    talk.result(_table(found, narrow=talk.width < ROOM_FOR_ALL))
    with_effects = any(line.effect is not None for line in found.cells[0].lines)
    talk.explain(f"Medians of {found.repeats} simulated releases each, {found.interval:.0%} intervals"
                 + (f", {found.holders} holders" if found.holders > 1 else "") + ". "
                 + ("power: how often the interval excludes 0 in the right direction, ± its simulation error. " if with_effects
                    else "Give --effect TERM=NUMBER to see how likely it is detected. ")
                 + f"detectable: the effect found with power {found.power or 0.8:g}, by normal theory.", style="dim")
    talk.explain("Assumed about the table:")
    for line in found.assumptions:
        talk.explain(f"  {line}")
    for note in found.notes:
        talk.warn(note)
    talk.explain("Nothing was read and nothing was spent.")


def _table(found: PowerPlan, narrow: bool) -> Table:
    """One line for each term; a narrow terminal has no room for what follows from the rest."""
    from rich import box
    from rich.table import Table

    with_effects = any(line.effect is not None for line in found.cells[0].lines)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("rows", "epsilon"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("term", style="bold", no_wrap=True)
    for heading in ("width", WITHOUT, *(() if narrow else ("times",)), *(("effect", "power") if with_effects else ()),
                    *((WITHOUT,) if with_effects and not narrow else ()), *(() if narrow else ("error",)), "detectable"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in found.cells:
        for place, line in enumerate(cell.lines):
            shares: tuple[str, ...] = () if not with_effects else ("", "", "") if line.power is None else (
                f"{line.effect:g}", f"{line.power:.2f} ± {line.power_error:.2f}", f"{line.power_without_privacy:.2f}")
            shares = shares[:2] if narrow else shares
            times, error = ((), ()) if narrow else ((f"{line.width / line.width_without_privacy:.3g}",), (f"{line.error:.2g}",))
            table.add_row(f"{cell.rows:,}" if not place else "", f"{cell.epsilon:g}" if not place else "", visible(line.term),
                          f"{line.width:.3g}", f"{line.width_without_privacy:.3g}", *times, *shares, *error,
                          "–" if math.isnan(line.detectable) else f"{line.detectable:.2g}",
                          end_section=place == len(cell.lines) - 1)
    return table
