"""The cost of sampling the predictors' moments: the default's form for much noise against ``conditional-flat``.

    python benchmarks/latent.py [--predictors 2 5 10 12] [--replicates 1]

One holder with 10 000 rows of d correlated predictors (binary, skewed, uniform, normal), ε = 0.1: the noise is of the order of
the predictors' moments. Both are sampled as in ``fit``, 4 chains of 1000 draws, from the same releases; compilation is done
before the clock starts. Seconds are CPU seconds, so other work on the machine does not count.
Effective draws: the smallest over the coefficients. Medians over the replicates. The default takes this form up to 13 columns
including the constant, that is, 12 predictors.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

# Before NumPy and JAX start: one core, so that threads that wait for each other do not count.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import numpy.typing as npt
from studies.coverage import default_prior
from studies.tables import Setting, SimulatedPart, exact_matrices, simulated_noise

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.linear.conditional import weighted_model
from noisewise.posterior.linear.latent import LatentModel
from noisewise.results.diagnostics import ess_bulk

Array = npt.NDArray[np.float64]
CHAINS, DRAWS, WARMUP = 4, 1000, 300


def made_part(d: int, seed: int) -> SimulatedPart:
    setting = Setting("mixed", d, 10_000, 0.1, 1, "replace-one", "gaussian")
    with double_precision():
        exact = exact_matrices(seed, setting, 1)[0]
    noise = setting.noise()
    return SimulatedPart(exact + simulated_noise(np.random.default_rng(seed), noise, d + 2), setting.rows, noise)


def flat(part: SimulatedPart, d: int, draws: int = DRAWS, warmup: int = WARMUP) -> Array:
    model = weighted_model([part], *default_prior(d))
    mode = find_mode(model.density_with_gradient, *model.start())
    found = sample_nuts(model.log_density, model.data, mode, seed=1, chains=CHAINS, draws=draws, warmup=warmup)
    return model.coordinates.to_user(found.draws)


def latent(part: SimulatedPart, d: int, draws: int = DRAWS, warmup: int = WARMUP) -> Array:
    model = LatentModel.of([part], *default_prior(d))
    mode = find_mode(jax_density(model.log_density, model.data), *model.start())
    found = sample_nuts(model.log_density, model.data, mode, seed=1, chains=CHAINS, draws=draws, warmup=warmup)
    # A short run is made as long as a full one here: what draws the coefficients is compiled for their number.
    return model.coordinates.to_user(model.coefficients(np.repeat(found.draws, DRAWS // draws, axis=1), 1))


def measured(fit: Callable[..., Array], d: int, replicates: int) -> tuple[float, float, float]:
    """Seconds for a fit, effective draws, and effective draws per second."""
    parts = [made_part(d, seed) for seed in range(replicates)]
    fit(parts[0], d, draws=1, warmup=1)  # compiles
    found = []
    for part in parts:
        start = time.process_time()
        draws = fit(part, d)
        seconds = time.process_time() - start
        effective = float(ess_bulk(draws[..., :-1]).min())
        found.append((seconds, effective, effective / seconds))
    seconds, effective, rate = np.median(found, axis=0)
    return float(seconds), float(effective), float(rate)


def main() -> None:
    parser = argparse.ArgumentParser(description="The latent form of the default against conditional-flat.")
    parser.add_argument("--predictors", type=int, nargs="*", default=[2, 5, 10, 12])
    parser.add_argument("--replicates", type=int, default=1)
    arguments = parser.parse_args()
    print("| predictors | flat: seconds | effective draws per second | S unknown: seconds | effective draws | per second "
          "| ratio of seconds |")
    print("|---|---|---|---|---|---|---|")
    for d in arguments.predictors:
        plain, sampled = measured(flat, d, arguments.replicates), measured(latent, d, arguments.replicates)
        print(f"| {d} | {plain[0]:.2f} | {plain[2]:,.0f} | {sampled[0]:.1f} | {sampled[1]:,.0f} | {sampled[2]:,.0f} "
              f"| {sampled[0] / plain[0]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
