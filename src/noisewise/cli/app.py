"""The commands, put together. Heavy imports are inside the commands, so that ``--help`` answers at once."""

from __future__ import annotations

from typing import Annotated

import typer

from noisewise.cli.answer import answer
from noisewise.cli.audit import audit
from noisewise.cli.bounds import bounds
from noisewise.cli.check import check
from noisewise.cli.compare import compare
from noisewise.cli.completion_scripts import install_completion, show_completion
from noisewise.cli.demo import demo
from noisewise.cli.doctor import doctor
from noisewise.cli.estimate import estimate
from noisewise.cli.fit import fit
from noisewise.cli.help import Commands, arrange
from noisewise.cli.ledger import ledger_app
from noisewise.cli.options import MESSAGES, Quiet, Traceback
from noisewise.cli.plan import plan_app
from noisewise.cli.plan_budget import budget
from noisewise.cli.release import release
from noisewise.cli.report import report
from noisewise.cli.reproduce import reproduce
from noisewise.cli.schema import schema_app
from noisewise.cli.show import show
from noisewise.cli.synthesize import synthesize, synthesize_binary
from noisewise.cli.talk import Switches
from noisewise.cli.test import test

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,  # ours are among the options below
    pretty_exceptions_enable=False,  # they print local variables, which may hold rows
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
    quiet: Quiet = False,
    traceback: Traceback = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, rich_help_panel=MESSAGES,
                                             help="Print the version.")] = False,
    install: Annotated[bool, typer.Option("--install-completion", callback=install_completion, is_eager=True,
                                          rich_help_panel=MESSAGES,
                                          help="Have the tab key complete commands, in the shell in use.")] = False,
    show_script: Annotated[bool, typer.Option("--show-completion", callback=show_completion, is_eager=True,
                                              rich_help_panel=MESSAGES,
                                              help="Print what that would install, to be put elsewhere.")] = False,
) -> None:
    """Differentially private Bayesian regression.

    A data holder releases a small noisy summary of a table, once.
    Anyone can then fit regressions to it, with intervals that account for the noise.

    New here? Try: noisewise demo
    """
    context.obj = Switches(quiet=quiet, traceback=traceback)


app.command()(demo)
app.command()(doctor)
app.add_typer(schema_app, name="schema")
app.command()(bounds)
plan_app.command()(budget)
app.add_typer(plan_app, name="plan")
app.add_typer(ledger_app, name="ledger")
app.command()(release)
app.command(name="synthesize-binary")(synthesize_binary)
app.command()(audit)
app.command()(show)
app.command()(answer)
app.command()(test)
app.command()(fit)
app.command()(check)
app.command()(compare)
app.command()(estimate)
app.command()(report)
app.command()(reproduce)
app.command()(synthesize)
arrange(app)
