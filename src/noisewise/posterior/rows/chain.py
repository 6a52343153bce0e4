"""One sweep, and chains of sweeps.

The state is the parameters, the precision 1/D of every published number's noise given its W (D = b²/W), and the cells. The
numbers themselves are integrated out wherever possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import add
from typing import NamedTuple

import jax
import jax.numpy as jnp

from noisewise.posterior.rows.marginal import hamiltonian, information, inverse_root, moments
from noisewise.posterior.rows.problem import CELL_WEIGHT, Data, Law, Variant
from noisewise.posterior.rows.rows import (
    cholesky_of_rows,
    covariance_of_rows,
    draw_weights,
    normal_and_uniform,
    solve_rows,
    solve_rows_transposed,
)

ACCEPTANCE = 0.85
STEP_GAIN = 0.05
NEW_SHARE = 0.2
LEAST_VARIANCE = 1e-6
"""Smallest variance of a number's noise given W, in units of b²; about n/2·1e-6 of n rows have a smaller one."""

LEAST_SCALE = 3e-3
"""Smallest τ, in units of b, if numbers are drawn. Otherwise 1/τ² plus 1/b² exhausts single precision, and a chain near
τ = 0 draws nonsense and stays there. This adds at most 1e-5 b² to the variance of a number."""


class State(NamedTuple):
    """The state of a chain: parameters, precisions of the noise (copies, free, rows), the cell of each row, tuning of steps."""

    law: Law
    precision: jax.Array
    cell: jax.Array
    tuning: Mapping[str, jax.Array]


@cache
def chain(variant: Variant, records: int) -> Callable[[State, jax.Array, jax.Array, jax.Array, Data], tuple[State, jax.Array]]:
    """Return the pure function ``(state, key, thin, warming, data) -> (state, records)``; records are ``thin`` sweeps apart."""
    def run(state: State, key: jax.Array, thin: jax.Array, warming: jax.Array, data: Data) -> tuple[State, jax.Array]:
        if variant.marginal:
            state = jax.lax.cond(warming, lambda s: tuned(s, variant, data), lambda s: s, state)

        def one(current: State, step_key: jax.Array) -> tuple[State, jax.Array]:
            def again(index: jax.Array, inner: State) -> State:
                return sweep(jax.random.fold_in(step_key, index), inner, variant, data, warming)

            current = jax.lax.fori_loop(0, thin, again, current)
            return current, record(current)

        return jax.lax.scan(one, state, jax.random.split(key, records))

    return run


def record(state: State) -> jax.Array:
    """Return the record of a sweep: g, σ and then the whole distribution of the rows."""
    law, scales = state.law, jnp.abs(state.law.scales)
    return jnp.concatenate([law.working, scales[-1:], scales, law.effects.ravel(), law.slopes.ravel(), law.cells,
                            jnp.exp(state.tuning["log_step"])[None]])


def sweep(key: jax.Array, state: State, variant: Variant, data: Data, warming: jax.Array) -> State:
    """Run one iteration."""
    marginal_key, row_key, other_key = jax.random.split(key, 3)
    if variant.marginal:
        state = move_law(marginal_key, state, variant, data, warming)
    rows = Rows.of(state, variant, data)
    if variant.cells > 1:
        cell_key, table_key, row_key = jax.random.split(row_key, 3)
        cell = rows.draw_cells(cell_key)
        law = state.law._replace(cells=_draw_table(table_key, cell, variant))
        rows = rows._replace(law=law, cell=cell)
        state = state._replace(law=law, cell=cell)
    if variant.collapsed:
        return state._replace(precision=rows.move_precision(row_key))
    number_key, noise_key = jax.random.split(row_key)
    hidden = rows.draw_numbers(number_key)
    if variant.gibbs is not None:
        state, hidden = variant.gibbs(other_key, state, hidden, variant, data)
    return state._replace(precision=precision_given(noise_key, hidden, variant, data))


def move_law(key: jax.Array, state: State, variant: Variant, data: Data, warming: jax.Array) -> State:
    """Draw the parameters given W and cells; while warming up, also adapt the step size."""
    centre, variance = jax.lax.optimization_barrier(published(state, variant, data))
    known = regressors(state.cell, variant, data)
    law, accepted = hamiltonian(key, state.law, centre, variance, known, variant, data, state.tuning)
    change = STEP_GAIN * (accepted - ACCEPTANCE) * warming
    return state._replace(law=law, tuning={**state.tuning, "log_step": state.tuning["log_step"] + change})


def tuned(state: State, variant: Variant, data: Data) -> State:
    """Average the metric over recent states, since τ may be near 0 at the current one."""
    _, variance = published(state, variant, data)
    tuning = state.tuning
    here = information(state.law, variance, regressors(state.cell, variant, data), variant, data)
    here = jnp.where(jnp.all(jnp.isfinite(here)), here, tuning["information"])
    share = jnp.where(tuning["rounds"] == 0, 1.0, NEW_SHARE)
    average = (1.0 - share) * tuning["information"] + share * here
    root = inverse_root(average)
    usable = jnp.all(jnp.isfinite(root))
    return state._replace(tuning={**tuning, "information": average, "rounds": tuning["rounds"] + 1.0,
                                           "root": jnp.where(usable, root, tuning["root"])})


def published(state: State, variant: Variant, data: Data) -> tuple[jax.Array, jax.Array]:
    """Return the weighted mean of a number's copies and the variance of its noise, which is 0 for an exact response."""
    variance = 1.0 / jnp.sum(state.precision, axis=0)
    centre = jnp.sum(state.precision * data["observed"], axis=0) * variance
    if variant.exact_response:
        variance = jnp.concatenate([variance, jnp.zeros_like(variance[:1])])
        centre = jnp.concatenate([centre, data["response"][None]])
    return centre, variance


def precision_given(key: jax.Array, hidden: jax.Array, variant: Variant, data: Data) -> jax.Array:
    """Draw the precisions of the noise given the numbers."""
    observed, scale = data["observed"], data["noise"][:, None]
    if not variant.laplace:
        return jnp.broadcast_to(1.0 / scale**2, observed.shape)
    normal, uniform = normal_and_uniform(key, observed.shape, hidden.dtype)
    weights = draw_weights(normal, uniform, jnp.abs(observed - hidden) / scale)
    result: jax.Array = jnp.minimum(weights, 1.0 / LEAST_VARIANCE) / scale**2
    return result


class Rows(NamedTuple):
    """The hidden numbers of every row given W: normal, precision K + diag(ω)."""

    variant: Variant
    data: Data
    law: Law
    precision: jax.Array
    cell: jax.Array
    inner: jax.Array
    """K: the precision of the numbers' own distribution, (numbers, numbers)."""
    base: jax.Array
    """Means of the numbers without the cells' contributions, (numbers, rows)."""
    shifts: jax.Array
    """What each cell adds to the means, (numbers, cells)."""
    lower: list[list[jax.Array]]
    total: jax.Array
    """ω: the precision of all copies together, and their values weighted by it."""
    target: jax.Array

    @classmethod
    def of(cls, state: State, variant: Variant, data: Data) -> Rows:
        """Compute the law of the hidden numbers at a chain's state."""
        law, dtype = state.law, state.precision.dtype
        free = variant.free
        scales = jnp.abs(law.scales)
        scales = scales.at[:free].set(jnp.maximum(scales[:free], LEAST_SCALE * data["noise"]))
        contrast = (jnp.eye(variant.numbers) - law.slopes) / scales[:, None]
        inner = (contrast.T @ contrast).astype(dtype)
        means = moments(law)[0]
        columns = data["known"].shape[0]
        shifts = (means[:, columns:] @ data["cell_design"].T).astype(dtype)
        # Finish small computations before the loop over rows; otherwise the compiler repeats them for every row.
        inner, shifts, means = jax.lax.optimization_barrier((inner, shifts, means[:, :columns].astype(dtype)))
        base = jnp.stack([sum(c * column for c, column in zip(row, data["known"], strict=True)) for row in means])
        total = jnp.sum(state.precision, axis=0)
        lower = cholesky_of_rows(inner, total)
        target = jnp.sum(state.precision * data["observed"], axis=0)
        return cls(variant, data, law, state.precision, state.cell, inner, base, shifts, lower, total, target)

    def pull(self, shift: jax.Array) -> tuple[list[jax.Array], list[jax.Array], jax.Array]:
        """Return the means of a cell that adds ``shift``, L⁻¹ times the pull away from them, and the cell's log weight."""
        free = self.variant.free
        mean = [self.base[i] + shift[i] for i in range(self.variant.numbers)]
        weighted: list[jax.Array] = []
        weight: jax.Array | float = 0.0
        for i in range(free):
            push = self.target[i] - self.total[i] * mean[i]
            weight = weight + mean[i] * (self.target[i] - 0.5 * self.total[i] * mean[i])
            if self.variant.exact_response:
                push = push - self.inner[i, free] * (self.data["response"] - mean[free])
            weighted.append(push)
        if self.variant.exact_response:
            weight = weight - 0.5 * self.inner[free, free] * (self.data["response"] - mean[free]) ** 2
        solved = solve_rows(self.lower, weighted)
        return mean, solved, weight + 0.5 * reduce(add, [value * value for value in solved])

    def _own_shift(self) -> jax.Array:
        return self.shifts[:, 0] if self.variant.cells == 1 else self.shifts[:, self.cell]

    def draw_cells(self, key: jax.Array) -> jax.Array:
        """Draw the cell of every row, with the hidden numbers integrated out."""
        cells, dtype = self.variant.cells, self.precision.dtype
        gumbel = jax.random.gumbel(key, (cells, *self.cell.shape), dtype=dtype)
        logs = jnp.log(self.law.cells).astype(dtype)
        scores = [self.pull(self.shifts[:, c])[2] + logs[c] + self.data["evidence"][c] + gumbel[c] for c in range(cells)]
        return jnp.argmax(jnp.stack(scores), axis=0).astype(self.cell.dtype)

    def draw_numbers(self, key: jax.Array) -> jax.Array:
        """Draw the hidden numbers given the cells: (free, rows)."""
        mean, solved, _ = self.pull(self._own_shift())
        normal = jax.random.normal(key, self.precision.shape[1:], dtype=self.precision.dtype)
        away = solve_rows_transposed(self.lower, [value + normal[i] for i, value in enumerate(solved)])
        return jnp.stack([mean[i] + away[i] for i in range(self.variant.free)])

    def move_precision(self, key: jax.Array) -> jax.Array:
        """Draw each precision given the others, with the numbers integrated out.

        Without one published number w, its own z has a mean and a variance s², and w has the variance t = s² + D. Apart from the
        condition t > s², t is b²/W with W from the inverse Gaussian distribution of the residual w − mean. So t is proposed from
        it and accepted if t > s²: nearly always, if the noise is larger than the scatter of the numbers.
        """
        variant, data = self.variant, self.data
        if not variant.laplace:
            return self.precision
        shape = self.precision.shape
        normal, uniform = normal_and_uniform(key, shape, self.precision.dtype)
        prior, solved, _ = self.pull(self._own_shift())
        mean = [prior[i] + away for i, away in enumerate(solve_rows_transposed(self.lower, solved))]
        covariance = covariance_of_rows(self.lower)
        moved = [[self.precision[c, k] for k in range(variant.free)] for c in range(shape[0])]
        for k in range(variant.free):
            scale2 = data["noise"][k] ** 2
            for c in range(shape[0]):
                old, seen, spread = moved[c][k], data["observed"][c, k], covariance[k][k]
                others = 1.0 / spread - old
                variance = 1.0 / jnp.maximum(others, 1e-30)
                residual = jnp.abs(seen - (mean[k] / spread - old * seen) * variance) / data["noise"][k]
                rest = scale2 / draw_weights(normal[c, k], uniform[c, k], residual) - variance
                new = jnp.where((rest > LEAST_VARIANCE * scale2) & (others > 0), 1.0 / rest, old)
                moved[c][k] = new
                change = new - old
                gain = change / (1.0 + change * spread)
                pulled = gain * (seen - mean[k])
                column = [covariance[i][k] for i in range(variant.free)]
                mean = [mean[i] + column[i] * pulled for i in range(variant.free)]
                for i in range(variant.free):
                    for j in range(i + 1):
                        covariance[i][j] = covariance[j][i] = covariance[i][j] - gain * column[i] * column[j]
        return jnp.stack([jnp.stack(copy) for copy in moved])


def regressors(cell: jax.Array, variant: Variant, data: Data) -> list[jax.Array]:
    """d: the known columns and those of the cells."""
    known = list(data["known"])
    if variant.cells > 1:
        table = data["cell_design"].astype(data["known"].dtype)
        known += [table[:, column][cell] for column in range(table.shape[1])]
    return known


def _draw_table(key: jax.Array, cell: jax.Array, variant: Variant) -> jax.Array:
    """Probabilities of the cells given how many rows are in each: Dirichlet."""
    counts = jnp.stack([jnp.sum(cell == c) for c in range(variant.cells)]).astype(float)
    gammas = jax.random.loggamma(key, counts + CELL_WEIGHT, dtype=float)
    return jnp.exp(gammas - jax.scipy.special.logsumexp(gammas))
