"""``noisewise doctor``: whether this installation does what it should, line by line."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from noisewise.cli.guard import FAILED, guarded
from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from noisewise.cli.doctor_checks import Finding

STYLES: Final = {"ok": "green", "warning": "yellow", "problem": "bold red"}


@guarded(holder=False)
def doctor(
    context: typer.Context,
    ledger: Annotated[str | None, typer.Option(help="Also see whether files can be locked in the folder of this ledger; by "
                                               "default in the present folder.", show_default=False)] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Check this installation: versions, JAX, privacy noise, ledgers, and a tiny release and fit.

    It takes some seconds, reads no table, spends nothing and needs no network.
    The exit code is 1 if there is a problem. With --quiet only warnings and problems are shown.

    Example: noisewise doctor --ledger budget.db
    """
    talk = Talk.of(context)
    from noisewise.cli.doctor_checks import all_checks

    findings = []
    checks = all_checks(ledger)
    while True:
        with talk.working("Checking"):
            finding = next(checks, None)
        if finding is None:
            break
        findings.append(finding)
        _tell(talk, finding)
    count = Counter(finding.state for finding in findings)
    if not talk.quiet:
        talk.line()
        talk.line(f"{len(findings)} checks: {_number(count['problem'], 'problem')}, {_number(count['warning'], 'warning')}.",
                  style=STYLES["problem" if count["problem"] else "warning" if count["warning"] else "ok"])
    talk.document({"checks": [asdict(finding) for finding in findings], "problems": count["problem"],
                   "warnings": count["warning"]})
    if count["problem"]:
        raise typer.Exit(FAILED)


def _tell(talk: Talk, finding: Finding) -> None:
    if talk.quiet and finding.state == "ok":
        return
    talk.labelled(f"{finding.state:<8} ", STYLES[finding.state], f"{finding.name}: {finding.found}")
    if finding.remedy:
        talk.labelled("         ", "dim", f"remedy: {finding.remedy}")


def _number(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
