"""``fit`` on published rows: its units, its terms, its refusals, and the methods for comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import about

import noisewise as nw
from noisewise.errors import FitError, FormulaError
from noisewise.releases.release import Release

COLUMNS: dict[str, Any] = {
    "stay": {"bounds": [0, 40]},
    "age": {"bounds": [20, 100]},
    "smoker": {"levels": ["no", "yes"]},
    "ward": {"levels": ["A", "B", "C"]},
}
SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": COLUMNS})
RIGHT = {"Intercept": 5.0, "age": 0.15, "smoker[T.yes]": 4.0, "ward[T.B]": 2.0, "ward[T.C]": -3.0, "sigma": 2.0}
FORMULA = "stay ~ age + smoker + ward"


def made_table(rows: int) -> dict[str, Any]:
    generator = np.random.default_rng(8)
    smoker, ward = generator.random(rows) < 0.4, generator.integers(0, 3, rows)
    age = 55 + 5 * smoker + 12 * generator.normal(size=rows)
    level = np.array([0.0, RIGHT["ward[T.B]"], RIGHT["ward[T.C]"]])[ward]
    stay = RIGHT["Intercept"] + RIGHT["age"] * age + RIGHT["smoker[T.yes]"] * smoker + level
    return {"age": age, "smoker": np.where(smoker, "yes", "no"), "ward": np.array(["A", "B", "C"])[ward],
            "stay": stay + RIGHT["sigma"] * generator.normal(size=rows)}


def published(folder: Path, rows: int, epsilon: float, **settings: Any) -> Release:
    found = nw.release(made_table(rows), SCHEMA, nw.Rows(), epsilon=epsilon, to=folder / "rows.nwr", **settings)
    assert isinstance(found, Release)
    return found


# The noise of a release has no seed: now and then few draws are worth a little less than what diagnostics ask for.
pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return published(tmp_path_factory.mktemp("noisy"), 2000, 40.0)


def distances(posterior: nw.Posterior) -> dict[str, float]:
    table = posterior.summary()
    return {term: float(abs(table.loc[term, "mean"] - right) / table.loc[term, "sd"]) for term, right in RIGHT.items()}


@pytest.mark.outer
def test_the_coefficients_are_found_in_the_users_units(noisy: Release) -> None:
    posterior = nw.fit(FORMULA, noisy, seed=1, draws=1000, chains=2)
    assert posterior.terms == tuple(RIGHT)
    assert posterior.info.method == "rows"
    assert max(distances(posterior).values()) < 4
    assert max(distances(nw.fit(FORMULA, noisy, method="naive", seed=1)).values()) > 6


@pytest.mark.outer
def test_predictions_and_files(noisy: Release, tmp_path: Path) -> None:
    posterior = nw.fit("stay ~ age", noisy, seed=1, draws=500, chains=2)
    predicted = posterior.predict({"age": [40.0, 70.0]}, kind="mean")["mean"]
    assert predicted[1] - predicted[0] == pytest.approx(30 * posterior.summary().loc["age", "mean"])
    posterior.save(tmp_path / "fit.npz")
    assert np.array_equal(nw.Posterior.load(tmp_path / "fit.npz").samples, posterior.samples)


def test_a_seed_repeats_the_draws(noisy: Release) -> None:
    first, second = (nw.fit("stay ~ age", noisy, seed=4, draws=1000, chains=1, prior=nw.Prior(sd={"age": 0.1})) for _ in range(2))
    assert np.array_equal(first.samples, second.samples)


@pytest.mark.outer
def test_without_noise_it_is_least_squares(tmp_path: Path) -> None:
    posterior = nw.fit("stay ~ age", published(tmp_path, 400, 4e6), seed=1, draws=500, chains=2)
    table = made_table(400)
    design = np.column_stack([np.ones(400), table["age"]])
    right, *_ = np.linalg.lstsq(design, np.clip(table["stay"], 0, 40), rcond=None)
    error = posterior.summary()["sd"].to_numpy()[:2]
    assert np.all(np.abs(posterior.summary()["mean"].to_numpy()[:2] - right) < 0.25 * error)


@pytest.mark.parametrize("formula", ["stay ~ age + I(age**2)", "stay ~ age:smoker", "stay ~ age*smoker"])
def test_products_and_powers_are_refused(noisy: Release, formula: str) -> None:
    with pytest.raises(FormulaError, match="main effects only.*kind gram"):
        nw.fit(formula, noisy)


def test_other_refusals(noisy: Release) -> None:
    with pytest.raises(FormulaError, match="response of a regression on perturbed rows must be a number"):
        nw.fit("smoker ~ age", noisy)
    with pytest.raises(FitError, match="perturbed rows support linear regression only"):
        nw.fit("stay ~ age", noisy, family="poisson")
    with pytest.raises(FitError, check=about("method")):
        nw.fit("stay ~ age", noisy, method="clt-gibbs")
    with pytest.raises(FitError, match="random effects by site"):
        nw.fit("stay ~ age", noisy, site="random")
    with pytest.raises(FitError, match="simex has no prior"):
        nw.fit("stay ~ age", noisy, method="simex", prior=nw.Prior(sigma=1.0))
