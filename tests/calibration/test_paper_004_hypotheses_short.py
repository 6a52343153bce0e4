"""The study of section 3 of paper 004, on a made-up table, with few splits and tables."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from studies import paper_004_hypotheses as study
from studies.model_averaging import RESULTS
from studies.paper_004_figures import tests_figure as draw_tests
from studies.paper_004_hypotheses import (
    FILE,
    HYPOTHESES,
    errors,
    exact_lines,
    figure_1,
    figure_2,
    gaussian_noise,
    null_of,
    part_statistics,
    rejects,
    releases,
    table_in,
)
from studies.paper_004_report import PIECES
from studies.workers import read, write

from noisewise.run import QUIET

SMALL_PARTS = (5,)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> str:
    """200 pupils: reading matters beside science, gender does not."""
    rng = np.random.default_rng(1)
    science = rng.normal(50, 10, 200).round()
    reading = (0.6 * science + rng.normal(20, 8, 200)).round()
    maths = (0.3 * science + 0.5 * reading + rng.normal(10, 7, 200)).round()
    found = tmp_path_factory.mktemp("data")
    with gzip.open(found / FILE, "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["gender", "math", "science", "read"])
        writer.writerows(zip(rng.choice(["male", "female"], 200), maths, science, reading, strict=True))
    return str(found)


def test_another_table_is_refused(tmp_path: Path) -> None:
    with gzip.open(tmp_path / FILE, "wt") as file:
        file.write("a,b\n1,2\n")
    with pytest.raises(SystemExit):
        table_in(str(tmp_path))


def test_the_statistics_of_the_whole_table_are_those_of_the_formulae(directory: str) -> None:
    """Equations (1) and (2) of the paper with g = n, from least squares."""
    table = table_in(directory)
    for hypothesis, line in zip(HYPOTHESES, exact_lines(directory), strict=True):
        full = np.column_stack([np.ones(200), *(table[name] for name in hypothesis.predictors)])
        rests = [np.linalg.lstsq(columns, table["math"], rcond=None)[1][0] for columns in (full, full[:, :-1])]
        unexplained, kept = rests[0] / rests[1], full.shape[1] - 1
        factor = (200 - 1 - kept) / 2 * math.log(201) - (200 - kept) / 2 * math.log(1 + 200 * unexplained)
        assert line["log_bayes_factor"] == pytest.approx(factor)
        assert line["likelihood_ratio"] == pytest.approx(-200 * math.log(unexplained))
        assert line["probability"] == pytest.approx(1 / (1 + math.exp(-factor)))


def test_the_printed_variance_is_too_large_by_the_number_of_parts() -> None:
    for parts in (2, 5, 10):
        assert gaussian_noise(parts, 0.01, True).sd == pytest.approx(math.sqrt(parts) * gaussian_noise(parts, 0.01, False).sd)
        assert gaussian_noise(parts, 0.01, False).sd == pytest.approx(gaussian_noise(1, 0.01, False).sd / parts)


def test_calibrated_tests_have_their_level_and_others_have_not(directory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "PARTS", SMALL_PARTS)
    tables = 2000
    lines = errors(directory, tables)
    assert {line["question"] for line in lines} == {"bayes-factor", "likelihood-ratio", "posterior-probability"}
    for line in lines:
        for level in (0.05, 0.01):
            spread = math.sqrt(level * (1 - level) / tables)
            assert abs(line[f"free_{level}"] - level) < 4 * spread, line
            assert line[f"censored_{level}"] < level + 4 * spread, line
    private = [line for line in lines if line["question"] == "likelihood-ratio" and line["noise"] == "Gaussian, δ = 1e-06"]
    for line in private:
        assert line["uncalibrated_0.05"] > 0.2
        assert line["censored_0.05"] == 0.0 and line["at_critical_0.05"] > 0.1  # more than the level is censored to 7


def test_quartiles_and_critical_values_of_a_small_run(directory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "PARTS", SMALL_PARTS)
    for line in figure_1(directory, 100):
        assert line["quartile_1"] <= line["median"] <= line["quartile_3"]
        if math.isinf(line["epsilon"]):
            assert line["median"] < 0.3 if line["hypothesis"] == "gender" else line["median"] > 0.5
    lines = {(line["hypothesis"], line["delta"], line["variance"]): line for line in figure_2(directory, 100)}
    right, printed = lines["read", 0.5, "right"], lines["read", 0.5, "printed"]
    assert right["critical_free_0.05"] < printed["critical_free_0.05"]
    assert right["rejected_free_0.05"] > printed["rejected_free_0.05"]
    assert lines["gender", 1e-6, "right"]["critical_censored_0.05"] == 7.0


def test_the_decision_is_that_of_noisewise_test(directory: str) -> None:
    import noisewise as nw
    from noisewise.answers.asked import Asked, MeanNoise

    hypothesis = HYPOTHESES[1]
    question = hypothesis.questions()["likelihood-ratio"]
    table = {name: table_in(directory)[name] for name in ("math", *hypothesis.predictors)}
    release = nw.release(table, hypothesis.schema, nw.Partition(hypothesis.formula, parts=5, ask=[question]), epsilon=1.0,
                         run=QUIET)
    tested = next(iter(nw.hypothesis_test(release, censored=False)))
    null = null_of(hypothesis, question, 200, 5, MeanNoise.of(Asked.of_release(release), release.contents.numbers[0]), False)
    for level in np.linspace(0.02, 0.98, 25):
        assert bool(rejects(null, np.array([tested.statistic]), level)[0]) == (tested.p_value <= level)


def test_whole_releases_agree_with_the_simulation(directory: str) -> None:
    """Medians of 60 releases, whose noise has no seed: the limits are crossed by chance once in some hundred thousand runs."""
    for hypothesis, line in zip(HYPOTHESES, releases(directory, 60, parts=5), strict=True):
        question = hypothesis.questions()["bayes-factor"]
        rng = np.random.default_rng(2)
        means = study.split_means(hypothesis, hypothesis.rows(table_in(directory)), 5, question, 2000, rng)
        scale = 2 * study.ODDS / 5
        noisy = 1 / (1 + np.exp(-means - rng.laplace(0.0, scale, 2000)))
        low, high = np.quantile(noisy, [0.5 - 4.5 * 0.5 / math.sqrt(60), 0.5 + 4.5 * 0.5 / math.sqrt(60)])
        assert low < line["median"] < high


def test_parts_that_cannot_be_fitted_say_nothing(directory: str) -> None:
    hypothesis = HYPOTHESES[0]
    rows = hypothesis.rows(table_in(directory))
    ordered = rows[np.argsort(rows[:, 1], kind="stable")]  # the first part has one gender only
    found = part_statistics(hypothesis, ordered[None], 5, hypothesis.questions()["bayes-factor"])
    assert found[0, 0] == 0.0 and np.all(np.isfinite(found)) and np.any(found != 0.0)


def test_the_pieces_of_the_page_are_made_from_the_files(tmp_path: Path) -> None:
    mine = {name: piece for name, piece in PIECES.items() if name.startswith("hypotheses_")}
    assert len(mine) == 8
    for name, piece in mine.items():
        assert piece(RESULTS), name
    lines = read(RESULTS / "hypotheses_errors.csv")
    for line in lines:
        line["free_0.05"] = "0.2"
    for name in ("exact", "figure_1"):
        write(read(RESULTS / f"hypotheses_{name}.csv"), tmp_path / f"hypotheses_{name}.csv")
    write(lines, tmp_path / "hypotheses_errors.csv")
    assert f"{len(lines)} are within" in " ".join(mine["hypotheses_summary"](tmp_path))  # those at 0.01 only
    draw_tests(read(RESULTS / "hypotheses_figure_2.csv"), tmp_path / "tests.png")
    assert (tmp_path / "tests.png").stat().st_size > 10_000
