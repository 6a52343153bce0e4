"""Which sums a `moments` release should hold, and with which weights: asymptotic standard deviations of the coefficients.

    python -m studies.moment_blocks            # about a minute

The sums T of a table are nearly normal with mean n E t and covariance n Cov t + noise. With J the derivative of E t by all
parameters (coefficients, means and covariances of the features) their information is n² Jᵀ (n Cov t + noise)⁻¹ J. J is the
covariance of t with the rows' scores, which a large simulated table gives. So each choice of blocks, weights and scale of the
response has standard deviations of its coefficients without a fit: three independent normal features in bounds of ±4,
coefficients in proportion to (1, −0.7, 0.4), and an intercept of 0.3.

Blocks: ``x`` and ``xx`` (sums of the features and of their products), ``y``, ``yx`` and ``yxx`` (those times the response). The
noise is Gaussian, and of a block with weight c it has the variance s²/c.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from noisewise.privacy.calibration import analytic_gaussian_sigma
from studies.workers import write

Array = npt.NDArray[np.float64]

DELTA = 1e-6
BOUND = 4.0
PATTERN = np.array([1.0, -0.7, 0.4])
INTERCEPT = 0.3
LARGEST = 10
"""The declared maximum of a Poisson response."""
DEGREES = {"x": 1, "xx": 2, "y": 0, "yx": 1, "yxx": 2}
LOWEST = ("x", "xx", "y", "yx")
DEFAULT = {"x": 1.0, "xx": 1.0, "y": 0.7, "yx": 1.5}
RIDGE = 1e-6
"""Added to the information: what is not identified has a standard deviation of 1000."""
WORLDS = (("logistic", 1.0), ("logistic", 3.0), ("poisson", 0.5), ("poisson", 1.0))
SETTINGS = ((10_000, 1.0), (100_000, 0.1), (100_000, 1.0))


@dataclass(frozen=True)
class Rows:
    """Per row: how the blocks' entries vary together, and with the scores."""

    places: Mapping[str, Array]
    covariance: Array
    derivative: Array
    lowest: float
    """The response is in [lowest, 1]."""

    @classmethod
    def of(cls, family: str, norm: float, *, centred: bool, rows: int, seed: int = 0) -> Rows:
        rng = np.random.default_rng(seed)
        d = len(PATTERN)
        x = rng.normal(size=(rows, d))
        eta = INTERCEPT + x @ (norm * PATTERN / np.linalg.norm(PATTERN))
        if family == "logistic":
            mean = 1.0 / (1.0 + np.exp(-eta))
            raw = (rng.random(rows) < mean).astype(float)
            share = raw
        else:
            mean = np.exp(eta)
            raw = rng.poisson(mean).astype(float)
            share = np.minimum(raw, LARGEST) / LARGEST
        y = (2.0 * share - 1.0 if centred else share)[:, None]
        u = x / BOUND
        first, second = np.triu_indices(d)
        products = u[:, first] * u[:, second] * np.where(first == second, 1.0, np.sqrt(2.0))
        blocks = {"x": u, "xx": products, "y": y, "yx": y * u, "yxx": y * products}
        score = (raw - mean)[:, None]
        scores = np.column_stack([score, score * x, x, x[:, first] * x[:, second] - (first == second)])
        ends = np.cumsum([0, *(block.shape[1] for block in blocks.values())])
        places = {name: np.arange(*pair) for name, pair in zip(blocks, itertools.pairwise(ends), strict=True)}
        entries = np.column_stack(list(blocks.values()))
        return cls(places, np.cov(entries.T), entries.T @ scores / rows, -1.0 if centred else 0.0)

    def deviations(self, rows: int, noise: Mapping[str, float]) -> Array:
        """Asymptotic standard deviations of the coefficients, from the blocks' noise variances."""
        used = np.concatenate([self.places[name] for name in noise])
        variances = np.concatenate([np.full(len(self.places[name]), variance) for name, variance in noise.items()])
        j = self.derivative[used]
        information = rows**2 * j.T @ np.linalg.solve(rows * self.covariance[np.ix_(used, used)] + np.diag(variances), j)
        found = np.linalg.inv(information + RIDGE * np.eye(len(information)))
        result: Array = np.sqrt(np.diag(found))[:len(PATTERN) + 1]
        return result


def sensitivity_squared(weights: Mapping[str, float], radius_squared: float, lowest: float) -> float:
    """The largest Σ c ‖t(x, y) − t(x', y')‖²: at rows of the largest norm and the response's ends; t = ⟨x, x'⟩ on a fine grid."""
    t = np.linspace(-radius_squared, radius_squared, 2001)
    largest = 0.0
    for y, other in itertools.product((lowest, 1.0), repeat=2):
        total = np.zeros_like(t)
        for name, weight in weights.items():
            k = DEGREES[name]
            a, b = (y, other) if "y" in name else (1.0, 1.0)
            total += weight * ((a**2 + b**2) * radius_squared**k - 2.0 * a * b * t**k)
        largest = max(largest, float(total.max()))
    return largest


def moments_noise(weights: Mapping[str, float], unit_scale: float, lowest: float) -> dict[str, float]:
    """Variances of the blocks' noise; ``unit_scale``: the noise's standard deviation at sensitivity 1."""
    total = unit_scale**2 * sensitivity_squared(weights, float(len(PATTERN)), lowest)
    return {name: total / weight for name, weight in weights.items()}


def gram_noise(unit_scale: float) -> dict[str, float]:
    """Of a `gram` release: features and response are one row, with as large a norm as their bounds allow."""
    variance = (unit_scale * np.sqrt(2.0) * (1.0 + len(PATTERN) + 1.0)) ** 2
    return {"x": variance / 2, "xx": variance, "y": variance / 2, "yx": variance / 2}


def best_weights(table: Rows, rows: int, unit_scale: float, starts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Those of the smallest geometric mean of the standard deviations, relative to the products' weight; from several starts."""
    names = list(starts[0])

    def value(logs: Array) -> float:
        weights = dict(zip(names, np.exp(logs), strict=True))
        return float(np.log(table.deviations(rows, moments_noise(weights, unit_scale, table.lowest))).mean())

    searches = []
    for weights in starts:
        start = np.log(list(weights.values()))
        simplex = np.vstack([start, start + np.eye(len(names))])
        searches.append(minimize(value, start, method="Nelder-Mead",
                                 options={"maxiter": 1000, "xatol": 0.02, "fatol": 1e-6, "initial_simplex": simplex}))
    logs = min(searches, key=lambda search: search.fun).x
    return dict(zip(names, np.exp(logs - logs[names.index("xx")]), strict=True))


def choices(table: Rows, rows: int, unit_scale: float) -> dict[str, dict[str, float]]:
    """Names of choices with their weights."""
    equal = dict.fromkeys(LOWEST, 1.0)
    best = best_weights(table, rows, unit_scale, [equal])
    return {
        "default weights": dict(DEFAULT),
        "equal weights": equal,
        "best weights": best,
        **{f"without {name}": {other: weight for other, weight in DEFAULT.items() if other != name} for name in LOWEST},
        "with yxx, equal weights": {**equal, "yxx": 1.0},
        "with yxx, best weights": best_weights(table, rows, unit_scale, [{**best, "yxx": share} for share in (1.0, 0.1, 1e-3)]),
    }


def run(table_rows: int, worlds: Sequence[tuple[str, float]] = WORLDS,
        settings: Sequence[tuple[int, float]] = SETTINGS) -> list[dict[str, Any]]:
    lines = []
    for family, norm in worlds:
        tables = {centred: Rows.of(family, norm, centred=centred, rows=table_rows) for centred in (True, False)}
        for rows, epsilon in settings:
            setting = {"family": family, "norm": norm, "rows": rows, "epsilon": epsilon}
            unit_scale = analytic_gaussian_sigma(epsilon, DELTA, 1.0)
            lines.append(setting | _line("gram", True, {}, tables[True].deviations(rows, gram_noise(unit_scale))))
            for name, weights in choices(tables[True], rows, unit_scale).items():
                found = tables[True].deviations(rows, moments_noise(weights, unit_scale, -1.0))
                lines.append(setting | _line(name, True, weights, found))
            found = tables[False].deviations(rows, moments_noise(DEFAULT, unit_scale, 0.0))
            lines.append(setting | _line("default weights", False, DEFAULT, found))
    return lines


def _line(choice: str, centred: bool, weights: Mapping[str, float], deviations: Array) -> dict[str, Any]:
    return {"choice": choice, "centred": centred, "sd": float(np.exp(np.log(deviations).mean())),
            **{f"sd_{k}": float(value) for k, value in enumerate(deviations)},
            **{f"weight_{name}": weights.get(name, "") for name in DEGREES}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--table-rows", type=int, default=200_000, help="rows of the simulated table")
    parser.add_argument("--output", type=Path, default=Path("studies/results/glm/moment_blocks.csv"))
    arguments = parser.parse_args()
    write(run(arguments.table_rows), arguments.output)


if __name__ == "__main__":
    main()
