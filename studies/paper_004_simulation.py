"""The simulation study of Peña and Barrientos (paper 004), section 4.1.1, with its methods and ours.

    noisewise reproduce 004 simulation [--quick]
    noisewise reproduce 004 histogram               # hLM and hWM, which are slow

As in the paper: n = 50,000, p = 9 independent normal predictors in (−0.5, 0.5), intercept 0, |T| = 0…9 active ones with
coefficients N(0, 0.13²), signal-to-noise ratio 0.2, 0.5, 1, ε = 0.1, 0.5, 1, δ = exp(−10) where there is one. Where the paper
does not say, or leaves privacy open:

- 0.13 is the standard deviation. As a variance it would put the response far outside (−0.5, 0.5), and the paper says it never is.
- The paper rescales with the sample's own range, which is not public. Here the range is ±4.25 standard deviations, about what
  50,000 normal numbers have. Moments are drawn as those of normal numbers that nothing clips: one in 50,000 lies beyond.
- |T| = 0 has no signal-to-noise ratio: σ is that of a table with one active predictor, which is then left out.
- Rows are not centred with their means: the true means are 0, and no constant is released. D = [V; y] has q = 10 columns bounded
  by Δ₁ = 0.5 and rows of norm at most Δ₂ = √(10)/2. Neighbours differ by one replaced row. Laplace noise has the scale
  Δ₁² q(q + 1)/2/ε (the paper prints it without the square and without ε), Gaussian noise the Frobenius sensitivity √2 Δ₂²,
  Wishart noise the scale Δ₂² and the paper's degrees of freedom or the exact ones.

All methods share the tables and the noise of each mechanism. Results are sums over replicates, in parts of 5.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from studies.model_averaging import (
    PLUG_INS,
    Analysis,
    Noise,
    Table,
    as_if_exact,
    evidence_of,
    histogram,
    noise_aware,
    noise_of,
    plug_in,
    table_without_constant,
)

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

ROWS, PREDICTORS = 50_000, 9
SNRS: Final = (0.2, 0.5, 1.0)
EPSILONS: Final = (0.1, 0.5, 1.0)
SD: Final = 1.0 / 4.25
COEFFICIENT: Final = 0.13
PART: Final = 5
PRIORS: Final = ("zellner-siow", "bic")
RELEASES: Final = ("laplace", "wishart-paper", "wishart", "gaussian")
AWARE_OF: Final = ("laplace", "wishart", "gaussian")
OURS: Final = {"laplace": "laplace", "wishart-paper": "gaussian", "wishart": "gaussian", "gaussian": "gaussian"}
"""The release that our default would use at the same kind of privacy."""
ORACLE: Final = "oracle"
DEFAULT: Final = "noise-aware"
HISTOGRAM: Final = "histogram"
KINDS: Final = tuple((snr, active) for snr in SNRS for active in range(PREDICTORS + 1))
HISTOGRAM_KINDS: Final = tuple((0.5, active) for active in (0, 3, 6, 9))
COMPARED: Final = ("mse", "distance", "brier")


@dataclass(frozen=True)
class Cell:
    """A few tables of each kind, and their releases at every ε."""

    prior: str
    methods: str
    part: int

    def columns(self) -> Line:
        return asdict(self)


def drawn_table(snr: float, active: int, rng: np.random.Generator, rows: int = ROWS) -> Table:
    """In units of half the range: twice the paper's predictors and response, with the same coefficients."""
    lower = np.tril(rng.normal(size=(PREDICTORS, PREDICTORS)), -1)
    np.fill_diagonal(lower, np.sqrt(rng.chisquare(rows - np.arange(PREDICTORS))))
    s = SD**2 * lower @ lower.T
    beta: Array = np.zeros(PREDICTORS)
    chosen = rng.permutation(PREDICTORS)[:max(active, 1)]
    beta[chosen] = COEFFICIENT * rng.normal(size=len(chosen))
    variance = float(beta @ s @ beta) / rows / snr
    return table_without_constant(s, beta if active else np.zeros(PREDICTORS), variance, rows, rng)


@lru_cache(maxsize=16)
def release_noise(release: str, epsilon: float) -> Noise:
    return noise_of(release, PREDICTORS + 1, False, epsilon)


def measures(table: Table, analysis: Analysis, oracle: Analysis) -> dict[str, float]:
    """In the paper's units."""
    s = table.matrix[:-1, :-1]

    def error(estimate: Array) -> float:
        return float((estimate - table.beta) @ s @ (estimate - table.beta)) / table.rows / 4.0

    mse, full = error(analysis.averaged), error(analysis.full)
    return {"mse": mse, "full": full, "distance": float(np.sqrt(np.mean((analysis.inclusion - oracle.inclusion) ** 2))),
            "relative": (full - mse) / full if full else 0.0,  # all thresholded away where nothing is active
            "brier": float(np.mean((analysis.inclusion - table.active) ** 2))}


def analyses(table: Table, epsilon: float, prior: str, methods: str, rng: np.random.Generator) -> dict[tuple[str, str], Analysis]:
    """The answers by (release, method)."""
    result: dict[tuple[str, str], Analysis] = {}
    for release in RELEASES:
        noise = release_noise(release, epsilon)
        matrix = table.matrix + noise.draw(rng)
        if release in AWARE_OF:
            result[release, DEFAULT] = noise_aware(evidence_of(table, matrix, noise.variances, prior))
        for kind in PLUG_INS:
            result[release, kind] = plug_in(table, matrix, noise, kind, prior)
        if methods == HISTOGRAM and release in ("laplace", "wishart"):
            result[release, HISTOGRAM] = histogram(table, matrix, noise, prior, int(rng.integers(2**31)))
    return result


def run_cell(cell: Cell, replicates: int = PART, kinds: Sequence[tuple[float, int]] = KINDS,
             epsilons: Sequence[float] = EPSILONS) -> list[Line]:
    """Sums over replicates of the measures, and of how far a method is behind our default on the same table, with squares."""
    return [cell.columns() | {"snr": snr, "active": active} | line for snr, active in
            (HISTOGRAM_KINDS if cell.methods == HISTOGRAM else kinds)
            for line in _of_kind(cell, snr, active, replicates, epsilons)]


def _of_kind(cell: Cell, snr: float, active: int, replicates: int, epsilons: Sequence[float]) -> list[Line]:
    sums: dict[tuple[float, str, str], dict[str, float]] = {}
    for replicate in range(replicates):
        seed = zlib.crc32(f"{snr} {active} {cell.part} {replicate}".encode())
        table = drawn_table(snr, active, np.random.default_rng(seed))
        oracle = as_if_exact(table, table.matrix, cell.prior)
        for epsilon in epsilons:
            found = analyses(table, epsilon, cell.prior, cell.methods, np.random.default_rng([seed, int(1000 * epsilon)]))
            measured = {key: measures(table, analysis, oracle) for key, analysis in found.items()}
            measured["", ORACLE] = measures(table, oracle, oracle)
            for (release, method), values in measured.items():
                entry = sums.setdefault((epsilon, release, method), {})
                ours = measured[OURS.get(release, "gaussian"), DEFAULT]
                behind = {name: values[name] - ours[name] for name in COMPARED}
                terms = (values | {f"{name}_behind": value for name, value in behind.items()}
                         | {f"{name}_behind_squares": value**2 for name, value in behind.items()})
                for name, term in terms.items():
                    entry[name] = entry.get(name, 0.0) + term
    return [{"epsilon": epsilon, "release": release, "method": method, "replicates": replicates}
            | {name: f"{value:.7g}" for name, value in values.items()} for (epsilon, release, method), values in sums.items()]


def part_cell(prior: str, part: int, replicates: int) -> dict[str, list[Line]]:
    return {"simulation": run_cell(Cell(prior, "all", part), replicates)}


def histogram_cell(prior: str, part: int) -> dict[str, list[Line]]:
    return {"simulation_histogram": run_cell(Cell(prior, HISTOGRAM, part), 1)}


def noise_cell() -> dict[str, list[Line]]:
    return {"noise": noise_lines()}


def noise_lines() -> list[Line]:
    """The size of each release's noise in the paper's units."""
    result = []
    for release in RELEASES:
        for epsilon in EPSILONS:
            noise = release_noise(release, epsilon)
            diagonal, off_diagonal = np.sqrt(noise.variances[0, :2]) / 4.0
            result.append({"release": release, "epsilon": epsilon, "degrees": getattr(noise.mechanism, "degrees", ""),
                           "diagonal": diagonal, "off_diagonal": off_diagonal})
    return result
