"""The ledger that a release is charged to on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from noisewise.cli.ledger import opened_ledger
from noisewise.cli.talk import Talk
from noisewise.errors import ReleaseError

if TYPE_CHECKING:
    from noisewise.privacy.cost import Cost
    from noisewise.privacy.ledger import Ledger
    from noisewise.release import Release


class Budget:
    """A ledger that remembers whether this command has spent anything."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.completed = False

    def earlier(self, request: str) -> bytes | None:
        return self.ledger.earlier(request)

    def charge(self, cost: Cost, *, description: str, request: str, partition: Mapping[str, str], neighbours: str) -> int:
        return self.ledger.charge(cost, description=description, request=request, partition=partition, neighbours=neighbours)

    def complete(self, entry: int, content: bytes) -> None:
        self.ledger.complete(entry, content)
        self.completed = True

    def tell(self, talk: Talk, repeated: str = "the same release was made before: that one was written") -> None:
        """What it cost, and what is spent now; ``repeated`` is said of an answer that the ledger had."""
        if not self.completed:
            talk.warn(f"{repeated}, no row was used and nothing was spent",
                      ("remedy", "if the rows are others now, give another --edition"))
        talk.note(f"{self.ledger.place}: epsilon {self.ledger.spent().epsilon:.4g} of {self.ledger.epsilon:g} at delta "
                  f"{self.ledger.delta:g} is spent. See: noisewise ledger show {quote(self.ledger.place)}")


def open_budget(talk: Talk, place: str | None, edition: str, epsilon: float | None = None,
                delta: float | None = None) -> Budget | None:
    """The ledger that was named, begun if a total was given; none if none was named."""
    import noisewise
    from noisewise.privacy.ledger.store import Store

    if place is None:
        if epsilon is not None or delta is not None or edition:
            raise typer.BadParameter("a total budget and an edition go with a --ledger", param_hint="'--ledger'")
        return None
    if epsilon is None and delta is None:
        return Budget(opened_ledger(place))
    is_new = not Store(place).exists()
    ledger = noisewise.Ledger.open(place, epsilon=epsilon, delta=delta)
    if is_new:  # a mistyped path would be another budget for the same rows
        where = ledger.place if "://" in place else Path(place).absolute()
        talk.announce(f"A new ledger was begun at {where}: epsilon {ledger.epsilon:g}, delta {ledger.delta:g} in all. This "
                      "release is charged to it. If the table has another ledger too, what both say is spent adds up: keep both, "
                      "and give the path of the old one from now on.")
    return Budget(ledger)


def refuse_batch_twice(target: Path, made: Release, budget: Budget | None) -> None:
    """A batch that came from the ledger may be in the file already; twice it would count as other people."""
    from noisewise.release.files import load_matrices

    if budget is not None and not budget.completed and any(part in load_matrices(target).parts for part in made.parts):
        raise ReleaseError("this batch is in the file already: the ledger has answered with the release that was made before",
                           found=str(target), remedy="if the rows are others, give an --edition of their own; nothing was spent")


def next_batch(target: Path) -> str:
    """The edition of a batch: how many are in the file with it, so that no two batches are taken for the same request."""
    from noisewise.release.files import load_matrices

    return f"batch {load_matrices(target).holders + 1}"
