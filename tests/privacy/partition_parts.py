"""What every part of a table says, to the last bit: for tests that change one part and look at the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from noisewise.data.parts.answers import PartAnswers
from noisewise.data.splitting.parts import GivenSplit
from noisewise.data.statistics.partition import PartMoments, part_moments
from noisewise.privacy.mechanisms.partition import STEPS
from noisewise.run import QUIET
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior, on_scale, part_design
from noisewise.schema.questions import (
    BAYES_PRIORS,
    COMBINATIONS,
    CRITERIA,
    BayesFactor,
    Criterion,
    PosteriorProbability,
    PosteriorQuantile,
    Question,
)

Parts = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]
PRIORS = (PartPrior(), PartPrior("zellner", g=50.0), PartPrior("normal-inverse-gamma", scale=2.0, shape=1.5, rate=0.5))
QUANTILE = PosteriorQuantile("x", bounds=(-2.0, 3.0))


def questions_about(*tested: str) -> list[Question]:
    """Every question there is, about the first of these coefficients or about all of them."""
    first = tested[0]
    return [
        *(PosteriorProbability(first, at=(-1.0, 0.0, 0.25), combine=combine) for combine in COMBINATIONS),
        PosteriorQuantile(first, bounds=(-2.0, 3.0)),
        *(BayesFactor(tested, prior=prior) for prior in BAYES_PRIORS),
        *(Criterion(name, tested) for name in CRITERIA),
    ]


def moments(source: Any, schema: Schema, formula: str, belongs: Parts, parts: int) -> PartMoments:
    """The moments of the parts of a table by a given split."""
    design = part_design(schema, formula, ())
    return part_moments(source, schema, design, parts, split=GivenSplit(belongs), run=QUIET)


def answers_of(found: PartMoments, schema: Schema, formula: str, questions: Sequence[Question],
               prior: PartPrior) -> tuple[list[npt.NDArray[np.float64]], list[npt.NDArray[np.int64]]]:
    """What the parts answer, before they are clipped and on the grid; each with the parts last."""
    design = part_design(schema, formula, questions)
    plain, on_grid = [], []
    with np.errstate(all="ignore"):
        answers = PartAnswers(found.counts, found.products, found.shift, design, prior)
        for question in questions:
            limits = {name: own or (0.0, 1.0) for name, own in question.numbers()}
            rows = answers.answers(question, limits)
            plain.append(rows)
            on_grid += [on_scale(row, limits[name], STEPS) for (name, _), row in zip(question.numbers(), rows, strict=True)]
            if isinstance(question, PosteriorQuantile):
                plain += [np.asarray(one, dtype=np.float64)[None] for one in answers.location_and_scale(question)]
    return plain, on_grid


def bits(found: PartMoments, schema: Schema, formula: str, questions: Sequence[Question]) -> Bits:
    """One line for each part: the bytes of everything that is computed of it, with every prior."""
    count = len(found.counts)
    lines = [found.counts[:, None], found.products.reshape(count, -1), found.shift]
    for prior in PRIORS:
        plain, on_grid = answers_of(found, schema, formula, questions, prior)
        lines += [rows.T for rows in plain] + [rows[:, None].astype(np.float64) for rows in on_grid]
    return np.ascontiguousarray(np.hstack(lines)).view(np.uint8).reshape(count, -1)


def changed(one: Bits, other: Bits) -> set[int]:
    """The parts that differ in any bit."""
    return set(np.flatnonzero((one != other).any(axis=1)).tolist())


SOURCES = ("columns", "chunks", "reader", "parquet", "csv")


def as_source(kind: str, rows: dict[str, Any], folder: Path, batch: int) -> Any:
    """The same rows by another way, in batches of another size."""
    if kind == "columns":
        return rows
    table = pa.table({name: pa.array(values) for name, values in rows.items()})
    if kind == "chunks":
        return pa.concat_tables([table.slice(start, batch) for start in range(0, max(len(table), 1), batch)])
    if kind == "reader":
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=batch))
    path = folder / f"rows-{batch}.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=batch)
    else:
        pc.write_csv(table, path)
    return path
