"""Which combining rule is right for synthetic tables of one release? Coverage of nominal 95 % intervals.

    python -m studies.synthetic_coverage [--replicates 100]     # prints the table of docs/synthetic.md: a few minutes

Two numbers and a category with three levels; every replicate has new rows, new noise and new synthetic tables. Estimated: the
mean of y, the slope of x and the difference between two levels in the regression of y on x and the category, by least squares in
each synthetic table. The truth is that of the distribution of the rows.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import numpy.typing as npt

from noisewise.schema import Schema
from noisewise.synthetic.sets import RULES, combine_synthetic, synthesize
from studies.page import table
from studies.simulated_release import simulated_release

Array = npt.NDArray[np.float64]

SCHEMA = Schema.from_dict({"adjacency": "replace-one", "columns": {
    "x": {"bounds": [-4, 4]}, "y": {"bounds": [-5, 5]}, "group": {"levels": ["A", "B", "C"]}}})
SHARES = (0.5, 0.3, 0.2)
SLOPE, STEP, SD = 0.5, 0.8, 1.0
NAMES = ("mean of y", "slope of x", "B against A")
TRUTH = np.array([SHARES[1] * STEP, SLOPE, STEP])
SETTINGS = tuple(itertools.product((1000, 10_000), (1.0, 10.0)))
DELTA = 1e-6


def simulated_rows(count: int, rng: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
    group = rng.choice(["A", "B", "C"], count, p=SHARES)
    x = rng.normal(size=count)
    return {"x": x, "y": SLOPE * x + STEP * (group == "B") + SD * rng.normal(size=count), "group": group}


def analysed(x: Array, y: Array, group: npt.NDArray[np.generic]) -> tuple[Array, Array]:
    """Textbook estimates and their variances."""
    design = np.column_stack([np.ones(len(x)), x, group == "B", group == "C"])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    residual = y - design @ beta
    variance = residual @ residual / (len(y) - 4) * np.diag(inverse)
    return np.array([y.mean(), beta[1], beta[2]]), np.array([y.var(ddof=1) / len(y), variance[1], variance[2]])


def replicate(rows: int, epsilon: float, delta: float | None, sets: int, seed: int) -> dict[str, tuple[Array, Array]]:
    """Whether each rule's intervals hold the truth, and their widths."""
    rng = np.random.default_rng(seed)
    release = simulated_release(simulated_rows(rows, rng), SCHEMA, rng, epsilon=epsilon, delta=delta)
    made = synthesize(release, sets=sets, seed=seed)
    found = [analysed(*(made[k][name].to_numpy() for name in ("x", "y", "group"))) for k in range(sets)]
    q, u = (np.array(part) for part in zip(*found, strict=True))
    result = {}
    for rule in RULES:
        low, high = combine_synthetic(q, u, rule=rule).interval().T
        result[rule] = (low <= TRUTH) & (high >= TRUTH), high - low
    return result


def cell(rows: int, epsilon: float, delta: float | None, sets: int, replicates: int) -> dict[str, tuple[Array, Array]]:
    """Coverage and median width of each rule's intervals."""
    found = [replicate(rows, epsilon, delta, sets, seed) for seed in range(replicates)]
    return {rule: (np.mean([one[rule][0] for one in found], axis=0), np.median([one[rule][1] for one in found], axis=0))
            for rule in RULES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--sets", type=int, default=20)
    arguments = parser.parse_args()
    head = ("rows", "ε", "(1+1/m)B − ū", "B/m + ū", "(1+1/m)B + ū", "median width of the first")
    print(f"Coverage of {', '.join(NAMES)}; m = {arguments.sets}, {arguments.replicates} replicates\n")
    print("\n".join(table(head, [])), flush=True)
    for rows, epsilon in SETTINGS:
        found = cell(rows, epsilon, DELTA, arguments.sets, arguments.replicates)
        line = [f"{rows:,}", f"{epsilon:g}", *(" ".join(f"{value:.0%}" for value in found[rule][0]) for rule in RULES),
                " ".join(f"{value:.2f}" for value in found[RULES[0]][1])]
        print(table(head, [line])[-1], flush=True)


if __name__ == "__main__":
    main()
