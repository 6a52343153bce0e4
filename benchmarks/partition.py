"""A partition release of a large table in memory against one plain least-squares fit of all its rows.

    python -m benchmarks.partition [--rows 1000000] [--parts 100] [--repeats 7]

Three predictors without bounds, one thread. The release reads the rows, puts each into a random part, fits all parts, answers
four questions (probabilities, a quantile with a search for its limits, a Bayes factor, a likelihood ratio) and draws its noise.
It is compared with `numpy.linalg.lstsq` of the same columns, with and without making the matrix (as a user must). Target: at
most 3 times the fit. Then the steps of the release separately, and the answers and tests that an analyst computes from it.
"""

from __future__ import annotations

import argparse
import os
import statistics

# Before NumPy starts: one thread, so that a second is a second of one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.gram_statistic import interleaved
from rich.console import Console
from rich.table import Table

import noisewise as nw
from noisewise.data.splitting.parts import independent_parts
from noisewise.data.statistics.partition import part_moments
from noisewise.run import QUIET
from noisewise.schema.partition import part_design
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile

TARGET = 3.0
FORMULA = "y ~ x + z + w"
QUESTIONS = [PosteriorProbability("z", (0.0, 0.001)), PosteriorQuantile("z"), BayesFactor("z"),
             Criterion("likelihood-ratio", ["z", "w"])]
BASE = "least squares, all rows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    rng = np.random.default_rng(20261115)
    x, z, w, error = rng.normal(size=(4, arguments.rows))
    table = {"x": x, "z": z, "w": w, "y": 1.0 + 2.0 * x + 0.002 * z + error}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": "unknown"} for name in "yxzw"}})
    design = part_design(schema, FORMULA, ())
    matrix = np.column_stack([np.ones(arguments.rows), x, z, w])

    def release() -> object:
        return nw.release(table, schema, nw.Partition(FORMULA, parts=arguments.parts, ask=QUESTIONS), epsilon=1.0,
                          run=QUIET)

    made = release()
    times = interleaved(
        {
            BASE: lambda: np.linalg.lstsq(matrix, table["y"], rcond=None),
            "the same, matrix made": lambda: np.linalg.lstsq(np.column_stack([np.ones(arguments.rows), x, z, w]), table["y"],
                                                             rcond=None),
            "whole release": release,
            "  of it: moments of the parts": lambda: part_moments(table, schema, design, arguments.parts, run=QUIET),
            "  of it: random parts": lambda: independent_parts(arguments.rows, arguments.parts),
            "answers": lambda: nw.answer(made),
            "tests": lambda: nw.hypothesis_test(made),
        },
        arguments.repeats,
    )
    shown = Table("", "median seconds", "ratio to least squares", "quartiles", "target",
                  title=f"{arguments.rows:,} rows, {arguments.parts} parts, 3 predictors")
    for name, seconds in times.items():
        ratios = [mine / other for mine, other in zip(seconds, times[BASE], strict=True)]  # within a round
        low, middle, high = statistics.quantiles(ratios, n=4)
        shown.add_row(name, f"{statistics.median(seconds):.3f}", f"{middle:.2f}", f"{low:.2f} to {high:.2f}",
                      f"{TARGET:g}" if name == "whole release" else "")
    Console().print(shown)


if __name__ == "__main__":
    main()
