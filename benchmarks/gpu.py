"""``fit_many`` on JAX's current device: replicates per second, from a few hundred to the largest useful batch.

    python benchmarks/gpu.py [--releases 1000 10000 100000] [--columns 5] [--method conditional-flat conditional]
    JAX_PLATFORMS=cpu taskset -c 0,1 python benchmarks/gpu.py --releases 1000

Run the first command on a machine with a GPU and the second on two of its cores. Their ratio is the figure (target: 50 at
d = 5). Releases are simulated, so nothing here draws privacy noise. Compilation is done before the clock starts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from studies.simulated_release import simulated_release
from studies.tables import simulated_noise

import noisewise as nw
from noisewise.run import QUIET

ROWS = 10_000
EPSILON = {"conditional-flat": 1.0, "conditional": 0.05}
"""At 0.05 the noise hides the moments, and the default takes its slower path."""


def made_releases(count: int, columns: int, epsilon: float) -> list[nw.Release]:
    """One table with the same noise mechanism ``count`` times: only the noise differs between replicates."""
    rng = np.random.default_rng(1)
    names = [f"x{index}" for index in range(columns)]
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "unit": "row",
                                  "columns": {name: {"bounds": [-1, 1]} for name in (*names, "y")}})
    x = rng.uniform(-1, 1, (ROWS, columns))
    y = np.clip(0.1 + x @ np.linspace(-0.2, 0.2, columns) / columns**0.5 + rng.normal(0, 0.2, ROWS), -1, 1)
    first = simulated_release({**dict(zip(names, x.T, strict=True)), "y": y}, schema, rng, epsilon=epsilon, delta=1e-6)
    one = first.contents
    releases = []
    for _ in range(count):
        noise = simulated_noise(rng, one.noise, len(one.matrix))
        noise[0, 0] = 0.0
        releases.append(first.with_contributions((replace(one, matrix=one.matrix + noise),)))
    return releases


def main() -> None:
    parser = argparse.ArgumentParser(description="fit_many on this machine's accelerator.")
    parser.add_argument("--releases", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--method", nargs="*", default=["conditional-flat"], choices=list(EPSILON))
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", nw.errors.ConvergenceWarning)
    formula = "y ~ " + " + ".join(f"x{index}" for index in range(arguments.columns))
    for method in arguments.method:
        releases = made_releases(max(arguments.releases), arguments.columns, EPSILON[method])
        for count in arguments.releases:
            some = releases[:count]
            settings = {"method": method, "chains": arguments.chains, "seed": 1, "run": QUIET}
            nw.fit_many(formula, some, draws=100, **settings)
            started = time.perf_counter()
            many = nw.fit_many(formula, some, draws=arguments.draws, **settings)
            seconds = time.perf_counter() - started
            least = min(posterior.summary()["ess_bulk"].min() for posterior in many[:20])
            print(f"{device()}: {method}, d = {arguments.columns}: {count:,} fits in {seconds:.2f} s, {count / seconds:.0f} a "
                  f"second; least effective draws {least:.0f} of {arguments.draws * arguments.chains}", flush=True)


def device() -> str:
    import jax

    return str(jax.devices()[0].device_kind)


if __name__ == "__main__":
    main()
