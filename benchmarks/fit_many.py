"""Many fits at once against one after the other: the same regression on many releases, as a ratio of seconds per fit.

    python benchmarks/fit_many.py [--releases 1000] [--single 20]

The releases are of made-up tables. Compilation is done before either clock starts. Target: at least 20 times faster.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import noisewise as nw

COLUMNS = 5


def made_release(rng: np.random.Generator, rows: int, epsilon: float) -> nw.Release:
    names = [f"x{index}" for index in range(COLUMNS)]
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "unit": "row",
                                  "columns": {name: {"bounds": [-1, 1]} for name in (*names, "y")}})
    x = rng.uniform(-1, 1, (rows, COLUMNS))
    y = np.clip(0.1 + x @ np.linspace(-0.2, 0.2, COLUMNS) + rng.normal(0, 0.2, rows), -1, 1)
    return nw.release({**dict(zip(names, x.T, strict=True)), "y": y}, schema, epsilon=epsilon, delta=1e-6, progress=False)


def main() -> None:
    parser = argparse.ArgumentParser(description="fit_many against fit in a loop.")
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--single", type=int, default=20)
    parser.add_argument("--method", nargs="*", default=["conditional-flat", "conditional"])
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    formula = "y ~ " + " + ".join(f"x{index}" for index in range(COLUMNS))
    warnings.simplefilter("ignore", nw.errors.ConvergenceWarning)
    for method, epsilon in zip(arguments.method, (1.0, 0.05), strict=False):  # 0.05: the noise hides the moments
        releases = [made_release(rng, 10_000, epsilon) for _ in range(arguments.releases)]
        nw.fit_many(formula, releases, method=method, draws=100, seed=1, progress=False)
        nw.fit(formula, releases[0], method=method, draws=100, seed=1, progress=False)
        started = time.perf_counter()
        many = nw.fit_many(formula, releases, method=method, seed=1, progress=False)
        at_once = (time.perf_counter() - started) / len(releases)
        started = time.perf_counter()
        for release in releases[: arguments.single]:
            nw.fit(formula, release, method=method, seed=1, progress=False)
        single = (time.perf_counter() - started) / arguments.single
        least = min(posterior.summary()["ess_bulk"].min() for posterior in many[:20])
        print(f"{method}, epsilon {epsilon}: {1e3 * at_once:.1f} ms each together, {1e3 * single:.0f} ms one by one, "
              f"ratio {single / at_once:.1f} (target 20); least effective draws {least:.0f} of 4000")


if __name__ == "__main__":
    main()
