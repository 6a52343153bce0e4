"""Coverage of nominal 95 % intervals of the default method with many predictors, from clear signals to much noise.

    python -m studies.large_d [--d 50 200] [--noise 0.1 0.5 1.5] [--replicates 40] [--jointly]

Normal predictors (sd 0.3 of their half width, neighbours correlated by 0.4), coefficients of equal size and alternating sign: by
the correlation they lie where the predictors vary least, which is the hardest direction. ε = 1, δ = 1e-6, replace-one. The noise
is given as the largest eigenvalue of the matrix of noise (about s√(2d)) over the smallest one of the predictors' own matrix; the
number of rows follows from it. Matrices of this many rows are drawn from their distribution (Bartlett), not summed. One line per
setting: coverage of the coefficients and its standard error over replicates, coverage of sigma, the mean and standard deviation
of sigma's error in posterior standard deviations, and the median width of the slopes' intervals relative to those without
privacy. ``--jointly`` keeps the covariance between the two parts of h, as is done for few predictors.
"""

from __future__ import annotations

import argparse
import math
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import numpy.typing as npt

import noisewise
from noisewise.errors import NoisewiseWarning
from noisewise.holder.plan import plan_of
from noisewise.posterior.linear import conditional
from noisewise.releases.release import Release
from noisewise.run import QUIET
from noisewise.schema import Schema
from studies.tables import DELTA, INTERCEPT, SIGMA, SIGNAL, simulated_noise

Array = npt.NDArray[np.float64]

EPSILON = 1.0
SPREAD = 0.3
CORRELATION = 0.4
FORMULA = "y ~ ."


def truth(d: int) -> Array:
    """Intercept, slopes and sigma."""
    slopes = SIGNAL / math.sqrt(d) / SPREAD * np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    return np.concatenate([[INTERCEPT], slopes, [SIGMA]])


def wide_release(d: int, noise: float, seed: int, epsilon: float = EPSILON) -> tuple[Release, Array]:
    """A simulated release of d predictors and a response, and the exact matrix behind it."""
    columns = {name: {"bounds": [-1, 1]} for name in (*(f"x{index}" for index in range(d)), "y")}
    schema = Schema.from_dict({"adjacency": "replace-one", "unit": "row", "columns": columns})
    blank = plan_of(noisewise.Gram(), schema, epsilon, DELTA).blank
    one = blank.contents
    smallest = SPREAD**2 * (1 - CORRELATION) / (1 + CORRELATION)
    rows = math.ceil(one.noise.diagonal * math.sqrt(2 * d) / (noise * smallest))
    rng = np.random.default_rng([d, seed])
    exact = exact_matrix(d, rows, rng)
    matrix = exact + simulated_noise(rng, one.noise, d + 2)
    matrix[0, 0] = rows
    return blank.with_contributions((replace(one, matrix=matrix, rows=rows),)), exact


def exact_matrix(d: int, rows: int, rng: np.random.Generator) -> Array:
    """The Gram matrix of rows (1, x, y) from its own distribution, whatever the number of rows."""
    distance = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    root = SPREAD * np.linalg.cholesky(CORRELATION**distance)
    bartlett = np.tril(rng.normal(size=(d, d)), -1) + np.diag(np.sqrt(rng.chisquare(rows - 1 - np.arange(d))))
    mean = root @ rng.normal(size=d) / math.sqrt(rows)
    gram = np.empty((d + 1, d + 1))
    gram[0] = gram[:, 0] = rows * np.append(1.0, mean)
    gram[1:, 1:] = root @ bartlett @ bartlett.T @ root.T + rows * np.outer(mean, mean)
    beta, sigma = truth(d)[:-1], truth(d)[-1]
    standard = rng.normal(size=d + 1)
    errors = sigma * np.linalg.cholesky(gram) @ standard
    cross = gram @ beta + errors
    squares = sigma**2 * (rng.chisquare(rows - d - 1) + standard @ standard)
    total = beta @ gram @ beta + 2 * beta @ errors + squares
    matrix = np.block([[gram, cross[:, None]], [cross[None, :], np.array([[total]])]])
    exact: Array = (matrix + matrix.T) / 2  # to the last bit
    return exact


def run_setting(d: int, noise: float, replicates: int, seed: int, draws: int) -> str:
    """One line of the table."""
    made = [wide_release(d, noise, 1000 * seed + index) for index in range(replicates)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)  # the warning about much noise: that is what is measured
        fits = noisewise.fit_many(FORMULA, [release for release, _ in made], chains=1, draws=draws, seed=seed, run=QUIET)
    samples = np.stack([fit.samples[0] for fit in fits])
    low, high = np.quantile(samples, [0.025, 0.975], axis=1)
    right = truth(d)
    inside = (low <= right) & (right <= high)
    coefficients = inside[:, :-1].mean(axis=1)
    error = (samples[..., -1].mean(axis=1) - SIGMA) / samples[..., -1].std(axis=1)
    plain = np.array([SIGMA * np.sqrt(np.diag(np.linalg.inv(exact[:-1, :-1]))) for _, exact in made])
    width = np.median((high - low)[:, 1:-1] / (2 * 1.96 * plain[:, 1:]))
    rows = made[0][0].contents.rows
    chance = coefficients.std() / replicates**0.5
    return (f"| {d} | {noise:g} | {rows:,} | {replicates} | {coefficients.mean():.3f} | {chance:.3f} "
            f"| {inside[:, -1].mean():.2f} | {error.mean():+.2f} | {error.std():.2f} | {width:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--d", type=int, nargs="*", default=[50, 200])
    parser.add_argument("--noise", type=float, nargs="*", default=[0.1, 0.5, 1.5])
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--draws", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jointly", action="store_true", help="with the covariance between the two parts of h")
    arguments = parser.parse_args()
    print("| d | noise | rows | replicates | coefficients | s.e. | sigma | its error: mean | sd | relative width |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    few = max(arguments.d) + 1 if arguments.jointly else conditional.FEW
    with mock.patch.object(conditional, "FEW", few):
        for d in arguments.d:
            for noise in arguments.noise:
                print(run_setting(d, noise, arguments.replicates, arguments.seed, arguments.draws), flush=True)


if __name__ == "__main__":
    main()
