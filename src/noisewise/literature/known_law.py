"""The thesis's special case in which everything but the intercept and the slope is known (chapter 3, Algorithms 5 and 6).

x ~ N(mean, sd²), y ~ N(β₀ + β₁x, σ²), m copies of both with Laplace noise of one scale, β ~ N(0, s²I). Nothing is scaled or
clipped. ``algorithm_6`` is the thesis's sampler (Algorithm 5 is the same for one copy, without the squares on U and V in its
step 3, which are a misprint); the default samples the same posterior faster.
"""

from __future__ import annotations

import numpy as np

from noisewise.arrays import Array
from noisewise.literature.row_gibbs import gibbs
from noisewise.posterior.rows.problem import RegressionPrior, RowProblem
from noisewise.posterior.rows.sampler import sample_rows, variant_of


def known_law_problem(x: Array, y: Array, scale: float, *, mean: float, sd: float, sigma: float, prior_sd: float = 10.0
                      ) -> RowProblem:
    """Build the problem for published ``x`` and ``y``, (copies, rows) each."""
    identity = np.eye(2)
    prior = RegressionPrior(identity, np.zeros(2), identity / prior_sd, np.zeros(2), 1.0)
    law = np.array([[mean], [0.0]]), np.zeros((2, 2)), np.array([sd, sigma])
    return RowProblem(np.stack([x, y], axis=2), np.full(2, scale), np.ones((1, x.shape[1])), prior=prior, law=law)


def sample_coefficients(problem: RowProblem, *, seed: int, chains: int = 1, draws: int = 1000, warmup: int = 300,
                        thin: int | None = 1, algorithm_6: bool = False) -> Array:
    """Draw (β₀, β₁); the result has shape (chains, draws, 2)."""
    known = {"features_known": True, "scales_known": True}
    own = {"marginal": False, "collapsed": False, "gibbs": gibbs, "double": True} if algorithm_6 else {}
    found = sample_rows(problem, seed=seed, chains=chains, draws=draws, warmup=warmup, thin=thin,
                        variant=variant_of(problem, **known, **own))
    return found.working[..., :2]
