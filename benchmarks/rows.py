"""Sweeps per second of the sampler for perturbed rows against the same sweep in plain NumPy, and effective draws of its variants.

    python benchmarks/rows.py [--rows 100000] [--predictors 1] [--scale 1.0] [--sweeps 40]
    python benchmarks/rows.py --effective --rows 10000 --scale 0.5 --sweeps 1000
    python benchmarks/rows.py --moments --rows 10000 --scale 0.5

One core. A sweep moves the parameters by a Hamiltonian trajectory of two steps, three gradients, with the numbers integrated out,
and then draws every W. The NumPy version works on whole arrays, entry by entry of the rows' small matrices. Seconds are CPU
seconds, so other work on the machine does not count. Target: five times as many sweeps per second.

With ``--effective`` the variants are compared: effective draws of the slope and of sigma per second, and per thousand sweeps.
With ``--moments`` the posterior is compared with an estimate from second moments alone: least squares from the rows' covariance
less that of their noise, over many tables.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

# Before NumPy and JAX start: one core for both.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

from noisewise.literature.row_gibbs import gibbs, interwoven
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.rows import marginal, sampler
from noisewise.posterior.rows.chain import LEAST_VARIANCE, chain
from noisewise.posterior.rows.problem import RowProblem
from noisewise.results.diagnostics import ess_bulk

LEAPS = 2


def made_problem(rows: int, predictors: int, scale: float, seed: int = 1) -> RowProblem:
    """Correlated predictors, standard deviation 0.3, slopes 0.5, sigma 0.15; Laplace noise of one scale on all."""
    generator = np.random.default_rng(seed)
    x = 0.3 * generator.normal(size=(rows, predictors))
    for k in range(1, predictors):
        x[:, k] += 0.5 * x[:, k - 1]
    z = np.column_stack([x, 0.1 + 0.5 * x.sum(axis=1) + 0.15 * generator.normal(size=rows)])
    noisy = z + scale * generator.laplace(size=z.shape)
    return RowProblem(noisy[None], np.full(predictors + 1, scale), np.ones((1, rows)))


class PlainSweep:
    """The default sweep for one copy and a constant, in NumPy. ``kind`` is the precision of all arrays with rows."""

    def __init__(self, problem: RowProblem, root: Any, step: float, kind: Any) -> None:
        self.generator = np.random.default_rng(2)
        self.kind, self.root, self.step = kind, root, step
        self.w = np.ascontiguousarray(problem.observed[0].T, dtype=kind)
        self.b = problem.noise.astype(kind)
        self.size, self.rows = self.w.shape
        self.precision = (1.0 / (2.0 * self.b**2))[:, None] * np.ones_like(self.w)

    def unpack(self, vector: Any) -> tuple[Any, Any, Any]:
        """Intercepts, slopes and scales."""
        effects, slopes, scales, place = np.zeros(self.size), np.zeros((self.size, self.size)), np.zeros(self.size), 0
        for k in range(self.size):
            effects[k], slopes[k, :k], scales[k] = vector[place], vector[place + 1 : place + 1 + k], vector[place + 1 + k]
            place += k + 2
        return effects, slopes, scales

    def factor(self, matrix: Any, added: Any) -> list[list[Any]]:
        """Cholesky factors of matrix + diag(added), the diagonal inverted."""
        lower: list[list[Any]] = [[None] * self.size for _ in range(self.size)]
        for j in range(self.size):
            pivot = added[j] + self.kind(matrix[j, j])
            for k in range(j):
                pivot -= lower[j][k] ** 2
            lower[j][j] = 1.0 / np.sqrt(pivot)
            for i in range(j + 1, self.size):
                entry = self.kind(matrix[i, j]) - sum(lower[i][k] * lower[j][k] for k in range(j))
                lower[i][j] = entry * lower[j][j]
        return lower

    def solve(self, lower: Any, right: list[Any]) -> list[Any]:
        found: list[Any] = []
        for i in range(self.size):
            found.append((right[i] - sum(lower[i][k] * found[k] for k in range(i))) * lower[i][i])
        return found

    def solve_back(self, lower: Any, right: list[Any]) -> list[Any]:
        found: list[Any] = [None] * self.size
        for i in reversed(range(self.size)):
            found[i] = (right[i] - sum(lower[k][i] * found[k] for k in range(i + 1, self.size))) * lower[i][i]
        return found

    def inverse(self, lower: Any) -> list[list[Any]]:
        """Of the whole matrices."""
        part: list[list[Any]] = [[None] * self.size for _ in range(self.size)]
        for j in range(self.size):
            part[j][j] = lower[j][j]
            for i in range(j + 1, self.size):
                part[i][j] = -sum(lower[i][k] * part[k][j] for k in range(j, i)) * lower[i][i]
        full: list[list[Any]] = [[None] * self.size for _ in range(self.size)]
        for i in range(self.size):
            for j in range(i + 1):
                full[i][j] = full[j][i] = sum(part[k][i] * part[k][j] for k in range(i, self.size))
        return full

    def gradient(self, vector: Any) -> tuple[float, Any]:
        effects, slopes, scales = self.unpack(vector)
        passed = np.linalg.inv(np.eye(self.size) - slopes)
        mean, covariance = passed @ effects, (passed * scales**2) @ passed.T
        lower = self.factor(covariance, 1.0 / self.precision)
        solved = self.solve(lower, [self.w[i] - self.kind(mean[i]) for i in range(self.size)])
        weights, inverse = self.solve_back(lower, solved), self.inverse(lower)
        value = sum(np.log(lower[i][i]).sum(dtype=float) - 0.5 * (solved[i] ** 2).sum(dtype=float) for i in range(self.size))
        toward_mean = np.array([part.sum(dtype=float) for part in weights])
        toward = np.array([[(weights[i] * weights[j] - inverse[i][j]).sum(dtype=float) for j in range(self.size)]
                           for i in range(self.size)]) / 2.0
        # Back through Σ = T diag(τ²) Tᵀ and the mean T·a, T = (1 − B)⁻¹.
        spread = passed.T @ toward @ passed
        slope_part = 2.0 * (passed.T @ toward @ covariance) + np.outer(passed.T @ toward_mean, mean)
        parts = [np.concatenate([[(passed.T @ toward_mean)[k]], slope_part[k, :k], [2.0 * spread[k, k] * scales[k]]])
                 for k in range(self.size)]
        prior = np.concatenate([np.append(vector[p : p + k + 1] / 2.5**2, vector[p + k + 1] / 0.5**2)
                                for k, p in ((k, sum(j + 2 for j in range(k))) for k in range(self.size))])
        return value - 0.5 * float(prior @ vector), np.concatenate(parts) - prior

    def move_law(self, vector: Any) -> Any:
        momentum = self.generator.normal(size=len(vector))
        value, force = self.gradient(vector)
        at, speed, new = vector, momentum, value
        for _ in range(LEAPS):
            speed = speed + 0.5 * self.step * (self.root.T @ force)
            at = at + self.step * (self.root @ speed)
            new, force = self.gradient(at)
            speed = speed + 0.5 * self.step * (self.root.T @ force)
        gain = new - value + 0.5 * (momentum @ momentum - speed @ speed)
        return at if np.log(self.generator.random()) < gain else vector

    def move_precision(self, vector: Any) -> None:
        effects, slopes, scales = self.unpack(vector)
        contrast = (np.eye(self.size) - slopes) / scales[:, None]
        passed_mean = np.linalg.solve(np.eye(self.size) - slopes, effects)
        lower = self.factor(contrast.T @ contrast, self.precision)
        pull = [self.precision[i] * (self.w[i] - self.kind(passed_mean[i])) for i in range(self.size)]
        mean = [away + self.kind(passed_mean[i]) for i, away in enumerate(self.solve_back(lower, self.solve(lower, pull)))]
        covariance = self.inverse(lower)
        half = 0.5 * self.generator.standard_normal(self.w.shape, dtype=self.kind) ** 2
        uniform = self.generator.random(self.w.shape, dtype=self.kind)
        for k in range(self.size):
            old, spread, square = self.precision[k], covariance[k][k], self.b[k] ** 2
            variance = 1.0 / (1.0 / spread - old)
            residual = np.abs(self.w[k] - (mean[k] / spread - old * self.w[k]) * variance) / self.b[k]
            smaller = 1.0 / (residual + half[k] + np.sqrt(half[k] * (2.0 * residual + half[k])))
            weight = np.where(uniform[k] * (1.0 + residual * smaller) <= 1.0, smaller, 1.0 / (residual**2 * smaller))
            rest = square / weight - variance
            new = np.where(rest > LEAST_VARIANCE * square, 1.0 / rest, old)
            gain = (new - old) / (1.0 + (new - old) * spread)
            pulled = gain * (self.w[k] - mean[k])
            column = [covariance[i][k] for i in range(self.size)]
            mean = [mean[i] + column[i] * pulled for i in range(self.size)]
            covariance = [[covariance[i][j] - gain * column[i] * column[j] for j in range(self.size)] for i in range(self.size)]
            self.precision[k] = new

    def run(self, vector: Any, sweeps: int) -> Any:
        visited = []
        for _ in range(sweeps):
            vector = self.move_law(vector)
            self.move_precision(vector)
            visited.append(vector)
        return np.array(visited)


def warmed(problem: RowProblem, double: bool) -> tuple[Any, Any, Any, Any]:
    """A compiled chain after some warm-up, with the step size at which a trajectory has two steps."""
    import jax

    variant = sampler.variant_of(problem, collapsed=True, double=double)
    data = jax.tree.map(jax.numpy.asarray, sampler.arrays(problem, variant))
    run = jax.jit(chain(variant, 10))
    state = sampler.start(problem, variant, np.random.default_rng(1))
    for index in range(4):
        state, _ = run(state, jax.random.key(index), 1, True, data)
    # The jitter is 0.5 to 1.2: from 0.5·1.6 on that is at most two steps, so nothing here takes more than NumPy's.
    state = state._replace(tuning=state.tuning | {"log_step": jax.numpy.asarray(np.log(1.6))})
    return run, state, data, variant


def compiled_rate(problem: RowProblem, double: bool, sweeps: int) -> tuple[float, Any]:
    import jax

    run, state, data, variant = warmed(problem, double)
    best = np.inf
    for index in range(max(sweeps // 10, 3)):
        started = time.process_time()
        state, _ = jax.block_until_ready(run(state, jax.random.key(100 + index), 1, False, data))
        best = min(best, time.process_time() - started)
    return 10 / best, (state, variant)


def plain_rate(problem: RowProblem, kind: Any, sweeps: int, state: Any, variant: Any) -> float:
    plain = PlainSweep(problem, np.asarray(state.tuning["root"]), 0.8, kind)
    vector = np.asarray(marginal.to_vector(state.law, variant))
    vector = plain.run(vector, 1)[-1]
    best = np.inf
    for _ in range(max(sweeps // 10, 3)):
        started = time.process_time()
        vector = plain.run(vector, 2)[-1]
        best = min(best, time.process_time() - started)
    return 2 / best


def compare_speed(arguments: argparse.Namespace) -> None:
    problem = made_problem(arguments.rows, arguments.predictors, arguments.scale)
    with double_precision():
        rates = {}
        for double in (False, True):
            rates[double], found = compiled_rate(problem, double, arguments.sweeps)
        plain = {kind.__name__: plain_rate(problem, kind, arguments.sweeps, *found) for kind in (np.float32, np.float64)}
    print(f"{arguments.rows} rows, {arguments.predictors} predictors, sweeps per second on one core")
    print("| noisewise | with rows in double | NumPy | NumPy in single precision | ratio to NumPy | to that in single |")
    print("|---|---|---|---|---|---|")
    print(f"| {rates[False]:.1f} | {rates[True]:.1f} | {plain['float64']:.1f} | {plain['float32']:.1f} | "
          f"{rates[False] / plain['float64']:.1f} | {rates[False] / plain['float32']:.1f} |")


def compare_variants(arguments: argparse.Namespace) -> None:
    problem = made_problem(arguments.rows, arguments.predictors, arguments.scale)
    variants = {
        "W and parameters without the numbers (collapsed)": {"collapsed": True},
        "parameters without the numbers, W given them": {"collapsed": False},
        "Gibbs, centred and not centred": {"marginal": False, "collapsed": False, "gibbs": interwoven, "double": True},
        "Gibbs, centred (the thesis')": {"marginal": False, "collapsed": False, "gibbs": gibbs, "double": True},
    }
    print(f"{arguments.rows} rows, {arguments.predictors} predictors, noise {arguments.scale}: per thousand sweeps, per second")
    print("| sampler | slope | sigma | slope, per s | sigma, per s |\n|---|---|---|---|---|")
    for name, changes in variants.items():
        variant = sampler.variant_of(problem, **changes)
        sampler.sample_rows(problem, seed=1, chains=1, draws=50, warmup=50, thin=1, variant=variant)
        started = time.process_time()
        found = sampler.sample_rows(problem, seed=1, chains=2, draws=arguments.sweeps, warmup=arguments.sweeps, thin=1,
                                    variant=variant)
        seconds = (time.process_time() - started) / 2
        sizes = ess_bulk(found.working[..., [1, -1]])
        per_sweep = sizes / (2 * arguments.sweeps) * 1000
        print(f"| {name} | {per_sweep[0]:.1f} | {per_sweep[1]:.1f} | {sizes[0] / seconds:.1f} | {sizes[1] / seconds:.1f} |",
              flush=True)


def compare_moments(arguments: argparse.Namespace, tables: int = 400, fitted: int = 6) -> None:
    slopes, centres, spreads = [], [], []
    for number in range(tables):
        problem = made_problem(arguments.rows, arguments.predictors, arguments.scale, seed=number)
        covariance = np.cov(problem.observed[0].T) - 2.0 * arguments.scale**2 * np.eye(problem.numbers)
        slopes.append(np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])[0])
        if number < fitted:
            found = sampler.sample_rows(problem, seed=1, chains=2, draws=500).working[..., 1]
            centres.append(found.mean())
            spreads.append(found.std())
    moments = float(np.subtract(*np.quantile(slopes, [0.75, 0.25])) / 1.349)
    print(f"{arguments.rows} rows, {arguments.predictors} predictors, noise {arguments.scale}: the first slope, which is 0.5")
    print("| | spread | middle |\n|---|---|---|")
    print(f"| second moments, {tables} tables (quartiles) | {moments:.4f} | {np.median(slopes):.3f} |")
    print(f"| posterior, mean over {fitted} tables | {np.mean(spreads):.4f} | {np.mean(centres):.3f} |")
    print(f"ratio of variances: {(moments / np.mean(spreads)) ** 2:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the sampler for perturbed rows.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--predictors", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--sweeps", type=int, default=40)
    parser.add_argument("--effective", action="store_true")
    parser.add_argument("--moments", action="store_true")
    arguments = parser.parse_args()
    task = compare_variants if arguments.effective else compare_moments if arguments.moments else compare_speed
    task(arguments)


if __name__ == "__main__":
    main()
