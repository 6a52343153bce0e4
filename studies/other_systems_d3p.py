"""d3p's part of ``studies.other_systems``, in a separate environment: see ``studies/other_systems_d3p_requirements.txt``.

    python -m studies.other_systems_d3p linear 100000 5 1.0 20

Differentially private variational inference, as the project's README sets it up: Adam, a diagonal normal guide, noise from
``approximate_sigma`` for the substitution of a row. Batch, steps, rate and clipping were chosen among a few on other made-up
tables of this problem, which costs nothing here and would cost privacy on a confidential table. Printed as JSON.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from typing import Any

import d3p.random
import jax
import jax.numpy as jnp
import numpy as np
from d3p.dputil import approximate_sigma
from d3p.minibatch import subsample_batchify_data
from d3p.svi import DPSVI
from numpyro.distributions import Bernoulli, LogNormal, Normal
from numpyro.infer import Trace_ELBO
from numpyro.infer.autoguide import AutoDiagonalNormal
from numpyro.optim import Adam
from numpyro.primitives import plate, sample

from studies.other_systems_problem import DELTA, Z95, Problem, table, with_constant

STEPS = 1000
RATE = 0.01
CLIPPING = 2.0
PRIOR = 4.0
FIRST_SLOPE = 1


def batch(problem: Problem) -> int:
    return max(100, problem.rows // 100)


def linear(xs: Any, ys: Any, N: int) -> None:
    weights = sample("b", Normal(0.0, PRIOR), sample_shape=(xs.shape[1],))
    sigma = sample("sigma", LogNormal(0.0, 1.0))
    with plate("batch", N, len(xs)):
        sample("ys", Normal(xs.dot(weights), sigma), obs=ys)


def logistic(xs: Any, ys: Any, N: int) -> None:
    weights = sample("b", Normal(0.0, PRIOR), sample_shape=(xs.shape[1],))
    with plate("batch", N, len(xs)):
        sample("ys", Bernoulli(logits=xs.dot(weights)), obs=ys)


def fits(problem: Problem, replicates: int) -> list[dict[str, Any]]:
    model = linear if problem.family == "linear" else logistic
    guide = AutoDiagonalNormal(model)
    size = batch(problem)
    scale = approximate_sigma(problem.epsilon, DELTA, size / problem.rows, STEPS)[0]

    def infer(xs: Any, ys: Any, key: Any) -> Any:
        start, draw = subsample_batchify_data((xs, ys), size)
        state = start(key)[1]
        inference = DPSVI(model, guide, Adam(RATE), Trace_ELBO(), CLIPPING, scale, N=problem.rows)
        first = inference.init(key, *draw(0, state))
        last = jax.lax.fori_loop(0, STEPS, lambda step, now: inference.update(now, *draw(step, state))[0], first)
        return inference.get_params(last)

    compiled = jax.jit(infer)
    found = []
    for replicate in range(replicates):
        data = table(problem, replicate)
        started = time.perf_counter()
        numbers = compiled(jnp.asarray(with_constant(data.x), jnp.float32), jnp.asarray(data.y, jnp.float32),
                           d3p.random.PRNGKey(secrets.randbelow(2**31)))
        slopes = slice(FIRST_SLOPE, FIRST_SLOPE + problem.predictors)  # "b" is the first site, the intercept its first entry
        mean, sd = (np.asarray(numbers[name], dtype=float)[slopes] for name in ("auto_loc", "auto_scale"))
        found.append({"estimate": mean.tolist(), "low": (mean - Z95 * sd).tolist(), "high": (mean + Z95 * sd).tolist(),
                      "seconds": time.perf_counter() - started, "noise": float(scale)})
    return found


def main() -> None:
    family, rows, predictors, epsilon, replicates = sys.argv[1:]
    json.dump(fits(Problem(family, int(rows), int(predictors), float(epsilon)), int(replicates)), sys.stdout)


if __name__ == "__main__":
    main()
