"""`Ledger`: how much of a table's privacy budget is spent, on what, and by whom.

The order of a release is charge, then noise, then file. A charge is on the disk before any noise is drawn, and it counts whatever
happens next: a crash in between costs budget, never privacy.
"""

from __future__ import annotations

import datetime
import getpass
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.errors import BudgetError, PrivacyError
from noisewise.privacy.accounting import Composition, compose, fits, largest_epsilon
from noisewise.privacy.calibration import analytic_gaussian_sigma, check_delta, laplace_scale
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger.entries import Entry, problems
from noisewise.privacy.ledger.populations import Charge, per_person
from noisewise.privacy.ledger.store import Store

if TYPE_CHECKING:
    import pandas


class Ledger:
    """The privacy budget of one confidential table: a total (epsilon, delta), and every release that was charged to it.

    >>> ledger = Ledger.open("budget.db", epsilon=3, delta=1e-6)                    # doctest: +SKIP
    >>> noisewise.release("patients.parquet", schema, epsilon=1, delta=1e-7, ledger=ledger)    # doctest: +SKIP
    >>> ledger.spent().epsilon                                                      # doctest: +SKIP
    """

    def __init__(self, store: Store, epsilon: float, delta: float) -> None:
        self._store = store
        self.epsilon = epsilon
        self.delta = delta

    @classmethod
    def open(cls, place: str | os.PathLike[str], *, epsilon: float | None = None, delta: float | None = None,
             name: str = "") -> Ledger:
        """Open the ledger at a path (SQLite) or an address (``postgresql://…``); with a total budget it is made if need be.

        The total of a ledger never changes. ``name`` says which table it is for.
        """
        store = Store(place)
        if not store.exists():
            if epsilon is None:
                raise BudgetError("there is no ledger here yet, and a new one needs a total budget", found=store.place,
                                  remedy="give epsilon, and delta unless all releases are to be pure")
            total = _total(epsilon, delta)
            store.create()
            with store.writing() as connection:
                if not store.entries(connection):  # another process may have been first
                    first = Entry.following(None, what="opened", at=_now(), who=_who(), description=name, cost=total,
                                            partition={}, request="", of=None, file_digest="")
                    store.add(connection, first)
        found = store.entries()
        if not found or found[0].what != "opened" or found[0].cost is None:
            raise PrivacyError("a ledger begins with its total budget", found=f"{store.place} does not")
        stated = found[0].cost
        asked = {name: value for name, value in (("epsilon", epsilon), ("delta", delta)) if value is not None}
        if any(value != stated[name] for name, value in asked.items()):
            raise BudgetError("the total budget of a ledger never changes",
                              found=f"epsilon {epsilon}, delta {delta}; the ledger has {stated['epsilon']} and {stated['delta']}",
                              remedy="leave them out to open it as it is")
        return cls(store, stated["epsilon"], stated["delta"])

    @property
    def place(self) -> str:
        return self._store.place

    @property
    def name(self) -> str:
        """Which table it is for."""
        return self._store.entries()[0].description

    def entries(self) -> list[Entry]:
        """Everything that was recorded, in order."""
        return self._store.entries()

    def table(self) -> pandas.DataFrame:
        """The charges: when, who, what, epsilon, delta, whether the file was made, and what all up to then cost together."""
        import pandas

        entries = self.entries()
        done = {entry.of: entry.file_digest for entry in entries if entry.what == "released"}
        charges = [entry for entry in entries if entry.what == "charged"]
        costs = [_cost(entry) for entry in charges]
        pairs = _charges(entries)
        return pandas.DataFrame({
            "entry": [entry.number for entry in charges],
            "at": [entry.at for entry in charges],
            "who": [entry.who for entry in charges],
            "what": [entry.description for entry in charges],
            "about": [", ".join(f"{name} {value}" for name, value in entry.partition.items()) or "everyone" for entry in charges],
            "epsilon": [cost.epsilon for cost in costs],
            "delta": [cost.delta for cost in costs],
            "file": [done.get(entry.number, "") for entry in charges],
            "together": [self._together(pairs[:count + 1]).epsilon for count in range(len(pairs))],
        })

    def spent(self) -> Composition:
        """What all charges cost together, for whoever they cost most, at the ledger's delta."""
        return self._together(_charges(self.entries()))

    def remaining(self, delta: float | None = None) -> float:
        """The largest epsilon of one more release about everyone: with Gaussian noise of this delta, or with Laplace noise."""
        if delta is not None:
            check_delta(delta)

        def price(epsilon: float) -> list[Cost]:
            if delta is None:
                return [Cost.laplace(laplace_scale(epsilon, 1.0), epsilon)]
            return [Cost.gaussian(analytic_gaussian_sigma(epsilon, delta, 1.0), epsilon, delta)]

        entries = _charges(self.entries())
        return min(largest_epsilon(price, costs, self.epsilon, self.delta) for costs in per_person(entries))

    def earlier(self, request: str) -> bytes | None:
        """The file of the same request, if it was released before."""
        for entry in reversed(self.entries()):
            if entry.what == "charged" and entry.request == request:
                content = self._store.file(entry.number)
                if content is not None:
                    return content
        return None

    def charge(self, cost: Cost, *, description: str, request: str, partition: Mapping[str, str] | None = None) -> int:
        """Record a spending, or refuse it; when this returns it is on the disk."""
        with self._store.writing() as connection:
            entries = self._store.entries(connection)
            _refuse_changed(entries)
            spent = _charges(entries)
            affordable = self._covers([*spent, (partition or {}, cost)])
            last = entries[-1]
            if affordable:
                entry = Entry.following(last, what="charged", at=max(_now(), last.at), who=_who(), description=description,
                                        cost=cost.as_dict(), partition=dict(partition or {}), request=request, of=None,
                                        file_digest="")
                self._store.add(connection, entry)
        if not affordable:
            raise self._refusal(spent, (partition or {}, cost))  # after the lock was given back: the advice takes a moment
        return entry.number

    def complete(self, entry: int, content: bytes) -> None:
        """Record that the release of a charge was made."""
        with self._store.writing() as connection:
            entries = self._store.entries(connection)
            charge = next((found for found in entries if found.number == entry and found.what == "charged"), None)
            if charge is None or any(found.of == entry for found in entries):
                raise PrivacyError("a charge is completed once", found=f"entry {entry}")
            last = entries[-1]
            self._store.add(connection, Entry.following(
                last, what="released", at=max(_now(), last.at), who=_who(), description=charge.description, cost=None,
                partition=charge.partition, request=charge.request, of=entry, file_digest=hashlib.sha256(content).hexdigest()))
            self._store.add_file(connection, entry, content)

    def file(self, entry: int) -> bytes:
        """The release file of a charge, as it was made."""
        content = self._store.file(entry)
        if content is None:
            raise PrivacyError("there is no file of this entry", found=str(entry),
                               remedy="it was charged and never completed: its budget is spent")
        return content

    def unfinished(self) -> list[Entry]:
        """Charges whose release was never completed: the process ended between the charge and the file."""
        entries = self.entries()
        done = {entry.of for entry in entries}
        return [entry for entry in entries if entry.what == "charged" and entry.number not in done]

    def verify(self) -> list[str]:
        """In words, all that was changed after it was written, and charges beyond the total; an empty list is good news."""
        entries = self.entries()
        found = list(problems(entries))
        files = {entry.of: entry.file_digest for entry in entries if entry.what == "released" and entry.of is not None}
        for number, digest in files.items():
            content = self._store.file(number)
            if content is None or hashlib.sha256(content).hexdigest() != digest:
                found.append(f"the file of entry {number} is not the one that was released")
        if not self._covers(_charges(entries)):
            found.append("more was charged than the total budget")
        return found

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write all entries to a JSON file, without the release files."""
        from dataclasses import asdict

        target = Path(path)
        document = {"format": "noisewise-ledger", "version": "1.0", "entries": [asdict(entry) for entry in self.entries()]}
        target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        return target

    def _covers(self, charges: list[Charge]) -> bool:
        return all(fits(costs, self.epsilon, self.delta) for costs in per_person(charges))

    def _together(self, charges: list[Charge]) -> Composition:
        return max((compose(costs, self.delta) for costs in per_person(charges)), key=lambda found: found.epsilon)

    def _refusal(self, spent: list[Charge], charge: Charge) -> BudgetError:
        now, then = (self._together(charges).epsilon for charges in (spent, [*spent, charge]))
        largest = self.remaining(charge[1].delta or None)
        return BudgetError(
            f"the budget of this table is epsilon {self.epsilon} at delta {self.delta}",
            found=f"{now:.4g} is spent, and with this release it would be {then:.4g}",
            remedy=f"ask for an epsilon of at most {math.floor(largest * 1e4) / 1e4:g}" if largest >= 1e-4
            else "nothing is left for such a release; use what was released before",
        )

    def __repr__(self) -> str:
        return f"<Ledger {self.place}: epsilon {self.epsilon}, delta {self.delta}>"


def _cost(entry: Entry) -> Cost:
    cost = entry.charged
    assert cost is not None
    return cost


def _charges(entries: list[Entry]) -> list[Charge]:
    return [(entry.partition, _cost(entry)) for entry in entries if entry.what == "charged"]


def _refuse_changed(entries: list[Entry]) -> None:
    """A ledger that was tampered with is not written to: what is spent would be unknown."""
    found = next(iter(problems(entries)), None)
    if found is not None:
        raise BudgetError("a ledger that was changed cannot be charged", found=found, remedy="see noisewise ledger verify")


def _total(epsilon: float, delta: float | None) -> dict[str, Any]:
    delta = 0.0 if delta is None else delta
    good = all(isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
               for value in (epsilon, delta))
    if not good or not (epsilon > 0 and 0 <= delta < 1):
        raise BudgetError("a total budget is a positive epsilon and a delta between 0 and 1", found=f"({epsilon!r}, {delta!r})")
    return {"epsilon": float(epsilon), "delta": float(delta)}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a process without an account
        return "unknown"
