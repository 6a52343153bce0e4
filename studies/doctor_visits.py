"""Poisson regression on visits to a doctor: Australian health survey 1977–78 (Cameron and Trivedi), 5190 rows.

    python -m studies.doctor_visits DIRECTORY [--quick] [--only four all ...]      # it holds DoctorVisits.csv.gz

Private posteriors at ε = 1, δ = 1e-6 (one row replaced), from a ``gram`` and a ``moments`` release, compared with the
posterior of the rows themselves with the same prior. Releases are simulated with a seeded generator (``studies.tables`` says
why).

The bounds follow from the questionnaire, not from the rows: visits in the past two weeks, of which more than 10 count as 10 (the
model knows that); age in hundreds of years, in groups of which the first is 0.19 and the last 0.72; income in tens of thousands
of dollars, 1.5 or more in one group; illnesses in two weeks, 5 or more in one; days of reduced activity in two weeks; a score
of 12 questions on health. All other columns are yes or no.

Days of reduced activity are mostly 0. To test the effect on a model that assumes normal numbers, they are replaced with
"any or none", once declared as a number 0 or 1 and once as a category: the same column of the release, the same noise.

An effect is clear without privacy if the interval of the rows' own posterior, made wider by the root of the overdispersion,
does not hold zero. For these the private posterior should recover the sign, or show that it does not know it.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from noisewise.posterior.glm.families import FAMILIES
from noisewise.schema import Basis, Design, Schema
from studies import page
from studies.paper_003_models import Reference, entry_variances, ks_distance, model_of, noisy_part, reference, sample_models
from studies.workers import write

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

RESULTS: Final = page.RESULTS / "paper_003"
FILE: Final = "DoctorVisits.csv.gz"
EPSILON, DELTA = 1.0, 1e-6
LARGEST: Final = 10
BOUNDS: Final = {"age": (0.19, 0.72), "income": (0, 1.5), "illness": (0, 5), "reduced": (0, 14), "health": (0, 12),
                 "any_number": (0, 1)}
FACTORS: Final = {"gender": ("male", "female"), "private": ("no", "yes"), "freepoor": ("no", "yes"), "freerepat": ("no", "yes"),
                  "nchronic": ("no", "yes"), "lchronic": ("no", "yes"), "any_level": ("no", "yes")}
FORMULAS: Final = {"four": ("gender", "age", "illness", "reduced"),
                   "any_number": ("gender", "age", "illness", "any_number"),
                   "any_category": ("gender", "age", "illness", "any_level"),
                   "all": ("gender", "age", "income", "illness", "reduced", "health", "private", "freepoor", "freerepat",
                           "nchronic", "lchronic")}
"""The columns that the holder releases and that are fitted: fewer columns have less noise."""
STATISTICS: Final = ("gram", "moments")
REPEATS: Final = {"four": 10, "any_number": 10, "any_category": 10, "all": 4}
"""Releases of each kind. Eleven predictors, of which six are categories in 64 cells, take twenty times as long as four."""


@dataclass(frozen=True)
class Problem:
    """One release's columns and model, and the posterior of the rows themselves."""

    schema: Schema
    formula: str
    terms: tuple[str, ...]
    matrix: Array
    exact: Reference
    dispersion: float
    units: Array
    """Standard deviations of the predictors (1 for the intercept), to show all effects on one scale."""

    @classmethod
    def of(cls, table: pd.DataFrame, names: Sequence[str], proposals: int = 20_000) -> Problem:
        schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
            **{name: {"levels": list(FACTORS[name])} if name in FACTORS else {"bounds": list(BOUNDS[name])} for name in names},
            "visits": {"bounds": [0, LARGEST]}}})
        basis, formula = Basis.of(schema), f"visits ~ {' + '.join(names)}"
        rows = basis.evaluate({name: table[name].to_numpy() for name in (*names, "visits")})
        design = Design.of(formula, basis)
        features, y = rows @ design.features, np.minimum(table["visits"].to_numpy(float), LARGEST)
        exact = rows_posterior(features, y, proposals)
        expected = np.exp(features @ exact.mean)
        dispersion = float(np.sum((y - expected) ** 2 / expected) / (len(y) - features.shape[1]))
        return cls(schema, formula, design.terms, rows.T @ rows, exact, dispersion, np.append(1.0, features[:, 1:].std(axis=0)))

    def lines(self, draws: Array, first: Line) -> list[Line]:
        result = []
        for k, term in enumerate(self.terms):
            low, high = np.quantile(draws[:, k], [0.025, 0.975])
            exact_low, exact_high = self.exact.quantiles(k, np.array([0.025, 0.975]))
            mean, sd = float(self.exact.mean[k]), float(self.exact.sd[k])
            clear = abs(mean) > 1.96 * sd * math.sqrt(max(self.dispersion, 1.0))
            result.append(first | {
                "term": term, "unit": float(self.units[k]), "mean": draws[:, k].mean(), "sd": draws[:, k].std(), "low": low,
                "high": high, "exact_mean": mean, "exact_sd": sd, "exact_low": exact_low, "exact_high": exact_high,
                "clear": clear, "verdict": verdict(low, high, mean),
                "ks": ks_distance(draws[:, k], self.exact.draws[:, k], self.exact.weights)})
        return result


def verdict(low: float, high: float, exact: float) -> str:
    """Return if an interval has the sign of the rows' own estimate, the other sign, or holds zero."""
    if low <= 0 <= high:
        return "holds zero"
    return "right sign" if (low > 0) == (exact > 0) else "wrong sign"


def rows_posterior(features: Array, y: Array, proposals: int) -> Reference:
    """The default prior: normal effects of one standard deviation of each predictor, and an intercept in their middle."""
    family, slopes = FAMILIES["poisson"], features.shape[1] - 1
    means, deviations = features[:, 1:].mean(axis=0), features[:, 1:].std(axis=0)
    sd = np.append(family.intercept_sd, np.full(slopes, family.slope_sd * min(1.0, 2.0 / math.sqrt(slopes))))
    standard = reference(np.column_stack([features[:, :1], (features[:, 1:] - means) / deviations]), y, sd, family="poisson",
                         proposals=proposals)
    found = standard.draws[:, 1:] / deviations
    return Reference(np.column_stack([standard.draws[:, 0] - found @ means, found]), standard.weights)


def file_of(name: str) -> str:
    """The file with the results of a formula."""
    return f"visits_{name}.csv"


def read_table(directory: Path) -> pd.DataFrame:
    """The rows, and whether there was any day of reduced activity: as a number, and as a category."""
    table = pd.read_csv(directory / FILE)
    any_day = table["reduced"] > 0
    return table.assign(any_number=any_day.astype(float), any_level=np.where(any_day, "yes", "no"))


def run(directory: Path, name: str, repeats: int, draws: int, proposals: int = 20_000) -> list[Line]:
    """``repeats`` releases of each kind for the formula of this name."""
    table = read_table(directory)
    problem = Problem.of(table, FORMULAS[name], proposals)
    lines: list[Line] = []
    for statistic in STATISTICS:
        variances = entry_variances(statistic, len(FORMULAS[name]), EPSILON, DELTA)
        parts = [noisy_part(problem.matrix, variances, np.random.default_rng([1, repeat])) for repeat in range(repeats)]
        fits = sample_models([model_of(problem.schema, part, problem.formula, "poisson", None)[0] for part in parts],
                             seed=1, draws=draws)
        for repeat in range(repeats):
            lines += problem.lines(fits.draws[repeat], {
                "formula": name, "statistic": statistic, "repeat": repeat, "rows": len(table), "dispersion": problem.dispersion,
                "marginal_mean": table["visits"].mean(), "marginal_variance": table["visits"].var(), "r_hat": fits.r_hat[repeat]})
    print(f"visits to a doctor, {name}: done at {time.process_time():.0f} s of computing time", file=sys.stderr, flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Poisson regression on visits to a doctor, private and not.")
    parser.add_argument("directory", type=Path, help=f"where {FILE} is")
    parser.add_argument("--quick", action="store_true", help="two releases, short chains; results go to a temporary directory")
    parser.add_argument("--only", nargs="*", choices=tuple(FORMULAS), default=tuple(FORMULAS))
    arguments = parser.parse_args()
    out = Path(tempfile.mkdtemp(prefix="doctor-visits-")) if arguments.quick else RESULTS
    out.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        lines = run(arguments.directory, name, *((2, 100) if arguments.quick else (REPEATS[name], 300)))
        write([{key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in line.items()}
               for line in lines], out / file_of(name))
        clear = [line["verdict"] for line in lines if line["clear"]]
        print(f"{name}: {len(clear)} clear effects in all releases, {clear.count('wrong sign')} with the wrong sign; in {out}")


if __name__ == "__main__":
    main()
