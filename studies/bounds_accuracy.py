"""How good are private bounds? Rows outside them and their width, on columns with a known distribution.

    python -m studies.bounds_accuracy [--replicates 30]     # prints the table of docs/bounds.md: a few minutes

Every replicate has new rows and a new draw. The number of rows is public (replace-one), and both bounds are requested.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import noisewise
from noisewise.errors import PrivacyError
from noisewise.kinds import Bounds
from noisewise.run import QUIET
from noisewise.schema import Schema
from studies.page import table

Array = npt.NDArray[np.float64]

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {"x": {"bounds": "unknown"}}})
COLUMNS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "age: whole, uniform 18–98": lambda random, rows: random.integers(18, 99, rows).astype(float),
    "weight: normal(75, 12)": lambda random, rows: random.normal(75, 12, rows),
    "income: lognormal(10, 1)": lambda random, rows: random.lognormal(10, 1, rows),
    "score: whole, 1–5": lambda random, rows: random.integers(1, 6, rows).astype(float),
}
SETTINGS = ((1_000, 1.0), (10_000, 0.1), (10_000, 1.0), (100_000, 0.1), (100_000, 1.0))
HEADINGS = ("column", "rows", "ε", "typical bounds", "rows outside", "at most promised", "promise broken")


def line(column: str, rows: int, epsilon: float, replicates: int, random: np.random.Generator) -> list[str]:
    """One setting: the medians of both bounds and of the share of rows outside them."""
    bounds, outside, broken = [], [], 0
    for _ in range(replicates):
        cells = COLUMNS[column](random, rows)
        try:
            found = noisewise.release({"x": cells}, SCHEMA, Bounds("x"), epsilon=epsilon, run=QUIET).contents
        except PrivacyError:
            return [column, f"{rows:,}", f"{epsilon:g}", "refused: too few rows", "", "", ""]
        promise, (lower, upper) = found.columns[0], found["x"]
        beyond = [int((cells < lower).sum()), int((cells > upper).sum())]
        most = max(promise.outside, int(Bounds("x").tail * rows) + promise.error)
        further = (cells.min() - lower, upper - cells.max())
        # Beyond the outermost row a bound may lie by the distance to the next candidate (1 %) and by rounding (a twentieth).
        broken += max(beyond) > most or any(gap > 0.01 * abs(end) + 0.05 * (upper - lower)
                                            for gap, end in zip(further, (lower, upper), strict=True))
        bounds.append((lower, upper))
        outside.append(sum(beyond) / rows)
    typical = " to ".join(f"{value:g}" for value in np.median(bounds, axis=0))
    return [column, f"{rows:,}", f"{epsilon:g}", typical, f"{100 * np.median(outside):.2g} %", f"{100 * 2 * most / rows:.2g} %",
            f"{broken} of {replicates}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=30)
    replicates = parser.parse_args().replicates
    random = np.random.default_rng(8)
    lines = [line(column, rows, epsilon, replicates, random) for column in COLUMNS for rows, epsilon in SETTINGS]
    print("\n".join(table(HEADINGS, lines)))


if __name__ == "__main__":
    main()
