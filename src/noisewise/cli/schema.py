"""``noisewise schema init`` and ``schema check``: the public declarations. Reads only names and types, no rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from noisewise.cli.files import check_folder, open_table, write_file
from noisewise.cli.guard import guarded
from noisewise.cli.options import Data, Force
from noisewise.cli.output import Output, visible
from noisewise.errors import DataError, DeclarationError, ResultError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from noisewise.data.sources import Source
    from noisewise.privacy.mechanisms.gram import SymmetricMechanism
    from noisewise.schema import Basis, Schema

schema_app = typer.Typer(no_args_is_help=True, help="Declare what is public about a table: bounds, levels, whom to protect.")

Kind = Literal["number", "category", "boolean", "either"]


@schema_app.command()
@guarded(holder=True)
def init(
    out: Output, data: Data,
    output: Annotated[str, typer.Option("--output", "-o", help="Schema file to write; - for standard output.")] = "schema.toml",
    force: Force = False,
) -> None:
    """Write a schema template from the names and types of the columns only.

    You fill in bounds and levels, from public knowledge: those read off the data would leak.

    Example: noisewise schema init patients.parquet
    """
    from noisewise.schema.toml import template

    target = None if output == "-" else Path(output)
    if target is not None:
        _check_template_target(target, force)
    kinds, left_out = _kinds(open_table(data))
    if not kinds:
        raise DataError("the table has no column that a release can use", found=", ".join(left_out) or "no columns",
                        remedy="use a table with numbers, text or booleans")
    text = template(kinds)
    if left_out:
        text += "\n# Left out, because only numbers and categories can be released:\n"
        text += "".join(f"#   {json.dumps(name)}: {' '.join(reason.split())}\n" for name, reason in left_out.items())
    if target is None:
        out.line(text.rstrip("\n"))
    else:
        write_file(target, text)
        out.heading(f"Wrote {target}", style="bold green")
        out.explain(f"It has {len(kinds)} column{'s' * (len(kinds) > 1)}, by their names and types alone. Fill in every \"?\" "
                    "from public knowledge, delete the columns that nobody will need, then check it:")
        out.suggest(f"noisewise schema check {quote(str(target))} {quote(data)}")
    out.document({"file": target, "columns": kinds, "left_out": left_out, "template": text})


@schema_app.command()
@guarded(holder=True)
def check(
    out: Output,
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The schema (TOML).")],
    data: Annotated[str | None, typer.Argument(metavar="DATA", help=(
        "Also check the names and types in this table."))] = None,
    terms: Annotated[str | None, typer.Option(help="More columns to release, for example \"age:ward + I(age**2)\".")] = None,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Epsilon to show the noise for.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", "-d", help="Delta to show the noise for.")] = 1e-6,
) -> None:
    """Show what a schema declares, what happens to cells that do not fit, and how much noise a release would have.

    Example: noisewise schema check schema.toml patients.parquet
    """
    from noisewise.holder.gram import plan_gram
    from noisewise.schema import Basis, Schema

    declared = Schema.load(schema)
    open_columns = [] if terms is not None else declared.without_bounds
    basis = None if open_columns else Basis.of(declared, terms)
    mechanism = None if basis is None else plan_gram(basis, epsilon, delta)
    undeclared = None if data is None else _compare(declared, data)
    document: dict[str, object] = {"file": schema, "valid": True, "schema": declared.to_dict(), "rules": declared.rules(),
                                "rows_are_public": declared.rows_are_public, "kinds": _served(bool(open_columns))}
    serves = _partition(open_columns)
    if basis is not None and mechanism is not None:
        diagonal, off_diagonal, corner = mechanism.entry_sd()
        document |= {"norm": basis.radius, "released_columns": list(basis.names[1:]),
                     "noise": {"epsilon": mechanism.epsilon, "delta": mechanism.delta, "mechanism": mechanism.name,
                               "sd": {"diagonal": diagonal, "off_diagonal": off_diagonal, "rows": corner}}}
        serves = _release(basis, mechanism)
    if not out.quiet:
        out.line(f"{schema} is complete and valid.", style="bold green")
        out.result(_columns_table(declared))
        for label, words in (*_people(declared), *serves):
            out.line(f"  {label:<12}{words}")
        if undeclared is not None:
            left = f" Not declared, so never read: {', '.join(undeclared)}." if undeclared else ""
            out.explain(f"{data} has every declared column, with a usable type.{left}", style="green")
    out.document({**document, "data": data, "undeclared_columns": undeclared})


def _check_template_target(target: Path, force: bool) -> None:
    if target.is_dir() or (target.exists() and not force):
        what = "is a folder" if target.is_dir() else "exists already"
        raise DeclarationError("the template must not replace a file or folder", found=f"{target} {what}",
                               remedy="choose another name with -o, or replace a file with --force")
    check_folder(target, ResultError)


def _kinds(source: Source) -> tuple[dict[str, Kind], dict[str, str]]:
    """Return the kind of each usable column by its type, and the unusable columns with the reason."""
    kinds: dict[str, Kind] = {}
    left_out: dict[str, str] = {}
    for name, kind in source.column_types().items():
        found = "either" if name in source.untyped else _kind_of(kind)
        if re.fullmatch(r"__index_level_\d+__", name):
            left_out[name] = "the index of a data frame"
        elif found is None:
            left_out[name] = str(kind)
        else:
            kinds[name] = found
    return kinds, left_out


def _kind_of(kind: pa.DataType) -> Kind | None:
    import pyarrow.types as t

    if t.is_boolean(kind):
        return "boolean"
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind):
        return "number"
    if t.is_dictionary(kind) or t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return "category"
    return "either" if t.is_null(kind) else None


def _compare(declared: Schema, data: str) -> list[str]:
    """Check a table's names and types, and return its undeclared columns."""
    from noisewise.data.columns import require_columns, wanted_columns

    source = open_table(data)
    require_columns(source, wanted_columns(declared.columns, declared.unit.column))
    return [name for name in source.column_types() if name not in (*declared.names, declared.unit.column)]


def _people(declared: Schema) -> Iterator[tuple[str, str]]:
    """Yield lines on who is protected, and how."""
    unit = declared.unit
    yield "protects", "one row" if unit.is_row else f"one {unit.column}, with at most {unit.max_rows} rows used"
    yield "neighbours", {"replace-one": "replace-one: one person's data are replaced by other data",
                         "add-remove": "add-remove: one person's data are present or absent"}[declared.adjacency]
    yield "rows", "the number is public" if declared.rows_are_public else "the number is not public and gets noise"


def _release(basis: Basis, mechanism: SymmetricMechanism) -> Iterator[tuple[str, str]]:
    """Yield lines on a release of kind gram."""
    diagonal, off_diagonal, corner = mechanism.entry_sd()
    yield "norm", f"of a scaled row: at most {basis.radius:.4g}, " + (
        "as declared; longer rows are shortened" if basis.norm_clipped else "which follows from the bounds and levels")
    yield "released", f"{basis.size - 1} columns: {', '.join(basis.names[1:])}"
    yield "noise", (f"at epsilon {mechanism.epsilon:g}, delta {mechanism.delta:g}: {mechanism.name}, standard deviation "
                    f"{diagonal:.4g} on sums of squares, {off_diagonal:.4g} on other sums"
                    + (f", {corner:.4g} on the number of rows" if corner else ""))
    yield "", f"so with 10,000 rows, the mean of a column moves by about {off_diagonal / 1e4:.2g} of half its range"


def _served(without_bounds: bool) -> list[str]:
    """Return the names of all kinds of release, or of those that need no bounds."""
    from noisewise.kinds import kinds

    return [kind.name for kind in kinds() if not (without_bounds and kind.needs_bounds)]


def _partition(open_columns: list[str]) -> Iterator[tuple[str, str]]:
    """Yield lines on what a schema with unbounded columns can be used for."""
    names, kinds = ", ".join(open_columns), ", ".join(_served(without_bounds=True))
    yield "serves", f"releases of kind {kinds} only: the bounds of {names} are unknown"
    yield "", "all other kinds need these bounds; noisewise bounds estimates those declared as [\"?\", \"?\"]"
    yield "noise", "depends on questions, parts and epsilon, not on the columns: see noisewise plan partition"


def _columns_table(declared: Schema) -> Table:
    from rich import box
    from rich.table import Table

    from noisewise.schema.columns import DROP, Numeric, Unbounded

    def becomes(value: object) -> str:
        if value == DROP:
            return "row is dropped"
        return f"{value:g}" if isinstance(value, float) else str(value)

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("column", "declared as", "missing becomes", "any other value"):
        table.add_column(heading, overflow="fold")
    for column in declared.columns:
        if isinstance(column, Numeric):
            kind, other = f"number from {column.lower:g} to {column.upper:g}", "is clipped"
        elif isinstance(column, Unbounded):
            kind, other = "number without known bounds", "counts as missing"
        else:
            kind = f"category: {', '.join(map(str, column.levels))}"
            other = "drops its row" if column.unseen == DROP else f"becomes {column.unseen}"
        table.add_row(*map(visible, (column.name, kind, becomes(column.fill), other)))
    return table
