"""One request for every kind of release, and the table that all of them are asked of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import noisewise as nw
from noisewise.data.statistics import rows as data_rows
from noisewise.kinds import Kind
from noisewise.privacy.mechanisms.binary import BetaBinomial
from noisewise.privacy.mechanisms.bounds import Selection
from noisewise.privacy.mechanisms.gram import SymmetricGaussian, SymmetricLaplace
from noisewise.privacy.mechanisms.model import ModelDraws
from noisewise.privacy.mechanisms.moments import MomentsMechanism
from noisewise.privacy.mechanisms.partition import PartitionMechanism
from noisewise.privacy.mechanisms.rows import RowsMechanism
from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.releases.release import Release
from noisewise.run import QUIET

ROWS = 400
COLUMNS: dict[str, Any] = {
    "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "visits": {"bounds": [0, 10]}, "ward": {"levels": ["A", "B", "C"]},
    "smoker": {"levels": ["no", "yes"]}}
PROBABILITY: dict[str, Any] = {"ask": "posterior-probability", "of": "age", "at": [0.0]}
DRAWS = ((SymmetricGaussian, "perturb"), (SymmetricLaplace, "perturb"), (SymmetricWishart, "perturb"),
         (MomentsMechanism, "perturb"), (ModelDraws, "perturb_look"), (ModelDraws, "perturb_round"),
         (PartitionMechanism, "perturb"), (PartitionMechanism, "select"), (RowsMechanism, "perturb"), (Selection, "choose"),
         (BetaBinomial, "perturb"))
"""Every method by which a release of any kind draws noise."""


def schema_with(adjacency: str = "replace-one", unit: Any = "row", **more: Any) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": adjacency, "unit": unit, **more, "columns": more.get("columns", COLUMNS)})


def made_table(count: int = ROWS) -> dict[str, Any]:
    random = np.random.default_rng(12)
    age = random.uniform(18, 98, count)
    return {"stay": np.clip(0.3 * age + random.normal(0, 4, count), 0, 60), "age": age, "visits": random.integers(0, 11, count),
            "ward": random.choice(["A", "B", "C"], count), "smoker": random.choice(["no", "yes"], count),
            "patient": np.repeat(np.arange(count), 3)[:count]}


@dataclass(frozen=True)
class Asked:
    """A kind with a budget, and the same kind with other options: other requests, each with a price of its own."""

    kind: Kind
    delta: float | None
    others: tuple[Kind, ...]
    same: tuple[Kind, ...] = ()
    title: str = ""
    epsilon: float = 1.5
    schema: nw.Schema = field(default_factory=schema_with)

    def release(self, data: Any = None, **changes: Any) -> Release:
        options = {"schema": self.schema, "kind": self.kind, "epsilon": self.epsilon, "delta": self.delta, "run": QUIET} | changes
        return nw.release(made_table() if data is None else data, options.pop("schema"), options.pop("kind"), **options)

    def place(self, folder: Path, name: str = "made") -> Path | None:
        """Where it must be written, if it must."""
        return folder / f"{name}.nwr" if self.kind.needs_file else None


def questions(**changes: Any) -> list[dict[str, Any]]:
    return [PROBABILITY | changes, {"ask": "posterior-quantile", "of": "age"}]


REGRESSION = "visits ~ age + ward"
STAY = "stay ~ age + ward"
SEARCH: dict[str, Any] = {"of": {"age": (0, None), "stay": (None, None)}, "tail": 0.05, "digits": 2}

ASKED: dict[str, Asked] = {
    "gram, gaussian": Asked(
        nw.Gram(), 1e-6, title="gram release of stay, age, visits",
        others=(nw.Gram("age:ward"), nw.Gram(average=2)), same=(nw.Gram(mechanism="gaussian"), nw.Gram(average=1))),
    "gram, laplace": Asked(
        nw.Gram(), None, title="gram release of stay, age", others=(nw.Gram("I(age**2)"),), same=(nw.Gram(mechanism="laplace"),)),
    "gram, wishart": Asked(
        nw.Gram(mechanism="wishart"), 1e-6, title="stay, age", others=(nw.Gram(), nw.Gram(mechanism="wishart-paper"))),
    "gram, averaged": Asked(
        nw.Gram(average=5), 1e-6, title="averaged by 5",
        others=(nw.Gram(), nw.Gram(average=6)), same=(nw.Gram(None, "gaussian", 5),)),
    "moments": Asked(
        nw.Moments(REGRESSION), 1e-6, title=f"moments release of {REGRESSION}",
        others=(nw.Moments("visits ~ age"), nw.Moments(REGRESSION, blocks={"yx": 2}), nw.Moments(REGRESSION, "I(age**2)")),
        same=(nw.Moments(f" {REGRESSION} "), nw.Moments(REGRESSION, blocks={"yx": 1.5, "y": 0.7, "x": 1, "xx": 1}))),
    "model": Asked(
        nw.Model(STAY), 1e-6, title=f"model release of {STAY}",
        others=(nw.Model("stay ~ age"), nw.Model(STAY, rounds=1), nw.Model("visits ~ age", family="poisson"),
                nw.Model("smoker ~ age", family="probit")),
        same=(nw.Model(f" {STAY} "), nw.Model(STAY, family="gaussian"))),
    "adassp": Asked(
        nw.AdaSSP(STAY), 1e-6, title=f"adassp release of {STAY}",
        others=(nw.AdaSSP("stay ~ age"), nw.AdaSSP(STAY, "age:ward")), same=(nw.AdaSSP(f" {STAY}"),)),
    "partition, k-norm": Asked(
        nw.Partition(STAY, 8, questions()), None, title=f"partition release of {STAY}, 2 questions in 8 parts",
        others=(nw.Partition("stay ~ age", 8, questions()), nw.Partition(STAY, 9, questions()),
                nw.Partition(STAY, 8, questions(at=[0.5])),
                nw.Partition(STAY, 8, questions(), prior={"name": "zellner", "g": 400}),
                nw.Partition(STAY, 8, PROBABILITY)),
        same=(nw.Partition(STAY, 8, questions(), prior="flat"), nw.Partition(STAY, 8, questions(), mechanism="k-norm"))),
    "partition, gaussian": Asked(
        nw.Partition("stay ~ age", 8, PROBABILITY), 1e-6, title="1 question in 8 parts",
        others=(nw.Partition("stay ~ age", 8, PROBABILITY, mechanism="k-norm"),),
        same=(nw.Partition("stay ~ age", 8, PROBABILITY, mechanism="gaussian"),)),
    "rows, laplace": Asked(
        nw.Rows(), None, title="rows release of 5 columns", others=(nw.Rows(copies=2), nw.Rows(shares={"age": 2})),
        same=(nw.Rows(mechanism="laplace"), nw.Rows(shares={"age": 1}), nw.Rows(shares=dict.fromkeys(COLUMNS, 3)))),
    "rows, gaussian": Asked(
        nw.Rows(copies=2), 1e-6, title="2 copies",
        others=(nw.Rows(), nw.Rows(copies=2, mechanism="laplace")), same=(nw.Rows(2, mechanism="gaussian"),)),
    "bounds": Asked(
        nw.Bounds(**SEARCH), None, title="bounds release of age, stay", epsilon=4.5,
        others=(nw.Bounds(**SEARCH | {"of": "age"}), nw.Bounds(**SEARCH | {"of": {"age": (1, None), "stay": (None, None)}}),
                nw.Bounds(**SEARCH | {"tail": 0.06}), nw.Bounds(**SEARCH | {"digits": 1}))),
    "binary": Asked(
        nw.Binary("smoker", 200), None, title="binary release of smoker",
        others=(nw.Binary("smoker", 201), nw.Binary("smoker", 200, 2)), same=(nw.Binary("smoker", 200, 1),)),
}
"""By name; `test_contract` sees that no kind is forgotten."""


def every_kind() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("asked", ASKED.values(), ids=list(ASKED))


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened in which order: "rows" are read (as `told` has it), the ledger is charged, noise is drawn, it is recorded."""
    happened: list[str] = []

    def noted(call: Any, name: str = "noise") -> Any:
        def called(*arguments: Any, **options: Any) -> Any:
            happened.append(name)
            return call(*arguments, **options)

        return called

    for mechanism, method in DRAWS:
        monkeypatch.setattr(mechanism, method, noted(getattr(mechanism, method)))
    monkeypatch.setattr(data_rows, "open_rows", noted(data_rows.open_rows, "rows"))
    return happened


def told(asked: Asked, events: list[str]) -> Any:
    """The table as a stream, which tells when it is read; not where that is after the charge, because rows are read twice."""
    table = pa.table(made_table())
    if asked.kind.needs_file:
        return table

    def batches() -> Iterator[pa.RecordBatch]:
        events.append("rows")
        yield from table.to_batches(100)

    return pa.RecordBatchReader.from_batches(table.schema, batches())


def order_of(events: list[str]) -> list[str]:
    """Each once, where it happened first: some kinds draw several times, or read again."""
    return list(dict.fromkeys(events))
