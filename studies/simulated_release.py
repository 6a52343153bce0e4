"""Releases of simulated tables with noise from a seed: for studies and tests only, and never for real rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.holder.plan import plan_of
from noisewise.kinds import Gram
from noisewise.releases.release import Release
from noisewise.schema import Numeric, Schema
from studies.tables import simulated_noise


def simulated_release(rows: Mapping[str, npt.NDArray[Any]], schema: Schema, rng: np.random.Generator, *, epsilon: float,
                      delta: float | None = None) -> Release:
    """The gram release that ``noisewise.release`` would give, with noise of the same distribution from a seeded generator."""
    blank = plan_of(Gram(), schema, epsilon, delta).blank
    values = {name: np.clip(cells, *(float(end) for end in (column.lower, column.upper)))
              if isinstance(column := schema.column(name), Numeric) else cells for name, cells in rows.items()}
    a = blank.basis.evaluate(values)
    one = blank.contents
    matrix = a.T @ a + simulated_noise(rng, one.noise, one.size)
    count = len(a) if schema.rows_are_public else None
    if count is not None:
        matrix[0, 0] = count
    return blank.with_contributions((replace(one, matrix=matrix, rows=count),))
