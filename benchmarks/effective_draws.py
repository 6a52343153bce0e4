"""Effective draws per second of the methods for normal features against the default, and time per iteration against d.

    python benchmarks/effective_draws.py [--draws 10000] [--replicates 7]

The simulation of paper 002, section 5.1: n = 100 000 rows, θ ~ N(0, 1), x ~ N(0, Σ) with Σ ~ inverse Wishart(VᵀV, d + 1),
residual sd 1, one holder, ε = 1, δ = 1/n, bounds as the paper takes them (the largest norms in the table), noise by the analytic
Gaussian mechanism. Like for like: every method gets the noisy S, z (and, the default, Σ y²) of the same tables with noise of one
size, and the paper's priors (the default: its half-normal one for sigma). The number is the smallest effective size of a
coefficient, over all chains, per second, including warm-up and the search for the mode. Compilation is left out: each sampler
runs once before the clock starts. One core.

Targets: `normal-x-nuts` at least 20 times `normal-x`; the default at least 1000 times. The authors' own code was measured at 0.13
effective draws per second at d = 5 (Octave, one thread); the ratio to that is shown too.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

# Before NumPy and JAX start: one core, so that a second is a second of one of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import invwishart

from noisewise.literature.kernels.metropolis import sample_chains
from noisewise.literature.normal_features import FeaturePrior, model_arrays
from noisewise.literature.normal_x import NORMAL_X, gibbs_arrays
from noisewise.literature.normal_x_nuts import normal_x_mode, sample_normal_x
from noisewise.literature.statistics import HolderStatistics, InverseGamma, LinearProblem
from noisewise.posterior.kernels.mode import find_mode
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.releases.contents.gram import EntryNoise
from noisewise.results.diagnostics import ess_bulk

Array = np.ndarray
ROWS = 100_000
CHAINS = 2
AUTHORS = 0.13
"""Effective draws per second of the authors' code at d = 5."""


@dataclass(frozen=True)
class MadePart:
    """One holder's release."""

    matrix: Array
    rows: int | None
    noise: EntryNoise


@dataclass(frozen=True)
class Setting:
    """One simulated table, released once, in the form that each kind of method takes."""

    problem: LinearProblem
    features: FeaturePrior
    part: MadePart
    coordinates: Coordinates
    prior: ResolvedPrior


def made_setting(d: int, seed: int, rows: int = ROWS) -> Setting:
    generator = np.random.default_rng(seed)
    v = generator.normal(size=(d, d))
    scale = v.T @ v
    covariance = np.atleast_2d(invwishart(d + 1, scale).rvs(random_state=generator))
    theta = generator.normal(size=d)
    x = generator.normal(size=(rows, d)) @ np.linalg.cholesky(covariance).T
    y = x @ theta + generator.normal(size=rows)
    x_norm, y_norm = float(np.linalg.norm(x, axis=1).max()), float(np.abs(y).max())
    sensitivity = np.sqrt(x_norm**4 + (x_norm * y_norm) ** 2)
    sd = analytic_gaussian_sigma(1.0, 1.0 / rows, sensitivity)
    # Columns as noisewise releases them, (1, x, y), with symmetric noise; the paper's S and z are blocks of the same matrix.
    a = np.column_stack([np.ones(rows), x, y])
    upper = np.triu(generator.normal(size=(d + 2, d + 2)) * sd / np.sqrt(2.0), 1)
    matrix = a.T @ a + upper + upper.T + np.diag(generator.normal(size=d + 2) * sd)
    matrix[0, 0] = rows
    variance = np.full((1, d, d), sd**2 / 2) + np.eye(d) * sd**2 / 2
    statistics = HolderStatistics(matrix[None, 1:-1, 1:-1], matrix[None, 1:-1, -1], matrix[-1:, -1], np.array([float(rows)]),
                                  variance, np.array([sd**2 / 2]), np.array([sd**2]), constant=False)
    problem = LinearProblem(statistics, np.eye(d), np.zeros(d), np.zeros(d), np.eye(d) * 19.0 / 0.5, InverseGamma(20.0, 0.5),
                            response_bound=y_norm)
    identity = np.eye(d + 2)
    coordinates = Coordinates.from_arrays(identity[:, 1:-1], identity[:, -1], 1.0)
    prior = ResolvedPrior(np.eye(d), np.zeros(d), np.full(d, np.sqrt(0.5 / 19.0)), 1.0)
    noise = EntryNoise("gaussian", sd, sd / np.sqrt(2.0), 0.0)
    return Setting(problem, FeaturePrior(scale, d + 1.0), MadePart(matrix, rows, noise), coordinates, prior)


def normal_x(setting: Setting, seed: int, draws: int) -> Array:
    """A run as long as in the paper: half of the steps are warm-up."""
    data = gibbs_arrays(setting.problem, setting.features)
    return sample_chains(NORMAL_X, data, seed=seed, chains=CHAINS, draws=draws, warmup=draws)


def normal_x_nuts(setting: Setting, seed: int, draws: int) -> Array:
    data = model_arrays(setting.problem, setting.features)
    return sample_normal_x(data, normal_x_mode(data), seed=seed, chains=CHAINS, draws=min(draws, 1000)).draws


def conditional(setting: Setting, seed: int, draws: int) -> Array:
    model = ConditionalModel.of([setting.part], setting.coordinates, setting.prior)
    mode = find_mode(model.density_with_gradient, *model.start())
    found = sample_nuts(model.log_density, model.data, mode, seed=seed, chains=CHAINS, draws=min(draws, 1000))
    return model.coordinates.to_user(found.draws)


METHODS: dict[str, Callable[[Setting, int, int], Array]] = {
    "normal-x": normal_x, "normal-x-nuts": normal_x_nuts, "conditional": conditional,
}


def effective_per_second(method: Callable[[Setting, int, int], Array], d: int, draws: int, replicates: int) -> tuple[float, ...]:
    """Medians over simulated tables: effective draws per second, effective draws, seconds."""
    settings = [made_setting(d, seed) for seed in range(replicates)]
    method(settings[0], 0, draws)  # compiles
    found = []
    for seed, setting in enumerate(settings):
        start = time.perf_counter()
        sampled = method(setting, seed, draws)
        seconds = time.perf_counter() - start
        effective = float(ess_bulk(sampled[..., :d]).min())
        found.append((effective / seconds, effective, seconds))
    return tuple(float(np.median(column)) for column in zip(*found, strict=True))


def microseconds_per_iteration(d: int, steps: int = 1000) -> float:
    """Time per iteration of one chain of `normal-x`, from the difference between a long and a short run."""
    data = gibbs_arrays(made_setting(d, 0, 20_000).problem)

    def seconds(count: int) -> float:
        start = time.perf_counter()
        sample_chains(NORMAL_X, data, seed=1, chains=1, draws=count, warmup=0)
        return time.perf_counter() - start

    seconds(250)
    short, long = (min(seconds(count) for _ in range(3)) for count in (250, 250 + steps))
    return 1e6 * (long - short) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=10_000, help="draws per chain of normal-x, after as many steps of warm-up")
    parser.add_argument("--replicates", type=int, default=7, help="tables; medians of only a few vary several-fold")
    options = parser.parse_args()
    console = Console(width=110)
    table = Table("d", "method", "effective", "seconds", "per second", "to normal-x", "to the authors'",
                  title=f"Least effective size of a coefficient, {CHAINS} chains, compilation excluded")
    ratios: dict[tuple[str, int], float] = {}
    for d in (5, 10):
        rates = {name: effective_per_second(method, d, options.draws, options.replicates) for name, method in METHODS.items()}
        for name, (rate, effective, seconds) in rates.items():
            ratios[name, d] = rate / rates["normal-x"][0]
            authors = f"{rate / AUTHORS:,.0f}" if d == 5 else ""
            table.add_row(str(d), name, f"{effective:,.0f}", f"{seconds:.2f}", f"{rate:,.1f}", f"{ratios[name, d]:,.1f}", authors)
    console.print(table)
    for name, target in (("normal-x-nuts", 20.0), ("conditional", 1000.0)):
        least = min(ratios[name, d] for d in (5, 10))
        verdict = f"target ≥ {target:g}: {'met' if least >= target else 'missed'}"
        console.print(f"{name}: at least {least:,.1f} times normal-x; {verdict}")
    growth = Table("d", "µs per iteration", title="normal-x, one chain, one holder")
    for d in (2, 5, 10, 20, 50):
        growth.add_row(str(d), f"{microseconds_per_iteration(d):,.0f}")
    console.print(growth)


if __name__ == "__main__":
    main()
