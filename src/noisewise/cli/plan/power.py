"""``noisewise plan power``: interval widths and the power to detect effects, before any budget is spent. Reads no rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from noisewise.cli.completion import FAMILIES, one_of
from noisewise.cli.files import check_results, write_csv
from noisewise.cli.guard import guarded
from noisewise.cli.named_numbers import as_number, named_number
from noisewise.cli.options import Csv, Mechanism, NoiseDelta, Picture, SchemaFile
from noisewise.cli.output import Output, visible
from noisewise.cli.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.kinds import Kind
    from noisewise.planning.power import PowerPlan

Number = TypeVar("Number", int, float)

WITHOUT = "without\nprivacy"
KINDS = ("gram", "model")
NOT_ITS_OWN = {"gram": ("formula", "family"), "model": ()}
"""Options that say nothing about a release of this kind."""
ROOM_FOR_ALL = 100
"""Width, in characters, of a table with every column."""


@guarded(holder=True)
def power(
    out: Output,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help="The regression, in quotes: \"stay ~ age + ward\".")],
    schema: SchemaFile,
    rows: Annotated[list[str] | None, typer.Option("--rows", "-n", help=(
        "Approximate number of rows (of each holder); may be a list: 2000,10000."))] = None,
    epsilon: Annotated[list[str] | None, typer.Option("--epsilon", "-e", help=(
        "Epsilon to plan for; may be a list: 0.3,1,3."))] = None,
    delta: NoiseDelta = None,
    effect: Annotated[list[str] | None, typer.Option(metavar="TERM=NUMBER", help=(
        "An effect to detect: a coefficient in the table's units; may be repeated."))] = None,
    target: Annotated[float | None, typer.Option("--power", help=(
        "Find the smallest epsilon (without -e) or the fewest rows (without -n) that give this power, such as 0.8."))] = None,
    family: Annotated[str, typer.Option("--family", "-f", autocompletion=one_of(FAMILIES), help=(
        "gaussian, logistic, probit or poisson; of kind model also negative-binomial."))] = "gaussian",
    kind: Annotated[str, typer.Option("--kind", autocompletion=one_of(KINDS), help=(
        "gram, a release for any regression, or model, one for this regression. Each is compared with the other."))] = "gram",
    holders: Annotated[int, typer.Option(help="Number of data holders, each with this many rows and its own noise.", min=1)] = 1,
    mechanism: Mechanism = None,
    terms: Annotated[str | None, typer.Option(help="Additional columns to release: \"age:ward + I(age**2)\".")] = None,
    assume: Annotated[list[str] | None, typer.Option(metavar="WHAT", help=(
        "What is known. About a column: \"age: mean=60 sd=12 shape=skewed\" (normal, uniform, skewed) or \"ward: A=0.5 B=0.3 "
        "C=0.2\". About two predictors: their correlation, age,bmi=0.4. The residual standard deviation: sigma=4 (default: a "
        "sixth of the response's range); of a negative binomial count dispersion=1. May be repeated."))] = None,
    repeats: Annotated[int | None, typer.Option(min=20, help=(
        "Simulated releases per combination of rows and epsilon. Default: 200, or 50 of kind model."))] = None,
    method: Annotated[str, typer.Option(autocompletion=one_of(("auto", "fast", "conditional")), help=(
        "conditional samples as fit does (takes minutes), fast never samples, auto samples only if the noise is very "
        "large."))] = "auto",
    seed: Annotated[int, typer.Option(help="Seed for the simulation.", min=0)] = 0,
    interval: Annotated[float, typer.Option(help="Probability level of the intervals.")] = 0.95,
    plot: Picture = None, csv: Csv = None,
) -> None:
    """Show how wide intervals would be and how likely effects are to be detected, before any budget is spent. Reads no data.

    It simulates tables from the schema and from what you declare about the columns, adds the noise of a release, and fits them.
    It also says whether a gram or a model release is better for this regression.

    Example: noisewise plan power "stay ~ age + ward" -s schema.toml -n 2000,10000 -e 0.3,1,3 -d 1e-6 --effect age=0.1

    Example: noisewise plan power "stay ~ age + ward" -s schema.toml -n 10000 -d 1e-6 --effect age=0.05 --power 0.8

    Example: noisewise plan power "sick ~ age + ward" --kind model -f logistic -s schema.toml -n 10000 -e 1 -d 1e-6
    """
    import noisewise

    check_results((schema,), plot=plot, csv=csv)
    found = noisewise.plan_power(
        noisewise.Schema.load(schema), formula,
        kind=_kind(kind, formula=formula, family=family, terms=terms, mechanism=mechanism),
        rows=_list(rows, int, "--rows"), epsilon=_list(epsilon, float, "--epsilon"),
        delta=delta, effects=dict(_pair(text, "--effect") for text in effect or []), power=target, family=family,
        holders=holders, **_assumed(assume or []), repeats=repeats, method=method, seed=seed, interval=interval, run=out.run())
    if plot is not None:
        found.plot(plot)
    write_csv(csv, found.table())
    out.wrote(plot, csv)
    _tell(out, found)
    out.document({**found.to_dict(), "plot": plot, "csv": csv})


def _kind(name: str, **options: str | None) -> Kind:
    """The kind of release with those of the options that it has."""
    from noisewise.kinds import kind_from_dict

    if name not in KINDS:
        raise typer.BadParameter(f"must be one of {', '.join(KINDS)}, not {name!r}", param_hint="'--kind'")
    return kind_from_dict({"name": name, **{option: value for option, value in options.items()
                                            if value is not None and option not in NOT_ITS_OWN[name]}})


def _list(texts: Sequence[str] | None, kind: Callable[[float], Number], option: str) -> list[Number] | None:
    """Parse numbers from comma-separated lists and repeated options. A whole number may be written as 1e6."""
    if not texts:
        return None
    found = []
    for text in ",".join(texts).split(","):
        number = as_number(text)
        if number is None or (kind is int and not number.is_integer()):
            raise typer.BadParameter(f"must be a {'whole ' * (kind is int)}number, not {text!r}", param_hint=f"'{option}'")
        found.append(kind(number))
    return found


def _pair(text: str, option: str = "--assume") -> tuple[str, float]:
    return named_number(text, typer.BadParameter(f"must have the form NAME=NUMBER, not {text!r}", param_hint=f"'{option}'"))


def _assumed(texts: Sequence[str]) -> dict[str, Any]:
    """Parse assumptions about columns (with a colon), pairs of predictors (with a comma), sigma and dispersion."""
    others = dict(_pair(text) for text in texts if ":" not in text)
    sigma, dispersion = (others.pop(name, None) for name in ("sigma", "dispersion"))
    return {"columns": dict(_column(text) for text in texts if ":" in text),
            "correlations": {_predictors(names): number for names, number in others.items()}, "sigma": sigma,
            "dispersion": dispersion}


def _column(text: str) -> tuple[str, dict[str, Any]]:
    """Parse ``age: mean=60 sd=12 shape=skewed`` or ``ward: A=0.5 B=0.3 C=0.2``."""
    name, _, rest = text.partition(":")
    words = [word.partition("=") for word in rest.split()]
    if not words or not all(key and value for key, _, value in words):
        raise typer.BadParameter(f"must have the form \"NAME: mean=60 sd=12\" or \"NAME: A=0.5 B=0.5\", not {text!r}",
                                 param_hint="'--assume'")
    if all(key in ("mean", "sd", "shape") for key, _, _ in words):
        return name.strip(), {key: value if key == "shape" else _pair(f"{key}={value}")[1] for key, _, value in words}
    return name.strip(), {"shares": dict(_pair(f"{key}={value}") for key, _, value in words)}


def _predictors(names: str) -> tuple[str, str]:
    first, comma, second = names.partition(",")
    if not comma:
        raise typer.BadParameter(f"must be sigma=NUMBER, dispersion=NUMBER or two predictors, A,B=NUMBER, not {names!r}",
                                 param_hint="'--assume'")
    return first.strip(), second.strip()


def _tell(out: Output, found: PowerPlan) -> None:
    from rich.text import Text

    for one in found.needed:
        out.line(visible(one.words(found.power or 0.0)), style="bold" if one.value is not None else "yellow")
    out.result(_table(found, narrow=out.width < ROOM_FOR_ALL))
    if found.comparison is not None:
        out.result(Text(visible(found.comparison), style="bold" if found.other is not None else "dim"))
    with_effects = any(line.effect is not None for line in found.cells[0].lines)
    out.explain(f"Medians of {found.repeats} simulated {found.kind} releases each, {found.interval:.0%} intervals"
                + (f", {found.holders} holders" if found.holders > 1 else "") + ". "
                + ("power: how often the interval excludes 0 in the right direction, ± its simulation error. " if with_effects
                   else "Give --effect TERM=NUMBER to see the power to detect it. ")
                + f"detectable: the effect found with power {found.power or 0.8:g}, by normal theory.", style="dim")
    out.explain("Assumed about the table:")
    for line in found.assumptions:
        out.explain(f"  {line}")
    for note in found.notes:
        out.warn(note)
    out.explain("Nothing was read and nothing was spent.")


def _table(found: PowerPlan, narrow: bool) -> Table:
    """Return a table with one line per term; a narrow one leaves out columns that follow from the others."""
    with_effects = any(line.effect is not None for line in found.cells[0].lines)
    table = plain_table(None, "rows", "epsilon")
    table.add_column("term", style="bold", no_wrap=True)
    with_other = found.other is not None and not narrow
    other = (f"with\n{found.other}",) if with_other else ()
    for heading in ("width", *other, WITHOUT, *(() if narrow else ("times",)), *(("effect", "power") if with_effects else ()),
                    *((WITHOUT,) if with_effects and not narrow else ()), *(() if narrow else ("error",)), "detectable"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in found.cells:
        for place, line in enumerate(cell.lines):
            shares: tuple[str, ...] = () if not with_effects else ("", "", "") if line.power is None else (
                f"{line.effect:g}", f"{line.power:.2f} ± {line.power_error:.2f}", f"{line.power_without_privacy:.2f}")
            shares = shares[:2] if narrow else shares
            times, error = ((), ()) if narrow else ((f"{line.width / line.width_without_privacy:.3g}",), (f"{line.error:.2g}",))
            table.add_row(f"{cell.rows:,}" if not place else "", f"{cell.epsilon:g}" if not place else "", visible(line.term),
                          f"{line.width:.3g}", *([f"{line.width_other:.3g}"] if with_other else []),
                          f"{line.width_without_privacy:.3g}", *times, *shares, *error,
                          "–" if math.isnan(line.detectable) else f"{line.detectable:.2g}",
                          end_section=place == len(cell.lines) - 1)
    return table
