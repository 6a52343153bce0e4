"""Run chains for a problem: choose the variant and the starts, call the compiled program, collect records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import jax
import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.kernels.jax_setup import Program, Tree, double_precision
from noisewise.posterior.rows.chain import LEAST_VARIANCE, State, chain
from noisewise.posterior.rows.problem import Data, Law, RowProblem, Variant, unknown
from noisewise.progress import Tick
from noisewise.results.diagnostics import ess_bulk
from noisewise.run import nobody


@dataclass(frozen=True)
class RowDraws:
    """Draws (chains, draws, ·) of g and σ (``working``) and of the distribution of rows, with details of the run."""

    working: Array
    scales: Array
    effects: Array
    slopes: Array
    cells: Array
    steps: Array
    thin: int


def variant_of(problem: RowProblem, **changes: Any) -> Variant:
    """Return the fastest variant: it draws W without the numbers if noise is larger than scatter."""
    chosen = {"collapsed": bool(np.mean(problem.noise > _spread(problem)) >= 0.5) or not problem.laplace} | changes
    return Variant(problem.numbers, problem.exact_response, problem.laplace, problem.cells, **chosen)


def arrays(problem: RowProblem, variant: Variant) -> Data:
    """The arguments of the compiled function other than state and key."""
    kind = np.float64 if variant.double else np.float32
    priors = problem.priors()
    numbers = np.moveaxis(problem.observed, 2, 1)[:, : variant.free]
    data: dict[str, object] = {
        "observed": np.ascontiguousarray(numbers, dtype=kind),
        "noise": problem.noise[: variant.free].astype(kind),
        "known": problem.known.astype(kind),
        "cell_design": problem.cell_design(),
        "evidence": problem.evidence().astype(kind),
        "directions": tuple(prior.directions for prior in priors),
        "shift": tuple(prior.shift for prior in priors),
        "prior_slope": tuple(prior.slope for prior in priors),
        "prior_offset": tuple(prior.offset for prior in priors),
        "prior_scale": np.array([prior.scale for prior in priors]),
    }
    if variant.exact_response:
        data["response"] = problem.observed[0, :, -1].astype(kind)
    return data


def start(problem: RowProblem, variant: Variant, generator: np.random.Generator) -> State:
    """Return starts with roughly the spread that the published numbers imply, different for each chain."""
    copies, rows, size = problem.observed.shape
    kind = np.float64 if variant.double else np.float32
    last = problem.priors()[-1]
    if problem.law is not None:
        effects, slopes, scales = (np.array(part, dtype=float) for part in problem.law)
    else:
        scales = np.minimum(_spread(problem) * np.exp(0.5 * generator.normal(size=size)), 0.7)
        effects, slopes = np.zeros((size, problem.columns)), np.zeros((size, size))
        regressed, *_ = np.linalg.lstsq(problem.known.T, problem.observed.mean(axis=0), rcond=None)
        effects[:, : len(problem.known)] = regressed.T
    seen = np.concatenate([effects[-1], slopes[-1, : size - 1]])
    working, *_ = np.linalg.lstsq(last.directions, seen + last.shift, rcond=None)
    cells = problem.cells
    cell = problem.evidence().argmax(axis=0) if cells > 1 else np.zeros(rows)
    shape = (copies, variant.free, rows)
    variance = problem.noise[: variant.free, None] ** 2 * np.ones(shape)
    if problem.laplace:
        variance *= generator.exponential(2.0, size=shape) + LEAST_VARIANCE
    unknowns = sum(problem.priors()[k].directions.shape[1] + (not variant.scales_known) for k in unknown(variant))
    tuning: dict[str, Tree] = {"root": 1e-3 * np.eye(unknowns), "log_step": np.log(0.3), "information": np.eye(unknowns),
                               "rounds": np.zeros(())}
    law: Tree = effects, slopes, scales, np.full(cells, 1.0 / cells), working  # NumPy here, JAX in the compiled sweeps
    precision: Tree = (1.0 / variance).astype(kind)
    codes: Tree = cell.astype(np.int32)
    return State(Law(*law), precision, codes, tuning)


def _spread(problem: RowProblem) -> Array:
    """Estimate the standard deviation of each number."""
    variance = problem.noise**2 * (2.0 if problem.laplace else 1.0) / len(problem.observed)
    return np.asarray(np.sqrt(np.maximum(problem.observed.mean(axis=0).var(axis=0) - variance, 0.01)))


CALL_ROWS: Final = 20_000_000
"""Approximate rows times sweeps per compiled call: the progress bar moves and Ctrl-C works between calls."""
CALL_RECORDS: Final = 50
WARMUP: Final = 600
"""Number of discarded sweeps, in which metric and step size adapt."""


def sample_rows(problem: RowProblem, *, seed: int, chains: int, draws: int, warmup: int = WARMUP, thin: int | None = None,
                variant: Variant | None = None, tick: Tick = nobody) -> RowDraws:
    """Draw every chain, recording every ``thin`` sweeps; by default, the first chain's warm-up chooses ``thin``.

    Chains run one after another, since the rows of one already keep all cores busy.
    """
    chosen = variant or variant_of(problem)
    block = int(np.clip(CALL_ROWS // max(problem.rows, 1), 1, CALL_RECORDS))
    warm, kept = -(-warmup // block), -(-draws // block)
    records: list[Array] = []
    with double_precision():
        data = jax.tree.map(jax.numpy.asarray, arrays(problem, chosen))
        for number in range(chains):
            state = start(problem, chosen, np.random.default_rng([seed, number]))
            found: list[Array] = []
            for index in range(warm + kept):
                if index == warm and thin is None:
                    thin = _apart(np.concatenate(found)[-LOOKED_AT:], problem)
                pace = 1 if index < warm else thin
                arguments = state, np.int64(seed), np.array([number, index, pace, index < warm]), data
                state, visited = _compiled(chosen, block)(*arguments)
                found.append(np.asarray(visited))
                tick((number * (warm + kept) + index + 1) * block, chains * (warm + kept) * block)
            records.append(np.concatenate(found[warm:])[:draws])
    return _unpacked(np.stack(records), problem, thin or 1)


LOOKED_AT: Final = 300
"""Number of sweeps, at the end of the warm-up, that determine the distance between records."""
CORRELATED: Final = 2.0
MOST_THIN: Final = 10


def _apart(records: Array, problem: RowProblem) -> int:
    """Return the sweeps between records that give them an autocorrelation time of about ``CORRELATED``."""
    working = problem.priors()[-1].directions.shape[1] + 1
    size = ess_bulk(records[None, :, :working])
    time = len(records) / np.nanmin(size) if np.isfinite(size).any() else 1.0
    return int(np.clip(np.ceil(time / CORRELATED), 1, MOST_THIN))


@cache
def _compiled(variant: Variant, block: int) -> Program:
    def run(state: State, seed: jax.Array, place: jax.Array, data: Data) -> tuple[State, jax.Array]:
        number, index, thin, warming = place
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), index)
        result: tuple[State, jax.Array] = chain(variant, block)(state, key, thin, warming.astype(bool), data)
        return result

    return jax.jit(run)


def _unpacked(records: Array, problem: RowProblem, thin: int) -> RowDraws:
    size, columns = problem.numbers, problem.columns
    working = problem.priors()[-1].directions.shape[1] + 1
    lengths = [working, size, size * columns, size * size, problem.cells, 1]
    first, scales, effects, slopes, cells, steps = np.split(records, np.cumsum(lengths)[:-1], axis=2)
    shape = records.shape[:2]
    return RowDraws(first, scales, effects.reshape(*shape, size, columns), slopes.reshape(*shape, size, size), cells, steps, thin)
