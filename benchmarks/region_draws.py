"""Matrices from a 95 % confidence region: the time for 1000 of them, and the tries needed to find one by chance.

    python -m benchmarks.region_draws [--tries 100000] [--draws 1000]

Nine independent normal predictors, scaled to their range, and n = 50,000: the tables of paper 004, section 4.1.1, which reports
that 1000 matrices at ε = 0.1 were out of reach. "Tries" draws noise until the release less the noise is positive definite.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from studies.model_averaging import moments_of, noise_of, table_of

from noisewise.literature.regions import Region

ROWS, PREDICTORS, RANGE = 50_000, 9, 4.25
MECHANISMS = ("laplace", "gaussian", "wishart", "wishart-paper")
EPSILONS = (0.1, 0.5, 1.0)
LOT = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws from confidence regions.")
    parser.add_argument("--tries", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, PREDICTORS)) / RANGE
    centred = x - x.mean(axis=0)
    beta = np.where(np.arange(PREDICTORS) < 5, rng.normal(scale=0.13, size=PREDICTORS), 0.0)
    variance = float(np.var(x @ beta)) / 0.5
    table = table_of(centred.T @ centred, x.sum(axis=0), beta, variance, ROWS, 0.0, rng)
    print(f"{'mechanism':>14} {'epsilon':>8} {'CPU s':>7} {'effective':>10} {'accepted':>9}   positive definite by chance")
    for mechanism in MECHANISMS:
        for epsilon in EPSILONS:
            noise = noise_of(mechanism, PREDICTORS + 1, True, epsilon)
            matrix = table.matrix + noise.draw(rng)
            region = Region(moments_of(table, matrix, noise.variances), noise.law)
            started = time.process_time()
            drawn = region.draws(arguments.draws, seed=1)
            seconds = time.process_time() - started
            found = sum(int(np.sum(np.linalg.eigvalsh(matrix - noise.law.draw(LOT, rng))[:, 0] > 0.0))
                        for _ in range(arguments.tries // LOT))
            print(f"{mechanism:>14} {epsilon:>8g} {seconds:>7.1f} {drawn.effective:>10.0f} {drawn.accepted:>9.2f}   "
                  f"{found} of {arguments.tries // LOT * LOT}", flush=True)


if __name__ == "__main__":
    main()
