"""The options of ``noisewise release``, in the panels of its ``--help``: what matters to everyone first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from noisewise.cli.options import BUDGET

CONTENT: Final = "What is released"
PARTITION: Final = "With --kind partition"
MORE: Final = "Seldom needed"

Output: TypeAlias = Annotated[Path | None, typer.Option("--output", "-o", show_default=False, help=(
    "The release file to write, for example patients.nwr."))]
Append: TypeAlias = Annotated[Path | None, typer.Option("--append", show_default=False, help=(
    "Instead of --output: a release file to add this batch to. Schema and terms must be those of the file, its people others."))]
Terms: TypeAlias = Annotated[str | None, typer.Option("--terms", show_default=False, rich_help_panel=CONTENT, help=(
    "More columns for analysts to use, for example \"age:ward + I(age**2)\"."))]
Formula: TypeAlias = Annotated[str | None, typer.Option("--formula", show_default=False, rich_help_panel=CONTENT, help=(
    "With --kind moments, adassp or partition: response and predictors, for example \"stay ~ age + ward\"."))]
TotalEpsilon: TypeAlias = Annotated[float | None, typer.Option(
    "--total-epsilon", show_default=False, rich_help_panel=BUDGET,
    help="With --ledger: begin it, if it is not there, with this total.")]
TotalDelta: TypeAlias = Annotated[float | None, typer.Option("--total-delta", show_default=False, rich_help_panel=BUDGET, help=(
    "With --total-epsilon: the total delta."))]
Parts: TypeAlias = Annotated[int | None, typer.Option("--parts", show_default=False, rich_help_panel=PARTITION, help=(
    "Into how many random parts the table is split. `noisewise plan partition` suggests it."))]
PartPrior: TypeAlias = Annotated[str | None, typer.Option("--prior", show_default=False, rich_help_panel=PARTITION, help=(
    "Of the coefficients in each part: flat (default), \"zellner g=10000\", \"normal-inverse-gamma scale=1 shape=1 rate=1\"."))]
Average: TypeAlias = Annotated[int | None, typer.Option("--average", min=1, show_default=False, rich_help_panel=MORE, help=(
    "Average the rows in random groups of so many, for methods that need nearly normal predictors. It costs precision; the "
    "default method does not need it."))]
Threads: TypeAlias = Annotated[int | None, typer.Option("--threads", min=1, show_default=False, rich_help_panel=MORE, help=(
    "At most so many; by default one per processor."))]
