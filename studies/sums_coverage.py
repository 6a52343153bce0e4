"""Posteriors from one noisy sum: do nominal 95 % intervals cover 95 %, and how wide are they?

    python -m studies.sums_coverage [--replicates 100]      # prints the tables of docs/sums.md: a few minutes

Every replicate draws the parameter from the posterior's own prior, then rows, clipped to their bounds, and the noise
of a release of this one column under pure epsilon. So a right posterior covers exactly 95 % on average. The bounds
clip some rows: about 2 % of the counts, and up to 5 % of the waiting times.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.sums.fit import METHODS, fit_sum
from noisewise.schema import Schema
from studies.page import table
from studies.simulated_release import simulated_release

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A family with a prior from which truths are drawn, and its bounds."""

    declared: Mapping[str, Any]
    prior: tuple[float, float]
    truth: Callable[[np.random.Generator], float]
    rows: Callable[[np.random.Generator, float, int], npt.NDArray[Any]]
    sigma: float | None = None

    @property
    def schema(self) -> Schema:
        return Schema.from_dict({"adjacency": "replace-one", "columns": {"v": dict(self.declared)}})


CASES = {
    "bernoulli": Case({"levels": ["no", "yes"]}, (2.0, 6.0), lambda rng: rng.beta(2.0, 6.0),
                      lambda rng, p, n: np.where(rng.uniform(size=n) < p, "yes", "no")),
    "poisson": Case({"bounds": [0, 8]}, (12.0, 3.0), lambda rng: rng.gamma(12.0) / 3.0,
                    lambda rng, rate, n: rng.poisson(rate, n)),
    "exponential": Case({"bounds": [0, 15]}, (20.0, 80.0), lambda rng: 80.0 / rng.gamma(20.0),
                        lambda rng, mean, n: rng.exponential(mean, n)),
    "normal": Case({"bounds": [0, 100]}, (50.0, 10.0), lambda rng: rng.normal(50.0, 10.0),
                   lambda rng, mean, n: rng.normal(mean, 15.0, n), sigma=15.0),
}
GRID = ((100, 0.5), (1000, 0.5), (1000, 5.0))


def replicate(family: str, rows: int, epsilon: float, method: str, seed: int, draws: int = 500) -> tuple[float, Array]:
    """The truth, and draws from its posterior."""
    case = CASES[family]
    rng = np.random.default_rng([seed, rows, round(1000 * epsilon)])
    truth = case.truth(rng)
    release = simulated_release({"v": case.rows(rng, truth, rows)}, case.schema, rng, epsilon=epsilon)
    found = fit_sum("v", release, family=family, prior=case.prior, sigma=case.sigma, method=method, seed=seed, draws=draws)
    return truth, found.draws(found.terms[-1])


def cell(family: str, rows: int, epsilon: float, method: str, replicates: int) -> tuple[float, float]:
    """Coverage and median width."""
    inside, width = [], []
    for seed in range(replicates):
        truth, draws = replicate(family, rows, epsilon, method, seed)
        low, high = np.quantile(draws, (0.025, 0.975))
        inside.append(low <= truth <= high)
        width.append(high - low)
    return float(np.mean(inside)), float(np.median(width))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    replicates = parser.parse_args().replicates
    head = ("family", "rows", "ε", *(f"{method}: covers" for method in METHODS), *(f"{method}: width" for method in METHODS))
    print("\n".join(table(head, [])), flush=True)
    for family, (rows, epsilon) in itertools.product(CASES, GRID):
        found = [cell(family, rows, epsilon, method, replicates) for method in METHODS]
        line = [family, f"{rows:,}", f"{epsilon:g}", *(f"{100 * coverage:.0f} %" for coverage, _ in found),
                *(f"{width:.3g}" for _, width in found)]
        print(table(head, [line])[-1], flush=True)


if __name__ == "__main__":
    main()
