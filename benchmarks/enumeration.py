"""CPU seconds and peak memory of weighing every subset of p predictors, compared with plain NumPy for each model.

    python benchmarks/enumeration.py [--rows 50000] [--sample 400] [--repeats 3]

Made-up correlated predictors, one table of moments for each p, one thread. First without noise: all 2^p Bayes factors from the
elimination tree. "Plain" is a Cholesky factor and a triangular solve for each model of a random sample, with the same
formula for its R² (the integral over g by SciPy's `quad` where there is one), times 2^p over the sample's size. BAS is the C code
of R's package: BAS 1.7.5, measured once on another machine, so that ratios to it are rough. Targets: p = 15 with
Zellner–Siow by quadrature at least 10 times faster than BAS; p = 20 with BIC faster than BAS and below 2 GB.
Then with noise: the default analysis against the same one with every Ω inverted directly. Finally the walk over models, which
replaces listing them where there are too many, against listing all models of 16 predictors.
Each piece of work runs in a fresh process after a small one, and its best time counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

# Before NumPy starts: one thread, so that a second is a second of one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.integrate import quad
from scipy.linalg import cho_factor, cho_solve

from noisewise.selection.evidence import Evidence
from noisewise.selection.moments import Moments
from noisewise.selection.probabilities import log_prior_by_size
from noisewise.selection.walk import walk
from noisewise.selection.weighing import _Dense

BAS = {(9, "bic"): 0.10, (9, "zellner-siow-laplace"): 0.09, (9, "zellner-siow"): 0.11, (15, "bic"): 0.35,
       (15, "zellner-siow-laplace"): 0.31, (15, "zellner-siow"): 7.2, (20, "bic"): 14.5, (20, "zellner-siow-laplace"): 12.5}
"""CPU seconds of BAS 1.7.5 at n = 50,000, measured once on another machine; quadrature at p = 20 ran out of 22 GB."""
EXACT = [(p, prior) for p in (9, 15, 20) for prior in ("bic", "zellner-siow-laplace", "zellner-siow")]
PLAIN = ("bic", "zellner-siow")
NOISY = [9, 12, 15, 16]
WALKED = [30, 100]
NOISE = 30.0


def moments_of(predictors: int, rows: int, noise: float) -> Moments:
    """Moments of a constant, correlated predictors of which every fourth matters, and a response."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-0.4, 0.4, size=(rows, 1)) + rng.uniform(-0.6, 0.6, size=(rows, predictors))
    slopes = np.where(np.arange(predictors) % 4 == 0, 0.3 * 0.5 ** (np.arange(predictors) / 4), 0.0)
    table = np.column_stack([np.ones(rows), x, x @ slopes + 0.3 * rng.normal(size=rows)])
    size = predictors + 2
    variances = 0.5 * noise**2 * (1.0 + np.eye(size))
    variances[0, 0] = 0.0
    upper = np.triu(np.sqrt(variances) * rng.normal(size=(size, size)))
    matrix = table.T @ table + upper + np.triu(upper, 1).T
    return Moments(matrix, matrix, variances, float(rows), np.eye(size)[:, :-1], np.eye(size)[-1], kept=1)


def evidence_of(predictors: int, rows: int, prior: str, noise: float) -> Evidence:
    return Evidence(moments_of(predictors, rows, noise), [[column] for column in range(predictors)], prior)


def plain(predictors: int, rows: int, prior: str, sample: int) -> float:
    """Estimated CPU seconds for all models, from a sample of them."""
    matrix = moments_of(predictors, rows, 0.0).matrix
    centred = matrix[1:, 1:] - np.outer(matrix[0, 1:], matrix[0, 1:]) / matrix[0, 0]
    chosen = np.random.default_rng(2).uniform(size=(sample, predictors)) < 0.5
    start = time.process_time()
    for members in chosen:
        places = np.flatnonzero(members)
        cross = centred[places, -1]
        explained = cross @ cho_solve(cho_factor(centred[np.ix_(places, places)]), cross) if len(places) else 0.0
        weighed(1.0 - explained / centred[-1, -1], len(places), rows, prior)
    return (time.process_time() - start) * 2.0**predictors / sample


def weighed(unexplained: float, columns: int, rows: int, prior: str) -> float:
    if prior == "bic":
        return -0.5 * rows * math.log(unexplained) - 0.5 * columns * math.log(rows)

    def log_integrand(t: float) -> float:
        g = math.exp(t)
        return (0.5 * (rows - 1 - columns) * math.log1p(g) - 0.5 * (rows - 1) * math.log1p(g * unexplained)
                - 0.5 * t - 0.5 * rows / g)

    middle = math.log(rows)
    top = log_integrand(middle)
    return top + math.log(quad(lambda t: math.exp(log_integrand(t) - top), middle - 5.0, middle + 15.0)[0])


def work(predictors: int, rows: int, prior: str, noise: float, dense: bool) -> Callable[[], object]:
    evidence = evidence_of(predictors, rows, prior, noise)
    if dense:
        both = np.column_stack([evidence.gram, evidence.cross])
        evidence.weighing = _Dense(evidence.moments, both, evidence.spread, evidence.variance)
    if predictors in WALKED:
        return lambda: walk(evidence, log_prior_by_size("beta-binomial", predictors), 1, lambda done, total: None)
    return evidence.all_models


def measured(*arguments: object, repeats: int) -> tuple[float, float]:
    """Best CPU seconds, and the peak memory of the whole process in GB."""
    best = math.inf
    for _ in range(repeats):
        done = subprocess.run([sys.executable, str(Path(__file__).resolve()), "--one", json.dumps(arguments)],
                              capture_output=True, text=True, check=True)
        seconds, kilobytes = json.loads(done.stdout)
        best = min(best, seconds)
    return best, kilobytes / 2**20


def one(arguments: list[object]) -> None:
    predictors, rows, prior, noise, dense = arguments
    assert isinstance(predictors, int) and isinstance(rows, int) and isinstance(prior, str)
    assert isinstance(noise, float) and isinstance(dense, bool)
    work(14, rows, prior, 0.0, False)()  # loads what is loaded on first use
    job = work(predictors, rows, prior, noise, dense)
    start = time.process_time()
    job()
    seconds = time.process_time() - start
    with open("/proc/self/status") as status:  # not getrusage: its peak is inherited from the parent process
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(json.dumps([seconds, peak]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        one(arguments.one)
        return
    table = Table("p", "prior", "CPU s", "GB", "plain, s", "ratio", "BAS, s", "ratio", title="without noise")
    for predictors, prior in EXACT:
        seconds, memory = measured(predictors, arguments.rows, prior, 0.0, False, repeats=arguments.repeats)
        beside = plain(predictors, arguments.rows, prior, arguments.sample) if prior in PLAIN else None
        row = [f"{seconds:.4f}", f"{memory:.2f}"]
        for other in (beside, BAS.get((predictors, prior))):
            row += ["", ""] if other is None else [f"{other:.2f}", f"{other / seconds:.0f}"]
        table.add_row(str(predictors), prior, *row)
    Console().print(table)
    table = Table("p", "models", "CPU s", "GB", "dense Ω, s", "ratio", title="noise-aware, Zellner–Siow")
    for predictors in NOISY:
        seconds, memory = measured(predictors, arguments.rows, "zellner-siow", NOISE, False, repeats=arguments.repeats)
        dense, _ = measured(predictors, arguments.rows, "zellner-siow", NOISE, True, repeats=1)
        table.add_row(str(predictors), f"{2**predictors:,}", f"{seconds:.2f}", f"{memory:.2f}", f"{dense:.2f}",
                      f"{dense / seconds:.1f}")
    Console().print(table)
    listed = seconds
    table = Table("p", "CPU s", "GB", "16 predictors listed, s", "ratio", title="noise-aware, walk over models")
    for predictors in WALKED:
        seconds, memory = measured(predictors, arguments.rows, "zellner-siow", NOISE, False, repeats=1)
        table.add_row(str(predictors), f"{seconds:.1f}", f"{memory:.2f}", f"{listed:.2f}", f"{seconds / listed:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
