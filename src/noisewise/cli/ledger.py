"""``noisewise ledger``: the budget of a table, what has been spent, and whether anyone has altered the record."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.completion import RULES, one_of
from noisewise.cli.files import check_folder, check_results, write_file
from noisewise.cli.guard import FAILED, guarded
from noisewise.cli.options import Force
from noisewise.cli.output import Output, visible
from noisewise.cli.tables import plain_table
from noisewise.errors import BudgetError, ResultError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.privacy.ledger import Ledger

ledger_app = typer.Typer(no_args_is_help=True, help="The privacy budget of a table: open, show and check its ledger.")

Place = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger: a file, or an address postgresql://…")]
Rule = Annotated[str | None, typer.Option(autocompletion=one_of(RULES), help=(
    "How costs add up: gaussian (default with a delta), basic (default without), or planned, if the size of a release never "
    "depends on earlier results."))]


@ledger_app.command("open")
@guarded(holder=True)
def open_(
    out: Output, place: Place,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Total epsilon of the table.")],
    delta: Annotated[float | None, typer.Option("--delta", "-d", help=(
        "Total delta; without it, all releases must be pure epsilon."))] = None,
    rule: Rule = None,
    name: Annotated[str, typer.Option(help="Name of the table, shown with the ledger.")] = "",
) -> None:
    """Start the ledger of a table with the total that may ever be spent on it. The total never changes.

    Example: noisewise ledger open budget.db --epsilon 3 --delta 1e-6 --name patients
    """
    import noisewise

    was_there = there_is(place)
    ledger = noisewise.Ledger.open(place, epsilon=epsilon, delta=delta, rule=rule, name=name)  # type: ignore[arg-type]
    begun = "a ledger," if "://" in place else "an existing ledger," if was_there else "a new ledger,"
    out.heading(f"{ledger.place}: {begun} epsilon {ledger.epsilon:g}, delta {ledger.delta:g}, rule {ledger.rule}",
                style="bold green")
    out.explain("Name it in every release of this table: each is charged to it, and refused if the budget does not cover it.")
    out.suggest(f"noisewise release … --ledger {quote(ledger.place)}")
    out.document(_document(ledger))


@ledger_app.command()
@guarded(holder=True)
def show(
    out: Output, place: Place,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help=(
        "Show what is left for a release with Gaussian noise at this delta. Default: a tenth of the total."))] = None,
    picture: Annotated[Path | None, typer.Option(help="Also plot spending over time (.png, .svg or .pdf).")] = None,
) -> None:
    """Show every charge, their joint cost, and what is left.

    Example: noisewise ledger show budget.db --picture spending.png
    """
    check_results([Path(place)], picture=picture)
    ledger = opened_ledger(place)
    if picture is not None:
        from noisewise.plots.spending import draw_spending

        draw_spending(ledger.table(), ledger.entries()[0].at, ledger.epsilon, ledger.delta, ledger.name, picture)
    document = _document(ledger)
    out.result(_table(ledger))
    out.line(f"Spent: epsilon {ledger.spent().epsilon:.4g} of {ledger.epsilon:g} at delta {ledger.delta:g} (rule {ledger.rule}).")
    if ledger.delta > 0:
        each = ledger.delta / 10 if delta is None else delta
        left = ledger.remaining(each)
        document["remaining"]["gaussian"] = {"delta": each, "epsilon": left}
        out.line(f"Left for one more release with Gaussian noise and delta {each:g}: epsilon {left:.4g}.")
    out.line(f"Left for one more release with Laplace noise: epsilon {document['remaining']['laplace']:.4g}.")
    out.line(f"Last digest: {document['last_digest']}")
    out.explain("Keep this digest elsewhere, with the date. Given as --anchor, it lets noisewise ledger verify detect whether "
                "anyone has cut off or rewritten what is recorded today.")
    count = len(ledger.unfinished())
    if count:
        out.note(f"Note: {count} {'charge has' if count == 1 else 'charges have'} no file; see noisewise ledger recover.")
    out.document(document)


@ledger_app.command()
@guarded(holder=True)
def verify(
    out: Output, place: Place,
    anchor: Annotated[str | None, typer.Option(help=(
        "A digest that noisewise ledger show printed earlier, kept elsewhere."))] = None,
) -> None:
    """Check that no entry was changed, removed or inserted, and that the total was not exceeded.

    The exit code is 1 if anything is wrong.

    Example: noisewise ledger verify budget.db
    """
    ledger = opened_ledger(place)
    with out.working("Checking every entry"):
        found = ledger.verify(anchor)
    for words in found:
        out.warn(words)
    if not found:
        out.line(f"{ledger.place}: {len(ledger.entries())} entries, all as they were written.", style="bold green")
        if anchor is None:
            out.explain("Only --anchor can show whether the last entries were cut off.")
    out.document({"ledger": ledger.place, "problems": found})
    if found:
        raise typer.Exit(FAILED)


@ledger_app.command()
@guarded(holder=True)
def recover(out: Output, place: Place) -> None:
    """List releases that were charged but never completed, and say what to do.

    Example: noisewise ledger recover budget.db
    """
    ledger = opened_ledger(place)
    unfinished = ledger.unfinished()
    if not unfinished:
        out.line("Every charge has its file; noisewise ledger file restores it.", style="bold green")
    for entry in unfinished:
        out.line(f"entry {entry.number}, {entry.at}, {entry.who}: {entry.description} (epsilon {entry.spending.epsilon:g}, "
                 f"delta {entry.spending.delta:g})")
    if unfinished:
        out.explain("Their budget was charged, but the process ended before the release was recorded: it was stopped, the "
                    "machine went down or the disk was full. Or it is still running. noisewise has handed out nothing. Noise may "
                    "already have been drawn, so the budget stays spent. If you request the release again, it is charged again.")
    out.document({"ledger": ledger.place, "unfinished": [asdict(entry) for entry in unfinished]})


@ledger_app.command()
@guarded(holder=True)
def export(
    out: Output, place: Place,
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSON file to write.")],
    force: Force = False,
) -> None:
    """Write all entries to a JSON file for auditors. It contains digests of the release files, not the files.

    Example: noisewise ledger export budget.db -o budget.json
    """
    _check_target(output, place, force)
    ledger = opened_ledger(place)
    write_file(output, ledger.export_text())
    out.heading(f"Wrote {output}", style="bold green")
    out.document({"ledger": ledger.place, "file": output, "entries": len(ledger.entries())})


@ledger_app.command()
@guarded(holder=True)
def file(
    out: Output, place: Place,
    entry: Annotated[int, typer.Argument(metavar="ENTRY", help="Number of the charge in noisewise ledger show.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write it, for example patients.nwr.")],
    force: Force = False,
) -> None:
    """Restore a release file, byte for byte. This costs nothing.

    Example: noisewise ledger file budget.db 2 -o patients.nwr
    """
    _check_target(output, place, force)
    write_file(output, opened_ledger(place).file(entry))
    out.heading(f"Wrote {output}", style="bold green")
    out.document({"ledger": place if "://" not in place else "", "entry": entry, "file": output})


def there_is(place: str) -> bool:
    """True if the file exists. A ledger on a server is assumed to exist."""
    return "://" in place or Path(place).exists()


def opened_ledger(place: str) -> Ledger:
    """Open an existing ledger."""
    import noisewise

    if not there_is(place):
        raise BudgetError("the ledger does not exist", found=place, remedy=(
            f"check the path, or start a ledger with its total budget: noisewise ledger open {quote(place)} --epsilon 3"))
    return noisewise.Ledger.open(place)


def _check_target(output: Path, place: str, force: bool) -> None:
    if output.is_dir() or (output.exists() and (not force or output.resolve() == Path(place).resolve())):
        raise ResultError("the output must not replace a file or folder", found=str(output),
                          remedy="choose another name, or replace a file with --force")
    check_folder(output, ResultError)


def _document(ledger: Ledger) -> dict[str, Any]:
    entries = ledger.entries()
    return {"ledger": ledger.place, "name": ledger.name, "epsilon": ledger.epsilon, "delta": ledger.delta, "rule": ledger.rule,
            "spent": asdict(ledger.spent()) | {"epsilon": ledger.spent().epsilon}, "remaining": {"laplace": ledger.remaining()},
            "charges": ledger.table(), "last_digest": entries[-1].digest, "entries": len(entries)}


def _table(ledger: Ledger) -> Table:
    table = plain_table(title=visible(f"{ledger.name or ledger.place}: epsilon {ledger.epsilon:g}, delta {ledger.delta:g}"))
    for heading in ("entry", "when (UTC)", "who", "what", "about"):
        table.add_column(heading, overflow="fold")
    for heading in ("epsilon", "delta", "together"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("file")
    for row in ledger.table():
        words = (visible(str(row[name])) for name in ("who", "what", "about"))
        together = "" if math.isnan(row["together"]) else f"{row['together']:.4g}"
        table.add_row(str(row["entry"]), str(row["at"]).removesuffix("+00:00").replace("T", " "), *words, f"{row['epsilon']:g}",
                      f"{row['delta']:g}", together, str(row["file"])[:8] or "none")
    return table
