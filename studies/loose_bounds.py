"""The default where it is weakest: loose bounds or large noise, so that the release hardly shows the predictors' moments.

    python -m studies.loose_bounds [--replicates 60]

The conditional likelihood has a flat prior on the predictors' moment matrix S. Where the noise is larger than S itself, that
prior makes S as large as the noise, so large coefficients look unlikely and the posterior leans towards zero. Here the
predictors use a tenth of their declared range and have large coefficients (in units of half width per half width).
"""

from __future__ import annotations

import argparse

import numpy as np

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.linear.methods import default_model
from studies.batch import sample_batch
from studies.coverage import default_prior
from studies.tables import INTERCEPT, SIGMA, Setting, SimulatedPart, simulated_noise

SPREAD = 0.1
CELLS = [
    (2, 1_000, 0.1, 2.0),
    (5, 1_000, 0.1, 1.5),
    (5, 1_000, 1.0, 1.5),
    (5, 10_000, 0.1, 1.5),
    (5, 10_000, 1.0, 1.5),
    (5, 100_000, 0.1, 1.5),
]


def slopes_covered(d: int, rows: int, epsilon: float, slope: float, replicates: int, seed: int) -> tuple[float, float, float]:
    """Noise relative to a predictor's moment, coverage of the slopes, and their mean posterior standard deviation."""
    noise = Setting("normal", d, rows, epsilon, 1, "replace-one", "gaussian").noise()
    coordinates, prior = default_prior(d)
    rng = np.random.default_rng(seed)
    beta = slope * np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    models = []
    for _ in range(replicates):
        x = np.clip(rng.normal(0, SPREAD, (rows, d)), -1, 1)
        y = np.clip(INTERCEPT + x @ beta + rng.normal(0, SIGMA, rows), -1, 1)
        table = np.column_stack([np.ones(rows), x, y])
        part = SimulatedPart(table.T @ table + simulated_noise(rng, noise, d + 2), rows, noise)
        models.append(default_model([part], coordinates, prior))
    with double_precision():
        draws = sample_batch(models, seed=seed, draws=500, warmup=200)
    users = np.stack([model.coordinates.to_user(chain) for model, chain in zip(models, draws, strict=True)])[..., 1:-1]
    low, high = np.quantile(users, [0.025, 0.975], axis=1)
    covered = float(np.mean((low <= beta) & (beta <= high)))
    return noise.diagonal / (rows * SPREAD**2), covered, float(users.std(axis=1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of large coefficients under loose bounds and much noise.")
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("| d | n | ε | true slope | noise / (n · mean square) | coverage of the slopes | posterior sd |")
    print("|---|---|---|---|---|---|---|")
    for cell in CELLS:
        ratio, covered, sd = slopes_covered(*cell, arguments.replicates, arguments.seed)
        print("| " + " | ".join(map(str, cell)) + f" | {ratio:.1f} | {covered:.2f} | {sd:.2f} |", flush=True)


if __name__ == "__main__":
    main()
