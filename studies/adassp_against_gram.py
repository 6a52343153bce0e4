"""The cost of an ``adassp`` release to the holder: its estimate against the posterior mean from a ``gram`` release.

    python -m studies.adassp_against_gram [--replicates 60]

Both are released from the same rows with the same budget and the same columns. The figure is the root mean square distance,
over the rows, of the predictions from those of least squares without privacy, in the units of the response; median over
replicates. The posterior of the ``gram`` release is taken by its normal approximation. Privacy noise has no seed, so figures
vary a little.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import numpy.typing as npt

import noisewise as nw
from noisewise.literature.adassp import point_estimate
from noisewise.run import QUIET

FORMULA = "stay ~ age + ward"
DELTA = 1e-6
CELLS = [(rows, epsilon) for rows in (2_000, 20_000) for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)]
SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}})


def distances(rows: int, epsilon: float, replicates: int, seed: int) -> npt.NDArray[np.float64]:
    """The distances of adassp and of gram, and the ridge, for each replicate."""
    rng = np.random.default_rng(seed)
    age, ward = rng.uniform(18, 98, rows), rng.choice(["A", "B", "C"], rows)
    stay = np.clip(5 + 0.2 * age + 4 * (ward == "B") + rng.normal(0, 6, rows), 0, 60)
    table = {"stay": stay, "age": age, "ward": ward}
    design = np.column_stack([np.ones(rows), age, ward == "B", ward == "C"]).astype(float)
    exact = np.linalg.lstsq(design, stay, rcond=None)[0]
    found = []
    for replicate in range(replicates):
        adassp, gram = (nw.release(table, SCHEMA, kind, epsilon=epsilon, delta=DELTA, run=QUIET)
                        for kind in (nw.AdaSSP(FORMULA), nw.Gram()))
        estimate = point_estimate(FORMULA, adassp)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nw.errors.NoisewiseWarning)  # the approximation is rough where there is much noise
            fitted = nw.fit(FORMULA, gram, method="laplace", draws=500, seed=replicate, run=QUIET)
        mean = fitted.summary()["mean"].to_numpy()[:-1]
        found.append([*(float(np.sqrt(np.mean((design @ (values - exact)) ** 2))) for values in (estimate.values, mean)),
                      estimate.ridge])
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description="The estimate of adassp against the posterior mean of a gram release.")
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| n | ε | adassp | gram | ridge |")
    print("|---|---|---|---|---|")
    for rows, epsilon in CELLS:
        adassp, gram, ridge = np.median(distances(rows, epsilon, arguments.replicates, arguments.seed), axis=0)
        print(f"| {rows} | {epsilon} | {adassp:.2f} | {gram:.2f} | {ridge:.0f} |", flush=True)


if __name__ == "__main__":
    main()
