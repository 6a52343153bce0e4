"""Options that several commands share, and those of the kinds of release, with their panels in ``--help``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from noisewise.cli.completion import (
    FAMILIES,
    LITERATURE,
    LITERATURE_MECHANISMS,
    MECHANISMS,
    PARTITION_MECHANISMS,
    formula_words,
    one_of,
)

MESSAGES: Final = "Output and help"
SAMPLING: Final = "Sampling"

about_messages: Final = partial(typer.Option, rich_help_panel=MESSAGES)
about_rows: Final = partial(typer.Option, rich_help_panel="Rows from a database")
about_budget: Final = partial(typer.Option, rich_help_panel="Budget")
about_content: Final = partial(typer.Option, rich_help_panel="What is released")
about_results: Final = partial(typer.Option, rich_help_panel="Results")
about_sampling: Final = partial(typer.Option, rich_help_panel=SAMPLING)

ReleaseFiles: TypeAlias = Annotated[list[Path] | None, typer.Argument(metavar="FILE", autocompletion=formula_words, help=(
    "Release files: one, or one from each of several data holders; or a folder of them."))]

AsJson = Annotated[bool, about_messages("--json", help="Print one JSON document and nothing else on standard output.")]
Quiet = Annotated[bool, about_messages("--quiet", "-q", help="Print results, warnings and errors only.")]
Traceback = Annotated[bool, about_messages("--traceback", help="Show Python's traceback when something goes wrong.")]
Force = Annotated[bool, about_messages("--force", help="Replace the output file if it exists.")]

Data: TypeAlias = Annotated[str, typer.Argument(metavar="DATA", help=(
    "The table: Parquet (file, folder or pattern), CSV, or spark:NAME for a Spark table or files."))]
QueryText: TypeAlias = Annotated[str | None, about_rows("--query", help=(
    "The rows to read if DATA is a database (postgresql://server/name or a .duckdb file), for example \"SELECT age, stay "
    "FROM patients\"."))]
TrustQuery: TypeAlias = Annotated[bool, about_rows("--trust-query", help=(
    "Do not check the query. You vouch that each person has no more rows in its result than the schema says, and that they "
    "depend on nobody else."))]
SchemaFile: TypeAlias = Annotated[Path, typer.Option("--schema", "-s", help="The schema: public declarations (TOML).")]
Epsilon: TypeAlias = Annotated[float, typer.Option("--epsilon", "-e", help="Epsilon to spend, for example 1.")]
PlannedEpsilon: TypeAlias = Annotated[float, typer.Option("--epsilon", "-e", help="Epsilon to plan for, for example 1.")]
PlannedDelta: TypeAlias = Annotated[float, typer.Option("--delta", "-d", help="Delta to plan for, for example 1e-6.")]
NeededDelta: TypeAlias = Annotated[float, typer.Option("--delta", "-d", help="Delta of the Gaussian noise, for example 1e-6.")]
NoiseDelta: TypeAlias = Annotated[float | None, typer.Option("--delta", "-d", help=(
    "For Gaussian noise, for example 1e-6. Without it: Laplace noise and pure epsilon."))]
PartitionDelta: TypeAlias = Annotated[float | None, typer.Option("--delta", "-d", help=(
    "For Gaussian noise, for example 1e-6. Without it: k-norm noise and pure epsilon."))]

_release_file: Final = typer.Option("--output", "-o", help="The release file to write, for example patients.nwr.")
OutputFile: TypeAlias = Annotated[Path, _release_file]
NewFile: TypeAlias = Annotated[Path | None, _release_file]
Append: TypeAlias = Annotated[Path | None, typer.Option("--append", help=(
    "Instead of --output: a release file to add this batch to. It must have the same schema and kind, but other people's rows."))]
Threads: TypeAlias = Annotated[int | None, typer.Option("--threads", min=1, rich_help_panel="Seldom needed", help=(
    "Maximum number of threads. Default: one per processor."))]
LedgerPlace: TypeAlias = Annotated[str | None, about_budget("--ledger", help=(
    "The budget ledger of this table. It is charged before any noise is drawn. A repeated request gets the earlier release."))]
TotalEpsilon: TypeAlias = Annotated[float | None, about_budget("--total-epsilon", help=(
    "With --ledger: start the ledger with this total if it does not exist."))]
TotalDelta: TypeAlias = Annotated[float | None, about_budget("--total-delta", help="With --total-epsilon: total delta.")]
Edition: TypeAlias = Annotated[str, about_budget("--edition", help=(
    "With --ledger: a new name, for example 2026-05, says that the rows have changed. Otherwise a repeated request gets the "
    "earlier release."))]

Terms: TypeAlias = Annotated[str | None, about_content("--terms", help=(
    "More columns for analysts, for example \"age:ward + I(age**2)\"."))]
Formula: TypeAlias = Annotated[str, about_content("--formula", help=(
    "Response and predictors, for example \"stay ~ age + ward\"."))]
Family: TypeAlias = Annotated[str, about_content("--family", "-f", autocompletion=one_of(FAMILIES), help=(
    "gaussian for a number, logistic or probit for two levels, poisson or negative-binomial for a count."))]
Rounds: TypeAlias = Annotated[int | None, about_content("--rounds", min=0, help=(
    "Maximum number of rounds that look for the coefficients, before the last one. Default: as many as help, at most 6."))]
StartFile: TypeAlias = Annotated[Path | None, about_content("--start", metavar="FILE", help=(
    "An earlier release of the same model, by another holder or of another year: begin where it ended, in one round."))]
Mechanism: TypeAlias = Annotated[str | None, about_content(
    "--mechanism", autocompletion=one_of((*MECHANISMS, *LITERATURE_MECHANISMS)),
    help=f"{' or '.join(MECHANISMS)} (default: depends on --delta); {LITERATURE}: {', '.join(LITERATURE_MECHANISMS)}. "
         "`noisewise plan gram` compares them.")]
CellMechanism: TypeAlias = Annotated[str | None, about_content("--mechanism", autocompletion=one_of(MECHANISMS), help=(
    f"{' or '.join(MECHANISMS)} (default: depends on --delta)."))]
PartitionMechanism: TypeAlias = Annotated[str | None, about_content(
    "--mechanism", autocompletion=one_of(PARTITION_MECHANISMS),
    help=f"{' or '.join(PARTITION_MECHANISMS)} (default: depends on --delta).")]
Average: TypeAlias = Annotated[int | None, about_content("--average", min=1, help=(
    "Average the rows in random groups of this size, for methods that need nearly normal predictors. This costs precision, and "
    "the default method does not need it."))]
Blocks: TypeAlias = Annotated[list[str] | None, about_content("--block", metavar="NAME=WEIGHT", help=(
    "A block of sums and its weight, for example xx=1; may be repeated. Default: x=1 xx=1 y=0.7 yx=1.5."))]
Parts: TypeAlias = Annotated[int, about_content("--parts", help=(
    "Number of random parts to split the table into. `noisewise plan partition` suggests one."))]
_ask: Final = about_content("--ask", metavar="QUESTION", help=(
    "A question such as \"posterior-probability of=age at=0\", \"posterior-quantile of=age\", \"bayes-factor of=age,ward\" or "
    "\"likelihood-ratio of=age\", or a TOML file with questions, one [\\[questions]] table each; may be repeated."))
Ask: TypeAlias = Annotated[list[str], _ask]
AskIfAny: TypeAlias = Annotated[list[str] | None, _ask]
PartPrior: TypeAlias = Annotated[str | None, about_content("--prior", help=(
    "Prior for the coefficients in each part: flat (default), \"zellner g=10000\" or \"normal-inverse-gamma scale=1 shape=1 "
    "rate=1\"."))]
Copies: TypeAlias = Annotated[int, about_content("--copies", min=1, help=(
    "Publish every row this many times, each time with new noise. The copies share the budget."))]
Shares: TypeAlias = Annotated[list[str] | None, about_content("--share", metavar="COLUMN=WEIGHT", help=(
    "A column's share of the budget, for example age=2 for twice that of the others; may be repeated."))]
Columns: TypeAlias = Annotated[list[str], about_content("--column", "-c", help=(
    "Column to estimate bounds for; may be repeated."))]
Tail: TypeAlias = Annotated[float, about_content("--tail", help="Share of the rows that may lie outside each bound.")]
Digits: TypeAlias = Annotated[int, about_content("--digits", help="Significant digits of the candidate bounds, 1 to 4.")]

Seed: TypeAlias = Annotated[int | None, about_sampling("--seed", min=0, help="Seed for reproducible draws.")]
Interval: TypeAlias = Annotated[float, about_results("--interval", help="Probability level of the intervals.")]
Picture: TypeAlias = Annotated[Path | None, about_results("--plot", help="Write a plot (.png, .svg or .pdf).")]
Csv: TypeAlias = Annotated[Path | None, about_results("--csv", help="Write the table as CSV.")]
