"""The cost of a gradient of the logistic likelihood by the number of predictors, compared with factorising matrices.

    python benchmarks/glm.py [--flat 14 25 50 100] [--latent 2 5 10 12] [--dense 10 25 50] [--fit 0]

``flat``: the density for many columns; relative to the gradient of the linear regression's ``conditional-flat`` density of the
same size. ``latent``: the density with the columns' moments as unknowns. ``dense``: one factorisation of the covariance of all
moments (d + d(d + 1)/2 of them), which the method of Kulkarni et al. (2021) needs for every gradient, and no gradient of it.
Exponents are those of a line through the logarithms of the last two sizes. ``--fit 50``: a fit with 50 predictors, 4 chains
of 1000 draws, relative to the linear regression's. Seconds are CPU seconds; compilation is done before.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

# Before NumPy and JAX start: one core, so that threads that wait for each other do not count.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np

import noisewise as nw
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import MOST_LATENT, GlmModel
from noisewise.posterior.kernels.mode import jax_density
from noisewise.posterior.linear.conditional import weighted_model
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.run import QUIET
from noisewise.schema import Design

ROWS = 20_000


def made_release(predictors: int) -> tuple[nw.Release, str]:
    rng = np.random.default_rng(1)
    names = [f"x{index}" for index in range(predictors)]
    x = np.clip(rng.normal(0, 0.4, (ROWS, predictors)), -1, 1)
    yes = rng.random(ROWS) < 1 / (1 + np.exp(-x @ rng.normal(0, 2 / np.sqrt(predictors), predictors)))
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "unit": "row", "columns": {
        **{name: {"bounds": [-1, 1]} for name in names}, "y": {"levels": ["no", "yes"]}}})
    table = {**dict(zip(names, x.T, strict=True)), "y": np.where(yes, "yes", "no")}
    return nw.release(table, schema, epsilon=10.0, delta=1e-6, run=QUIET), "y ~ " + " + ".join(names)


def seconds(function: Callable[[], Any], least: float = 0.2) -> float:
    """CPU seconds per call: the smallest of five means."""
    function()
    calls, found = 1, []
    while len(found) < 5:
        start = time.process_time()
        for _ in range(calls):
            function()
        taken = time.process_time() - start
        if taken < least / 5:
            calls *= 2
        else:
            found.append(taken / calls)
    return min(found)


def gradient(predictors: int, flat: bool) -> tuple[float, float]:
    """Seconds for a gradient of the logistic density, and of the linear regression's flat one."""
    release, formula = made_release(predictors)
    design = Design.of(formula, release.basis, release.terms)
    model = GlmModel.of(release, design, FAMILIES["logistic"], None)
    if model.latent == flat:
        raise SystemExit(f"{predictors} predictors: the flat density is that of more than {MOST_LATENT}, latent of fewer")
    linear = weighted_model(release.contributions, Coordinates.of(design), ResolvedPrior.of(design, None))
    times = []
    for density, point in ((jax_density(model.log_density, model.data), model.start()[0] + 0.05),
                           (jax_density(linear.log_density, linear.data), linear.start()[0])):
        times.append(seconds(lambda density=density, point=point: density(point)))  # type: ignore[misc]
    return times[0], times[1]


def dense(predictors: int) -> float:
    """Seconds for one Cholesky factor of the covariance of all first and second moments."""
    size = predictors + predictors * (predictors + 1) // 2
    root = np.random.default_rng(1).normal(size=(size, size))
    covariance = root @ root.T + np.eye(size)
    return seconds(lambda: np.linalg.cholesky(covariance))


def fits(predictors: int) -> tuple[float, float]:
    """Seconds for a logistic and a linear fit."""
    release, formula = made_release(predictors)
    warnings.simplefilter("ignore", nw.errors.ConvergenceWarning)  # of the short fit that compiles
    found = []
    for options in ({"family": "logistic"}, {"method": "conditional-flat"}):
        nw.fit(formula, release, draws=100, seed=1, run=QUIET, **options)  # type: ignore[call-overload]
        start = time.process_time()
        nw.fit(formula, release, seed=1, run=QUIET, **options)  # type: ignore[call-overload]
        found.append(time.process_time() - start)
    return found[0], found[1]


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    return float(np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2]))


def report(name: str, sizes: Sequence[int], flat: bool) -> None:
    found = [gradient(size, flat) for size in sizes]
    for size, (ours, linear) in zip(sizes, found, strict=True):
        print(f"{name}, {size} predictors: {1e6 * ours:.0f} µs for a gradient, {ours / linear:.1f} times that of the linear "
              "regression", flush=True)
    if len(sizes) > 1:
        print(f"{name}: exponent {exponent(sizes, [ours for ours, _ in found]):.1f}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The cost of a generalised linear model's gradient.")
    parser.add_argument("--flat", type=int, nargs="*", default=[14, 25, 50, 100])
    parser.add_argument("--latent", type=int, nargs="*", default=[2, 5, 10, 12])
    parser.add_argument("--dense", type=int, nargs="*", default=[10, 25, 50])
    parser.add_argument("--fit", type=int, default=0)
    given = parser.parse_args(arguments)
    report("flat", given.flat, True)
    report("latent", given.latent, False)
    times = [dense(size) for size in given.dense]
    for size, taken in zip(given.dense, times, strict=True):
        print(f"dense, {size} predictors: {1e6 * taken:.0f} µs for one factorisation")
    if len(times) > 1:
        print(f"dense: exponent {exponent(given.dense, times):.1f}")
    if given.fit:
        ours, linear = fits(given.fit)
        print(f"fit, {given.fit} predictors: {ours:.1f} s, {ours / linear:.1f} times the linear regression's")


if __name__ == "__main__":
    main()
