"""Shared by every kind of release: the options, the order of the work, and the messages.

All checks come before the budget is spent. A release that was paid for is never lost.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from noisewise.cli.commands import KindCommands, options
from noisewise.cli.files import check_batch_target, check_release_target, open_rows
from noisewise.cli.guard import Work, guarded, parameters
from noisewise.cli.ledger import opened_ledger
from noisewise.cli.options import (
    Append,
    Data,
    Edition,
    Epsilon,
    Force,
    LedgerPlace,
    NewFile,
    NoiseDelta,
    OutputFile,
    QueryText,
    SchemaFile,
    Threads,
    TotalDelta,
    TotalEpsilon,
    TrustQuery,
)
from noisewise.cli.output import Output
from noisewise.cli.program import WORDS, why_stopped
from noisewise.errors import ReleaseError, ReleaseWriteError

if TYPE_CHECKING:
    from noisewise.holder.watched_ledger import WatchedLedger
    from noisewise.kinds import Kind
    from noisewise.releases.release import Release

Kept = TypeVar("Kept")


class ReleaseCommands(KindCommands):
    """One command per kind of release."""

    def command_of(self, kind: type[Kind]) -> Work:
        """Return the release command of a kind, with the options of that kind."""
        from noisewise.kinds.registry import module_of

        module = module_of(kind, "command")
        own = parameters(module.asked)

        def release(out: Output, **given: Any) -> None:
            make(out, module, {name: given.pop(name) for name in own}, **given)

        release.__doc__ = module.asked.__doc__
        alone = {} if kind.holders else {"append": None, "output": OutputFile}
        delta = {"delta": module.DELTA} if hasattr(module, "DELTA") else {}
        return guarded(holder=True, options=options(make, own, "ledger", **alone, **delta))(release)


def make(out: Output, module: ModuleType, asked: Mapping[str, object], *, data: Data, schema: SchemaFile, epsilon: Epsilon,
         delta: NoiseDelta = None, output: NewFile = None, append: Append = None, ledger: LedgerPlace = None,
         total_epsilon: TotalEpsilon = None, total_delta: TotalDelta = None, edition: Edition = "", query: QueryText = None,
         trust_query: TrustQuery = False, threads: Threads = None, force: Force = False) -> None:
    """Check everything, make the release, write it, and describe it."""
    import noisewise

    target = _target(output, append, force)
    declared = noisewise.Schema.load(schema)
    kind: Kind = module.asked(**asked)
    if hasattr(module, "check"):
        module.check(kind, declared, **asked)
    if append is None:
        check_release_target(target, force=force, room=kind.room(declared))
    else:
        check_batch_target(target, kind, declared)
    budget = open_budget(out, ledger, edition, total_epsilon, total_delta)
    made = noisewise.release(
        open_rows(data, query, trust_query), declared, kind, epsilon=epsilon, delta=delta, ledger=budget,
        edition=edition or ("" if append is None or budget is None else next_batch(target)),
        to=target if kind.needs_file else None, run=out.run(threads))
    if append is None:
        if not kind.needs_file:
            kept(made, target, lambda: made.save(target))
        tell_made(out, f"Wrote {target}", made)
        module.tell(out, made, target)
        out.document({"file": target, **made.facts()})
    else:
        _add(out, made, target, budget)
    if delta is None and hasattr(module, "saving"):
        out.note(f"Note: no --delta was given, so the guarantee is pure epsilon.{module.saving(made)}")
    spent, rows = made.contents.delta, made.contents.rows
    if spent and rows and spent > 1 / rows:  # such a delta would permit publishing someone's row unchanged
        out.warn(f"delta is larger than 1/{rows}, one over the number of rows, which protects each row only weakly",
                 ("remedy", "next time, choose a smaller --delta, for example 1e-6"))
    tell_spent(out, budget)


def _target(output: Path | None, append: Path | None, force: bool) -> Path:
    """Return the file to write, from --output or --append."""
    target = output if append is None else append
    if target is None or (output is not None and append is not None):
        raise typer.BadParameter("give either --output, for a new file, or --append, for an existing one",
                                 param_hint="'--output' / '-o'")
    if append is not None and force:
        raise typer.BadParameter("not allowed with --append, which replaces nothing", param_hint="'--force'")
    return target


def _add(out: Output, made: Release, target: Path, budget: WatchedLedger | None) -> None:
    """Add a batch to the file, and print what it then contains."""
    from noisewise.releases.batches import append

    refuse_batch_twice(target, made, budget)
    together = kept(made, target, lambda: append(target, made))
    tell_made(out, f"Added a batch to {target}, which now holds {together.holders}", made)
    out.explain("Each person must be in one batch only. For someone in several batches, the epsilons and deltas add up.")
    out.explain("This batch is no longer needed: its rows may be erased now.")
    out.suggest(f"noisewise show {quote(str(target))}")
    out.document({"file": target, **together.facts()})


def kept(made: Release, target: Path, write: Callable[[], Kept]) -> Kept:
    """Write the release. If that fails, rescue it to the temporary folder, since its budget is spent."""
    try:
        return write()
    except (Exception, KeyboardInterrupt) as error:  # whatever happens, the release must not be lost
        rule = "the release could not be written to its target, so it was saved elsewhere; its budget is spent"
        try:
            rescue = Path(tempfile.mkdtemp(prefix="noisewise-")) / (target.stem + ".nwr")
            made.save(rescue)
            remedy = f"move it to a safe place: {rescue}"
        except (OSError, ReleaseError):
            rule = "the release could be written neither to its target nor to the temporary folder; its budget is spent"
            remedy = ("if you gave --ledger, free some disk space and repeat the request, which costs nothing; otherwise the "
                      "release is lost")
        reason = WORDS[why_stopped()] if isinstance(error, KeyboardInterrupt) else type(error).__name__
        found = f"{error.rule}: {error.found}" if isinstance(error, ReleaseError) else reason
        raise ReleaseWriteError(rule, found=found, remedy=remedy) from error


def tell_made(out: Output, headline: str, made: Release) -> None:
    """Print what was done, and describe the release."""
    out.heading(headline, style="bold green")
    if not out.quiet:
        out.text(made.describe())
    out.explain()


def tell_fit(out: Output, target: Path, what: str, formula: str, more: str = "") -> None:
    """Print how to fit a model to the release."""
    out.explain("This file may be given to anyone. Releasing the same rows again costs privacy again: the epsilons add up.")
    out.explain(f"Anyone who has the file can now fit {what}:")
    out.suggest(f"noisewise fit {quote(str(target))} {quote(formula)}{more}")


def open_budget(out: Output, place: str | None, edition: str, epsilon: float | None = None,
                delta: float | None = None) -> WatchedLedger | None:
    """Open the ledger, if one was named. If a total was given, start it if it does not exist."""
    import noisewise
    from noisewise.holder.watched_ledger import WatchedLedger
    from noisewise.privacy.ledger.store import Store

    if place is None:
        if epsilon is not None or delta is not None or edition:
            raise typer.BadParameter("required with --total-epsilon, --total-delta and --edition", param_hint="'--ledger'")
        return None
    if epsilon is None and delta is None:
        return WatchedLedger(opened_ledger(place))
    is_new = not Store(place).exists()
    ledger = noisewise.Ledger.open(place, epsilon=epsilon, delta=delta)
    if is_new:  # a mistyped path would give the same rows a second budget
        where = ledger.place if "://" in place else Path(place).absolute()
        out.announce(f"Started a new ledger at {where}: total epsilon {ledger.epsilon:g}, delta {ledger.delta:g}. This "
                     "release is charged to it. If the table already has a ledger, the spending of both adds up: keep both, "
                     "and use the old one from now on.")
    return WatchedLedger(ledger)


def tell_spent(out: Output, budget: WatchedLedger | None,
               repeated: str = "the same release was made before, and was written again") -> None:
    """Print what has been spent. ``repeated`` is the message for an answer that came from the ledger."""
    if budget is None:
        return
    if not budget.completed:
        out.warn(f"{repeated}; no row was used and nothing was spent",
                 ("remedy", "if the rows have changed, give a new --edition"))
    out.note(f"{budget.place}: epsilon {budget.spent().epsilon:.4g} of {budget.epsilon:g} at delta {budget.delta:g} is spent. "
             f"See: noisewise ledger show {quote(budget.place)}")


def refuse_batch_twice(target: Path, made: Release, budget: WatchedLedger | None) -> None:
    """Refuse a batch from the ledger that is already in the file, where it would count as other people."""
    import noisewise

    if budget is not None and not budget.completed and made.contents in noisewise.load(target).contributions:
        raise ReleaseError("the ledger returned an earlier release, and the file already contains it",
                           found=str(target), remedy="if the rows are new, give a new --edition; nothing was spent")


def next_batch(target: Path) -> str:
    """Return the edition of the next batch: its number in the file, so that no two batches count as the same request."""
    import noisewise

    return f"batch {noisewise.load(target).holders + 1}"
