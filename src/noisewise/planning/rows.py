"""How much noise each column of published rows would have, compared with kind gram."""

from __future__ import annotations

import math
from typing import Any

from noisewise.holder.rows import cell_noise
from noisewise.privacy.mechanisms.gram import SymmetricMechanism
from noisewise.privacy.mechanisms.rows import RowsMechanism
from noisewise.releases.contents.rows import NumberNoise
from noisewise.schema import Numeric, Schema


def column_noise(schema: Schema, mechanism: RowsMechanism, gram: SymmetricMechanism, rows: int) -> list[dict[str, Any]]:
    """One entry for each column: noise of a cell and of a mean, in the column's units."""
    of_gram = gram.entry_sd()[1]
    return [_line(schema, mechanism, name, rows, of_gram) for name in schema.names]


def _line(schema: Schema, mechanism: RowsMechanism, name: str, rows: int, gram_sd: float) -> dict[str, Any]:
    column, noise = schema.column(name), cell_noise(mechanism, name)
    shared = {"column": name, "share": noise.share}
    if isinstance(noise, NumberNoise) and isinstance(column, Numeric):
        sd, mean = noise.sd * column.half_width, noise.sd * column.half_width / math.sqrt(rows * mechanism.copies)
        return {**shared, "bounds": [column.lower, column.upper], **_compared(mean, gram_sd * column.half_width / rows),
                "noise_sd": sd}
    assert not isinstance(noise, NumberNoise)
    other = (1 - noise.keep) / (mechanism.levels[name] - 1)
    variance = (noise.keep * (1 - noise.keep) + other * (1 - other)) / 2  # for a level that half of the rows have
    mean = math.sqrt(variance / (rows * mechanism.copies)) / (noise.keep - other)
    scaled = 2 if mechanism.levels[name] == 2 else 1  # two levels are coded -1 and 1, more by indicators
    return {**shared, "levels": mechanism.levels[name], **_compared(mean, gram_sd / scaled / rows), "keep": noise.keep}


def _compared(mean: float, gram: float) -> dict[str, float]:
    return {"mean_sd": mean, "gram_mean_sd": gram, "relative_to_gram": mean / gram}
