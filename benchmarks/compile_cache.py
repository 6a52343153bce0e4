"""Time to the first draw of a fit in a new process, with an empty and with a filled compilation cache.

    python benchmarks/compile_cache.py [--repeats 3] [--predictors 5]

The cache is in a temporary folder (NOISEWISE_CACHE_DIR). Each process makes the same small release, calls `fit` and stops the
clock when the first draws after warm-up arrive. This includes JAX's import, tracing, compilation or reading the
cache, and warm-up. The target is a ratio of at least 3 for the default method.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

TARGET = 3.0
METHODS = ("conditional", "collapsed")

PROGRAM = """
import json, sys, time
import numpy as np
import noisewise as nw

predictors, method = int(sys.argv[1]), sys.argv[2]
names = [f"x{index}" for index in range(predictors)]
generator = np.random.default_rng(1)
rows = {name: generator.uniform(-1, 1, 2000) for name in names}
rows["y"] = 0.5 * rows["x0"] + generator.normal(0, 0.2, 2000)
schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [-1, 1]} for name in rows}})
release = nw.release(rows, schema, epsilon=10, delta=1e-6, run=nw.Run(progress=False))
WARM_UP = 300
times = {}
start = time.perf_counter()
import jax
times["import of JAX"] = time.perf_counter() - start

def tick(done, total):
    if done > WARM_UP and "first draw" not in times:
        times["first draw"] = time.perf_counter() - start

nw.fit("y ~ " + " + ".join(names), release, method=method, seed=1, draws=500, run=nw.Run(progress=tick))
print(json.dumps(times))
"""


def one_process(cache: str, predictors: int, method: str) -> dict[str, float]:
    environment = os.environ | {"NOISEWISE_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    finished = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, str(predictors), method], env=environment,
                              capture_output=True, text=True, check=True)
    times: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return times


def compared(predictors: int, method: str, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Median times with an empty and a filled cache, taken in turns."""
    runs: dict[str, list[dict[str, float]]] = {"empty": [], "filled": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            runs["empty"].append(one_process(cache, predictors, method))
            runs["filled"].append(one_process(cache, predictors, method))
    empty, filled = ({name: statistics.median(run[name] for run in found) for name in found[0]} for found in runs.values())
    return empty, filled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--predictors", type=int, default=5)
    options = parser.parse_args()
    table = Table("method", "empty cache, s", "filled cache, s", "of which import of JAX, s", "ratio", "target",
                  title=f"From calling fit to the first draw, {options.predictors} predictors")
    for method in METHODS:
        empty, filled = compared(options.predictors, method, options.repeats)
        ratio = empty["first draw"] / filled["first draw"]
        target = f"≥ {TARGET:g}: {'met' if ratio >= TARGET else 'missed'}"
        table.add_row(method, f"{empty['first draw']:.2f}", f"{filled['first draw']:.2f}", f"{filled['import of JAX']:.2f}",
                      f"{ratio:.2f}", target)
    Console().print(table)


if __name__ == "__main__":
    main()
