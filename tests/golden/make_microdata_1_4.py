"""The content of ``microdata-1.4.nwr`` and ``microdata-1.4.rows.parquet``: made-up rows that use every field of such a release.

The files are a promise: every later version of noisewise reads them and finds exactly this. They were written once and are not to
be written again; ``python tests/golden/make_microdata_1_4.py FILE`` shows what the present code would write.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np

from noisewise.release import MicrodataRelease
from noisewise.release.microdata import LevelNoise, NumberNoise, RowsFile
from noisewise.release.rows_file import RowsWriter, describe_file
from noisewise.schema import Schema

SCHEMA = {
    "adjacency": "replace-one",
    "unit": "row",
    "columns": {
        "ward": {"levels": ["A", "B", "C"], "other": "C"},
        "age": {"bounds": [18, 98], "missing": 60},
        "smoker": {"levels": [False, True]},
        "Größe (cm)": {"bounds": [49.5, 230.25]},
        "grade": {"levels": [1, "two", 3.5]},
    },
}
GRID_ROWS = np.array([
    # age, height; ward, smoker, grade: one line for each copy
    [[-1048576, 524288, 0, 0, 0], [-1200000, 500000, 1, 0, 2]],
    [[7, -3, 2, 1, 1], [3000000, -2222222, 2, 1, 1]],
    [[1048575, 0, 1, 0, 2], [-5, 123456789, 0, 1, 0]],
], dtype=np.int64)
"""Three rows in two copies: numbers in units of 2**-20, then codes of levels."""


def expected() -> MicrodataRelease:
    """What every version must find in ``microdata-1.4.nwr``."""
    return MicrodataRelease(
        schema=Schema.from_dict(SCHEMA),
        rows=3,
        epsilon=10.0,
        delta=0.0,
        mechanism="laplace",
        statement="Replacing any one row changes the probability of any result by at most a factor exp(10).",
        created="2026-11-15",
        library="noisewise 0.1.0",
        copies=2,
        columns={
            "ward": LevelNoise(0.2, 0.5761168847658291),
            "age": NumberNoise(0.2, "laplace", 2.0),
            "smoker": LevelNoise(0.2, 0.7310585786300048),
            "Größe (cm)": NumberNoise(0.2, "laplace", 2.0),
            "grade": LevelNoise(0.2, 0.5761168847658291),
        },
        file=RowsFile("microdata-1.4.rows.parquet", 4000, "0" * 64),
    )


def write(path: Path) -> Path:
    """Write both files as the present code does."""
    rows = path.with_name(path.name.removesuffix(".nwr") + ".rows.parquet")
    with RowsWriter(rows, Schema.from_dict(SCHEMA), 2) as writer:
        writer.write(GRID_ROWS)
    return dataclasses.replace(expected(), file=describe_file(rows, rows.name), folder=path.parent).save(path)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
