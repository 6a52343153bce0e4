"""The studies of paper 003 and of visits to a doctor, on made-up tables, with short chains and few releases."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies.doctor_visits import BOUNDS, FACTORS, verdict
from studies.doctor_visits import FILE as VISITS_FILE
from studies.doctor_visits import run as run_visits
from studies.dp_sgld import batch_size, dp_sgld, noise_multiplier, spent_delta
from studies.page import filled, words_of
from studies.paper_003 import DIVIDED, PIMA, SHORTENED, WAYS, own_scaling, public_scaling, table_cell
from studies.paper_003_figures import draw_all
from studies.paper_003_models import DELTA, Reference, entry_variances, ks_distance, noisy_part, reference
from studies.paper_003_report import PIECES, TARGETS, _same_sign
from studies.paper_003_taylor import growing_norms, row_moments, simulated_rows
from studies.workers import read, write

from noisewise.privacy.calibration import analytic_gaussian_sigma


@pytest.mark.parametrize(("setting", "target"), TARGETS.items())
def test_the_noise_of_dp_sgld_is_that_of_other_accountants(setting: tuple[str, int, float], target: float) -> None:
    _, rows, epsilon = setting
    batch = batch_size(rows)
    found = noise_multiplier(batch, rows, epsilon, DELTA)
    assert found == pytest.approx(target, rel=0.01)
    assert spent_delta(found, batch, rows, epsilon, 10_000) == pytest.approx(DELTA, rel=0.02)
    assert spent_delta(0.98 * found, batch, rows, epsilon, 10_000) > 1.1 * DELTA


def made_up(rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, 2)) / 2
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    return x, np.where(rng.uniform(size=rows) < 1 / (1 + np.exp(-x @ [1.5, -0.8])), 1.0, -1.0)


def test_dp_sgld_approaches_the_posterior_without_privacy_and_not_with_it() -> None:
    x, y = made_up()
    exact = reference(x, y, np.ones(2))
    settings = {"batch": batch_size(len(y)), "rate": 0.1, "seed": 1, "repeats": 3, "steps": 6000, "burn_in": 1000}
    plain = dp_sgld(x, y, multiplier=0.0, **settings).reshape(-1, 2)
    assert np.all(np.abs(plain.mean(axis=0) - exact.mean) < 0.25 * exact.sd)
    assert plain.std(axis=0) == pytest.approx(exact.sd, rel=0.15)
    multiplier = noise_multiplier(batch_size(len(y)), len(y), 1.0, DELTA, 6000)
    private = dp_sgld(x, y, multiplier=multiplier, **settings).reshape(-1, 2)
    assert np.all(private.std(axis=0) > 3 * exact.sd)


def test_clipping_shrinks_gradients() -> None:
    """Rows that all have the same long gradient at the start: one step without noise is as long as the clip allows."""
    x, y = np.tile([4.0, 0.0], (400, 1)), np.ones(400)
    settings = {"batch": 20, "multiplier": 0.0, "rate": 1e-3, "seed": 1, "steps": 400, "burn_in": 0}
    free, clipped = (dp_sgld(x, y, clip=clip, **settings)[0, -1, 0] for clip in (10.0, 0.5))
    assert clipped == pytest.approx(400 * 1e-3 * 0.5, rel=0.3)
    assert free > 2 * clipped


def test_the_reference_is_the_posterior() -> None:
    """One coefficient: beside numerical integration."""
    x, y = made_up(50)
    x = x[:, :1]
    grid = np.linspace(-6, 6, 4001)
    log = -np.logaddexp(0.0, -y * np.outer(grid, x[:, 0])).sum(axis=1) - 0.5 * (grid / 2) ** 2
    log[np.abs(grid) > 1.5] = -np.inf
    weights = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
    found = reference(x, y, np.array([2.0]), radius=1.5)
    assert found.mean[0] == pytest.approx(weights @ grid, abs=0.02)
    assert found.sd[0] == pytest.approx(math.sqrt(weights @ (grid - weights @ grid) ** 2), rel=0.05)
    assert np.abs(found.draws[found.weights > 0]).max() <= 1.5


def test_distances_of_distributions() -> None:
    rng = np.random.default_rng(3)
    same, shifted = rng.normal(size=(2, 20_000, 1)) + np.array([0.0, 1.0])[:, None, None]
    proposals = rng.normal(0.0, 2.0, 40_000)
    weights = np.exp(-0.5 * proposals**2 + 0.125 * proposals**2)
    exact = Reference(proposals[:, None], weights / weights.sum())
    assert ks_distance(same[:, 0], exact.draws[:, 0], exact.weights) < 0.02
    assert ks_distance(shifted[:, 0], exact.draws[:, 0], exact.weights) == pytest.approx(0.383, abs=0.02)  # 2Φ(½) − 1
    assert exact.quantiles(0, np.array([0.975]))[0] == pytest.approx(1.96, abs=0.05)


def test_the_papers_statistic_has_the_papers_noise_and_nothing_else_is_released() -> None:
    variances = entry_variances("paper", 3, 0.1, DELTA)
    sd = analytic_gaussian_sigma(0.1, DELTA, math.sqrt(4.5))
    assert math.sqrt(variances[1, 1]) == pytest.approx(sd, rel=1e-3)
    assert math.sqrt(variances[-1, 2]) == pytest.approx(sd, rel=1e-3)
    assert math.sqrt(variances[1, 2]) == pytest.approx(sd / math.sqrt(2), rel=1e-3)
    assert np.isinf(variances[0, 1:]).all() and np.isinf(variances[-1, -1]) and variances[0, 0] == 0
    part = noisy_part(np.full((5, 5), 700.0), variances, np.random.default_rng(1))
    assert part.matrix[0, 0] == 700 and part.matrix[0, 1] == 0 and part.matrix[1, 1] != 700
    assert np.array_equal(part.matrix, part.matrix.T)


def test_scaled_rows_are_within_the_ball_and_the_public_scaling_does_not_look_at_the_others() -> None:
    rng = np.random.default_rng(4)
    low, high = np.array(list(PIMA.values()), dtype=float).T
    values = rng.uniform(low, high, size=(50, 4))
    other = np.vstack([values[:-1], high * 3])
    y = np.ones(50)
    one, two = (public_scaling(PIMA, table, y, 0.5).x for table in (values, other))
    assert np.linalg.norm(two, axis=1).max() <= 1.0 + 1e-12
    assert np.array_equal(one[:-1], two[:-1])
    for scaling in (DIVIDED, SHORTENED):
        one, two = (own_scaling(tuple(PIMA), table, y, scaling).x for table in (values, other))
        assert np.linalg.norm(one, axis=1).max() == pytest.approx(1.0)
        assert np.abs(one[:-1] - two[:-1]).max() > 0.1


def test_the_taylor_series_is_right_for_small_coefficients_and_not_for_large_ones() -> None:
    rng = np.random.default_rng(5)
    sigma = np.array([[0.06, 0.02], [0.02, 0.05]])
    x = rng.multivariate_normal(np.zeros(2), sigma, size=400_000)
    squares = np.column_stack([x[:, 0] ** 2, math.sqrt(2) * x[:, 0] * x[:, 1], x[:, 1] ** 2])
    off = {}
    for norm in (1.0, 9.0):
        theta = norm * np.array([0.8, 0.6])
        y = np.where(rng.uniform(size=len(x)) < 1 / (1 + np.exp(-x @ theta)), 1.0, -1.0)
        rows = np.column_stack([y[:, None] * x, squares])
        mean, covariance = row_moments(theta, sigma, np)
        off[norm] = np.abs(rows.mean(axis=0) - mean).max() / rows.mean(axis=0).max()
        if norm == 1.0:
            assert np.abs(np.cov(rows.T) - covariance).max() < 1e-3 * 0.6  # entries are up to 0.06
    assert off[1.0] < 0.03 < 0.5 < off[9.0]
    table = simulated_rows(3.0, 500, rng)
    assert np.linalg.norm(table.x, axis=1).max() <= 1 + 1e-12


def test_the_page_names_the_worst_fit(tmp_path: Path) -> None:
    first = {"scaling": "public", "method": "noisewise, gram", "epsilon": 0.1, "term": "age"}
    write([first | {"repeat": 0, "r_hat": 1.01}, first | {"repeat": 0, "term": "sex", "r_hat": 1.01},
           first | {"repeat": 1, "r_hat": 1.2}, first | {"method": "DP-SGLD", "repeat": 0, "r_hat": ""}], tmp_path / "adult.csv")
    write([{"method": "Taylor", "norm": 1.0, "term": term, "repeats": 24, "r_hat": 1.03} for term in ("x1", "x2")],
          tmp_path / "growth.csv")
    text = filled("{{convergence}}\n", PIECES, tmp_path)
    assert "| adult | 2 | 1.200 |" in text and "| growing norms, Taylor | 24 | 1.030 |" in text


def test_verdicts_on_signs() -> None:
    assert verdict(0.1, 0.2, 1.0) == "right sign"
    assert verdict(-0.1, 0.2, 1.0) == "holds zero"
    assert verdict(0.1, 0.2, -1.0) == "wrong sign"
    line = {"low": "-2", "high": "-1", "exact_mean": "-1.2"}
    assert _same_sign(line)
    assert not _same_sign(line | {"exact_mean": "1.2"}) and not _same_sign(line | {"high": "1"})


def test_the_page_says_no_where_the_results_do(tmp_path: Path) -> None:
    first = {"data": "Pima", "scaling": "shortened", "epsilon": 0.1, "repeat": 0, "term": "age", "mean": 1.0, "sd": 1.0,
             "low": 0.5, "high": 2.0, "exact_mean": 1.0, "exact_sd": 1.0, "exact_low": 0.4, "exact_high": 2.0}
    ours, prior, sgld = "noisewise, paper", "prior, paper", "DP-SGLD"
    for ks, said in ((0.05, "reproduced"), (0.4, "**not reproduced**")):
        write([first | {"method": method, "repeat": repeat, "ks": value + 0.001 * repeat} for repeat in (-1, 0, 1)
               for method, value in ((ours, ks), (prior, 0.8), (sgld, 0.9))], tmp_path / "pima.csv")
        text = filled("{{claims}}\n", PIECES, tmp_path)
        assert f"rows shortened: mean KS distance {ks:.2f}; the prior alone 0.80 | {said} |" in text
        assert f"rows shortened: 0.90 against {ks:.2f} | reproduced |" in text
        plainly = filled("{{not_reproduced}}\n", PIECES, tmp_path)
        assert ("- Pima, ε = 0.1: private posteriors are close to the non-private ones" in plainly) == (said != "reproduced")
        assert "DP-SGLD" not in plainly
    assert all(f"{{{{{name}}}}}" in words_of("003").read_text() for name in PIECES)


@pytest.mark.slow
def test_a_quick_run_writes_results_pictures_and_the_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    low, high = np.array(list(PIMA.values()), dtype=float).T
    table = pd.DataFrame(rng.uniform(low, high, size=(400, 4)), columns=list(PIMA))
    table["outcome"] = (rng.uniform(size=400) < table["age"] / 100).astype(int)
    table.to_csv(tmp_path / "pima.csv.gz", index=False)
    (tmp_path / "out").mkdir()
    cells = [table_cell("pima", str(tmp_path), way, releases=1, draws=100, rows=300) for way in WAYS]
    for name in cells[0]:
        write([line for cell in cells for line in cell[name]], tmp_path / "out" / f"{name}.csv")
    lines = read(tmp_path / "out" / "pima.csv")
    assert {line["method"] for line in lines} >= {"DP-SGLD", "noisewise, paper", "noisewise, gram", "noisewise, moments"}
    assert all(0 <= float(line["ks"]) <= 1 for line in lines)
    draw_all(tmp_path / "out", tmp_path / "images")
    assert (tmp_path / "images" / "paper-003-pima.png").stat().st_size > 10_000
    assert "| 0.1 | noisewise, gram, public |" in filled("{{pima_distances}}\n", PIECES, tmp_path / "out")


@pytest.mark.slow
def test_taylor_is_biased_for_large_coefficients_and_quadrature_is_not() -> None:
    lines = growing_norms(12, (1.0, 6.0), draws=300)
    length = {(line["method"], line["norm"]): line["length"] for line in lines}
    covered = {(line["method"], line["norm"], line["term"]): line["coverage"] for line in lines}
    assert length["Taylor", 1.0] == pytest.approx(1.0, abs=0.1)
    assert length["quadrature", 6.0] == pytest.approx(6.0, abs=0.25)
    assert abs(length["Taylor", 6.0] - 6.0) > 1.0
    assert covered["Taylor", 6.0, "x1"] < 0.5 < covered["quadrature", 6.0, "x1"]
    assert covered["quadrature, mean not told", 6.0, "x1"] < 0.5  # without Σx the mean is not identified
    assert all(line["r_hat"] < 1.1 for line in lines if line["method"] != "quadrature, mean not told")


@pytest.mark.slow
def test_visits_are_read_and_clear_effects_keep_their_sign(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rows = 4000
    table = pd.DataFrame({name: rng.uniform(low, high, rows) for name, (low, high) in BOUNDS.items()}
                         | {name: rng.choice(levels, rows) for name, levels in FACTORS.items()})
    table["visits"] = rng.poisson(np.exp(-1.5 + 0.4 * table["illness"]))
    table.drop(columns=["any_number", "any_level"]).to_csv(tmp_path / VISITS_FILE, index=False)
    lines = run_visits(tmp_path, "four", 2, 200, proposals=2000)
    illness = [line for line in lines if line["term"] == "illness"]
    assert all(line["clear"] and line["verdict"] == "right sign" for line in illness)
    assert 0.8 < illness[0]["dispersion"] < 1.2
    assert all(1.0 < line["r_hat"] < 1.1 for line in lines)
