"""``noisewise audit``: measured lower bounds on epsilon. It reads no confidential rows and spends no budget."""

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
    """One command per kind that can be audited, with the same options as `noisewise release`."""

    rooms = ("command", "audit")

    def command_of(self, kind: type[Kind]) -> Work:
        """Return the audit command of a kind."""
        from noisewise.kinds.registry import module_of

        asked = module_of(kind, "command").asked
        own = parameters(asked)

        def audit(out: Output, **given: object) -> None:
            """Test empirically whether a release keeps its privacy claim: claimed against measured epsilon.

            The audit draws many releases from two made-up neighbouring tables and measures how well an attacker could tell
            the tables apart. That gives a lower bound on epsilon. The exit code is 1 if a bound exceeds the claim.

            Example: noisewise audit -s schema.toml --epsilon 1 --delta 1e-6

            Other kinds of release have their own options: noisewise audit partition --help

            To audit everything (takes minutes): noisewise audit
            """
            work: Work = measure
            work(out, asked(**{name: given.pop(name) for name in own}), **given)

        return guarded(holder=True, options=options(measure, own, "draws"))(audit)


def measure(
    out: Output, kind: Any, *,
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help=(
        "The schema (TOML) of a planned release. Without it, all mechanisms and all kinds are audited."))] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="The epsilon of that release.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="Its delta, if any.")] = None,
    draws: Annotated[int, typer.Option(help="Releases to draw from each table; more give tighter bounds.", min=100)] = 8000,
    confidence: Annotated[float, typer.Option(help="Joint confidence of all bounds in the table.")] = 0.99,
    end_to_end: Annotated[bool, typer.Option("--end-to-end", help=(
        "Make every release from rows, as `noisewise release` does. Slower."))] = False,
    one_run: Annotated[bool, typer.Option("--one-run", help=(
        "Audit a single release of 255 columns with many canaries, at --epsilon and --delta."))] = False,
) -> None:
    """Run the audit and print what it found."""
    import noisewise
    from noisewise.audits.audit import audit_one_run

    if one_run:
        if schema is not None or epsilon is None or delta is None:
            raise typer.BadParameter("--one-run requires --epsilon and --delta, and takes no --schema")
        with out.working("Auditing one release"):
            report = audit_one_run(epsilon=epsilon, delta=delta, confidence=confidence)
    else:
        if schema is None and epsilon is not None:
            raise typer.BadParameter("--epsilon requires --schema")
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
    out.explain("claimed: epsilon, delta. The next two columns are lower bounds on epsilon, jointly valid with "
                f"{100 * report.confidence:g} % confidence: the first for any mechanism, the second (tighter) if the noise has "
                "the claimed distribution. Then an upper bound on the ratio of actual to claimed noise. The last column says "
                "whether the audit would have noticed 0.7 times the noise.")
    for line in report.left_out:
        out.note(f"Skipped because it is slow: {line}.")
    if report.flagged:
        out.warn(f"{len(report.flagged)} of {len(report.findings)} releases have less noise than they claim")
    else:
        out.explain("Nothing contradicts the claims. An audit can find a broken promise; it cannot prove that one is kept.",
                    style="dim")
