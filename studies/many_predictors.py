"""Coverage of nominal 95 % intervals with many predictors whose distribution is unknown: ``collapsed`` and ``logistic``.

    python -m studies.many_predictors                                        # 20 predictors: clear, moderate and heavy noise
    python -m studies.many_predictors --d 100 --replicates 10 --fits logistic

Normal predictors (standard deviation 0.3, correlations 0.4 between neighbours, bounds ±1) and an intercept; every replicate has a
new table and new noise. ``--noise``: the largest eigenvalue of the noise as a share of the predictors' smallest one, in per cent;
100 hides it. The number of rows follows from that at ε = 1. One chain for each replicate. Printed: the coverage of the slopes
with its standard error over replicates, that of sigma, the slopes' root mean square error over their posterior standard
deviation (1 where that is right), and their posterior standard deviation over the prior's.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from noisewise.kinds import Gram
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.linear.collapsed import CollapsedModel
from noisewise.posterior.prior import COEFFICIENT_SCALE
from noisewise.schema import Basis, Design, Schema
from studies.coverage import default_prior
from studies.tables import INTERCEPT, SIGMA, Setting, SimulatedPart, simulated_noise, true_coefficients

Array = npt.NDArray[np.float64]

DEVIATION = 0.3
CORRELATION = 0.4
EFFECT = 1.0
"""The standard deviation of the linear predictor of ``logistic``."""
BLOCK = 50_000
"""Rows made at a time."""


@cache
def root(d: int) -> Array:
    """A root of the predictors' covariance: each is 0.4 of the one before and 0.92 of its own."""
    lower = np.zeros((d, d))
    lower[0, 0] = 1.0
    for j in range(1, d):
        lower[j] = CORRELATION * lower[j - 1]
        lower[j, j] = math.sqrt(1 - CORRELATION**2)
    return DEVIATION * lower


def setting(d: int, rows: int) -> Setting:
    return Setting("normal", d, rows, 1.0, 1, "replace-one", "gaussian")


def rows_for(d: int, share: float) -> int:
    """The number of rows at which the noise's largest eigenvalue, s√(2d), is this share of n times the predictors' smallest."""
    smallest = np.linalg.svd(root(d), compute_uv=False)[-1] ** 2
    return int(setting(d, 1).noise().diagonal * math.sqrt(2 * d) / (share * smallest))


def collapsed_part(rng: np.random.Generator, d: int, rows: int) -> SimulatedPart:
    """A release of rows (1, x, y), whose matrix is drawn from its own distribution (Bartlett): rows are never made."""
    beta, noise = true_coefficients("normal", d), setting(d, rows).noise()
    lower = np.zeros((d + 1, d + 1))
    lower[:-1, :-1] = root(d)
    lower[-1, :-1] = beta[1:] @ root(d)
    lower[-1, -1] = SIGMA
    factor = np.tril(rng.normal(size=lower.shape), -1) + np.diag(np.sqrt(rng.chisquare(rows - 1 - np.arange(d + 1))))
    spread = lower @ factor
    mean = np.append(np.zeros(d), INTERCEPT) + lower @ rng.normal(size=d + 1) / math.sqrt(rows)
    first = np.append(1.0, mean)
    matrix = rows * np.outer(first, first)
    matrix[1:, 1:] += spread @ spread.T
    return SimulatedPart(matrix + simulated_noise(rng, noise, d + 2), rows, noise)


@dataclass(frozen=True)
class LogisticWorld:
    """Everything that is the same in all replicates."""

    d: int
    design: Design

    @classmethod
    @cache
    def of(cls, d: int) -> LogisticWorld:
        names = [f"x{j}" for j in range(d)]
        schema = Schema.from_dict({"adjacency": "replace-one", "columns": {**{name: {"bounds": [-1, 1]} for name in names},
                                                                           "y": {"levels": [0, 1]}}})
        return cls(d, Design.of("y ~ " + " + ".join(names), Basis.of(schema)))

    def truth(self) -> Array:
        """Intercept and slopes: effects of equal size and alternating signs."""
        slopes = np.where(np.arange(self.d) % 2 == 0, 1.0, -1.0)
        return np.append(0.3, EFFECT * slopes / np.linalg.norm(slopes @ root(self.d)))

    def model(self, rng: np.random.Generator, rows: int) -> tuple[GlmModel, Array]:
        """The model of a simulated release of new rows, and the true coefficients."""
        beta, noise = self.truth(), setting(self.d, rows).noise()
        matrix = np.zeros((self.d + 2, self.d + 2))
        for first in range(0, rows, BLOCK):
            count = min(BLOCK, rows - first)
            x = np.clip(rng.normal(size=(count, self.d)) @ root(self.d).T, -1.0, 1.0)
            yes = rng.random(count) * (1.0 + np.exp(-(beta[0] + x @ beta[1:]))) < 1.0
            a = np.column_stack([np.ones(count), x, np.where(yes, 1.0, -1.0)])
            matrix += a.T @ a
        part = SimulatedPart(matrix + simulated_noise(rng, noise, self.d + 2), rows, noise)
        release = SimpleNamespace(kind=Gram(), schema=self.design.basis.schema, basis=self.design.basis, clipped_norm=None,
                                  contributions=(part,))
        return GlmModel.of(release, self.design, FAMILIES["logistic"], None), beta  # type: ignore[arg-type]


def collapsed_draws(d: int, rows: int, seed: int, draws: int) -> tuple[Array, Array, Array]:
    """Draws of (coefficients, sigma), the truth, and the prior's standard deviations."""
    model = CollapsedModel.of([collapsed_part(np.random.default_rng([d, rows, seed]), d, rows)], *default_prior(d))
    found = model.sample(seed=seed, chains=1, draws=draws)
    prior = np.full(d + 2, COEFFICIENT_SCALE)
    return model.coordinates.to_user(found.draws[0]), np.append(true_coefficients("normal", d), SIGMA), prior


def logistic_draws(d: int, rows: int, seed: int, draws: int) -> tuple[Array, Array, Array]:
    model, truth = LogisticWorld.of(d).model(np.random.default_rng([d, rows, seed]), rows)
    found = model.sample(draws=draws, chains=1, seed=seed)
    return found.samples[0], truth, model.data["prior_sd"] / np.append(1.0, np.full(d, DEVIATION))


FITS: dict[str, Callable[[int, int, int, int], tuple[Array, Array, Array]]] = {
    "collapsed": collapsed_draws, "logistic": logistic_draws,
}


def coverage(fit: str, d: int, noise: float, replicates: int, draws: int) -> str:
    """One line of the table."""
    rows = rows_for(d, noise / 100)
    inside, errors, narrower = [], [], []
    for seed in range(replicates):
        sampled, truth, prior = FITS[fit](d, rows, seed, draws)
        low, high = np.quantile(sampled, [0.025, 0.975], axis=0)
        inside.append((low <= truth) & (truth <= high))
        slopes = slice(1, d + 1)
        deviations = sampled.std(axis=0)[slopes]
        errors.append(np.mean(((sampled.mean(axis=0) - truth)[slopes] / deviations) ** 2))
        narrower.append(np.mean(deviations / prior[slopes]))
    found = np.array(inside, dtype=float)
    each = found[:, 1:d + 1].mean(axis=1)
    sigma = f"{found[:, -1].mean():.2f}" if fit == "collapsed" else "–"
    return (f"| {fit} | {d} | {noise:g} | {rows:,} | {replicates} | {each.mean():.3f} ± {each.std() / math.sqrt(replicates):.3f} "
            f"| {sigma} | {math.sqrt(np.mean(errors)):.2f} | {np.mean(narrower):.3f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--fits", nargs="*", default=list(FITS), choices=list(FITS))
    parser.add_argument("--d", type=int, nargs="*", default=[20])
    parser.add_argument("--noise", type=float, nargs="*", default=[1.0, 10.0, 100.0])
    parser.add_argument("--replicates", type=int, default=30)
    parser.add_argument("--draws", type=int, default=300)
    given = parser.parse_args(arguments)
    print("| fit | predictors | noise, % | rows | replicates | coverage of slopes | of sigma | error / posterior sd "
          "| posterior sd / prior's |")
    print("|---|---|---|---|---|---|---|---|---|")
    for fit in given.fits:
        for d in given.d:
            for noise in given.noise:
                started = time.perf_counter()
                line = coverage(fit, d, noise, given.replicates, given.draws)
                print(line, f"{time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
