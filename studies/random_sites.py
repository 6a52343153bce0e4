"""Random effects by site: coverage of 95 % intervals of the population's coefficients and of the differences between sites.

    python -m studies.random_sites --output random_sites.csv      # the full grid: hours on one core
    python -m studies.random_sites --quick

Each replicate draws sites whose intercept (at the middle of the predictors' ranges) and slopes scatter around the
population's with the standard deviation ω, tables of those sites, and new noise. The default fit, which assumes
one set of coefficients for all sites, is shown for comparison. Replicates of a cell are fitted in one vectorised call. Otherwise
the steps are those of ``fit(..., site="random")``.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
import zlib
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.batch import sample_batch
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.linear.conditional import weighted_model
from noisewise.posterior.sites.information import Reference, SiteInformation, SiteModels, look_at, to_user
from noisewise.posterior.sites.moments import SiteMoments
from noisewise.posterior.sites.population import Population, log_density_population, mixing_matrix
from studies.coverage import default_prior
from studies.tables import _MEAN, Setting, SimulatedPart, feature_kinds, simulate_rows, simulated_noise, truth_in_table

Array = npt.NDArray[np.float64]

GRID: dict[str, list[Any]] = {"sites": [5, 20, 50], "omega": [0.0, 0.05, 0.15], "rows": [1_000, 10_000], "epsilon": [1.0, 10.0]}
D = 2


@dataclass(frozen=True)
class Cell:
    """One setting: the numbers of sites and of rows each, and how much their coefficients differ."""

    sites: int
    omega: float
    rows: int
    epsilon: float

    @property
    def setting(self) -> Setting:
        return Setting("mixed", D, self.rows, self.epsilon, 1, "replace-one", "gaussian")


def simulated_sites(cell: Cell, replicates: int, seed: int) -> list[list[SimulatedPart]]:
    """Releases of the sites, for each replicate."""
    import jax

    own_seed = zlib.crc32(repr((cell, seed)).encode())
    rng = np.random.default_rng(own_seed)
    truth = truth_in_table(cell.setting)[:-1]
    kinds = tuple(feature_kinds("mixed", D))
    beta = truth + cell.omega * rng.normal(size=(replicates * cell.sites, len(truth)))
    beta[:, 0] += beta[:, 1:] @ np.array([_MEAN[kind] for kind in kinds])  # the generator's intercept is at the means
    keys = jax.random.split(jax.random.key(own_seed), len(beta))
    grams = np.asarray(_grams(kinds, cell.rows)(keys, beta))
    noise = cell.setting.noise()
    parts = [SimulatedPart(gram + simulated_noise(rng, noise, len(gram)), cell.rows, noise) for gram in grams]
    return [parts[index : index + cell.sites] for index in range(0, len(parts), cell.sites)]


@cache
def _grams(kinds: tuple[str, ...], rows: int) -> Any:
    import jax

    def one(inputs: Any) -> Any:
        table = simulate_rows(inputs[0], kinds, rows, inputs[1])
        return table.T @ table

    return jax.jit(lambda keys, betas: jax.lax.map(one, (keys, betas), batch_size=max(1, 2_000_000 // rows)))


def random_fits(replicates: list[list[SimulatedPart]], seed: int, draws: int, looks: int = 2) -> tuple[Array, Array]:
    """Draws of (coefficients, sigma) and of ω in the user's units: (replicates, draws, ...)."""
    coordinates, prior = default_prior(D)
    sites = len(replicates[0])
    models = [SiteModels.of(parts, coordinates, prior) for parts in replicates]
    data = {key: np.concatenate([model.data[key] for model in models]) for key in models[0].data}
    references = [Reference.prior(model.start) for model in models]
    mixing, scales = mixing_matrix(prior)
    for look in range(looks):
        information = look_at(data, [reference for reference in references for _ in range(sites)], seed + look)
        populations = [Population(SiteInformation(information.precision[index : index + sites],
                                                  information.shift[index : index + sites]), mixing)
                       for index in range(0, len(information.shift), sites)]
        own_data = [population.data() for population in populations]
        starts = np.array([population.start() for population in populations])
        found = sample_batch(log_density_population, {key: np.stack([own[key] for own in own_data]) for key in own_data[0]},
                             starts[:, 0], starts[:, 1], seed=seed + 10 + look, chains=2, draws=draws).draws
        found = np.stack([population.with_coefficients(own, seed + 20 + look)
                          for population, own in zip(populations, found, strict=True)])
        references = [population.reference(own) for population, own in zip(populations, found, strict=True)]
    flat = found.reshape(len(found), -1, found.shape[-1])
    return to_user(flat[..., : D + 2], prior), np.exp(flat[..., D + 2 :]) * scales


def pooled_fits(replicates: list[list[SimulatedPart]], seed: int, draws: int) -> Array:
    """The default fit, for comparison."""
    coordinates, prior = default_prior(D)
    models = [weighted_model(parts, coordinates, prior) for parts in replicates]
    starts = np.array([model.start() for model in models])
    data = {key: np.stack([model.data[key] for model in models]) for key in models[0].data}
    found = sample_batch(models[0].log_density, data, starts[:, 0], starts[:, 1], seed=seed, chains=2, draws=draws).draws
    return np.stack([model.coordinates.to_user(own.reshape(-1, own.shape[-1])) for model, own in zip(models, found, strict=True)])


def covered(draws: Array, truth: Array) -> tuple[Array, Array]:
    """Whether each interval holds the truth, and the interval's width: (replicates, parameters)."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=1, method="weibull")
    return (low <= truth) & (truth <= high), high - low


def run_cell(cell: Cell, replicates: int, seed: int, draws: int = 500, looks: int = 2) -> dict[str, Any]:
    """One cell: simulate, fit both ways, count."""
    started = time.perf_counter()
    with double_precision():
        parts = simulated_sites(cell, replicates, seed)
        pooled = pooled_fits(parts, seed, draws)
        population, omega = random_fits(parts, seed, draws, looks)
    truth = truth_in_table(cell.setting)
    inside, width = covered(population, truth)
    inside_pooled, width_pooled = covered(pooled, truth)
    inside_omega, _ = covered(omega[..., : D + 1], np.full(D + 1, cell.omega))
    upper = np.quantile(omega[..., : D + 1], 0.975, axis=1)
    result = asdict(cell) | {
        "replicates": replicates,
        "intercept": inside[:, 0].mean(), "slope_binary": inside[:, 1].mean(), "slope_skewed": inside[:, 2].mean(),
        "sigma": inside[:, 3].mean(),
        "pooled_intercept": inside_pooled[:, 0].mean(), "pooled_slope_binary": inside_pooled[:, 1].mean(),
        "pooled_slope_skewed": inside_pooled[:, 2].mean(),
        "omega_covered": inside_omega.mean() if cell.omega else np.nan,
        "omega_median": np.median(omega[..., : D + 1]), "omega_upper": np.median(upper),
        "width": np.median(width[:, :3]), "pooled_width": np.median(width_pooled[:, :3]),
        "error_skewed": np.sqrt(np.mean((population[:, :, 2].mean(axis=1) - truth[2]) ** 2)),
        "pooled_error_skewed": np.sqrt(np.mean((pooled[:, :, 2].mean(axis=1) - truth[2]) ** 2)),
        "clarity": np.median([SiteMoments.of(own, default_prior(D)[0]).clarity for own in parts]),
        "bias_skewed": np.mean(population[:, :, 2].mean(axis=1) - truth[2]),
    }
    result = {key: float(np.round(value, 4)) for key, value in result.items()}
    print(f"{cell}: {result} ({time.perf_counter() - started:.0f} s)", file=sys.stderr, flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a few cells only")
    parser.add_argument("--fits-of-sites", type=int, default=1000, help="sites of all replicates of a cell together")
    parser.add_argument("--sites", type=int, nargs="*", default=GRID["sites"])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("random_sites.csv"))
    arguments = parser.parse_args()
    grid = (GRID | {"omega": [0.05], "rows": [10_000]} if arguments.quick else GRID) | {"sites": arguments.sites}
    results = []
    with arguments.output.open("w", newline="") as file:
        for values in itertools.product(*grid.values()):
            cell = Cell(*values)
            results.append(run_cell(cell, max(20, arguments.fits_of_sites // cell.sites), arguments.seed, arguments.draws))
            writer = csv.DictWriter(file, fieldnames=list(results[0]))
            if len(results) == 1:
                writer.writeheader()
            writer.writerow(results[-1])
            file.flush()


if __name__ == "__main__":
    main()
