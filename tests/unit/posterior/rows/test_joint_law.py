"""The sampler leaves the joint law of parameters and rows as it is (Geweke 2004).

Rows are drawn anew given the parameters before every sweep. Then the parameters must keep their prior, whatever the sweep does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.rows.chain import record, regressors, sweep
from noisewise.posterior.rows.problem import Answers, RowProblem, Variant
from noisewise.posterior.rows.sampler import arrays, start, variant_of

Array = npt.NDArray[np.float64]

ROWS, SCALE, KEEP = 6, 0.5, 0.8
BATCHES = 40


def chain_of_tables(variant: Variant, problem: RowProblem, steps: int, assumed: float = SCALE, keep: float = KEEP) -> Array:
    """Records of the sampler, which takes the noise to have the scale ``assumed``."""
    import jax
    import jax.numpy as jnp

    kind = jnp.float64 if variant.double else jnp.float32
    with double_precision():
        data = jax.tree.map(jnp.asarray, arrays(problem, variant)) | {"noise": jnp.full(2, assumed, dtype=kind)}
        state = jax.tree.map(jnp.asarray, start(problem, variant, np.random.default_rng(1)))
        size = len(state.tuning["root"])
        tuning = state.tuning | {"root": 0.4 * jnp.eye(size), "log_step": jnp.log(0.6)}

        def one(current: Any, key: Any) -> Any:
            number_key, noise_key, cell_key, answer_key, sweep_key = jax.random.split(key, 5)
            drawn, law = dict(data), current.law
            if variant.cells > 1:
                cell = jax.random.choice(cell_key, variant.cells, (ROWS,), p=law.cells).astype(current.cell.dtype)
                told = jnp.where(jax.random.uniform(answer_key, (ROWS,)) < keep, cell, 1 - cell)
                drawn["evidence"] = (jnp.arange(2)[:, None] == told) * jnp.log(KEEP / (1 - KEEP)).astype(kind)
                current = current._replace(cell=cell)
            numbers: list[Any] = []
            e = jax.random.normal(number_key, (2, ROWS), dtype=float)
            d = jnp.stack(regressors(current.cell, variant, data)).astype(float)
            for k in range(2):
                numbers.append(law.effects[k] @ d + sum(law.slopes[k, j] * numbers[j] for j in range(k)) + law.scales[k] * e[k])
            # The noise of scale SCALE: the state's D belongs to the assumed scale.
            spread = SCALE / assumed / jnp.sqrt(current.precision[0].astype(float))
            noisy = jnp.stack(numbers) + spread * jax.random.normal(noise_key, (2, ROWS), dtype=float)
            drawn["observed"] = noisy[None].astype(kind)
            current = sweep(sweep_key, current, variant, drawn, False)
            return current, record(current)

        run = jax.jit(lambda state, keys: jax.lax.scan(one, state, keys)[1])
        return np.asarray(run(state._replace(tuning=tuning), jax.random.split(jax.random.key(2), steps)))


def distances(records: Array, columns: int, cells: int) -> Array:
    """From the prior, in standard errors: of means, of mean squares; and for a category of its share."""
    effects = records[:, columns + 4 : columns + 4 + 2 * columns]
    scales = records[:, columns + 2 : columns + 4]
    slope = records[:, columns + 4 + 2 * columns + 2]
    tested = [*(column for column in np.tanh(effects.T)), np.tanh(slope), *np.minimum(np.abs(effects.T) / 2.5, 2),
              np.minimum(np.abs(slope) / 2.5, 2), *(scales.T / 0.5)]
    truncated = 0.7978845608 - 2 * 0.0539909665 + 2 * 0.0455002639  # E min(|N|, 2)
    right = [0.0] * (2 * columns + 1) + [truncated] * (2 * columns + 1) + [0.7978845608] * 2
    if cells > 1:
        share = records[:, -3:-1][:, 1]
        tested += [share, (share - 0.5) ** 2]
        right += [0.5, 0.125]  # Beta(1/2, 1/2)
    batches = np.array(tested)[:, : len(records) // BATCHES * BATCHES].reshape(len(tested), BATCHES, -1).mean(axis=2)
    error = batches.std(axis=1, ddof=1) / np.sqrt(BATCHES)
    return np.asarray(np.abs(batches.mean(axis=1) - np.array(right)) / error)


def small_problem(group: bool) -> RowProblem:
    categories = (Answers(np.zeros((1, ROWS), dtype=np.int64), KEEP, np.array([[-1.0], [1.0]])),) if group else ()
    return RowProblem(np.zeros((1, ROWS, 2)), np.full(2, SCALE), np.ones((1, ROWS)), categories)


@pytest.mark.outer
@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("collapsed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_prior_is_kept(group: bool, collapsed: bool) -> None:
    problem = small_problem(group)
    records = chain_of_tables(variant_of(problem, collapsed=collapsed, double=True), problem, 60_000)
    assert distances(records, problem.columns, problem.cells).max() < 4.5


@pytest.mark.outer
def test_a_wrong_scale_would_be_seen() -> None:
    problem = small_problem(False)
    records = chain_of_tables(variant_of(problem, collapsed=True, double=True), problem, 60_000, assumed=0.35)
    assert distances(records, problem.columns, problem.cells).max() > 6
