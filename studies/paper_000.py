"""Amitai and Reiter (2018, paper 000), Figures 1 to 6 as numbers: posterior probabilities by subsample and aggregate.

    noisewise reproduce 000 [--quick]

Each figure's box plots become quartiles and whiskers of what a version reports, and the mean absolute error against p(b), the
posterior probability of the whole table, run by run. NOT PRIVATE: the versions "as printed" (`studies.paper_000_methods`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

ROWS: Final = (10_000, 100_000, 1_000_000)
PARTS: Final = (10, 50, 100)
EPSILONS: Final = (0.1, 1.0, math.inf)
POINTS: Final = np.round(np.arange(1.989, 2.0101, 0.001), 3)
QUARTERS: Final = (0.25, 0.5, 0.75)
SCORES: Final = (-1.5, 1.5)
"""Where the bias is measured: this many standard deviations of the whole table's posterior from the true slope."""
WHISKER: Final = 1.5
BATCHES: Final = 10
"""Batches of runs, whose scatter gives the standard error of a quartile's difference."""


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
    """A box plot: quartiles and the ends of the whiskers; the mean, and errors against the truth of the same run.

    ``quartile_se`` is the standard error of the difference to the truth's quartile, the largest of the three.
    """
    low, middle, high = np.quantile(found, QUARTERS)
    reach = WHISKER * (high - low)
    away = found - truth
    numbers = {"low_whisker": found[found >= low - reach].min(), "quartile_1": low, "median": middle, "quartile_3": high,
               "high_whisker": found[found <= high + reach].max(), "mean": found.mean(), "bias": away.mean(),
               "error": np.abs(away).mean(), "bias_se": away.std() / math.sqrt(len(away)),
               "error_se": np.abs(away).std() / math.sqrt(len(away)), "quartile_se": _quartile_error(found, truth)}
    return {"b": float(b)} | {name: round(float(value), 4) for name, value in numbers.items()}


def _quartile_error(found: Array, truth: Array) -> float:
    """By batches of runs, which are independent."""
    mine, theirs = (np.quantile(values[:len(values) // BATCHES * BATCHES].reshape(BATCHES, -1), QUARTERS, axis=1)
                    for values in (found, truth))
    return float((mine - theirs).std(axis=1, ddof=1).max() / math.sqrt(BATCHES))


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


def cell(rows: int, parts: int, runs: int) -> dict[str, list[Line]]:
    """All figures of one sample size and number of parts."""
    random = np.random.default_rng([rows, parts])
    return {"figures": figures(rows, parts, runs, random), "scores": scores(rows, parts, runs, random)}
