"""Time per iteration of `clt-gibbs` by the number of predictors and holders, compared with the dense algorithm it replaces.

    python benchmarks/clt_gibbs.py [--seconds 0.5]

One core, one chain, double precision. The dense variant is Bernstein and Sheldon's own first half of an iteration, also compiled:
the covariance of all D = (d + 2)(d + 3)/2 − 1 entries (the corner is exact) and Cholesky factors of it; the rest is the same.
Targets: time grows at most as d^3.2, and in proportion to the number of holders at most.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

# Before NumPy and JAX start: one core, so that threads do not affect the growth.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np
from rich.console import Console
from rich.table import Table

from noisewise.literature.clt_gibbs import GibbsModel
from noisewise.literature.kernels.clt_gibbs_chain import DrawMatrices, State, Variant, gibbs_chain, second_moments
from noisewise.literature.statistics import HalfNormal, HolderStatistics, LinearProblem
from noisewise.posterior.kernels.clt_density import dense_covariance
from noisewise.posterior.kernels.jax_setup import double_precision

ROWS = 10_000
NOISE = 10.0


def made_problem(predictors: int, holders: int, equal: bool) -> LinearProblem:
    """A constant and ``predictors`` more columns; holders of equal or different sizes."""
    generator = np.random.default_rng([predictors, holders])
    size = predictors + 1
    rows = np.full(holders, float(ROWS)) if equal else np.linspace(0.5, 1.5, holders) * ROWS
    u = generator.uniform(-1, 1, size=(ROWS, predictors))
    y = 0.5 * u[:, 0] + 0.3 * generator.normal(size=ROWS)
    table = np.column_stack([np.ones(ROWS), u, y])
    noise = generator.normal(size=(holders, size + 1, size + 1)) * NOISE
    matrices = table.T @ table * (rows / ROWS)[:, None, None] + (noise + noise.transpose(0, 2, 1)) / 2
    matrices[:, 0, 0] = rows
    variance = np.tile(NOISE**2 * (np.ones((size, size)) + np.eye(size)) / 2, (holders, 1, 1))
    variance[:, 0, 0] = 0.0
    same = np.full(holders, NOISE**2)
    gram, cross, total = matrices[:, :-1, :-1], matrices[:, :-1, -1], matrices[:, -1, -1]
    statistics = HolderStatistics(gram, cross, total, rows, variance, same / 2, same, constant=True)
    return LinearProblem(statistics, np.eye(size), np.zeros(size), np.zeros(size), np.eye(size), HalfNormal(0.5))


def dense_draw(variant: Variant, state: State, key: Any, data: Any) -> Any:
    """The exact matrices given the noisy ones as in appendix C.1: D×D covariances."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_solve

    a = second_moments(state, data)
    i, j = (index[1:] for index in np.triu_indices(a.shape[0]))  # the corner is exact
    unit = dense_covariance(a, 1.0, jnp)[1:, 1:]
    noise_shape = jnp.where(i == j, 1.0, 0.5)

    def one(rows: Any, noise: Any, noisy: Any, one_key: Any) -> Any:
        # W = W* + gain (Ŵ − Ŵ*) for a draw (W*, Ŵ*) of the joint law: one factor of the prior's covariance, one of the sum.
        first, second = jax.random.normal(one_key, (2, len(i)), dtype=float)
        prior, variances = rows * unit, noise * noise_shape
        made = jnp.linalg.cholesky(prior) @ first
        gap = (noisy - rows * a)[i, j] - made - jnp.sqrt(variances) * second
        entries = made + prior @ cho_solve((jnp.linalg.cholesky(prior + jnp.diag(variances)), True), gap)
        upper = (rows * a).at[i, j].add(entries)
        return upper.at[j, i].set(upper[i, j])

    drawn = jax.vmap(one)(data["rows"], data["noise"], data["matrices"], jax.random.split(key, len(data["rows"])))
    total = jnp.sum(drawn, axis=0, keepdims=True)
    inside = jnp.all(jnp.isfinite(jnp.linalg.cholesky(total[0])))
    return jnp.where(inside, total, state.matrices), state.rows, ~inside


def time_per_iteration(model: GibbsModel, seconds: float, steps: int, draw: DrawMatrices | None = None) -> float:
    """The shortest time of a call, per iteration: other work on the machine can only add to it."""
    import jax

    with double_precision():
        run = jax.jit(gibbs_chain(model.variant, steps, draw))
        state = model.start(np.random.default_rng(1))
        arguments = tuple(np.asarray(part, dtype=float) for part in state), jax.random.key(1), dict(model.data)
        found = jax.block_until_ready(run(*arguments))
        assert np.isfinite(np.asarray(found[1][0])).all()
        best, end = float("inf"), time.perf_counter() + seconds
        while True:
            start = time.perf_counter()
            jax.block_until_ready(run(*arguments))
            best = min(best, time.perf_counter() - start)
            if time.perf_counter() > end:
                return best / steps


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def by_predictors(console: Console, seconds: float) -> None:
    sizes, dense_up_to = (2, 5, 10, 20, 50, 100), 20
    table = Table("d", "D", "µs per iteration", "ratio to the size before", "dense, µs", "dense / ours",
                  title="against the number of predictors, one holder")
    times: list[float] = []
    for size in sizes:
        model = GibbsModel.of(made_problem(size, 1, True))
        times.append(time_per_iteration(model, seconds, max(2, 200 // size)))
        before = "" if len(times) == 1 else f"{times[-1] / times[-2]:.2f}"
        dense = time_per_iteration(model, seconds, max(2, 200 // size**2), dense_draw) if size <= dense_up_to else None
        shown = ("", "") if dense is None else (f"{1e6 * dense:,.0f}", f"{dense / times[-1]:,.1f}")
        table.add_row(str(size), str((size + 2) * (size + 3) // 2 - 1), f"{1e6 * times[-1]:,.0f}", before, *shown)
    console.print(table)
    exponent = slope(sizes[-3:], times[-3:])
    verdict = "met" if exponent <= 3.2 else "missed"
    console.print(f"time grows as d^{exponent:.2f} over d = {sizes[-3]}..{sizes[-1]}; target ≤ 3.2: {verdict}\n")


def by_holders(console: Console, seconds: float, predictors: int) -> None:
    counts = (1, 10, 100, 1000)
    table = Table("J", "µs, holders of different sizes", "ratio to J = 1", "µs, equal holders",
                  title=f"against the number of holders, d = {predictors}")
    times: list[float] = []
    for count in counts:
        times.append(time_per_iteration(GibbsModel.of(made_problem(predictors, count, False)), seconds, 20))
        equal = time_per_iteration(GibbsModel.of(made_problem(predictors, count, True)), seconds, 20)
        table.add_row(str(count), f"{1e6 * times[-1]:,.0f}", f"{times[-1] / times[0]:,.1f}", f"{1e6 * equal:,.0f}")
    console.print(table)
    ratio = times[-1] / times[0]
    verdict = "met" if ratio <= counts[-1] else "missed"
    console.print(f"{counts[-1]} holders take {ratio:,.0f} times as long as one; target ≤ {counts[-1]}: {verdict}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=0.5, help="minimum time to measure each size")
    options = parser.parse_args()
    console = Console()
    by_predictors(console, options.seconds)
    for predictors in (5, 20):
        by_holders(console, options.seconds, predictors)


if __name__ == "__main__":
    main()
