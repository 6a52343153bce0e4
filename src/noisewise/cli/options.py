"""Options that several commands share, and the panels of ``--help`` that they stand in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from noisewise.cli.completion import KINDS, MECHANISMS, one_of

TABLE: Final = "The table: Parquet (file, folder or pattern), CSV, or spark:NAME, a table or files of Spark."

MESSAGES: Final = "Output and help"
BUDGET: Final = "Budget"
ROWS: Final = "Rows from a database"
RESULTS: Final = "Results"
SAMPLING: Final = "Sampling"

AsJson = Annotated[bool, typer.Option("--json", rich_help_panel=MESSAGES,
                                      help="Print one JSON document and nothing else on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", rich_help_panel=MESSAGES,
                                     help="Results, warnings and errors only.")]
Traceback = Annotated[bool, typer.Option("--traceback", rich_help_panel=MESSAGES,
                                         help="Show Python's traceback when something goes wrong.")]
Force = Annotated[bool, typer.Option("--force", rich_help_panel=MESSAGES,
                                     help="Replace the output file if it exists.")]

Data: TypeAlias = Annotated[str, typer.Argument(metavar="DATA", help=TABLE, show_default=False)]
SchemaFile: TypeAlias = Annotated[Path, typer.Option("--schema", "-s", help="The public declarations (TOML).",
                                                     show_default=False)]
Epsilon: TypeAlias = Annotated[float, typer.Option("--epsilon", "-e", help="How much privacy may be spent, for example 1.",
                                                   show_default=False)]
PlannedEpsilon: TypeAlias = Annotated[float, typer.Option("--epsilon", "-e", help="The epsilon to plan for, for example 1.",
                                                          show_default=False)]
PlannedDelta: TypeAlias = Annotated[float, typer.Option("--delta", "-d", help="The delta to plan for, for example 1e-6.",
                                                        show_default=False)]
NoiseDelta: TypeAlias = Annotated[float | None, typer.Option("--delta", "-d", show_default=False, help=(
    "With it Gaussian noise, for example 1e-6; without it Laplace noise and pure epsilon."))]
Mechanism: TypeAlias = Annotated[str | None, typer.Option(
    "--mechanism", show_default=False, autocompletion=one_of(MECHANISMS), rich_help_panel="What is released",
    help="gaussian, laplace, wishart or wishart-paper; by default as --delta says. `noisewise plan gram` compares them.")]
Kind: TypeAlias = Annotated[str, typer.Option(
    "--kind", autocompletion=one_of(KINDS), rich_help_panel="What is released",
    help="gram serves every formula; moments logistic, probit and Poisson regressions of the response of --formula; adassp only "
         "--formula, by a point estimate; partition answers questions about --formula and needs no bounds; microdata publishes "
         "rows, with far more noise.")]

LedgerPlace: TypeAlias = Annotated[str | None, typer.Option(
    "--ledger", show_default=False, rich_help_panel=BUDGET,
    help="The budget ledger of this table: it is charged before anything is drawn, and answers a repeated request with what was "
         "made before.")]
Edition: TypeAlias = Annotated[str, typer.Option(
    "--edition", show_default=False, rich_help_panel=BUDGET,
    help="With --ledger: says that the rows are others than last time, for example 2026-05; otherwise the same request is "
         "answered from the ledger.")]

Seed: TypeAlias = Annotated[int | None, typer.Option("--seed", min=0, show_default=False, rich_help_panel=SAMPLING,
                                                     help="Makes the draws reproducible.")]
Interval: TypeAlias = Annotated[float, typer.Option("--interval", rich_help_panel=RESULTS,
                                                    help="The probability that an interval holds.")]
Picture: TypeAlias = Annotated[Path | None, typer.Option("--plot", show_default=False, rich_help_panel=RESULTS,
                                                         help="Write a picture (.png, .svg or .pdf).")]
Csv: TypeAlias = Annotated[Path | None, typer.Option("--csv", show_default=False, rich_help_panel=RESULTS,
                                                     help="Write the table as CSV.")]
