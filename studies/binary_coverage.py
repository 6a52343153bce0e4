"""Synthetic yes-or-no rows: coverage of nominal 95 % intervals, noise-aware and naive, and from a release of the same epsilon.

    python -m studies.binary_coverage [--replicates 1000]       # prints the table of docs/synthetic.md: a few minutes

Every replicate draws a proportion from Beta(2, 6), the posterior's own prior, then the table, then its synthetic rows.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from noisewise.holder.plan import plan_of
from noisewise.kinds import Binary
from noisewise.literature.binary import fit_binary
from noisewise.posterior.sums.fit import fit_sum
from noisewise.releases.release import Release
from noisewise.schema import Schema
from studies.page import table
from studies.simulated_release import simulated_release

PRIOR = (2.0, 6.0)
SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {"v": {"levels": ["no", "yes"]}}})
GRID = ((1000, 1000, 1, 1.0), (1000, 200, 1, 1.0), (1000, 50, 1, 1.0), (1000, 50, 4, 1.0), (10_000, 1000, 1, 1.0),
        (1000, 200, 1, 5.0))


def simulated(rows: int, synthetic: int, copies: int, epsilon: float, seed: int) -> tuple[float, Release]:
    """A proportion, and synthetic rows of a table with it, drawn with a seed: for studies only."""
    rng = np.random.default_rng(seed)
    p = float(rng.beta(*PRIOR))
    ones = int(rng.binomial(rows, p))
    blank = plan_of(Binary("v", rows=synthetic, copies=copies), SCHEMA, epsilon, None).blank
    alpha = blank.contents.alpha
    drawn = rng.binomial(synthetic, rng.beta(alpha + ones, alpha + rows - ones, size=copies))
    return p, blank.with_contributions((replace(blank.contents, rows=rows, counts=tuple(drawn.tolist())),))


def line(rows: int, synthetic: int, copies: int, epsilon: float, replicates: int) -> list[str]:
    """Coverage and median width: noise-aware, naive, and from a noisy sum."""
    found: dict[str, list[tuple[bool, float]]] = {"exact": [], "naive": [], "sum": []}
    for seed in range(replicates):
        truth, made = simulated(rows, synthetic, copies, epsilon, seed)
        rng = np.random.default_rng([seed, 1])
        cells = np.where(rng.uniform(size=rows) < truth, "yes", "no")
        release = simulated_release({"v": cells}, SCHEMA, rng, epsilon=epsilon)
        posteriors = {method: fit_binary(made, prior=PRIOR, method=method, seed=seed) for method in ("exact", "naive")}
        posteriors["sum"] = fit_sum("v", release, family="bernoulli", prior=PRIOR, seed=seed)
        for name, posterior in posteriors.items():
            low, high = posterior.interval()
            found[name].append((low <= truth <= high, high - low))
    summed = [np.mean(one, axis=0)[0] for one in found.values()], [np.median(one, axis=0)[1] for one in found.values()]
    return [f"{rows:,}", f"{synthetic:,}", str(copies), f"{epsilon:g}", f"{made.contents.alpha:,}",
            *(f"{100 * covered:.0f} %, {width:.3f}" for covered, width in zip(*summed, strict=True))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    replicates = parser.parse_args().replicates
    head = ("rows", "synthetic", "copies", "ε", "pseudo-rows", "noise-aware", "naive", "noisy sum")
    print("\n".join(table(head, [])), flush=True)
    for setting in GRID:
        print(table(head, [line(*setting, replicates)])[-1], flush=True)


if __name__ == "__main__":
    main()
