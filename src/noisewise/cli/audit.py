"""``noisewise audit``: lower bounds on epsilon, measured from outside. No confidential row is read and nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.commands import KindCommands, options
from noisewise.cli.guard import FAILED, Work, guarded, parameters
from noisewise.cli.output import Output
from noisewise.cli.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.audits import AuditReport
    from noisewise.kinds import Kind


class AuditCommands(KindCommands):
    """A command for each kind of release that can be audited, with the options that `noisewise release` has for it."""

    rooms = ("command", "audit")

    def command_of(self, kind: type[Kind]) -> Work:
        from noisewise.kinds.registry import module_of

        asked = module_of(kind, "command").asked
        own = parameters(asked)

        def audit(out: Output, **given: Any) -> None:
            """Measure what a release really promises, from outside: claimed against measured epsilon.

            A release is drawn many times from two made-up tables that it should be unable to tell apart.
            How well they can be told apart is a lower bound on epsilon. The exit code is 1 if a bound is above the claim.

            Example: noisewise audit -s schema.toml --epsilon 1 --delta 1e-6

            Other kinds of release have their own options: noisewise audit partition --help

            Everything, in some minutes: noisewise audit
            """
            measure(out, asked(**{name: given.pop(name) for name in own}), **given)

        return guarded(holder=True, options=options(measure, own, "draws"))(audit)


def measure(
    out: Output, kind: Any, *,
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help=(
        "The public declarations (TOML) of a release that is planned. Without it every mechanism and every kind of release is "
        "audited."))] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="The epsilon of that release.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="Its delta, if it has one.")] = None,
    draws: Annotated[int, typer.Option(help="How many releases are drawn of each; more say more.", min=100)] = 8000,
    confidence: Annotated[float, typer.Option(help="All bounds of the table hold together with this probability.")] = 0.99,
    end_to_end: Annotated[bool, typer.Option("--end-to-end", help=(
        "Make every release from rows, as `noisewise release` does. It takes longer."))] = False,
    one_run: Annotated[bool, typer.Option("--one-run", help=(
        "Audit a single release of 255 columns with many canaries, at --epsilon and --delta."))] = False,
) -> None:
    """Audit what these options say, and tell what was found."""
    import noisewise
    from noisewise.audits.audit import audit_one_run

    if one_run:
        if schema is not None or epsilon is None or delta is None:
            raise typer.BadParameter("--one-run takes --epsilon and --delta, and makes up its own schema")
        with out.working("Auditing one release"):
            report = audit_one_run(epsilon=epsilon, delta=delta, confidence=confidence)
    else:
        if schema is None and epsilon is not None:
            raise typer.BadParameter("--epsilon goes with the --schema of a release")
        declared = None if schema is None else noisewise.Schema.load(schema)
        report = noisewise.audit(declared, kind, epsilon=epsilon, delta=delta, draws=draws, confidence=confidence,
                                 end_to_end=end_to_end, run=out.run())
    out.result(_table(report))
    _explain(out, report)
    out.document({"confidence": report.confidence, "findings": report.rows(), "left_out": list(report.left_out)})
    if report.flagged:
        raise typer.Exit(FAILED)


def _table(report: AuditReport) -> Table:
    from noisewise.audits.report import HEADINGS

    table = plain_table()
    for place, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if place < 3 else "right", style="bold" if place == 0 else None)
    for finding in report.findings:
        table.add_row(*finding.cells(), style="red" if finding.flagged else None)
    return table


def _explain(out: Output, report: AuditReport) -> None:
    out.explain(f"claimed: epsilon, delta. Epsilon is at least as measured, with {100 * report.confidence:g} % confidence for "
                "all lines together: whatever the mechanism is, and, more sharply, if its noise is of the kind claimed. The "
                "noise is at most so many times the noise that was promised. Last, would 0.7 times the noise have been noticed?")
    for line in report.left_out:
        out.note(f"Left out, because it takes long: {line}.")
    if report.flagged:
        out.warn(f"{len(report.flagged)} of {len(report.findings)} releases have less noise than they promise")
    else:
        out.explain("Nothing contradicts the claims. An audit can find a broken promise; it cannot prove that one is kept.",
                    style="dim")
