"""Fits with many predictors of unknown distribution: seconds, R-hat and effective draws by the number of predictors.

    python benchmarks/many_predictors.py [--collapsed 5 20 50 100] [--logistic 5 20 50 100] [--former 5 20] [--draws 1000]
                                         [--noise 10 100] [--chains 4]

One release each, of normal predictors (standard deviation 0.3, correlations 0.4 between neighbours), Gaussian noise. ``--noise``:
the largest eigenvalue of the noise as a share of the predictors' smallest one, in per cent (so 100 hides it). The number of
rows follows from it at ε = 1. ``former``: the same posterior of ``collapsed``, sampled as before by the leapfrog, whitened by a
matrix over all parameters found at the mode. It uses the present coordinates, which suit it better than its own did.
Compilation is done before the clock starts. ``CPU``: CPU seconds of all threads; on two free cores a fit takes about half of
that. R-hat is the largest, effective draws the smallest over all coefficients and sigma.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
from studies.coverage import default_prior
from studies.many_predictors import LogisticWorld, collapsed_part, rows_for

from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.linear.collapsed import CollapsedModel
from noisewise.results.diagnostics import ess_bulk, r_hat

Array = npt.NDArray[np.float64]
Fit = Callable[[int, int], Array]
"""(draws, warm-up) to draws of the coefficients, and of sigma where there is one."""


def collapsed_model(d: int, share: float) -> CollapsedModel:
    part = collapsed_part(np.random.default_rng(d), d, rows_for(d, share))
    return CollapsedModel.of([part], *default_prior(d))


def present(model: CollapsedModel, chains: int) -> Fit:
    def fit(draws: int, warmup: int) -> Array:
        return model.coordinates.to_user(model.sample(seed=1, chains=chains, draws=draws, warmup=warmup).draws)

    return fit


def former(model: CollapsedModel, chains: int) -> Fit:
    def fit(draws: int, warmup: int) -> Array:
        mode = find_mode(jax_density(model.log_density, model.data), *model.start())
        found = sample_nuts(model.log_density, model.data, mode, seed=1, chains=chains, draws=draws, warmup=warmup)
        return model.coordinates.to_user(model.coefficients(found.draws))

    return fit


def logistic(d: int, share: float, chains: int) -> Fit:
    model = LogisticWorld.of(d).model(np.random.default_rng(d), rows_for(d, share))[0]

    def fit(draws: int, warmup: int) -> Array:
        mode = find_mode(jax_density(model.log_density, model.data), *model.start())
        found = sample_nuts(model.log_density, model.data, mode, seed=1, chains=chains, draws=draws, warmup=warmup)
        return model.sampled(found.draws, found.diverging, mode.converged).samples

    return fit


def measured(fit: Fit, draws: int) -> tuple[float, float, float, float]:
    """Wall-clock and CPU seconds, R-hat, effective draws."""
    fit(1, 1)  # compiles
    clock, cores = time.perf_counter(), time.process_time()
    found = fit(draws, 300)
    clock, cores = time.perf_counter() - clock, time.process_time() - cores
    return clock, cores, float(r_hat(found).max()), float(ess_bulk(found).min())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Fits with many predictors of unknown distribution.")
    parser.add_argument("--collapsed", type=int, nargs="*", default=[5, 20, 50, 100])
    parser.add_argument("--logistic", type=int, nargs="*", default=[5, 20, 50, 100])
    parser.add_argument("--former", type=int, nargs="*", default=[5, 20])
    parser.add_argument("--noise", type=float, nargs="*", default=[10.0, 100.0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    given = parser.parse_args(arguments)
    print("| fit | predictors | noise, % | rows | seconds | CPU | R-hat | effective draws | per CPU second |")
    print("|---|---|---|---|---|---|---|---|---|")
    for noise in given.noise:
        share = noise / 100
        jobs = [("collapsed", d, present(collapsed_model(d, share), given.chains)) for d in given.collapsed]
        jobs += [("collapsed, former", d, former(collapsed_model(d, share), given.chains)) for d in given.former]
        jobs += [("logistic", d, logistic(d, share, given.chains)) for d in given.logistic]
        for name, d, fit in jobs:
            clock, cores, apart, effective = measured(fit, given.draws)
            print(f"| {name} | {d} | {noise:g} | {rows_for(d, share):,} | {clock:.1f} | {cores:.1f} | {apart:.4f} "
                  f"| {effective:,.0f} | {effective / cores:,.1f} |", flush=True)


if __name__ == "__main__":
    main()
