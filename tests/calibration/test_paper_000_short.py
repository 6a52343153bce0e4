"""The study of paper 000, with few runs; and that what it calls not private is not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp, laplace
from studies.page import filled, words_of
from studies.paper_000 import SCORES, figures, scores
from studies.paper_000_boxes import Boxes
from studies.paper_000_figures import draw_all
from studies.paper_000_methods import (
    DESIGN,
    FLAT,
    OWN,
    VERSIONS,
    WHOLE,
    Tables,
    Version,
    fisher_reference,
    mean_over_parts,
    printed_reference,
    release_with,
)
from studies.paper_000_report import PIECES, RESULTS

import noisewise as nw
from noisewise.data.parts.answers import PartAnswers
from noisewise.schema.partition import PartPrior
from noisewise.schema.questions import PosteriorProbability

BY_NAME = {(version.combine, version.name): version for version in VERSIONS}


def rows_of(tables: int, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(tables, rows))
    return x, 1 + 2 * x + rng.normal(size=(tables, rows))


def moments(x: np.ndarray, y: np.ndarray) -> Tables:
    """Of rows (tables, parts, rows)."""
    dx, dy = (values - values.mean(axis=-1, keepdims=True) for values in (x, y))
    sums = ((one * other).sum(axis=-1) for one, other in ((dx, dx), (dx, dy), (dy, dy)))
    return Tables(x.shape[-1], x.mean(axis=-1), y.mean(axis=-1), *sums)


def test_drawn_moments_have_the_distribution_of_those_of_rows() -> None:
    x, y = rows_of(4000, 6, 1)
    real = moments(x[:, None], y[:, None])
    drawn = Tables.drawn(6, 1, 4000, np.random.default_rng(2))
    for name in ("mean_x", "mean_y", "xx", "xy", "yy"):
        assert ks_2samp(getattr(real, name).ravel(), getattr(drawn, name).ravel()).pvalue > 0.001, name
    rest = [(one.yy - one.xy**2 / one.xx).ravel() for one in (real, drawn)]
    assert ks_2samp(*rest).pvalue > 0.001
    assert ks_2samp(rest[0], np.random.default_rng(3).chisquare(5, 4000)).pvalue < 1e-6  # one degree of freedom too many


def test_parts_together_are_the_whole_table() -> None:
    x, y = rows_of(3, 40, 4)
    parts = moments(x.reshape(3, 4, 10), y.reshape(3, 4, 10)).together()
    whole = moments(x[:, None], y[:, None])
    for name in ("rows", "mean_x", "mean_y", "xx", "xy", "yy"):
        assert np.allclose(getattr(parts, name), getattr(whole, name)), name


def test_the_right_factor_has_no_bias_and_the_printed_one_has() -> None:
    lines = scores(10**6, 50, 400, np.random.default_rng(5))
    for at in SCORES:
        found = {(line["combine"], line["rule"]): line for line in lines if line["prior"] == WHOLE and line["at"] == at}
        printed, right = found["rescaled-normal", "root of M"], found["rescaled-normal", "root of 2M - 1"]
        assert abs(right["difference"]) < 4 * right["se"]
        assert abs(printed["difference"]) > 20 * printed["se"]
        assert printed["score"] / printed["whole"] == pytest.approx(math.sqrt(50 / 99), abs=0.04)
        for combine in ("rescaled-normal", "fisher", "stouffer"):
            assert abs(found[combine, "noisewise"]["difference"]) < 4 * found[combine, "noisewise"]["se"] + 0.01


def test_the_failure_in_small_parts_is_the_prior() -> None:
    """n = 10,000 in 100 parts: g = rows of the part moves the score by βM/√n = 2; the whole table's prior, or none, does not."""
    lines = scores(10_000, 100, 200, np.random.default_rng(6))
    moved = {prior: np.mean([line["difference"] for line in lines if line["prior"] == prior and line["rule"] == "root of 2M - 1"])
             for prior in (OWN, WHOLE, FLAT)}
    assert moved[OWN] == pytest.approx(2.0, abs=0.15)
    assert abs(moved[WHOLE]) < 0.05 and abs(moved[FLAT]) < 0.08


def neighbours(parts: int) -> tuple[np.ndarray, np.ndarray]:
    """P(slope ≤ 0) in the parts of two tables of 20 rows a part that differ in one row."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(parts, 20))
    y = -x + 0.1 * rng.normal(size=(parts, 20))
    found = []
    for change in (False, True):
        if change:
            x[0, 0], y[0, 0] = 1e4, 1e4
        columns = np.stack([np.ones_like(x), x, y], axis=-1)
        products = np.swapaxes(columns, 1, 2) @ columns
        answers = PartAnswers(np.full(parts, 20.0), products, np.zeros((parts, 3)), DESIGN, PartPrior())
        found.append(answers.probabilities(PosteriorProbability((("x", 1.0),), (0.0,)))[0])
    return found[0], found[1]


@pytest.mark.parametrize(("combine", "claimed", "true"), [
    ("fisher", 0.1, 2.5), ("fisher", 1.0, 25.0), ("rescaled-normal", 0.1, 10.0)])
def test_printed_mechanisms_violate_the_epsilon_that_they_claim(combine: str, claimed: float, true: float) -> None:
    """The exact log ratio of the densities of what two neighbouring tables release, at a point: no simulation."""
    parts = 25
    means = [float(mean_over_parts(probabilities, combine)) for probabilities in neighbours(parts)]

    def loss(version: Version) -> float:
        scale = version.noise_scale(parts, claimed)
        return abs(float(laplace.logpdf(means[0], means[0], scale) - laplace.logpdf(means[0], means[1], scale)))

    printed, valid = BY_NAME[combine, "as printed"], BY_NAME[combine, "valid noise"]
    assert loss(printed) == pytest.approx(true, rel=0.01)
    assert loss(printed) > 2 * claimed
    assert printed.true_epsilon(parts, claimed) == pytest.approx(true)
    assert loss(valid) <= claimed * (1 + 1e-9)
    assert valid.true_epsilon(parts, claimed) == pytest.approx(claimed)


@pytest.mark.parametrize("version", [version for version in VERSIONS if version.name != "as printed"])
def test_all_other_versions_keep_what_they_claim(version: Version) -> None:
    assert version.true_epsilon(50, 0.1) == pytest.approx(0.1)


def test_with_valid_noise_the_preference_for_fisher_reverses() -> None:
    rng = np.random.default_rng(8)
    rows, parts, epsilon, points = 10**6, 50, 0.1, np.array([1.997, 1.999, 2.001, 2.003])
    tables = Tables.drawn(rows, parts, 300, rng)
    truth = tables.together().probabilities(points, WHOLE, rows)[..., 0]
    own = tables.probabilities(points, OWN, rows)
    error = {key: float(np.mean(np.abs(BY_NAME[key].estimate(mean_over_parts(own, key[0]), rows, parts, epsilon, rng) - truth)))
             for key in (("fisher", "as printed"), ("fisher", "valid noise"), ("rescaled-normal", "valid noise"))}
    normal = error["rescaled-normal", "valid noise"]
    assert error["fisher", "as printed"] < 0.5 * normal < normal < error["fisher", "valid noise"] - 0.03


def test_the_double_logarithm_would_make_nearly_every_probability_zero() -> None:
    twice = printed_reference(50, 2000, np.random.default_rng(9))
    once = 50 * fisher_reference(50, 0.0)
    assert np.quantile(twice, 0.999) < np.quantile(once, 0.01)


@pytest.mark.parametrize(("combine", "epsilon", "mean"), [("stouffer", 1.0, 0.13), ("fisher", 1.0, 2.6),
                                                          ("rescaled-normal", math.inf, 0.47)])
def test_the_study_reports_what_noisewise_answers(combine: str, epsilon: float, mean: float) -> None:
    answered = nw.answer(release_with(combine, 10**5, 20, epsilon, mean))
    said = next(iter(answered)).point
    version = BY_NAME[combine, "noisewise"]

    class NoNoise(Version):
        def noise_scale(self, parts: int, epsilon: float) -> float:
            return 0.0

    found = NoNoise(*(getattr(version, name) for name in ("combine", "name", "prior", "noise", "rule"))).estimate(
        np.array([mean]), 10**5, 20, epsilon, np.random.default_rng(0))
    assert found[0] == pytest.approx(said, abs=0.002)


def test_box_plots_of_a_small_run() -> None:
    lines = figures(10_000, 10, 200, np.random.default_rng(10), np.array([1.99, 2.0, 2.01]), (math.inf,))
    boxes = Boxes([{name: str(value) for name, value in line.items()} for line in lines])
    cell = 10_000, 10, math.inf
    assert boxes.away(*cell, ("rescaled-normal", "corrected")) < 0.05
    assert boxes.away(*cell, ("rescaled-normal", "as printed")) > 0.06
    assert boxes.error(*cell, ("stouffer", "noisewise")) < 0.5 * boxes.error(*cell, ("nothing", "always 1/2"))
    for line in lines:
        assert line["low_whisker"] <= line["quartile_1"] <= line["median"] <= line["quartile_3"] <= line["high_whisker"]


def test_the_page_and_the_pictures_are_made_from_the_files(tmp_path: Path) -> None:
    page = filled(words_of("000").read_text(encoding="utf-8"), PIECES, RESULTS)
    assert "{{" not in page
    assert page == Path("docs/paper-000.md").read_text(encoding="utf-8")
    draw_all(RESULTS, tmp_path)
    assert len(list(tmp_path.glob("*.png"))) == 2
