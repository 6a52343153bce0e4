"""Simulation-based calibration of both likelihoods under their own models.

    python -m studies.sbc --processes 2            # 1000 replicates of every case: hours on two cores
    python -m studies.sbc --likelihood conditional --d 2 --replicates 200
    python -m studies.sbc --wrong                  # ignore 30 % of the noise's variance: the tests must notice

Truths come from the prior, data from exactly the normal distribution that the likelihood states. Its covariance is built here
from the definition, entry by entry, and shares no code with the density. If density and sampler are right, the truth's rank
among the draws is uniform. ``studies.coverage`` tests if tables follow these models.

The output has one line per case and quantity (coefficients, sigma, and the log density at the truth, which depends on all
parameters) with p-values, and a picture of the ranks' distribution functions with a 99 % band.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.posterior.linear.collapsed import CollapsedModel
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import RowBasis
from noisewise.posterior.prior import COEFFICIENT_SCALE, SIGMA_SCALE
from noisewise.releases.contents.gram import EntryNoise
from studies.batch import sample_batch
from studies.coverage import default_prior
from studies.tables import Setting, SimulatedPart, exact_matrices, simulated_noise
from studies.uniformity import KEPT, Ranks, band, band_p, chi_square_p, ranks_among, score_p

Array = npt.NDArray[np.float64]
Pool = get_context("spawn").Pool

SHARE = 50
"""Replicates that one process takes at a time."""
ROWS = 10_000
WRONG = 0.7
"""``--wrong``: the share of the noise's variance that the density accounts for."""
WINDOW = 50
"""A private number of rows is uniform within this many standard deviations of its noise: flat, as in the prior, up to edges."""


@dataclass(frozen=True)
class Case:
    """One model to be calibrated. Gaussian noise uses a likelihood's fast form, Laplace variances its dense one."""

    likelihood: str
    mechanism: str
    adjacency: str
    d: int
    epsilon: float

    def setting(self) -> Setting:
        return Setting("normal", self.d, ROWS, self.epsilon, 1, self.adjacency, self.mechanism)


def cases() -> list[Case]:
    corners = ["replace-one", "add-remove"]
    grids: list[tuple[Any, ...]] = [
        ("conditional", ["gaussian", "laplace"], corners, [2, 5], [0.1, 1.0]),
        ("collapsed", ["gaussian"], corners, [2, 5], [1.0]),
        ("collapsed", ["laplace"], corners, [2], [1.0]),  # O(d⁶): one small size
    ]
    return [Case(likelihood, *values) for likelihood, *grid in grids for values in itertools.product(*grid)]


@dataclass(frozen=True)
class Replicates:
    """Models with data from their own distribution, the truth of all parameters, and the start of the search for the mode."""

    models: Sequence[Any]
    truth: Array
    starts: Array
    coefficients: int


def simulate(case: Case, replicates: int, seed: int) -> Replicates:
    rng = np.random.default_rng(zlib.crc32(repr((case, seed)).encode()))
    own = conditional_replicates if case.likelihood == "conditional" else collapsed_replicates
    return own(case, replicates, rng)


def draw_from_prior(rng: np.random.Generator, d: int) -> tuple[Array, float]:
    """Coefficients and sigma from the default prior for bounds [−1, 1]."""
    return COEFFICIENT_SCALE * rng.normal(size=d + 1), SIGMA_SCALE * abs(rng.normal())


def normal(rng: np.random.Generator, covariance: Array) -> Array:
    """Draw from N(0, covariance), which may be singular: NumPy's own check takes its rounding error for a wrong covariance."""
    values, vectors = np.linalg.eigh(covariance)
    assert values[0] > -1e-10 * values[-1]
    return vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(values.size))


def conditional_replicates(case: Case, replicates: int, rng: np.random.Generator) -> Replicates:
    """The predictors' part Ŝ is that of a simulated release, new for each replicate; the rest follows given Ŝ."""
    noise = case.setting().noise()
    coordinates, prior = default_prior(case.d)
    models, truths = [], []
    for exact in exact_matrices(int(rng.integers(2**31)), case.setting(), replicates):
        matrix = exact + simulated_noise(rng, noise, len(exact))
        model = ConditionalModel.of([SimulatedPart(matrix, None if noise.corner else ROWS, noise)], coordinates, prior)
        q, own = model.coordinates.directions, model.coordinates
        beta, sigma = draw_from_prior(rng, case.d)
        g: Array = np.linalg.solve(own.slope, beta - own.offset).astype(np.float64)
        s = q.T @ matrix @ q
        rows = matrix[0, 0] if noise.corner else float(ROWS)
        h = normal(rng, conditional_covariance(q, own.residual, g, sigma, s, rows, noise))
        cross = h[:-1] + s @ g
        total = h[-1] + cross @ g + g @ h[:-1] + sigma**2 * rows
        models.append(replace(model, data={**model.data, "cross": cross, "total": np.asarray(total)}))
        truths.append(np.append(g, sigma))
    return Replicates(models, np.array(truths), np.array([model.start()[0] for model in models]), case.d + 1)


def conditional_covariance(q: Array, e: Array, g: Array, sigma: float, s: Array, rows: float, noise: EntryNoise) -> Array:
    """Covariance of h = (QᵀŴc, cᵀŴc − nσ²): that of the residuals' sums, plus one rank-one term for each entry's noise."""
    c = e - q @ g
    values, vectors = np.linalg.eigh(s)
    result = np.zeros((len(g) + 1, len(g) + 1))
    result[:-1, :-1] = sigma**2 * (vectors * np.maximum(values, 0.0)) @ vectors.T
    result[-1, -1] = 2 * max(rows, 1.0) * sigma**4
    variances = noise.variances(len(c))
    for row, column in zip(*np.triu_indices(len(c)), strict=True):
        unit = np.zeros_like(variances)  # the noise E is a sum of independent multiples of these
        unit[row, column] = unit[column, row] = 1.0
        effect = np.append(q.T @ unit @ c, c @ unit @ c - sigma**2 * unit[0, 0])  # a noisy corner also stands for n
        result += variances[row, column] * np.outer(effect, effect)
    return result


def collapsed_replicates(case: Case, replicates: int, rng: np.random.Generator) -> Replicates:
    """All parameters from the prior, the released matrix from the central-limit law."""
    noise, d = case.setting().noise(), case.d
    coordinates, prior = default_prior(d)
    basis = RowBasis.of(coordinates).matrix[1:-1, 1:-1]
    models, truths, starts = [], [], []
    for _ in range(replicates):
        beta, sigma = draw_from_prior(rng, d)
        mean = rng.normal(size=d)
        factor = bartlett(rng, d)
        rows = ROWS + (WINDOW * noise.corner * rng.uniform(-1, 1) if noise.corner else 0.0)
        matrix = central_limit_matrix(rng, mean, factor @ factor.T, beta, sigma, rows, noise)
        model = CollapsedModel.of([SimulatedPart(matrix, None if noise.corner else ROWS, noise)], coordinates, prior)
        g: Array = np.linalg.solve(coordinates.slope, beta - coordinates.offset).astype(np.float64)
        truths.append(collapsed_parameters(model, g, sigma, basis.T @ mean, basis.T @ factor @ factor.T @ basis,
                                           np.array([rows] if noise.corner else [])))
        starts.append(model.start()[0])
        models.append(model)
    return Replicates(models, np.array(truths), np.array(starts), d + 1)


def collapsed_parameters(model: CollapsedModel, g: Array, sigma: float, mean: Array, covariance: Array, rows: Array) -> Array:
    """The parameters of a model for these coefficients, moments of the predictors and numbers of rows (if private)."""
    data = model.data
    theta = data["effects"] @ g + data["effects_offset"]
    level, slopes = theta[0], theta[1:]
    cross = covariance @ slopes
    joint = np.block([[covariance, cross[:, None]], [cross[None], slopes @ cross + sigma**2 / data["residual_norm2"]]])
    means = data["mean_root"].shape[1]
    t = np.linalg.solve(data["mean_root"], (np.append(mean, level + slopes @ mean) - data["centre"])[:means])
    lower = np.linalg.cholesky(data["inverse_root"] @ joint @ data["inverse_root"].T)
    log_diagonal = np.log(np.diag(lower))
    if means == len(lower):
        shift = np.outer(data["standard_centre"], data["noise_share"] * t)
        lower, log_diagonal = lower + shift + shift.T, log_diagonal + np.diag(shift)
    return np.concatenate([t, log_diagonal, lower[np.tril_indices(len(lower), -1)], np.log(rows)])


def bartlett(rng: np.random.Generator, d: int) -> Array:
    """The Cholesky factor of a Wishart matrix with d + 1 degrees of freedom and mean ⅓ · identity."""
    factor = np.tril(rng.normal(size=(d, d)), -1) + np.diag(np.sqrt(rng.chisquare(d + 1 - np.arange(d))))
    scaled: Array = factor / math.sqrt(3 * (d + 1))
    return scaled


def central_limit_matrix(rng: np.random.Generator, mean: Array, covariance: Array, beta: Array, sigma: float, rows: float,
                         noise: EntryNoise) -> Array:
    """Σ aaᵀ + E for a = (1, x, y) by the central limit theorem, with normal noise of the mechanism's variances."""
    size = len(beta) + 1
    to_row = np.vstack([np.eye(size - 1), beta])  # (1, x) to (1, x, Xβ)
    centre = to_row @ np.append(1.0, mean)
    spread = np.zeros((size, size))
    spread[:-1, :-1][1:, 1:] = covariance
    spread = to_row @ spread[:-1, :-1] @ to_row.T
    spread[-1, -1] += sigma**2
    i, j = np.triu_indices(size)
    # Isserlis: Cov(aᵢaⱼ, aₖaₗ) for a = centre + N(0, spread).
    fourth = sum(spread[np.ix_(a, c)] * spread[np.ix_(b, d)] for a, b, c, d in ((i, j, i, j), (i, j, j, i)))
    second = sum(np.outer(centre[a], centre[c]) * spread[np.ix_(b, d)]
                 for a, b in ((i, j), (j, i)) for c, d in ((i, j), (j, i)))
    law = rows * (fourth + second) + np.diag(noise.variances(size)[i, j])
    expected = rows * (spread + np.outer(centre, centre))
    matrix = np.zeros((size, size))
    matrix[i, j] = expected[i, j] + normal(rng, law)
    return matrix + np.triu(matrix, 1).T


def mistold(model: Any, share: float = WRONG) -> Any:
    """The model with a density that uses only ``share`` of the noise's variance."""
    noisy = {"noise", "corner", "variances", "diagonal_variances", "noise_covariance"}
    return replace(model, data={key: value * share if key in noisy else value for key, value in model.data.items()})


def quantities(models: Sequence[Any], truth: Array, draws: Array, coefficients: int) -> dict[str, Ranks]:
    """The ranks of coefficients and sigma in user's units, and of the log density."""
    shown = coefficients + 1

    def user(model: Any, x: Array) -> Array:
        working = model.coefficients(x) if isinstance(model, CollapsedModel) else x[..., :shown]
        return np.asarray(model.coordinates.to_user(working))

    users, true = (np.stack([user(model, x) for model, x in zip(models, each, strict=True)]) for each in (draws, truth))
    ranks = ranks_among(users, true)
    names = [f"beta{k}" for k in range(coefficients)] + ["sigma"]
    result = {name: ranks[:, k] for k, name in enumerate(names)}
    data = {key: np.stack([model.data[key] for model in models]) for key in models[0].data}
    density = _densities(models[0].log_density)
    result["density"] = ranks_among(np.asarray(density(draws, data)), np.asarray(density(truth[:, None], data))[:, 0])
    return result


@cache
def _densities(log_density: Any) -> Any:
    import jax
    import jax.numpy as jnp

    each_draw = jax.vmap(lambda x, data: log_density(x, data, jnp), in_axes=(0, None))
    return jax.jit(jax.vmap(each_draw))


def calibrate(case: Case, replicates: int, seed: int, draws: int, wrong: bool) -> dict[str, Ranks]:
    """Simulate, fit, rank."""
    with double_precision():
        simulated = simulate(case, replicates, seed)
        models = [mistold(model) for model in simulated.models] if wrong else simulated.models
        own_seed = zlib.crc32(repr((seed, case)).encode())  # far from other calls' seeds: the sampler counts up from here
        sampled = sample_batch(models, seed=own_seed, draws=draws, starts=simulated.starts)
        return quantities(models, simulated.truth, sampled, simulated.coefficients)


def number_of_parameters(case: Case) -> int:
    features = case.d + case.d * (case.d + 1) // 2 + (case.adjacency == "add-remove")
    return case.d + 2 + (features if case.likelihood == "collapsed" else 0)


def lines(case: Case, ranks: Mapping[str, Ranks], wrong: bool) -> Iterable[dict[str, Any]]:
    """One line of the table per quantity."""
    parameters = number_of_parameters(case)
    for name, own in ranks.items():
        scale, p = score_p(own, parameters) if name == "density" else (float("nan"), float("nan"))
        yield asdict(case) | {
            "noise_share": WRONG if wrong else 1.0,
            "quantity": name,
            "replicates": len(own),
            "mean_rank": float(own.mean() / KEPT),
            "chi_square_p": chi_square_p(own),
            "band_p": band_p(own),
            "score_p": p,
            "squared_distance": scale,
        }


def draw_picture(ranks: Mapping[Case, Mapping[str, Ranks]], path: Path) -> None:
    """Draw the ranks' distribution functions minus the diagonal; 99 of 100 curves stay within the band everywhere."""
    import matplotlib.pyplot as plt

    columns = min(4, len(ranks))
    height = -(-len(ranks) // columns)
    figure, axes = plt.subplots(height, columns, figsize=(3.2 * columns, 2.6 * height + 0.4), squeeze=False,
                                sharex=True, sharey=True, layout="constrained")
    for axis in axes.flat[len(ranks):]:
        axis.set_visible(False)
    for axis, (case, of_case) in zip(axes.flat, ranks.items(), strict=False):
        for name, own in of_case.items():
            at, lower, upper = band(len(own))
            function = np.cumsum(np.bincount(own, minlength=KEPT + 1))[:-1] / len(own)
            colour = {"sigma": "C1", "density": "C3"}.get(name, "C0")
            axis.plot(at, function - at, color=colour, linewidth=1, alpha=1.0 if colour != "C0" else 0.5)
            axis.fill_between(at, lower, upper, color="0.9", zorder=0)
        axis.set_title(f"{case.likelihood}, {case.mechanism}\n{case.adjacency}, d={case.d}, ε={case.epsilon:g}", fontsize=8)
    figure.supxlabel("rank of the truth (blue: coefficients, orange: sigma, red: log density)", fontsize=9)
    figure.supylabel("distribution function − uniform", fontsize=9)
    figure.savefig(path, dpi=120)
    plt.close(figure)


FILTERS = {"likelihood": str, "mechanism": str, "adjacency": str, "d": int, "epsilon": float}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", action="store_true", help="fit densities that ignore part of the noise: the tests must notice")
    for name, kind in FILTERS.items():
        parser.add_argument(f"--{name}", type=kind, nargs="*", help="only these")
    parser.add_argument("--output", type=Path, default=Path("sbc.csv"))
    parser.add_argument("--figure", type=Path, help="default: as --output, with .png")
    arguments = parser.parse_args()
    if arguments.draws < KEPT:
        parser.error(f"--draws must be at least {KEPT}")
    wanted = {name: value for name in FILTERS if (value := getattr(arguments, name))}
    chosen = [case for case in cases() if all(getattr(case, name) in value for name, value in wanted.items())]
    if not chosen:
        parser.error("no such case")
    with Pool(arguments.processes) as pool:
        work = partial(_calibrate_share, seed=arguments.seed, draws=arguments.draws, wrong=arguments.wrong)
        shares = [(case, first, min(SHARE, arguments.replicates - first))
                  for case in chosen for first in range(0, arguments.replicates, SHARE)]
        found = zip((case for case, _, _ in shares), pool.imap(work, shares), strict=True)
        write(found, arguments.wrong, arguments.output, arguments.figure or arguments.output.with_suffix(".png"))


def _calibrate_share(share: tuple[Case, int, int], seed: int, draws: int, wrong: bool) -> dict[str, Ranks]:
    case, first, count = share
    return calibrate(case, count, seed * 1_000_000 + first, draws, wrong)


def write(found: Iterable[tuple[Case, Mapping[str, Ranks]]], wrong: bool, output: Path, figure: Path) -> None:
    """Write table and picture after each case, so that nothing is lost."""
    started = time.perf_counter()
    results: list[dict[str, Any]] = []
    ranks: dict[Case, Mapping[str, Ranks]] = {}
    for case, shares in itertools.groupby(found, key=lambda one: one[0]):
        parts = [share for _, share in shares]
        ranks[case] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        own = list(lines(case, ranks[case], wrong))
        results += own
        with output.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(results[0]))
            writer.writeheader()
            writer.writerows(results)
        draw_picture(ranks, figure)
        smallest = min(min(line["chi_square_p"], line["band_p"]) for line in own)
        print(f"{case}: smallest of {2 * len(own)} p-values {smallest:.2g}, density's score {own[-1]['score_p']:.2g} "
              f"(squared distance {own[-1]['squared_distance']:.2f}), {time.perf_counter() - started:.0f} s in all",
              file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
