"""Are inclusion probabilities of model releases right? Of the terms that are given 30 %, 30 % should have an effect.

    python -m studies.model_inclusion [--replicates 30] [--families logistic] [--priors zellner-siow] [--bands]

Truth from the prior: the number of terms with an effect is uniform on 0…4, g has the prior that is asked about, and the
coefficients are N(0, g S⁻¹), where S is the information of the table's rows at the average response. The intercept is chosen so
that the average response is what the study says. Four terms: a uniform number, a skewed one, two levels (one row in five has the
second) and three levels. 4,000 rows, replace-one, δ = 1e-6, and noise from a seed.

For each family and ε: bins of what was said, with the share that was true; the squared standardised differences of the bins added
up, which is χ² with as many degrees of freedom if the probabilities are right; the coverage of 95 % intervals of the averaged
coefficients; and how often the band holds what the same analysis of the table itself says.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import noisewise as nw
from noisewise.errors import NoisewiseWarning
from noisewise.run import QUIET
from studies.simulated_release import simulated_model_release

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

ROWS: Final = 4000
TERMS: Final = ("x1", "x2", "flag", "ward")
COLUMNS: Final = {"x1": (0,), "x2": (1,), "flag": (2,), "ward": (3, 4)}
WARDS: Final = ("A", "B", "C")
BINS: Final = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
NO_NOISE: Final = 1e6
"""An ε for what the table itself says."""


@dataclass(frozen=True)
class World:
    """A family with its response: the declaration, the average, the information of a row with that mean, the mean and the
    responses of linear predictors.
    """

    declared: dict[str, Any]
    average: float
    information: float
    mean: Callable[[Array], Array]
    draw: Callable[[Array, np.random.Generator], npt.NDArray[Any]]


def _expit(eta: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-eta)))


def _normal(eta: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(eta))


def _levels(chances: Array, rng: np.random.Generator) -> npt.NDArray[Any]:
    return np.where(rng.random(len(chances)) < chances, "yes", "no")


LEVELS: Final = {"levels": ["no", "yes"]}
SHARE: Final = 0.3
COUNT: Final = {"bounds": [0, 60]}
DISPERSION: Final = 0.5
WORLDS: Final = {
    "gaussian": World({"bounds": [-12, 12]}, 0.0, 1.0, lambda eta: eta, lambda eta, rng: eta + rng.normal(size=len(eta))),
    "logistic": World(LEVELS, SHARE, SHARE * (1 - SHARE), _expit, lambda eta, rng: _levels(_expit(eta), rng)),
    "probit": World(LEVELS, SHARE, 0.3477**2 / (SHARE * (1 - SHARE)), _normal, lambda eta, rng: _levels(_normal(eta), rng)),
    "poisson": World(COUNT, 3.0, 3.0, np.exp, lambda eta, rng: rng.poisson(np.exp(np.minimum(eta, 9.0)))),
    "negative-binomial": World(COUNT, 3.0, 3.0 / (1 + 3 * DISPERSION), np.exp, lambda eta, rng: rng.poisson(
        np.exp(np.minimum(eta, 9.0)) * rng.gamma(1 / DISPERSION, DISPERSION, len(eta)))),
}


@dataclass(frozen=True)
class Table:
    rows: dict[str, npt.NDArray[Any]]
    active: Flags
    slopes: Array


def drawn_g(prior: str, rng: np.random.Generator) -> float:
    if prior == "zellner":
        return float(ROWS)
    if prior == "zellner-siow":
        return ROWS / float(rng.chisquare(1))
    return float((1.0 - rng.random()) ** -2.0) - 1.0  # hyper-g with a = 3: P(g > x) = (1 + x)^(−1/2)


def table_of(world: World, prior: str, rng: np.random.Generator) -> Table:
    """A table whose effects are drawn from the prior."""
    skewed = np.minimum(np.exp(0.7 * rng.normal(size=ROWS)) / 4.0, 2.0) - 1.0
    flag, ward = rng.random(ROWS) < 0.2, rng.choice(3, ROWS, p=(0.5, 0.3, 0.2))
    columns = np.column_stack([rng.uniform(-1, 1, ROWS), skewed, flag, ward == 1, ward == 2]).astype(float)
    centred = columns - columns.mean(axis=0)
    active = np.isin(np.arange(len(TERMS)), rng.permutation(len(TERMS))[:rng.integers(0, len(TERMS) + 1)])
    mine = [place for term, inside in zip(TERMS, active, strict=True) if inside for place in COLUMNS[term]]
    slopes = np.zeros(columns.shape[1])
    if mine:
        root = np.linalg.cholesky(world.information * centred[:, mine].T @ centred[:, mine])
        slopes[mine] = np.sqrt(drawn_g(prior, rng)) * np.linalg.solve(root.T, rng.normal(size=len(mine)))
    eta = centred @ slopes
    low, high = -40.0 - np.abs(eta).max(), 40.0 + np.abs(eta).max()
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if world.mean(middle + eta).mean() < world.average else (low, middle)
    response = world.draw(low + eta, rng)
    return Table({"x1": columns[:, 0], "x2": skewed, "flag": np.where(flag, "yes", "no"), "ward": np.array(WARDS)[ward],
                  "y": response}, active, slopes)


def schema_of(world: World) -> nw.Schema:
    return nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "x1": {"bounds": [-1, 1]}, "x2": {"bounds": [-1, 1]}, "flag": {"levels": ["no", "yes"]}, "ward": {"levels": list(WARDS)},
        "y": world.declared}})


@dataclass(frozen=True)
class Said:
    """What was said about many tables: (tables, terms) probabilities and truths; shares of intervals that hold the truth."""

    said: Array
    truth: Flags
    covered: float
    band: float

    def bins(self) -> Iterator[tuple[int, float, float, float]]:
        """Of each bin: the number of terms, the mean of what was said, the share that was true, the standardised difference."""
        place = np.clip(np.digitize(self.said, BINS) - 1, 0, len(BINS) - 2)
        for k in range(len(BINS) - 1):
            mine = place == k
            said, truth = self.said[mine], self.truth[mine]
            spread = float(np.sqrt(np.sum(said * (1 - said))))
            if spread > 0.5:
                yield int(mine.sum()), float(said.mean()), float(truth.mean()), float(np.sum(truth - said)) / spread

    @property
    def squares(self) -> tuple[float, int]:
        """The squared standardised differences of the bins, and their number."""
        gaps = [gap for *_, gap in self.bins()]
        return float(np.sum(np.square(gaps))), len(gaps)


def said_about(family: str, epsilon: float, prior: str, replicates: int, seed: int, *, band: bool = True) -> Said:
    """Release and compare tables whose effects are drawn from the prior."""
    import warnings

    world = WORLDS[family]
    kind, schema = nw.Model("y ~ " + " + ".join(TERMS), family=family), schema_of(world)
    rng = np.random.default_rng([seed, zlib.crc32(f"{family} {epsilon} {prior}".encode())])
    said, truth, covered, held = [], [], [], []
    for replicate in range(replicates):
        table = table_of(world, prior, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisewiseWarning)
            found, own = (nw.compare(simulated_model_release(table.rows, schema, kind, rng, epsilon=one, delta=1e-6), prior=prior,
                                     seed=replicate, draws=2000, run=QUIET) if one is not None else None
                          for one in (epsilon, NO_NOISE if band else None))
        assert found is not None and found.without_noise is not None
        said.append(found.inclusion_probabilities)
        truth.append(table.active)
        low, high = np.quantile(found.samples[:, 1:1 + len(table.slopes)], [0.025, 0.975], axis=0)
        covered.append(np.mean((low <= table.slopes) & (table.slopes <= high)))
        if own is not None:
            low, high = np.quantile(found.without_noise, [0.025, 0.975], axis=0)
            itself = own.inclusion_probabilities
            held.append(np.mean((low - 5e-3 <= itself) & (itself <= high + 5e-3)))
    return Said(np.array(said), np.array(truth), float(np.mean(covered)), float(np.mean(held)) if held else np.nan)


def main() -> None:
    parser = argparse.ArgumentParser(description="Calibration of the inclusion probabilities of model releases.")
    parser.add_argument("--replicates", type=int, default=30, help="for each family, prior and epsilon")
    parser.add_argument("--families", nargs="+", default=["gaussian", "logistic", "poisson"], choices=sorted(WORLDS))
    parser.add_argument("--priors", nargs="+", default=["hyper-g"], choices=("zellner-siow", "zellner", "hyper-g"))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.3, 1.0, 10.0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bands", action="store_true", help="also ask what the table itself says, which takes twice as long")
    asked = parser.parse_args()
    for family in asked.families:
        for prior in asked.priors:
            for epsilon in asked.epsilons:
                found = said_about(family, epsilon, prior, asked.replicates, asked.seed, band=asked.bands)
                squares, bins = found.squares
                print(f"{family}, {prior}, ε = {epsilon:g}: χ² {squares:.1f} on {bins} bins, coefficients covered "
                      f"{found.covered:.3f}" + (f", bands {found.band:.3f}" if asked.bands else ""))
                for count, said, true, gap in found.bins():
                    print(f"    {count:5d} terms: said {said:.3f}, true {true:.3f} ({gap:+.1f} standard errors)")


if __name__ == "__main__":
    main()
