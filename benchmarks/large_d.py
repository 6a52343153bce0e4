"""Linear regression with many predictors: seconds for a fit to R-hat < 1.01, and for everything on the way to it.

    python benchmarks/large_d.py [--d 50 500 1000] [--noise 0.1 0.5] [--release-rows 20000]

Fits: 4 chains of 1000 draws by the default method of simulated releases (see studies/large_d.py for them and for what the noise
is relative to). A fit before the clock starts compiles everything. The output shows wall-clock and processor seconds,
the largest R-hat and the least effective draws over all coefficients and sigma, the share of coefficients inside
their 95 % intervals, and the ratio of processor seconds to those of a Cholesky decomposition of the d × d matrix, run beside it.
Targets, on 2 cores: d = 50 in under 10 s, d = 500 in under 2 minutes, d = 1000 in under 10 minutes, with R-hat below 1.01.

Releases: the pass over rows in memory (ratio: a plain product of the same matrix with its transpose), the noise of all entries,
saving and loading the file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from studies.large_d import FORMULA, truth, wide_release

import noisewise
from noisewise.data import gram_sum
from noisewise.errors import NoisewiseWarning
from noisewise.holder.gram import plan_gram
from noisewise.privacy.noise import gaussian_integers
from noisewise.releases.files import load
from noisewise.results.diagnostics import ess_bulk, r_hat
from noisewise.run import QUIET
from noisewise.schema import Basis

DRAWS = 1000


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, wall-clock seconds and processor seconds."""
    wall, used = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - used


def cholesky_seconds(matrix: np.ndarray[Any, Any]) -> float:
    return min(timed(lambda: np.linalg.cholesky(matrix))[2] for _ in range(5))


def fit_line(d: int, noise: float, seed: int) -> str:
    release, exact = wide_release(d, noise, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)  # the table shows what they would say
        noisewise.fit(FORMULA, release, draws=100, seed=seed, run=QUIET)  # compiles
        posterior, wall, used = timed(lambda: noisewise.fit(FORMULA, release, draws=DRAWS, seed=seed + 1, run=QUIET))
    samples = posterior.samples
    low, high = np.quantile(samples.reshape(-1, d + 2), [0.025, 0.975], axis=0)
    inside = np.mean((low <= truth(d))[:-1] & (truth(d) <= high)[:-1])
    return (f"| {d} | {noise:g} | {release.contributions[0].rows:,} | {wall:.1f} | {used:.1f} | {r_hat(samples).max():.4f} "
            f"| {ess_bulk(samples).min():,.0f} | {inside:.3f} | {used / cholesky_seconds(exact):,.0f} |")


def release_line(d: int, rows: int, seed: int) -> str:
    release, _ = wide_release(d, 0.1, seed)
    basis = Basis.of(release.schema)
    table = np.random.default_rng(seed).uniform(-1, 1, (d + 1, rows))
    columns = dict(zip(release.schema.names, table, strict=True))
    gram_sum({name: column[:10] for name, column in columns.items()}, release.schema, basis, run=QUIET)  # imports
    _, passed, _ = timed(lambda: gram_sum(columns, release.schema, basis, run=QUIET))
    _, product, _ = timed(lambda: table @ table.T)
    _, planned, _ = timed(lambda: plan_gram(basis, 1.0, 1e-6))
    entries = (d + 1) * (d + 2) // 2
    gaussian_integers(np.zeros(1, dtype=np.int64), 1e8)  # imports
    _, noise, used = timed(lambda: gaussian_integers(np.zeros(entries, dtype=np.int64), 1e8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "wide.nwr")
        _, saved, _ = timed(lambda: release.save(path))
        _, loaded, _ = timed(lambda: load(path))
        size = path.stat().st_size / 2**20
    return (f"| {d} | {passed:.2f} | {passed / product:.1f} | {planned:.2f} | {entries:,} | {noise:.1f} | {used:.1f} "
            f"| {saved:.2f} | {loaded:.2f} | {size:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--d", type=int, nargs="*", default=[50, 500, 1000])
    parser.add_argument("--noise", type=float, nargs="*", default=[0.1, 0.5])
    parser.add_argument("--release-rows", type=int, default=20_000, help="of the pass; 0 leaves releases out")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("| d | noise | rows | fit: seconds | of processors | R-hat | effective draws | coverage | over Cholesky |")
    print("|---|---|---|---|---|---|---|---|---|")
    for d in arguments.d:
        for noise in arguments.noise:
            print(fit_line(d, noise, arguments.seed), flush=True)
    if arguments.release_rows:
        print(f"\nReleases, {arguments.release_rows:,} rows; seconds on the wall\n")
        print("| d | pass | over a plain product | plan | entries | noise | of processors | save | load | MiB |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for d in arguments.d:
            print(release_line(d, arguments.release_rows, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
