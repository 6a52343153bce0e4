"""Many fits at once against one after the other: the same regression on many releases, as a ratio of seconds per fit.

    python benchmarks/fit_many.py [--releases 1000] [--single 20]

The releases are of made-up tables. Compilation is done before either clock starts. Target: at least 20 times faster. On a GPU
the same command measures the GPU, where one fit alone is slow: ``--single 0`` leaves the loop out.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import noisewise as nw
from noisewise.run import QUIET

COLUMNS = 5
FORMULA = "y ~ " + " + ".join(f"x{index}" for index in range(COLUMNS))
EPSILON = {"conditional-flat": 1.0, "conditional": 0.05}
"""At 0.05 the noise hides the moments, and the default takes its slower path."""


def made_release(rng: np.random.Generator, rows: int, epsilon: float) -> nw.Release:
    names = [f"x{index}" for index in range(COLUMNS)]
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "unit": "row",
                                  "columns": {name: {"bounds": [-1, 1]} for name in (*names, "y")}})
    x = rng.uniform(-1, 1, (rows, COLUMNS))
    y = np.clip(0.1 + x @ np.linspace(-0.2, 0.2, COLUMNS) + rng.normal(0, 0.2, rows), -1, 1)
    return nw.release({**dict(zip(names, x.T, strict=True)), "y": y}, schema, epsilon=epsilon, delta=1e-6, run=QUIET)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare fit_many with fit in a loop.")
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--single", type=int, default=20)
    parser.add_argument("--method", nargs="*", default=list(EPSILON), choices=list(EPSILON))
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    warnings.simplefilter("ignore", nw.errors.ConvergenceWarning)
    for method in arguments.method:
        releases = [made_release(rng, 10_000, EPSILON[method]) for _ in range(arguments.releases)]
        nw.fit_many(FORMULA, releases, method=method, draws=100, seed=1, run=QUIET)
        started = time.perf_counter()
        many = nw.fit_many(FORMULA, releases, method=method, seed=1, run=QUIET)
        at_once = (time.perf_counter() - started) / len(releases)
        least = min(posterior.summary()["ess_bulk"].min() for posterior in many[:20])
        print(f"{device()}: {method}, epsilon {EPSILON[method]}: {1e3 * at_once:.1f} ms each together; "
              f"least effective draws {least:.0f} of 4000", flush=True)
        if arguments.single:
            single = one_by_one(releases[: arguments.single], method)
            print(f"{1e3 * single:.0f} ms one by one, ratio {single / at_once:.1f} (target 20)", flush=True)


def one_by_one(releases: list[nw.Release], method: str) -> float:
    """Seconds per fit."""
    nw.fit(FORMULA, releases[0], method=method, draws=100, seed=1, run=QUIET)
    started = time.perf_counter()
    for release in releases:
        nw.fit(FORMULA, release, method=method, seed=1, run=QUIET)
    return (time.perf_counter() - started) / len(releases)


def device() -> str:
    import jax

    return str(jax.devices()[0].device_kind)


if __name__ == "__main__":
    main()
