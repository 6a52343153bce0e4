"""The studies of generalised linear models, short; the full ones are ``python -m studies.glm_coverage`` and its neighbours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies import glm_features
from studies.glm_coverage import CELLS, Cell, Job, run_job, simulate
from studies.glm_many import measures, r_hat
from studies.glm_report import PIECES, WORDS, coverage_figure
from studies.glm_tables import WORLDS, Study, basis_rows
from studies.moment_blocks import DEFAULT, DEGREES, LOWEST, Rows, run, sensitivity_squared
from studies.page import filled

from noisewise.holder.gram import plan_gram

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results" / "glm"


@pytest.mark.parametrize("world", WORLDS)
def test_simulated_rows_are_those_of_the_basis(world: str) -> None:
    study = Study.of(world, "logistic")
    columns = study.world.draw(np.random.default_rng(1), 50)
    whole = {name: values.astype(int) if set(values) <= {0.0, 1.0, 2.0} else values for name, values in columns.items()}
    expected = study.design.basis.evaluate({**whole, "y": np.zeros(50, dtype=int)})
    found = basis_rows(study.design, columns)
    response = int(np.flatnonzero(study.design.target)[-1])
    np.testing.assert_allclose(np.delete(found, response, axis=1), np.delete(expected, response, axis=1), atol=1e-12)


def test_effects_are_per_standard_deviation_around_the_middle() -> None:
    study = Study.of("mixed", "poisson")
    effects = study.fixed_effects(3.0)
    beta = study.coefficients(effects)
    assert np.linalg.norm(beta[1:] * study.deviations[1:]) == pytest.approx(3.0)
    assert beta @ study.means == pytest.approx(effects[0])


def test_the_noise_is_that_of_a_release() -> None:
    study = Study.of("mixed", "logistic")
    noise = study.noise(1.0)
    assert noise.diagonal == plan_gram(study.design.basis, 1.0, 1e-6).sd
    assert noise.off_diagonal == pytest.approx(noise.diagonal / np.sqrt(2))
    assert noise.corner == 0


def test_the_normal_model_has_the_same_sums_in_another_order() -> None:
    study = Study.of("mixed", "logistic")
    matrix = study.matrix(np.random.default_rng(1), 1_000, study.coefficients(study.fixed_effects(1.0)))
    noise = study.noise(1.0)
    usual, normal = (study.model(np.random.default_rng(2), matrix, 1_000, noise, cells=cells) for cells in (True, False))
    assert normal.layout.cells.shape == (1, 0)
    assert usual.layout.cells.shape == (6, 3)
    found = []
    for model in (usual, normal):
        order = np.argsort(model.layout.order)
        found.append(model.data["gram"][np.ix_(order, order)])
        np.testing.assert_array_equal(model.data["features"][order], study.design.features[sorted(model.layout.order)])
    np.testing.assert_array_equal(*found)


def test_truths_from_the_prior_have_its_width() -> None:
    study = Study.of("normal", "poisson")
    job = Job("poisson", "prior", 0.75)
    effects = np.array([found for _, found in simulate(study, job, Cell(10, 1.0), 400, seed=1)])
    np.testing.assert_allclose(effects.std(axis=0), [2.5, 0.75, 0.75, 0.75], rtol=0.15)


def test_measures_of_a_known_posterior() -> None:
    rng = np.random.default_rng(1)
    centre = rng.normal(size=(400, 2))
    draws = centre[:, None] + rng.normal(size=(400, 500, 2))
    first, second = measures(draws, np.column_stack([np.zeros(400), centre[:, 1] + 3.0]), np.array([2.0, 4.0]))
    assert 0.91 < first["coverage"] < 0.98
    assert first["coverage_error"] == pytest.approx(0.011, abs=0.003)
    assert first["information"] == pytest.approx(0.5, abs=0.03)
    assert first["rmse"] == pytest.approx(1.0, abs=0.1)
    assert second["coverage"] < 0.01
    assert second["above"] > 0.99
    assert second["bias"] == pytest.approx(-3.0, abs=0.1)
    assert np.all(r_hat(draws[:, :400].reshape(400, 2, 200, 2)) < 1.1)
    assert np.all(r_hat(np.stack([draws, draws + 5.0], axis=1)) > 1.5)


@pytest.mark.slow
def test_a_cell_of_normal_features_is_covered() -> None:
    """Of 30 intervals 21 or fewer hold the truth with probability 1e-5; of intervals half as wide more often than not."""
    lines = run_job(Job("logistic", "1", 2.5, "quick"), replicates=30, seed=1, draws=200)
    assert [line["term"] for line in lines] == ["Intercept", "x1", "x2", "x3", "norm"]
    assert len(CELLS["quick"]) == 1
    assert all(line["coverage"] > 21 / 30 for line in lines)
    assert all(line["information"] < 0.15 for line in lines)  # the prior's interval would cover too
    assert all(line["unsettled"] == 0 for line in lines)


@pytest.mark.slow
def test_rare_categories_need_their_cells() -> None:
    cells = (Cell(100_000, 10.0),)
    jobs = [glm_features.Job("logistic", "rare", model) for model in ("cells", "normal")]
    as_cells, as_normal = (glm_features.run_job(job, 30, 1, 200, cells) for job in jobs)
    assert min(line["coverage"] for line in as_cells if line["norm"] == 1.0) > 21 / 30
    assert min(line["coverage"] for line in as_normal if line["norm"] == 1.0) < 0.1


def test_features_are_fitted_with_and_without_cells_where_there_are_categories() -> None:
    found = {(job.world, job.model) for job in glm_features.jobs(None)}
    assert ("rare", "normal") in found
    assert ("skewed", "normal") not in found
    assert ("independent", "cells") not in found


def test_sensitivity_of_weighted_blocks_is_reached_and_not_exceeded() -> None:
    rng = np.random.default_rng(1)
    weights, radius_squared = {**DEFAULT, "yxx": 0.5}, 3.0
    bound = sensitivity_squared(weights, radius_squared, -1.0)
    pairs = rng.choice([-1.0, 1.0], size=(2, 20_000, 3))
    pairs[:, :10_000] = rng.uniform(-1.0, 1.0, size=(2, 10_000, 3))
    y = rng.choice([-1.0, 1.0], size=(2, 20_000))
    total = np.zeros(20_000)
    for name, weight in weights.items():
        k, factors = DEGREES[name], y if "y" in name else np.ones_like(y)
        inner = {(a, b): factors[a] * factors[b] * np.sum(pairs[a] * pairs[b], axis=1) ** k for a in (0, 1) for b in (0, 1)}
        total += weight * (inner[0, 0] + inner[1, 1] - 2 * inner[0, 1])
    assert 0.9 * bound < total.max() <= bound * (1 + 1e-9)


def test_what_a_moments_release_should_hold() -> None:
    lines = run(20_000, [("logistic", 3.0)], [(10_000, 1.0)])
    sd = {(line["choice"], line["centred"]): line["sd"] for line in lines}
    assert sd["best weights", True] <= sd["default weights", True] < sd["gram", True]
    assert all(sd[f"without {name}", True] > 100 * sd["gram", True] for name in LOWEST)
    assert sd["with yxx, equal weights", True] > sd["equal weights", True]
    assert sd["with yxx, best weights", True] > 0.98 * sd["best weights", True]
    assert sd["default weights", False] > 1.1 * sd["default weights", True]


def test_asymptotic_deviations_without_noise_are_those_of_the_sums() -> None:
    """Ten times the rows: √10 times as exact; noise can only add."""
    table = Rows.of("logistic", 1.0, centred=True, rows=20_000)
    few, many = (table.deviations(rows, dict.fromkeys(LOWEST, 1e-9)) for rows in (10_000, 100_000))
    np.testing.assert_allclose(few / many, np.sqrt(10.0), rtol=1e-3)
    assert np.all(table.deviations(10_000, dict.fromkeys(LOWEST, 1e3)) > few)


def test_the_page_is_what_the_command_makes_of_the_results(tmp_path: Path) -> None:
    text = filled(WORDS.read_text(encoding="utf-8"), PIECES, RESULTS)
    assert "{{" not in text
    assert (ROOT / "docs" / "glm-calibration.md").read_text(encoding="utf-8") == text
    coverage_figure(RESULTS, tmp_path / "images" / "figure.png")
    assert (tmp_path / "images" / "figure.png").stat().st_size > 10_000
