"""A small table and its schema, for the tests of the ledger."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.errors import BudgetError
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import Ledger
from noisewise.run import QUIET

ROWS: dict[str, Any] = {"stay": np.array([3.0, 8.0, 21.0]), "age": np.array([30.0, 55.0, 80.0])}


def schema(**changes: Any) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}},
                                **changes})


def release(ledger: Ledger, declared: nw.Schema | None = None, **request: Any) -> nw.Release:
    return nw.release(ROWS, declared or schema(), ledger=ledger, run=QUIET, **{"epsilon": 1.0, **request})


def pure_ledger(folder: Path, epsilon: float = 3.0) -> Ledger:
    return Ledger.open(folder / "budget.db", epsilon=epsilon, name="patients")


def charge(ledger: Ledger, epsilon: float = 1.0, request: str = "", **more: Any) -> int:
    return ledger.charge(Cost.laplace(1 / epsilon, epsilon), description="a test", request=request, **more)


def assert_threads_spend_a_budget_of_1_once(ledger: Ledger) -> None:
    """Four threads try to charge twice as much as there is."""
    refused: list[int] = []

    def spend() -> None:
        for _ in range(5):
            try:
                charge(ledger, 0.1)
            except BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent().epsilon == 1.0 and len(refused) == 10 and ledger.verify() == []
