"""The moments of each part's rows, in one pass. The regressions within the parts are computed from them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from noisewise.arrays import Array
from noisewise.data.columns import require_columns, wanted_columns
from noisewise.data.reading import batches, count_rows, readable_twice, reporting
from noisewise.data.sources import open_source
from noisewise.data.sources.base import ClusterSource, UnorderedSource
from noisewise.data.splitting.parts import LARGEST_BALANCED, BalancedSplit, RowSplit, Split, UnitSplit
from noisewise.data.splitting.units import limit_units
from noisewise.data.statistics.partition_sums import PartSums, Recipe
from noisewise.data.statistics.partition_unordered import WaitingParts, sums_of_parts
from noisewise.data.threads import blas
from noisewise.run import DEFAULT, Run
from noisewise.schema.design import Design
from noisewise.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class PartMoments:
    """For each part, its number of rows, and the sums of products of (predictors, response) relative to ``shift``."""

    counts: Array
    products: Array
    shift: Array
    rows: int
    """The number of rows, including those left out of the sums (except on a cluster, if the number of rows is not public)."""
    balanced: bool


def part_moments(source: object, schema: Schema, design: Design, parts: int, *, split: Split | None = None,
                 run: Run = DEFAULT) -> PartMoments:
    """Read the rows once and sum up the products of each part's columns.

    ``schema`` is as declared; ``design`` has placeholders for unknown bounds (`noisewise.schema.partition`). ``split`` is random
    unless an audit provides one.
    """
    opened = open_source(source)
    recipe = Recipe(schema, design)
    wanted = wanted_columns([schema.column(name) for name in recipe.columns], schema.unit.column)
    require_columns(opened, wanted)
    rows, balanced = None, False
    if split is None and schema.rows_are_public:
        opened = readable_twice(opened, wanted)
        rows = opened.rows if opened.rows is not None else count_rows(opened, wanted, run)
        balanced = rows <= LARGEST_BALANCED * parts
    opened, limit = limit_units(opened, schema.unit, wanted)
    if split is None and not balanced and isinstance(opened, ClusterSource):
        counts, products, shift = sums_of_parts(opened, wanted, recipe, parts, schema.unit.column, run)
        # The number of rows left out because of a missing cell is not public, even if the number of rows is.
        return PartMoments(counts, products, shift, int(counts.sum()) if rows is None else rows, balanced=False)
    if split is None:
        split = _split(schema, parts, rows if balanced else None)
    # Rows are summed in the order of the file or, if there is no such order, in one that depends on their contents.
    sums = WaitingParts(parts, recipe) if isinstance(opened, UnorderedSource) else PartSums(parts, recipe)
    total = 0
    with (reporting(run, opened.rows) as counter, blas().limit(limits=1, user_api="blas"), np.errstate(all="ignore"),
          closing(batches(opened, wanted, run)) as found):
        for batch in found:
            units = None if schema.unit.column is None else batch.column(schema.unit.column)
            belongs = split.parts_of(batch.num_rows, units)
            values, keep = recipe.values(batch)
            if limit is not None:
                keep &= limit.keep(units)
            sums.add(values, np.where(keep, belongs, -1))
            total += batch.num_rows
            counter.add(batch.num_rows)
        split.finish()
        counts, products, shift = sums.finished()
    return PartMoments(counts, products, shift, total, balanced)


def _split(schema: Schema, parts: int, rows: int | None) -> Split:
    if schema.unit.column is not None:
        return UnitSplit(parts)
    return RowSplit(parts) if rows is None else BalancedSplit(rows, parts)
