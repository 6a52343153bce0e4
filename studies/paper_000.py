"""Amitai and Reiter (2018, paper 000), Figures 1 to 6 as numbers: posterior probabilities by subsample and aggregate.

    python -m studies.paper_000 [--runs 1000]      # the files of results, the pictures and docs/paper-000.md, some minutes
    python -m studies.paper_000_report             # only the page

Each figure's box plots become quartiles and whiskers of what a version reports, and the mean absolute error against p(b), the
posterior probability of the whole table, run by run. NOT PRIVATE: the versions "as printed" (`studies.paper_000_methods`).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from studies.paper_000_methods import (
    FLAT,
    OWN,
    SLOPE,
    VALID,
    VERSIONS,
    WHOLE,
    Tables,
    Version,
    mean_over_parts,
)
from studies.workers import write

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

RESULTS: Final = Path("studies/results/paper_000")
IMAGES: Final = Path("docs/images")
ROWS: Final = (10_000, 100_000, 1_000_000)
PARTS: Final = (10, 50, 100)
EPSILONS: Final = (0.1, 1.0, math.inf)
POINTS: Final = np.round(np.arange(1.989, 2.0101, 0.001), 3)
SCORES: Final = (-1.5, 1.5)
"""Where the bias is measured: so many standard deviations of the whole table's posterior from the true slope."""
WHISKER: Final = 1.5


def figures(rows: int, parts: int, runs: int, random: np.random.Generator, points: Array = POINTS,
            epsilons: Sequence[float] = EPSILONS) -> list[Line]:
    """The box plots of one sample size and number of parts, for each ε, version and b; ε = ∞ stands for no noise."""
    tables = Tables.drawn(rows, parts, runs, random)
    truth = tables.together().probabilities(points, WHOLE, rows)[..., 0]
    cell = {"rows": rows, "parts": parts}
    lines = [cell | {"epsilon": math.inf, "combine": "whole table", "version": "p(b)"} | box(b, found, found)
             for b, found in zip(points, truth, strict=True)]
    lines += [cell | {"epsilon": math.inf, "combine": "nothing", "version": "always 1/2"} | box(b, np.full(runs, 0.5), found)
              for b, found in zip(points, truth, strict=True)]
    for prior in (OWN, WHOLE):
        probabilities = tables.probabilities(points, prior, rows)
        for version in (version for version in VERSIONS if version.prior == prior):
            mean = mean_over_parts(probabilities, version.combine)
            for epsilon in epsilons:
                if math.isinf(epsilon) and version.name == "valid noise":
                    continue  # the same as printed
                found = version.estimate(mean, rows, parts, epsilon, random)
                lines += [cell | {"epsilon": epsilon, "combine": version.combine, "version": version.name} | box(b, *pair)
                          for b, *pair in zip(points, found, truth, strict=True)]
    return lines


def box(b: float, found: Array, truth: Array) -> Line:
    """A box plot: quartiles and the ends of the whiskers; the mean, and errors against the truth of the same run."""
    low, middle, high = np.quantile(found, [0.25, 0.5, 0.75])
    reach = WHISKER * (high - low)
    numbers = {"low_whisker": found[found >= low - reach].min(), "quartile_1": low, "median": middle, "quartile_3": high,
               "high_whisker": found[found <= high + reach].max(), "mean": found.mean(), "bias": (found - truth).mean(),
               "error": np.abs(found - truth).mean()}
    return {"b": float(b)} | {name: round(float(value), 4) for name, value in numbers.items()}


def scores(rows: int, parts: int, runs: int, random: np.random.Generator) -> list[Line]:
    """Normal scores without noise at b = slope ± 1.5 standard deviations: what each version makes of the whole table's.

    For rescaled-normal with each prior and factor; the difference to the whole table's score is that of the same run.
    """
    from scipy.special import ndtri

    points = SLOPE + np.array(SCORES) / math.sqrt(rows)
    tables = Tables.drawn(rows, parts, runs, random)
    whole = ndtri(tables.together().probabilities(points, WHOLE, rows)[..., 0])
    versions = [Version("rescaled-normal", rule, prior, VALID, rule) for prior in (OWN, WHOLE, FLAT)
                for rule in ("root of M", "root of 2M - 1")]
    versions += [version for version in VERSIONS if version.name == "noisewise"]
    probabilities = {prior: tables.probabilities(points, prior, rows) for prior in (OWN, WHOLE, FLAT)}
    lines = []
    for version in versions:
        mean = mean_over_parts(probabilities[version.prior], version.combine)
        found = ndtri(version.estimate(mean, rows, parts, math.inf, random))
        for at, mine, true in zip(SCORES, found, whole, strict=True):
            away = mine - true
            lines.append({"rows": rows, "parts": parts, "prior": version.prior, "combine": version.combine, "rule": version.name,
                          "at": at, "whole": round(true.mean(), 4), "score": round(mine.mean(), 4),
                          "difference": round(away.mean(), 4), "se": round(away.std() / math.sqrt(runs), 4)})
    return lines


def run(results: Path, runs: int, rows: Sequence[int] = ROWS, parts: Sequence[int] = PARTS) -> None:
    results.mkdir(parents=True, exist_ok=True)
    boxes: list[Line] = []
    biases: list[Line] = []
    for size in rows:
        for count in parts:
            started = time.perf_counter()
            random = np.random.default_rng([size, count])
            boxes += figures(size, count, runs, random)
            biases += scores(size, count, runs, random)
            print(f"{size:,} rows, {count} parts: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    write(boxes, results / "figures.csv")
    write(biases, results / "scores.csv")


def main() -> None:
    from studies.paper_000_figures import draw_all
    from studies.paper_000_report import write_report

    parser = argparse.ArgumentParser(description="Figures 1 to 6 of paper 000 as numbers.")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--images", type=Path, default=IMAGES)
    parser.add_argument("--page", type=Path, default=Path("docs/paper-000.md"))
    arguments = parser.parse_args()
    run(arguments.results, arguments.runs)
    draw_all(arguments.results, arguments.images)
    write_report(arguments.results, arguments.page)


if __name__ == "__main__":
    main()
