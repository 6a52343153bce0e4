"""Assemble the commands. Heavy imports stay inside the commands so that ``--help`` is fast."""

from __future__ import annotations

from typing import Annotated

import typer

from noisewise.cli.answer import answer
from noisewise.cli.audit import AuditCommands
from noisewise.cli.bounds import bounds
from noisewise.cli.check import check
from noisewise.cli.commands import Commands, arrange
from noisewise.cli.compare import compare
from noisewise.cli.completion import install_completion, show_completion
from noisewise.cli.demo import demo
from noisewise.cli.doctor import doctor
from noisewise.cli.estimate import estimate
from noisewise.cli.fit.command import fit
from noisewise.cli.hypothesis_test import hypothesis_test
from noisewise.cli.ledger import ledger_app
from noisewise.cli.options import Quiet, Traceback, about_messages
from noisewise.cli.output import Output
from noisewise.cli.plan.budget import budget
from noisewise.cli.plan.gram import gram
from noisewise.cli.plan.model import model
from noisewise.cli.plan.moments import moments
from noisewise.cli.plan.partition import partition
from noisewise.cli.plan.power import power
from noisewise.cli.plan.rows import rows
from noisewise.cli.release.common import ReleaseCommands
from noisewise.cli.report import report
from noisewise.cli.reproduce import reproduce
from noisewise.cli.schema import schema_app
from noisewise.cli.show import show
from noisewise.cli.synthesize import synthesize

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,  # we define our own options below
    pretty_exceptions_enable=False,  # pretty tracebacks print local variables, which may hold rows
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from noisewise import __version__

        typer.echo(f"noisewise {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    quiet: Quiet = False, traceback: Traceback = False,
    version: Annotated[bool, about_messages("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    install: Annotated[bool, about_messages("--install-completion", callback=install_completion, is_eager=True, help=(
        "Install tab completion for the current shell."))] = False,
    show_script: Annotated[bool, about_messages("--show-completion", callback=show_completion, is_eager=True, help=(
        "Print the completion script instead of installing it."))] = False,
) -> None:
    """Differentially private Bayesian regression.

    A data holder releases a small noisy summary of a table once.
    Anyone can then fit regressions to it, with intervals that account for the noise.

    New here? Try: noisewise demo
    """
    context.obj = Output(quiet=quiet, traceback=traceback)


plan_app = typer.Typer(no_args_is_help=True, help="Plan a release before spending any budget: noise, cost and power.")
for one in (model, moments, rows, partition, power, gram, budget):
    plan_app.command()(one)

for one in (demo, doctor, bounds, show, answer, fit, check, compare, estimate, report, reproduce, synthesize):
    app.command()(one)
app.command("hypothesis-test")(hypothesis_test)
app.add_typer(schema_app, name="schema")
app.add_typer(plan_app, name="plan")
app.add_typer(ledger_app, name="ledger")
app.add_typer(typer.Typer(), name="release", cls=ReleaseCommands, no_args_is_help=True,
              help="Release a noisy summary of a table once, for many analyses.")
app.add_typer(typer.Typer(), name="audit", cls=AuditCommands, help="Test empirically whether releases keep their privacy claims.")
arrange(app)
