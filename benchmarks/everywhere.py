"""Every method that samples, on JAX's current device, and the agreement of two machines.

    JAX_PLATFORMS=cpu python benchmarks/everywhere.py --write here.json
    python benchmarks/everywhere.py --against here.json

The second command, on a GPU, prints for each method how far its means are from those of the first, in Monte Carlo standard errors
(largest over the terms), and the ratio of the seconds. Releases are simulated from a seed, so both see the same numbers.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from studies.simulated_release import simulated_release

import noisewise as nw
from noisewise.results.diagnostics import ess_bulk
from noisewise.run import QUIET

NAMES = ("x", "w")
SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "unit": "row", "columns": {
    "x": {"bounds": [-1, 1]}, "w": {"bounds": [-1, 1]}, "y": {"bounds": [-1, 1]}, "sick": {"levels": [0, 1]},
    "visits": {"bounds": [0, 10]}}})


def made(seed: int, epsilon: float, rows: int = 4000) -> nw.Release:
    rng = np.random.default_rng(seed)
    x, w = rng.normal(0, 0.3, (2, rows)).clip(-1, 1)
    y = np.clip(0.1 + 0.3 * x - 0.2 * w + rng.normal(0, 0.2, rows), -1, 1)
    sick = (rng.uniform(size=rows) < 1 / (1 + np.exp(-x + w))).astype(int)
    visits = rng.poisson(np.exp(0.5 + 0.5 * x)).clip(0, 10).astype(float)
    return simulated_release({"x": x, "w": w, "y": y, "sick": sick, "visits": visits}, SCHEMA, rng, epsilon=epsilon, delta=1e-6)


def cases(draws: int) -> dict[str, Callable[[], nw.Posterior]]:
    """The methods by name; each makes its own fit."""
    clear, hidden = made(1, 5.0), made(2, 0.1)
    sites = [made(seed, 2.0, 1000) for seed in range(3, 9)]
    settings = {"draws": draws, "seed": 1, "run": QUIET}
    found: dict[str, Callable[[], nw.Posterior]] = {
        method: (lambda method=method: nw.fit("y ~ x + w", clear, method=method, **settings))
        for method in ("conditional", "conditional-flat", "collapsed", "laplace", "normal-x", "normal-x-nuts", "fixed-s", "fast",
                       "clt-gibbs")}
    found["conditional, hidden moments"] = lambda: nw.fit("y ~ x + w", hidden, **settings)
    found["six holders"] = lambda: nw.fit("y ~ x + w", sites, **settings)
    found["random sites"] = lambda: nw.fit("y ~ x + w", sites, site="random", **settings)
    for family, response in (("logistic", "sick"), ("probit", "sick"), ("poisson", "visits")):
        found[family] = lambda family=family, response=response: nw.fit(
            f"{response} ~ x + w", clear, family=family, near_normal=True, **settings)
    found["fit_many"] = lambda: nw.fit_many("y ~ x + w", [clear, hidden], method="conditional-flat", **settings)[0]
    found["fit_many, logistic"] = lambda: nw.fit_many(
        "sick ~ x + w", [clear, clear], family="logistic", near_normal=True, **settings)[0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Every sampling method on this machine's JAX device.")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", nw.errors.ConvergenceWarning)
    before = json.loads(arguments.against.read_text()) if arguments.against else {}
    found = {}
    for name, fitted in cases(arguments.draws).items():
        if arguments.only and name not in arguments.only:
            continue
        started = time.perf_counter()
        posterior = fitted()
        seconds = time.perf_counter() - started
        samples = posterior.samples
        sd = samples.std(axis=(0, 1))
        error = sd / np.sqrt(np.nan_to_num(ess_bulk(samples), nan=1e9))
        found[name] = {"mean": samples.mean(axis=(0, 1)).tolist(), "error": error.tolist(), "seconds": seconds}
        line = f"{device()}: {name}: {seconds:.1f} s with compiling"
        if name in before:
            other = before[name]
            gap = np.abs(samples.mean(axis=(0, 1)) - other["mean"]) / np.sqrt(error**2 + np.square(other["error"]) + 1e-30)
            line += f"; {gap.max():.1f} standard errors away; {seconds / other['seconds']:.1f} times the seconds"
        print(line, flush=True)
    if arguments.write:
        arguments.write.write_text(json.dumps(found))


def device() -> str:
    import jax

    return str(jax.devices()[0].device_kind)


if __name__ == "__main__":
    main()
