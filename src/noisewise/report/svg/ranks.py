"""Ranks of the draws by chain: where chains agree, every line stays near the middle (Vehtari et al. 2021, section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from noisewise.report.svg.axis import path, place

BINS: Final = 16
WIDTH: Final = 160.0
HEIGHT: Final = 56.0
MIDDLE: Final = 28.0


@dataclass(frozen=True)
class RankChart:
    """Of one term: a line for each chain, and the band in which 95 % of independent counts lie."""

    name: str
    words: str
    lines: tuple[str, ...]
    band_y: str
    band_height: str


def rank_chart(name: str, draws: NDArray[np.float64]) -> RankChart:
    """``draws`` has the shape (chains, draws)."""
    chains, length = draws.shape
    ranks = np.argsort(np.argsort(draws.reshape(-1), kind="stable"), kind="stable").reshape(draws.shape)
    bins = min(BINS, max(2, length // 5))
    expected = length / bins
    spread = 2.0 * math.sqrt(expected * (1 - 1 / bins)) / expected
    scale = (MIDDLE - 4.0) / max(3.0 * spread, 1e-9)
    lines, worst = [], 0.0
    for chain in ranks:
        counts = np.bincount(chain * bins // draws.size, minlength=bins)[:bins] / expected - 1.0
        worst = max(worst, float(np.abs(counts).max()))
        xs = [WIDTH * edge / bins for edge in range(bins) for edge in (edge, edge + 1)]
        ys = [float(np.clip(MIDDLE - scale * value, 1.0, HEIGHT - 1.0)) for value in counts for _ in range(2)]
        lines.append(path(xs, ys))
    words = (f"Ranks of {name} in {chains} chains: counts differ from equal ones by at most {100 * worst:.0f} %; "
             f"about {100 * spread:.0f} % is expected by chance of 95 in 100 of them.")
    return RankChart(name, words, tuple(lines), place(MIDDLE - scale * spread), place(2 * scale * spread))
