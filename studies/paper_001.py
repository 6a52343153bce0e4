"""Tables 4.1 and 4.2 of thesis 001, the same study with bounds that are valid, and how well its sampler mixes: one command.

    noisewise reproduce 001 [--quick]      # all of it takes minutes on a GPU and hours on two cores

Its simulation: 500 rows, x normal (0, 1), y = 2 + 2x + normal (0, 0.5²), Laplace noise of scale m·Δ/ε in each of m copies of
both, Δ = 3.92·1.5; everything but the two coefficients is known, which have the prior N(0, 10²). Three versions:

``thesis``      as it is there;
``declared``    the same with bounds that are declared beforehand, x in [−4, 4] and y in [−8, 12]: cells are clipped, and
                the noise is the one that the library's calibration requires, so that ε is a guarantee;
``unknown``     ``declared``, where nothing is known beforehand: the library's own model and priors.

The error of posterior means as the thesis measures it (squared errors of both coefficients, added; and the absolute error of the
slope over the slope), coverage and width of 95 % intervals of the slope; the same for SIMEX and for least squares on noisy rows.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.literature.known_law import known_law_problem, sample_coefficients
from noisewise.literature.noisy_rows import Estimate, naive, simex
from noisewise.literature.row_gibbs import gibbs
from noisewise.posterior.rows.problem import RegressionPrior, RowProblem
from noisewise.privacy.mechanisms.rows import calibrate
from noisewise.results.diagnostics import ess_bulk
from studies.rows_many import Length, sample_many
from studies.workers import Line

Array = npt.NDArray[np.float64]

ROWS, BETA, SIGMA, PRIOR_SD = 500, np.array([2.0, 2.0]), 0.5, 10.0
DELTA: Final = 3.92 * 1.5
"""The thesis' "sensitivity", which is not one: see the page."""
BOUNDS: Final = ((-4.0, 4.0), (-8.0, 12.0))
CENTRE, HALF = (np.array([operation(pair) for pair in BOUNDS]) for operation in (np.mean, lambda pair: (pair[1] - pair[0]) / 2))
EPSILONS: Final = (5.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.25)
MORE: Final = (20.0, 10.0)
"""Further ε for the noise that is needed with declared bounds."""
VERSIONS: Final = ("thesis", "declared", "unknown")
MIXING: Final = (5.0, 2.0, 1.0, 0.5)
STARTS: Final = ("truth", "zero", "moments")
PLAIN: Final = Length(200, 1000, 1)
"""Chains of the thesis' own sampler. It does not say how long its chains were or where they started."""
THEIRS: Final = 50
"""Repeats in the thesis."""
Z: Final = 1.959964


@dataclass(frozen=True)
class Cell:
    """One line of a table."""

    version: str
    copies: int
    epsilon: float

    def columns(self) -> dict[str, Any]:
        return asdict(self)

    def scales(self) -> Array:
        """The scales of the noise on x and y, in the user's units."""
        if self.version == "thesis":
            return np.full(2, self.copies * DELTA / self.epsilon)
        made = calibrate({"x": None, "y": None}, epsilon=self.epsilon, delta=None, mechanism=None, copies=self.copies,
                         weights={"x": Fraction(1), "y": Fraction(1)})
        return np.asarray(np.array(list(made.scales.values())) * HALF)

    def problem(self, repeat: int, start: str = "moments") -> RowProblem:
        """The same rows for every cell, and noise of its own; ``start``: one of ``STARTS``, for known parameters only."""
        rows = np.random.default_rng([1, repeat])
        x = rows.normal(size=ROWS)
        table = np.column_stack([x, BETA[0] + BETA[1] * x + SIGMA * rows.normal(size=ROWS)])
        if self.version != "thesis":
            table = np.clip(table, *np.array(BOUNDS).T)
        noise = np.random.default_rng([2, repeat, zlib.crc32(repr(self).encode())])
        scales = self.scales()
        noisy = table + scales * noise.laplace(size=(self.copies, ROWS, 2))
        if self.version == "unknown":
            return RowProblem((noisy - CENTRE) / HALF, scales / HALF, np.ones((1, ROWS)))
        identity = np.eye(2)
        prior = RegressionPrior(identity, np.zeros(2), identity / PRIOR_SD, np.zeros(2), 1.0)
        constant, slope = {"truth": BETA, "zero": np.zeros(2), "moments": moments(noisy, scales)}[start]
        law = np.array([[0.0], [constant]]), np.array([[0.0, 0.0], [slope, 0.0]]), np.array([1.0, SIGMA])
        return RowProblem(noisy, scales, np.ones((1, ROWS)), prior=prior, law=law)

    def to_user(self, working: Array) -> Array:
        """(β₀, β₁) from g in the last axis."""
        constant, slope = working[..., 0], working[..., 1]
        if self.version == "unknown":  # the middle of the bounds of x is 0
            constant, slope = CENTRE[1] + HALF[1] * constant, slope * HALF[1] / HALF[0]
        return np.stack([constant, slope], axis=-1)

    @property
    def known(self) -> dict[str, bool]:
        return dict.fromkeys(("features_known", "scales_known"), self.version != "unknown")


def moments(noisy: Array, scales: Array) -> Array:
    """Both coefficients from means and covariance, which noise does not bias; a slope no larger than the scatter of y allows."""
    x, y = np.moveaxis(noisy.mean(axis=0), 1, 0)
    most = np.sqrt(max(y.var() - 2 * scales[1] ** 2 / len(noisy), SIGMA**2))
    slope = float(np.clip(np.cov(x, y)[0, 1], -most, most))
    return np.array([y.mean(), slope])


def cells(versions: Iterable[str]) -> list[Cell]:
    return [Cell(version, copies, epsilon) for version in versions for copies in (1, 2)
            for epsilon in (*(() if version == "thesis" else MORE), *EPSILONS)]


def line_of(cell: Cell, method: str, mean: Array, low: Array, high: Array, ess: Array | None = None, r_hat: Array | None = None
            ) -> Line:
    """The numbers that the page needs of all repeats, from arrays (repeats, 2) of both coefficients."""
    line: Line = {**cell.columns(), "method": method, "repeats": len(mean)}
    errors = {"squares": np.sum((mean - BETA) ** 2, axis=1), "relative": np.abs(mean[:, 1] - BETA[1]) / BETA[1]}
    for name, values in errors.items():
        line |= {name: values.mean(), f"{name}_sd": values.std(ddof=1), f"{name}_first": values[:THEIRS].mean()}
    line |= {"coverage": np.mean((low[:, 1] <= BETA[1]) & (BETA[1] <= high[:, 1])), "width": np.median(high[:, 1] - low[:, 1])}
    if ess is not None:
        line |= {"ess": np.median(ess), "low_ess": np.quantile(ess, 0.01)}
    if r_hat is not None:
        line |= {"unsettled": np.mean(r_hat > 1.05)}
    return {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in line.items()}


def sampled(cell: Cell, repeats: int, length: Length) -> Line:
    """The posterior of every repeat."""
    found = sample_many([cell.problem(repeat) for repeat in range(repeats)], seed=1, length=length, transform=cell.to_user,
                        **cell.known)
    return line_of(cell, "posterior", found.mean, found.low, found.high, found.ess.min(axis=1), found.r_hat.max(axis=1))


def plain(cell: Cell, start: str, repeats: int, length: Length) -> Line:
    """The thesis' own sampler, one chain for each repeat."""
    found = sample_many([cell.problem(repeat, start) for repeat in range(repeats)], seed=1, length=length, transform=cell.to_user,
                        chains=1, marginal=False, collapsed=False, gibbs=gibbs, **cell.known)
    return line_of(cell, f"Algorithm 6 from {start}", found.mean, found.low, found.high, found.ess.min(axis=1))


def compared(cell: Cell, repeats: int) -> list[Line]:
    """SIMEX and least squares, which do not use the known parameters."""
    lines = []
    methods: dict[str, Callable[[RowProblem, int], Estimate]] = {
        "simex": lambda problem, seed: simex(problem, seed=seed), "naive": lambda problem, seed: naive(problem)}
    for method, estimate in methods.items():
        found = [estimate(cell.problem(repeat), repeat) for repeat in range(repeats)]
        values = np.array([one.values[:2] for one in found])
        half = Z * np.array([np.sqrt(np.maximum(np.diag(one.covariance)[:2], 0.0)) for one in found])
        lines.append(line_of(cell, method, *(cell.to_user(part) for part in (values, values - half, values + half))))
    return lines


def mixing(copies: int, epsilon: float, repeats: int) -> list[Line]:
    """Effective draws of the slope for each sweep and each second: the thesis' Algorithm 6, and ours, one problem at a time."""
    lines = []
    cell, draws = Cell("thesis", copies, epsilon), 2000
    for name, own in (("Algorithm 6", True), ("ours", False)):
        for repeat in range(-1, repeats):  # the first one compiles
            given = cell.problem(max(repeat, 0))
            x, y = np.moveaxis(given.observed, 2, 0)
            problem = known_law_problem(x, y, float(given.noise[0]), mean=0.0, sd=1.0, sigma=SIGMA, prior_sd=PRIOR_SD)
            started = time.perf_counter()
            found = sample_coefficients(problem, seed=repeat + 1, draws=draws, warmup=300, algorithm_6=own)
            seconds = time.perf_counter() - started
            if repeat >= 0:
                size = float(ess_bulk(found)[1])
                lines.append({**cell.columns(), "sampler": name, "repeat": repeat, "per_sweep": size / draws,
                              "per_second": size / (seconds * draws / (draws + 300))})
    return lines


def posterior_cell(version: str, copies: int, epsilon: float, repeats: int, warmup: int, draws: int, thin: int
                   ) -> dict[str, list[Line]]:
    return {"posterior": [sampled(Cell(version, copies, epsilon), repeats, Length(warmup, draws, thin))]}


def plain_cell(copies: int, epsilon: float, start: str, repeats: int) -> dict[str, list[Line]]:
    return {"plain": [plain(Cell("thesis", copies, epsilon), start, repeats, PLAIN)]}


def comparators_cell(version: str, copies: int, epsilon: float, repeats: int) -> dict[str, list[Line]]:
    return {"comparators": compared(Cell(version, copies, epsilon), repeats)}


def mixing_cell(copies: int, epsilon: float, repeats: int) -> dict[str, list[Line]]:
    return {"mixing": mixing(copies, epsilon, repeats)}
