"""Are inclusion probabilities right? Of the predictors that are given 30 %, 30 % should be in the model that made the table.

    python -m studies.inclusion_calibration [--replicates 200] [--processes 1] [--limit 1200]
    python -m studies.inclusion_calibration --figure                       # the picture from what was written

Truth from the prior: the number of active predictors is uniform on 0…p, g is Zellner and Siow's, the coefficients are
N(0, g σ² S⁻¹); the response is scaled to a standard deviation of a quarter of its half range. Robustness: `mixed` predictors
(binary, skewed, nearly normal), and coefficients of `paper` 004, N(0, 0.13²) on three predictors with a signal-to-noise ratio of
0.5, which the prior does not expect. 50,000 rows, replace-one, δ = exp(−10), a released constant. Results are summed over
replicates in parts of 50, so a second call with more replicates does only what is missing.
"""

from __future__ import annotations

import argparse
import itertools
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from studies.model_averaging import (
    IMAGES,
    PLUG_INS,
    RESULTS,
    Table,
    as_if_exact,
    draws_of,
    evidence_of,
    noise_aware,
    noise_of,
    oracle_draws,
    plug_in,
    table_of,
)
from studies.workers import add_options, read, run_cells

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

ROWS: Final = 50_000
PART: Final = 50
BINS: Final = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
EPSILONS: Final = (0.1, 0.3, 1.0, 10.0)
MECHANISMS: Final = ("gaussian", "laplace", "wishart")
METHODS: Final = ("oracle", "noise-aware", *PLUG_INS)
PRIOR: Final = "zellner-siow"
SURELY: Final = 1e-6
"""The logarithmic score moves a probability of 0 or 1 away from it by this much."""
DRAWS, BAND_DRAWS = 1000, 100
BANDS_IN: Final = 20
"""Replicates of a part in which the bands are measured."""
RESPONSE_SD: Final = 0.25


@dataclass(frozen=True)
class Cell:
    predictors: int
    features: str
    truth: str
    mechanism: str
    epsilon: float
    part: int

    def columns(self) -> Line:
        return asdict(self)


def drawn_features(kind: str, p: int, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Centred moments and sums. ``normal``: correlation 0.3, sd 0.235 (4.25 of them fit into the bounds), means 0.2."""
    if kind == "normal":
        covariance = 0.2353**2 * (0.7 * np.eye(p) + 0.3)
        lower = np.tril(rng.normal(size=(p, p)), -1)
        np.fill_diagonal(lower, np.sqrt(rng.chisquare(rows - 1 - np.arange(p))))
        root = np.linalg.cholesky(covariance)
        half = root @ lower
        return half @ half.T, rows * 0.2 + math.sqrt(rows) * root @ rng.normal(size=p)
    shared = rng.normal(size=(rows, 1))
    x = math.sqrt(0.7) * rng.normal(size=(rows, p)) + math.sqrt(0.3) * shared
    x[:, 0::3] = np.where(x[:, 0::3] > 1.28, 1.0, -1.0)  # binary, one in ten
    x[:, 1::3] = np.clip(np.exp(x[:, 1::3]) / 5.0 - 1.0, -1.0, 1.0)  # skewed
    x[:, 2::3] = np.clip(x[:, 2::3] / 3.0, -1.0, 1.0)
    sums = x.sum(axis=0)
    return x.T @ x - np.outer(sums, sums) / rows, sums


def drawn_table(cell: Cell, rng: np.random.Generator, rows: int = ROWS) -> Table:
    p = cell.predictors
    s, sums = drawn_features(cell.features, p, rows, rng)
    beta: Array = np.zeros(p)
    if cell.truth == "prior":
        chosen = rng.permutation(p)[:rng.integers(0, p + 1)]
        g = rows / rng.chisquare(1)
        if len(chosen):
            root = np.linalg.cholesky(s[np.ix_(chosen, chosen)])
            beta[chosen] = math.sqrt(g) * np.linalg.solve(root.T, rng.normal(size=len(chosen)))
        signal = beta @ s @ beta / rows
        scale = RESPONSE_SD / math.sqrt(1.0 + signal)
        return table_of(s, sums, scale * beta, scale**2, rows, -0.1, rng)
    chosen = rng.permutation(p)[:3]
    beta[chosen] = 0.13 * rng.normal(size=3)
    return table_of(s, sums, beta, float(beta @ s @ beta) / rows / 0.5, rows, -0.1, rng)


def run_cell(cell: Cell, replicates: int = PART, rows: int = ROWS, bands: int = BANDS_IN) -> list[Line]:
    noise = noise_of(cell.mechanism, cell.predictors + 1, True, cell.epsilon)
    seed = zlib.crc32(repr(cell).encode())
    rng = np.random.default_rng(seed)
    said: dict[str, list[Array]] = {method: [] for method in METHODS}
    truth, hits = [], []
    for replicate in range(replicates):
        table = drawn_table(cell, rng, rows)
        truth.append(table.active)
        matrix = table.matrix + noise.draw(rng)
        oracle = as_if_exact(table, table.matrix, PRIOR).inclusion
        evidence = evidence_of(table, matrix, noise.variances, PRIOR)
        ours = noise_aware(evidence)
        said["oracle"].append(oracle)
        said["noise-aware"].append(ours.inclusion)
        for kind in PLUG_INS:
            said[kind].append(plug_in(table, matrix, noise, kind, PRIOR).inclusion)
        drawn = draws_of(evidence, ours, DRAWS, seed + replicate)
        slopes = drawn.working[:, 1:-1]
        found = {"coefficients": inside(slopes, table.beta)}
        if table.active.any():
            found["active"] = inside(slopes[:, table.active], table.beta[table.active])
        if replicate < bands:
            found["oracle"] = inside(oracle_draws(evidence, ours, drawn, BAND_DRAWS, seed + replicate), oracle, 5e-4)
        hits.append(found)
    lines = [cell.columns() | line for method in METHODS
             for line in score_lines(method, np.array(said[method]), np.array(truth))]
    for name in ("coefficients", "active", "oracle"):
        shares = np.array([found[name].mean() for found in hits if name in found])
        weights = np.array([len(found[name]) for found in hits if name in found], dtype=float)
        lines.append(cell.columns() | {"method": "noise-aware", "measure": f"coverage {name}", "count": weights.sum(),
                                       "sum": weights @ shares, "squares": float(np.sum((weights * (shares - 0.95)) ** 2))})
    return lines


def inside(draws: Array, truth: Array, slack: float = 0.0) -> npt.NDArray[np.bool_]:
    """True if the 95 % interval holds the truth. ``slack``: probabilities that print the same count as equal."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return np.asarray((truth >= low - slack) & (truth <= high + slack))


def score_lines(method: str, said: Array, truth: npt.NDArray[np.bool_]) -> list[Line]:
    """Sums over replicates; ``squares`` are those of a replicate's sum, whose predictors are not independent."""
    surely = np.clip(said, SURELY, 1.0 - SURELY)
    logarithm = np.where(truth, np.log(surely), np.log1p(-surely)).mean(axis=1)
    brier = ((said - truth) ** 2).mean(axis=1)
    lines: list[Line] = [
        {"method": method, "measure": name, "count": len(said), "sum": values.sum(), "squares": float(np.sum(values**2))}
        for name, values in (("log score", logarithm), ("brier", brier))]
    place = np.clip(np.digitize(said, BINS) - 1, 0, len(BINS) - 2)
    for k in range(len(BINS) - 1):
        mine = place == k
        gap = np.sum((truth - said) * mine, axis=1)
        lines.append({"method": method, "measure": f"bin {k}", "count": int(mine.sum()), "sum": float(truth[mine].sum()),
                      "said": float(said[mine].sum()), "squares": float(np.sum(gap**2))})
    return lines


def cells(replicates: int) -> list[Cell]:
    """Part by part, so that an interrupted call has some results of every setting."""
    main = [(p, "normal", "prior", mechanism, epsilon)
            for p, mechanism, epsilon in itertools.product((5, 9), MECHANISMS, EPSILONS)]
    hard = [(5, features, truth, mechanism, epsilon) for (features, truth), mechanism, epsilon in itertools.product(
        (("mixed", "prior"), ("normal", "paper")), ("gaussian", "laplace"), EPSILONS)]
    return [Cell(*entry, part) for part in range(math.ceil(replicates / PART)) for entry in (*main, *hard)]


@dataclass(frozen=True)
class Reliability:
    """One row of a reliability table, with the standard error of the difference."""

    count: int
    said: float
    observed: float
    error: float


def reliability(lines: Sequence[Line]) -> list[Reliability | None]:
    """The reliability table of one method's lines, summed."""
    result: list[Reliability | None] = []
    for k in range(len(BINS) - 1):
        count, seen, said, squares = (sum(float(line[name] or 0) for line in lines if line["measure"] == f"bin {k}")
                                      for name in ("count", "sum", "said", "squares"))
        result.append(Reliability(int(count), said / count, seen / count, math.sqrt(squares) / count) if count else None)
    return result


def expected_calibration_error(rows: Sequence[Reliability | None]) -> tuple[float, float, float]:
    """Mean absolute difference of said and observed over the bins, its standard error, and its expectation by chance alone."""
    there = [row for row in rows if row is not None]
    total = sum(row.count for row in there)
    found = sum(row.count * abs(row.observed - row.said) for row in there) / total
    error = math.sqrt(sum((row.count * row.error) ** 2 for row in there)) / total
    by_chance = math.sqrt(2.0 / math.pi) * sum(
        math.sqrt(row.count * max(row.said * (1.0 - row.said), 1e-12)) for row in there) / total
    return found, error, by_chance


def mean_score(lines: Sequence[Line], measure: str) -> tuple[float, float]:
    """Mean over replicates, and its standard error."""
    count, total, squares = (sum(float(line[name]) for line in lines if line["measure"] == measure)
                             for name in ("count", "sum", "squares"))
    mean = total / count
    return mean, math.sqrt(max(squares / count - mean**2, 0.0) / count)


def figure(lines: Sequence[Line], path: Path) -> None:
    """Said against observed, by ε and method, over all mechanisms, where the truth is drawn from the prior."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(11, 3.4), layout="constrained")
    axes = drawing.subplots(1, len(EPSILONS), sharey=True)
    styles = {"noise-aware": ("C0", "o"), "ridge": ("C3", "s"), "thresholded": ("C1", "^")}
    for axis, epsilon in zip(axes, EPSILONS, strict=True):
        axis.plot([0, 1], [0, 1], color="0.6", linewidth=1)
        for method, (colour, marker) in styles.items():
            mine = [line for line in lines if float(line["epsilon"]) == epsilon and line["method"] == method
                    and line["truth"] == "prior" and line["features"] == "normal"]
            rows = [row for row in reliability(mine) if row is not None and row.count >= 20]
            axis.errorbar([row.said for row in rows], [row.observed for row in rows], [2 * row.error for row in rows],
                          color=colour, marker=marker, markersize=5, linewidth=1.2, capsize=2, label=method)
        axis.set_title(f"ε = {epsilon:g}")
        axis.set_xlabel("inclusion probability")
        axis.set_xlim(-0.03, 1.03)
        axis.set_ylim(-0.03, 1.03)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("share truly in the model")
    axes[0].legend(fontsize=8, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description="Calibration of inclusion probabilities.")
    parser.add_argument("--replicates", type=int, default=200, help="for each setting, in parts of 50")
    parser.add_argument("--figure", action="store_true", help="draw the picture from what was written")
    parser.add_argument("--output", type=Path, default=RESULTS / "calibration.csv")
    parser.add_argument("--images", type=Path, default=IMAGES)
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.figure:
        figure(read(arguments.output), arguments.images / "paper-004-calibration.png")
    else:
        run_cells(run_cell, cells(arguments.replicates), arguments, arguments.output)


if __name__ == "__main__":
    main()
