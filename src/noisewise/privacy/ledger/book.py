"""`Ledger`: how much of a table's privacy budget is spent, on what, and by whom.

A release is made in this order: charge, noise, file. A charge is on disk before any noise is drawn, and it counts whatever
happens next: a crash in between costs budget, never privacy.
"""

from __future__ import annotations

import datetime
import getpass
import hashlib
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from noisewise.errors import BudgetError, PrivacyError
from noisewise.privacy.accounting import Charge, Composition, Rule, compose, fits, largest_epsilon, per_person
from noisewise.privacy.calibration import analytic_gaussian_sigma, check_delta, laplace_scale
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger.entries import Entry, Total, What, problems
from noisewise.privacy.ledger.store import Store
from noisewise.words import option

PATIENCE: Final = 10.0
"""Seconds to wait for a process that has just charged the same request, so as to use its file."""


class Ledger:
    """The privacy budget of one confidential table: a total (epsilon, delta) and every release charged to it.

    >>> import os, tempfile
    >>> ledger = Ledger.open(os.path.join(tempfile.mkdtemp(), "budget.db"), epsilon=3, delta=1e-6)
    >>> ledger.spent().epsilon, ledger.epsilon
    (0.0, 3.0)

    Give it to `noisewise.release` as ``ledger=ledger``.
    """

    def __init__(self, store: Store, total: Total) -> None:
        self._store = store
        self._total = total
        self.patience = PATIENCE

    @classmethod
    def open(cls, place: str | os.PathLike[str], *, epsilon: float | None = None, delta: float | None = None,
             rule: Rule | None = None, name: str = "") -> Ledger:
        """Open the ledger at a path (SQLite) or an address (``postgresql://…``), creating it if a total budget is given.

        A ledger's total and rule never change.

        Args:
            place: A path, or the address of a PostgreSQL database.
            epsilon: The total epsilon; needed for a new ledger.
            delta: The total delta; leave it out if all releases are pure epsilon.
            rule: How charges compose. ``"gaussian"`` (default with a delta) counts everything as Gaussian noise: exact where it
                is, expensive where it is not; Wishart noise is refused. ``"basic"`` (default without a delta) adds up epsilons
                and deltas. Both hold even if the size of a release is chosen after seeing earlier results. ``"planned"`` is the
                tightest for mixed noise, and holds only if the sizes of all releases are chosen without looking at results.
            name: Name of the table.
        """
        store = Store(place)
        if not store.exists():
            if epsilon is None:
                raise BudgetError("the ledger does not exist, and starting one requires a total budget", argument="epsilon",
                                  found=store.shown, remedy="give " + option("epsilon") + ", and " + option("delta")
                                  + " unless all releases are pure epsilon")
            total = Total(epsilon, 0.0 if delta is None else delta, rule or ("gaussian" if delta else "basic"))
            store.create(Entry.following(None, what="opened", at=_now(), who=_who(), description=name, cost=total.as_dict()))
        total = Total.of(store.entries())
        asked = {"epsilon": epsilon, "delta": delta, "rule": rule}
        if any(value is not None and value != getattr(total, name) for name, value in asked.items()):
            given = ", ".join(f"{name} {value}" for name, value in asked.items() if value is not None)
            raise BudgetError("the total budget and the rule of a ledger never change",
                              found=f"{given}; the ledger has epsilon {total.epsilon}, delta {total.delta}, rule {total.rule}",
                              remedy="give the values that it has to open it as it is, or another name for a new ledger")
        return cls(store, total)

    @property
    def epsilon(self) -> float:
        """The total epsilon."""
        return self._total.epsilon

    @property
    def delta(self) -> float:
        """The total delta."""
        return self._total.delta

    @property
    def rule(self) -> Rule:
        """How charges compose."""
        return self._total.rule

    def entries(self) -> list[Entry]:
        """All entries, in order."""
        return self._store.entries()

    def charges(self) -> list[Charge]:
        """The stratum and the cost of each charge."""
        return _charges(self.entries())

    def table(self) -> list[dict[str, Any]]:
        """The charges: when, who, what, epsilon, delta, the digest of the file, and the cost of all charges so far together.

        ``pandas.DataFrame(ledger.table())`` turns it into a data frame.
        """
        entries = self.entries()
        done = {entry.of: entry.file_digest for entry in entries if entry.what == "released"}
        charges = [entry for entry in entries if entry.what == "charged"]
        return [{
            "entry": entry.number, "at": entry.at, "who": entry.who, "what": entry.description,
            "about": ", ".join(f"{name} {value}" for name, value in entry.stratum.items()) or "everyone",
            "epsilon": entry.spending.epsilon, "delta": entry.spending.delta, "file": done.get(entry.number, ""),
            "together": together,
        } for entry, together in zip(charges, self._running(_charges(entries)), strict=True)]

    def spent(self) -> Composition:
        """What all charges cost together, for the people they cost most, at the ledger's delta and by its rule."""
        return self._together(_charges(self.entries()))

    def remaining(self, delta: float | None = None, stratum: Mapping[str, str] | None = None) -> float:
        """The largest epsilon of one more release: with Gaussian noise if ``delta`` is given, else with Laplace noise.

        ``stratum`` names the stratum of the population it would be about; by default, everyone.
        """
        if delta is not None:
            check_delta(delta)

        def affordable(epsilon: float) -> bool:
            cost = (Cost.laplace(laplace_scale(epsilon, 1.0), epsilon) if delta is None
                    else Cost.gaussian(analytic_gaussian_sigma(epsilon, delta, 1.0), epsilon, delta))
            return self._covers([*spent, (stratum or {}, cost)])

        spent = _charges(self.entries())
        return largest_epsilon(affordable, self.epsilon)

    def earlier(self, request: str) -> bytes | None:
        """The file released earlier for the same request, if any."""
        entries = self.entries()
        number = _completed(entries, request)
        return None if number is None else self._checked_file(entries, number)

    def charge(self, cost: Cost, *, description: str, request: str, stratum: Mapping[str, str] | None = None,
               neighbours: str = "") -> int:
        """Record a charge, or refuse it. When this returns, the charge is on disk.

        If the same request was completed in the meantime, nothing is spent and the number of its entry is returned. If another
        process has just charged it, wait a moment for that process to complete it.
        """
        until = time.monotonic() + self.patience
        while True:
            with self._store.writing() as connection:
                entries = self._store.entries(connection)
                _refuse_changed(entries, self._total)
                before = _completed(entries, request)
                if before is not None:
                    return before
                _refuse_other_neighbours(entries, neighbours)
                if time.monotonic() >= until or not _under_way(entries, request):
                    spent, charge = _charges(entries), (dict(stratum or {}), cost)
                    affordable = self._covers([*spent, charge])
                    entry = Entry.following(entries[-1], what="charged", at=_now(), who=_who(), description=description,
                                            cost=cost.as_dict(), stratum=stratum, neighbours=neighbours, request=request)
                    if affordable:
                        self._store.add(connection, entry)
                    break
            time.sleep(0.05)
        if not affordable:
            raise self._refusal(spent, charge)  # after releasing the lock: working out the advice takes a moment
        return entry.number

    def complete(self, entry: int, content: bytes) -> None:
        """Record that the release of a charge was made."""
        with self._store.writing() as connection:
            entries = self._store.entries(connection)
            charge = next((found for found in entries if found.number == entry and found.what == "charged"), None)
            if charge is None or any(found.of == entry for found in entries):
                raise PrivacyError("a charge can be completed only once", found=f"entry {entry}")
            self._store.add(connection, Entry.following(
                entries[-1], what="released", at=_now(), who=_who(), description=charge.description, stratum=charge.stratum,
                neighbours=charge.neighbours, request=charge.request, of=entry, file_digest=hashlib.sha256(content).hexdigest()))
            self._store.add_file(connection, entry, content)

    def file(self, entry: int) -> bytes:
        """The release file of a charge, exactly as it was made."""
        return self._checked_file(self.entries(), entry)

    def unfinished(self) -> list[Entry]:
        """Charges whose release was never completed, because the process ended between the charge and the file."""
        entries = self.entries()
        done = {entry.of for entry in entries}
        return [entry for entry in entries if entry.what == "charged" and entry.number not in done]

    def verify(self, anchor: str | None = None) -> list[str]:
        """Describe everything that was changed after it was written, and charges beyond the total; an empty list is good news.

        ``anchor`` is the digest of an entry, kept elsewhere. Without one, nobody can tell if the last entries are missing.
        """
        entries = self.entries()
        found = list(problems(entries))
        if anchor is not None and anchor not in (entry.digest for entry in entries):
            found.append("the entry whose digest was kept elsewhere is missing: entries were removed or changed")
        files = {entry.of: entry.file_digest for entry in entries if entry.what == "released" and entry.of is not None}
        for number, digest in files.items():
            content = self._store.file(number)
            if content is None or hashlib.sha256(content).hexdigest() != digest:
                found.append(f"the file of entry {number} is not the one that was released")
        if not self._covers(_charges(entries)):
            found.append("the charges exceed the total budget")
        return found

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write all entries to a JSON file, without the release files."""
        target = Path(path)
        target.write_text(self.export_text(), encoding="utf-8")
        return target

    def export_text(self) -> str:
        """All entries, as the text of a JSON file."""
        document = {"format": "noisewise-ledger", "version": "1.0", "entries": [asdict(entry) for entry in self.entries()]}
        return json.dumps(document, indent=1) + "\n"

    def _checked_file(self, entries: Sequence[Entry], number: int) -> bytes:
        content = self._store.file(number)
        if content is None:
            raise PrivacyError("this entry has no file", found=str(number),
                               remedy="only a completed charge has one (noisewise ledger show)")
        if not any(entry.of == number and entry.file_digest == hashlib.sha256(content).hexdigest() for entry in entries):
            raise BudgetError("the stored file was changed and is not returned", found=f"the file of entry {number}",
                              remedy="see noisewise ledger verify")
        return content

    def _covers(self, charges: list[Charge]) -> bool:
        return all(fits(costs, self.epsilon, self.delta, self.rule) for costs in per_person(charges))

    def _together(self, charges: list[Charge]) -> Composition:
        found = (compose(costs, self.delta, self.rule) for costs in per_person(charges))
        return max(found, key=lambda composition: composition.epsilon)

    def _running(self, charges: list[Charge]) -> list[float]:
        """The cost of the first charge, the first two, … together. Composing distributions is slow, so some are NaN."""
        every = max(1, len(charges) // 20) if self.rule == "planned" else 1
        return [self._together(charges[:count]).epsilon if (len(charges) - count) % every == 0 else math.nan
                for count in range(1, len(charges) + 1)]

    def _refusal(self, spent: list[Charge], charge: Charge) -> BudgetError:
        now, then = (self._together(charges).epsilon for charges in (spent, [*spent, charge]))
        largest = self.remaining(charge[1].delta or None, charge[0])
        return BudgetError(
            f"the budget of this table is epsilon {self.epsilon} at delta {self.delta}, by the rule {self.rule}",
            found=f"{now:.4g} is spent; " + (f"with this release it would be {then:.4g}" if math.isfinite(then) else
                                             "a release with such a delta does not fit in the rest"),
            remedy=f"ask for an epsilon of at most {math.floor(largest * 1e4) / 1e4:g} with "
            + ("Gaussian noise" if charge[1].delta else "Laplace noise") if largest >= 1e-4
            else "nothing is left for such a release; use earlier releases",
        )

    @property
    def place(self) -> str:
        """The path or address of the ledger, without a password."""
        return self._store.shown

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._store.entries()[0].description

    def __repr__(self) -> str:
        return f"<Ledger {self.place}: epsilon {self.epsilon}, delta {self.delta}, {self.rule}>"

    def _repr_html_(self) -> str:
        from noisewise.notebook import card, lines

        shown = ("entry", "at", "who", "what", "about", "epsilon", "delta")
        spent = f"epsilon {self.spent().epsilon:.4g} of {self.epsilon:g} at delta {self.delta:g} is spent (rule {self.rule})"
        table = lines(shown, ([row[name] for name in shown] for row in self.table()))
        return card(f"Ledger {self.name or self.place}", table, below=spent)


def _charges(entries: Sequence[Entry]) -> list[Charge]:
    return [(entry.stratum, entry.spending) for entry in entries if entry.what == "charged"]


def _last(entries: Sequence[Entry], what: What, request: str) -> Entry | None:
    """The last charge, or the last release, of the same request."""
    return next((entry for entry in reversed(entries) if request and entry.what == what and entry.request == request), None)


def _completed(entries: Sequence[Entry], request: str) -> int | None:
    """The charge of the same request whose release was made."""
    made = _last(entries, "released", request)
    return None if made is None else made.of


def _under_way(entries: Sequence[Entry], request: str) -> bool:
    """True if the same request was charged a moment ago; someone is probably drawing its noise now."""
    last = _last(entries, "charged", request)
    if last is None:
        return False
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(last.at)
    return datetime.timedelta(seconds=-2) <= age <= datetime.timedelta(seconds=PATIENCE)


def _refuse_changed(entries: Sequence[Entry], total: Total) -> None:
    """Refuse to write to a ledger that was tampered with, or replaced since it was opened."""
    found = next(problems(entries), None)
    if found is None and Total.of(entries) != total:
        found = "its total differs from when it was opened"
    if found is not None:
        raise BudgetError("a ledger that was changed cannot be charged", found=found, remedy="see noisewise ledger verify")


def _refuse_other_neighbours(entries: Sequence[Entry], neighbours: str) -> None:
    """Refuse mixed guarantees: those for a row and for a person, or for replacing and for adding, do not compose."""
    first = next((entry.neighbours for entry in entries if entry.what == "charged"), neighbours)
    if first != neighbours:
        raise BudgetError("all releases of one ledger must have the same adjacency and unit",
                          found=f"{neighbours or 'nothing stated'}; the ledger has {first or 'nothing stated'}",
                          remedy="declare adjacency and unit as before; they belong to the table, not to one release")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _who() -> str:
    """The account name: that of the process where the system provides it, not what the environment claims."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        pass
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a process without an account
        return "unknown"
