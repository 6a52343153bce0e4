"""A small table and its schema, for the tests of the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.privacy.cost import Cost
from noisewise.privacy.ledger import Ledger

ROWS: dict[str, Any] = {"stay": np.array([3.0, 8.0, 21.0]), "age": np.array([30.0, 55.0, 80.0])}


def schema(**changes: Any) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}},
                                **changes})


def release(ledger: Ledger, declared: nw.Schema | None = None, **request: Any) -> nw.Release:
    return nw.release(ROWS, declared or schema(), ledger=ledger, progress=False, **{"epsilon": 1.0, **request})


def pure_ledger(folder: Path, epsilon: float = 3.0) -> Ledger:
    return Ledger.open(folder / "budget.db", epsilon=epsilon, name="patients")


def charge(ledger: Ledger, epsilon: float = 1.0, request: str = "", **more: Any) -> int:
    return ledger.charge(Cost.laplace(1 / epsilon, epsilon), description="a test", request=request, **more)
