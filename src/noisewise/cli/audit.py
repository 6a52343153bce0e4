"""``noisewise audit``: lower bounds on epsilon, measured from outside. No confidential row is read and nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.guard import FAILED, guarded
from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.questions import Ask, read_questions
from noisewise.cli.release_microdata import Copies
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.privacy.audit import AuditReport


@guarded(holder=True)
def audit(
    context: typer.Context,
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="The public declarations (TOML) of a release that is "
                                                "planned. Without it every mechanism and every kind of release is audited.",
                                                show_default=False)] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="The epsilon of that release.",
                                                  show_default=False)] = None,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="Its delta, if it has one.", show_default=False)] = None,
    mechanism: Annotated[str | None, typer.Option(help="gaussian, laplace, wishart or wishart-paper; by default as --delta says.",
                                                  show_default=False)] = None,
    kind: Annotated[str, typer.Option(help="gram; moments or adassp with a --formula; partition with a --formula, --parts and "
                                      "--ask; microdata; or bounds.")] = "gram",
    terms: Annotated[str | None, typer.Option(help="More columns of the release, for example \"age:ward + I(age**2)\".",
                                              show_default=False)] = None,
    formula: Annotated[str | None, typer.Option(help="With --kind moments, adassp or partition: what for.",
                                                show_default=False)] = None,
    parts: Annotated[int | None, typer.Option(help="With kind partition: how many random parts.", show_default=False)] = None,
    ask: Ask = None,
    average: Annotated[int | None, typer.Option(help="Rows are averaged in groups of so many.", min=1,
                                                show_default=False)] = None,
    copies: Copies = None,
    draws: Annotated[int, typer.Option(help="How many releases are drawn of each; more say more.", min=100)] = 8000,
    confidence: Annotated[float, typer.Option(help="All bounds of the table hold together with this probability.")] = 0.99,
    end_to_end: Annotated[bool, typer.Option("--end-to-end", help="Make every release from rows, as `noisewise "
                                             "release` does. It takes longer.")] = False,
    one_run: Annotated[bool, typer.Option("--one-run", help="Audit a single release of 255 columns with many "
                                          "canaries, at --epsilon and --delta.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Measure what a release really promises, from outside: claimed against measured epsilon.

    A release is drawn many times from two made-up tables that it should be unable to tell apart.
    How well they can be told apart is a lower bound on epsilon. The exit code is 1 if a bound is above the claim.

    Example: noisewise audit -s schema.toml --epsilon 1 --delta 1e-6

    Everything, in some minutes: noisewise audit
    """
    talk = Talk.of(context)
    report = _report(schema, epsilon, delta, one_run, talk, kind=kind, mechanism=mechanism, terms=terms, formula=formula,
                     average=average, copies=copies, parts=parts, ask=ask, draws=draws, confidence=confidence,
                     end_to_end=end_to_end)
    talk.result(_table(report))
    _explain(talk, report)
    talk.document({"confidence": report.confidence, "findings": report.rows(), "left_out": list(report.left_out)})
    if report.flagged:
        raise typer.Exit(FAILED)


def _report(schema: Path | None, epsilon: float | None, delta: float | None, one_run: bool, talk: Talk, *, kind: str,
            mechanism: str | None, terms: str | None, formula: str | None, average: int | None, copies: int | None,
            parts: int | None, ask: list[str] | None, draws: int, confidence: float, end_to_end: bool) -> AuditReport:
    import noisewise
    from noisewise.holder.audit import audit_one_run

    if one_run:
        if schema is not None or epsilon is None or delta is None:
            raise typer.BadParameter("--one-run takes --epsilon and --delta, and makes up its own schema")
        with talk.working("Auditing one release"):
            return audit_one_run(epsilon=epsilon, delta=delta, confidence=confidence)
    if schema is None and epsilon is not None:
        raise typer.BadParameter("--epsilon goes with the --schema of a release")
    declared = None if schema is None else noisewise.Schema.load(schema)
    return noisewise.audit(declared, epsilon=epsilon, delta=delta, kind=kind, mechanism=mechanism, terms=terms, formula=formula,
                           average=average, copies=copies, parts=parts, questions=read_questions(ask), draws=draws,
                           confidence=confidence, end_to_end=end_to_end, progress=talk.progress)


def _table(report: AuditReport) -> Table:
    from noisewise.privacy.audit.report import HEADINGS

    table = plain_table()
    for place, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if place < 3 else "right", style="bold" if place == 0 else None)
    for finding in report.findings:
        table.add_row(*finding.cells(), style="red" if finding.flagged else None)
    return table


def _explain(talk: Talk, report: AuditReport) -> None:
    talk.explain(f"claimed: epsilon, delta. Epsilon is at least as measured, with {100 * report.confidence:g} % confidence for "
                 "all lines together: whatever the mechanism is, and, more sharply, if its noise is of the kind claimed. The "
                 "noise is at most so many times the noise that was promised. Last, would 0.7 times the noise have been noticed?")
    for line in report.left_out:
        talk.note(f"Left out, because it takes long: {line}.")
    if report.flagged:
        talk.warn(f"{len(report.flagged)} of {len(report.findings)} releases have less noise than they promise")
    else:
        talk.explain("Nothing contradicts the claims. An audit can find a broken promise; it cannot prove that one is kept.",
                     style="dim")
