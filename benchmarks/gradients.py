"""Time per gradient of the two likelihoods against the number of columns, and the exponent of its growth.

    python benchmarks/gradients.py [--seconds 0.4]

One core. The exponent is the slope of log time against log d over the larger sizes, where fixed costs no longer count. Targets:
at most 2.2 for `conditional` (a gradient is O(d²)) and 3.2 for `collapsed` (O(d³)).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Before NumPy and JAX start: one core, so that threads do not affect the growth.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np
from rich.console import Console
from rich.table import Table

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.kernels.mode import jax_density
from noisewise.posterior.linear.collapsed import CollapsedModel
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise

ROWS = 10_000


@dataclass(frozen=True)
class Part:
    """A made-up holder's release."""

    matrix: np.ndarray
    rows: int | None
    noise: EntryNoise


def made_problem(columns: int) -> tuple[Part, Coordinates, ResolvedPrior]:
    """A regression of one column on all others."""
    generator = np.random.default_rng(columns)
    u = generator.uniform(-1, 1, size=(ROWS, columns))
    u[:, -1] = 0.5 * u[:, 0] + 0.3 * u[:, -1]
    a = np.column_stack([np.ones(ROWS), u])
    noise = generator.normal(size=(columns + 1, columns + 1)) * 10.0
    matrix = a.T @ a + (noise + noise.T) / 2
    matrix[0, 0] = ROWS
    identity = np.eye(columns + 1)
    coordinates = Coordinates.from_arrays(identity[:, :-1], identity[:, -1], 1.0)
    prior = ResolvedPrior(np.eye(columns), np.zeros(columns), np.full(columns, 2.5), 0.5)
    return Part(matrix, ROWS, EntryNoise("gaussian", 10.0, 10.0 / np.sqrt(2.0), 0.0)), coordinates, prior


def conditional_gradient(columns: int) -> Callable[[], object]:
    part, coordinates, prior = made_problem(columns)
    model = ConditionalModel.of([part], coordinates, prior)
    assert model.rotated
    return compiled(jax_density(model.log_density, model.data), model.start()[0])


def collapsed_gradient(columns: int) -> Callable[[], object]:
    part, coordinates, prior = made_problem(columns)
    model = CollapsedModel.of([part], coordinates, prior)
    assert model.rotated
    return compiled(jax_density(model.log_density, model.data), model.start()[0])


def compiled(density: Callable[[np.ndarray], tuple[float, np.ndarray]], point: np.ndarray) -> Callable[[], object]:
    value, gradient = density(point)
    assert np.isfinite(value) and np.isfinite(gradient).all()
    return lambda: density(point)


def time_of(function: Callable[[], object], seconds: float) -> float:
    """The shortest time of a call: other work on the machine can only add to it."""
    with double_precision():
        function()
        best, end = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            function()
            best = min(best, time.perf_counter() - start)
    return best


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


CASES = (
    ("conditional", conditional_gradient, (10, 30, 100, 300, 1000), 3, 2.2),
    ("collapsed", collapsed_gradient, (10, 20, 40, 80, 160), 3, 3.2),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=0.4, help="time to measure each size")
    options = parser.parse_args()
    console = Console()
    for name, gradient, sizes, larger, target in CASES:
        times = [time_of(gradient(size), options.seconds) for size in sizes]
        table = Table("d", "µs per gradient", "ratio to the size before", "exponent between the two", title=name)
        for index, (size, taken) in enumerate(zip(sizes, times, strict=True)):
            before = "" if index == 0 else f"{taken / times[index - 1]:.2f}"
            local = "" if index == 0 else f"{slope(sizes[index - 1:index + 1], times[index - 1:index + 1]):.2f}"
            table.add_row(str(size), f"{1e6 * taken:,.0f}", before, local)
        console.print(table)
        exponent = slope(sizes[-larger:], times[-larger:])
        verdict = f"target ≤ {target}: {'met' if exponent <= target else 'missed'}"
        console.print(f"{name}: time grows as d^{exponent:.2f} over d = {sizes[-larger]}..{sizes[-1]}; {verdict}\n")


if __name__ == "__main__":
    main()
