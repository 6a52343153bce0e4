"""The time of one charge by the number of entries and the rule of the ledger, in processor milliseconds.

The totals are such that the last charge just fits, so the rule ``planned`` has to compose distributions. All charges have
different sizes, half of them with Laplace noise, and each kind has to be convolved separately.

    python benchmarks/ledger_charges.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from noisewise.privacy.accounting import COARSEST, Rule, compose
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import Ledger
from noisewise.privacy.ledger.entries import Entry

COUNTS: Final = (10, 100, 1000)
DELTA: Final = 1e-6
RULES: Final[tuple[tuple[Rule, bool], ...]] = (("gaussian", False), ("basic", True), ("planned", True))


def costs_of(count: int, mixed: bool) -> list[Cost]:
    gaussian = analytic_gaussian_sigma(0.01, 1e-10, 1.0)
    return [Cost.laplace(100.0 - number * 1e-3, 0.01 + number * 1e-7) if mixed and number % 2 else
            Cost.gaussian(gaussian + number * 1e-3, 0.01, 1e-10) for number in range(count)]


def measure(folder: Path, rule: Rule, mixed: bool, count: int) -> float:
    """Milliseconds of the last of ``count`` charges; those before are entered at once."""
    costs = costs_of(count, mixed)
    total = compose(costs, DELTA, rule, grid=COARSEST).epsilon * 1.001
    ledger = Ledger.open(folder / f"{rule}-{count}.db", epsilon=total, delta=DELTA, rule=rule)
    [last] = ledger.entries()
    with ledger._store.writing() as connection:
        for cost in costs[:-1]:
            last = Entry.following(last, what="charged", at=last.at, who="a", description="a charge", cost=cost.as_dict())
            ledger._store.add(connection, last)
    begun = time.process_time()
    ledger.charge(costs[-1], description="the last", request="")
    return 1000 * (time.process_time() - begun)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), "planned", True, 3)  # imports
        print(f"{'entries':20}", *(f"{count:8}" for count in COUNTS))
        for rule, mixed in RULES:
            found = [measure(Path(name), rule, mixed, count) for count in COUNTS]
            print(f"{rule:10}{'mixed' if mixed else 'gaussian':10}", *(f"{value:8.0f}" for value in found), flush=True)
