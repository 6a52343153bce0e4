"""Does the probability of the true model tend to 1 as the table grows, at a fixed ε? A test of paper 004, proposition 2.

    python -m studies.model_consistency [--replicates 20]
    python -m studies.model_consistency --figure

Five predictors with pairwise correlation 0.3, two of them active with coefficients 0.13 and −0.1, σ = 0.15 (all in units of
half the ranges), a released constant, n from 1,000 to 10,000,000, ε = 0.1 and 1, replace-one, δ = exp(−10). Moments are drawn,
no table is made. Weak coefficients, a quarter as large, are tried too: sampling hides them at small n even without privacy.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from studies.inclusion_calibration import drawn_features
from studies.model_averaging import (
    IMAGES,
    PLUG_INS,
    RESULTS,
    as_if_exact,
    evidence_of,
    noise_aware,
    noise_of,
    plug_in,
    table_of,
)
from studies.workers import add_options, read, run_cells

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

COEFFICIENTS: Final = (0.13, -0.1, 0.0, 0.0, 0.0)
SIGMA: Final = 0.15
ROWS: Final = (10**3, 10**4, 10**5, 10**6, 10**7)
EPSILONS: Final = (0.1, 1.0)
RELEASES: Final = ("gaussian", "laplace", "wishart", "wishart-paper")
PRIORS: Final = ("zellner-siow", "bic")
STRENGTHS: Final = (1.0, 0.25)


@dataclass(frozen=True)
class Cell:
    release: str
    epsilon: float
    replicates: int

    def columns(self) -> Line:
        return asdict(self)


def run_cell(cell: Cell, rows: Sequence[int] = ROWS) -> list[Line]:
    noise = noise_of(cell.release, len(COEFFICIENTS) + 1, True, cell.epsilon)
    return [cell.columns() | line for strength in STRENGTHS for n in rows for line in _at(cell, noise, strength, n)]


def _at(cell: Cell, noise: Any, strength: float, rows: int) -> list[Line]:
    beta = strength * np.array(COEFFICIENTS)
    true_model = int(np.sum(2 ** np.flatnonzero(beta)))
    found: dict[tuple[str, str], list[float]] = {}
    for replicate in range(cell.replicates):
        rng = np.random.default_rng([zlib.crc32(f"{cell.release} {cell.epsilon} {strength}".encode()), rows, replicate])
        s, sums = drawn_features("normal", len(beta), rows, rng)
        table = table_of(s, sums, beta, SIGMA**2, rows, -0.1, rng)
        matrix = table.matrix + noise.draw(rng)
        for prior in PRIORS:
            said = {"oracle": as_if_exact(table, table.matrix, prior),
                    "noise-aware": noise_aware(evidence_of(table, matrix, noise.variances, prior)),
                    **{kind: plug_in(table, matrix, noise, kind, prior) for kind in PLUG_INS}}
            for method, analysis in said.items():
                found.setdefault((prior, method), []).append(float(analysis.probabilities[true_model]))
    return [{"strength": strength, "rows": rows, "prior": prior, "method": method, "probability": float(np.mean(values)),
             "error": float(np.std(values) / math.sqrt(len(values))), "least": min(values)}
            for (prior, method), values in found.items()]


def cells(replicates: int) -> list[Cell]:
    return [Cell(release, epsilon, replicates) for release in RELEASES for epsilon in EPSILONS]


def figure(lines: Sequence[Line], path: Path) -> None:
    """Probability of the true model against n, Zellner–Siow."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(11, 5.9), layout="constrained")
    axes = drawing.subplots(len(EPSILONS), len(RELEASES), sharex=True, sharey=True)
    styles = {"oracle": ("0.3", "."), "noise-aware": ("C0", "o"), "ridge": ("C3", "s"), "thresholded": ("C1", "^")}
    for row, epsilon in enumerate(EPSILONS):
        for column, release in enumerate(RELEASES):
            axis = axes[row, column]
            for strength, style in zip(STRENGTHS, ("-", ":"), strict=True):
                for method, (colour, marker) in styles.items():
                    points = sorted((int(line["rows"]), float(line["probability"])) for line in lines
                                    if line["release"] == release and float(line["epsilon"]) == epsilon
                                    and float(line["strength"]) == strength and line["method"] == method
                                    and line["prior"] == "zellner-siow")
                    axis.plot(*zip(*points, strict=True), color=colour, marker=marker, linestyle=style, markersize=4,
                              label=method if strength == 1.0 else None)
            axis.set_xscale("log")
            axis.set_ylim(-0.03, 1.03)
            axis.grid(alpha=0.3)
            axis.set_title(f"{release}, ε = {epsilon:g}", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("n")
    for axis in axes[:, 0]:
        axis.set_ylabel("P(true model)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description="The probability of the true model as the table grows.")
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--figure", action="store_true", help="draw the picture from what was written")
    parser.add_argument("--output", type=Path, default=RESULTS / "consistency.csv")
    parser.add_argument("--images", type=Path, default=IMAGES)
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.figure:
        figure(read(arguments.output), arguments.images / "paper-004-consistency.png")
    else:
        run_cells(run_cell, cells(arguments.replicates), arguments, arguments.output)


if __name__ == "__main__":
    main()
