"""Model releases, simulated: a few replicates of two settings, the studies' own parts, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.calibration_cells import batches
from scipy.stats import binom
from studies import model_tables
from studies.model_features import OUTPUT
from studies.model_report import PIECES, WORDS, measured
from studies.model_simulations import MU_1, PLAN, WORLDS, Cell, Job, jobs, run_job
from studies.model_tables_real import exact_fit, newton
from studies.page import filled

from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.scores.families import FAMILIES
from noisewise.scores.likelihood import Problem
from noisewise.scores.rounds import Noise

ROOT = Path(__file__).parents[2]
CHANCE = 0.01
"""That exact intervals of another seed would fail: fewer hold than this quantile, as if those of one fit always held together."""
CASES = [(Cell("holders logistic", 20_000, 0.2), 40), (Cell("newton linear", 500, MU_1), 12)]


def share(cell: Cell, replicates: int) -> float:
    """Of the intervals of coefficients, how many hold the truth."""
    lines = [line for line in run_job(Job(cell, replicates), draws=150) if line["what"] != "scale"]
    held = [int(one) for line in lines for one in line["held"].split()]
    return sum(held) / (replicates * len(held))


@pytest.mark.parametrize("cell, replicates", CASES)
def test_intervals_of_coefficients_hold(cell: Cell, replicates: int) -> None:
    assert share(cell, replicates) >= binom.ppf(CHANCE, replicates, 0.95) / replicates


def test_intervals_do_not_hold_if_the_stated_noise_is_half_of_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, replicates = CASES[0]
    honest = model_tables.noisy_round

    def louder(problem: Any, point: Any, noise: Noise, *rest: Any) -> Any:
        twice = Noise(**{name: None if sd is None else 2 * sd for name, sd in vars(noise).items()})
        return replace(honest(problem, point, twice, *rest), noise=noise)

    monkeypatch.setattr(model_tables, "noisy_round", louder)
    assert share(cell, replicates) < binom.ppf(CHANCE, replicates, 0.95) / replicates


def test_the_budget_is_what_the_study_says() -> None:
    assert analytic_gaussian_sigma(MU_1, 1e-6, 1.0) == pytest.approx(1.0, rel=1e-4)


def test_sums_are_those_of_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same seed, a first look is the same with blocks of any length, and so is a round at the same point."""
    world = WORLDS["counts, negative binomial"]
    model = world.model(1.0)
    table, response = world.table(np.random.default_rng(1), 3_000, model.design)
    found = model.release(table, response, np.random.default_rng(2))
    last, problem = found.rounds[-1], Problem.of(model.basis, model.design, FAMILIES[model.family], found.look)
    looks, rounds = [], []
    for length in (model_tables.BLOCK, 700):
        monkeypatch.setattr(model_tables, "BLOCK", length)
        looks.append(model.release(table, response, np.random.default_rng(2)).look)
        rng = np.random.default_rng(3)
        rounds.append(model_tables.noisy_round(problem, last.point, last.noise, table[:, :-1], response, rng))
    np.testing.assert_allclose(looks[0].sums, looks[1].sums)
    for name in ("score", "matrix", "square", "spread"):
        np.testing.assert_allclose(*(getattr(one, name) for one in rounds), atol=1e-8)


def test_tables_have_the_effects_that_were_asked_for() -> None:
    world = WORLDS["heavy tails"]
    design = world.model(1.0).design
    table, response = world.table(np.random.default_rng(1), 100_000, design)
    x = table.astype(float) @ design.features
    assert np.std(x, axis=0)[1:] * world.coefficients()[1:] == pytest.approx(np.array(world.effects), rel=0.02)
    assert np.mean(x @ world.coefficients()) == pytest.approx(world.centre, abs=0.01)
    found = np.linalg.lstsq(x, response, rcond=None)[0]
    half = world.exact_widths(table, design) / 2
    assert np.all(np.abs(found - world.coefficients()) < 2.5 * half)


def test_later_batches_are_other_tables_and_come_after_the_first_of_all() -> None:
    found = jobs(list(PLAN), 2)
    assert [job.cell.batch for job in found] == sorted(job.cell.batch for job in found)
    assert len({job.cell for job in found}) == len(found)
    first, second = (run_job(Job(Cell("newton logistic", 250, MU_1, batch=batch), 1), 50) for batch in (0, 1))
    assert first[0]["width"] != second[0]["width"]


@pytest.mark.parametrize("family", ["logistic", "poisson", "negative-binomial", "gaussian"])
def test_fits_without_privacy_solve_their_score_equations_and_know_their_errors(family: str) -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(4_000), rng.uniform(-1, 1, size=(4_000, 2))])
    eta = x @ np.array([0.2, 0.5, -0.5])
    mean = {"logistic": 1 / (1 + np.exp(-eta)), "gaussian": eta}.get(family, np.exp(eta))
    rate = mean * (rng.gamma(2.0, 0.5, size=4_000) if family == "negative-binomial" else 1.0)
    y = {"logistic": (rng.random(4_000) < mean).astype(float), "gaussian": mean + rng.normal(size=4_000)}.get(family)
    y = rng.poisson(rate).astype(float) if y is None else y
    found = exact_fit(family, x, y)
    assert np.all(np.abs(found.estimate - [0.2, 0.5, -0.5]) < 4 * found.usual)
    assert found.robust == pytest.approx(found.usual, rel=0.1)
    if family == "poisson":
        assert x.T @ (y - np.exp(x @ newton(family, x, y, 0.0))) == pytest.approx(np.zeros(3), abs=1e-6)


def test_a_setting_is_low_only_beyond_chance() -> None:
    assert measured(0.90, 0.90**2, 0.9, 1, 1000, 0.0).low
    assert not measured(0.90, 0.90**2, 0.9, 1, 20, 0.0).low
    assert not measured(0.94, 0.94**2, 0.9, 1, 100_000, 0.0).low


def test_batches_count_together() -> None:
    """Two batches of ten fits of two coefficients: the coefficients of a fit hold or miss together."""
    row = {"world": "a", "replicates": "10", "held": "9 9", "squares": "9.0"}
    cell, = batches("world")([row, row | {"held": "10 10", "squares": "10.0"}])
    assert (cell.coverage, cell.replicates, cell.worth) == (pytest.approx(0.95), 20, 20)


def test_the_page_is_what_the_command_makes_of_the_results(tmp_path: Path) -> None:
    """If results have changed: python -m studies.model_report."""
    text = filled(WORDS.read_text(encoding="utf-8"), PIECES, ROOT / OUTPUT.parent)
    assert "{{" not in text
    assert (ROOT / "docs" / "model-calibration.md").read_text(encoding="utf-8") == text
    assert "Not measured yet" in filled(WORDS.read_text(encoding="utf-8"), PIECES, tmp_path)
