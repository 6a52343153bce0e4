"""``noisewise plan budget``: the cost of a list of releases, before any budget is spent. Reads no rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, cast

import typer

from noisewise.cli.completion import RULES as RULE_NAMES
from noisewise.cli.completion import one_of
from noisewise.cli.guard import guarded
from noisewise.cli.ledger import opened_ledger
from noisewise.cli.output import Output, visible
from noisewise.cli.tables import plain_table
from noisewise.errors import PrivacyError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.planning.budget import Intended
    from noisewise.privacy.accounting import Rule as RuleName


@guarded(holder=True)
def budget(
    out: Output,
    releases: Annotated[list[str], typer.Option("--release", "-r", help=(
        "[COUNT*]KIND:EPSILON[:DELTA]\\[@NAME=VALUE], where KIND is gaussian, adassp, laplace, wishart or pure (bounds). With ? "
        "as epsilon, the largest possible one is found. May be repeated."))],
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="Total epsilon.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="Total delta.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Instead of a total: a ledger, with its total and charges.")] = None,
    rule: Annotated[str | None, typer.Option(autocompletion=one_of(RULE_NAMES), help=(
        "How costs add up: planned (default), if the size of a release never depends on earlier results; otherwise gaussian or "
        "basic."))] = None,
) -> None:
    """Price planned releases, or find how large they may be. Reads no data and spends nothing.

    Example, to find the epsilon of each of five releases under a total of (3, 1e-6):
    noisewise plan budget -e 3 -d 1e-6 --release "5*gaussian:?:1e-7"
    """
    from noisewise.planning.budget import Intended, solved, together
    from noisewise.privacy.accounting import RULES

    if (ledger is None) == (epsilon is None) or (ledger is not None and (delta is not None or rule is not None)):
        raise typer.BadParameter("give either a total (--epsilon, --delta) or a --ledger",
                                 param_hint="'--epsilon' / '-e'")
    if rule is not None and rule not in RULES:
        raise PrivacyError("unknown rule", argument="rule", found=repr(rule), known=RULES)
    opened = None if ledger is None else opened_ledger(ledger)
    total, total_delta = (epsilon or 0.0, delta or 0.0) if opened is None else (opened.epsilon, opened.delta)
    chosen = cast("RuleName", rule or "planned") if opened is None else opened.rule
    spent = [] if opened is None else opened.charges()
    if not (0 < total < math.inf and 0 <= total_delta < 1):
        raise PrivacyError("a total budget needs epsilon > 0 and 0 <= delta < 1",
                           found=f"epsilon {total}, delta {total_delta}", remedy="for example --epsilon 3 --delta 1e-6")
    intended = solved([Intended.parse(text) for text in releases], total, total_delta, chosen, spent)
    found = {name: together(intended, total_delta, cast("RuleName", name), spent).epsilon for name in RULES}
    covered = found[chosen] <= total
    out.result(_table(intended))
    for name, value in found.items():
        words = f"epsilon {value:.4g}" if math.isfinite(value) else "no epsilon is enough"
        out.line(f"Together at delta {total_delta:g}, rule {name}: {words}" + (" ← this one applies" if name == chosen else ""))
    out.line(f"{'Within' if covered else 'More than'} the total of epsilon {total:g}.",
             style="bold green" if covered else "bold red")
    out.explain("The rule planned requires a list that is fixed in advance. If the size of a release depends on earlier "
                "results, only basic and gaussian hold.")
    out.explain("Nothing was read and nothing was spent."
                + ("" if opened is None else " The charges in the ledger are counted."))
    out.document({"epsilon": total, "delta": total_delta, "rule": chosen, "covered": covered, "together": found,
                  "releases": [{"kind": one.kind, "count": one.count, "epsilon": one.epsilon, "delta": one.delta,
                                "stratum": dict(one.stratum)} for one in intended]})


def _table(intended: list[Intended]) -> Table:
    table = plain_table(None, "releases", "epsilon", "delta", wrap=True)
    for heading in ("kind", "about"):
        table.add_column(heading)
    for one in intended:
        about = visible(", ".join(f"{name} {value}" for name, value in one.stratum)) or "everyone"
        assert one.epsilon is not None
        table.add_row(str(one.count), f"{math.floor(one.epsilon * 1e4) / 1e4:g}" if one.epsilon > 1e-3 else f"{one.epsilon:.4g}",
                      f"{one.delta or 0:g}", one.kind, about)
    return table
